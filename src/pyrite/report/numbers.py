"""How numbers are written for people, in the terminal and in the report: one home for both.

A rate is per cent with one decimal and a narrow no-break space, its interval in brackets. A difference
is signed with a true minus, in `pp`. What is not known is `null` with its reason, never 0 or blank.
Nothing heavy is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pyrite.measure.reasons import words as words

THIN = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
FEW = 10
"""Under this many episodes there are counts only: no rate, no interval, no ranking."""


def percent(value: float | None, *, reason: str | None = None) -> str:
    """A rate as per cent with one decimal, or null with its reason.

    >>> percent(0.0924), percent(None, reason="nothing_accepted")
    ('9.2\\u202f%', 'null: nothing accepted')
    """
    return null(reason) if value is None else f"{100 * value:.1f}{THIN}%"


def null(reason: str | None = None) -> str:
    """What is not known, with the reason where there is one.

    >>> null(), null("no_negatives")
    ('null', 'null: none failed')
    """
    return f"null: {words(reason)}" if reason else "null"


def interval(low: float | None, high: float | None) -> str:
    """An interval of a rate in per cent; nothing where there is none."""
    return "" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"


def rate(estimate: Mapping[str, Any]) -> str:
    """A rate with its interval."""
    text = percent(estimate["value"], reason=estimate.get("reason"))
    return f"{text} {interval(estimate.get('low'), estimate.get('high'))}".rstrip()


def signed(value: float, *, digits: int = 1) -> str:
    """A number with its sign, a true minus, and no sign where it rounds to zero.

    >>> signed(2.04), signed(-0.9), signed(-0.04)
    ('+2.0', '−0.9', '0.0')
    """
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def points(value: float | None, *, reason: str | None = None) -> str:
    """A difference of two rates in percentage points, signed.

    >>> points(-0.0087)
    '−0.9\\u202fpp'
    """
    return null(reason) if value is None else f"{signed(100 * value)}{THIN}pp"


def points_interval(low: float | None, high: float | None) -> str:
    """An interval of a difference; nothing where there is none."""
    return "" if low is None or high is None else f"[{signed(100 * low)}, {signed(100 * high)}]"


def distance(value: float | None, *, reason: str | None = None) -> str:
    """A difference that has no direction, in percentage points.

    >>> distance(0.029)
    '2.9\\u202fpp'
    """
    return null(reason) if value is None else f"{100 * value:.1f}{THIN}pp"


def p_value(p: float | None, *, reason: str | None = None) -> str:
    """A p-value with three decimals; what is smaller says only that.

    >>> p_value(0.0237), p_value(1.5e-7), p_value(None, reason="single_cluster")
    ('0.024', '<0.001', 'null: all of one task')
    """
    if p is None:
        return null(reason)
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def coefficient(value: float | None, *, reason: str | None = None) -> str:
    """Kappa or AUC with three decimals and a true minus; zero has no sign.

    >>> coefficient(0.62649), coefficient(-0.1), coefficient(-0.0001)
    ('0.626', '−0.100', '0.000')
    """
    return null(reason) if value is None else signed(value, digits=3).removeprefix("+")


def coefficient_interval(low: float | None, high: float | None) -> str:
    """An interval of kappa or AUC; nothing where there is none."""
    return "" if low is None or high is None else f"[{coefficient(low)}, {coefficient(high)}]"


def ratio(part: int, whole: int) -> str:
    """How many of how many, thousands with a comma.

    >>> ratio(75, 811), ratio(1200, 30000)
    ('75 / 811', '1,200 / 30,000')
    """
    return f"{part:,} / {whole:,}"


def count(number: int, noun: str) -> str:
    """A number with its noun, plural where it is not one.

    >>> count(1, "episode"), count(1200, "episode")
    ('1 episode', '1,200 episodes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def limit(target: float) -> str:
    """A limit as it was asked for, in per cent without a decimal that says nothing.

    >>> limit(0.05), limit(0.0005)
    ('5\\u202f%', '0.05\\u202f%')
    """
    return f"{100 * target:.4g}{THIN}%"


def confidence(delta: float) -> str:
    """One minus the share of error, in per cent, rounded down: never more than was asked for.

    >>> confidence(0.05), confidence(0.05 / 3), confidence(1e-6)
    ('95\\u202f%', '98.33\\u202f%', '99.99\\u202f%')
    """
    return f"{math.floor(1e4 * (1 - delta) + 1e-6) / 100:g}{THIN}%"


def refusal(certificate: Mapping[str, Any]) -> str:
    """Why no threshold is certified: what was counted and how many are needed. Empty where one is.

    `certificate` as it stands in a result. Half of the tasks choose a threshold and half test it, so
    twice as many are needed in all.

    >>> asked = {"threshold": None, "target": 0.05, "delta": 0.05, "sampling": "one_per_task"}
    >>> refusal({**asked, "n": 8, "needed": 59, "reason": "too_few_negatives: 8 of at least 59"})
    '8 tasks with failures in the half that chooses, at least 59 needed: about 118 such tasks in all'
    >>> refusal({**asked, "n": 70, "needed": 59, "reason": "no_candidate_passes"})
    'no threshold keeps FPR at most 5\\u202f% at 95\\u202f% confidence'
    """
    if certificate["threshold"] is not None:
        return ""
    reason = str(certificate["reason"]).partition(":")[0]
    if reason in ("too_few_negatives", "no_negatives"):
        found, needed = math.floor(certificate["n"]), certificate["needed"]
        counted, such = f"{count(found, 'task')} with failures", f"about {2 * needed:,} such tasks"
        if certificate["sampling"] == "effective_size":
            counted = f"failed episodes of effective size {found:,}"
            such = f"an effective size of about {2 * needed:,}"
        return f"{counted} in the half that chooses, at least {needed:,} needed: {such} in all"
    if reason == "no_candidate_passes":
        delta = certificate["delta"]
        sure = "on average" if delta is None else f"at {confidence(delta)} confidence"
        return f"no threshold keeps FPR at most {limit(certificate['target'])} {sure}"
    if reason == "single_cluster":
        return "all failed episodes in the half that chooses are of one task"
    if reason == "unreadable_scores":
        return "almost no score of a failed episode in the half that chooses can be read"
    return words(certificate["reason"])


def few(n: int) -> bool:
    """Whether there are episodes, but too few for a rate to be shown."""
    return 0 < n < FEW
