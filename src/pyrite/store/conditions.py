"""The names of evidence conditions as they stand in files: aliases become the one true name."""

from __future__ import annotations

import re

ACCEPTED = (
    "E1-final, E2-lastK (E2-last4), E3-full, E3-whole, each with +claim or +swap, all but the first with "
    "+thoughts too; or final, last4, full, whole"
)
LAST_K = 4
"""Screens of E2 where a name says no number."""

_PATTERN = re.compile(r"^(?:E1-final|E2(?:-last(?P<k>[1-9]\d{0,3}|k))?|E3-full|E3-whole)$")
_ALIASES = {"final": "E1-final", "full": "E3-full", "whole": "E3-whole"}
_ADDED = ("claim", "swap", "thoughts")
"""What may be added, in the order in which a true name has it."""


def canonical(name: str, *, last_k: int = LAST_K) -> str | None:
    """The true name of a condition or alias; None for what is no condition of ours.

    E1-final shows no action, so there is nothing that +thoughts could stand beside.

    >>> canonical("last4+claim"), canonical("E2-lastk"), canonical("E2-lastk", last_k=6), canonical("E9")
    ('E2+claim', 'E2-last4', 'E2-last6', None)
    >>> canonical("full+thoughts+claim"), canonical("E2+claim+swap"), canonical("E1-final+thoughts")
    ('E3-full+claim+thoughts', None, None)
    """
    base, *added = name.strip().split("+")
    base = _ALIASES.get(base, base)
    if re.fullmatch(r"last(?:\d+|k)", base):
        base = f"E2-{base}"
    match = _PATTERN.match(base)
    if match is None or not _may_be_added(base, added):
        return None
    suffix = "".join(f"+{word}" for word in _ADDED if word in added)
    if not base.startswith("E2"):
        return base + suffix
    k = last_k if match["k"] in (None, "k") else int(match["k"])
    return f"E2{suffix}" if k == LAST_K and suffix else f"E2-last{k}{suffix}"


def _may_be_added(base: str, added: list[str]) -> bool:
    """Known words, none twice, not two messages at once, and thoughts only beside actions."""
    if len(set(added)) != len(added) or not set(added) <= set(_ADDED):
        return False
    return not {"claim", "swap"} <= set(added) and not (base == "E1-final" and "thoughts" in added)
