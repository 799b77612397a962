"""How many calls packages take: the published count, and what will be sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyrite.judges.universal import rounds
from pyrite.judges.universal.evidence import MOST_PAIRS
from pyrite.judges.universal.frames import OUT_OF_ROOM, frames
from pyrite.judges.universal.options import Settings
from pyrite.judges.universal.records import Rubric
from pyrite.judges.universal.rubric import MOST_CRITERIA, ROUNDS
from pyrite.records import Evidence

OF_A_TASK = ("rubric", "dependencies", "task alone")
"""Steps that all agents and runs of a task share."""
VOTED = ("rescoring", "side effects", "outcome")
Given = Callable[[Evidence], Rubric | None]


@dataclass(frozen=True)
class Row:
    """Calls of one step about one package."""

    step: str
    formula: str
    """As published, for one vote."""
    published: int | None
    """The same as a number; None where it depends on a rubric that is not written yet."""
    fewest: int
    most: int
    bound: int
    """The most when answers cannot be used and are asked for again."""


def rows(evidence: Evidence, settings: Settings, rubric: Rubric | None) -> list[Row]:
    """A row a step, when every answer can be used at once; and the bound when none can."""
    shown, missing = frames(evidence, settings)
    if not shown or any(one.decisive for one in missing):
        return []
    screens = max(len(evidence.actions), 1)
    distinct = len({one.first for one in shown})
    n = None if rubric is None else len(rubric.criteria)
    most_looked = _looked(len(shown), distinct, None if n is None else settings.k * n)
    looked = None if n is None else min(screens, settings.k * n)
    fewest, most = (0, 1) if rubric is None else (int(len(rubric.conditional) >= 2),) * 2
    written, votes, times = int(rubric is None), settings.votes, settings.attempts
    anew, shown_all = written * ROUNDS * times, _evidence(len(shown), distinct, n, settings)
    listed = [
        Row("rubric", "1", 1, written, written, anew),
        Row("dependencies", "1", 1, written, written, anew),
        Row("actions alone", "1", 1, 1, 1, times),
        Row("relevance", "M", screens, distinct, distinct, rounds.most(distinct, times)),
        Row("evidence", "S <= K x N", looked, min(1, most_looked), most_looked, shown_all),
        Row("conditions", "0 or 1", 1, fewest, most, most * times),
        Row("reality", "1", 1, 1, 1, times),
        *(Row(step, "1", 1, votes, votes, votes * times) for step in VOTED),
    ]
    if settings.diagnosis:
        for step in ("failures", "task with record", "task alone"):
            listed.append(Row(step, "not counted", 0, 1, 1, times))
    return listed


def _looked(shown: int, distinct: int, pairs: int | None) -> int:
    """The most calls for notes on screens: a picture at many places takes more than one."""
    if pairs is None:
        return shown
    return min(shown, pairs, distinct + (2 * pairs // MOST_PAIRS if distinct < shown else 0))


def _evidence(shown: int, distinct: int, criteria: int | None, settings: Settings) -> int:
    """With screens of unknown relevance, which are looked at for all criteria, and with single notes."""
    n = MOST_CRITERIA if criteria is None else criteria
    places = min(shown, settings.k * n + settings.k)
    alone = min(places * n, rounds.MOST_ALONE) if n > 1 or distinct < shown else 0
    calls = min(places, _looked(shown, distinct, 2 * settings.k * n))
    return rounds.most(calls, settings.attempts) + alone


def bounds(evidence: Evidence, settings: Settings, rubric: Rubric | None) -> tuple[int, int]:
    """Fewest and most calls of one package that is asked about alone."""
    listed = rows(evidence, settings, rubric)
    return sum(one.fewest for one in listed), sum(one.most for one in listed)


def totals(packages: Sequence[tuple[Evidence, int]], settings: Settings, given: Given) -> list[Row]:
    """The calls of all packages and runs, step by step; what a task shares is counted once a task."""
    found: dict[str, Row] = {}
    known: set[tuple[str, str, int]] = set()
    for evidence, run in packages:
        for one in rows(evidence, settings, given(evidence)):
            times = 1
            if one.step in OF_A_TASK:
                drawing = run if one.step != "task alone" and not settings.shared_rubric else 0
                key = (one.step, evidence.instruction, drawing)
                times = int(key not in known)
                known.add(key)
            found[one.step] = _added(found.get(one.step), one, times)
    return list(found.values())


def text(packages: Sequence[tuple[Evidence, int]], settings: Settings, given: Given) -> list[str]:
    """The table of calls, and which verdicts are known to have no outcome before anything is asked."""
    listed, certain = totals(packages, settings, given), _certain(packages, settings)
    if not listed:
        return certain
    lines = [f"{'step':<18} {'published':<12} {'calls':>8} {'will be sent':>16}"]
    lines += [_line(one) for one in listed]
    published = [one.published for one in listed]
    whole = Row(
        "all",
        "M + S + 8",
        None if None in published else sum(one or 0 for one in published),
        sum(one.fewest for one in listed),
        sum(one.most for one in listed),
        sum(one.bound for one in listed),
    )
    again = f"an answer that cannot be used is asked for again, up to {settings.attempts} times in all"
    return [
        *certain,
        *lines,
        _line(whole),
        f"{again}, a screen's evidence then",
        f"one criterion at a time as well: at most {whole.bound:,} calls with retries",
    ]


def _certain(packages: Sequence[tuple[Evidence, int]], settings: Settings) -> list[str]:
    """Why verdicts will be null without a call, and how many."""
    found: Counter[str] = Counter()
    for evidence, _ in packages:
        shown, missing = frames(evidence, settings)
        why = [one.what for one in missing if one.decisive] if shown else ["no screen"]
        if why:
            room = why[0].startswith(OUT_OF_ROOM)
            files = evidence.screen_files is not None and not any(one.startswith("no screen") for one in why)
            told = f"{OUT_OF_ROOM} (E3-whole leaves nothing out)" if room else "a screen is missing"
            found["files of screens that fit no action" if files and not room else told] += 1
    return [f"no outcome, and no call: {n:,} of {len(packages):,}: {why}" for why, n in found.items()]


def _added(before: Row | None, one: Row, times: int) -> Row:
    fewest, most, bound = times * one.fewest, times * one.most, times * one.bound
    if before is None:
        return Row(one.step, one.formula, one.published, fewest, most, bound)
    unknown = before.published is None or one.published is None
    published = None if unknown else (before.published or 0) + (one.published or 0)
    added = (before.fewest + fewest, before.most + most, before.bound + bound)
    return Row(one.step, one.formula, published, *added)


def _line(one: Row) -> str:
    sent = f"{one.fewest:,}" if one.fewest == one.most else f"{one.fewest:,} to {one.most:,}"
    published = "-" if one.published is None else f"{one.published:,}"
    return f"{one.step:<18} {one.formula:<12} {published:>8} {sent:>16}"
