"""The small graphics: positions, arrows, and nothing that a label could break out of."""

from __future__ import annotations

import pytest

from pyrite.report.plots import Axis, axis_for, forest_row, grid_row, outcome_bar, rate_row, unlabelled


def estimate(
    value: float | None, low: float | None = None, high: float | None = None, n: int = 100
) -> dict[str, object]:
    return {"value": value, "low": low, "high": high, "n": n}


def test_a_row_of_a_forest_to_the_character() -> None:
    row = forest_row(estimate(0.1, 0.05, 0.2), Axis(0.5), mark="judge", hollow=False, look=True, title="a")
    grid = (
        str(grid_row(Axis(0.5))).removeprefix('<svg class="plot" aria-hidden="true">').removesuffix("</svg>")
    )
    assert row == (
        '<svg class="plot judge look" role="img"><title>a</title>'
        + grid
        + '<line class="range" x1="10%" x2="40%" '
        'y1="50%" y2="50%"></line><circle class="mark" cx="20%" cy="50%" r="4"></circle></svg>'
    )


def test_a_shortcut_is_a_square_and_a_few_episodes_are_a_tick() -> None:
    shortcut = forest_row(
        estimate(0.1, 0.0, 0.2), Axis(0.5), mark="shortcut", hollow=True, look=False, title=""
    )
    assert "<circle" not in shortcut
    assert '<rect class="mark"' in shortcut
    few = forest_row(estimate(0.1, 0.0, 0.2, n=9), Axis(0.5), mark="judge", hollow=True, look=False, title="")
    assert 'class="few"' in few
    assert 'class="range"' not in few
    assert 'class="mark"' not in few
    out = forest_row(estimate(1.0, 0.6, 1.0, n=2), Axis(0.8), mark="judge", hollow=True, look=False, title="")
    assert 'class="beyond"' in out
    assert 'class="few"' not in out
    assert 'class="range"' not in out


def test_beyond_the_axis_there_is_an_arrow() -> None:
    axis = Axis(0.5)
    out = forest_row(estimate(1.0, 0.9, 1.0), axis, mark="judge", hollow=False, look=False, title="")
    assert 'class="beyond"' in out
    assert 'class="mark"' not in out
    assert 'class="range"' not in out
    partly = forest_row(estimate(0.4, 0.2, 0.7), axis, mark="judge", hollow=False, look=False, title="")
    assert 'class="beyond"' in partly
    assert 'class="mark"' in partly
    inside = forest_row(estimate(0.4, 0.2, 0.5), axis, mark="judge", hollow=False, look=False, title="")
    assert 'class="beyond"' not in inside


def test_no_value_is_no_mark() -> None:
    row = forest_row(estimate(None), Axis(0.5), mark="judge", hollow=False, look=False, title="null")
    assert 'class="mark"' not in row


@pytest.mark.parametrize(
    ("ends", "limit"), [([], 0.1), ([0.05], 0.1), ([0.31, 0.1], 0.4), ([0.93], 1.0), ([0.8], 0.8)]
)
def test_the_axis_is_as_long_as_it_must_be(ends: list[float], limit: float) -> None:
    found = [estimate(0.01, 0.0, end) for end in ends]
    always = estimate(1.0, 0.9, 1.0)
    assert axis_for([*found, always, estimate(None)], target=0.05).limit == limit


def test_ticks_are_round() -> None:
    assert [round(100 * tick) for tick in Axis(0.5).ticks] == [0, 10, 20, 30, 40, 50]
    assert [round(100 * tick) for tick in Axis(1.0).ticks] == [0, 20, 40, 60, 80, 100]


def test_the_bar_adds_up_and_small_parts_are_named_below() -> None:
    bar = outcome_bar(60, 30, 10, title="t")
    assert '<rect class="pass" x="0%" width="60%"' in bar
    assert '<rect class="fail" x="60%" width="30%"' in bar
    assert '<rect class="hatched" x="90%" width="10%"' in bar
    assert "pass 60" in bar
    assert "indeterminate 10" not in bar
    assert unlabelled(60, 30, 10) == ["indeterminate 10"]
    assert unlabelled(0, 0, 0) == ["pass 0", "fail 0", "indeterminate 0"]


def test_an_empty_bar_and_an_empty_rate_are_drawn_empty() -> None:
    assert 'class="empty"' in outcome_bar(0, 0, 0, title="nothing")
    nothing = {"rate": None, "low": None, "high": None, "bounds": None, "scored": 0}
    assert 'class="mark"' not in rate_row(nothing, Axis(1.0), title="null")


def test_the_bounds_are_hatched_only_where_they_differ() -> None:
    truth = {"rate": 0.5, "low": 0.3, "high": 0.7, "bounds": [0.4, 0.6], "scored": 20}
    assert 'class="hatched" x="40%" width="20%"' in rate_row(truth, Axis(1.0), title="")
    assert "hatched" not in rate_row({**truth, "bounds": [0.5, 0.5]}, Axis(1.0), title="")


def test_a_title_cannot_leave_its_element() -> None:
    row = outcome_bar(1, 0, 0, title="</title></svg><script>alert(1)</script>\u202e")
    assert "<script" not in row
    assert "\u202e" not in row
