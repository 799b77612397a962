"""A bench verified with real confined verifiers: outcomes, causes, categories, and what is kept."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import UsageError
from pyrite.measure.bench import outcomes
from pyrite.records import Truth
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_record
from pyrite.tasks.folder import FolderTask
from pyrite.truth.verify import verify
from pyrite.truth.verify_report import VerifyReport


def run(bench: Bench, *tasks: FolderTask, **options: Any) -> VerifyReport:
    found = {task.spec.task_id: task for task in tasks}
    return verify(bench, found.get, jobs=options.pop("jobs", 1), image="image-1", **options)


def truth(folder: Path) -> Truth:
    return read_record(folder / "gt.json", Truth)


def test_pass_fail_and_everything_that_stands_in_gt_json(episodes: Any, make_task: Any) -> None:
    good = episodes.add("e1", episodes.GOOD)
    bad = episodes.add("e2", {"note.txt": "old", "list.txt": "4500"})
    task = make_task()
    report = run(episodes.bench, task)
    assert (report.episodes, report.written, report.untouched) == (2, 2, 0)
    assert report.outcomes == {"pass": 1, "fail": 1}
    body = json.loads((good / "gt.json").read_text())
    assert body["pass"] is True
    assert body["outcome"] == "pass"
    assert body["cause"] is None
    assert body["verifier_sha256"] == task.verifier_sha256()
    assert len(body["state_sha256"]) == 64
    assert body["replay"]["image"] == "image-1"
    assert body["replay"]["outcomes"]["good"] == "pass"
    assert body["confinement"]["backend"] in {"bubblewrap", "none"}
    assert body["libraries"]["python"]
    failed = truth(bad)
    assert (failed.outcome, failed.passed, failed.category, failed.category_source) == (
        "fail",
        False,
        "F-WRONGTARGET",
        "state",
    )
    assert failed.diagnostics == {"expected": "4500", "found": "old"}


def test_equal_end_states_are_told_apart_by_the_episode(episodes: Any, make_task: Any) -> None:
    blank = {"source": "natural", "agent": "", "perturbation": None, "parent": None}
    made = {
        "not-saved": episodes.add("a1", episodes.INITIAL, unsaved=True, typed=["4500"], **blank),
        "typed": episodes.add("a2", episodes.INITIAL, unsaved=None, typed=["4500\n"], **blank),
        "idle": episodes.add("a3", episodes.INITIAL, unsaved=False, **blank),
        "quitter": episodes.add(
            "a4", episodes.INITIAL, ended_by="fail", message="I am giving up.", unsaved=False, **blank
        ),
        "silent": episodes.add("a5", episodes.INITIAL, message=None, unsaved=False, **blank),
    }
    run(episodes.bench, make_task())
    found = {name: truth(folder) for name, folder in made.items()}
    assert {name: t.category for name, t in found.items()} == {
        "not-saved": "F-UNCOMMITTED",
        "typed": "F-UNCOMMITTED",
        "idle": "F-CLAIM",
        "quitter": "F-ABORT",
        "silent": None,
    }
    assert len({t.state_sha256 for t in found.values()}) == 1
    assert found["silent"].candidates == ("F-ABORT", "F-CLAIM", "F-UNCOMMITTED")
    assert found["silent"].diagnostics["unclassified"]
    assert outcomes(episodes.bench)["strata"]["natural"]["categories"]["unclassified"] == 1


def test_a_broken_gold_makes_all_its_episodes_indeterminate(episodes: Any, make_task: Any) -> None:
    for number in range(3):
        episodes.add(f"g{number}", episodes.GOOD, task_id="broken-gold", source="natural")
        episodes.add(
            f"h{number}",
            episodes.GOOD if number else episodes.INITIAL,
            source="natural",
            task_id=f"fine-{number}",
        )
    broken = make_task("broken-gold", states={**episodes.STATES, "good": ("good", {"note.txt": "4501"}, ())})
    report = run(episodes.bench, broken, *(make_task(f"fine-{n}") for n in range(3)))
    assert report.causes == {"gold_failed": 3}
    found = truth(episodes.bench.root / "episodes" / "g0")
    assert (found.outcome, found.passed, found.cause, found.blame) == (
        "indeterminate",
        None,
        "gold_failed",
        "verifier",
    )
    assert found.replay is not None
    assert found.replay.outcomes["good"] == "fail"
    block = outcomes(episodes.bench)["strata"]["natural"]
    assert (block["attempted"], block["indeterminate"], block["scored"]) == (6, 3, 3)
    assert (block["pass"], block["fail"]) == (2, 1)
    assert block["rate"] == pytest.approx(2 / 3)
    assert block["bounds"] == pytest.approx([2 / 6, 5 / 6])
    assert block["causes"] == {"gold_failed": {"n": 3, "blame": "verifier"}}
    assert "broken-gold: gold_failed: good state good: fail" in report.text()


def test_what_the_policy_did_stays_a_fail(episodes: Any, make_task: Any) -> None:
    everything_gone = episodes.add("d1", {}, ended_by="step_limit")
    run(episodes.bench, make_task())
    found = truth(everything_gone)
    assert (found.outcome, found.cause, found.candidates) == ("fail", None, ())


def test_a_missing_or_unreadable_state_is_the_environments(episodes: Any, make_task: Any) -> None:
    folders = {
        name: episodes.add(name, episodes.GOOD) for name in ("cut", "text", "link", "pipe", "folder", "tail")
    }
    folders["missing"] = episodes.add("missing", None)
    state = {name: folder / "final_state.tar.zst" for name, folder in folders.items()}
    state["cut"].write_bytes(state["cut"].read_bytes()[:-20])
    state["text"].write_text("not an archive")
    state["tail"].write_bytes(state["tail"].read_bytes() + b"more")
    kept = episodes.bench.root.parent / "kept.tar.zst"
    shutil.move(state["link"], kept)
    state["link"].symlink_to(kept)
    for name in ("pipe", "folder"):
        state[name].unlink()
    os.mkfifo(state["pipe"])
    state["folder"].mkdir()
    report = run(episodes.bench, make_task())
    causes = {name: truth(folder).cause for name, folder in folders.items()}
    assert causes.pop("missing") == "state_missing"
    assert set(causes.values()) == {"state_unreadable"}
    assert {truth(folder).blame for folder in folders.values()} == {"environment"}
    assert report.outcomes == {"indeterminate": 7}


def test_a_lost_environment(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("lost", episodes.GOOD, ended_by="environment_lost")
    run(episodes.bench, make_task())
    assert (truth(folder).cause, truth(folder).blame) == ("environment_lost", "environment")


def test_running_again_changes_no_byte(episodes: Any, make_task: Any) -> None:
    folders = [
        episodes.add("r1", episodes.GOOD),
        episodes.add("r2", episodes.INITIAL),
        episodes.add("r3", None),
        episodes.add("r4", episodes.GOOD, ended_by="environment_lost"),
    ]
    (episodes.add("r5", episodes.GOOD) / "meta.json").write_text("{")
    task = make_task()
    run(episodes.bench, task)
    before = {p: p.read_bytes() for p in episodes.bench.root.rglob("gt*.json")}
    assert len(before) == 5
    for options in ({}, {"force": True}):
        report = run(episodes.bench, task, **options)
        assert (report.written, report.untouched, report.moved) == (0, 5, [])
        assert report.outcomes == {"pass": 1, "fail": 1, "indeterminate": 3}
    assert {p: p.read_bytes() for p in episodes.bench.root.rglob("gt*.json")} == before
    assert folders[0].is_dir()


def test_a_rerun_does_what_is_left(episodes: Any, make_task: Any) -> None:
    for number in range(3):
        episodes.add(f"k{number}", episodes.GOOD)
    task = make_task()
    run(episodes.bench, task)
    gone = episodes.bench.root / "episodes" / "k1" / "gt.json"
    gone.unlink()
    report = run(episodes.bench, task)
    assert (report.written, report.untouched) == (1, 2)
    assert gone.is_file()


def test_another_verifier_keeps_the_earlier_answer(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("v1", {"note.txt": "4500 EUR", "list.txt": "a\n"})
    first = make_task()
    run(episodes.bench, first)
    sha, earlier = first.verifier_sha256(), (folder / "gt.json").read_bytes()
    lenient = make_task(verify=episodes.VERIFY.replace('found == "4500":', 'found in ("4500", "4500 EUR"):'))
    report = run(episodes.bench, lenient)
    assert (folder / f"gt.{sha[:8]}.json").read_bytes() == earlier
    assert truth(folder).outcome == "pass"
    assert [(m.before, m.after, m.kept_as) for m in report.moved] == [("fail", "pass", f"gt.{sha[:8]}.json")]
    assert report.superseded == 1


def test_another_state_keeps_the_earlier_answer(episodes: Any, make_task: Any) -> None:
    folder, other = episodes.add("s1", episodes.INITIAL), episodes.add("s2", episodes.GOOD)
    task = make_task()
    run(episodes.bench, task)
    before = truth(folder)
    shutil.copyfile(other / "final_state.tar.zst", folder / "final_state.tar.zst")
    report = run(episodes.bench, task)
    assert truth(folder).outcome == "pass"
    assert before.state_sha256 is not None
    assert read_record(folder / f"gt.{before.state_sha256[:8]}.json", Truth) == before
    assert (len(report.moved), report.written, report.untouched) == (1, 1, 1)


def test_another_answer_on_the_same_state_is_not_deterministic(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("n1", episodes.GOOD)
    task = make_task()
    run(episodes.bench, task)
    body = json.loads((folder / "gt.json").read_text())
    body.update({"outcome": "fail", "pass": False})
    (folder / "gt.json").write_text(json.dumps(body))
    report = run(episodes.bench, task, force=True)
    found = truth(folder)
    assert (found.outcome, found.cause, found.blame) == (
        "indeterminate",
        "verifier_not_deterministic",
        "verifier",
    )
    assert len(list(folder.glob("gt.*.json"))) == 1
    assert len(report.moved) == 1
    after = (folder / "gt.json").read_bytes()
    assert run(episodes.bench, task, force=True).written == 0
    assert (folder / "gt.json").read_bytes() == after


def test_two_answers_in_one_verification(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("t1", {"note.txt": "random"})
    states = {name: state for name, state in episodes.STATES.items() if name != "elsewhere"}
    coin = episodes.VERIFY.replace("seen = {", "if found == 'random': found = os.urandom(16).hex()\nseen = {")
    coin += 'if found != "old": say(False, found)\n'
    task = make_task(
        verify=coin.replace("\nsay(False, [", "\nif found == 'old': say(False, ["), states=states
    )
    run(episodes.bench, task, runs=2)
    assert truth(folder).cause == "verifier_not_deterministic"


def test_a_gold_that_breaks_later_takes_the_outcome_back(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("b1", episodes.GOOD)
    task = make_task()
    run(episodes.bench, task)
    states = (*task.spec.states, task.spec.states[0].model_copy(update={"name": "untouched"}))
    contradictory = FolderTask(task.folder, task.spec.model_copy(update={"states": states}))
    report = run(episodes.bench, contradictory)
    assert truth(folder).cause == "task_invalid"
    assert [(m.before, m.after) for m in report.moved] == [("pass", "task_invalid")]
    report = run(episodes.bench, task)
    assert truth(folder).outcome == "pass"
    assert [(m.before, m.after) for m in report.moved] == [("task_invalid", "pass")]
    assert len(list(folder.glob("gt.*.json"))) == 2


def test_a_gt_json_of_another_kind_is_kept(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("o1", episodes.GOOD)
    (folder / "gt.json").write_text('{"pass": 1, "by": "someone"}')
    report = run(episodes.bench, make_task())
    assert truth(folder).outcome == "pass"
    assert report.superseded == 1
    assert [p.read_text() for p in folder.glob("gt.*.json")] == ['{"pass": 1, "by": "someone"}']


def test_a_broken_episode_is_reported_and_stays_in_the_denominator(episodes: Any, make_task: Any) -> None:
    episodes.add("fine", episodes.GOOD)
    for name, text in {"torn": "{", "other-id": None, "empty": "", "nan": '{"n_steps": NaN}'}.items():
        folder = episodes.add(name, episodes.GOOD)
        meta = json.loads((folder / "meta.json").read_text())
        (folder / "meta.json").write_text(json.dumps({**meta, "episode_id": "x"}) if text is None else text)
    report = run(episodes.bench, make_task())
    assert set(report.broken) == {"torn", "other-id", "empty", "nan"}
    assert report.outcomes == {"pass": 1, "indeterminate": 4}
    assert truth(episodes.bench.root / "episodes" / "torn").cause == "state_unreadable"
    block = outcomes(episodes.bench)
    assert (block["attempted"], len(block["broken"])) == (5, 4)


def test_facts_and_actions_that_cannot_be_read_are_unknown_not_no(episodes: Any, make_task: Any) -> None:
    facts = episodes.add("f1", episodes.INITIAL, unsaved=True, typed=["4500"])
    (facts / "final_facts.json").write_text("[")
    both = episodes.add("f2", episodes.INITIAL, unsaved=True)
    (both / "final_facts.json").write_text('{"unsaved": "perhaps"}')
    (both / "actions.jsonl").write_text("{\n{}\n")
    pipe = episodes.add("f3", episodes.INITIAL, unsaved=None)
    (pipe / "actions.jsonl").unlink()
    os.mkfifo(pipe / "actions.jsonl")
    report = run(episodes.bench, make_task())
    assert truth(facts).category == "F-UNCOMMITTED"
    assert (truth(both).category, truth(pipe).category) == (None, None)
    assert len(report.problems) == 4


def test_the_facts_file_reaches_the_verifier(episodes: Any, make_task: Any) -> None:
    verify_facts = episodes.VERIFY.replace(
        "seen = {",
        "facts = os.environ.get('PYRITE_FACTS')\n"
        "facts = json.load(open(facts)) if facts else None\n"
        "near = sorted(os.listdir(home.parent))\n"
        "seen = {'facts': facts, 'near': near, ",
    )
    folder = episodes.add("x1", episodes.GOOD, unsaved=True)
    run(episodes.bench, make_task(verify=verify_facts))
    assert truth(folder).diagnostics["facts"] == {"unsaved": True}
    assert truth(folder).diagnostics["near"] == ["final_facts.json", "home"]


def test_only_what_the_task_reads_is_unpacked(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("y1", {**episodes.GOOD, "large.bin": "x"})
    verify_listing = episodes.VERIFY.replace("seen = {", "seen = {'files': sorted(os.listdir(home)), ")
    run(episodes.bench, make_task(verify=verify_listing, reads=["*.txt"]))
    assert truth(folder).diagnostics["files"] == ["list.txt", "note.txt"]


def test_a_verifier_that_cannot_tell_is_to_blame(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("z1", {"note.txt": "hm"})
    unknown = episodes.VERIFY.replace(
        "seen = {", "if found == 'hm': print(json.dumps({'pass': None})); sys.exit()\nseen = {"
    )
    crash = episodes.add("z2", {"note.txt": "boom"})
    unknown = unknown.replace("seen = {", "if found == 'boom': raise OSError(found)\nseen = {")
    run(episodes.bench, make_task(verify=unknown))
    assert (truth(folder).cause, truth(folder).blame) == ("verifier_says_unknown", "verifier")
    assert (truth(crash).cause, truth(crash).diagnostics["problem"]) == ("verifier_error", "it exited with 1")
    assert truth(crash).diagnostics["log"].endswith("OSError: boom")


def test_what_a_verifier_prints_besides_its_answer_is_logged(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("l1", episodes.GOOD)
    chatty = episodes.VERIFY.replace("seen = {", "print('reading', note.name)\nseen = {")
    run(episodes.bench, make_task(verify=chatty))
    assert truth(folder).outcome == "pass"
    assert "reading note.txt" in episodes.bench.paths.log.read_text()


def test_a_timeout_is_not_another_answer(episodes: Any, make_task: Any) -> None:
    folder = episodes.add("q1", episodes.GOOD)
    task = make_task()
    run(episodes.bench, task)
    body = json.loads((folder / "gt.json").read_text())
    body |= {"outcome": "indeterminate", "pass": None, "cause": "verifier_timeout", "blame": "verifier"}
    (folder / "gt.json").write_text(json.dumps(body))
    report = run(episodes.bench, task)
    assert truth(folder).outcome == "pass", "a slow machine once is not for ever"
    assert [(m.before, m.after) for m in report.moved] == [("verifier_timeout", "pass")]


def test_many_lines_of_a_kind_are_cut_short_in_the_text(tmp_path: Path) -> None:
    report = VerifyReport(tmp_path, confinement={"filesystem": True}, problems=[f"p{n}" for n in range(50)])
    assert report.text().splitlines()[-2:] == ["p19", "and 30 more like the last line"]


def test_tasks_that_are_not_found_are_named(episodes: Any, make_task: Any) -> None:
    episodes.add("m1", episodes.GOOD)
    episodes.add("m2", episodes.GOOD, task_id="nowhere")
    with pytest.raises(UsageError) as caught:
        run(episodes.bench, make_task())
    assert "1 of 2 episodes: nowhere" in str(caught.value)
    assert "--tasks" in str(caught.value)
    assert not list(episodes.bench.root.rglob("gt.json"))


def test_an_empty_bench_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        verify(Bench.create(tmp_path / "none"), lambda _: None)


def test_processes_give_the_same_answers(episodes: Any, make_task: Any) -> None:
    for number in range(4):
        episodes.add(
            f"p{number}", episodes.GOOD if number % 2 else episodes.INITIAL, task_id=f"note-{number % 2}"
        )
    tasks = [make_task("note-0"), make_task("note-1")]
    parallel = run(episodes.bench, *tasks, jobs=2)
    outcomes_in_parallel = {
        p.parent.name: truth(p.parent).outcome for p in episodes.bench.root.rglob("gt.json")
    }
    assert parallel.outcomes == {"pass": 2, "fail": 2}
    assert run(episodes.bench, *tasks, jobs=1, force=True).untouched == 4
    assert outcomes_in_parallel == {"p0": "fail", "p1": "pass", "p2": "fail", "p3": "pass"}


def test_progress_is_told(episodes: Any, make_task: Any) -> None:
    class Watch:
        total: int | None = None
        said: list[str] = []  # noqa: RUF012

        def tick(self, text: str = "", *, items: int = 1) -> None:
            self.said.append(text)

    watch = Watch()
    episodes.add("w1", episodes.GOOD)
    report = run(episodes.bench, make_task(), watch=watch)
    assert (watch.total, watch.said) == (2, ["replayed note-4500", "w1 pass"])
    json.dumps(report.as_json(), allow_nan=False)
    assert report.summary() == "1 episode: 1 pass, 0 fail, 0 indeterminate; 1 task replayed"
