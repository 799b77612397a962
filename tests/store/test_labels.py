"""Labels: appended, validated, counted by annotator; ties decide nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

if TYPE_CHECKING:
    from tests.conftest import Episodes

from pyrite.errors import InputError, UsageError
from pyrite.records import Category, Label, Truth
from pyrite.store import labels
from pyrite.store.bench import Bench
from pyrite.store.jsonl import append_lines, write_record


def fail(episode_id: str = "ep_1", category: str | None = None) -> Truth:
    return Truth.model_validate(
        {"episode_id": episode_id, "outcome": "fail", "pass": False, "category": category}
    )


@pytest.fixture
def episode(episodes: Episodes) -> Path:
    episodes.add("ep_1", [{"action": "done"}])
    paths = episodes.bench.paths.episode("ep_1")
    write_record(paths.truth, fail())
    return paths.root


def bench_of(episode: Path) -> Bench:
    return Bench(episode.parent.parent)


def say(
    episode: Path, who: str, category: str | None, outcome: str | None = None, **more: Any
) -> dict[str, Any]:
    return labels.label(episode, category=category, outcome=outcome, annotator=who, **more)


def test_a_label_is_one_appended_line_and_gt_json_stays_as_it_is(episode: Path) -> None:
    before = (episode / "gt.json").read_bytes()
    said = say(episode, "ana", "F-PARTIAL", comment="half of it\nis there")
    assert (said["category"], said["category_source"], said["outcome"]) == ("F-PARTIAL", "person", "fail")
    first = bench_of(episode).paths.labels.read_bytes()
    say(episode, "ben", None, "fail")
    assert bench_of(episode).paths.labels.read_bytes().startswith(first)
    assert [one.annotator for one in labels.lines(bench_of(episode))] == ["ana", "ben"]
    assert (episode / "gt.json").read_bytes() == before


def test_the_most_named_code_wins_and_a_tie_decides_nothing(episode: Path) -> None:
    say(episode, "ana", "F-PARTIAL")
    said = say(episode, "ben", "F-CLAIM")
    assert (said["category"], said["conflicting"]) == (None, ["F-CLAIM", "F-PARTIAL"])
    assert say(episode, "eva", "F-CLAIM")["category"] == "F-CLAIM"


def test_the_last_line_of_an_annotator_counts(episode: Path) -> None:
    say(episode, "ana", "F-PARTIAL")
    say(episode, "ana", "F-CLAIM")
    assert say(episode, "ana", None, "fail")["category"] == "F-CLAIM", "that it failed takes no code back"
    assert say(episode, "ana", None, "pass")["category"] is None, "that it passed does"


def test_an_adjudication_outweighs_and_practice_never_counts(episode: Path) -> None:
    say(episode, "ana", "F-PARTIAL")
    say(episode, "ben", "F-PARTIAL", stage="informed")
    assert say(episode, "eva", "F-ABORT", stage="practice")["category"] == "F-PARTIAL"
    assert say(episode, "eva", "F-CLAIM", stage="adjudication")["category"] == "F-CLAIM"
    assert say(episode, "joe", "F-PARTIAL")["category"] == "F-CLAIM"


def test_only_a_fail_without_a_category_of_its_own_gets_one(episode: Path) -> None:
    people = labels.People({"ep_1": Category.CLAIM})
    assert people.joined(fail()).category == "F-CLAIM"
    assert people.joined(fail(category="F-ABORT")).category == "F-ABORT"
    assert people.joined(fail("ep_2")).category is None
    for outcome, passed in (("pass", True), ("indeterminate", None)):
        other = Truth.model_validate({"episode_id": "ep_1", "outcome": outcome, "pass": passed})
        assert people.joined(other) is other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"category": "F-NONSENSE"}, "--category 'F-NONSENSE'"),
        ({"outcome": "failed"}, "--outcome 'failed'"),
        ({"category": "F-CLAIM", "stage": "later"}, "--stage 'later'"),
        ({}, "says nothing"),
        ({"category": "F-CLAIM", "outcome": "pass"}, "with --outcome pass"),
        ({"category": "F-CLAIM", "annotator": "  "}, "--annotator"),
        ({"category": "F-CLAIM", "annotator": "x" * 201}, "--annotator"),
    ],
)
def test_what_is_not_accepted_writes_nothing(episode: Path, arguments: dict[str, Any], message: str) -> None:
    given = {"category": None, "outcome": None, "annotator": "ana", **arguments}
    with pytest.raises(UsageError, match=message) as caught:
        labels.label(episode, **given)
    assert caught.value.expected
    assert not bench_of(episode).paths.labels.exists()


def test_a_path_that_is_no_episode_of_a_bench_is_refused(episode: Path, tmp_path: Path) -> None:
    unfinished = episode.parent / "ep_9"
    unfinished.mkdir()
    link = episode.parent / "ep_8"
    link.symlink_to(episode)
    for path in (tmp_path / "none", bench_of(episode).root, unfinished, link, episode / "screens"):
        with pytest.raises(UsageError) as caught:
            say(path, "ana", "F-CLAIM")
        assert "episodes/<episode_id>" in caught.value.expected
    with pytest.raises(UsageError):
        say(episode / ".." / "ep_9" / ".." / "..", "ana", "F-CLAIM")


def test_a_path_may_be_relative(episode: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(episode.parent)
    assert labels.locate(Path("ep_1"))[1] == "ep_1"
    monkeypatch.chdir(episode)
    bench, found = labels.locate(Path())
    assert (bench.root, found) == (episode.parent.parent, "ep_1")
    assert labels.locate(Path("../../episodes/ep_1"))[0].root == episode.parent.parent


def test_a_line_that_is_no_label_is_named_and_blocks_appending(episode: Path) -> None:
    path = bench_of(episode).paths.labels
    path.write_text('{"episode_id": "ep_1", "annotator": "x", "category": "F-WRONG"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="category") as caught:
        say(episode, "ana", "F-CLAIM")
    assert caught.value.where == f"{path}:1"
    assert path.read_text(encoding="utf-8").count("\n") == 1


def test_a_torn_last_line_is_cut_off(episode: Path) -> None:
    say(episode, "ana", "F-CLAIM")
    path = bench_of(episode).paths.labels
    path.write_bytes(path.read_bytes() + b'{"episode_id": "ep_1", "annot')
    assert say(episode, "ben", "F-CLAIM")["category"] == "F-CLAIM"
    assert [one.annotator for one in labels.lines(bench_of(episode))] == ["ana", "ben"]


def test_the_record_keeps_what_others_add_and_refuses_what_contradicts() -> None:
    kept = Label.model_validate_json('{"episode_id": "e", "annotator": " ana ", "rubric": 2}')
    assert (kept.annotator, kept.model_dump()["rubric"]) == ("ana", 2)
    assert (kept.outcome, kept.category, kept.process_score) == (None, None, None)
    with pytest.raises(ValidationError, match="only a fail"):
        Label(episode_id="e", annotator="a", outcome="pass", category="F-CLAIM")


VOTES = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from([None, *Category])), min_size=0, max_size=12
)


@given(votes=VOTES)
def test_what_counts_is_what_a_count_by_hand_says(
    votes: list[tuple[str, Category | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    bench = Bench.create(tmp_path_factory.mktemp("votes"))
    append_lines(
        bench.paths.labels,
        [
            Label(episode_id="e", annotator=who, category=code, outcome=None if code else "indeterminate")
            for who, code in votes
        ],
    )
    last = [code for code in dict(votes).values() if code is not None]
    most = {code for code in last if last.count(code) == max(map(last.count, last))}
    people = labels.read(bench)
    assert people.categories.get("e") == (next(iter(most)) if len(most) == 1 else None)
    assert set(people.tied.get("e", ())) == (most if len(most) > 1 else set())
