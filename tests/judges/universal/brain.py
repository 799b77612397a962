"""A model for tests: every step is answered by a rule, from nothing but what the request shows.

A picture is known by its colour, which no scaling and no JPEG changes: the i-th frame is red to 5 x i.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image as Pictures

from pyrite.judges.client.base import Answer, Image, JudgeClient, Request, Text, Usage
from pyrite.judges.client.calls import Calls, Endpoint, Options
from pyrite.judges.universal import prompts

TASK = "Find a blue kettle under 40 dollars, put it into the cart and tell me its price."
STEPS = {prompts.load(step): step for step in prompts.STEPS}
_CRITERION = re.compile(r"^criterion (\d+): (.*?)(?: \(at most ([\d.e+]+) points\))?$", re.MULTILINE)
_PLACE = re.compile(r"^- screen (\d+), (?:at the start|after step \d+): criteria ([\d, ]+)$", re.MULTILINE)
_CONDITION = re.compile(r"^criterion (\d+):[^\n]*\n  applies only if: ([^\n]*)$", re.MULTILINE)


def item(name: str, quote: str, most: float = 2, condition: str | None = None) -> dict[str, Any]:
    """A criterion as the model writes it."""
    body: dict[str, Any] = {
        "criterion": name,
        "description": f"All points for {name}.",
        "task_quote": quote,
        "max_points": most,
        "justification": "",
        "earned_points": "",
    }
    return body if condition is None else {**body, "condition": condition}


KETTLE = [
    item("Find the kettle", "Find a blue kettle under 40 dollars", 3),
    item("Put it into the cart", "put it into the cart", 2),
    item("Tell the price", "tell me its price", 1),
]


@dataclass(frozen=True)
class View:
    """What one request shows."""

    step: str
    text: str
    pictures: tuple[bytes, ...]
    number: int
    """How often this step has been asked, this time included."""
    run: int

    @property
    def frame(self) -> int:
        """Which frame it is, by its colour."""
        with Pictures.open(io.BytesIO(self.pictures[0])) as picture:
            red = picture.convert("RGB").resize((1, 1)).getpixel((0, 0))
        return round(red[0] / 5)  # type: ignore[index]

    @property
    def criteria(self) -> dict[int, tuple[str, float]]:
        """Number -> name and most points, of the first block that shows criteria."""
        found: dict[int, tuple[str, float]] = {}
        for match in _CRITERION.finditer(self.text):
            found.setdefault(int(match[1]), (match[2], float(match[3] or 0)))
        return found

    @property
    def asked(self) -> list[int]:
        """The criteria after the picture."""
        tail = self.text.rpartition("[criteria ")[2]
        return [int(match[1]) for match in _CRITERION.finditer(tail)]

    @property
    def places(self) -> dict[int, list[int]]:
        """Screen (from 1) -> criteria, where one picture stands at several places of the record."""
        return {int(m[1]): [int(one) for one in m[2].split(",")] for m in _PLACE.finditer(self.text)}

    def noted(self, note: Callable[[int, int], dict[str, Any]]) -> Any:
        """An answer of step 4: `note` of (screen, criterion), in the form that was asked for."""
        if self.places:
            return {
                f"screen_{screen}": {f"criterion_{i}": note(screen, i) for i in criteria}
                for screen, criteria in self.places.items()
            }
        screen = int(re.findall(r"^Screen (\d+) of", self.text, re.MULTILINE)[-1])
        return {"analyses": [{"criterion_idx": i, **note(screen, i)} for i in self.asked]}

    @property
    def conditions(self) -> dict[int, str]:
        return {int(match[1]): match[2] for match in _CONDITION.finditer(self.text)}


Rule = Callable[[View], Any]


@dataclass
class Brain:
    """Answers by rule; `rules` replace those of single steps. A rule gives JSON, a text or an Answer."""

    rubric: Sequence[dict[str, Any]] = field(default_factory=lambda: KETTLE)
    rules: dict[str, Rule] = field(default_factory=dict)
    count: Counter[str] = field(default_factory=Counter)

    def answer(self, step: str, text: str, pictures: tuple[bytes, ...], run: int = 1) -> Answer:
        self.count[step] += 1
        view = View(step, text, pictures, self.count[step], run)
        said = self.rules.get(step, getattr(self, step))(view)
        if isinstance(said, Answer):
            return said
        used = Usage(input_tokens=len(text) // 4, output_tokens=10)
        return Answer(text=said if isinstance(said, str) else json.dumps(said), model="brain-1", usage=used)

    def rubric_items(self) -> dict[str, Any]:
        return {"items": list(self.rubric)}

    def dependencies(self, view: View) -> Any:
        return {"reasoning": "all is well", "needs_reformulation": False, "reformulated_rubric": {}}

    def actions_only(self, view: View) -> Any:
        return {
            "items": [
                {
                    "criterion": name,
                    "justification": "done, by its own word",
                    "earned_points": most,
                    **({"is_condition_met": True} if index in view.conditions else {}),
                }
                for index, (name, most) in view.criteria.items()
            ]
        }

    def relevance(self, view: View) -> Any:
        frame = view.frame
        return {f"criterion_{i}": (frame * 7 + i * 3) % 11 for i in view.criteria}

    def evidence(self, view: View) -> Any:
        frame = view.frame
        return view.noted(
            lambda screen, i: {
                "screenshot_evidence": f"frame {frame} shows {view.criteria[i][0]}",
                "criterion_analysis": "it fits",
                "discrepancies": "none",
                "environment_issues_confirmed": False,
                **({"condition_verification": True} if i in view.conditions else {}),
            }
        )

    def conditions(self, view: View) -> Any:
        first = min(view.conditions, default=0)
        return {
            "disambiguation": [
                {"criterion_idx": i, "condition": text, "reasoning": "seen", "is_condition_met": i == first}
                for i, text in view.conditions.items()
            ]
        }

    def reality(self, view: View) -> Any:
        return {"reality_checks": [{"criterion_idx": i, "reality_notes": "as said"} for i in view.criteria]}

    def rescoring(self, view: View) -> Any:
        unseen = self.end_decides(view)
        return {"items": [{**grade(i, most), **unseen} for i, (_, most) in view.criteria.items()]}

    def side_effects(self, view: View) -> Any:
        return {"reasoning": "nothing lasts", "requires_penalty": False, "penalty_criteria": []}

    def outcome(self, view: View) -> Any:
        said = {"primary_intent": "a kettle", "reasoning": "it is there", "output_success": True}
        return {**said, **self.end_decides(view)}

    def end_decides(self, view: View) -> dict[str, bool]:
        """The field that is asked for where the end of a run was not seen: it does not matter."""
        return {"end_decides": False} if '"end_decides"' in view.text else {}

    def failures(self, view: View) -> Any:
        return {"reasoning": "no failure", "has_failure": False, "failure_points": []}

    def task_with_record(self, view: View) -> Any:
        return {
            "reasoning_is_ambiguous": "clear",
            "is_ambiguous": False,
            "ambiguity_codes": [],
            "reasoning_is_invalid": "can be done",
            "is_invalid": False,
            "invalid_task_codes": [],
        }

    task_alone = task_with_record

    def __post_init__(self) -> None:
        self.rules.setdefault("rubric", lambda view: self.rubric_items())


def grade(index: int, points: float, **loss: Any) -> dict[str, Any]:
    """One entry of step 6."""
    return {
        "criterion_idx": index,
        "applicable_evidence": "the last screen",
        "post_image_justification": "as the screens show",
        "post_image_earned_points": points,
        "loss": {"kind": "none", "upstream": None, "prevented": False, "reported": False, **loss},
    }


class Script(Calls):
    """Calls that a brain answers."""

    def __init__(self, brain: Brain | None = None, **rules: Rule) -> None:
        super().__init__(Options(model="m-1", base_url="http://127.0.0.1:9/v1"))
        self.brain = brain or Brain()
        self.brain.rules.update(rules)
        self.sent: list[Request] = []
        self.bytes = 0

    def client(self, endpoint: Endpoint) -> JudgeClient:
        return self

    async def ask(self, request: Request) -> Answer:
        self.sent.append(request)
        pictures = tuple(part.load() for part in request.parts if isinstance(part, Image))
        self.bytes += sum(map(len, pictures))
        return self.brain.answer(STEPS[request.system], said(request), pictures, request.run)

    def steps(self) -> Counter[str]:
        return Counter(STEPS[request.system] for request in self.sent)


def said(request: Request) -> str:
    return "\n".join(part.text for part in request.parts if isinstance(part, Text))
