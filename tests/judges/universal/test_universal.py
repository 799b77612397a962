"""The whole of `universal` with a model that answers by rule: what is asked, and what comes of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.formats.folders import fara
from tests.judges.universal.brain import KETTLE, TASK, Brain, Script, item, said
from tests.judges.universal.records import judged, package

from pyrite.cli import run
from pyrite.errors import UsageError
from pyrite.formats.fara_bench import import_runs
from pyrite.judges.client.base import Image
from pyrite.judges.labels import make, options_of
from pyrite.judges.universal import NOT_GIVEN, prompts

FIRST = ("rubric", "dependencies", "actions_only")
"""Steps without which nothing else is asked."""


def test_every_step_is_asked_once_and_the_result_is_whole(tmp_path: Path) -> None:
    calls = Script()
    reply = judged(package(tmp_path, [1, 2, 3, 4, 5]), calls)
    assert (reply.verdict, reply.status, reply.reason) == ("success", "ok", "it is there")
    assert reply.score == 1.0
    assert reply.process is not None
    process = reply.process
    assert (process["earned"], process["max"], process["success"], process["outcome"]) == (6, 6, True, True)
    assert process["primary_intent"] == "a kettle"
    assert [len(row) for row in process["relevance"]] == [3] * 5
    assert process["faults"] == []
    assert process["penalties"] == []
    assert process["diagnosis"]["failures"]["has_failure"] is False
    assert process["diagnosis"]["task_alone"]["is_invalid"] is False
    assert process["calls"] == dict(calls.steps())
    assert calls.steps()["relevance"] == 5
    assert reply.usage["calls"] == len(calls.sent)
    assert reply.usage["input_tokens"] > 0
    assert reply.usage["cost_usd"] is None
    assert len(reply.raw["transcript"]) == len(calls.sent)
    json.dumps([reply.process, reply.raw], allow_nan=False)


def test_what_each_step_is_shown(tmp_path: Path) -> None:
    calls = Script()
    judged(package(tmp_path, [1, 2, 3]), calls)
    texts = {step: [said(r) for r in calls.sent if r.system == prompts.load(step)] for step in prompts.STEPS}
    pictured = {r.system for r in calls.sent if any(isinstance(part, Image) for part in r.parts)}
    assert pictured == {prompts.load("relevance"), prompts.load("evidence")}
    with_history = {step for step, found in texts.items() if any("[actions of the agent" in t for t in found)}
    assert with_history == {
        *("actions_only", "evidence", "rescoring", "side_effects", "outcome", "failures"),
        "task_with_record",
    }
    with_answer = {step for step, found in texts.items() if any("39 dollars and is" in t for t in found)}
    assert with_answer == with_history - {"side_effects"}
    assert all("Screen" not in text for text in texts["rubric"])


def test_the_last_frame_is_looked_at_and_pre_action_leaves_it_out(tmp_path: Path) -> None:
    for frames, wanted in (("all", 4), ("pre-action", 3)):
        calls = Script()
        reply = judged(package(tmp_path, [1, 2, 3, 4]), calls, f"frames={frames}")
        assert reply.process is not None
        assert calls.steps()["relevance"] == wanted
        assert [one["image"] for one in reply.process["screens"]] == list(range(wanted))


def test_published_number_of_calls(tmp_path: Path) -> None:
    """M = 47, N = 3, K = 5, S = 10: 65 calls, the three of the diagnosis not counted."""
    rubric = [
        item("Find the kettle", "Find a blue kettle"),
        item("Into the cart", "put it into the cart", condition="there is a cart"),
        item("Tell the price", "tell me its price", condition="there is no cart"),
    ]
    tops = {0: (0, 1, 2, 3, 4), 1: (3, 4, 5, 6, 7), 2: (5, 6, 7, 8, 9)}

    def relevance(view: object) -> dict[str, int]:
        frame = view.frame  # type: ignore[attr-defined]
        return {f"criterion_{i}": 9 if frame in tops[i] else 0 for i in tops}

    calls = Script(Brain(rubric), relevance=relevance)
    reply = judged(package(tmp_path, list(range(48))), calls, "frames=pre-action,same=each")
    steps = calls.steps()
    assert (steps["relevance"], steps["evidence"], steps["conditions"]) == (47, 10, 1)
    diagnosis = steps["failures"] + steps["task_with_record"] + steps["task_alone"]
    assert (steps.total() - diagnosis, diagnosis) == (65, 3)
    assert reply.verdict == "success"
    assert reply.process is not None
    assert [one["applies"] for one in reply.process["rubric"]["criteria"]] == [True, True, False]
    assert reply.process["max"] == 4


def test_options_are_read_and_refused() -> None:
    labelled = make("universal@mode=economical,votes=3,small=m-2", calls=Script())
    assert labelled.settings["settings"]["once"] is True
    assert labelled.settings["settings"]["votes"] == 3
    assert labelled.settings["small"]["model"] == "m-2"
    assert set(labelled.settings["prompts"]) == set(prompts.STEPS)
    for wrong in ("votes=2", "k=0", "pruning=mine", "threshold=2", "temperature=hot", "frames=some"):
        with pytest.raises(UsageError, match=wrong.partition("=")[0]):
            make(f"universal@{wrong}", calls=Script())
    assert not labelled.judge.supports("E1-final")
    assert labelled.judge.supports("E3-full+claim+thoughts")


def test_schemas_hold_the_form_of_every_answer_and_bound_it_for_small_models(tmp_path: Path) -> None:
    calls, small = Script(), Script()
    judged(package(tmp_path, [1, 2]), calls)
    judged(package(tmp_path, [1, 2]), small, "max_chars=40")
    without = {r.system for r in calls.sent if r.schema is None}
    assert without == {prompts.load("dependencies")}
    (free,) = {json.dumps(r.schema) for r in calls.sent if r.system == prompts.load("rescoring")}
    (tight,) = {json.dumps(r.schema) for r in small.sent if r.system == prompts.load("rescoring")}
    assert "maxLength" not in free
    assert '"type": "number", "minimum": 0, "maximum": 3' in free
    assert '"type": "string", "minLength": 1, "maxLength": 40' in tight
    assert '"type": "integer", "minimum": 0, "maximum": 3' in tight
    off = Script()
    judged(package(tmp_path, [1, 2]), off, "schema=off")
    assert all(r.schema is None for r in off.sent)


def test_config_changes_with_every_option() -> None:
    seen = {
        make(f"universal@{option}", calls=Script()).config
        for option in (
            "k=5",
            "k=6",
            "votes=3",
            "mode=economical",
            "pruning=paper",
            "attempts=2",
            "quality=90",
        )
    }
    assert len(seen) == 7


def test_a_dry_run_has_the_published_table_and_what_will_be_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("t1", "t2"):
        fara(tmp_path / "runs", name, (1, 2, 2, 3, 4))
    bench = tmp_path / "bench"
    import_runs(tmp_path / "runs", bench)
    condition = ["--condition", "E3-full+claim"]
    endpoint = ["--model", "m-1", "--base-url", "http://127.0.0.1:9/v1", "--dry-run"]
    assert run(["judge", str(bench), "--judge", "universal", "--condition", "E1-final", *endpoint]) == 2
    assert "no evidence that it takes: E1-final" in capsys.readouterr().err
    assert run(["judge", str(bench), "--judge", "universal", *condition, *endpoint]) == 0
    assert f"pyrite pack {bench} --condition E3-full+claim" in capsys.readouterr().out
    assert run(["pack", str(bench), *condition]) == 0
    capsys.readouterr()
    assert run(["judge", str(bench), "--judge", "universal@mode=economical", *condition, *endpoint]) == 0
    table = {line[:20].strip(): line[20:].split() for line in capsys.readouterr().out.splitlines()}
    assert table["relevance"] == ["M", "10", "8"]
    assert table["rubric"][-1] == "1", "both trajectories are of one task"
    assert table["evidence"] == ["S", "<=", "K", "x", "N", "-", "2", "to", "10"], (
        "a rubric of many criteria takes two"
    )
    assert table["outcome"] == ["1", "2", "2"]
    assert any("calls with retries" in " ".join((key, *rest)) for key, rest in table.items())
    assert any("asked for again, up to 5 times" in " ".join((key, *rest)) for key, rest in table.items())
    rubric = {"items": [{**one, "task_quote": "x"} for one in KETTLE]}
    (tmp_path / "rubrics.jsonl").write_text(json.dumps({"ques": TASK, "precomputed_rubric": rubric}) + "\n")
    label = f"universal@votes=3,diagnosis=off,frames=pre-action,k=1,rubrics={tmp_path / 'rubrics.jsonl'}"
    assert run(["judge", str(bench), "--judge", label, *condition, *endpoint]) == 0
    table = {line[:20].strip(): line[20:].split() for line in capsys.readouterr().out.splitlines()}
    assert table["rubric"] == ["1", "2", "0"]
    assert table["relevance"] == ["M", "10", "10"]
    assert table["evidence"][-4:] == ["6", "2", "to", "6"]
    assert table["conditions"] == ["0", "or", "1", "2", "0"]
    assert table["rescoring"] == ["1", "2", "6"]
    assert table["all"] == ["M", "+", "S", "+", "8", str(10 + 6 + 16), "34", "to", "38"]


def test_the_first_request_is_shown_and_is_the_one_that_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fara(tmp_path / "runs", "t1", (1, 2, 3))
    bench = tmp_path / "bench"
    import_runs(tmp_path / "runs", bench)
    endpoint = ["--model", "m-1", "--base-url", "http://127.0.0.1:9/v1", "--show-request", "first", "--json"]
    capsys.readouterr()
    assert run(["judge", str(bench), "--judge", "universal", "--condition", "E3-full+claim", *endpoint]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["requests"]
    assert shown["system"] == prompts.load("rubric")
    assert TASK in shown["user"][0]["text"]
    assert shown["calls"][1] > 10
    rubrics = tmp_path / "rubrics.jsonl"
    rubrics.write_text(json.dumps({"ques": TASK, "precomputed_rubric": {"items": KETTLE}}) + "\n")
    packed = package(tmp_path, [1, 2, 3])
    for options in ("", "redo=3", "rubric=per-run,max_chars=40", f"rubrics={rubrics}"):
        calls = Script()
        judge = make("universal" + f"@{options}" * bool(options), calls=calls).judge
        first = asyncio.run(judge.request(packed, 2))  # type: ignore[attr-defined]
        judged(packed, calls, options, run=2)
        assert first.key in {request.key for request in calls.sent}, options
        wanted = "actions_only" if options.startswith("rubrics") else "rubric"
        assert first.system == prompts.load(wanted)


def test_a_task_without_a_rubric_in_the_file_has_one_of_the_model_and_says_so(tmp_path: Path) -> None:
    rubrics = tmp_path / "rubrics.jsonl"
    for task, source, note in ((TASK, "given", ""), ("Buy a pen", "generated", NOT_GIVEN)):
        rubrics.write_text(json.dumps({"ques": task, "precomputed_rubric": {"items": KETTLE}}) + "\n")
        reply = judged(package(tmp_path, [1, 2]), Script(), f"rubrics={rubrics}")
        assert reply.process is not None
        assert (reply.process["rubric"]["source"], reply.process["rubric"]["note"]) == (source, note)


def test_options_are_told_with_what_they_are_by_default() -> None:
    told = options_of("universal")
    assert told["votes"] == "1"
    assert told["mode"] == "strict (or economical)"
    assert told["near"] == "1000 (economical: 2)"
    assert {name for name, text in told.items() if not text} == {
        "model",
        "base_url",
        "api_key_env",
        "rubrics",
    }
    for mode in ("strict", "economical"):
        own = {key: text.partition(" ")[0] for key, text in told.items() if text and key != "small"}
        other = {key: text.partition("economical: ")[2].rstrip(")") for key, text in told.items()}
        given = own | ({key: one for key, one in other.items() if one} if mode == "economical" else {})
        label = "universal@" + ",".join(f"{key}={one}" for key, one in (given | {"mode": mode}).items())
        plain = make(f"universal@mode={mode}", calls=Script())
        assert make(label, calls=Script()).settings["settings"] == plain.settings["settings"]


def test_calls_for_holds_what_is_sent(tmp_path: Path) -> None:
    shown = package(tmp_path, [1, 2, 2, 3])
    for options in ("", "mode=economical", "votes=3,diagnosis=off", "frames=pre-action"):
        calls = Script()
        label = f"universal@{options}" if options else "universal"
        fewest, most = make(label, calls=calls).judge.calls_for(shown.evidence)  # type: ignore[attr-defined]
        judged(shown, calls, options)
        assert fewest <= len(calls.sent) <= most


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("options", ["", "votes=3", "attempts=2,k=1", "attempts=1"])
def test_no_model_costs_more_than_the_bound_of_a_dry_run(tmp_path: Path, share: float, options: str) -> None:
    """Answers that cannot be used, at random and always, at every step."""
    shown = package(tmp_path, [1, 2, 3, 4, 5, 6, 7, 8])
    for seed in range(4):
        drawn = Random(seed)

        def bad(step: str, drawn: Random = drawn) -> Any:
            answer = getattr(Brain(), step) if step != "rubric" else lambda view: {"items": KETTLE}
            return lambda view: "no JSON" if drawn.random() < share else answer(view)

        spared = prompts.STEPS if seed else [step for step in prompts.STEPS if step not in FIRST]
        calls = Script(Brain(rules={step: bad(step) for step in spared}))
        judged(shown, calls, options)
        judge: Any = make(f"universal@{options}" if options else "universal", calls=calls).judge
        (told,) = (line for line in judge.calls_table([(shown.evidence, 1)]) if "with retries" in line)
        bound = int(told.split("at most ")[1].split()[0].replace(",", ""))
        assert len(calls.sent) <= bound
        assert bound <= 250 * 3
