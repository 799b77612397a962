"""The families on office documents and settings: what their verifiers accept, and what they do not.

Asked in this process, which takes milliseconds; `pyrite check` asks in confinement.
"""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from pathlib import Path

import pytest

from pyrite.checks.verdict import NOTHING_PERSISTED, Result, render
from pyrite.suites.family import Family
from pyrite.suites.run import build
from pyrite.suites.suite import FamilyTask, load_suite
from pyrite.tasks.task import INITIAL

OFFICE = (
    *("calc_formula", "calc_sort", "calc_sheets", "calc_number_format", "calc_export_csv"),
    *("writer_style", "writer_replace", "writer_table", "export_pdf"),
)
SETTINGS = ("mousepad_settings", "git_settings", "x_resources", "office_settings")


def family(module: str) -> Family:
    found: Family = import_module(f"pyrite.suites.desk.{module}").FAMILY
    return found


def tasks(modules: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(module, task) for module in modules for task in family(module).params]


def declared(module: str, task: str) -> dict[str, tuple[bool, set[str]]]:
    """State -> whether it passes, and every code that it allows."""
    own, params = family(module), family(module).params[task]
    found: dict[str, tuple[bool, set[str]]] = {INITIAL: (False, set(NOTHING_PERSISTED))}
    for state in (*own.good(params), *own.harmless(params)):
        found[state.name] = (True, set())
    for state in own.bad(params):
        found[state.name] = (False, set(state.category))
    return found


def judged(module: str, task: str, home: Path) -> Result:
    """The verifier's answer, which must be one that can be printed."""
    own = family(module)
    result = own.verify(own.params[task], home)
    render(result)
    return result


def observed(module: str, task: str, out: Path, names: list[str]) -> dict[str, tuple[bool | None, set[str]]]:
    """What the verifier says of declared states."""
    build(family(module), task, out, names)
    answers = {name: judged(module, task, out / name) for name in names}
    return {name: (answer.passed, set(answer.category)) for name, answer in answers.items()}


def target(module: str, task: str, out: Path) -> str:
    """Path of the file that the good state changes."""
    build(family(module), task, out, [INITIAL, "good"])

    def files(name: str) -> dict[str, bytes]:
        return {
            str(path.relative_to(out / name)): path.read_bytes()
            for path in (out / name).rglob("*")
            if path.is_file()
        }

    before, after = files(INITIAL), files("good")
    changed = [path for path in after if after[path] != before.get(path)]
    assert len(changed) == 1, changed
    return changed[0]


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def hostile(path: Path, kind: str) -> None:
    """Leave something at a path that no program of the task would write."""
    remove(path)
    data = getattr(_Left, kind, None)
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(64 << 20)
    else:
        assert data is not None
        path.write_bytes(data)


class _Left:
    empty = b""
    zeros = bytes(4096)
    text = b"done\n"
    zip = b"PK\x03\x04" + b"\xff" * 200
    binary = bytes(range(256)) * 64
    dconf = b"GVariant" + b"\xff" * 64
    xml = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><oor:items>&a;</oor:items>'
    pdf = b"%PDF-1.6\n" + b"1 0 obj<</Type/Page/Contents 1 0 R>>\nstream\n" * 50 + b"%%EOF"
    brackets = b"[" * 50_000 + b'"' * 50_001


KINDS = (
    *("folder", "link", "fifo", "large"),
    *("empty", "zeros", "text", "zip", "binary", "dconf", "xml", "pdf", "brackets"),
)


TASKS = tasks((*OFFICE, *SETTINGS))
FULL = [pair for module in (*OFFICE, *SETTINGS) for pair in tasks((module,))[:2]]
"""`pyrite check` asks about every state of the others too."""
FIRST = [(module, next(iter(family(module).params))) for module in (*OFFICE, *SETTINGS)]


def test_there_are_enough_tasks_and_all_are_in_the_suite() -> None:
    assert len(tasks(OFFICE)) >= 24
    assert len(tasks(SETTINGS)) >= 12
    shipped = {(task.module.rpartition(".")[2], task.task_id) for task in load_suite("desk").tasks()}
    assert set(TASKS) <= shipped
    assert all(4 <= len(family(module).params) <= 8 for module in (*OFFICE, *SETTINGS))


@pytest.mark.parametrize(("module", "task"), FULL, ids=lambda value: value)
def test_every_declared_state_is_judged_as_declared(module: str, task: str, tmp_path: Path) -> None:
    wanted = declared(module, task)
    assert observed(module, task, tmp_path, list(wanted)) == wanted


@pytest.mark.parametrize(("module", "task"), TASKS, ids=lambda value: value)
def test_the_good_state_passes_and_the_untouched_one_fails(module: str, task: str, tmp_path: Path) -> None:
    wanted = declared(module, task)
    names = [INITIAL, "good"]
    assert observed(module, task, tmp_path, names) == {name: wanted[name] for name in names}
    bad = [name for name, (passes, _) in wanted.items() if not passes and name != INITIAL]
    assert len(bad) >= 6
    codes = set().union(*(wanted[name][1] for name in bad))
    assert {"F-UNCOMMITTED", "F-WRONGTARGET", "F-PARTIAL", "F-SIDEEFFECT"} <= codes


@pytest.mark.parametrize(("module", "task"), TASKS, ids=lambda value: value)
def test_a_task_can_be_read_and_carried_out(module: str, task: str) -> None:
    suite = load_suite("desk")
    spec = suite.task(task).spec
    script = suite.script(task)
    assert script[-1].action == "done"
    assert len(script) <= 40
    assert suite.claim(task).endswith(".")
    for path in spec.initial.files:
        assert (family(module).files / path.from_).is_file()
        assert (family(module).files / path.from_).stat().st_size < 64_000


@pytest.mark.parametrize(("module", "task"), FIRST, ids=lambda value: value)
def test_whatever_is_left_in_place_of_the_target_or_beside_it_fails(
    module: str, task: str, tmp_path: Path
) -> None:
    path = target(module, task, tmp_path)
    home = tmp_path / "good"
    right = (home / path).read_bytes()
    for kind in KINDS:
        hostile(home / path, kind)
        assert judged(module, task, home).passed is False, kind
        remove(home / path)
        (home / path).write_bytes(right)
    place = home / "Documents" / f"left{Path(path).suffix}"
    for kind in ("link", "fifo", "large", "binary"):
        hostile(place, kind)
        answer = judged(module, task, home)
        assert (answer.passed, set(answer.category)) == (False, {"F-SIDEEFFECT"}), kind
        remove(place)
    assert judged(module, task, home).passed is True


def test_a_lost_reference_file_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own missing file must crash (indeterminate), not fail the agent."""
    from pyrite.suites.desk import writer_style

    module, task = "writer_style", next(iter(writer_style.PARAMS))
    build(family(module), task, tmp_path, ["good"])
    monkeypatch.setattr(writer_style, "FILES", tmp_path)
    with pytest.raises(FileNotFoundError):
        judged(module, task, tmp_path / "good")


@pytest.mark.parametrize("module", [*OFFICE, *SETTINGS])
def test_a_verifier_s_digest_covers_the_readers_that_decide(module: str) -> None:
    task = FamilyTask(f"pyrite.suites.desk.{module}", next(iter(family(module).params)))
    imported = task.verifier(Path("/nowhere")).imports or ()
    assert "pyrite.suites.desk.watch" in imported
    assert not [name for name in imported if name.endswith("_edits")]
