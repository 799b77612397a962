"""Every hazard by its name, in order of importance. Each is one function of a definition."""

from __future__ import annotations

from pyrite.audit.hazards import base, checks, evaluation, shape
from pyrite.audit.hazards.base import PRIORITIES, Found, Hazard

__all__ = ["HAZARDS", "PRIORITIES", "Found", "Hazard", "checks", "evaluation", "shape"]

HAZARDS: dict[str, Hazard] = dict(sorted(base.HAZARDS.items(), key=lambda one: one[1].priority))
"""Name -> hazard; of equal importance in the order in which they are written."""
