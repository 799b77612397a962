"""How many calls a package takes: the published count, and what will be sent."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.judges.universal.frames import frames
from pyrite.judges.universal.options import Settings
from pyrite.judges.universal.records import Rubric
from pyrite.records import Evidence


@dataclass(frozen=True)
class Row:
    """Calls of one step: as published at one vote, and as they will be sent, fewest and most."""

    step: str
    published: str
    fewest: int
    most: int | None
    """None where it depends on a rubric that is not written yet."""


def rows(evidence: Evidence, settings: Settings, rubric: Rubric | None) -> list[Row]:
    """A row a step. What is in the cache already is sent to nobody; see the dry run's other lines."""
    shown, missing = frames(evidence, settings)
    if any(one.decisive for one in missing):
        return [Row("all: a screen is missing, so nothing is asked", "", 0, 0)]
    distinct = len({one.first for one in shown})
    n = None if rubric is None else len(rubric.criteria)
    selected = distinct if n is None else min(distinct, settings.k * n)
    conditional = (0, 1) if rubric is None else (int(len(rubric.conditional) >= 2),) * 2
    votes = settings.votes
    written = 0 if rubric is not None else 1
    own = [
        Row("rubric", "1", written, written),
        Row("dependencies", "1", written, written),
        Row("actions alone", "1", 1, 1),
        Row("relevance", "M", distinct, distinct),
        Row("evidence", "S <= K x N", min(1, selected), selected),
        Row("conditions", "0 or 1", *conditional),
        Row("reality", "1", 1, 1),
        Row("rescoring", "1 a vote", votes, votes),
        Row("side effects", "1 a vote", votes, votes),
        Row("outcome", "1 a vote", votes, votes),
    ]
    if settings.diagnosis:
        own.append(Row("failures, task (2)", "not counted", 3, 3))
    return own


def bounds(evidence: Evidence, settings: Settings, rubric: Rubric | None) -> tuple[int, int]:
    """Fewest and most calls of one package."""
    listed = rows(evidence, settings, rubric)
    return sum(one.fewest for one in listed), sum(one.most or 0 for one in listed)
