"""Folders of fara in and score files out: both logs, three ends, and everything that may not fit."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.formats.folders import TASK, fara
from tests.judges.universal.brain import Brain
from tests.judges.universal.endpoint import BrainServer

from pyrite.cli import run
from pyrite.errors import InputError
from pyrite.formats.fara import read, runs
from pyrite.formats.fara_bench import episode_id, import_runs
from pyrite.judges.universal.given import load, rubric_of, ungraded
from pyrite.judges.universal.records import Rubric
from pyrite.records import Evidence
from pyrite.store.bench import Bench


def shared(*parts: str) -> Path:
    root = os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared"
    path = Path(root).joinpath("data", *parts)
    if not path.exists():
        pytest.skip(f"not there: {path} (set PYRITE_SHARED)")
    return path


@pytest.mark.parametrize("text_log", [False, True])
def test_both_forms_of_the_log_say_the_same(tmp_path: Path, text_log: bool) -> None:
    found = read(fara(tmp_path, "t1", text_log=text_log))
    assert [action.name for action in found.actions] == ["left_click", "left_click", "terminate"]
    assert [action.thought for action in found.actions] == ["thought 1", "thought 2", "thought 3"]
    assert dict(found.actions[0].arguments) == {"coordinate": [1, 5]}
    assert (found.task, found.start_url, found.end) == (TASK, "https://shop.example/", "terminated")
    assert [path.name for path in found.screenshots if path] == [f"screenshot_{n}.png" for n in (1, 2, 3)]
    assert found.notes == ()


def test_three_ends(tmp_path: Path) -> None:
    fara(tmp_path / "runs", "done")
    fara(tmp_path / "runs", "over", answer=None)
    fara(tmp_path / "runs", "lost", answer=None, aborted=True)
    imported = import_runs(tmp_path / "runs", tmp_path / "bench")
    assert imported.ends == {"terminated": 1, "aborted": 1, "over budget": 1}
    bench = Bench(tmp_path / "bench")
    ends = {meta.origin_id: (meta.ended_by, meta.final_message) for meta in bench.metas()}
    assert ends == {
        "done": ("done", "It costs 39 dollars."),
        "over": ("step_limit", None),
        "lost": ("environment_lost", None),
    }
    again = import_runs(tmp_path / "runs", tmp_path / "bench")
    assert (again.new, again.kept) == ([], 3)


def over_budget(root: Path) -> Path:
    """A run as fara leaves it: four actions on four screenshots, the last of them a click like the others."""
    folder = fara(root, "over", (1, 2, 3, 4), answer=None)
    said = [json.loads(line) for line in (folder / "web_surfer.log").read_text().splitlines()]
    assert [one["arguments"]["action"] for one in said if one["action"]] == ["left_click"] * 4
    return folder


@pytest.mark.parametrize("options", ["", ",frames=pre-action", ",mode=economical"])
def test_a_run_over_its_budget_is_graded_though_its_end_was_not_recorded(
    options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    over_budget(tmp_path / "runs")
    bench = tmp_path / "bench"
    found = import_runs(tmp_path / "runs", bench)
    assert found.notes == {
        "over": ["over budget: no screenshot shows what the last action, left_click, led to"]
    }
    asked = ["judge", str(bench), "--judge", f"universal@model=m-1{options}", "--condition", "E3-full+claim"]

    def outcome(view: Any) -> Any:
        return {**Brain().outcome(view), "output_success": False}

    with BrainServer(Brain(rules={"outcome": outcome})) as server:
        assert run([*asked, "--base-url", server.url]) == 0
        assert server.count["relevance"] == 4
    (line,) = verdicts(bench)
    assert (line["verdict"], line["process"]["outcome"], line["score"]) == ("failure", False, 1.0)
    told = [one["what"] for one in line["process"]["faults"]]
    assert told == ([] if "pre-action" in options else ["no screen after step 4, the last one"])


def test_what_the_unseen_end_could_change_has_no_grade_and_no_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    over_budget(tmp_path / "runs")
    bench = tmp_path / "bench"
    import_runs(tmp_path / "runs", bench)

    def rescoring(view: Any) -> Any:
        body = Brain().rescoring(view)
        body["items"][1] |= {"end_decides": True, "post_image_earned_points": 0}
        return body

    def outcome(view: Any) -> Any:
        return {**Brain().outcome(view), "output_success": False, "end_decides": True}

    asked = ["judge", str(bench), "--judge", "universal@model=m-1", "--condition", "E3-full+claim"]
    with BrainServer(Brain(rules={"rescoring": rescoring, "outcome": outcome})) as server:
        assert run([*asked, "--base-url", server.url]) == 3
    (line,) = verdicts(bench)
    process = line["process"]
    assert (line["verdict"], process["outcome"], process["score"]) == ("uncertain", None, None)
    assert process["bounds"] == [pytest.approx(4 / 6), 1.0]
    assert [one["earned"] for one in process["rubric"]["criteria"]] == [3, None, 1]
    assert "what step 4, the last one, led to could decide it" in line["reason"]


def test_actions_and_arguments_that_fara_does_not_have_are_found_in_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    for name, inside in (("own", True), ("other", False)):
        log = fara(tmp_path / "runs", name, (1, 2, 3, 4)) / "web_surfer.log"
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        lines[1]["arguments"] = {"action": "fly_to", "place": "Rome", "thoughts": "t"}
        lines[3]["arguments"] |= {"foo": 1, "_call_id": "c"}
        if not inside:  # an agent with actions of its own: what they are is not known
            for line in lines[1::2]:
                line["action"] = line["arguments"].pop("action")
        log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    bench = tmp_path / "bench"
    import_runs(tmp_path / "runs", bench)
    asked = ["judge", str(bench), "--judge", "universal@model=m-1", "--condition", "E3-full+claim"]
    with BrainServer(Brain()) as server:
        assert run([*asked, "--base-url", server.url]) == 0
    found = {one["episode_id"]: one["process"]["diagnosis"]["failures"] for one in verdicts(bench)}
    points = [
        (one["step_numbers"], one["error_code"], one["what_happened"])
        for one in found[episode_id("own")]["failure_points"]
    ]
    assert points == [
        ("1", "6.2", "there is no action 'fly_to'"),
        ("2", "6.1", "left_click has no foo"),
    ]
    assert found[episode_id("own")]["failure_points"][0]["programmatic"] is True
    assert found[episode_id("other")]["failure_points"] == []


def verdicts(bench: Path) -> list[Any]:
    (path,) = (bench / "verdicts").glob("*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_folder_without_an_answer_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that was killed leaves its log and screenshots and no answer; one may have screenshots alone."""
    root = tmp_path / "runs"
    fara(root, "good")
    (fara(root, "killed") / "killed_final_answer.json").unlink()
    bare = fara(root / "deep", "bare")
    for name in ("bare_final_answer.json", "web_surfer.log", "task_data.json", "times.json"):
        (bare / name).unlink()
    asked = ["import", str(root), "-o", str(tmp_path / "bench")]
    assert run(asked) == 3
    said = capsys.readouterr().out
    assert "imported 1 episode" in said
    for name in ("killed", "deep/bare"):
        assert f"broken   {name}: " in said
    assert said.count("no files named *_answer.json; a run that was killed leaves none") == 2
    assert run([*asked, "--json"]) == 3
    assert set(json.loads(capsys.readouterr().out)["broken"]) == {"killed", "deep/bare"}


def test_addresses_of_pages_reach_the_prompts_and_descriptions_where_thoughts_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    log = fara(tmp_path / "runs", "t1", (1, 2, 3)) / "web_surfer.log"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines[1]["url"] = "https://other.example/kettles?q=secret#top"
    lines[1]["arguments"] |= {"screen_description": "a list of kettles", "reasoning": "the cheapest"}
    lines[3]["url"] = "https://shop.example/" + "a" * 300
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    bench = tmp_path / "bench"
    import_runs(tmp_path / "runs", bench)
    for condition, thoughts in (("E3-full+claim", False), ("E3-full+claim+thoughts", True)):
        seen: dict[str, str] = {}

        def keep(step: str, seen: dict[str, str] = seen) -> Any:
            def rule(view: Any) -> Any:
                seen[step] = view.text
                return getattr(Brain(), step)(view)

            return rule

        steps = ("relevance", "actions_only", "evidence", "rescoring", "outcome", "failures")
        asked = ["judge", str(bench), "--judge", "universal@model=m-1", "--condition", condition]
        with BrainServer(Brain(rules={step: keep(step) for step in steps})) as server:
            assert run([*asked, "--base-url", server.url]) == 0
        assert "other.example" not in seen.pop("relevance")
        for text in seen.values():
            assert 'state 1: "https://other.example/kettles"\nstep 1: click {"x": 1.0, "y": 5.0}' in text
            assert f'state 2: "https://shop.example/{"a" * 129}..."' in text
            assert "secret" not in text
            assert ("a list of kettles" in text, "the cheapest" in text) == (thoughts, thoughts)


def test_an_episode_of_it_is_whole(tmp_path: Path) -> None:
    fara(tmp_path / "runs", "t1", (1, 2, 3, 4), actions=3)
    import_runs(tmp_path / "runs", tmp_path / "bench", agent="fara-7b")
    bench = Bench(tmp_path / "bench")
    name = episode_id("t1")
    meta = bench.meta(name)
    assert (meta.source, meta.agent.name, meta.n_steps) == ("natural", "fara-7b", 3)
    assert meta.created_at == "2025-11-10T21:14:36Z"
    lines = list(bench.actions(name))
    assert [(line.action, line.x, line.screen) for line in lines] == [
        ("click", 1.0, "screens/001.png"),
        ("click", 2.0, "screens/002.png"),
        ("raw", None, "screens/003.png"),
    ]
    assert lines[2].text == 'terminate {"answer": "It costs 39 dollars."}'
    task = json.loads(next(bench.paths.tasks.glob("*/task.json")).read_text())
    assert task["instruction"] == f"{TASK}\n\nStart page: https://shop.example/"


def test_what_a_killed_import_left_is_written_anew(tmp_path: Path) -> None:
    fara(tmp_path / "runs", "t1")
    import_runs(tmp_path / "runs", tmp_path / "bench")
    bench = Bench(tmp_path / "bench")
    bench.paths.episode(episode_id("t1")).meta.unlink()
    assert import_runs(tmp_path / "runs", tmp_path / "bench").new == ["t1"]
    assert len(list(bench.actions(episode_id("t1")))) == 3


def test_what_does_not_fit_together_is_told_and_nothing_is_dropped_unsaid(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    fara(root, "surplus", (1, 2, 3, 4, 5), actions=2)
    fara(root, "few", (1, 2), actions=5)
    gone = fara(root, "gone", (1, 2, 3, 4))
    (gone / "screenshot_3.png").unlink()
    extra = fara(root, "extra", (1, 2))
    Image.new("RGB", (8, 8)).save(extra / "screenshot_3.png")
    imported = import_runs(root, tmp_path / "bench")
    assert imported.notes == {
        "surplus": ["2 actions and 5 screenshots"],
        "few": ["5 actions and 2 screenshots"],
        "gone": ["screenshot_3.png is listed and not there"],
        "extra": ["1 screenshots lie there and are not listed"],
    }
    bench = Bench(tmp_path / "bench")
    shown = {name: [line.screen for line in bench.actions(episode_id(name))] for name in imported.notes}
    assert shown["surplus"] == ["screens/001.png", "screens/002.png"], "the last screenshot is the end"
    assert shown["few"] == ["screens/001.png", None, None, None, None]
    assert shown["gone"] == ["screens/001.png", None, "screens/003.png", None]
    last = bench.paths.episode(episode_id("surplus")).screens / "002.png"
    with Image.open(last) as picture:
        assert picture.convert("RGB").getpixel((0, 0)) == (25, 0, 0)


def test_what_cannot_be_read_is_named_and_the_others_are_taken(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    fara(root, "good")
    (fara(root, "no-log") / "web_surfer.log").write_text("not json\n", encoding="utf-8")
    fara(root, "no-task", task=None)
    two = fara(root, "two-answers")
    (two / "b_answer.json").write_text("{}", encoding="utf-8")
    (fara(root, "first-gone") / "screenshot_1.png").unlink()
    (fara(root, "bad-answer") / "bad-answer_final_answer.json").write_text("[1]", encoding="utf-8")
    out = fara(root, "leaves")
    (out / "screenshot_2.png").unlink()
    (out / "screenshot_2.png").symlink_to("/etc/hostname")
    (fara(root, "empty-log") / "web_surfer.log").write_text("", encoding="utf-8")
    imported = import_runs(root, tmp_path / "bench")
    assert imported.new == ["good"]
    assert set(imported.broken) == {
        *("no-log", "no-task", "two-answers", "first-gone", "bad-answer", "leaves", "empty-log")
    }
    assert imported.broken["empty-log"].endswith("no action in it, and 3 screenshots")
    assert run(["import", str(root), "-o", str(tmp_path / "bench")]) == 3, "not all of them were taken"
    assert run(["import", str(root / "good"), "-o", str(tmp_path / "good")]) == 0
    assert "leaves the episode" in imported.broken["leaves"]
    with pytest.raises(InputError, match="no trajectory"):
        runs(tmp_path / "bench" / "episodes")
    with pytest.raises(InputError, match="no such folder"):
        runs(tmp_path / "none")


def test_a_run_that_ended_before_its_first_action_is_an_episode(tmp_path: Path) -> None:
    folder = fara(tmp_path / "runs", "t1", (1,), actions=0, answer=None, aborted=True)
    assert (folder / "web_surfer.log").read_text() == ""
    bench = tmp_path / "bench"
    assert import_runs(tmp_path / "runs", bench).new == ["t1"]
    assert run(["pack", str(bench), "--condition", "E3-full+claim"]) == 0
    (folder,) = (bench / "evidence").rglob("p_*")
    (package,) = folder.iterdir() if folder.is_dir() else [folder]
    assert json.loads(package.read_text())["actions"] == []


def test_an_episode_that_is_broken_later_is_named_and_the_exit_code_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    fara(tmp_path / "runs", "t1", (1, 2, 3))
    fara(tmp_path / "runs", "t2", (1, 4, 5))
    bench = tmp_path / "bench"
    import_runs(tmp_path / "runs", bench)
    screen = Bench(bench).paths.episode(episode_id("t2")).screens / "001.png"
    screen.write_bytes(screen.read_bytes()[:60])
    asked = ["judge", str(bench), "--judge", "universal@model=m-1", "--condition", "E3-full+claim"]
    with BrainServer(Brain()) as server:
        assert run([*asked, "--base-url", server.url]) == 4
    said = capsys.readouterr().out
    assert "1 new, 0 kept, 1 missing" in said
    assert f"broken   {episode_id('t2')}" in said


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    """JSON may hold other signs that some take for the end of a line."""
    folder = fara(tmp_path, "t1")
    log = folder / "web_surfer.log"
    log.write_text(log.read_text().replace("thought 1", "a\u2028b\u0085c"), encoding="utf-8", newline="")
    assert read(folder).actions[0].thought == "a\u2028b\u0085c"
    rubric = {"items": [{"criterion": "a\u2028b", "description": "b", "max_points": 2}]}
    path = tmp_path / "rubrics.jsonl"
    lines = [
        json.dumps({"ques": name, "precomputed_rubric": rubric}, ensure_ascii=False) for name in ("x", "y")
    ]
    path.write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8", newline="")
    known = load(path)
    assert set(known) == {"x", "y"}
    found = rubric_of(known, "y")
    assert isinstance(found, Rubric)
    assert found.criteria[0].name == "a b"


def test_two_rubrics_for_one_task_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rubrics.jsonl"
    item = {"criterion": "a", "description": "b", "max_points": 2}
    one = {"ques": "Find it", "precomputed_rubric": {"items": [item]}}
    other = {"ques": "Find  it", "precomputed_rubric": {"items": [{**item, "max_points": 3}]}}
    path.write_text(f"{json.dumps(one)}\n{json.dumps(one)}\n", encoding="utf-8")
    assert len(load(path)) == 1
    path.write_text(f"{json.dumps(one)}\n{json.dumps(other)}\n", encoding="utf-8")
    with pytest.raises(InputError, match="a second rubric for the task 'Find it'") as caught:
        load(path)
    assert str(caught.value.where).endswith("rubrics.jsonl:2")


def test_texts_of_tasks_from_a_file(tmp_path: Path) -> None:
    fara(tmp_path / "runs", "united_13", task=None)
    tasks = shared("webtailbench-rubrics", "webtailbench_v1_609.jsonl.gz")
    assert import_runs(tmp_path / "runs", tmp_path / "bench", tasks=tasks).new == ["united_13"]


def test_every_published_rubric_can_be_used() -> None:
    known = load(shared("webtailbench-rubrics", "webtailbench_v1_609.jsonl.gz"))
    found = [rubric_of(known, task) for task in known]
    good = [one for one in found if isinstance(one, Rubric)]
    assert (len(found), len(good)) == (len(known), len(known))
    assert len(known) >= 600
    assert sum(len(one.criteria) for one in good) / len(good) == pytest.approx(4.3, abs=0.05)
    assert sum(bool(one.conditional) for one in good) == 58


def test_a_tsv_of_rubrics(tmp_path: Path) -> None:
    item = {"criterion": "a", "description": "b", "max_points": 2, "justification": "", "earned_points": ""}
    path = tmp_path / "bench.tsv"
    cell = json.dumps({"items": [item]}).replace('"', '""')
    path.write_text(
        f'id\ttask_summary\tinit_url\tprecomputed_rubric\nx\tFind it\t\t"{cell}"\n', encoding="utf-8"
    )
    found = rubric_of(load(path), "Find  it\n\nStart page: https://a.example/")
    assert isinstance(found, Rubric)
    assert [one.name for one in found.criteria] == ["a"]
    assert rubric_of(load(path), "Another") == ""


def test_grades_of_an_earlier_review_are_taken_off() -> None:
    graded = {
        "items": [
            {
                "criterion": "a",
                "description": "b",
                "max_points": 2,
                "justification": "well",
                "earned_points": 2,
                "post_image_earned_points": 2.0,
                "reality_notes": "so",
            },
            {"criterion": "Penalise", "description": "x", "max_points": 1, "penalty": True},
        ],
        "total_earned_points": 2,
    }
    assert ungraded([graded]) == {
        "items": [
            {"criterion": "a", "description": "b", "max_points": 2, "justification": "", "earned_points": ""}
        ]
    }
    assert rubric_of({"t": {"items": []}}, "t") == "the rubric has no criterion"
    assert rubric_of({"t": "x"}, "t") == "the answer is no object"


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bench of three trajectories, judged twice; the second agent's run ended over budget."""
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    fara(tmp_path / "runs", "t1", (1, 2, 3))
    fara(tmp_path / "runs", "t2", (1, 4, 5), answer=None)
    fara(tmp_path / "runs", "t3", (1, 6, 7), answer=None, aborted=True)
    bench = tmp_path / "bench"
    assert run(["import", str(tmp_path / "runs"), "-o", str(bench), "--agent", "fara-7b"]) == 0

    def failures(view: Any) -> Any:
        point = {
            "step_numbers": "2",
            "error_code": "3.5",
            "error_category": "x",
            "error_type": "Incomplete",
            **dict.fromkeys(("what_happened", "agent_reasoning", "evidence", "impact"), "text"),
        }
        return {
            "reasoning": "r",
            "has_failure": True,
            "failure_points": [point, {**point, "error_code": "3.4"}],
        }

    def outcome(view: Any) -> Any:
        said = {"primary_intent": "p", "reasoning": "r", "output_success": "39 dollars" in view.text}
        return {**said, **Brain().end_decides(view)}

    with BrainServer(Brain(rules={"failures": failures, "outcome": outcome})) as server:
        code = run(
            [
                *("judge", str(bench), "--judge", "universal", "--condition", "E3-full+claim", "--runs", "2"),
                *("--model", "stub-1", "--base-url", server.url),
            ]
        )
    assert code == 0
    return bench


LABEL = "universal@model=stub-1"


def test_score_files_in_the_released_layout(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "traj"
    assert run(["export", str(judged), "--to", "fara", "--judge", LABEL, "-o", str(out)]) == 0
    text = capsys.readouterr().out
    assert "2 score files" in text
    assert "t3: the run was aborted" in text
    files = sorted(str(path.relative_to(out)) for path in out.rglob("*.json"))
    assert files == ["t1/scores/mmrubric_0.8-5-3.json", "t2/scores/mmrubric_0.8-5-3.json"]
    scores = [json.loads((out / name).read_text()) for name in files]
    assert [one["score"] for one in scores] == [1, 0]
    body = json.loads(scores[1]["gpt_response_text"])
    assert (body["is_success"], body["outcome_success"], body["rubric_is_success"]) == (0, False, 1)
    assert body["final_answer"] == "<no_answer>"
    assert body["success_criterion"] == "outcome"
    assert (
        body["rubric_first_point_of_failure"]["first_failure_summary"]
        == "[3.5] Incomplete task execution: text"
    )
    assert body["error_taxonomy"]["task_verification"]["is_invalid"] is False
    process = [*("export", str(judged), "--to", "fara", "--judge", LABEL), "-o", str(tmp_path / "p")]
    assert run([*process, "--success", "process"]) == 0
    assert json.loads((tmp_path / "p" / files[1]).read_text())["score"] == 1


def test_a_score_file_that_says_otherwise_stays(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "traj"
    command = ["export", str(judged), "--to", "fara", "--judge", LABEL, "-o", str(out)]
    assert run(command) == 0
    capsys.readouterr()
    assert run(command) == 0
    assert "exported 0 score files" in (text := capsys.readouterr().out)
    assert "2 were there" in text
    first, second = sorted(out.rglob("mmrubric*.json"))
    for content in ('{"score": 0}', "no JSON"):
        first.write_text(content, encoding="utf-8")
        second.unlink(missing_ok=True)
        assert run([*command, "--json"]) == 1
        done = json.loads(capsys.readouterr().out)
        assert (done["written"], done["kept"], done["stays"]) == (["t2"], [], [str(first)])
        assert first.read_text() == content
    assert run(command) == 1
    assert f"stays    {first}" in capsys.readouterr().out


def test_the_score_files_of_one_condition_and_run(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = tmp_path / "copy"
    shutil.copytree(judged, bench)
    (path,) = (bench / "verdicts").glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    other = [{**one, "condition": "E3-whole+claim"} for one in lines if one["run"] == 2]
    text = "".join(json.dumps(one) + "\n" for one in other)
    (bench / "verdicts" / "a-other.jsonl").write_text(text, encoding="utf-8")

    def told(*options: str) -> tuple[str, int, int]:
        out = tmp_path / "-".join(("out", *options))
        asked = [*("export", str(bench), "--to", "fara", "--judge", LABEL, "-o", str(out)), *options]
        assert run([*asked, "--json"]) == 0
        done = json.loads(capsys.readouterr().out)
        assert sorted(done["written"]) == ["t1", "t2"]
        return done["condition"], done["run"], done["left_out"]

    n = len(other)
    assert told() == ("E3-full+claim", 1, 2 * n)
    assert told("--run", "2") == ("E3-full+claim", 2, 2 * n)
    assert told("--condition", "E3-whole+claim") == ("E3-whole+claim", 2, 2 * n)
    asked = ["export", str(bench), "--to", "fara", "-o", str(tmp_path / "o"), "--run", "1"]
    assert run(asked) == 2
    assert run([*asked, "--judge", LABEL, "--condition", "E3-whole+claim"]) == 2
    assert "E3-whole+claim, run 2" in capsys.readouterr().err
    assert run([*asked[:-1], "2", "--judge", LABEL]) == 0
    assert f"E3-full+claim, run 2; {2 * n} verdicts of others left out" in capsys.readouterr().out


def test_no_outcome_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    fara(tmp_path / "runs", "t1")
    import_runs(tmp_path / "runs", tmp_path / "bench")
    with BrainServer(Brain(rules={"outcome": lambda view: "?"})) as server:
        code = run(
            [
                *("judge", str(tmp_path / "bench"), "--judge", "universal", "--condition", "E3-full+claim"),
                *("--model", "stub-1", "--base-url", server.url),
            ]
        )
    assert code == 3
    out = tmp_path / "traj"
    command = ["export", str(tmp_path / "bench"), "--to", "fara", "--judge", LABEL, "-o", str(out)]
    assert run(command) == 3
    assert list(tmp_path.rglob("mmrubric*")) == []
    assert run([*command[:5], "vlm", "-o", str(out)]) == 2


def test_diagnose_tells_codes_runs_and_budgets(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(judged), "--json"]) == 0
    (block,) = json.loads(capsys.readouterr().out)["process"]
    assert (block["judge"], block["verdicts"], block["undecided"]) == (LABEL, 4, 0)
    assert block["aborted"] == 2
    assert block["agents"]["fara-7b"]["process_score"] == 1.0
    assert block["agents"]["fara-7b"]["outcome_success"] == 0.5
    assert block["runs"]["n"] == 2
    assert block["runs"]["sd"]["outcome_success"] == 0.0
    codes = block["codes"]["fara-7b"]
    assert codes["points"] == {"3.4": 4, "3.5": 4}
    assert codes["verdicts"] == {"3.4": 4, "3.5": 4}
    assert codes["blame"] == {"agent": 4, "environment": 4}
    assert block["failure_points"] == {"2": 4}
    assert block["over_budget"]["over"]["none"] == {"success": 0, "failure": 1, "none": 0}
    assert block["over_budget"]["within"]["none"] == {"success": 1, "failure": 0, "none": 0}
    assert block["cost"]["calls"] > 30
    label = ["label", str(judged / "episodes" / episode_id("t2")), "--outcome", "fail", "--annotator", "ana"]
    assert run(label) == 0
    capsys.readouterr()
    assert run(["diagnose", str(judged), "--truth", "labels", "--json"]) == 0
    (block,) = json.loads(capsys.readouterr().out)["process"]
    assert block["over_budget"]["over"]["fail"] == {"success": 0, "failure": 1, "none": 0}
    assert run(["diagnose", str(judged)]) == 0
    text = capsys.readouterr().out
    assert "3.4 4/4" in text
    assert "2 verdicts on aborted runs not counted" in text
    assert "SD over 2 runs: score 0.000" in text
    assert run(["diagnose", str(judged), "--judge", "vlm"]) == 2


def test_an_imported_bench_is_reported_by_what_people_say(
    judged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no end state: a plain sentence says what to do, and after a label it works."""
    for verb in ("report", "measure", "outcomes"):
        assert run([verb, str(judged)]) == 2
        said = capsys.readouterr().err
        assert "all 3 episodes here were imported: no end state was recorded" in said
        assert "pyrite diagnose for what a judge says" in said
        assert f"next: pyrite label {judged}/episodes/ep_" in said
    for name, outcome in (("t1", "pass"), ("t2", "fail")):
        episode = str(judged / "episodes" / episode_id(name))
        assert run(["label", episode, "--outcome", outcome, "--annotator", "ana"]) == 0
    capsys.readouterr()
    assert run(["measure", str(judged), "--truth", "labels", "--json"]) == 0
    assert run(["report", str(judged), "--truth", "labels"]) == 0
    body = json.loads((judged / "report.json").read_text())
    assert body["truth_from"] == "labels"
    assert body["options"]["truth"] == "labels"
    (block,) = body["process"]
    assert block["agents"]["fara-7b"]["process_score"] == 1.0
    assert block["over_budget"]["over"]["fail"] == {"success": 0, "failure": 1, "none": 0}
    page = (judged / "report.html").read_text()
    assert '<section id="process">' in page
    assert "2 on aborted runs not counted" in page
    assert "what people say" in page


def test_an_imported_package_never_shows_whose_it_is(judged: Path) -> None:
    for path in (judged / "evidence").rglob("*.json"):
        if path.name.startswith("p_") or path.parent.name.startswith("p_"):
            shown = Evidence.model_validate_json(path.read_bytes()).model_dump_json()
            assert "fara-7b" not in shown
            assert "t1" not in shown
