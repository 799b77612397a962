"""Replays are kept a day, for one image and one version of everything; the files are not trusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite import pool
from pyrite.store import replays
from pyrite.store.bench import Bench
from pyrite.tasks.folder import FolderTask, load_folder
from pyrite.truth import kept
from pyrite.truth import verify as verifying
from pyrite.truth.replay import ReplayResult, replay
from pyrite.truth.verify import verify
from pyrite.truth.verify_report import VerifyReport


def run(bench: Bench, *tasks: FolderTask, image: str = "image-1", **options: Any) -> VerifyReport:
    found = {task.spec.task_id: task for task in tasks}
    return verify(bench, found.get, jobs=1, image=image, **options)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Task ids in the order in which they were really replayed."""
    done: list[str] = []

    def counting(task: FolderTask, *, image: str) -> ReplayResult:
        done.append(task.spec.task_id)
        return replay(task, image=image)

    monkeypatch.setattr(verifying, "replay", counting)
    return done


def test_one_replay_serves_all_agents_and_later_runs(
    episodes: Any, make_task: Any, counted: list[str]
) -> None:
    for agent in ("a", "b", "c"):
        episodes.add(f"e-{agent}", episodes.GOOD, agent=agent)
    task = make_task()
    first = run(episodes.bench, task)
    episodes.add("e-late", episodes.INITIAL, agent="d")
    second = run(episodes.bench, task)
    assert counted == ["note-4500"]
    assert (first.kept_replays, second.kept_replays) == (0, 1)
    assert "1 task replayed (1 earlier today)" in second.summary()
    late = episodes.bench.truth("e-late")
    assert late.outcome == "fail"
    assert late.replay == first.replays[0].record
    assert second.replays == first.replays


@pytest.mark.parametrize("what", ["image", "force", "day", "verifier", "state", "library", "torn", "link"])
def test_what_makes_it_replay_anew(
    what: str, episodes: Any, make_task: Any, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    episodes.add("e1", episodes.GOOD)
    task = make_task()
    run(episodes.bench, task)
    options: dict[str, Any] = {}
    [path] = episodes.bench.paths.replays.rglob("*.json")
    if what == "image":
        options["image"] = "image-2"
    elif what == "force":
        options["force"] = True
    elif what == "day":
        monkeypatch.setattr(kept, "now", lambda: "2031-01-01T00:00:00Z")
    elif what == "verifier":
        (task.folder / "verify.py").write_text(episodes.VERIFY + "\n# another one\n")
    elif what == "state":
        (task.folder / "states" / "good.sh").write_text("printf 4500 > note.txt; printf 'a\\n' > list.txt\n")
    elif what == "library":
        monkeypatch.setattr(kept, "host_image", lambda: "another library")
    elif what == "torn":
        path.write_bytes(path.read_bytes()[:-300])
    else:
        moved = path.with_suffix(".moved")
        path.rename(moved)
        path.symlink_to(moved)
    run(episodes.bench, load_folder(task.folder), **options)
    assert counted == ["note-4500", "note-4500"]


def test_an_interrupted_verify_keeps_the_replays_that_were_done(
    episodes: Any, make_task: Any, monkeypatch: pytest.MonkeyPatch, counted: list[str]
) -> None:
    tasks = [make_task(f"t{n}") for n in range(3)]
    for task in tasks:
        episodes.add(f"e-{task.spec.task_id}", episodes.GOOD, task_id=task.spec.task_id)

    class Stops(pool.Silent):
        def tick(self, text: str = "", *, items: int = 1) -> None:
            if text.startswith("replayed t1"):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(episodes.bench, *tasks, watch=Stops())
    assert counted == ["t0", "t1"]
    report = run(episodes.bench, *tasks)
    assert counted == ["t0", "t1", "t2"]
    assert (report.kept_replays, report.outcomes["pass"]) == (2, 3)


def test_what_a_busy_machine_may_have_caused_is_not_kept(episodes: Any, make_task: Any) -> None:
    episodes.add("e1", episodes.GOOD)
    slow = make_task(verify="import time\ntime.sleep(30)", timeout_s=0.5)
    report = run(episodes.bench, slow)
    assert report.causes == {"verifier_timeout": 1}
    assert not episodes.bench.paths.replays.exists()
    fine = make_task(verify=episodes.VERIFY)
    assert run(episodes.bench, fine).outcomes["pass"] == 1


def test_a_failing_gold_is_kept_for_the_day(episodes: Any, make_task: Any, counted: list[str]) -> None:
    episodes.add("e1", episodes.GOOD)
    states = {**episodes.STATES, "good": ("good", {"note.txt": "4501"}, ())}
    task = make_task(states=states)
    for _ in range(2):
        assert run(episodes.bench, task).causes == {"gold_failed": 1}
    assert counted == ["note-4500"]


def test_a_timeout_is_asked_for_once_more_before_it_is_believed(make_task: Any, tmp_path: Path) -> None:
    """The first answer about each state comes too late, the second in time."""
    asked: list[str] = []
    real = replay.__globals__["ask"]

    def late_once(task: Any, home: Path, facts: Path | None = None) -> Any:
        asked.append(home.name)
        answer = real(task, home, facts)
        if asked.count(home.name) == 1:
            return answer.__class__(outcome="indeterminate", cause="verifier_timeout", problem="late")
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(replay.__globals__, "ask", late_once)
        found = replay(make_task(), image="x")
    assert found.cause is None
    assert all(asked.count(name) >= 2 for name in ("good", "untouched", "initial"))


def test_a_verifier_that_hangs_is_given_up_after_two_states(make_task: Any) -> None:
    states = {f"bad-{n}": ("bad", {"note.txt": str(n)}, ()) for n in range(8)}
    task = make_task(verify="import time\ntime.sleep(30)", states=states, timeout_s=0.5)
    found = replay(task, image="x")
    assert found.cause == "verifier_timeout"
    problems = [check.answer.problem for check in found.checks]
    assert sum(text.startswith("not asked") for text in problems) == 7


FLAKY = """
import json, os, pathlib, sys
home = pathlib.Path(sys.argv[1])
found = (home / "note.txt").read_text()
lucky = os.urandom(1)[0] < 128
print(json.dumps({"pass": found == "4500" and lucky, "category": ["F-PARTIAL"]}))
"""


def test_an_unstable_gold_has_a_flake_rate(episodes: Any, make_task: Any) -> None:
    """pass, fail, pass: by chance three alike answers come up, so it is tried a few times."""
    episodes.add("e1", episodes.GOOD)
    task = make_task(verify=FLAKY, states={"good": episodes.STATES["good"]})
    for _ in range(20):
        result = replay(task, image="x")
        if result.cause == "gold_unstable":
            break
    assert result.flake is not None
    flake = result.flake.as_json()
    assert flake["asked"] == 10
    assert flake["low"] <= flake["rate"] <= flake["high"]
    assert f"asked 10 times more, {flake['failed']} no pass" in result.detail
    assert "Clopper-Pearson" in result.detail
    assert result.as_json()["flake"] == flake


def test_what_is_kept_is_what_was_found(episodes: Any, make_task: Any) -> None:
    verify = episodes.VERIFY.replace('found == "4500":', 'found == "4500" and "elsewhere" not in str(home):')
    for task in (make_task("fine", states=episodes.STATES), make_task("unstable", verify=verify)):
        result = replay(task, image="image-1")
        assert kept.keep(episodes.bench, task, result)
        assert kept.find(episodes.bench, task, "image-1") == result


def test_a_file_that_lies_is_not_believed(episodes: Any, make_task: Any) -> None:
    """Everything in `replays/` may come from somebody else."""
    task = make_task(states={**episodes.STATES, "good": ("good", {"note.txt": "4501"}, ())})
    assert kept.keep(episodes.bench, task, replay(task, image="i"))
    path = episodes.bench.paths.replay("i", "note-4500")
    honest = json.loads(path.read_text())
    lies: tuple[dict[str, Any], ...] = (
        {"cause": None},
        {"cause": "no_such_cause"},
        {"task_id": "another"},
        {"checks": []},
        {"checks": honest["result"]["checks"][:2]},
        {"record": {**honest["result"]["record"], "outcomes": {}}},
        {"record": {**honest["result"]["record"], "image": "j"}},
        {"flake": 7},
    )
    for change in lies:
        path.write_text(json.dumps({**honest, "result": {**honest["result"], **change}}))
        assert kept.find(episodes.bench, task, "i") is None, change
    path.write_text(json.dumps(honest))
    assert kept.find(episodes.bench, task, "i") is not None


def test_nothing_is_read_or_written_through_a_link(episodes: Any, make_task: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    episodes.bench.paths.replays.symlink_to(outside)
    task = make_task()
    assert not kept.keep(episodes.bench, task, replay(task, image="i"))
    assert list(outside.iterdir()) == []
    assert replays.latest(episodes.bench, "note-4500") is None
    os.unlink(episodes.bench.paths.replays)


def test_two_at_once_never_see_half_a_replay(episodes: Any, make_task: Any) -> None:
    task = make_task()
    result = replay(task, image="i")
    kept.keep(episodes.bench, task, result)
    code = (
        "import sys; from pathlib import Path\n"
        "from pyrite.store import replays; from pyrite.store.bench import Bench\n"
        "bench = Bench(Path(sys.argv[1])); found = replays.read(bench, 'i', 'note-4500')\n"
        "for _ in range(150): replays.write(bench, found)"
    )
    others = [subprocess.Popen([sys.executable, "-c", code, str(episodes.bench.root)]) for _ in range(2)]
    seen = [kept.find(episodes.bench, task, "i")]
    while any(other.poll() is None for other in others):
        seen.append(kept.find(episodes.bench, task, "i"))
    assert [other.returncode for other in others] == [0, 0]
    assert all(one == result for one in seen)
    assert [path.name for path in episodes.bench.paths.replay("i", "x").parent.iterdir()] == [
        "note-4500.json"
    ]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200) | st.from_regex(r'\{"key":.{0,80}\}', fullmatch=True).map(str.encode))
def test_any_bytes_are_no_replay(data: bytes, episodes: Any, make_task: Any) -> None:
    path = episodes.bench.paths.replay("i", "note-4500")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    assert replays.read(episodes.bench, "i", "note-4500") is None
    assert replays.latest(episodes.bench, "note-4500") is None


def test_replaying_until_it_passes_does_not_make_a_verifier_believed(episodes: Any, make_task: Any) -> None:
    """A good state whose builder works every other time, outside of what the digest covers."""
    episodes.add("e1", episodes.GOOD)
    task = make_task()
    first = run(episodes.bench, task, force=True)
    assert first.replays[0].cause is None
    failed = replace(first.replays[0], cause="gold_failed", detail="state good: fail")
    [path] = episodes.bench.paths.replays.rglob("*.json")
    assert kept.keep(episodes.bench, task, failed)  # what an earlier try today had found
    for _ in range(2):
        found = run(episodes.bench, load_folder(task.folder), force=True)
        assert found.replays[0].cause == "gold_unstable"
        assert "more than once today with nothing changed" in found.replays[0].detail
        assert found.outcomes == {"indeterminate": 1}
    assert "mended" not in (episodes.bench.root / "suite_bugs.md").read_text(encoding="utf-8")
    path.unlink()
    assert run(episodes.bench, load_folder(task.folder), force=True).replays[0].cause is None
