"""The suite of tasks whose verifier acts, recorded and verified; single steps; and no path to a judge."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pyrite import flow
from pyrite.records import Action, Launch, Outcome
from pyrite.sandbox.backend import Act, SessionSpec
from pyrite.sandbox.local import LocalBackend
from pyrite.steps import ActLine, Step
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines
from pyrite.suites.suite import load_suite
from pyrite.truth.replay import replay

pytestmark = pytest.mark.desktop


def _shared() -> ModuleType:
    path = Path(__file__).with_name("acting.py")
    spec = importlib.util.spec_from_file_location("desktop_acting", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


shared = _shared()
CANARY = "kakapo-4711"
TASKS = load_suite("desk-active").tasks()


ONE_A_FAMILY = {task.family.name: task.task_id for task in TASKS}


@pytest.mark.parametrize(
    "only",
    [
        *(pytest.param(task_id, id=family) for family, task_id in ONE_A_FAMILY.items()),
        pytest.param("*", id="all", marks=pytest.mark.slow),
    ],
)
def test_a_competent_agent_passes_every_task(
    backend: LocalBackend,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    only: str,
) -> None:
    root = tmp_path / "bench"
    assert flow.record("desk-active", root, agents="scripted", only=only, workers=2).lost == 0
    report = flow.verify(root)
    assert [result.detail for result in report.replays if result.cause] == []
    bench = Bench(root)
    outcomes: list[str] = []
    for meta in bench.metas():
        truth = bench.truth(meta.episode_id)
        assert truth is not None
        assert truth.act is not None
        outcomes.append(str(truth.outcome))
        assert truth.act["final"]["outcome"] == "fail", "the work was in the application only"
        assert truth.act["result"] == "done", truth.act["problem"]
    tasks = len(TASKS) if only == "*" else 1
    assert outcomes == ["pass"] * tasks
    live = [result.live for result in report.replays]
    assert all(one is not None and one.ran and one.cause is None for one in live)
    record_property("figure", f"active tasks, {only}: scripted passes {tasks} of {tasks}")
    _no_path_to_a_judge(bench, root)


def _no_path_to_a_judge(bench: Bench, root: Path) -> None:
    """Neither act.jsonl nor what it did is in a package; the last screen is one of before the act."""
    for meta in bench.metas():
        paths = bench.paths.episode(meta.episode_id)
        lines = [json.loads(one) for one in paths.acts.read_text().splitlines()]
        lines[0]["seen"] = lines[0]["focus"] = CANARY
        paths.acts.write_text("".join(json.dumps(one) + "\n" for one in lines))
        last = list(bench.actions(meta.episode_id))[-1]
        assert last.action == "done"
        assert last.screen is not None
        assert last.at is not None
        assert lines[0]["at"] >= last.at
        assert not any("act" in path.name for path in paths.screens.iterdir())
    flow.judge(root, labels="accept-all,claim", conditions="E3-full,E2+claim")
    packed = [path for path in (root / "evidence").rglob("*") if path.is_file()]
    assert packed
    assert not any(CANARY.encode() in path.read_bytes() for path in packed)


def test_l1_passes_l2_fails_and_the_active_part_is_named(backend: LocalBackend) -> None:
    wrong = {"step": "activate_window", "title": "minutes.txt", "match": "exact", "timeout_s": 0.5}
    task = shared.Altered(shared.TEXT, {"act": [wrong, {"step": "sleep", "seconds": 0.1}]})
    archived = replay(task, image="here", live=False)
    assert (archived.cause, archived.live) == (None, None)
    # an altered task is no family task: it has the script only where task.json says so
    script = [a.model_dump(exclude_none=True) for a in shared.script_of(shared.SUITE.task(shared.TEXT))]
    scripted = shared.Altered(shared.TEXT, {**task.changes, "script": script})
    found = replay(scripted, image="here")
    assert all(check.ok for check in found.checks), "the comparison is right"
    assert (found.cause, found.to_blame) == ("gold_failed", "active part")
    assert found.detail.startswith(
        "active part: step 1 activate_window 'minutes.txt': no window is titled so"
    )
    assert any("sleep 0.1 observes nothing" in problem for problem in found.problems)
    body = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert body["to_blame"] == "active part"
    assert len(body["live"]["runs"]) == 4, "the good state was tried once more"


def test_steps_that_do_the_task_themselves_are_caught(backend: LocalBackend) -> None:
    line = shared.SUITE.task(shared.TEXT).family.params[shared.TEXT].line
    path = "Documents/minutes.txt"
    shell = f"grep -qF '{line}' {path} || echo '{line}' >> {path}"
    write = {"step": "execute", "argv": ["/bin/sh", "-c", shell]}
    found = replay(shared.Altered(shared.TEXT, {"act": [write]}), image="here")
    assert (found.cause, found.to_blame) == ("bad_state_accepted", "active part")
    assert found.detail == "active part: initial state initial passes after it"


def test_a_folder_task_without_a_script_says_what_is_not_shown(backend: LocalBackend) -> None:
    wait = {"step": "wait_for", "file": "Documents/minutes.txt", "timeout_s": 1.0}
    found = replay(shared.Altered(shared.TEXT, {"act": [wait]}), image="here")
    assert found.cause is None
    assert any("not shown: without a script" in problem for problem in found.problems)


def acted(
    backend: LocalBackend, tmp_path: Path, act: list[dict[str, Any]], *before: Action, app: str | None = None
) -> list[ActLine]:
    """The lines of an act in a home that holds note.txt."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "note.txt").write_text("old\n")
    body = {"task_id": "t", "instruction": "x", "act": act, "truth_from": "acted"}
    steps: tuple[Step, ...] = shared.TaskSpec.model_validate(body).act
    opened = Launch(app=app, args=("note.txt",)) if app else None
    lines: list[ActLine] = []
    with backend.start(home, SessionSpec(open=opened)) as session:
        for action in before:
            assert session.act(action, settle=False).error is None
        session.finish(tmp_path / "final.tar.zst", Act(steps, tmp_path / "acted.tar.zst", lines.append))
    return lines


def test_programs_files_and_answers_are_seen_for_real(
    backend: LocalBackend, tmp_path: Path, members: Any
) -> None:
    server = (
        "use Socket; socket(S,PF_INET,SOCK_STREAM,0); setsockopt(S,SOL_SOCKET,SO_REUSEADDR,1);"
        "bind(S,sockaddr_in(8123,INADDR_LOOPBACK)); listen(S,5);"
        'while(accept(C,S)){sysread(C,$b,999);syswrite(C,"HTTP/1.0 200 OK\\r\\n\\r\\nready");close C}'
    )
    serve = Action(action="launch", app="xterm", args=("-e", "perl", "-e", server))
    act: list[dict[str, Any]] = [
        {"step": "wait_for", "window": "XTerm"},
        {"step": "wait_for", "http": "http://127.0.0.1:8123/", "output": "ready", "match": "exact"},
        {"step": "execute", "argv": ["/bin/sh", "-c", "echo new > note.txt; exit 3"], "expect_exit": 3},
        {"step": "wait_for", "file": "note.txt"},
        {"step": "wait_for", "command": ["cat", "note.txt"], "output": "^new$", "match": "regex"},
        {"step": "sleep", "seconds": 0.05},
    ]
    lines = acted(backend, tmp_path, act, serve)
    assert [line.ok for line in lines] == [True] * 6, lines[-1].seen
    assert [line.exit_code for line in lines] == [None, None, 3, None, 0, None]
    assert lines[-1].hazard is not None
    assert all(line.hazard is None for line in lines[:-1])
    assert members(tmp_path / "final.tar.zst")["note.txt"] == b"old\n"
    assert members(tmp_path / "acted.tar.zst")["note.txt"] == b"new\n"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"step": "execute", "argv": ["/bin/false"]}, "exit 1; expected exit 0"),
        ({"step": "execute", "argv": ["/no/such"]}, "expected exit 0"),
        ({"step": "execute", "argv": ["sleep", "9"], "timeout_s": 0.5}, "its time was up"),
        ({"step": "execute", "argv": ["/bin/sh", "-c", "yes"], "timeout_s": 0.5}, "its time was up"),
        ({"step": "wait_for", "http": "http://127.0.0.1:8124/", "timeout_s": 0.5}, "ConnectionRefused"),
        ({"step": "wait_for", "file": "note.txt", "timeout_s": 0.3}, "as it was when the act began"),
        ({"step": "wait_for", "title": "x", "timeout_s": 0.3}, "windows: none"),
        ({"step": "key", "keys": "ctrl+s", "title": "x"}, "not pressed"),
        ({"step": "activate_window", "title": "x", "timeout_s": 0.3}, "there are: none"),
        (
            {"step": "activate_window", "title": "a{9999}", "match": "regex", "timeout_s": 0.3},
            "there are: none",
        ),
    ],
    ids=lambda value: value["step"] if isinstance(value, dict) else "",
)
def test_what_is_not_seen_to_work_ends_the_act(
    backend: LocalBackend, tmp_path: Path, step: dict[str, Any], said: str
) -> None:
    began = time.monotonic()
    lines = acted(backend, tmp_path, [step, {"step": "execute", "argv": ["/bin/true"]}])
    assert [line.ok for line in lines] == [False]
    assert said in lines[0].seen
    assert (tmp_path / "acted.tar.zst").is_file(), "the state is taken wherever the steps ended"
    assert time.monotonic() - began < 20


def test_a_file_that_leads_out_of_the_home_is_not_there(backend: LocalBackend, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "out").symlink_to("/etc/hostname")
    wait = {"step": "wait_for", "file": "out", "is": "exists", "timeout_s": 0.5}
    assert [line.ok for line in acted(backend, tmp_path, [wait])] == [False]


def test_act_lines_are_written_as_they_happen(backend: LocalBackend, tmp_path: Path) -> None:
    episode = shared.episode(tmp_path, shared.SUITE.task(shared.ANY_NAME))
    assert episode.truth.outcome is Outcome.PASS
    lines = list(read_lines(episode.folder / "act.jsonl", ActLine))
    assert [line.n for line in lines] == [1, 2, 3]
    assert "packing_final.txt" in lines[0].seen, "the agent had saved under another name"
