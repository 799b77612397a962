"""What the steps of a verification hand to each other. What is not known is None, never 0 or False."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pyrite.records import Status

Loss = Literal["none", "agent", "outside"]


class Unusable(ValueError):
    """An answer that a step cannot use: it is asked for again, as often as `attempts` says."""

    def __init__(self, why: str, status: Status = "off_schema") -> None:
        super().__init__(why[:300])
        self.status: Status = status


class StepFailed(Exception):
    """A step whose answers could not be used, after all its attempts."""

    def __init__(self, step: str, why: str, status: Status | None, attempts: int) -> None:
        super().__init__(f"{step}: {why}")
        self.step, self.why, self.status, self.attempts = step, why, status, attempts


@dataclass(frozen=True)
class Fault:
    """Something that went wrong on the way: what, where, and which criteria it leaves ungraded."""

    step: str
    what: str
    status: Status | None = None
    """What was wrong with the model's last answer; None where no model was to blame."""
    attempts: int | None = None
    criteria: tuple[int, ...] | None = None
    """The criteria concerned; None: all of them."""
    decisive: bool = False
    """Whether the outcome could be another one without it: then it is null."""


@dataclass(frozen=True)
class Criterion:
    """One line of a rubric."""

    name: str
    description: str
    max_points: float
    condition: str | None = None
    quote: str | None = None
    """Words of the task that require it; None where nobody asked for them (a rubric that was given)."""


@dataclass(frozen=True)
class Dropped:
    """A criterion that was taken out, and why."""

    criterion: Criterion
    why: Literal["phantom", "overlap"]
    what: str


@dataclass(frozen=True)
class Rubric:
    """What is graded, and what the checks made of what a model wrote."""

    criteria: tuple[Criterion, ...]
    source: Literal["generated", "given"] = "generated"
    dropped: tuple[Dropped, ...] = ()
    alike: tuple[tuple[int, int, float], ...] = ()
    """Pairs of criteria that look alike, with their similarity."""
    reformulated: bool = False
    note: str = ""
    """Why a rubric that was given was not used."""

    @property
    def conditional(self) -> list[int]:
        return [i for i, one in enumerate(self.criteria) if one.condition is not None]


@dataclass(frozen=True)
class Baseline:
    """What the agent's actions and words alone would earn for a criterion."""

    points: float
    justification: str
    met: bool | None = None
    """Of a conditional criterion: whether the condition seems to hold; None where the answer does not say."""


@dataclass(frozen=True)
class Seen:
    """What one screen shows about one criterion."""

    screen: int
    """Number of the screen among those shown, from 0."""
    evidence: str
    analysis: str
    discrepancies: str
    blocked: bool
    """Whether the screen shows something outside of the agent's power that stands in the way."""
    condition: bool | None = None


@dataclass(frozen=True)
class Grade:
    """What a criterion earns when the screens are known."""

    points: float
    justification: str
    evidence: str
    loss: Loss = "none"
    upstream: int | None = None
    prevented: bool = False
    reported: bool = False
    adjusted: str = ""
    """Which rule changed the model's points, and from what."""
    open: bool = False
    """Whether what the last step led to, which nobody has seen, could change the points: then none stand."""


@dataclass(frozen=True)
class Penalty:
    """A criterion for a side effect: it earns nothing."""

    name: str
    description: str
    max_points: float
    justification: str


@dataclass
class Instance:
    """One independent grading with the screens: steps 6 and 7."""

    grades: tuple[Grade, ...] | None = None
    penalties: tuple[Penalty, ...] | None = None
    """None where it is not known whether there are any."""
    reasoning: str = ""
    """Of step 7."""


@dataclass(frozen=True)
class Vote:
    """What one of the instances of step 8 says."""

    intent: str
    reasoning: str
    success: bool
    open: bool = False
    """Whether what the last step led to, which nobody has seen, could make it another."""

    @property
    def said(self) -> bool | None:
        """What counts."""
        return None if self.open else self.success


@dataclass
class Conditions:
    """Which criteria apply, and why."""

    met: list[bool | None]
    """True for criteria without a condition; None where it cannot be told."""
    reasoning: dict[int, str] = field(default_factory=dict)


@dataclass
class Diagnosis:
    """Where it went wrong, and whether the task can be done at all; None where the step failed."""

    failures: dict[str, Any] | None = None
    task_with_record: dict[str, Any] | None = None
    task_alone: dict[str, Any] | None = None
