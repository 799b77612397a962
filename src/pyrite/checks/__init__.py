"""What verifiers are written with; nothing here imports more than the standard library and defusedxml.

The names below are for checks of one's own product; they are loaded when first used, so that a verifier
that imports one module pays for no other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyrite.checks.asking import Failed, Indeterminate
    from pyrite.checks.health import Health
    from pyrite.checks.product import AsyncCheck, Check, check, check_async, require
    from pyrite.checks.trouble import TryLater, raise_for_trouble
    from pyrite.checks.verdict import Result
    from pyrite.checks.waiting import Canary, Clock, eventually, eventually_async

_HOMES = {
    "asking": ("Failed", "Indeterminate"),
    "waiting": ("Canary", "Clock", "eventually", "eventually_async"),
    "health": ("Health",),
    "product": ("AsyncCheck", "Check", "check", "check_async", "require"),
    "trouble": ("TryLater", "raise_for_trouble"),
    "verdict": ("Result",),
}

__all__ = [
    "AsyncCheck",
    "Canary",
    "Check",
    "Clock",
    "Failed",
    "Health",
    "Indeterminate",
    "Result",
    "TryLater",
    "check",
    "check_async",
    "eventually",
    "eventually_async",
    "raise_for_trouble",
    "require",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"pyrite.checks.{module}"), name)
    raise AttributeError(f"module 'pyrite.checks' has no attribute {name!r}")
