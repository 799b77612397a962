"""Evidence conditions: what is shown to a judge, by name.

E1-final (final)        task text + last screenshot
E2-last4 (last4)        last k screenshots + their actions; any k is part of the name
E3-full (full)          all screenshots + all actions, within a budget of tokens and bytes
E3-whole (whole)        all screenshots + all actions, however many: for judges that look at one a call
E2+claim (last4+claim)  the same as E2-last4, and the agent's final message
E2+swap (last4+swap)    the same as E2+claim, with a message that says the opposite
E3-full+thoughts        the same as E3-full, and what the agent thought at each action
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyrite.errors import UsageError
from pyrite.store.conditions import ACCEPTED, LAST_K, canonical


@dataclass(frozen=True)
class Condition:
    """One condition: how many of the last screens, which actions, and what of the agent's words."""

    name: str
    """The canonical name: it stands in files and tables."""
    last_screens: int | None
    """None: all of them."""
    with_actions: bool
    message: Literal["none", "claim", "swap"] = "none"
    """The agent's final message: not shown, shown, or one shown that says the opposite."""
    with_thoughts: bool = False
    whole: bool = False
    """Whether a package may be larger than one request: the budget does not hold for it."""

    @property
    def with_claim(self) -> bool:
        """Whether some final message is shown."""
        return self.message != "none"


def parse(name: str, *, last_k: int = LAST_K) -> Condition:
    """Read a condition's name or alias; `last_k` is what E2 means where the name says no number.

    >>> parse("last4+claim").name, parse("E2-lastk").name, parse("E2-last8").last_screens
    ('E2+claim', 'E2-last4', 8)
    >>> parse("whole").whole, parse("full").whole
    (True, False)
    >>> parse("full+thoughts").with_thoughts, parse("E2+swap").message
    (True, 'swap')
    """
    found = canonical(name, last_k=last_k)
    if found is None:
        raise UsageError(f"unknown condition {name!r}", expected=ACCEPTED)
    base, *added = found.split("+")
    screens: int | None = {"E1-final": 1, "E2": LAST_K}.get(base)
    if base.startswith("E2-last"):
        screens = int(base.removeprefix("E2-last"))
    return Condition(
        found,
        screens,
        with_actions=base != "E1-final",
        message="claim" if "claim" in added else "swap" if "swap" in added else "none",
        with_thoughts="thoughts" in added,
        whole=base == "E3-whole",
    )


def parse_list(names: str, *, last_k: int = LAST_K) -> list[Condition]:
    """Read a comma-separated list; the same condition named twice counts once."""
    wanted = [parse(name, last_k=last_k) for name in names.split(",") if name.strip()]
    found = {condition.name: condition for condition in wanted}
    if not found:
        raise UsageError(f"no condition in {names!r}", expected=ACCEPTED)
    return list(found.values())
