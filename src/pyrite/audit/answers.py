"""What a comparator answered to one case, and what that is worth."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyrite.errors import UsageError

NON_ANSWERS = {
    "raised": "it raised",
    "none": "None",
    "nan": "NaN or infinity",
    "not_a_number": "no number",
    "fraction": "a number other than 0 and 1, and no --accept says from where on it passes",
    "timeout": "no answer in time",
    "died": "its process ended",
    "not_deterministic": "two calls on the same files, two answers",
}
"""What is no answer: counted apart, as indeterminate."""
_GOT = frozenset({*NON_ANSWERS, "number"} - {"fraction", "not_deterministic"})
_ACCEPT = re.compile(r"\s*(>=|>|==)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
_SHOWN = 300


class Accept(NamedTuple):
    """From where on a number is an accept."""

    operator: str
    bound: float

    def takes(self, value: float) -> bool:
        """Whether a number is an accept."""
        if self.operator == "==":
            return value == self.bound
        return value > self.bound or (self.operator == ">=" and value == self.bound)

    def __str__(self) -> str:
        return f"{self.operator}{self.bound!r}"


def parse_accept(text: str) -> Accept:
    """`>=1.0`, `>0.5`, `==1`; raises `UsageError`.

    >>> str(parse_accept(" >= 1"))
    '>=1.0'
    """
    found = _ACCEPT.fullmatch(text)
    if found is None:
        raise UsageError(
            f"--accept {text!r:.60}", expected="an operator and a number: '>=1.0', '>0.5', '==1'"
        )
    return Accept(found[1], float(found[2]))


class Answer(NamedTuple):
    """What one call gave: `got` is number or a key of NON_ANSWERS."""

    got: str
    value: float | None = None
    text: str = ""


class Said(NamedTuple):
    """What two calls come to."""

    accepts: bool | None
    """None: no answer, and `why` is the key of NON_ANSWERS."""
    why: str = ""
    fraction: bool = False
    """The number is neither 0 nor 1: the threshold decided."""


def weigh(first: Answer, second: Answer, accept: Accept | None) -> Said:
    """Two calls on the same files -> accept, reject, or what kind of non-answer."""
    if (first.got, first.value) != (second.got, second.value):
        return Said(None, "not_deterministic")
    if first.value is None:
        return Said(None, first.got)
    fraction = first.value not in (0.0, 1.0)
    if accept is None:
        return Said(None, "fraction", True) if fraction else Said(first.value == 1.0)
    return Said(accept.takes(first.value), fraction=fraction)


def read(stdout: bytes, names: Sequence[str]) -> tuple[dict[str, Answer], str | None]:
    """The answers of a run by case, and why it was refused. What is no answer of ours is left out."""
    found: dict[str, Answer] = {}
    wanted = set(names)
    for line in stdout.split(b"\n"):
        try:
            body = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(body, Mapping):
            continue
        if "refused" in body:
            return found, _text(body["refused"])
        name = body.get("case")
        if isinstance(name, str) and name in wanted and name not in found:
            answer = _answer(body)
            if answer is not None:
                found[name] = answer
    return found, None


def _answer(body: Mapping[str, Any]) -> Answer | None:
    got, value = body.get("got"), body.get("value")
    if not isinstance(got, str) or got not in _GOT:
        return None
    if got != "number":
        return Answer(got, None, _text(body.get("text")))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return Answer(got, number, _text(body.get("text"))) if math.isfinite(number) else None


def _text(value: object) -> str:
    text = value if isinstance(value, str) else ""
    return text[:_SHOWN].encode("utf-8", "backslashreplace").decode("utf-8")
