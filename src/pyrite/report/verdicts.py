"""What judges said, beside the truth: the glyph and the word of one verdict, and its reason."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyrite.measure.bench import votes_of_episode
from pyrite.measure.finding import FIRST_CONDITION, is_shortcut
from pyrite.measure.table import FAILURE, INDETERMINATE, PARSE_ERROR, PASS, SUCCESS, UNCERTAIN
from pyrite.records import VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines

_WORDS = {SUCCESS: "success", FAILURE: "failure", UNCERTAIN: "uncertain", PARSE_ERROR: "parse error"}


@dataclass(frozen=True)
class Said:
    """What one judge said of one episode."""

    glyph: str
    """false-accept, correct-reject, correct-accept, false-reject, undecided or missing."""
    word: str


@dataclass(frozen=True)
class Spoken:
    """One row of a page of one episode: a judge in a condition."""

    judge: str
    condition: str
    shortcut: bool
    said: Said
    runs: int
    confidence: float | None
    """Of the first run, in the verdict that it gave; None where the judge states none."""
    reason: str


def said(verdict: int, truth: int) -> Said:
    """A verdict and a truth, in the codes of `measure.table`, as what a reader sees."""
    if verdict not in _WORDS:
        return Said("missing", "null: no verdict")
    word = _WORDS[verdict]
    if verdict in (UNCERTAIN, PARSE_ERROR) or truth == INDETERMINATE:
        return Said("undecided", word)
    right = (verdict == SUCCESS) == (truth == PASS)
    return Said(f"{'correct' if right else 'false'}-{'accept' if verdict == SUCCESS else 'reject'}", word)


def first_lines(
    bench: Bench, judge: str, condition: str, episode_ids: Collection[str]
) -> dict[str, VerdictLine]:
    """The verdict line of a judge's first run on each of these episodes."""
    path = bench.paths.verdict_file(judge, condition)
    if not path.is_file():
        return {}
    return {
        line.episode_id: line
        for line in read_lines(path, VerdictLine)
        if line.run == 1
        and line.episode_id in episode_ids
        and (line.judge, line.condition) == (judge, condition)
    }


def of_episode(bench: Bench, episode_id: str, truth: int) -> list[Spoken]:
    """What every judge said of one episode: judges before shortcuts, E1-final first.

    Raises `InputError` for verdict files that contradict themselves.
    """
    found = []
    for judge, condition, verdict, runs in votes_of_episode(bench, episode_id):
        line = first_lines(bench, judge, condition, {episode_id}).get(episode_id)
        found.append(
            Spoken(
                judge=judge,
                condition=condition,
                shortcut=is_shortcut(judge),
                said=said(verdict, truth),
                runs=runs,
                confidence=line.confidence if line else None,
                reason=line.reason if line else "",
            )
        )
    return sorted(
        found, key=lambda one: (one.shortcut, one.judge, one.condition != FIRST_CONDITION, one.condition)
    )
