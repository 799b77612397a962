"""Public reports of judges whose unreadable answer became a verdict: here it is parse_error, or missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pyrite.errors import UsageError
from pyrite.evidence.conditions import parse_list
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import index, pack
from pyrite.judges.base import Package, Reply, Unavailable
from pyrite.judges.labels import Labelled, make
from pyrite.judges.parse import Format, parse
from pyrite.judges.runner import Judging, ask
from pyrite.measure.bench import measure_bench
from pyrite.records import Truth, VerdictLine
from pyrite.store.jsonl import read_lines, write_record

if TYPE_CHECKING:
    from tests.conftest import Episodes

EPISODES = 4
TOOL_CALL = {"name": "computer.click", "arguments": {"x": 10, "y": 20}}


class Canned:
    """A judge whose model gives these answers, one an episode."""

    name = "canned"
    deterministic = True

    def __init__(self, answers: list[str], form: Format | None = None) -> None:
        self.answers: Iterator[str] = iter(answers)
        self.form = form

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return {}

    async def judge(self, package: Package, run: int) -> Reply:
        return parse(next(self.answers), form=self.form).reply()


class NeedsAModel:
    """A judge that cannot be made without a model, and is told of its endpoint later."""

    name = "needs-a-model"
    deterministic = True

    def __init__(self, model: str) -> None:
        self.model = model

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return {"model": self.model}

    async def judge(self, package: Package, run: int) -> Reply:
        raise Unavailable(f"model {self.model}: 400, response_format is required")


@pytest.fixture
def packed(episodes: Episodes, instructions: Callable[[str], str | None]) -> Episodes:
    """Four episodes that passed."""
    for n in range(EPISODES):
        name = f"ep_{n}"
        episodes.add(name, [{"action": "done"}], colours=[0, n + 1], source="natural", task_id=f"t{n}")
        truth = Truth.model_validate({"episode_id": name, "outcome": "pass", "pass": True})
        write_record(episodes.bench.paths.episode(name).truth, truth)
    pack(episodes.bench, parse_list("E1-final"), instructions, lambda meta: Secrets())
    return episodes


def judged(
    packed: Episodes, judge: Any
) -> tuple[Judging, list[VerdictLine], dict[str, Any] | None, list[str]]:
    """What became of the asking, the verdict lines, the judge's figures, and the warnings."""
    labelled = Labelled("canned", judge, {}, "c")
    judging = asyncio.run(ask(packed.bench, [labelled], list(index(packed.bench).values()), in_flight=1))
    path = packed.bench.paths.verdict_file("canned", "E1-final")
    lines = list(read_lines(path, VerdictLine)) if path.is_file() else []
    found = measure_bench(packed.bench, resamples=200)
    json.dumps(found, allow_nan=False)
    judges = found["strata"]["natural"]["conditions"].get("E1-final", {"judges": {}})["judges"]
    return judging, lines, judges.get("canned"), found["warnings"]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param('{"verdict": "partially", "reason": "colour for color"}', "off_schema", id="vocabulary"),
        pytest.param("I cannot evaluate", "refused", id="words for a number"),
        pytest.param('```json\n{"verdict": "suc', "truncated", id="cut off"),
        pytest.param(json.dumps(TOOL_CALL), "malformed", id="tool call"),
        pytest.param("", "malformed", id="nothing"),
    ],
)
def test_an_answer_that_cannot_be_read_is_counted_as_that(packed: Episodes, answer: str, status: str) -> None:
    """Of the next four reports, each through the runner and the figures: it is not among the failures."""
    _, lines, figures, _ = judged(packed, Canned([answer, *['{"verdict": "success"}'] * (EPISODES - 1)]))
    assert (lines[0].verdict, lines[0].status) == ("parse_error", status)
    assert (lines[0].score, lines[0].confidence) == (None, None)
    assert figures is not None
    assert (figures["counts"]["parse_error"], figures["counts"]["uncertain"]) == (1, 0)
    assert sum(line.verdict == "failure" for line in lines) == 0


def test_a_word_that_is_not_in_the_vocabulary() -> None:
    """github.com/web-arena-x/webarena/issues/139: "partially" for a spelling variant is no failure."""
    found = parse('{"verdict": "partially"}')
    assert (found.verdict, found.status) == ("parse_error", "off_schema")
    assert "'partially'" in found.reason


def test_words_where_a_number_is_expected() -> None:
    """github.com/manthanguptaa/water/issues/57: an answer without a number becomes 0."""
    found = parse("I cannot evaluate", form=Format(score_keys=("score",)))
    assert (found.verdict, found.status, found.score) == ("parse_error", "refused", None)
    assert parse('{"score": "none"}', form=Format(score_keys=("score",))).score is None
    assert parse('{"score": 0}', form=Format(score_keys=("score",))).score == 0.0


def test_fences_and_prose_are_read_and_what_is_cut_off_is_not() -> None:
    """github.com/greyhaven-ai/autocontext/issues/26: a fifth of the answers was unparsable and scored 0."""
    body = '{"verdict": "success", "reason": "saved"}'
    assert parse(f"```json\n{body}\n```").verdict == "success"
    assert parse(f"Let me look. {body} That is all.").verdict == "success"
    assert parse(f"```json\n{body[:-9]}").status == "truncated"
    assert parse(body, finish="length").status == "truncated"


def test_a_judge_that_starts_to_act(packed: Episodes) -> None:
    """github.com/pinchbench/skill/pull/11: 20 of 23 tasks are 0, since the answer is a tool call."""
    answers = [json.dumps(TOOL_CALL)] * (EPISODES - 1) + ['{"verdict": "success"}']
    _, lines, figures, warnings = judged(packed, Canned(answers))
    unread = [line for line in lines if line.verdict == "parse_error"]
    assert [line.reason for line in unread] == ["it called a tool"] * (EPISODES - 1)
    assert figures is not None
    assert figures["counts"]["parse_error"] == EPISODES - 1
    assert any(f"{EPISODES - 1} of {EPISODES} answers could not be parsed" in text for text in warnings)


def test_a_judge_that_is_made_without_what_it_needs(packed: Episodes) -> None:
    """github.com/opensearch-project/agent-health/issues/242: shown as completed, with zeros everywhere."""
    with pytest.raises(UsageError, match="missing 1 required positional argument: 'model'"):
        make(f"{__name__}:NeedsAModel")
    judging, lines, figures, _ = judged(packed, NeedsAModel("m"))
    assert (judging.obtained, judging.missing, lines) == (0, EPISODES, [])
    assert figures is None
    assert list(judging.asked[0].why_missing) == ["model m: 400, response_format is required"]


def test_a_judge_that_always_says_the_same(packed: Episodes) -> None:
    """github.com/hud-evals/hud-python/pull/145: a constant 0 shows, and a success is a success."""
    _, lines, figures, _ = judged(packed, Canned(['{"verdict": "failure"}'] * EPISODES))
    assert {line.verdict for line in lines} == {"failure"}
    assert figures is not None
    assert (figures["tpr"]["value"], figures["kappa"]["value"]) == (0, None)
    assert parse('{"verdict": "success"}').verdict == "success"


def test_an_answer_that_stands_in_thoughts_only() -> None:
    """github.com/UKGovernmentBEIS/inspect_ai/issues/3512, for judges: the limit came before the answer."""
    assert parse('<think>So {"verdict": "success"}').status == "truncated"
    assert parse('<think>So {"verdict": "success"}</think>').status == "malformed"
