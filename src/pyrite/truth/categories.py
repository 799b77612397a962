"""Which way did it fail? The second of two steps: candidates of the state, narrowed by the episode.

The verifier names every code that the end state allows; several endings leave the same state (not
saved, nothing done, given up). What was observed of the episode decides between them. `Observed` is
all that may be used: it does not hold who acted, how the episode was made or what it derives from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pyrite.episodes.claims import Claim, claim
from pyrite.records import ActionLine, Category, Facts

MAX_TYPED = 200_000
"""Characters of input kept of one episode; the last ones."""

_SEPARATOR = "\n"
_KEYS = {
    "space": " ", "period": ".", "comma": ",", "minus": "-", "plus": "+", "slash": "/", "colon": ":",
    "equal": "=", "underscore": "_", "at": "@", "percent": "%", "apostrophe": "'", "quotedbl": '"',
    "KP_Decimal": ".", "KP_Subtract": "-", "KP_Add": "+",
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.,])[-+]?(?:\d{1,3}(?:,\d{3}){1,12}|\d{1,40})(?:\.\d{1,40})?(?![.,]?\w)")


@dataclass(frozen=True)
class Observed:
    """What was seen of an episode, from outside, that may decide its category."""

    unsaved: bool | None = None
    """A close request brought up a dialog, or did not; None where that is not known."""
    ended_by: str | None = None
    final_message: str | None = None
    typed: str | None = None
    """The text that reached the applications, see `typed_text`; None where it is not known."""


@dataclass(frozen=True)
class Narrowed:
    """A category and where it comes from, or None and why there is none."""

    category: Category | None
    source: Literal["state", "episode"] | None = None
    reason: str = ""


def observe(
    facts: Facts | None, ended_by: str | None, final_message: str | None, actions: list[ActionLine] | None
) -> Observed:
    """What may be used of an episode; `actions` None where actions.jsonl cannot be read."""
    if ended_by is None and actions and actions[-1].action in {"done", "fail"}:
        ended_by = actions[-1].action
    return Observed(
        unsaved=facts.unsaved if facts else None,
        ended_by=ended_by,
        final_message=final_message,
        typed=None if actions is None else typed_text(actions),
    )


def narrow(candidates: Iterable[str], diagnostics: dict[str, Any], observed: Observed) -> Narrowed:
    """The one category that state and episode leave.

    One candidate: it is the state that decides. Otherwise, among the candidates only: F-UNCOMMITTED
    if work was unsaved (or, where that is not known, if the expected value was typed), else F-CLAIM
    if the message asserts success, else F-ABORT if the episode did not end by `done` or the message
    denies success. Failing that, codes that the facts exclude are dropped. More than one left, or a
    code that is not one of the seven: None.
    """
    named = list(dict.fromkeys(candidates))
    if not named:
        return Narrowed(None, reason="the verifier named no category")
    unknown = [code for code in named if code not in set(Category)]
    if unknown:
        return Narrowed(None, reason=f"unknown code {unknown[0]!r:.80}")
    left = [Category(code) for code in named]
    if len(left) == 1:
        return Narrowed(left[0], "state")
    return _by_facts(left, diagnostics, observed)


def _by_facts(left: list[Category], diagnostics: dict[str, Any], observed: Observed) -> Narrowed:
    says = claim(observed.final_message)
    uncommitted = _uncommitted(diagnostics, observed) if Category.UNCOMMITTED in left else False
    if uncommitted is None:
        return Narrowed(None, reason="not known whether the expected value was entered and left unsaved")
    holds = {
        Category.UNCOMMITTED: uncommitted,
        Category.CLAIM: says == "asserted",
        Category.ABORT: _aborted(observed, says),
    }
    for code, true in holds.items():
        if true and code in left:
            return Narrowed(code, "episode")
    rest = [code for code in left if code not in holds]
    if len(rest) == 1:
        return Narrowed(rest[0], "episode")
    return Narrowed(
        None, reason="the facts of the episode leave " + (" ".join(rest) or "none of the candidates")
    )


def _aborted(observed: Observed, says: Claim) -> bool:
    return observed.ended_by not in {None, "done"} or says == "denied"


def _uncommitted(diagnostics: dict[str, Any], observed: Observed) -> bool | None:
    """Was work done and left unsaved? None where neither the facts nor the actions can tell."""
    if observed.unsaved is not None:
        return observed.unsaved
    if observed.typed is None:
        return None
    if not observed.typed.strip():
        return False
    expected = expected_texts(diagnostics)
    return was_typed(observed.typed, expected) if expected else None


def expected_texts(diagnostics: dict[str, Any]) -> list[str]:
    """The value or values under `expected` in a verifier's diagnostics, as text."""
    expected = diagnostics.get("expected")
    values = expected if isinstance(expected, list) else [expected]
    texts = [str(v) for v in values if isinstance(v, str | int | float) and not isinstance(v, bool)]
    return [text.strip() for text in texts if text.strip()]


def typed_text(actions: Iterable[ActionLine]) -> str:
    """Typed text and single keys in order; anything else between two inputs is a separator.

    An action that was refused or failed (`error`) reached nobody.
    """
    typed: list[str] = []
    for line in actions:
        if line.error:
            continue
        if line.action == "type":
            typed += (line.text or "")[-MAX_TYPED:]
        elif line.action == "key" and line.keys == "BackSpace":
            if typed and typed[-1] != _SEPARATOR:
                typed.pop()
        elif line.action == "key":
            typed.append(_character(line.keys or ""))
        elif line.action not in {"wait", "move"}:
            typed.append(_SEPARATOR)
        if len(typed) > 2 * MAX_TYPED:
            del typed[:-MAX_TYPED]
    return "".join(typed[-MAX_TYPED:])


def _character(keys: str) -> str:
    """The character that a key makes, or a separator."""
    shifted = keys[6:] if keys.lower().startswith("shift+") else None
    key = keys if shifted is None else shifted
    if len(key) == 1:
        return key.upper() if shifted is not None else key
    if len(key) == 4 and key.startswith("KP_") and key[3].isdigit():
        return key[3]
    return _KEYS.get(key, _SEPARATOR)


def was_typed(typed: str, expected: list[str]) -> bool:
    """Whether every expected value stands in the typed text as a whole: a number by its value.

    >>> was_typed("D14\\n4500.0\\n", ["4500"]), was_typed("14500", ["4500"])
    (True, False)
    """
    numbers = {_value(found) for found in _NUMBER.findall(typed)}
    return all(_one_typed(typed, numbers, text) for text in expected)


def _one_typed(typed: str, numbers: set[float], expected: str) -> bool:
    if _NUMBER.fullmatch(expected):
        return _value(expected) in numbers
    return re.search(rf"(?<!\w){re.escape(expected)}(?!\w)", typed) is not None


def _value(text: str) -> float:
    return float(text.replace(",", ""))
