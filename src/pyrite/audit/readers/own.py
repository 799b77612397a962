"""Our own tasks: a built-in suite by its name, or a folder of `<id>/task.json` with `verify.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyrite.audit import hostile
from pyrite.audit.definition import Definition, Getter, Problem, Step, unreadable
from pyrite.audit.hostile import Unreadable, shown
from pyrite.audit.readers import Source
from pyrite.errors import PyriteError
from pyrite.records import TaskSpec
from pyrite.suites.lookup import Origin
from pyrite.suites.suite import suite_names


class Own:
    """Reads tasks of pyrite: verify.py looks at the end state and does nothing before it."""

    name = "pyrite"
    title = "pyrite tasks"
    written_from = "this version of pyrite"
    harness = "replays every known state first; a task that fails it is indeterminate"

    def recognises(self, root: Path) -> bool:
        if not root.exists():
            return str(root) in suite_names()
        return next(self.sources(root), None) is not None

    def sources(self, root: Path) -> Iterator[Source]:
        if not root.exists():
            if str(root) in suite_names():
                for task_id in Origin(suite=str(root)).task_ids():
                    yield Source(task_id, "", root)
            return
        if root.is_file():
            return
        places = (
            [root]
            if (root / "task.json").is_file()
            else hostile.folders(root / "tasks") or hostile.folders(root)
        )
        for folder in places:
            if (folder / "task.json").is_file() and (folder / "verify.py").is_file():
                yield Source(shown(folder.name), "", folder)

    def bytes_of(self, source: Source, root: Path) -> bytes:
        try:
            if not root.exists():
                return Origin(suite=str(root)).task(source.key).verifier_sha256().encode()
            parts = (hostile.read_bytes(source.path / name, root) for name in ("task.json", "verify.py"))
            return b"\0".join(parts)
        except (Unreadable, PyriteError):
            return b""

    def read(self, source: Source, root: Path) -> Definition:
        where = str(root) if not root.exists() else hostile.below(source.path / "task.json", root)
        try:
            if root.exists():
                task = Origin(folder=source.path.absolute().parent).task(source.path.absolute().name)
            else:
                task = Origin(suite=str(root)).task(source.key)
        except (PyriteError, OSError) as exc:
            text = exc.what if isinstance(exc, PyriteError) else str(exc)
            return unreadable(source.key, source.domain, where, "task_invalid", shown(text))
        script = "" if not root.exists() else _script(source.path / "verify.py", root)
        return _definition(task.spec, source, where, script)


def _script(path: Path, root: Path) -> str:
    try:
        return hostile.text_of(hostile.read_bytes(path, root, 1 << 20))
    except Unreadable:
        return ""


def _definition(spec: TaskSpec, source: Source, where: str, script: str) -> Definition:
    good = [state.name for state in spec.states if state.kind == "good"]
    problems = () if good else (Problem("no_oracle", "no good state is declared", "states"),)
    acts = spec.model_dump(mode="json").get("act")
    steps = [
        _step(one, f"act[{number}]") for number, one in enumerate(acts if isinstance(acts, list) else [])
    ]
    return Definition(
        task=source.key,
        domain=spec.family,
        where=where,
        instruction=shown(spec.instruction, 2000),
        steps=tuple(steps),
        getters=tuple(Getter("end_state", "result", "reads", 0, "read", paths=(path,)) for path in spec.reads)
        or (Getter("end_state", "result", "reads", 0, "read"),),
        metrics=("verify.py",),
        conj="all",
        scripts=(("verify.py", script),) if script else (),
        oracle=f"states/{good[0]}" if good else None,
        problems=problems,
    )


def _step(one: Mapping[str, Any], at: str) -> Step:
    """A step of an active task; each is observed, so none of them fails in silence."""
    kind, seconds, title = str(one.get("step")), one.get("seconds"), one.get("title")
    text = " ".join(one["argv"]) if isinstance(one.get("argv"), list) else str(one.get("keys") or title or "")
    return Step(
        kind,
        "postconfig",
        at,
        shown(text, 2000),
        seconds=float(seconds) if kind == "sleep" and isinstance(seconds, int | float) else None,
        title=shown(title) if kind == "activate_window" and isinstance(title, str) else None,
        strict=one.get("match") == "exact",
        keys=kind == "key",
        saves=kind == "key" and str(one.get("keys")).lower() == "ctrl+s",
    )
