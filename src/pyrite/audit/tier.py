"""How far a verifier acts before it looks: the tier of a task.

0 reads no state (only the agent's last action) · 1a reads files, settings or the output of a command
that only reads · 1b asks a running application · 2 acts through its getters (drives a browser, uses an
account, runs a program) · 3 acts in steps of the evaluation phase · 4 those steps press keys.
"""

from __future__ import annotations

from typing import Literal

from pyrite.audit import commands
from pyrite.audit.definition import Definition

Tier = Literal["0", "1a", "1b", "2", "3", "4"]

TIERS: dict[Tier, str] = {
    "0": "infeasible: only the agent's last action is read",
    "1a": "passive: files, settings, a command that only reads",
    "1b": "passive: asks a running application",
    "2": "active through a getter only",
    "3": "active steps, no keystrokes",
    "4": "active, keystrokes into a window",
}
ACTIVE: tuple[Tier, ...] = ("2", "3", "4")
PASSIVE: tuple[Tier, ...] = ("1a", "1b")


def tier_of(task: Definition) -> Tier | None:
    """The tier; None where the definition does not say what its verifier does."""
    if task.unreadable:
        return None
    if task.infeasible:
        return "0"
    if task.evaluation:
        return "4" if any(step.keys or commands.gui(step.text) for step in task.evaluation) else "3"
    reaches = {getter.reach for getter in task.getters}
    if "acts" in reaches:
        return "2"
    if "unknown" in reaches:
        return None  # it may act: nobody can say that this task is passive
    return "1b" if "app" in reaches else "1a"
