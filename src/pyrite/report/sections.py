"""What the page shows of a measurement, section by section, before any layout.

Everything here reads the result of `measure_bench`; nothing is counted anew.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyrite.measure.finding import FIRST_CONDITION, is_shortcut
from pyrite.records import HARD_NEGATIVES, Category
from pyrite.report.numbers import few
from pyrite.report.plots import Axis, axis_for

Result = Mapping[str, Any]

MAX_LISTED = 20
"""Episodes of one judge that are listed on the page; all of them are in report.json."""
TARGET = 0.05
"""The FPR that a judge is held against in the plots."""

STRATA = {
    "natural": "the agent under test",
    "weakened": "an agent with something taken away",
    "perturbed": "recorded episodes, each replayed with one defect",
    "scripted": "scripted agents, not under test",
}
SHOWN = {
    "E1-final": "task text and the last screenshot",
    "E2": "the last four screenshots, their actions",
    "E3-full": "all screenshots and all actions",
    "E3-whole": "all screenshots and all actions, however many",
}
WORDS = {
    "claim": "the agent's final message",
    "swap": "a message that says the opposite",
    "thoughts": "what the agent thought",
}
CATEGORIES = {
    Category.UNCOMMITTED.value: "done on the screen, never saved",
    Category.WRONGTARGET.value: "saved, but in the wrong place",
    Category.PARTIAL.value: "some of it, or the wrong form",
    Category.SIDEEFFECT.value: "done, and something else broken",
    Category.WRONGAPP.value: "in another application or document",
    Category.CLAIM.value: "says done, nothing changed",
    Category.ABORT.value: "gave up, or out of steps",
    "unclassified": "no one category",
}
HARD = tuple(code.value for code in HARD_NEGATIVES)
_NOTES = {"claim": "the message asserts success", "steps": "ended by itself, before the limit"}
_LAST = re.compile(r"E2-last([0-9]+)")


@dataclass(frozen=True)
class Row:
    """One judge in one condition of one stratum."""

    name: str
    note: str
    shortcut: bool
    judge: Mapping[str, Any]

    @property
    def look(self) -> bool:
        """Whether its FPR is clearly above the target."""
        return self.above(self.judge["fpr"])

    def above(self, found: Mapping[str, Any]) -> bool:
        """Whether one of its false-positive rates is clearly above the target; a shortcut stays grey."""
        return not self.shortcut and above_target(found)

    @property
    def failed(self) -> int:
        counts = self.judge["counts"]
        return int(counts["fp"] + counts["tn"])

    @property
    def passed(self) -> int:
        counts = self.judge["counts"]
        return int(counts["tp"] + counts["fn"])


@dataclass(frozen=True)
class Condition:
    """The judges of one condition, those that look at the episode before the shortcuts."""

    name: str
    description: str
    groups: tuple[tuple[str, tuple[Row, ...]], ...]

    @property
    def rows(self) -> Iterator[Row]:
        return (row for _, rows in self.groups for row in rows)


@dataclass(frozen=True)
class Stratum:
    """One stratum: it shares no rate with another."""

    name: str
    description: str
    block: Mapping[str, Any]
    conditions: tuple[Condition, ...]
    axis: Axis
    hard_axis: Axis
    categories: tuple[str, ...]
    """Codes of its failures, hard negatives first."""

    @property
    def hollow(self) -> bool:
        return self.name != "natural"


def above_target(found: Mapping[str, Any], target: float = TARGET) -> bool:
    """Whether even the lower bound of a false-positive rate is above the target: what purple is for.

    Never of so few episodes that no rate is shown.
    """
    return found["low"] is not None and found["low"] > target and not few(found["n"])


def strata(result: Result) -> list[Stratum]:
    """The strata that have episodes, the leading one first."""
    names = sorted(result["strata"], key=lambda name: name != result["lead"])
    return [_stratum(result, name) for name in names]


def false_accepts(stratum: Stratum) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """(judge, [(episode_id, conditions)]) of the failed episodes that judges accept, shortcuts aside.

    Judges in the order of the tables. An episode that is accepted in more conditions comes first, then by id.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for condition in stratum.conditions:
        for row in condition.rows:
            if not row.shortcut:
                for episode_id in row.judge["false_accepts"]:
                    found.setdefault(row.name, {}).setdefault(episode_id, []).append(condition.name)
    return [
        (judge, sorted(episodes.items(), key=lambda item: (-len(item[1]), item[0])))
        for judge, episodes in found.items()
    ]


def view_command(bench: str, episode_id: str) -> str:
    """What to type, in the folder that holds the bench, to see one episode."""
    return shlex.join(["pyrite", "view", f"{bench}/episodes/{episode_id}"])


def describe_condition(name: str) -> str:
    """What a judge sees in a condition; empty for one that is not known."""
    base, *added = name.split("+")
    last = _LAST.fullmatch(base)
    shown = f"the last {last[1]} screenshots, their actions" if last else SHOWN.get(base)
    if shown is None or not set(added) <= set(WORDS):
        return ""
    parts = [*shown.split(", "), *(WORDS[word] for word in added)]
    if len(parts) == 1:
        return shown
    return ", ".join(parts[:-1]) + (", and " if len(parts) > 2 else " and ") + parts[-1]


def judge_names(result: Result) -> list[str]:
    """Every judge that was asked, judges before shortcuts."""
    names = {name for _, _, name, _ in judges(result)}
    return sorted(names, key=lambda name: (is_shortcut(name), name))


def condition_names(result: Result) -> list[str]:
    names = {condition for _, condition, _, _ in judges(result)}
    return sorted(names, key=lambda name: (name != FIRST_CONDITION, name))


def judges(result: Result) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """(stratum, condition, judge, block) of everything that was measured."""
    for stratum, block in result["strata"].items():
        for condition, cell in block["conditions"].items():
            for name, judge in cell["judges"].items():
                yield stratum, condition, name, judge


def methods(result: Result) -> list[str]:
    """The interval methods of all rates, each once."""
    found = {
        judge[figure]["method"]
        for _, _, _, judge in judges(result)
        for figure in ("fpr", "tpr", "fdr", "hard", "other")
    }
    found |= {block["truth"]["method"] for block in result["strata"].values()}
    return sorted(method for method in found if method)


def causes(result: Result) -> list[tuple[str, str, int]]:
    """(cause, blame, how many) of the indeterminate episodes, the most frequent first."""
    found: dict[tuple[str, str], int] = {}
    for one in result["indeterminate"]:
        key = (one["cause"] or "no cause is recorded", one["blame"] or "unknown")
        found[key] = found.get(key, 0) + 1
    return [(*key, n) for key, n in sorted(found.items(), key=lambda item: (-item[1], item[0]))]


def truth_axis(result: Result) -> Axis:
    """One axis for all success rates, long enough for the bounds."""
    ends = []
    for block in result["strata"].values():
        for truth in (block["truth"], *block["by_agent"].values()):
            bound = truth["bounds"][1] if truth["bounds"] else 0.0
            high = truth["high"] if truth["high"] is not None and not few(truth["scored"]) else 0.0
            ends.append(max(bound, high, truth["rate"] or 0.0))
    longest = max(ends, default=0.0)
    return Axis(0.5 if longest <= 0.5 else 1.0)


def _stratum(result: Result, name: str) -> Stratum:
    block = result["strata"][name]
    found = tuple(
        Condition(condition, describe_condition(condition), _groups(cell["judges"]))
        for condition, cell in sorted(
            block["conditions"].items(), key=lambda item: (item[0] != FIRST_CONDITION, item[0])
        )
    )
    rows = [row.judge for condition in found for row in condition.rows]
    order = list(CATEGORIES)
    return Stratum(
        name=name,
        description=STRATA.get(name, ""),
        block=block,
        conditions=found,
        axis=axis_for((row["fpr"] for row in rows), target=TARGET),
        hard_axis=axis_for((row[part] for row in rows for part in ("hard", "other")), target=TARGET),
        categories=tuple(sorted(block["categories"], key=order.index)),
    )


def _groups(cell: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    rows = [
        Row(name=name, note=_NOTES.get(name, ""), shortcut=is_shortcut(name), judge=judge)
        for name, judge in cell.items()
    ]
    split = (
        ("Judges", [row for row in rows if not row.shortcut]),
        ("Shortcut baselines", [row for row in rows if row.shortcut]),
    )
    return tuple((title, tuple(_ranked(part))) for title, part in split if part)


def _ranked(rows: Iterable[Row]) -> list[Row]:
    """The highest FPR first; by name where there is no rate, or too few episodes to rank."""

    def key(row: Row) -> tuple[bool, float, str]:
        value = row.judge["fpr"]["value"]
        unranked = value is None or few(row.judge["fpr"]["n"])
        return unranked, 0.0 if unranked else -value, row.name

    return sorted(rows, key=key)
