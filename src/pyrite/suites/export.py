"""Export tasks of a suite: as plain folders that need nothing of pyrite, or as Harbor tasks.

Every state is built the way it always is, confined; what is written is `tasks.export` and
`tasks.export_harbor`. A task's folder appears whole or not at all; one that is there is never written to.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyrite.errors import RunError, UsageError
from pyrite.pool import Silent, Watch
from pyrite.sandbox import apps, confine
from pyrite.store.scratch import scratch
from pyrite.suites.lookup import Origin, matching, open_origin
from pyrite.suites.suite import FamilyTask
from pyrite.tasks.export import Verifier, copied, verifier_of_family, write_folder
from pyrite.tasks.export_harbor import Image, write_harbor
from pyrite.tasks.task import BUILD_LIMITS, INITIAL, Task

Form = Literal["folders", "harbor"]
_SILENT = Silent()


@dataclass(frozen=True)
class Exported:
    """What was written."""

    folder: Path
    form: Form
    tasks: tuple[str, ...]
    schema_version: str = "1"


def export(suite: str, out: Path, *, form: Form, only: str = "*", watch: Watch = _SILENT) -> Exported:
    """Write every task of SUITE whose id matches `only` into `out/<task_id>/`.

    Raises `UsageError` where a task's folder is there already, or there is nothing to export.
    """
    origin = open_origin(suite)
    wanted = [task_id for _, task_id in matching(origin, only)]
    if out.exists() and not out.is_dir():
        raise UsageError("it is not a folder", where=str(out), expected="a folder for tasks")
    for task_id in wanted:
        if os.path.lexists(out / task_id):
            raise UsageError(
                "it is there already and is left as it is",
                where=str(out / task_id),
                expected="a new folder",
                next=f"pyrite export {suite} --to {form} -o ANOTHER_FOLDER",
            )
    out.mkdir(parents=True, exist_ok=True)
    watch.total = len(wanted)
    for task_id in wanted:
        _one(origin, task_id, out, form)
        watch.tick(task_id)
    return Exported(out, form, tuple(wanted))


def _one(origin: Origin, task_id: str, out: Path, form: Form) -> None:
    task = origin.task(task_id)
    partial = out / f".{task_id}.{os.getpid()}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with scratch("export") as place:
            _write(origin, task, place, partial, form)
        partial.rename(out / task_id)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write(origin: Origin, task: Task, place: Path, folder: Path, form: Form) -> None:
    spec = task.spec
    if form == "folders" and origin.folder is not None:
        copied(origin.folder / spec.task_id, folder)
        return
    homes = _built(task, place)
    if isinstance(task, FamilyTask):
        family = task.family
        params = family.params[task.task_id]
        initial, compared = family.initial(params), family.compared(params)
        verifier = verifier_of_family(task.module, task.task_id, family.files, initial, compared)
    else:
        assert origin.folder is not None
        verifier = _of_folder(origin.folder / spec.task_id)
    script, claim = origin.script(spec.task_id)
    if form == "folders":
        write_folder(folder, spec.model_copy(update={"script": tuple(script)}), verifier, homes, claim)
    else:
        write_harbor(folder, spec, verifier, homes, _image(task))


def _image(task: Task) -> Image:
    """What an image needs for a task: the application that is open, commands, our own web application."""
    opened = task.spec.initial.open
    tools = task.family.tools if isinstance(task, FamilyTask) else ()
    if opened is None:
        return Image(tools)
    serves = opened.app == "kontor"
    page = opened.args[0] if serves and opened.args else ""
    return Image((apps.APPS[opened.app].package, *tools), apps.brought() if serves else {}, page)


def _of_folder(folder: Path) -> Verifier:
    """The files of a task folder that its verifier may read: all but what builds states."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        builds = name.parts[0] in {"states", "setup.sh", "setup.py"} or "__pycache__" in name.parts
        if path.is_file() and not path.is_symlink() and not builds:
            files[str(name)] = path.read_bytes()
    return Verifier(files, {})


def _built(task: Task, place: Path) -> Path:
    """A home for every state of a task, built confined."""
    out = place / "homes"
    out.mkdir()
    names = [INITIAL, *(state.name for state in task.spec.states)]
    built = confine.run(task.builder(out, names), writes=[out], limits=BUILD_LIMITS)
    if built.returncode != 0:
        said = built.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise RunError(
            f"the states of task {task.spec.task_id} cannot be built: {said[-1]}",
            expected="states that `pyrite check` can build",
        )
    return out
