"""Have the near-misses of a task made, confined, and read what came of it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.package import Unreadable, read_file
from pyrite.errors import InputError
from pyrite.sandbox import confine
from pyrite.tasks.task import BUILD_LIMITS, INITIAL, Program
from pyrite.truth.mutants.build import MADE
from pyrite.truth.mutants.model import MOST, OPERATORS

_LIMIT = 4 << 20
_FOLDER = re.compile(r"m\d{3}")


class MadeMutant(NamedTuple):
    """A near-miss and its home."""

    name: str
    operator: str
    what: str
    home: Path


class Made(NamedTuple):
    """The near-misses of one task."""

    mutants: tuple[MadeMutant, ...]
    not_applicable: dict[str, str]
    """Operator -> why it made none."""


def make(
    states: Path, out: Path, *, good: str, harmless: Sequence[str], reads: Sequence[str], seed: str
) -> Made:
    """Make the near-misses of `states/<good>` below `out`, an empty folder; raises `InputError`.

    What was built is as hostile as the task: only sizes, names and folders that fit are believed.
    """
    argv = [sys.executable, "-P", "-m", "pyrite.truth.mutants.build"]
    argv += ["--initial", str(states / INITIAL), "--good", str(states / good), "--out", str(out)]
    argv += [f"--seed={seed}", *(f"--reads={glob}" for glob in reads)]
    for name in harmless:
        argv += ["--harmless", str(states / name)]
    program = Program(tuple(argv), states)
    finished = confine.run(program, writes=[out], limits=BUILD_LIMITS)
    if finished.timed_out:
        raise InputError(f"the near-misses were not made within {BUILD_LIMITS.timeout_s:g} s")
    if finished.returncode != 0:
        text = finished.stderr.decode("utf-8", "replace").strip()[-300:]
        raise InputError(f"making near-misses exited with {finished.returncode}: {text or 'no message'}")
    try:
        body = json.loads(read_file(out / MADE, _LIMIT))
        return _read(body, out)
    except (Unreadable, ValueError, KeyError, TypeError, RecursionError) as exc:
        raise InputError(f"what was made cannot be read: {exc!s:.200}") from None


def _read(body: Any, out: Path) -> Made:
    mutants = []
    for entry in body["mutants"][:MOST]:
        folder, operator = entry["folder"], entry["operator"]
        home = out / str(folder)
        if not _FOLDER.fullmatch(folder) or operator not in OPERATORS or home.is_symlink():
            raise ValueError(f"{folder!r:.40} is no near-miss")
        if home.is_dir():
            mutants.append(MadeMutant(str(entry["name"])[:300], operator, str(entry["what"])[:300], home))
    refused = body["not_applicable"]
    return Made(tuple(mutants), {name: str(refused[name])[:200] for name in OPERATORS if name in refused})
