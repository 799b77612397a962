"""Steps 3 and the sums: grouping, pruning, scores, votes; against the rules as they are written down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.judges.universal.records import Criterion, Penalty, Rubric
from pyrite.judges.universal.relevance import grouped, pruned
from pyrite.judges.universal.rubric import quoted
from pyrite.judges.universal.scoring import majority, median, score

MATRICES = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 10), min_size=n, max_size=n), min_size=1, max_size=30)
)


@given(MATRICES, st.integers(1, 8))
def test_the_k_best_and_of_equals_the_later(rows: list[list[int]], k: int) -> None:
    matrix = dict(enumerate(rows))
    for index, group in enumerate(grouped(matrix, len(rows[0]), k)):
        assert len(group) == min(k, len(rows))
        keys = [(matrix[number][index], number) for number in group]
        assert keys == sorted(keys, reverse=True)
        left = set(matrix) - set(group)
        assert all((matrix[number][index], number) < keys[-1] for number in left)


@given(MATRICES, st.integers(1, 8))
def test_released_pruning_in_effect(rows: list[list[int]], k: int) -> None:
    """Everything below 5 goes where something is 6 or more; but a 4 stays where the weakest high is a 6."""
    matrix = dict(enumerate(rows))
    groups = grouped(matrix, len(rows[0]), k)
    for index, (before, after) in enumerate(zip(groups, pruned(matrix, groups, "released"), strict=True)):
        assert after
        high = [matrix[n][index] for n in before if matrix[n][index] >= 6]
        kept = [
            n for n in before if not high or matrix[n][index] >= 5 or (matrix[n][index], min(high)) == (4, 6)
        ]
        assert after == kept


@given(MATRICES, st.integers(1, 8))
def test_pruning_of_the_paper(rows: list[list[int]], k: int) -> None:
    matrix = dict(enumerate(rows))
    groups = grouped(matrix, len(rows[0]), k)
    for index, (before, after) in enumerate(zip(groups, pruned(matrix, groups, "paper"), strict=True)):
        assert after
        for number in set(before) - set(after):
            assert matrix[number][index] < 5
            assert any(other > number and matrix[other][index] > 7 for other in before)


def test_the_two_rules_differ() -> None:
    matrix = {0: [4], 1: [6], 2: [3]}
    assert pruned(matrix, [[1, 0, 2]], "released") == [[1, 0]]
    assert pruned(matrix, [[1, 0, 2]], "paper") == [[1, 0, 2]]
    matrix = {0: [4], 1: [9], 2: [4]}
    assert pruned(matrix, [[1, 2, 0]], "released") == [[1]]
    assert pruned(matrix, [[1, 2, 0]], "paper") == [[1, 2]]


def rubric(*most: float) -> Rubric:
    return Rubric(tuple(Criterion(f"c{i}", "d", one) for i, one in enumerate(most)))


@given(
    st.lists(st.tuples(st.floats(0.5, 9), st.floats(0, 1), st.sampled_from([True, False, None])), min_size=1)
)
def test_a_score_is_known_or_bounded_and_never_a_zero_for_what_is_not_known(
    rows: list[tuple[float, float, bool | None]],
) -> None:
    most = [one for one, _, _ in rows]
    met = [one for _, _, one in rows]
    points: list[float | None] = [share * one for one, share, _ in rows]
    found = score(rubric(*most), points, met)
    if all(one is False for one in met):
        assert found.value is None
        assert found.high is None
    elif None in met:
        assert found.value is None
        assert found.low is not None
        assert found.high is not None
        assert 0 <= found.low <= found.high <= 1 + 1e-9
    else:
        chosen = [i for i, one in enumerate(met) if one]
        expected = sum(points[i] or 0.0 for i in chosen) / sum(most[i] for i in chosen)
        assert found.value == pytest.approx(expected)
        assert found.low == found.high == found.value


def test_penalties_enlarge_what_was_possible_and_unknown_ones_leave_no_score() -> None:
    penalty = Penalty("Penalise it", "d", 2.0, "w")
    assert score(rubric(4, 4), [4, 4], [True, True], [penalty]).value == 0.8
    found = score(rubric(4, 4), [4, 4], [True, True], None)
    assert (found.value, found.low, found.high) == (None, None, 1.0)


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=9).filter(lambda v: len(v) % 2))
def test_a_majority_is_one_whatever_the_missing_votes_say(votes: list[bool | None]) -> None:
    found = majority(votes)
    completions = {sum((vote is True) + (vote is None and other) for vote in votes) for other in (0, 1)}
    decided = {2 * yes > len(votes) for yes in completions}
    assert found == (decided.pop() if len(decided) == 1 else None)


@given(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=9).filter(lambda v: len(v) % 2))
def test_the_median_instance(scores: list[float | None]) -> None:
    found = median(scores)
    known = [one for one in scores if one is not None]
    if len(known) < len(scores) // 2 + 1:
        assert found is None
    else:
        assert found is not None
        assert scores[found] == sorted(known)[len(known) // 2]


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_quote_of_the_task_is_found_however_it_is_set(before: str, after: str) -> None:
    task = f"{before} Find a Blue Kettle, under 40 dollars {after}"
    assert quoted("find a blue   kettle UNDER 40 dollars.", task)
    assert quoted("Find a blue … 40 dollars", task)


@pytest.mark.parametrize(
    "quote", ["", "…", "...", "a", "A … a", "blue kettle find", "a red kettle", "kettles"]
)
def test_what_is_not_in_the_task_is_no_quote(quote: str) -> None:
    assert not quoted(quote, "Find a blue kettle under 40 dollars")


@pytest.mark.parametrize(
    ("quote", "task"),
    [
        ("PDF", "Save the page as a PDF."),
        ("$5", "Find a pen under $5."),
        ("7", "Set the volume to 7"),
        ("blue", "Find a blue kettle"),
        ("价格低于四十元", "找一个蓝色的水壶，价格低于四十元，放入购物车。"),
        ("蓝色的水壶", "找一个蓝色的水壶，放入购物车。"),
        ("青いケトル", "40ドル以下の青いケトルを探してください。"),
        ("파란 주전자", "파란 주전자를 찾아 장바구니에 넣으세요."),
        ("กาต้มน้ำสีฟ้า", "หากาต้มน้ำสีฟ้าราคาไม่เกินสี่สิบดอลลาร์"),
        ("Go", "Go"),
    ],
)
def test_short_words_and_scripts_without_blanks_can_be_quoted(quote: str, task: str) -> None:
    assert quoted(quote, task)


@pytest.mark.parametrize("quote", ["红色的水壶", "的", "水壶蓝色"])
def test_a_phantom_is_one_in_every_script(quote: str) -> None:
    assert not quoted(quote, "找一个蓝色的水壶，放入购物车。")
