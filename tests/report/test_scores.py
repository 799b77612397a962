"""ROC, DET, reliability and thresholds on the page."""

from __future__ import annotations

import doctest
import html
import itertools
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
    assert "FPR at most 5\u202f% at 95\u202f% confidence; one failed episode a task" in shown
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
    cross = re.search(r'<g class="certified">.*?<path d="M([\d.]+),([\d.]+) l5.5,5.5', found.roc)
    assert cross is not None
    assert [float(cross[1]), float(cross[2]) + 5.5] == pytest.approx([x, y], abs=0.01)
    assert found.certified


@pytest.mark.parametrize(
    ("low", "css"), [(0.051, "certified look"), (0.05, "certified"), (None, "certified")]
)
def test_a_threshold_is_purple_only_where_its_fpr_is_above_the_target(low: float | None, css: str) -> None:
    fpr = {"value": 0.1, "low": low, "high": None if low is None else 0.2, "n": 100}
    tpr = {"value": 0.8, "low": 0.7, "high": 0.9, "n": 100}
    curve = Curve("j", ((0.01, 0.6), (0.1, 0.2), (0.5, 0.01)), (fpr, tpr))
    for drawn in (
        scores_plots.roc([curve], 0.05, title="t"),
        scores_plots.det([curve], 0.05, title="t"),
    ):
        assert drawn is not None
        assert f'<g class="{css}">' in drawn
    assert "certified, other tasks" in scores_plots.roc([curve], 0.05, title="t")
    assert "certified" not in scores_plots.roc([Curve("j", curve.points)], 0.05, title="t")


def test_too_few_tasks_are_a_null_with_the_number_that_is_needed(tmp_path: Path) -> None:
    shown = section_of(bench(tmp_path / "b", 30))
    assert re.search(
        r"null: \d+ tasks with failures in the half that chooses, at least 59 needed: about 118 such tasks",
        shown,
    )
    assert "too few negatives" not in shown
    assert "No threshold is certified, that is, sure to keep the FPR at or below the target" in shown
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


def test_terms_are_explained_and_curves_say_of_which_episodes_they_are(tmp_path: Path) -> None:
    shown = " ".join(re.sub(r"<[^>]+>", " ", section_of(bench(tmp_path / "b", 200))).split())
    for said in (
        "ROC both rates at every threshold",
        "Curves: all episodes. Certified threshold: it keeps the FPR at or below the target",
        "Its rates are of tasks that did not choose it, with 95 % intervals.",
        "DET detection error trade-off",
        "The same curves, all episodes, as errors of both kinds.",
        "Certified: the FPR on tasks like these is at most 5 %, "
        "and such a choice breaks this at most 5 % of the time.",
        "One failed episode a task, drawn by seed, because episodes of one task are alike.",
        "AUC: how often a passed episode scores above a failed one.",
        "overconfident: the whole interval lies below it.",
        "ECE, expected calibration error: the mean distance from that line, weighted by episodes.",
        "Brier score: the mean squared distance of what is stated from what happened, 1 or 0.",
    ):
        assert said in shown
    assert "purple" not in shown.lower()


def test_ece_and_brier_stand_beside_each_diagram(tmp_path: Path) -> None:
    made = bench(tmp_path / "b", 60)
    shown = section_of(made)
    judges = json.loads(made.paths.report_json.read_text(encoding="utf-8"))["strata"]["natural"][
        "conditions"
    ]["E1-final"]["judges"]
    for block in (judges["vlm"]["confidence"], judges["reward"]["scores"]["calibration"]):
        assert f"ECE {block['ece']:.3f}, Brier score {block['brier']['value']:.3f}." in shown


@pytest.mark.parametrize("sampling", ["one_per_task", "max_per_task", "effective_size"])
@pytest.mark.parametrize("delta", [0.05, None])
def test_each_way_to_choose_has_its_words(sampling: str, delta: float | None) -> None:
    block = {"certificate": {"target": 0.1, "delta": delta, "sampling": sampling}}
    row = scores.Scored("j", "E1-final", block)
    found = scores.Section("natural", (row,), 1, 1, None, None, "", "", 0, (), 0)
    assert found.sampled == scores.WHY_SAMPLED[sampling]
    assert "at most 10\u202f%" in found.promise
    assert ("on average" in found.promise) == (delta is None)
    assert not found.certified


Box = tuple[float, float, float, float]
ANCHORS = {
    "count": "middle",
    "middle": "middle",
    "tick": "middle",
    "side": "end",
    "over": "end",
    "end": "end",
}


def text_boxes(drawn: str) -> dict[str, list[Box]]:
    """Class -> boxes (left, right, top, foot) of the texts of a drawing, 6.2 px a character."""
    found: dict[str, list[Box]] = {}
    for attributes, said in re.findall(r"<text ([^>]*)>([^<]*)</text>", drawn):
        values = dict(re.findall(r'([\w-]+)="([^"]*)"', attributes))
        names = values["class"].split()
        anchor = next((ANCHORS[name] for name in reversed(names) if name in ANCHORS), "start")
        width, x = 6.2 * len(html.unescape(said)), float(values["x"])
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        foot = float(values["y"]) + (3.85 if "dy" in values else 0.0)
        found.setdefault(names[0], []).append((left, left + width, foot - 9, foot))
    return found


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def made_bin(mean: float, n: int, high: float | None) -> dict[str, Any]:
    low = None if high is None else high / 2
    return {"n": n, "mean": mean, "passed": {"value": (high or 1.0) * 0.7, "low": low, "high": high, "n": n}}


bins = st.lists(
    st.builds(
        made_bin,
        st.floats(0, 1, allow_nan=False),
        st.integers(1, 3) | st.integers(90, 130) | st.integers(1, 10_000_000),
        st.none() | st.floats(0.01, 1),
    ),
    max_size=24,
)


@given(bins)
def test_no_two_texts_of_a_reliability_diagram_overlap(layout: list[dict[str, Any]]) -> None:
    drawn = scores_plots.reliability(layout, title="t")
    boxes = text_boxes(drawn)
    every = [box for found in boxes.values() for box in found]
    assert not [pair for pair in itertools.combinations(every, 2) if overlap(*pair)]
    counts = boxes.get("count", [])
    assert all(left >= 0 and right <= 320.01 for left, right, _, _ in counts)
    assert bool(counts) == bool(layout), "the fullest bin always has its count"
    most = max((one["n"] for one in layout), default=0)
    assert not layout or f">{most:,}</text>" in drawn
    assert drawn.count('class="n"') == len(layout), "each bin keeps its bar"


@pytest.mark.parametrize(
    ("counts", "means"),
    [((122, 104), (0.9, 0.95)), ((98, 73), (0.9, 0.93)), ((9, 8, 7), (0.5, 0.52, 0.54))],
)
def test_neighbours_keep_both_counts(counts: tuple[int, ...], means: tuple[float, ...]) -> None:
    layout = [made_bin(mean, n, None) for mean, n in zip(means, counts, strict=True)]
    drawn = scores_plots.reliability(layout, title="t")
    assert all(f">{n}</text>" in drawn for n in counts)


def test_an_overconfident_bin_is_a_triangle_and_is_named() -> None:
    drawn = scores_plots.reliability([made_bin(0.9, 50, 0.6), made_bin(0.2, 50, 0.6)], title="t")
    marks = re.findall(r'<g class="(bin(?: over)?)">(.*?)</g>', drawn)
    assert [css for css, _ in marks] == ["bin over", "bin", "bin over"], "two bins and the key"
    assert ["<path" in inside for _, inside in marks] == [True, False, True]
    assert ">overconfident</text>" in drawn
    assert "overconfident" not in scores_plots.reliability([made_bin(0.2, 50, 0.6)], title="t")


@given(st.lists(st.tuples(rates, rates), min_size=2, max_size=9), st.floats(0.006, 0.98))
def test_the_name_of_the_target_stays_in_the_frame(points: list[tuple[float, float]], target: float) -> None:
    curve = Curve("j", tuple(points))
    for drawn in (scores_plots.roc([curve], target, title="t"), scores_plots.det([curve], target, title="t")):
        for left, right, _, _ in text_boxes(drawn or "").get("target-name", []):
            assert left >= 0
            assert right <= 310.1
