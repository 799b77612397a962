"""outcomes on the command line: the article's numbers, alerts, held and broken tasks, the hardest tasks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pyrite.cli import run
from pyrite.records import Meta, Truth
from pyrite.store import held
from pyrite.store.bench import Bench, now
from pyrite.store.held import Held
from pyrite.store.jsonl import write_record
from pyrite.store.replays import Kept
from pyrite.store.replays import write as keep

CAUSES = [
    *["gold_failed"] * 9, *["act_failed"] * 5, *["state_unreadable"] * 2, "verifier_timeout",
]  # fmt: skip
REPLAY = {"at": "2026-01-01T00:00:00Z", "image": "host-1", "outcomes": {"initial": "fail", "good": "pass"}}


def make(root: Path, plan: Sequence[tuple[str, str, str]], **more: Any) -> Bench:
    """A bench of (task, outcome or cause, agent) a row, all natural."""
    bench = Bench.create(root)
    for number, (task_id, what, agent) in enumerate(plan):
        name = f"e{number:05d}"
        meta = {
            "schema_version": "1",
            "episode_id": name,
            "task_id": task_id,
            "source": more.get("source", "natural"),
            "agent": {"name": agent},
            "n_steps": 1,
            "created_at": "2026-01-01T00:00:00Z",
        }
        write_record(bench.paths.episode(name).meta, Meta.model_validate(meta))
        truth: dict[str, Any] = {
            "episode_id": name,
            "outcome": what,
            "pass": {"pass": True, "fail": False}.get(what),
        }
        if what not in {"pass", "fail"}:
            truth |= {"outcome": "indeterminate", "cause": what}
        replay = more.get("replay", REPLAY)
        if what == "gold_failed":
            replay = {**REPLAY, "outcomes": {"initial": "fail", "good": "fail"}}
        truth |= {"replay": replay, "verifier_sha256": "ab" * 32}
        write_record(bench.paths.episode(name).truth, Truth.model_validate(truth))
    return bench


def article(root: Path) -> Bench:
    what = ["pass"] * 134 + ["fail"] * 217 + CAUSES
    return make(root, [(f"task-{n}", one, "agent") for n, one in enumerate(what)])


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["outcomes", *arguments]) == 0
    return capsys.readouterr().out.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_the_articles_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Any
) -> None:
    bench = article(tmp_path / "bench")
    text = printed(capsys, str(bench.root))
    assert "368 attempted, 17 indeterminate, 351 scored (134 pass, 217 fail)" in text
    assert "success rate 38.2 % [33.2, 43.4] over scored" in text
    assert "interval Wilson" in text
    assert "bounds 36.4 % to 41.0 %" in text
    rates = re.findall(r"success rate (\S+) %", text)
    assert rates == ["38.2", "38.2"]  # of all, and of the one agent; the two-outcome 36.4 is a bound only
    for cause, n, blame in (
        ("gold_failed", 9, "verifier"),
        ("act_failed", 5, "environment"),
        ("state_unreadable", 2, "environment"),
        ("verifier_timeout", 1, "verifier"),
    ):
        assert f"indeterminate: {n} {cause}, blame {blame}" in text
    assert "alert" not in text  # 17 of 368 are 4.6 %
    assert max(map(len, text.replace(str(bench.root), "BENCH").splitlines())) <= 100
    block = json.loads(printed(capsys, str(bench.root), "--json"))["strata"]["natural"]
    assert block["rate"] == pytest.approx(134 / 351)
    assert block["bounds"] == pytest.approx([134 / 368, 151 / 368])
    assert block["blame"] == {"verifier": 10, "environment": 7}
    record_property(
        "figure",
        "outcomes of 368 attempted, 17 indeterminate, 134 pass, 217 fail: 38.2 %, bounds [36.4, 41.0]",
    )


def test_an_alert_above_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = article(tmp_path / "bench")
    text = printed(capsys, str(bench.root), "--limit", "0.01")
    assert "alert    natural: the indeterminate share is above 1 %: 4.6 % [2.9, 7.3]" in text
    assert "is not shown to be above, 4 %: 4.6 %" in printed(capsys, str(bench.root), "--limit", "0.04")
    (bench.root / "pyrite.yaml").write_text("outcomes: {indeterminate: 0.02}\n")
    grader = json.loads(printed(capsys, str(bench.root), "--json"))["grader"]
    assert grader["limit"] == 0.02
    assert grader["alerts"] == [{"stratum": "natural", "kind": "limit", "shown": True}]
    assert run(["outcomes", str(bench.root), "--limit", "1"]) == 2
    assert "--limit" in capsys.readouterr().err


def test_an_alert_where_more_is_open_than_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = make(tmp_path / "a", [(f"t{n}", "fail" if n % 20 else "gold_failed", "x") for n in range(200)])
    alike = make(tmp_path / "b", [(f"t{n}", "fail" if n % 19 else "gold_failed", "x") for n in range(200)])
    worse = make(tmp_path / "c", [(f"t{n}", "fail" if n % 5 else "gold_failed", "x") for n in range(200)])
    text = printed(capsys, str(worse.root), "--against", str(before.root), "--limit", "0.5")
    said = f"alert    natural: the indeterminate share has risen against {before.root}: +15.0 pp ["
    assert said in " ".join(text.split()).replace("alert ", "alert    ")
    text = printed(capsys, str(alike.root), "--against", str(before.root))
    assert "not shown to have risen" in " ".join(text.split())
    change = json.loads(printed(capsys, str(alike.root), "--against", str(before.root), "--json"))
    assert change["grader"]["strata"]["natural"]["change"]["low"] < 0
    assert run(["outcomes", str(worse.root), "--against", str(worse.root)]) == 2
    assert "the same bench" in capsys.readouterr().err


def test_held_at_check_and_broken_after_it_was_run_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = make(
        tmp_path / "bench",
        [("ok", "pass", "x"), ("gold", "gold_failed", "x"), ("lost", "state_missing", "x")],
    )
    held.write(
        bench, [Held(task_id="never", why="initial passes", faults=2, checked_at="2026-01-02T00:00:00Z")]
    )
    text = printed(capsys, str(bench.root))
    assert "held     never: held at check (2026-01-02), never run: initial passes" in text
    assert "broke    gold: run, not counted: gold_failed (blame: verifier), 1 episode" in text
    assert "broke    lost" not in text
    grader = json.loads(printed(capsys, str(bench.root), "--json"))["grader"]
    assert [one["task_id"] for one in grader["held"]] == ["never"]
    assert [one["task_id"] for one in grader["broke"]] == ["gold"]
    bench.update_lock(held="everything")
    assert run(["outcomes", str(bench.root)]) == 2
    assert "lock.json" in capsys.readouterr().err


def test_the_tasks_that_fail_most_and_when_their_good_state_passed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = [(f"t{n:02d}", "fail" if k < n else "pass", "x") for n in range(14) for k in range(14)]
    bench = make(tmp_path / "bench", plan)
    blind = make(tmp_path / "blind", [("t", "fail", "x")], replay=None)
    kept = {"key": "k", "task_id": "t13", "image": "i", "day": now()[:10], "at": now(), "cause": None}
    assert keep(bench, Kept.model_validate({**kept, "passes": True, "result": {}}))
    assert keep(
        bench,
        Kept.model_validate({**kept, "task_id": "t12", "passes": True, "day": "2025-01-01", "result": {}}),
    )
    found = json.loads(printed(capsys, str(bench.root), "--json"))["grader"]["hardest"]["natural"]
    assert [(one["task_id"], one["fail"]) for one in found] == [(f"t{n:02d}", n) for n in range(13, 3, -1)]
    assert [one["gold"]["replayed"] for one in found] == ["today", *["at_verify"] * 9]
    text = printed(capsys, str(bench.root))
    assert re.search(r"t13, natural +13 / 14 +92.9 % +today", text)
    assert re.search(r"t12, natural +12 / 14 +85.7 % +at verify, 2026-01-01", text)
    assert re.search(r"t, natural +1 / 1 +n < 10 +never", printed(capsys, str(blind.root)))


def test_names_from_episodes_do_not_reach_the_terminal_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = make(tmp_path / "bench", [("t", "pass", "x\x1b[31m\n")])
    held.write(bench, [Held(task_id="h", why="\x1b]0;title\x07\nforged", faults=1, checked_at="2026")])
    text = printed(capsys, str(bench.root))
    assert "\x1b" not in text
    assert "\nforged" not in text
