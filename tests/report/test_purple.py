"""Purple on the page: an FPR whose whole interval is above the target, and nothing else of rates."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.measure.conftest import MadeBench

from pyrite.cli import run
from pyrite.measure.bench import measure_bench
from pyrite.report.page import finding_parts
from pyrite.report.sections import above_target
from pyrite.store.bench import Bench

# (accepted of 60 unsaved, accepted of 60 given up) of each judge
JUDGES = {"worst": (30, 20), "second": (20, 12), "hard-only": (14, 0), "near": (4, 4), "good": (1, 0)}
SHORTCUTS = {"accept-all": (60, 60), "claim": (40, 20)}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Mapping[str, Any]]:
    """The page and the JSON of a bench of 120 failures and 20 successes."""
    made = MadeBench(Bench.create(tmp_path_factory.mktemp("purple") / "b"))
    names = [f"{kind}{at:02d}" for kind in "ug" for at in range(60)]
    for name in names:
        category = "F-UNCOMMITTED" if name[0] == "u" else "F-ABORT"
        agent = "a" if int(name[1:]) < 30 else "b"
        made.episode(name, f"t{name[1:]}", "fail", category=category, agent=agent)
    passed = [f"p{at:02d}" for at in range(20)]
    for at, name in enumerate(passed):
        made.episode(name, f"t{at:02d}", "pass", agent="ab"[at % 2])
    for judge, accepted in {**JUDGES, **SHORTCUTS}.items():
        lines = [(n, "success" if int(n[1:]) < accepted["ug".index(n[0])] else "failure") for n in names]
        made.verdicts(judge, "E1-final", [*lines, *((name, "success") for name in passed)])
    assert run(["report", str(made.bench.root), "--quiet"]) == 0
    paths = made.bench.paths
    return paths.report_html.read_text(encoding="utf-8"), json.loads(paths.report_json.read_text())


def table(text: str, css: str) -> str:
    found = re.search(rf'<table class="{css}">.*?</table>', text, re.DOTALL)
    assert found is not None
    return found.group()


def rows(text: str) -> Iterator[tuple[str, list[tuple[bool, str]]]]:
    """(judge, [(purple, text) of each cell]) of the rows of a table."""
    for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL):
        name = re.search(r'<th scope="row"[^>]*><bdi>(.*?)</bdi>', row)
        if name:
            cells = re.findall(r"<(?:td|th)([^>]*)>(.*?)</(?:td|th)>", row, re.DOTALL)
            yield name[1], [("look" in css or 'look" role' in inside, inside) for css, inside in cells]


def judges(found: Mapping[str, Any]) -> Mapping[str, Any]:
    block: Mapping[str, Any] = found["strata"]["natural"]["conditions"]["E1-final"]["judges"]
    return block


def test_every_judge_above_the_target_is_purple_and_no_other(page: tuple[str, Mapping[str, Any]]) -> None:
    text, found = page
    above = {name for name, one in judges(found).items() if one["fpr"]["low"] > 0.05}
    assert above == {"worst", "second", "hard-only", *SHORTCUTS}, "the bench has both sides"
    seen = dict(rows(table(text, "forest")))
    assert seen.keys() == JUDGES.keys() | SHORTCUTS.keys()
    for name, cells in seen.items():
        purple = name in above and name not in SHORTCUTS
        assert [mark for mark, _ in cells] == [purple] * 4 + [False] * 2, (name, "name, count, plot, FPR")


def test_hard_negatives_and_the_others_go_by_their_own_interval(page: tuple[str, Mapping[str, Any]]) -> None:
    text, found = page
    seen = dict(rows(table(text, "forest hard")))
    for name, cells in seen.items():
        expected = [name in JUDGES and judges(found)[name][part]["low"] > 0.05 for part in ("hard", "other")]
        marks = [mark for mark, _ in cells]
        assert marks == [False, expected[0], expected[0], False, expected[1], expected[1], False], name
    assert [mark for mark, _ in seen["hard-only"]].count(True) == 2


def test_all_figures_and_kinds_and_pairs_say_the_same(page: tuple[str, Mapping[str, Any]]) -> None:
    text, found = page
    for name, cells in rows(table(text, "list wide")):
        one, judge = judges(found)[name], name in JUDGES
        marks = {at for at, (mark, _) in enumerate(cells) if mark}
        expected = {3, 4} if judge and one["fpr"]["low"] > 0.05 else set()
        assert marks == expected | ({5} if judge and one["hard"]["low"] > 0.05 else set()), name
    for row in re.findall(r"<tr>.*?</tr>", table(text, "forest kind"), re.DOTALL):
        low = re.search(r'class="ci">\[([\d.]+), ', row)
        assert ("look" in row) == (low is not None and float(low[1]) > 5.0), row
    diagonal = re.findall(r'<td class="self"><b( class="look")?>.*?FPR \[([\d.]+), ', text)
    assert len(diagonal) == 6
    grey = {f"{100 * judges(found)[name]['fpr']['low']:.1f}" for name in SHORTCUTS}
    for mark, low_text in diagonal:
        assert bool(mark) == (float(low_text) > 5.0 and low_text not in grey)


def test_purple_is_explained_once_beside_the_target(page: tuple[str, Mapping[str, Any]]) -> None:
    text, _ = page
    shown = html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)))
    assert shown.lower().count("purple") == 2, "the meaning, and that a shortcut never has it"
    legends = re.findall(r'<ul class="legend">\s*<li>.*?</ul>', text, re.DOTALL)
    (legend,) = [one for one in legends if "an FPR whose whole interval is above" in one]
    assert legend.index('href="#target"') < legend.index("an FPR whose whole interval is above")


def test_no_other_style_is_purple(page: tuple[str, Mapping[str, Any]]) -> None:
    text, _ = page
    style = "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    for selector, rule in re.findall(r"([^{}]+)\{([^{}]*)\}", style):
        if "var(--look)" in rule or ("#8a2d5f" in rule and "--look:" not in rule):
            assert all("look" in one for one in selector.split(",")), selector
    body = text[text.index("</head>") :]
    assert body.count("#8a2d5f") == 1, "the triangle of a single false accept"
    assert "--false-accept: var(--ink)" in style, "and it is dark where it stands among rates"


def test_the_finding_is_purple_where_its_interval_is(page: tuple[str, Mapping[str, Any]]) -> None:
    _, found = page
    parts = finding_parts(found)
    assert [css for _, css in parts if css] == ["look", "strong"], "FPR, then FDR"
    assert "".join(text for text, _ in parts).replace("\u202f", " ") == found["finding"]


@pytest.mark.parametrize("n", [8, 20])
def test_a_finding_of_few_is_strong_and_nowhere_purple(tmp_path: Path, n: int) -> None:
    """Accepted failures, and an interval that reaches the target; or too few for any rate."""
    made = MadeBench(Bench.create(tmp_path / "b"))
    for at in range(n):
        made.episode(f"e{at:02d}", f"t{at:02d}", "fail", category="F-ABORT")
    accepted = n if n < 10 else 2
    lines = [(f"e{at:02d}", "success" if at < accepted else "failure") for at in range(n)]
    made.verdicts("75.0 % accepts j", "E1-final", lines)
    assert run(["report", str(made.bench.root), "--quiet"]) == 0
    parts = finding_parts(measure_bench(made.bench))
    assert parts[0] == ("75.0 % accepts j accepts ", "")
    assert [css for _, css in parts if css] == ["strong"]
    body = made.bench.paths.report_html.read_text(encoding="utf-8").split("</head>")[1]
    assert body.count('look"') == 1, "the key, which names it"


def test_the_bound_itself_is_not_above_and_few_are_never() -> None:
    assert above_target({"low": 0.0501, "n": 10})
    assert not above_target({"low": 0.05, "n": 500})
    assert not above_target({"low": 0.9, "n": 9})
    assert not above_target({"low": None, "n": 500})
    assert not above_target({"low": 0.0501, "n": 500}, 0.1)


def test_wide_tables_scroll_in_a_narrow_window(page: tuple[str, Mapping[str, Any]]) -> None:
    text, _ = page
    tables = re.findall(r"(<div class=\"[\w-]*scroll\">\s*)?<table class=\"(forest|outcomes|list wide)", text)
    assert len(tables) == 5
    assert all(inside for inside, _ in tables)
