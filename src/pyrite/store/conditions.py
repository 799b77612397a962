"""The names of evidence conditions as they stand in files: aliases become the one true name."""

from __future__ import annotations

import re

ACCEPTED = "E1-final, E2-lastK (E2-last4), E3-full, each with +claim; or final, last4, full"
LAST_K = 4
"""Screens of E2 where a name says no number."""

_PATTERN = re.compile(r"^(?:E1-final|E2(?:-last(?P<k>[1-9]\d{0,3}|k))?|E3-full)(?P<claim>\+claim)?$")
_ALIASES = {"final": "E1-final", "full": "E3-full"}


def canonical(name: str, *, last_k: int = LAST_K) -> str | None:
    """The true name of a condition or alias; None for what is no condition of ours.

    >>> canonical("last4+claim"), canonical("E2-lastk"), canonical("E2-lastk", last_k=6), canonical("E9")
    ('E2+claim', 'E2-last4', 'E2-last6', None)
    """
    base, plus, rest = name.strip().partition("+")
    base = _ALIASES.get(base, base)
    if re.fullmatch(r"last(?:\d+|k)", base):
        base = f"E2-{base}"
    match = _PATTERN.match(base + plus + rest)
    if match is None:
        return None
    suffix = match["claim"] or ""
    if not base.startswith("E2"):
        return base + suffix
    k = last_k if match["k"] in (None, "k") else int(match["k"])
    return "E2+claim" if k == LAST_K and suffix else f"E2-last{k}{suffix}"
