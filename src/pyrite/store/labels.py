"""labels.jsonl: what people say of episodes. Lines are appended and never changed.

gt.json is written once, by verify. A category that people give to a failure that has none there is
joined when figures are made: `read(bench).joined(truth)`. The last line of an annotator counts, an
adjudication outweighs everything else, practice never counts, and a tie decides nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pyrite.errors import UsageError
from pyrite.records import Category, Label, Outcome, Stage, Truth
from pyrite.store.bench import Bench, now
from pyrite.store.jsonl import append_lines, read_lines

_HELP = "pyrite label --help"


@dataclass(frozen=True)
class People:
    """What people say, by episode: the code that most of them name, or the codes of a tie."""

    categories: dict[str, Category] = field(default_factory=dict)
    tied: dict[str, tuple[Category, ...]] = field(default_factory=dict)

    def joined(self, truth: Truth) -> Truth:
        """The truth, with the category of people where it is a fail and has none of its own."""
        category = self.categories.get(truth.episode_id)
        if truth.outcome is not Outcome.FAIL or truth.category is not None or category is None:
            return truth
        return truth.model_copy(update={"category": category, "category_source": "person"})

    def of(self, truths: Iterable[Truth]) -> dict[str, Any]:
        """Which failures, as joined, got their category from people, and which did not for a tie."""
        classified: dict[str, str] = {}
        conflicting: list[str] = []
        for truth in truths:
            if truth.category is not None and truth.category_source == "person":
                classified[truth.episode_id] = truth.category.value
            elif truth.outcome is Outcome.FAIL and truth.category is None and truth.episode_id in self.tied:
                conflicting.append(truth.episode_id)
        return {"classified": classified, "conflicting": conflicting}


def notes(found: dict[str, Any]) -> list[str]:
    """What a reader of figures must know of `People.of`, in sentences."""
    told = []
    if n := len(found["classified"]):
        told.append(f"{_failures(n, 'has its', 'have their')} category from people (labels.jsonl)")
    if n := len(found["conflicting"]):
        told.append(f"{_failures(n, 'stays', 'stay')} unclassified: the labels conflict")
    return told


def _failures(n: int, one: str, more: str) -> str:
    return f"{n:,} failure {one}" if n == 1 else f"{n:,} failures {more}"


def lines(bench: Bench) -> Iterable[Label]:
    """The labels of a bench in the order in which they were given; none where there is no file."""
    path = bench.paths.labels
    return read_lines(path, Label) if path.is_file() else ()


def read(bench: Bench) -> People:
    """What the labels of a bench say of categories; `InputError` for a line that is no label."""
    last: dict[str, dict[tuple[str, bool], Category | None]] = {}
    for label in lines(bench):
        says_no_fail = label.outcome not in {None, Outcome.FAIL}
        if label.stage == "practice" or (label.category is None and not says_no_fail):
            continue
        key = (label.annotator, label.stage == "adjudication")
        last.setdefault(label.episode_id, {})[key] = label.category
    people = People()
    for episode_id, votes in last.items():
        _count(people, episode_id, votes)
    return people


def _count(people: People, episode_id: str, votes: dict[tuple[str, bool], Category | None]) -> None:
    settled = [code for (_, adjudicates), code in votes.items() if adjudicates]
    named = Counter(code for code in settled or votes.values() if code is not None)
    if not named:
        return
    most = max(named.values())
    first, *others = sorted(code for code, n in named.items() if n == most)
    if others:
        people.tied[episode_id] = (first, *others)
    else:
        people.categories[episode_id] = first


def label(
    episode: Path,
    *,
    category: str | None,
    outcome: str | None,
    process_score: float | None = None,
    annotator: str,
    comment: str = "",
    stage: str = "blind",
) -> dict[str, Any]:
    """Append what one person says of an episode, and say what counts for it from now on.

    Raises `UsageError` for a path that is no episode of a bench, for a value that is not one of those
    accepted, and for a label that says nothing.
    """
    for name, value, accepted in (
        ("--category", category, tuple(Category)),
        ("--outcome", outcome, tuple(Outcome)),
        ("--stage", stage, get_args(Stage)),
    ):
        if value is not None and value not in accepted:
            raise UsageError(f"{name} {value[:80]!r}", expected=", ".join(accepted), next=_HELP)
    if process_score is not None and not 0 <= process_score <= 1:
        raise UsageError(f"--process-score {process_score:g}", expected="a share from 0 to 1", next=_HELP)
    if category is None and outcome is None and process_score is None:
        expected = "--category CODE, --outcome OUTCOME or --process-score SHARE"
        raise UsageError("the label says nothing", expected=expected, next=_HELP)
    if category is not None and outcome not in {None, Outcome.FAIL}:
        raise UsageError(
            f"--category {category} with --outcome {outcome}", expected="--outcome fail", next=_HELP
        )
    if not 0 < len(annotator.strip()) <= 200:
        raise UsageError(f"--annotator {annotator[:80]!r}", expected="1 to 200 characters", next=_HELP)
    bench, episode_id = locate(episode)
    given = Label.model_validate(
        {
            "episode_id": episode_id,
            "annotator": annotator,
            "stage": stage,
            "outcome": outcome,
            "category": category,
            "process_score": process_score,
            "comment": comment,
            "at": now(),
        }
    )
    with bench.exclusive():
        read(bench)
        append_lines(bench.paths.labels, [given])
    return {
        "schema_version": "1",
        "file": str(bench.paths.labels),
        "label": given,
        **_counts(bench, episode_id),
    }


def _counts(bench: Bench, episode_id: str) -> dict[str, Any]:
    """What truth and people together say of an episode."""
    people = read(bench)
    own = bench.truth(episode_id)
    joined = None if own is None else people.joined(own)
    return {
        "bench": str(bench.root),
        "outcome": own.outcome if own else None,
        "category": joined.category if joined else None,
        "category_source": joined.category_source if joined else None,
        "conflicting": list(people.tied.get(episode_id, ())),
    }


def locate(episode: Path) -> tuple[Bench, str]:
    """The bench and the id of an episode folder, <bench>/episodes/<id>; `UsageError` for another path."""
    path = Path(os.path.abspath(episode))
    if path.is_symlink() or path.parent.name != "episodes" or not (path / "meta.json").is_file():
        found = "no such folder" if not path.is_dir() else "not the folder of a finished episode"
        raise UsageError(
            found,
            where=str(episode),
            expected="a path <bench>/episodes/<episode_id> with a meta.json",
            next="pyrite list episodes BENCH",
        )
    short = len(episode.parts) > 2 and ".." not in episode.parts
    bench = Bench((episode if short else path).parent.parent)
    bench.meta(path.name)
    return bench, path.name
