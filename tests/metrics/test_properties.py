"""Properties that hold whatever the numbers are: duplicates, new names, perfect judges, uncertain answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyrite.measure.blocks import Settings, judge_block
from pyrite.measure.table import FAIL, FAILURE, PARSE_ERROR, PASS, SUCCESS, UNCERTAIN, Episodes, Factor
from pyrite.measure.vote import Policy
from pyrite.metrics.agreement import coefficient
from pyrite.metrics.clusters import cluster_size, rate
from pyrite.metrics.compare import discordance, sign_flip
from pyrite.metrics.correction import Proportion, ppi_mean, rogan_gladen
from pyrite.metrics.judge import cells, judge_figures

Floats = NDArray[np.float64]
FIGURES = ("fpr", "tpr", "fdr", "precision", "inflation")


@st.composite
def clustered(draw: st.DrawFn, *, least: int = 2) -> tuple[Floats, Floats]:
    """(events, sizes) of some tasks."""
    totals = draw(st.lists(st.integers(1, 6), min_size=least, max_size=14))
    events = [draw(st.integers(0, n)) for n in totals]
    return np.array(events, dtype=np.float64), np.array(totals, dtype=np.float64)


@st.composite
def judged(draw: st.DrawFn) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int32]]:
    """(passed, accepted, task) of some episodes, both outcomes among them."""
    n = draw(st.integers(4, 40))
    rows = st.lists(st.booleans(), min_size=n, max_size=n)
    passed, accepted = np.array(draw(rows)), np.array(draw(rows))
    assume(0 < passed.sum() < n)
    task = np.array(draw(st.lists(st.integers(0, 7), min_size=n, max_size=n)))
    return passed, accepted, np.unique(task, return_inverse=True)[1].astype(np.int32)


def flip_p(first: NDArray[np.bool_], second: NDArray[np.bool_], task: NDArray[np.int32]) -> float:
    found = discordance(first, second, task)
    return sign_flip(found.first - found.second).p


@given(st.lists(st.booleans(), min_size=2, max_size=60))
def test_one_episode_a_task_leaves_one_less(events: list[bool]) -> None:
    f = np.array(events, dtype=np.float64)
    found = cluster_size(f, np.ones(len(f)))
    expected = len(f) if f.sum() in {0, len(f)} else len(f) - 1
    assert found.n_eff == pytest.approx(expected)


@given(clustered())
def test_every_episode_twice_tells_nothing_new(drawn: tuple[Floats, Floats]) -> None:
    f, n = drawn
    once, twice = (rate(k * f, k * n, estimand="rate", empty="none") for k in (1, 2))
    one, two = cluster_size(f, n), cluster_size(2 * f, 2 * n)
    assert once.value == twice.value
    assert two.standard_error == pytest.approx(one.standard_error)
    assert (2 * n).sum() ** 2 / np.square(2 * n).sum() == pytest.approx(n.sum() ** 2 / np.square(n).sum())
    assert once.iid is not None
    assert twice.iid is not None
    assert twice.iid.high - twice.iid.low < once.iid.high - once.iid.low  # and so it must not lead


@given(judged(), st.lists(st.booleans(), min_size=40, max_size=40))
def test_every_episode_twice_leaves_the_sign_flip_p(
    drawn: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int32]], other: list[bool]
) -> None:
    _, first, task = drawn
    second = np.array(other[: len(first)])
    once = flip_p(first, second, task)
    assert once == pytest.approx(flip_p(np.tile(first, 2), np.tile(second, 2), np.tile(task, 2)))


@given(clustered())
def test_every_task_twice_shrinks_the_error_by_a_known_factor(drawn: tuple[Floats, Floats]) -> None:
    f, n = drawn
    one, two = cluster_size(f, n), cluster_size(np.tile(f, 2), np.tile(n, 2))
    k = len(n)
    factor = math.sqrt(2 * (k / (k - 1)) / (2 * k / (2 * k - 1)))
    assert two.standard_error * factor == pytest.approx(one.standard_error, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(judged(), st.randoms(use_true_random=False))
def test_new_names_for_tasks_change_nothing(
    drawn: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int32]], random: object
) -> None:
    passed, accepted, task = drawn
    names = np.arange(int(task.max()) + 1)
    random.shuffle(names)  # type: ignore[attr-defined]
    renamed = names[task].astype(np.int32)
    one, two = (judge_figures(passed, accepted, codes, resamples=50) for codes in (task, renamed))
    for name in FIGURES:
        a, b = one[name], two[name]
        assert (a.value, a.method, a.reason) == (b.value, b.method, b.reason)
        assert [a.low, a.high] == pytest.approx([b.low, b.high])
    assert flip_p(passed, accepted, task) == pytest.approx(flip_p(passed, accepted, renamed))


@settings(deadline=None)
@given(st.lists(st.sampled_from([FAILURE, SUCCESS, UNCERTAIN, PARSE_ERROR]), min_size=1, max_size=40))
def test_uncertain_as_failure_is_lowest_and_as_success_highest(said: list[int]) -> None:
    assume(UNCERTAIN in said)
    assume(set(said) != {UNCERTAIN})
    verdict = np.array(said, dtype=np.int8)
    episodes = Episodes(
        truth=np.full(len(said), FAIL, dtype=np.int8),
        cluster=Factor.of([f"t{k // 2}" for k in range(len(said))]),
    )
    rows = np.ones(len(said), dtype=np.bool_)
    policies: tuple[Policy, ...] = ("failure", "drop", "success")
    found = {
        policy: judge_block(episodes, rows, verdict, Settings(resamples=100, uncertain=policy))
        for policy in policies
    }
    low, drop, high = (found[policy]["fpr"]["value"] for policy in ("failure", "drop", "success"))
    assert low <= drop <= high
    envelope = found["drop"]["envelope"]
    assert [envelope[end] for end in ("low", "drop", "high")] == pytest.approx([low, drop, high])
    assert PASS not in episodes.truth


@settings(deadline=None, max_examples=30)
@given(judged())
def test_a_perfect_judge_agrees_in_every_coefficient(
    drawn: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int32]],
) -> None:
    passed, _, task = drawn
    found = cells(passed, passed, task)
    table = (found.tp, found.fp, found.fn, found.tn)
    for name in ("kappa", "ac1", "alpha", "mcc"):
        value = coefficient(name, *table, unit="task", level=0.95, resamples=50, seed=0).value
        assert value == pytest.approx(1, abs=1e-12), name


@settings(deadline=None, max_examples=30)
@given(judged(), st.lists(st.booleans(), min_size=2, max_size=60))
def test_a_perfect_judge_needs_no_correction(
    drawn: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int32]], unseen: list[bool]
) -> None:
    passed, _, _ = drawn
    judged_rate = Proportion(float(np.mean(unseen)), len(unseen))
    perfect = (Proportion(1.0, int(passed.sum())), Proportion(1.0, int((~passed).sum())))
    assert rogan_gladen(judged_rate, *perfect).estimate.value == pytest.approx(judged_rate.value)


@settings(deadline=None, max_examples=30)
@given(judged(), st.lists(st.booleans(), min_size=4, max_size=60))
def test_ppi_is_the_gold_mean_at_weight_0_and_the_judges_mean_of_a_perfect_judge_at_weight_1(
    drawn: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int32]], unseen: list[bool]
) -> None:
    passed, accepted, _ = drawn
    gold, said = passed.astype(np.float64), accepted.astype(np.float64)
    rest = np.array(unseen, dtype=np.float64)
    assert ppi_mean(gold, said, rest, weight=0.0).estimate.value == pytest.approx(gold.mean())
    assert ppi_mean(gold, gold, rest, weight=1.0).estimate.value == pytest.approx(rest.mean())
