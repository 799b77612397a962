"""Ranks, labels and what to read, as lines of `pyrite measure`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.measure.conftest import MadeBench

from pyrite.cli import run
from pyrite.records import Label
from pyrite.store.bench import Bench
from pyrite.store.jsonl import append_lines


@pytest.fixture
def made(tmp_path: Path) -> MadeBench:
    """Two agents on 20 tasks; the judge prefers the worse one."""
    found = MadeBench(Bench.create(tmp_path / "bench"))
    lines: list[tuple[str, str]] = []
    for agent, passes, accepted in (("good", 14, 6), ("bad", 8, 12)):
        for at in range(20):
            name = f"ep_{len(lines):03d}"
            found.episode(name, f"t{at}", "pass" if at < passes else "fail", agent=agent)
            lines.append((name, "success" if at < accepted else "failure"))
    found.verdicts("j", "E1-final", lines)
    return found


def label(
    made: MadeBench, outcome: str, who: str = "x", stage: str = "blind", episode: str = "ep_028"
) -> None:
    said: dict[str, Any] = {"episode_id": episode, "annotator": who, "stage": stage, "outcome": outcome}
    append_lines(made.bench.paths.labels, [Label.model_validate(said)])


def text_of(made: MadeBench, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["measure", str(made.bench.root), "--quiet"]) == 0
    found = capsys.readouterr().out
    assert max(map(len, found.splitlines())) <= 100
    return " ".join(found.split())


def test_a_change_of_places_is_told(made: MadeBench, capsys: pytest.CaptureFixture[str]) -> None:
    found = text_of(made, capsys)
    assert "ranks j, E1-final by agent: good 1→2, bad 2→1; pairs in the same order 0.0 %" in found
    assert "4 false positives and as a control 4 true negatives; 8 not read by anyone" in found
    assert "people" not in found


def test_adjudication_shows_both_versions(made: MadeBench, capsys: pytest.CaptureFixture[str]) -> None:
    label(made, "pass", stage="adjudication")
    found = text_of(made, capsys)
    assert "people 1 episode labelled by 1 person: 1 pass, 0 fail, 0 undecided, 1 adjudicated" in found
    assert "7 not read by anyone; FPR 22.2 %" in found
    assert "as verified, 17.6 %" in found
    assert "(−4.6 pp, 1 outcome moved)" in found.replace("\u202f", " ")


def test_people_agree_and_change_their_minds(made: MadeBench, capsys: pytest.CaptureFixture[str]) -> None:
    for episode in ("ep_028", "ep_029"):
        label(made, "pass", "x", episode=episode)
        label(made, "pass" if episode == "ep_028" else "fail", "y", episode=episode)
    label(made, "fail", "x", "informed")
    found = text_of(made, capsys)
    assert "2 episodes labelled by 2 people: 1 pass, 0 fail, 1 undecided, 0 adjudicated" in found
    assert "two of them agree in 1 / 2" in found
    assert "0 to pass, 1 to fail" in found


def test_the_document_holds_people_health_and_ranks(
    made: MadeBench, capsys: pytest.CaptureFixture[str]
) -> None:
    label(made, "pass")
    assert run(["measure", str(made.bench.root), "--quiet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["people"]["episodes"] == 1
    assert found["health"]["by_agent"]["good"] == {
        "attempted": 20,
        "indeterminate": 0,
        "indeterminate_rate": 0.0,
        "fail": 6,
        "fail_exposed": 0,
    }
    judge = found["strata"]["natural"]["conditions"]["E1-final"]["judges"]["j"]
    assert judge["ranks"]["rank_changes"] == ["good", "bad"]
