"""The matrix of a check, tasks by known states: what the terminal and the page both show.

Everything here reads the document that `pyrite check --json` prints. As declared is pale; anything else is
spelled out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyrite
from pyrite.report import numbers, single
from pyrite.report.page import environment

_NOTHING = {"F-ABORT", "F-CLAIM", "F-UNCOMMITTED"}
_COLUMNS = {
    "F-UNCOMMITTED": "not done",
    "F-WRONGTARGET": "wrong target",
    "F-WRONGAPP": "wrong file",
    "F-PARTIAL": "partial",
    "F-SIDEEFFECT": "side effect",
}
MUST_PASS = ("good", "harmless")
MUST_FAIL = ("initial", *_COLUMNS.values(), "other", "near-miss")
COLUMNS = (*MUST_PASS, *MUST_FAIL)
_SHOULD_NOT = {"pass": "passes", "fail": "fails", "indeterminate": "no answer"}
KIND = "check"
"""What `report.single` knows its pages by."""
MOST_NEAR = 4
"""Near-misses of one task whose fault is spelled out; the others are counted."""


class Cell(NamedTuple):
    """What a column says of one task."""

    states: int
    """States of this kind; 0 where none is declared."""
    wrong: tuple[tuple[str, int], ...]
    """(passes | fails | no answer | other code, how many) of those that are not as declared."""
    must_pass: bool


def column_of(state: Mapping[str, Any]) -> str:
    """The column that a declared state stands in."""
    if state["kind"] in {"good", "harmless", "initial"}:
        return str(state["kind"])
    declared = set(state["expected_category"] or ())
    if declared and declared <= _NOTHING:
        return "not done"
    return next((_COLUMNS[code] for code in _COLUMNS if code in declared), "other")


def cells(task: Mapping[str, Any]) -> dict[str, Cell]:
    """Column -> cell of one task; near-misses are the last."""
    found: dict[str, Cell] = {}
    for column in COLUMNS[:-1]:
        states = [state for state in task["states"] if column_of(state) == column]
        wrong: dict[str, int] = {}
        for state in states:
            if not state["ok"]:
                other = state["observed"] != state["expected"]
                word = _SHOULD_NOT[state["observed"]] if other else "other code"
                wrong[word] = wrong.get(word, 0) + 1
        found[column] = Cell(len(states), tuple(wrong.items()), column in MUST_PASS)
    near = task["mutants"]
    loud = tuple(
        (word, near[key]) for word, key in (("passes", "survived"), ("no answer", "no_answer")) if near[key]
    )
    found["near-miss"] = Cell(near["killed"] + near["survived"] + near["no_answer"], loud, False)
    return found


def columns(result: Mapping[str, Any]) -> list[str]:
    """Columns in which any task has a state."""
    every = [cells(task) for task in result["tasks"]]
    return [name for name in COLUMNS if any(one[name].states for one in every)]


def ships(task: Mapping[str, Any]) -> str:
    """yes, no, or not run."""
    return {True: "yes", False: "no", None: "not run"}[task["ok"]]


def steady(task: Mapping[str, Any]) -> str:
    """What asking twice and from another path showed."""
    if not task["states"]:
        return "–"
    kinds = {fault["kind"] for fault in task["faults"]}
    return "wrote" if "wrote" in kinds else "differs" if "unstable" in kinds else "same"


def faults(result: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """(task, fault) of everything that is to be mended; the near-misses of one task are one fault."""
    for task in result["tasks"]:
        near = [fault for fault in task["faults"] if fault["kind"] == "near_miss"]
        for fault in task["faults"]:
            if fault["kind"] != "near_miss":
                yield task, {**fault, "names": []}
        if near:
            tested = task["mutants"]["killed"] + task["mutants"]["survived"]
            observed = f"{len(near)} of {numbers.count(tested, 'near-miss').replace('misss', 'misses')} pass"
            shown = "; ".join(fault["why"] for fault in near[:MOST_NEAR])
            more = f"; and {len(near) - MOST_NEAR} more" if len(near) > MOST_NEAR else ""
            names = [fault["about"] for fault in near]
            yield task, {**near[0], "observed": observed, "why": shown + more, "names": names}


def findings(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(task, text) of what a person should look at."""
    return [(task["id"], text) for task in result["tasks"] for text in task["findings"]]


def headline(result: Mapping[str, Any]) -> tuple[str, str]:
    """(how many are held back, the rest of the sentence)."""
    counts = result["counts"]
    tested = counts["killed"] + counts["survived"]
    states = (
        f"{counts['mismatches']:,} of {numbers.count(counts['states'], 'declared state')} got an outcome "
    )
    near = (
        f"; {counts['survived']:,} of {numbers.count(tested, 'near-miss').replace('misss', 'misses')} passed"
    )
    held = f"{counts['held']:,} of {counts['tasks']:,}"
    said = f"task{'' if counts['tasks'] == 1 else 's'} held back: {states}they should not get{near}."
    return held, said


def rate_words(rate: Mapping[str, Any], what: str) -> str:
    """A rate with its interval, its method, and what independence would give."""
    if rate["value"] is None:
        return f"{what}: {numbers.null('no state was answered')}"
    shown = f"{what}: {rate['errors']:,} of {rate['n']:,}, {numbers.percent(rate['value'])} "
    shown += f"{numbers.interval(rate['low'], rate['high'])} ({rate['method']})"
    alone = (
        f"at most {numbers.percent(rate['at_most'])} were states independent (one-sided 95{numbers.THIN}%)"
    )
    return f"{shown}; {alone}"


def write_page(out: Path, result: Mapping[str, Any], *, force: bool = False) -> int:
    """Write the page, whole or not at all, and say how many bytes it has."""
    return single.write_page(out, KIND, render(result), force=force)


def render(result: Mapping[str, Any]) -> str:
    """The page as HTML."""
    held, said = headline(result)
    shown = columns(result)
    tasks: Sequence[Mapping[str, Any]] = sorted(result["tasks"], key=lambda task: task["ok"] is not False)
    return (
        environment()
        .get_template("check.html.j2")
        .render(
            version=pyrite.__version__,
            mark=single.mark(KIND),
            result=result,
            held=held,
            said=said,
            must_pass=[name for name in shown if name in MUST_PASS],
            must_fail=[name for name in shown if name in MUST_FAIL],
            rows=[(task, cells(task), steady(task), ships(task)) for task in tasks],
            faults=list(faults(result)),
            findings=findings(result),
            rates=[
                rate_words(result["false_accept"], "False accepts"),
                rate_words(result["false_reject"], "False rejects"),
            ],
            subject=", ".join(result["suites"]),
        )
    )
