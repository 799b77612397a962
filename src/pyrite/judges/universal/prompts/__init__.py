"""What each step of the Universal Verifier tells its model, a file each, and the digest of all of them."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files

STEPS = (
    "rubric",
    "dependencies",
    "actions_only",
    "relevance",
    "evidence",
    "conditions",
    "reality",
    "rescoring",
    "side_effects",
    "outcome",
    "failures",
    "task_with_record",
    "task_alone",
)
"""In the order in which they come in a record; a step's name is that of its file."""


@cache
def load(step: str) -> str:
    """The system text of a step: its own words, then what holds for all."""
    return f"{_file(step)}\n{_file('common')}"


@cache
def digests() -> dict[str, str]:
    """Step -> sha256 of its system text."""
    return {step: hashlib.sha256(load(step).encode()).hexdigest() for step in STEPS}


def digest() -> str:
    """sha256 over all of them: what a verdict line names."""
    return hashlib.sha256(json.dumps(digests(), sort_keys=True).encode()).hexdigest()


def _file(name: str) -> str:
    return (files(__name__) / f"{name}.md").read_text(encoding="utf-8")
