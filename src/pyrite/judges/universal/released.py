"""The record in the layout of the released code: intermediates by step, rubric items, score files.

A grade that is not known is null here too, where the released code writes 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pyrite.judges.universal.pipeline import Finding
from pyrite.judges.universal.records import Instance, Seen

NOT_MET = "Its condition is not met: it does not count."


def intermediates(found: Finding) -> dict[str, Any]:
    """Step by step; all keys are strings, criteria and screens are numbered from 0."""
    record: dict[str, Any] = {"step1_num_screenshots": len(found.frames)}
    record["step2_relevance_scores"] = {
        f"screenshot_{number}": {
            **{str(index): value for index, value in enumerate(scores)},
            "screenshot_idx": number,
        }
        for number, scores in sorted(found.matrix.items())
    }
    record["step3_grouped_screenshots"] = {str(i): list(group) for i, group in enumerate(found.grouped)}
    record["step4_evidence_by_criterion"] = {
        str(i): [_seen(one) for one in notes] for i, notes in enumerate(found.seen)
    }
    if found.conditions is not None and found.conditions.reasoning:
        record["step4_5_disambiguation"] = {
            str(i): {"is_condition_met": found.conditions.met[i], "reasoning": why}
            for i, why in found.conditions.reasoning.items()
        }
    if found.notes is not None:
        record["step5_reality_check"] = {str(i): note for i, note in enumerate(found.notes)}
    median = found.median
    if median is not None:
        record |= _graded(found, median)
        record["majority_vote_steps67"] = {
            "all_scores": [one.value for one in found.scores],
            "median_instance_idx": found.chosen,
            "all_instances": [
                {
                    "instance_idx": i,
                    "score": found.scores[i].value,
                    "total_earned_points": found.scores[i].earned,
                    "total_max_points": found.scores[i].most,
                    **_graded(found, one),
                }
                for i, one in enumerate(found.instances)
            ],
        }
    if found.votes:
        record["step8_outcome_verification"] = outcome(found)
        record["majority_vote_step8"] = {
            "all_votes": [None if one is None else one.said for one in found.votes],
            "majority_output_success": found.outcome,
            "all_results": [None if one is None else _vote(asdict(one)) for one in found.votes],
        }
    record["step9_first_point_of_failure"] = found.diagnosis.failures
    record["step9b_task_verification_with_trajectory"] = found.diagnosis.task_with_record
    record["step10_task_verification"] = found.diagnosis.task_alone
    return record


def _seen(one: Seen) -> dict[str, Any]:
    body = {
        "screenshot_evidence": one.evidence,
        "criterion_analysis": one.analysis,
        "discrepancies": one.discrepancies,
        "environment_issues_confirmed": one.blocked,
        "screenshot_idx": one.screen,
    }
    return body if one.condition is None else {**body, "condition_verification": one.condition}


def _vote(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "primary_intent": body["intent"],
        "reasoning": body["reasoning"],
        "output_success": body["success"],
    }


def outcome(found: Finding) -> dict[str, Any] | None:
    """The first vote that says what the majority says, else the first one, with the majority's word."""
    votes = [one for one in found.votes if one is not None]
    if not votes:
        return None
    said = next((one for one in votes if one.said == found.voted), votes[0])
    return {**_vote(asdict(said)), "output_success": found.outcome}


def _graded(found: Finding, instance: Instance) -> dict[str, Any]:
    penalties = instance.penalties
    return {
        "step6_rescoring_summary": items(found, instance, penalties=False),
        "step7_penalty_criteria": None
        if penalties is None
        else [_penalty(name=one.name, most=one.max_points, about=one) for one in penalties],
        "step7_reasoning": instance.reasoning,
        "step7_requires_penalty": None if penalties is None else bool(penalties),
    }


def _penalty(*, name: str, most: float, about: Any) -> dict[str, Any]:
    return {
        "criterion": name,
        "description": about.description,
        "max_points": most,
        "justification": about.justification,
        "earned_points": 0,
        "post_image_justification": about.justification,
        "post_image_earned_points": 0,
        "penalty": True,
    }


def items(
    found: Finding, instance: Instance | None = None, *, penalties: bool = True
) -> list[dict[str, Any]]:
    """The scored rubric of an instance (default: the one at the median)."""
    instance = instance or found.median
    if found.rubric is None:
        return []
    listed = [_item(found, instance, index) for index in range(len(found.rubric.criteria))]
    if penalties and instance is not None and instance.penalties:
        listed += [_penalty(name=one.name, most=one.max_points, about=one) for one in instance.penalties]
    return listed


def _item(found: Finding, instance: Instance | None, index: int) -> dict[str, Any]:
    assert found.rubric is not None
    one = found.rubric.criteria[index]
    first = found.baseline[index] if found.baseline is not None else None
    item: dict[str, Any] = {
        "criterion": one.name,
        "description": one.description,
        "max_points": one.max_points,
        "justification": "" if first is None else first.justification,
        "earned_points": None if first is None else first.points,
        "reality_notes": "" if found.notes is None else found.notes[index],
    }
    met = found.conditions.met[index] if found.conditions is not None else None
    if one.condition is not None:
        item |= {"condition": one.condition, "is_condition_met": met}
        if found.conditions is not None and index in found.conditions.reasoning:
            item["condition_disambiguation_reasoning"] = found.conditions.reasoning[index]
    grade = instance.grades[index] if instance is not None and instance.grades is not None else None
    if met is False and one.condition is not None:
        texts = {"applicable_evidence": NOT_MET, "post_image_justification": NOT_MET}
        return item | texts | {"post_image_earned_points": 0.0}
    if grade is not None:
        item |= {
            "applicable_evidence": grade.evidence,
            "post_image_justification": grade.justification,
            "post_image_earned_points": None if index in found.ungraded or grade.open else grade.points,
        }
    return item


def instances(found: Finding) -> list[dict[str, Any]]:
    """The rubric of every instance, with its totals."""
    return [
        {
            "items": items(found, one),
            "total_earned_points": found.scores[i].earned,
            "total_max_points": found.scores[i].most,
            **({"outcome_verification": outcome(found)} if i == found.chosen else {}),
        }
        for i, one in enumerate(found.instances)
    ]


def payload(
    process: Mapping[str, Any], raw: Mapping[str, Any], *, success: str, final_answer: str
) -> dict[str, Any]:
    """What `gpt_response_text` of a score file holds; from a verdict line and its raw/."""
    steps = raw["intermediates"]
    said = steps.get("step8_outcome_verification") or {}
    verdict = verdict_of(process, success)
    graded = process["success"]
    votes = process["votes"]
    return {
        "is_success": None if verdict is None else int(verdict),
        "success_criterion": success,
        "outcome_success": process["outcome"],
        "outcome_reasoning": said.get("reasoning", ""),
        "outcome_primary_intent": said.get("primary_intent", ""),
        "final_answer": final_answer,
        "rubric_is_success": None if graded is None else int(graded),
        "rubric_items": raw["items"],
        "rubric_total_max_points": process["max"],
        "rubric_total_earned_points": process["earned"],
        "rubric_outcome_verification": steps.get("step8_outcome_verification"),
        "rubric_first_point_of_failure": steps["step9_first_point_of_failure"],
        "rubric_task_verification_with_trajectory": steps["step9b_task_verification_with_trajectory"],
        "rubric_task_verification": steps["step10_task_verification"],
        "rubric_intermediate_mm_rubric_steps": steps,
        "rubric_majority_vote_metadata": {
            "n_instances": len(votes["scores"]),
            "median_instance_idx": votes["median_instance"],
            "all_scores": votes["scores"],
            "median_score": process["score"],
            "outcome_votes": votes["outcomes"],
            "majority_output_success": process["outcome"],
        },
        "rubric_all_rubric_dicts": raw["instances"],
        "rubric_all_scores_list": votes["scores"],
        "error_taxonomy": {
            "first_point_of_failure": steps["step9_first_point_of_failure"],
            "task_verification_with_trajectory": steps["step9b_task_verification_with_trajectory"],
            "task_verification": steps["step10_task_verification"],
        },
    }


def verdict_of(process: Mapping[str, Any], success: str) -> bool | None:
    """Outcome, process or both, out of a `process` block."""
    outcome, graded = process["outcome"], process["success"]
    if success == "outcome":
        return outcome  # type: ignore[no-any-return]
    if success == "process":
        return graded  # type: ignore[no-any-return]
    if False in (outcome, graded):
        return False
    return None if None in (outcome, graded) else True


def score_file(body: Mapping[str, Any]) -> dict[str, Any]:
    """The two fields of a score file. `score` is null where there is no verdict: never 0 for that."""
    return {"score": body["is_success"], "gpt_response_text": json.dumps(body, ensure_ascii=False)}
