"""Long trajectories: the budget of one request keeps no screen from a judge that sends one a call."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from PIL import Image
from tests.formats.folders import fara
from tests.judges.universal.brain import Brain
from tests.judges.universal.endpoint import BrainServer

from pyrite import flow
from pyrite.cli import run
from pyrite.formats.fara_bench import import_runs
from pyrite.store.bench import Bench

NUMBER = r"([\d,]+)(?: to ([\d,]+))?"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs of one task; one of them has twelve large screens, one lacks a screen."""
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    runs = tmp_path / "runs"
    long = fara(runs, "long", range(1, 13))
    for number in range(1, 13):
        Image.new("RGB", (1280, 1280), (5 * number, 0, 0)).save(long / f"screenshot_{number}.png")
    fara(runs, "short", (1, 2, 3))
    (fara(runs, "gap", (1, 2, 3)) / "screenshot_2.png").unlink()
    import_runs(runs, tmp_path / "bench")
    (tmp_path / "bench" / "pyrite.yaml").write_text("evidence: {max_tokens: 10_000}\n", encoding="utf-8")
    return tmp_path / "bench"


def asked(bench: Path, condition: str, *more: str) -> list[str]:
    return ["judge", str(bench), "--judge", "universal@model=m-1", "--condition", condition, *more]


def left_out(bench: Path, condition: str) -> list[int]:
    """Screens that are not in a package, of each package of a condition."""
    found = []
    for path in Bench(bench).paths.evidence.rglob("*.json"):
        body = json.loads(path.read_text())
        if isinstance(body, dict) and body.get("condition") == condition:
            found.append(len((body["left_out"] or {"screens": ()})["screens"]))
    return sorted(found)


def test_a_whole_package_leaves_no_screen_out(bench: Path) -> None:
    flow.pack(bench, conditions="E3-full+claim,whole+claim")
    assert left_out(bench, "E3-full+claim") == [0, 0, 8], "pack keeps to the bench's own pyrite.yaml"
    assert left_out(bench, "E3-whole+claim") == [0, 0, 0]
    with BrainServer(Brain()) as server:
        assert run(asked(bench, "E3-whole+claim", "--base-url", server.url)) == 3
    (path,) = (bench / "verdicts").glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(one["verdict"] for one in lines) == ["success", "success", "uncertain"]
    assert max(len(one["process"]["screens"]) for one in lines) == 12


def test_what_run_wrote_down_stands_above_the_file(bench: Path) -> None:
    Bench(bench).update_lock(evidence={"max_tokens": 1_000_000})
    flow.pack(bench, conditions="E3-full+claim")
    assert left_out(bench, "E3-full+claim") == [0, 0, 0]


def test_a_dry_run_names_what_is_null_for_certain_and_has_one_total(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for condition, told, calls in (
        (
            "E3-full+claim",
            ["left out for want of room (E3-whole leaves nothing out)", "a screen is missing"],
            1,
        ),
        ("E3-whole+claim", ["a screen is missing"], 2),
    ):
        flow.pack(bench, conditions=condition)
        capsys.readouterr()
        dry = asked(bench, condition, "--base-url", "http://127.0.0.1:9/v1", "--dry-run")
        assert run(dry) == 0
        said = capsys.readouterr().out
        for why in told:
            assert f"no outcome, and no call: 1 of 3: {why}" in said
        headline = re.search(rf"{NUMBER} calls: images and tokens", said)
        table = re.search(rf"^\s+all .*?\s{NUMBER}$", said, re.MULTILINE)
        assert headline
        assert table
        assert headline.groups() == table.groups(), "what a task shares is counted once in both"
        assert len(re.findall(r"^\s+rubric\s.* 1$", said, re.MULTILINE)) == 1, calls


def test_a_dry_run_of_nulls_alone_has_no_table(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in Bench(bench).paths.episodes.iterdir():
        if json.loads((path / "meta.json").read_text())["origin_id"] != "gap":
            (path / "meta.json").unlink()
    flow.pack(bench, conditions="E3-whole+claim")
    capsys.readouterr()
    assert run(asked(bench, "E3-whole+claim", "--base-url", "http://127.0.0.1:9/v1", "--dry-run")) == 0
    said = capsys.readouterr().out
    assert "no outcome, and no call: 1 of 1: a screen is missing" in said
    assert "published" not in said
    assert "calls:" not in said
