"""Verifiers asked through the fork server: the answers of fresh processes, for every shipped state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.sampling import one_a_family

from pyrite.records import Truth
from pyrite.sandbox import bwrap, confine, forkserver
from pyrite.store.jsonl import read_record
from pyrite.suites.suite import FamilyTask, load_suite
from pyrite.tasks.task import INITIAL
from pyrite.truth.verifier import ask, confinement
from pyrite.truth.verify import verify

FOUND, REASON = bwrap.probe()
pytestmark = pytest.mark.skipif(FOUND is None, reason=f"no bubblewrap: {REASON}")


@pytest.mark.parametrize("task", one_a_family(load_suite("desk").tasks()))
def test_every_state_of_every_task(task: FamilyTask, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [INITIAL, *(state.name for state in task.spec.states)]
    with forkserver.scratch() as folder:
        out = folder / "states"
        out.mkdir()
        assert confine.run(task.builder(out, names), writes=[out]).returncode == 0
        forked = {name: ask(task, out / name) for name in names}
        assert all(answer.forked for answer in forked.values())
        monkeypatch.setenv("PYRITE_NO_FORKSERVER", "1")
        # a fresh process each takes 20 times as long: every third state, others for each task
        some = names[sum(map(ord, task.task_id)) % 3 :: 3]
        fresh = {name: ask(task, out / name) for name in some}
    assert not any(answer.forked for answer in fresh.values())
    for name, answer in fresh.items():
        assert (answer.said, answer.diagnostics, answer.log) == (
            forked[name].said,
            forked[name].diagnostics,
            forked[name].log,
        )


BROKEN = {
    "crash": ("raise OSError(1)", "verifier_error"),
    "hang": ("import time; time.sleep(60)", "verifier_timeout"),
    "garbage": ("print('what?'); sys.exit()", "verifier_output_invalid"),
    "two": ("print('{\"pass\": true}'); print('{\"pass\": true}'); sys.exit()", "verifier_output_invalid"),
    "nan": ('print(\'{"pass": true, "diagnostics": {"x": NaN}}\')', "verifier_output_invalid"),
    "nonzero": ("print('{\"pass\": true}'); sys.exit(1)", "verifier_error"),
    "long": ("print('x' * (1 << 20)); print('{\"pass\": true}'); sys.exit()", "verifier_output_invalid"),
    "memory": ("x = bytearray(4 << 30)", "verifier_error"),
    "recursion": ("def f(): f()\n    f()", "verifier_error"),
    "signal": ("os.kill(os.getpid(), 9)", "verifier_error"),
}


def test_broken_verifiers_have_the_same_causes(
    episodes: Any, make_task: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = {}
    folders: dict[str, Path] = {}
    for name, (code, _) in BROKEN.items():
        folders[name] = episodes.add(name, {"note.txt": "boom", "list.txt": "a\n"}, task_id=f"t-{name}")
        broken = f"if found == 'boom':\n    {code}\nseen = {{"
        tasks[f"t-{name}"] = make_task(
            f"t-{name}", verify=episodes.VERIFY.replace("seen = {", broken, 1), timeout_s=2.0
        )
    seen = []
    for switch in (None, "1"):
        if switch:
            monkeypatch.setenv("PYRITE_NO_FORKSERVER", switch)
        for folder in folders.values():
            (folder / "gt.json").unlink(missing_ok=True)
        verify(episodes.bench, tasks.get, jobs=1, image="image-1")
        truths = {name: read_record(folder / "gt.json", Truth) for name, folder in folders.items()}
        process = {truth.confinement["process"] for truth in truths.values()}
        assert process == {"fresh" if switch else "forked"}
        seen.append({name: (truth.cause, truth.diagnostics.get("problem")) for name, truth in truths.items()})
    assert seen[0] == seen[1]
    assert {name: cause for name, (cause, _) in seen[0].items()} == {n: c for n, (_, c) in BROKEN.items()}


def test_why_a_process_was_fresh_is_said(monkeypatch: pytest.MonkeyPatch, make_task: Any) -> None:
    monkeypatch.setenv("PYRITE_NO_FORKSERVER", "1")
    with forkserver.scratch() as folder:
        (folder / "note.txt").write_text("old")
        answer = ask(make_task(), folder)
    held = confinement(answer)
    assert (held["process"], held["process_reason"]) == ("fresh", "switched off by PYRITE_NO_FORKSERVER")
    assert "process" not in confinement()
