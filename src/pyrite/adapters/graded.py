"""What a foreign verifier said, as an outcome: one table decides for every harness.

A harness has a float where its verifier answers, and no place for "could not tell". The outcome travels
beside that float (`Graded.as_info`); the float stays for training, and nothing unknown becomes 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any, NamedTuple

from pyrite.checks.verdict import Result
from pyrite.errors import UsageError
from pyrite.records import BLAME, Outcome

SLACK = 1e-9
"""Ten times 0.1 is 0.9999999999999999: a sum of parts that misses a bound by less than this meets it."""
_SHOWN = 200


@dataclass(frozen=True)
class Scale:
    """What a harness's numbers mean; raises `UsageError` where nothing could pass or nothing fail."""

    passes: float = 1.0
    """The least number that is a pass. Less is a fail whose number is kept, however much it is."""
    low: float = 0.0
    high: float = 1.0
    """A number outside of these is no answer."""

    def __post_init__(self) -> None:
        if not self.low < self.passes <= self.high:
            raise UsageError(
                f"a scale from {self.low:g} to {self.high:g} that passes at {self.passes:g}",
                expected="low < passes <= high",
            )


UNIT = Scale()
UNBOUNDED = Scale(low=-math.inf, high=math.inf)


class How(StrEnum):
    """How a verifier came to its end."""

    ANSWERED = "answered"
    RAISED = "raised"
    TIMED_OUT = "timed_out"
    NO_ANSWER = "no_answer"
    """The place of the answer is empty: no file, no value under its name."""
    UNREADABLE = "unreadable"
    """There is an answer, and it is none: half-written, of the wrong shape."""
    STATE_MISSING = "state_missing"
    """What it was to look at is not there."""
    SETUP_FAILED = "setup_failed"
    """It never began: its installer failed, the environment would not start."""
    ACT_FAILED = "act_failed"
    """What it does before it looks went wrong."""
    LOST = "lost"
    """The environment went away."""
    OF_THE_POLICY = "of_the_policy"
    """It raised what the caller says that an agent can cause: a fail, or agents learn to cause it."""


CAUSES = {
    How.RAISED: "verifier_error",
    How.TIMED_OUT: "verifier_timeout",
    How.NO_ANSWER: "verifier_output_invalid",
    How.UNREADABLE: "verifier_output_invalid",
    How.STATE_MISSING: "state_missing",
    How.SETUP_FAILED: "setup_failed",
    How.ACT_FAILED: "act_failed",
    How.LOST: "environment_lost",
}
"""How it ended -> the cause of its being indeterminate."""

_BY_CLASS = {
    "TimeoutError": How.TIMED_OUT,
    "TimeoutExpired": How.TIMED_OUT,
    "Timeout": How.TIMED_OUT,
    "ConnectionError": How.LOST,
    "TargetClosedError": How.LOST,
    "FileNotFoundError": How.STATE_MISSING,
}
"""Name of an exception's class, or of one that it is derived from (playwright, requests have their own)."""


class Seen(NamedTuple):
    """What a verifier did."""

    how: How
    value: object = None
    """What it answered, where it did."""
    why: str = ""


@dataclass(frozen=True)
class Graded:
    """One outcome, and what is left of the harness's own number."""

    outcome: Outcome
    cause: str | None = None
    """Why the outcome is indeterminate; None for pass and fail."""
    reward: float | None = None
    """The harness's number, unchanged; None where it is not known."""
    raw: str = ""
    """What it answered, as short text."""
    why: str = ""

    @property
    def blame(self) -> str | None:
        """verifier, environment or task; None for pass and fail."""
        return None if self.cause is None else BLAME[self.cause]

    @property
    def mask(self) -> bool:
        """Leave this sample out: do not train on it, and do not let it into its group's mean."""
        return self.outcome is Outcome.INDETERMINATE

    def reward_or(self, fill: float) -> float:
        """A float for a place that must hold one; `fill` is what stands for "not known"."""
        return fill if self.reward is None else self.reward

    def as_info(self) -> dict[str, Any]:
        """All of it as JSON, for whatever a harness carries along (info, metadata, extra_info)."""
        return {
            "outcome": self.outcome.value,
            "cause": self.cause,
            "blame": self.blame,
            "reward": self.reward,
            "mask": self.mask,
            "raw": self.raw,
            "why": self.why,
        }


def decide(seen: Seen, scale: Scale = UNIT) -> Graded:
    """The table: what a verifier did -> what it means. Pure; never raises.

    >>> [decide(Seen(How.ANSWERED, value)).outcome.value for value in (1.0, 0.4, 0.0, None, "true")]
    ['pass', 'fail', 'fail', 'indeterminate', 'indeterminate']
    """
    raw = shown(seen.value) if seen.how is How.ANSWERED or seen.value is not None else ""
    if seen.how is How.OF_THE_POLICY:
        lowest = scale.low if math.isfinite(scale.low) else None
        return Graded(Outcome.FAIL, reward=lowest, raw=raw, why=seen.why)
    if seen.how is not How.ANSWERED:
        return Graded(Outcome.INDETERMINATE, CAUSES[seen.how], raw=raw, why=seen.why)
    if seen.value is None:
        return Graded(Outcome.INDETERMINATE, "verifier_says_unknown", raw=raw, why=seen.why or "None")
    number = number_of(seen.value)
    problem = _problem(number, seen.value, scale)
    if number is None or problem:
        return Graded(Outcome.INDETERMINATE, "verifier_output_invalid", raw=raw, why=seen.why or problem)
    passed = number >= scale.passes - SLACK
    return Graded(Outcome.PASS if passed else Outcome.FAIL, reward=number, raw=raw, why=seen.why)


def _problem(number: float | None, value: object, scale: Scale) -> str:
    """Why something is no answer; empty where it is one."""
    if number is None:
        return f"a {type(value).__name__}, expected a number"
    if not math.isfinite(number):
        return f"{number}, expected a finite number"
    if not scale.low - SLACK <= number <= scale.high + SLACK:
        return f"{number:g}, expected {scale.low:g} to {scale.high:g}"
    return ""


def number_of(value: object) -> float | None:
    """A number as a float: also a bool, and a numpy or torch scalar; None for a text and all else.

    >>> number_of(True), number_of(2), number_of("1.0"), number_of([1.0])
    (1.0, 2.0, None, None)
    """
    try:
        if getattr(value, "shape", None) == () and hasattr(value, "item"):
            value = value.item()
        return float(value) if isinstance(value, Real) else None
    except Exception:  # a foreign object may do anything
        return None


def of_exception(exc: BaseException, policy_causes: tuple[type[BaseException], ...] = ()) -> Seen:
    """What an exception says of how a verifier ended."""
    text = f"{type(exc).__name__}: {shown(exc)}"
    if policy_causes and isinstance(exc, policy_causes):
        return Seen(How.OF_THE_POLICY, why=text)
    names = [one.__name__ for one in type(exc).__mro__]
    how = next((_BY_CLASS[name] for name in names if name in _BY_CLASS), How.RAISED)
    return Seen(how, why=text)


def attempt(call: Callable[[], object], policy_causes: tuple[type[BaseException], ...] = ()) -> Seen:
    """Ask; whatever it raises is what was seen. Ctrl-C goes through."""
    try:
        return Seen(How.ANSWERED, call())
    except (Exception, SystemExit) as exc:
        return of_exception(exc, policy_causes)


def ours(value: object) -> Graded:
    """What a check of ours said: a `Graded`, a `Result`, an answer with `outcome` and `cause`, a bool.

    None is "cannot tell"; a number is read as a foreign one.
    """
    if isinstance(value, Graded):
        return value
    if isinstance(value, Result):
        passed, cause = value.passed, value.cause
    elif getattr(value, "outcome", None) in tuple(Outcome):
        outcome = Outcome(value.outcome)  # type: ignore[attr-defined]  # asked for in the line above
        passed = None if outcome is Outcome.INDETERMINATE else outcome is Outcome.PASS
        cause = getattr(value, "cause", None)
    else:
        return decide(Seen(How.ANSWERED, value))
    why = str(getattr(value, "problem", "") or "")
    if passed is None:
        known = cause if isinstance(cause, str) and cause in BLAME else "verifier_says_unknown"
        return Graded(Outcome.INDETERMINATE, known, why=why or str(cause or ""))
    return Graded(Outcome.PASS if passed else Outcome.FAIL, reward=1.0 if passed else 0.0, why=why)


def shown(value: object) -> str:
    """A foreign value as short text that every encoding can carry."""
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception:
        text = f"a {type(value).__name__}"
    text = text[: _SHOWN + 1].encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
