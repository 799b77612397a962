"""Load a task that somebody wrote by hand.

    tasks/<task_id>/
      task.json        instruction (or instruction.md beside it), initial, states, reads, limits, …
      setup.sh|.py     builds the initial home, optional
      verify.py        python verify.py ROOT -> one JSON object on stdout
      states/<name>.sh|.py|.tar.zst

How states are built stands in `build.py`. A folder that cannot be used as it is raises `InputError`
naming file, field, value and what was expected.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from pydantic import ValidationError

from pyrite.errors import InputError, UsageError
from pyrite.records import Category, Outcome, StateSpec, TaskSpec
from pyrite.store.jsonl import explained
from pyrite.tasks.task import INITIAL, Program

_MAX_BYTES = 1 << 20
_ENDINGS = (".sh", ".py", ".tar.zst")
_EXPECTED_OUTCOME = {"good": Outcome.PASS, "harmless": Outcome.PASS, "bad": Outcome.FAIL}


@dataclass(frozen=True)
class FolderTask:
    """A task folder; implements `Task`."""

    folder: Path
    """Absolute."""
    spec: TaskSpec

    def builder(self, out: Path, names: Sequence[str]) -> Program:
        files = [part for file in self.spec.initial.files for part in ("--file", file.from_, file.path)]
        argv = (sys.executable, "-P", "-m", "pyrite.tasks.build", "--task", str(self.folder))
        return Program((*argv, "--out", str(out.absolute()), *files, *names), self.folder)

    def verifier(self, home: Path) -> Program:
        home = home.absolute()
        script = self.folder / "verify.py"
        return Program((sys.executable, str(script), str(home)), self.folder, (home,), _imported(script))

    def verifier_sha256(self) -> str:
        return digest_folder(self.folder)


def _imported(script: Path) -> tuple[str, ...]:
    """The modules that a script imports, by their full names; none where it cannot be parsed."""
    try:
        source = script.read_bytes()
        return _imports(source) if len(source) <= _MAX_BYTES else ()
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


@lru_cache(maxsize=64)
def _imports(source: bytes) -> tuple[str, ...]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
    return tuple(sorted(found))


def load_folder(folder: Path) -> FolderTask:
    """Load one task folder; raises `InputError`."""
    folder = folder.absolute()
    path = folder / "task.json"
    if not folder.is_dir():
        raise InputError(
            "there is no such task folder", where=str(folder), expected="a folder with a task.json"
        )
    data = _read_object(path)
    _take_instruction(folder, data)
    stated = data.setdefault("task_id", folder.name)
    if stated != folder.name:
        _bad(path, "task_id", stated, f"the folder's name, {folder.name!r}")
    try:
        spec = TaskSpec.model_validate(data)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "(the object)"
        unknown = first["type"] == "extra_forbidden"
        accepted = explained(exc, str(path), TaskSpec).expected if unknown else first["msg"]
        _bad(path, field, first["input"], accepted)
    if not (folder / "verify.py").is_file():
        raise InputError("verify.py is missing", where=str(folder), expected="verify.py beside task.json")
    if (folder / "setup.sh").exists() and (folder / "setup.py").exists():
        raise InputError("both setup.sh and setup.py are there", where=str(folder), expected="one of them")
    _check_initial(folder, path, spec)
    _check_states(folder, path, spec)
    return FolderTask(folder, spec)


def load_folders(root: Path) -> list[FolderTask]:
    """Load every child folder that has a task.json, sorted by name.

    Raises `UsageError` if there is none, and `InputError` for the first that cannot be used.
    """
    if not root.is_dir():
        raise UsageError("there is no such folder", where=str(root), expected="a folder of task folders")
    children = sorted(child for child in root.iterdir() if child.is_dir())
    found = [child for child in children if (child / "task.json").is_file()]
    if not found:
        names = ", ".join(child.name for child in children[:10]) or "no folder"
        raise UsageError(
            "no task folder here", where=str(root), expected=f"<task_id>/task.json; it holds {names}"
        )
    return [load_folder(child) for child in found]


def digest_folder(folder: Path) -> str:
    """sha256 over every file's relative path and bytes, without what Python caches."""
    digest = hashlib.sha256()
    for path in _files(folder):
        name = os.fsencode(path.relative_to(folder))
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        for part in (name, b"link" if path.is_symlink() else b"file", content):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        links = [name for name in folders if (Path(root) / name).is_symlink()]
        for name in sorted([*files, *links]):
            path = Path(root) / name
            if path.is_symlink() or stat.S_ISREG(path.stat().st_mode):
                yield path


def _read_object(path: Path) -> dict[str, Any]:
    def no_constant(text: str) -> NoReturn:
        raise ValueError(f"{text} is not JSON")

    def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        repeated = next((key for key in keys if keys.count(key) > 1), None)
        if repeated is not None:
            raise ValueError(f"the key {repeated!r} is there twice")
        return dict(pairs)

    expected = "one JSON object in UTF-8, at most 1 MB"
    if not path.is_file():
        raise InputError("task.json is missing", where=str(path.parent), expected=expected)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("it is larger than 1 MB")
        data = json.loads(path.read_text("utf-8"), parse_constant=no_constant, object_pairs_hook=no_repeats)
    except json.JSONDecodeError as exc:
        raise InputError(exc.msg, where=f"{path}:{exc.lineno}", expected=expected) from None
    except (ValueError, OSError, RecursionError) as exc:
        raise InputError(str(exc), where=str(path), expected=expected) from None
    if not isinstance(data, dict):
        raise InputError(f"it holds a {type(data).__name__}", where=str(path), expected=expected)
    return data


def _take_instruction(folder: Path, data: dict[str, Any]) -> None:
    beside = folder / "instruction.md"
    if "instruction" in data and beside.exists():
        raise InputError(
            "the instruction is there twice", where=str(folder), expected="task.json or instruction.md"
        )
    if "instruction" not in data:
        if not beside.is_file():
            raise InputError(
                "there is no instruction",
                where=str(folder),
                expected='"instruction" in task.json, or instruction.md beside it',
            )
        try:
            data["instruction"] = beside.read_text("utf-8").strip()
        except UnicodeDecodeError:
            raise InputError("it is not UTF-8 text", where=str(beside)) from None
    if isinstance(data["instruction"], str) and not data["instruction"].strip():
        _bad(folder / "task.json", "instruction", data["instruction"], "what the agent is asked to do")


def _check_initial(folder: Path, path: Path, spec: TaskSpec) -> None:
    seen: set[str] = set()
    for at, file in enumerate(spec.initial.files):
        field = f"initial.files.{at}"
        if not _is_below(file.path):
            _bad(path, f"{field}.path", file.path, "a relative path below the home, without ..")
        if file.path in seen:
            _bad(path, f"{field}.path", file.path, "a path that no other entry lays in")
        seen.add(file.path)
        source = folder / file.from_
        if not _is_below(file.from_) or not source.resolve().is_relative_to(folder.resolve()):
            _bad(path, f"{field}.from", file.from_, "a file of the task folder")
        if not source.is_file():
            _bad(path, f"{field}.from", file.from_, "a file that is there")
    for at, glob in enumerate(spec.reads):
        if not _is_below(glob):
            _bad(path, f"reads.{at}", glob, "a relative path or glob below the home, without ..")


def _check_states(folder: Path, path: Path, spec: TaskSpec) -> None:
    known = {code.value for code in Category}
    names: set[str] = set()
    for at, state in enumerate(spec.states):
        field = f"states.{at}"
        plain = state.name.replace("_", "").replace("-", "")
        if not (plain.isascii() and plain.isalnum()) or state.name == INITIAL or state.name[0] == "-":
            _bad(path, f"{field}.name", state.name, f"letters, digits, _ and -, and not {INITIAL!r}")
        if state.name in names:
            _bad(path, f"{field}.name", state.name, "a name that no other state has")
        names.add(state.name)
        _check_meaning(path, field, state, known)
        sources = [ending for ending in _ENDINGS if (folder / "states" / f"{state.name}{ending}").is_file()]
        if len(sources) != 1:
            found = " and ".join(sources) or "nothing"
            _bad(path, f"{field}.name", state.name, f"one of states/NAME.sh .py .tar.zst, found {found}")
    undeclared = sorted(
        child.name
        for child in (folder / "states").glob("*")
        if child.name.endswith(_ENDINGS) and not child.name.startswith(".") and _stem(child.name) not in names
    )
    if undeclared:
        raise InputError(
            f"states/{undeclared[0]} is not declared",
            where=f"{path}, field states",
            expected="every state with its kind and outcome",
        )


def _check_meaning(path: Path, field: str, state: StateSpec, known: set[str]) -> None:
    expected = _EXPECTED_OUTCOME[state.kind]
    if state.outcome != expected:
        _bad(path, f"{field}.outcome", state.outcome.value, f"{expected.value} for a {state.kind} state")
    if state.kind != "bad" and state.category:
        _bad(path, f"{field}.category", list(state.category), "no category, since it passes")
    for code in state.category:
        if code not in known:
            _bad(path, f"{field}.category", code, " ".join(sorted(known)))


def _stem(name: str) -> str:
    return next(name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending))


def _is_below(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\0" not in path


def _bad(path: Path, field: str, value: object, expected: str) -> NoReturn:
    shown = repr(value)
    shown = shown if len(shown) <= 200 else shown[:199] + "…"
    raise InputError(f"{shown} cannot be used", where=f"{path}, field {field}", expected=expected)
