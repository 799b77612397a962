"""pyrite: how far can you trust whatever says that your computer-use agent succeeded?

The public names below are loaded when they are first used, so that a verifier that imports
`pyrite.checks` pays for nothing else. The pipeline is `pyrite.flow`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyrite import flow
    from pyrite.errors import InputError, PyriteError, RunError, UsageError
    from pyrite.judges.base import Judge, Package, Reply, Unavailable
    from pyrite.records import Action, Category, Estimate, Evidence, Meta, Outcome, TaskSpec, Truth, Verdict
    from pyrite.store.bench import Bench
    from pyrite.tasks.task import Task

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Bench",
    "Category",
    "Estimate",
    "Evidence",
    "InputError",
    "Judge",
    "Meta",
    "Outcome",
    "Package",
    "PyriteError",
    "Reply",
    "RunError",
    "Task",
    "TaskSpec",
    "Truth",
    "Unavailable",
    "UsageError",
    "Verdict",
    "__version__",
    "flow",
]

_HOMES = {
    "pyrite.errors": ("InputError", "PyriteError", "RunError", "UsageError"),
    "pyrite.judges.base": ("Judge", "Package", "Reply", "Unavailable"),
    "pyrite.records": (
        "Action",
        "Category",
        "Estimate",
        "Evidence",
        "Meta",
        "Outcome",
        "TaskSpec",
        "Truth",
        "Verdict",
    ),
    "pyrite.store.bench": ("Bench",),
    "pyrite.tasks.task": ("Task",),
}


def __getattr__(name: str) -> Any:
    if name == "flow":
        return import_module("pyrite.flow")
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'pyrite' has no attribute {name!r}")
