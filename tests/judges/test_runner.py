from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from pyrite.errors import UsageError
from pyrite.evidence.conditions import parse_list
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import index, pack
from pyrite.judges.base import Package, Reply, Unavailable
from pyrite.judges.labels import Labelled, make, make_list
from pyrite.judges.runner import Judging, ask, dry
from pyrite.records import Verdict, VerdictLine
from pyrite.store.jsonl import read_lines

if TYPE_CHECKING:
    from tests.conftest import Episodes

Instructions = Callable[[str], str | None]


class Flaky:
    """Available for some packages only, and not deterministic."""

    name = "flaky"
    deterministic = False

    def __init__(self, strict: str = "no") -> None:
        self.strict = strict
        self.calls = 0

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return {"strict": self.strict}

    async def judge(self, package: Package, run: int) -> Reply:
        self.calls += 1
        if package.image(-1).tobytes()[0] == 2:
            raise Unavailable("the engine is not there")
        return Reply(Verdict.UNCERTAIN, "no idea", confidence=0.5)


@pytest.fixture
def packed(episodes: Episodes, instructions: Instructions) -> Episodes:
    done: list[dict[str, Any]] = [{"action": "wait", "seconds": 1}, {"action": "done"}]
    episodes.add("ep_1", done, final_message="D14 is set and the file is saved.")
    episodes.add("ep_2", done, colours=[0, 1, 3], final_message="I could not do it.")
    episodes.add("ep_3", [{"action": "fail"}], colours=[0, 4])
    pack(episodes.bench, parse_list("E1-final,E2+claim,E3-full"), instructions, lambda meta: Secrets())
    return episodes


def run(episodes: Episodes, judges: list[Labelled], **options: Any) -> Judging:
    entries = list(index(episodes.bench).values())
    return asyncio.run(ask(episodes.bench, judges, entries, **options))


def verdicts(episodes: Episodes, judge: str, condition: str) -> dict[str, str | None]:
    path = episodes.bench.paths.verdict_file(judge, condition)
    return {line.episode_id: line.verdict for line in read_lines(path, VerdictLine)}


def test_the_shortcuts_answer_only_where_they_can(packed: Episodes) -> None:
    judging = run(packed, make_list("accept-all,reject-all,claim,steps"))
    assert {(one.judge, one.condition) for one in judging.asked if not one.supported} == {
        ("claim", "E1-final"),
        ("claim", "E3-full"),
        ("steps", "E1-final"),
        ("steps", "E2+claim"),
    }
    success, failure = "success", "failure"
    assert set(verdicts(packed, "accept-all", "E1-final").values()) == {success}
    assert set(verdicts(packed, "reject-all", "E1-final").values()) == {failure}
    assert verdicts(packed, "claim", "E2+claim") == {"ep_1": success, "ep_2": failure, "ep_3": failure}
    assert verdicts(packed, "steps", "E3-full") == {"ep_1": success, "ep_2": success, "ep_3": failure}


def test_what_is_unavailable_has_no_line_and_is_asked_again(packed: Episodes) -> None:
    judge = Flaky()
    labelled = Labelled("flaky", judge, judge.config(), "c1")
    judging = run(packed, [labelled])
    final = next(one for one in judging.asked if one.condition == "E1-final")
    assert (final.new, final.missing) == (2, 1)
    assert final.why_missing == {"the engine is not there": 1}
    assert set(verdicts(packed, "flaky", "E1-final")) == {"ep_2", "ep_3"}
    calls = judge.calls
    again = run(packed, [labelled])
    assert judge.calls == calls + again.missing
    assert len(verdicts(packed, "flaky", "E1-final")) == 2


def test_runs_are_separate_and_resume(packed: Episodes) -> None:
    judge = Flaky()
    labelled = Labelled("flaky", judge, judge.config(), "c1")
    assert (
        dry(
            packed.bench,
            [labelled],
            list(index(packed.bench).values()),
            ["E1-final", "E2+claim", "E3-full"],
            runs=3,
        ).missing
        == 27
    )
    run(packed, [labelled], runs=2)
    run(packed, [labelled], runs=3)
    path = packed.bench.paths.verdict_file("flaky", "E3-full")
    keys = [(line.episode_id, line.run) for line in read_lines(path, VerdictLine)]
    assert sorted(keys) == [(e, r) for e in ("ep_2", "ep_3") for r in (1, 2, 3)]


def test_other_settings_are_refused_with_the_difference_until_forced(packed: Episodes) -> None:
    mild, strict = Flaky(), Flaky("yes")
    packed.bench.update_lock(judges={"flaky": mild.config()})
    run(packed, [Labelled("flaky", mild, mild.config(), "c1")])
    other = Labelled("flaky", strict, strict.config(), "c2")
    with pytest.raises(UsageError, match="strict was 'no', is 'yes'"):
        run(packed, [other])
    run(packed, [other], force=True)
    path = packed.bench.paths.verdict_file("flaky", "E1-final")
    assert {line.config for line in read_lines(path, VerdictLine)} == {"c2"}


def test_a_verdict_on_evidence_that_has_changed_is_dropped(
    packed: Episodes, instructions: Instructions
) -> None:
    run(packed, make_list("accept-all"))
    path = packed.bench.paths.verdict_file("accept-all", "E1-final")
    before = {line.episode_id: line.evidence_sha256 for line in read_lines(path, VerdictLine)}
    packed.instruction = "Another task."
    pack(packed.bench, parse_list("E1-final"), instructions, lambda meta: Secrets())
    run(packed, make_list("accept-all"))
    after = {line.episode_id: line.evidence_sha256 for line in read_lines(path, VerdictLine)}
    assert after.keys() == before.keys()
    assert all(after[e] != before[e] for e in after)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("acept-all", "unknown judge"),
        ("accept-all@x=1", "unknown option"),
        ("nosuchmodule:Judge", "cannot be loaded"),
        ("json:JSONDecoder", "is not a judge"),
        (",", "no judge"),
    ],
)
def test_a_label_that_names_no_judge_is_a_usage_error(label: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_list(label)


def test_any_module_attr_is_a_judge() -> None:
    labelled = make(f"{__name__}:Flaky@strict=yes")
    assert labelled.label.endswith(":Flaky@strict=yes")
    assert labelled.settings["strict"] == "yes"
    assert labelled.config != make(f"{__name__}:Flaky").config


class Loud:
    """Prints, and takes its time: calls of it overlap."""

    name = "loud"
    deterministic = True

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return {}

    async def judge(self, package: Package, run: int) -> Reply:
        print("looking")
        await asyncio.sleep(0.01 * len(package.evidence.images))
        print("seen")
        return Reply(Verdict.FAILURE, "no")


def test_what_a_judge_prints_is_not_the_result_and_stdout_is_back_after(
    packed: Episodes, capsys: pytest.CaptureFixture[str]
) -> None:
    run(packed, [make(f"{__name__}:Loud")])
    print("the result")
    seen = capsys.readouterr()
    assert seen.out == "the result\n"
    assert seen.err.count("looking") == seen.err.count("seen") == 9
