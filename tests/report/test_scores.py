"""ROC, DET, reliability and thresholds on the page."""

from __future__ import annotations

import doctest
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measure.conftest import MadeBench

from pyrite.cli import run
from pyrite.measure.bench import measure_bench
from pyrite.records import VerdictLine
from pyrite.report import scores, scores_plots
from pyrite.report.scores_plots import Curve
from pyrite.store.bench import Bench
from pyrite.store.jsonl import append_lines


def bench(
    root: Path, tasks: int, *, each: int = 2, low: float = 0.0, high: float = 1.0, judge: str = "reward"
) -> Bench:
    """A judge with scores, and one that only states how sure it is."""
    made = MadeBench(Bench.create(root))
    rng = np.random.default_rng(1)
    scored: list[VerdictLine] = []
    stated: list[VerdictLine] = []
    for at in range(tasks * each):
        name, passed = f"ep_{at:04d}", bool(rng.random() < 0.4)
        category = None if passed else "F-ABORT" if at % 3 else "F-UNCOMMITTED"
        made.episode(name, f"t{at // each:03d}", "pass" if passed else "fail", category=category)
        value = low + (high - low) * float(np.clip(0.3 + 0.4 * passed + 0.15 * rng.normal(), 0, 1))
        line = {"episode_id": name, "config": "c", "condition": "E1-final", "run": 1, "verdict": "success"}
        scored.append(VerdictLine.model_validate({**line, "judge": judge, "score": round(value, 3)}))
        sure = (0.6, 0.9, 0.95)[at % 3]
        stated.append(VerdictLine.model_validate({**line, "judge": "vlm", "confidence": sure}))
    append_lines(made.bench.paths.verdict_file(judge, "E1-final"), scored)
    append_lines(made.bench.paths.verdict_file("vlm", "E1-final"), stated)
    return made.bench


def section_of(found: Bench) -> str:
    assert run(["report", str(found.root), "--quiet"]) == 0
    page = found.paths.report_html.read_text(encoding="utf-8")
    return re.search(r'<section id="scores">.*?</section>', page, re.DOTALL).group()  # type: ignore[union-attr]


def test_examples() -> None:
    assert doctest.testmod(scores_plots).failed == 0


def test_the_section_shows_what_the_json_holds(tmp_path: Path, lab: Any) -> None:
    made = bench(tmp_path / "b", 200)
    shown = section_of(made)
    lab.safe(lab.page(made.paths.report_html.read_text(encoding="utf-8")))
    block = json.loads(made.paths.report_json.read_text(encoding="utf-8"))["strata"]["natural"]
    judges = block["conditions"]["E1-final"]["judges"]
    certificate, auc = judges["reward"]["scores"]["certificate"], judges["reward"]["scores"]["auc"]
    assert certificate["threshold"] is not None
    assert f"≥ {certificate['threshold']:.6g}" in shown
    assert f"{100 * certificate['fpr']['value']:.1f}\u202f%" in shown
    assert f"{100 * certificate['tpr']['value']:.1f}\u202f%" in shown
    assert f"{auc['value']:.3f}" in shown
    assert "target FPR 5\u202f%" in shown
    assert shown.count('<svg class="curve"') == 4, "ROC, DET, the confidence and the score as a probability"
    assert 'class="bin over"' in shown, "vlm is sure of 40 % successes"
    for one in judges["vlm"]["confidence"]["bins"]:
        assert f">{one['n']:,}<" in shown
    assert f"{block['truth']['fail']:,} failed, {block['truth']['pass']:,} passed" in shown


def test_the_cross_stands_where_the_certificate_says(tmp_path: Path) -> None:
    found = scores.section(measure_bench(bench(tmp_path / "b", 200)))
    assert found is not None
    assert found.roc is not None
    certificate = found.rows[0].certificate
    x = 34 + 276 * certificate["fpr"]["value"]
    y = 266 - 240 * certificate["tpr"]["value"]
    cross = re.search(r'<g class="certified"><circle cx="([\d.]+)" cy="([\d.]+)"', found.roc)
    assert cross is not None
    assert [float(cross[1]), float(cross[2])] == pytest.approx([x, y], abs=0.01)


def test_too_few_tasks_are_a_null_with_the_number_that_is_needed(tmp_path: Path) -> None:
    shown = section_of(bench(tmp_path / "b", 30))
    assert "null: too few negatives, " in shown
    assert "of at least 59" in shown
    assert "<svg" in shown
    assert 'class="certified"' not in shown


def test_a_score_beyond_0_and_1_is_no_probability(tmp_path: Path) -> None:
    shown = section_of(bench(tmp_path / "b", 120, low=-5, high=5))
    assert shown.count('<svg class="curve"') == 3
    assert re.search(r'reward</bdi>, score.*?<span class="null">null: ', shown, re.DOTALL)


def test_without_scores_the_section_says_why(lab: Any) -> None:
    shown = section_of(lab.four())
    assert "null: the source has accept or reject only" in shown
    assert "<svg" not in shown
    assert "<table" not in shown


def test_without_failures_no_stratum_leads(tmp_path: Path) -> None:
    made = MadeBench(Bench.create(tmp_path / "b"))
    for at in range(3):
        made.episode(f"ep_{at}", f"t{at}", "pass")
    made.verdicts("j", "E1-final", [(f"ep_{at}", "success") for at in range(3)])
    assert "null: no stratum has a failed episode" in section_of(made.bench)


def test_a_hostile_name_is_escaped(tmp_path: Path) -> None:
    shown = section_of(bench(tmp_path / "b", 70, judge="<b>x\u202e</b>"))
    assert "<b>x" not in shown
    assert "\u202e" not in shown


rates = st.floats(0, 1, allow_nan=False)


@given(st.lists(st.tuples(rates, rates), max_size=20), st.floats(0.001, 0.999))
def test_a_curve_stays_inside_its_frame(points: list[tuple[float, float]], target: float) -> None:
    curve = Curve("j", tuple(points))
    for drawn in (
        scores_plots.roc([curve], target, title="t"),
        scores_plots.det([curve], target, title="t"),
    ):
        if drawn is None:
            continue
        for line in re.findall(r'points="([^"]*)"', drawn):
            for place in line.split():
                x, y = map(float, place.split(","))
                assert 34 - 0.1 <= x <= 310 + 0.1
                assert 26 - 0.1 <= y <= 266 + 0.1
        assert "nan" not in drawn


def test_a_det_of_normal_scores_is_a_straight_line() -> None:
    from statistics import NormalDist

    normal = NormalDist()
    cuts = np.linspace(-1.5, 2.0, 30)
    points = tuple((1 - normal.cdf(c), NormalDist(1.2, 1).cdf(c)) for c in cuts)
    drawn = scores_plots.det([Curve("j", points)], 0.05, title="t")
    assert drawn is not None
    line = re.search(r'points="([^"]*)"', drawn)
    assert line is not None
    places = np.array([[float(part) for part in place.split(",")] for place in line[1].split()])
    slopes = np.diff(places[:, 1]) / np.diff(places[:, 0])
    assert np.ptp(slopes) < 0.1
    assert not math.isnan(slopes.mean())


def test_a_perfect_score_has_no_det() -> None:
    perfect = Curve("j", ((0.0, 1.0), (0.0, 0.0), (1.0, 0.0)))
    assert scores_plots.det([perfect], 0.05, title="t") is None
