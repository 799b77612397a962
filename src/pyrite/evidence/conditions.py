"""Evidence conditions: what is shown to a judge, by name.

E1-final (final)        task text + last screenshot
E2-last4 (last4)        last k screenshots + their actions; any k is part of the name
E3-full (full)          all screenshots + all actions
E2+claim (last4+claim)  the same as E2-last4, and the agent's final message
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyrite.errors import UsageError

ACCEPTED = "E1-final, E2-lastK (E2-last4), E3-full, each with +claim; or final, last4, full"
_PATTERN = re.compile(r"^(?:E1-final|E2(?:-last(?P<k>[1-9]\d{0,3}|k))?|E3-full)(?P<claim>\+claim)?$")
_ALIASES = {"final": "E1-final", "full": "E3-full"}


@dataclass(frozen=True)
class Condition:
    """One condition: how many of the last screens, which actions, and whether the claim is shown."""

    name: str
    """The canonical name: it stands in files and tables."""
    last_screens: int | None
    """None: all of them."""
    with_actions: bool
    with_claim: bool


def parse(name: str) -> Condition:
    """Read a condition's name or alias.

    >>> parse("last4+claim").name, parse("E2-lastk").name, parse("E2-last8").last_screens
    ('E2+claim', 'E2-last4', 8)
    """
    base, plus, rest = name.strip().partition("+")
    base = _ALIASES.get(base, base)
    if re.fullmatch(r"last\d+", base):
        base = f"E2-{base}"
    match = _PATTERN.match(base + plus + rest)
    if match is None:
        raise UsageError(f"unknown condition {name!r}", expected=ACCEPTED)
    claim = match["claim"] is not None
    suffix = "+claim" if claim else ""
    if base == "E1-final":
        return Condition(base + suffix, 1, with_actions=False, with_claim=claim)
    if base == "E3-full":
        return Condition(base + suffix, None, with_actions=True, with_claim=claim)
    k = 4 if match["k"] in (None, "k") else int(match["k"])
    if k == 4 and claim:
        return Condition("E2+claim", 4, with_actions=True, with_claim=True)
    return Condition(f"E2-last{k}{suffix}", k, with_actions=True, with_claim=claim)


def parse_list(names: str) -> list[Condition]:
    """Read a comma-separated list; the same condition named twice counts once."""
    found = {parse(name).name: parse(name) for name in names.split(",") if name.strip()}
    if not found:
        raise UsageError(f"no condition in {names!r}", expected=ACCEPTED)
    return list(found.values())
