"""Evidence conditions: what is shown to a judge, by name.

E1-final (final)        task text + last screenshot
E2-last4 (last4)        last k screenshots + their actions; any k is part of the name
E3-full (full)          all screenshots + all actions
E2+claim (last4+claim)  the same as E2-last4, and the agent's final message
"""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.errors import UsageError
from pyrite.store.conditions import ACCEPTED, LAST_K, canonical


@dataclass(frozen=True)
class Condition:
    """One condition: how many of the last screens, which actions, and whether the claim is shown."""

    name: str
    """The canonical name: it stands in files and tables."""
    last_screens: int | None
    """None: all of them."""
    with_actions: bool
    with_claim: bool


def parse(name: str, *, last_k: int = LAST_K) -> Condition:
    """Read a condition's name or alias; `last_k` is what E2 means where the name says no number.

    >>> parse("last4+claim").name, parse("E2-lastk").name, parse("E2-last8").last_screens
    ('E2+claim', 'E2-last4', 8)
    """
    found = canonical(name, last_k=last_k)
    if found is None:
        raise UsageError(f"unknown condition {name!r}", expected=ACCEPTED)
    base, _, claim = found.partition("+")
    if base == "E1-final":
        return Condition(found, 1, with_actions=False, with_claim=bool(claim))
    if base == "E3-full":
        return Condition(found, None, with_actions=True, with_claim=bool(claim))
    screens = int(base.removeprefix("E2-last")) if base != "E2" else LAST_K
    return Condition(found, screens, with_actions=True, with_claim=bool(claim))


def parse_list(names: str, *, last_k: int = LAST_K) -> list[Condition]:
    """Read a comma-separated list; the same condition named twice counts once."""
    wanted = [parse(name, last_k=last_k) for name in names.split(",") if name.strip()]
    found = {condition.name: condition for condition in wanted}
    if not found:
        raise UsageError(f"no condition in {names!r}", expected=ACCEPTED)
    return list(found.values())
