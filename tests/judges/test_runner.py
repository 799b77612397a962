from __future__ import annotations

import asyncio
import hashlib
import json
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from pyrite.cli.judging_text import judging_text
from pyrite.errors import UsageError
from pyrite.evidence.conditions import parse_list
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import index, pack
from pyrite.judges.base import Declined, Package, Reply, Unavailable
from pyrite.judges.client.base import CallError, Image
from pyrite.judges.labels import Labelled, make, make_list
from pyrite.judges.runner import MOST_LOGGED, Judging, ask, dry
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


def test_what_a_judge_declines_is_counted_apart_and_is_no_fault(packed: Episodes) -> None:
    class Modest(Flaky):
        async def judge(self, package: Package, run: int) -> Reply:
            if package.image(-1).tobytes()[0] == 2:
                raise Declined("it was trained on this task")
            return Reply(Verdict.SUCCESS)

    judging = run(packed, [Labelled("modest", Modest(), {}, "c1")])
    final = next(one for one in judging.asked if one.condition == "E1-final")
    assert (final.new, final.missing, final.declined) == (2, 0, {"it was trained on this task": 1})
    assert judging.missing == 0
    assert set(verdicts(packed, "modest", "E1-final")) == {"ep_2", "ep_3"}
    text = judging_text(judging, packed.bench.root, dry=False)
    assert "2 new, 0 kept, 0 missing" in text
    assert "1 declined: it was trained on this task" in text
    assert not packed.bench.paths.log.is_file(), "nobody has to look into it"


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


class Moody(Flaky):
    """Says success, or is gone."""

    def __init__(self, *, gone: bool = False, after: int = 99) -> None:
        super().__init__()
        self.left = 0 if gone else after

    async def judge(self, package: Package, run: int) -> Reply:
        self.left -= 1
        if self.left < 0:
            raise Unavailable("the endpoint is gone")
        return Reply(Verdict.SUCCESS, f"call {self.left}")


def moody(judge: Moody, config: str = "c1", *, anew: bool = True) -> Labelled:
    return Labelled("moody", judge, {"config": config}, config, anew)


def lines(episodes: Episodes, judge: str) -> dict[tuple[str, int], VerdictLine]:
    path = episodes.bench.paths.verdict_file(judge, "E1-final")
    found = list(read_lines(path, VerdictLine))
    assert len({(one.episode_id, one.run) for one in found}) == len(found)
    return {(one.episode_id, one.run): one for one in found}


def test_a_verdict_is_replaced_by_its_new_one_and_by_nothing_else(packed: Episodes) -> None:
    run(packed, [moody(Moody(), anew=False)], runs=2)
    before = lines(packed, "moody")
    assert len(before) == 6

    gone = run(packed, [moody(Moody(gone=True))], runs=2)
    one = next(one for one in gone.asked if one.condition == "E1-final")
    assert (one.new, one.kept, one.missing, one.old) == (0, 0, 6, 6)
    assert lines(packed, "moody") == before

    part = run(packed, [moody(Moody(after=2))], runs=1, in_flight=1)
    one = next(one for one in part.asked if one.condition == "E1-final")
    assert (one.new, one.missing, one.old) == (2, 1, 1)
    after = lines(packed, "moody")
    assert after.keys() == before.keys()
    assert {key for key in after if after[key] != before[key]} == {("ep_1", 1), ("ep_2", 1)}
    assert not list(packed.bench.paths.verdicts.glob(".*"))


def test_new_verdicts_of_a_killed_command_take_their_place(packed: Episodes) -> None:
    run(packed, [moody(Moody(), anew=False)])
    paths = packed.bench.paths
    newer = [one.model_copy(update={"reason": "new"}) for one in list(lines(packed, "moody").values())[:1]]
    paths.verdicts_anew("moody", "E1-final").write_text(
        newer[0].model_dump_json() + "\n" + newer[0].model_dump_json()[:40], encoding="utf-8"
    )
    again = run(packed, [moody(Moody(gone=True), anew=False)])
    assert again.missing == 0
    assert sorted(one.reason == "new" for one in lines(packed, "moody").values()) == [False, False, True]
    assert not list(paths.verdicts.glob(".*"))


def test_force_drops_verdicts_of_other_settings_once_there_is_a_new_one(packed: Episodes) -> None:
    run(packed, [moody(Moody(), anew=False)])
    before = lines(packed, "moody")
    run(packed, [moody(Moody(gone=True), "c2", anew=False)], force=True)
    assert lines(packed, "moody") == before
    assert packed.bench.lock()["judges"]["moody"] == {"config": "c1"}
    with pytest.raises(UsageError, match="config was 'c1', is 'c2'"):
        run(packed, [moody(Moody(), "c2", anew=False)])
    run(packed, [moody(Moody(after=1), "c2", anew=False)], force=True, in_flight=1)
    assert {one.config for one in lines(packed, "moody").values()} == {"c2"}
    assert packed.bench.lock()["judges"]["moody"] == {"config": "c2"}
    whole = run(packed, [moody(Moody(), "c2", anew=False)], force=True)
    assert (whole.missing, len(lines(packed, "moody"))) == (0, 3)


def test_asking_anew_with_other_settings_is_refused_and_what_force_drops_is_said(packed: Episodes) -> None:
    run(packed, [moody(Moody(), anew=False)], runs=3)
    before = lines(packed, "moody")
    with pytest.raises(UsageError, match="config was 'c1', is 'c2'"):
        run(packed, [moody(Moody(), "c2")])
    assert lines(packed, "moody") == before
    forced = run(packed, [moody(Moody(after=1), "c2")], force=True, in_flight=1)
    one = next(one for one in forced.asked if one.condition == "E1-final")
    assert (one.new, one.dropped, len(before)) == (1, 8, 9)
    assert "8 verdicts of other settings" in (packed.bench.root / "log.txt").read_text()
    assert "8 verdicts of other settings dropped" in judging_text(forced, packed.bench.root, dry=False)


class Careless(Flaky):
    """Its errors repeat a key, or its usage is no JSON."""

    async def judge(self, package: Package, run: int) -> Reply:
        self.calls += 1
        if self.calls == 1:
            raise ValueError(f"401 for {os.environ['SDK_API_KEY']}")
        return Reply(Verdict.SUCCESS, "x", usage={"a": object()} if self.calls == 2 else {})


def test_a_key_in_an_error_is_hidden_and_usage_that_is_no_json_is_one_failure(
    packed: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDK_API_KEY", "sk-0123456789abcdef")
    entries = [one for one in index(packed.bench).values() if one.condition == "E1-final"]
    judge = Careless()
    found = asyncio.run(ask(packed.bench, [Labelled("careless", judge, {}, "c1")], entries, in_flight=1))
    (one,) = found.asked
    assert (one.new, one.missing) == (1, 2)
    assert any("401 for [key]" in why for why in one.why_missing)
    assert any("no JSON" in why for why in one.why_missing)
    assert "sk-0123456789abcdef" not in (packed.bench.root / "log.txt").read_text()


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


def test_a_package_is_read_once_for_all_its_calls_and_let_go_after(packed: Episodes) -> None:
    """Bytes are prepared once a package, and no more packages are held than are in flight."""
    seen: list[weakref.ref[Image]] = []
    alive: list[int] = []

    class Holding(Flaky):
        async def judge(self, package: Package, run: int) -> Reply:
            if all(one() is not package.pictures[0] for one in seen):
                seen.append(weakref.ref(package.pictures[0]))
            await asyncio.sleep(0.001)
            alive.append(sum(one() is not None for one in seen))
            return Reply(Verdict.FAILURE, "no")

    judges = [Labelled(name, Holding(), {}, "c1") for name in ("one", "two")]
    judging = run(packed, judges, runs=5, in_flight=2)
    assert judging.obtained == 2 * 5 * 9
    assert len(seen) == 9
    assert max(alive) <= 3


def test_what_a_judge_does_to_its_package_no_other_judge_is_shown(packed: Episodes) -> None:
    shown: list[str] = []

    class Vandal(Flaky):
        async def judge(self, package: Package, run: int) -> Reply:
            shown.append(package.evidence.model_dump_json())
            for action in package.evidence.actions:
                action.parameters["text"] = "nothing"
                action.parameters.clear()
            object.__setattr__(package.evidence, "final_message", "gone")
            return Reply(Verdict.FAILURE, "no")

    run(packed, [Labelled(name, Vandal(), {}, "c1") for name in ("one", "two")], runs=2, in_flight=1)
    assert len(shown) == 2 * 2 * 9
    assert len(set(shown)) == 9


def test_a_screen_that_is_gone_loses_its_own_verdicts_alone(packed: Episodes) -> None:
    entry = next(one for one in index(packed.bench).values() if one.condition == "E1-final")
    path = packed.bench.paths.package(entry.condition, entry.package_id)
    packed.bench.paths.image(json.loads(path.read_text())["images"][0]).unlink()
    judge = Labelled("flaky", Flaky(), {}, "c1")
    judging = run(packed, [judge])
    final = next(one for one in judging.asked if one.condition == "E1-final")
    assert final.missing >= 1
    assert final.new >= 1
    assert any("No such file" in why for why in final.why_missing)


@pytest.mark.parametrize("content", ["", '{"episode_id": "ep_1", "judge": "flaky", "con'])
def test_an_empty_file_and_a_half_line_are_no_verdicts(packed: Episodes, content: str) -> None:
    """Elsewhere the one counts as done for ever, and the other stops every later run."""
    path = packed.bench.paths.verdict_file("accept-all", "E1-final")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    run(packed, make_list("accept-all"))
    assert set(verdicts(packed, "accept-all", "E1-final")) == {"ep_1", "ep_2", "ep_3"}
    again = run(packed, make_list("accept-all"))
    assert [one.kept for one in again.asked if one.condition == "E1-final"] == [3]


def test_the_same_failure_is_counted_each_time_and_logged_some_times(packed: Episodes) -> None:
    class Never(Flaky):
        async def judge(self, package: Package, run: int) -> Reply:
            raise CallError("server", "500: oops", where="http://127.0.0.1/v1")

    judging = run(packed, [Labelled("never", Never(), {}, "c1")], runs=30)
    assert {why: n for one in judging.asked for why, n in one.why_missing.items()} == {
        "server: 500: oops": 90
    }
    assert packed.bench.paths.log.read_text().count("500: oops") == 3 * MOST_LOGGED
    assert not list(packed.bench.paths.verdicts.glob("never*"))


def test_raw_answers_are_kept_as_json_whatever_a_judge_calls_raw(packed: Episodes) -> None:
    raws: list[Any] = [{"text": "x"}, "plain", {"bad": float("nan")}, {"half": "\ud83d"}, object()]

    class Raw(Flaky):
        async def judge(self, package: Package, run: int) -> Reply:
            return Reply(Verdict.FAILURE, "half \ud83d", raw=raws[run - 1])

    run(packed, [Labelled("raw", Raw(), {}, "c1")], runs=5)
    path = packed.bench.paths.verdict_file("raw", "E1-final")
    lines = list(read_lines(path, VerdictLine))
    assert len(lines) == 15
    for line in lines:
        assert line.raw is not None
        data = (packed.bench.root / line.raw).read_bytes()
        assert line.raw == f"raw/{hashlib.sha256(data).hexdigest()}.json"
        json.loads(data, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
        assert line.reason == "half ?"


def test_what_a_judge_opened_is_closed_in_the_same_loop(packed: Episodes) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    class Opening(Flaky):
        async def judge(self, package: Package, run: int) -> Reply:
            loops.append(asyncio.get_running_loop())
            return Reply(Verdict.FAILURE)

        async def aclose(self) -> None:
            assert asyncio.get_running_loop() is loops[-1]
            loops.append(asyncio.get_running_loop())

    run(packed, [Labelled("opening", Opening(), {}, "c1")])
    assert len(loops) == 10
