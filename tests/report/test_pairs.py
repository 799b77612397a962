"""The section of judge pairs: what differs is loud, what is not shown says how much would have been seen."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pyrite.measure.bench import measure_bench
from pyrite.measure.compare import compare_bench
from pyrite.records import Verdict
from pyrite.report import pairs
from pyrite.report.write import write
from pyrite.store.bench import Bench

YES, NO = Verdict.SUCCESS, Verdict.FAILURE


def three_judges(
    lab: Any, *, tasks: int = 12, names: tuple[str, str, str] = ("kind", "strict", "odd")
) -> Bench:
    """A failed and a passed episode a task; the third judge is kind on every fourth task."""
    made = [lab.made(f"f{t}", task_id=f"task-{t}", outcome="fail", category="F-ABORT") for t in range(tasks)]
    made += [lab.made(f"p{t}", task_id=f"task-{t}") for t in range(tasks)]
    bench: Bench = lab.bench(made)
    ids = [one.episode_id for one in made]
    kind, strict, odd = names
    lab.judge(bench, kind, dict.fromkeys(ids, YES))
    lab.judge(bench, strict, {i: YES if i[0] == "p" else NO for i in ids})
    lab.judge(bench, odd, {i: YES if i[0] == "p" or int(i[1:]) % 4 == 0 else NO for i in ids})
    lab.judge(bench, "accept-all", dict.fromkeys(ids, YES))
    return bench


def section(bench: Bench) -> str:
    done = write(bench, measure_bench(bench), options={"seed": 0})
    text = done.html.read_text(encoding="utf-8")
    start = text.index('<section id="pairs">')
    return text[start : text.index("</section>", start)]


def test_the_matrix_of_three_judges(lab: Any) -> None:
    bench = three_judges(lab)
    compared = compare_bench(bench)
    (matrix,) = pairs.matrices(compared, measure_bench(bench))
    assert matrix.judges == ("kind", "odd", "strict"), "the highest FPR first; accept-all is no judge"
    assert (matrix.left_out, matrix.limit, matrix.most) == (0, 1.0, 12)
    above, below = matrix.cell("kind", "strict"), matrix.cell("strict", "kind")
    assert (above.value, above.row_only, above.column_only) == (1, 12, 0)
    assert (below.value, below.row_only, below.column_only) == (-1, 0, 12)
    assert below.high == -(above.low or 0)
    assert (above.word, above.p) == ("differs", "p = 0.001")
    quiet = matrix.cell("odd", "strict")
    assert (quiet.word, quiet.p) == ("not shown to differ", "p = 0.250")
    assert quiet.detectable.startswith("detectable ")
    assert pairs.together(matrix) == [(9, frozenset({"kind"})), (3, frozenset({"kind", "odd"}))]
    assert pairs.fooled_by_none(matrix) == 0


def test_the_section_on_the_page(lab: Any) -> None:
    bench = three_judges(lab)
    text = section(bench)
    shown = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    assert "100.0 %" in shown
    assert "+100.0 pp" in shown
    assert "not shown to differ" in shown
    assert "one declared family of 3 pairs" in shown
    assert "Against the truth" in shown
    assert "fail, accepts: 12" in shown
    assert "equal" not in shown
    assert "no difference" not in shown
    lab.safe(lab.page(bench.paths.report_html.read_text(encoding="utf-8")))
    kept = json.loads(bench.paths.report_json.read_text(encoding="utf-8"))["comparison"]
    assert kept == json.loads(json.dumps(compare_bench(bench)))


def test_hostile_names_are_text(lab: Any) -> None:
    names = ("<b>x</b>", "{{ 7 * 7 }}\u202e", "\"'><script>alert(1)</script>")
    bench = three_judges(lab, names=names)
    text = section(bench)
    assert "<script>" not in text
    assert "<b>x" not in text
    assert "49" not in text
    lab.safe(lab.page(bench.paths.report_html.read_text(encoding="utf-8")))


def test_one_judge_is_no_pair_and_says_so(lab: Any) -> None:
    text = section(lab.four())
    assert "null: no condition has two judges to compare" in text


def test_no_failures_say_so(lab: Any) -> None:
    bench = lab.bench([lab.made(f"p{t}") for t in range(3)])
    assert "null: no stratum has a failed episode" in section(bench)


def test_under_ten_episodes_there_is_no_difference_shown(lab: Any) -> None:
    text = section(three_judges(lab, tasks=7))
    assert "n = 7: n &lt; 10, no rate" in text
    assert "differs</span>" not in text


def test_many_judges_are_cut_with_a_count(lab: Any) -> None:
    bench = three_judges(lab)
    for number in range(9):
        accepted = {f"f{t}": YES if t < number else NO for t in range(12)}
        lab.judge(bench, f"extra-{number}", accepted)
    (matrix,) = pairs.matrices(compare_bench(bench), measure_bench(bench))
    assert (len(matrix.judges), matrix.left_out) == (pairs.MAX_JUDGES, 12 - pairs.MAX_JUDGES)
    assert "6 judges with a lower FPR not drawn" in section(bench)


@pytest.mark.parametrize("value", [-0.7, 0.0, 0.7])
def test_the_axis_of_a_difference_has_its_zero_in_the_middle(lab: Any, value: float) -> None:
    bench = three_judges(lab)
    (matrix,) = pairs.matrices(compare_bench(bench), measure_bench(bench))
    found = matrix.cell("kind", "strict")
    moved = pairs.Apart("a", "b", found.pair, value, value, value, 0, 0)
    drawn = pairs.spread(moved, 1.0)
    assert f'cx="{50 + 50 * value:g}%"' in drawn
