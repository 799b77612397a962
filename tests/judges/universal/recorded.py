"""The answers of a recorded run of the released verifier, rebuilt from its intermediates.

Nothing of pyrite is imported here: what is compared with pyrite is read from the recording alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Recorded:
    """One trajectory folder with its score file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.score_file = json.loads((folder / "scores" / "mmrubric_0.8-5-3.json").read_text("utf-8"))
        self.payload: dict[str, Any] = json.loads(self.score_file["gpt_response_text"])
        self.steps: dict[str, Any] = self.payload["rubric_intermediate_mm_rubric_steps"]
        self.task_data: dict[str, Any] = json.loads((folder / "task_data.json").read_text("utf-8"))
        self.items: list[dict[str, Any]] = self.payload["rubric_items"]

    def actions_only(self) -> Any:
        keys = ("criterion", "justification", "earned_points")
        return {"items": [{key: one[key] for key in keys} for one in self.items]}

    def relevance(self, screen: int) -> Any:
        scores = self.steps["step2_relevance_scores"][f"screenshot_{screen}"]
        return {f"criterion_{key}": value for key, value in scores.items() if key != "screenshot_idx"}

    def evidence(self, screen: int) -> Any:
        """One entry for each criterion that the screen was looked at for."""
        listed = []
        for index, entries in self.steps["step4_evidence_by_criterion"].items():
            for one in entries:
                if one["screenshot_idx"] == screen:
                    body = {key: value for key, value in one.items() if key != "screenshot_idx"}
                    listed.append({"criterion_idx": int(index), **body})
        return {"analyses": listed}

    def reality(self) -> Any:
        notes = self.steps["step5_reality_check"]
        return {
            "reality_checks": [
                {"criterion_idx": int(index), "reality_notes": note} for index, note in notes.items()
            ]
        }

    def rescoring(self) -> Any:
        keys = ("applicable_evidence", "post_image_justification", "post_image_earned_points")
        summary = self.steps["step6_rescoring_summary"]
        return {
            "items": [
                {"criterion_idx": i, **{key: one[key] for key in keys}} for i, one in enumerate(summary)
            ]
        }

    def side_effects(self) -> Any:
        return {
            "reasoning": self.steps["step7_reasoning"],
            "requires_penalty": self.steps["step7_requires_penalty"],
            "penalty_criteria": self.steps["step7_penalty_criteria"],
        }

    def outcome(self) -> Any:
        return self.steps["step8_outcome_verification"]
