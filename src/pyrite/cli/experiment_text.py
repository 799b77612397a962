"""Experiments as text for a terminal of 100 columns."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrite.cli import screen
from pyrite.measure.reasons import words
from pyrite.report import numbers

if TYPE_CHECKING:
    from pyrite.stages.ensemble import Combined

WIDTH = 100
_FIGURES = {"fpr": "FPR", "tpr": "TPR", "d_prime": "d'", "criterion": "criterion"}
_TITLES = {"claim": "with the words", "swap": "with the opposite", "claim-swap": "words minus opposite"}
_SAYS = {"asserts": "asserts success", "hedged": "says neither", "admits": "admits failure"}
TEST = (
    "p: sign flips by task, exact where it can be. It decides whether anything moved: fewer than six tasks "
    "that moved cannot reach .05. The interval says by how much, from the variance between tasks, or from a "
    "score interval (Newcombe 10) where fewer than five moved; where it would exclude 0 and the test does "
    "not, it is widened by the test."
)
"""How interval and p of a paired difference are made, and which of them decides."""
_WARNED = {True: "warning line", False: "no warning line", None: ""}


def print_claim(result: Mapping[str, Any], *, no_color: bool) -> None:
    """A table a stratum and arm, then what the factors do and what must be known."""
    for stratum, block in result["strata"].items():
        said = ", ".join(f"{n} {kind}" for kind, n in block["messages"].items())
        screen.result(
            f"{stratum}: {numbers.count(block['episodes'], 'episode')}, {block['failed']} failed, "
            f"{block['passed']} passed; messages: {said}\n"
        )
        if not block["failed"] and not block["passed"]:
            continue
        for arm in block["arms"]:
            _print_arm(arm, no_color=no_color)
        told = [*_family(block["arms"]), *map(_factor, block["factors"])]
        for line in told:
            _print(f"  {line}")
        if told:
            screen.result("")
    level = f"{100 * result['level']:.0f} %"
    _print(
        f"Differences in percentage points, paired by episode, {level} intervals by task. Flips: accepted "
        "only with / only without. placebo: no message, both are shown the same. noise: odd minus even runs."
    )
    _print(TEST)
    for warning in result["warnings"]:
        _print(f"note: {warning}")
    if result["model"] is not None:
        _print(f"model: {result['model']}")


def undecided(result: Mapping[str, Any]) -> bool:
    """Whether no effect could be measured at all."""
    return not any(
        cell[rate]["value"] is not None
        for block in result["strata"].values()
        for arm in block["arms"]
        for contrast in arm["contrasts"].values()
        for cell in contrast["by_kind"].values()
        for rate in ("fpr", "tpr")
    )


def _print_arm(arm: Mapping[str, Any], *, no_color: bool) -> None:
    marks = [_WARNED[arm["warning"]], "with thoughts" if arm["thoughts"] else ""]
    screen.result(", ".join(filter(None, [arm["judge"], *marks])))
    gone = _same_null(arm["conditions"])
    kept = [key for key in _FIGURES if key not in gone]
    if kept:
        screen.table(
            [("", "left"), *((_FIGURES[key], "right") for key in kept)],
            [
                [(name, ""), *((_cell(key, cell[key]), "") for key in kept)]
                for name, cell in arm["conditions"].items()
            ],
            no_color=no_color,
            fold=True,
        )
    for reason in dict.fromkeys(gone.values()):
        none = ", ".join(_FIGURES[key] for key, why in gone.items() if why == reason)
        _print(f"  {none}: {numbers.null(reason)}")
    seen = {name: cell["p_blind_holm"] for name, cell in arm["conditions"].items()}
    tested = [f"{name} {numbers.p_value(p)}" for name, p in seen.items() if p is not None]
    if tested:
        _print(f"  p of a judge that looks at nothing, after Holm over these: {', '.join(tested)}")
    rows = [[(cell, look) for cell in row] for row, look in _effects(arm)]
    heads = ("", "message", "episodes", "difference pp", "flips", "p", "n")
    screen.table(
        [(head, "left" if at < 3 else "right") for at, head in enumerate(heads)],
        rows,
        no_color=no_color,
        fold=True,
    )
    for name, contrast in arm["contrasts"].items():
        if contrast["d_prime"]["value"] is None and "d_prime" in gone:
            continue
        moved = f"d' {_score(contrast['d_prime'])}, criterion {_score(contrast['criterion'])}"
        _print(f"  {_TITLES[name]}, what moves of all that speak: {moved}")
    screen.result("")


def _same_null(conditions: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Figures that no condition has, all for one reason: said once and not in each cell."""
    found = {}
    for key in _FIGURES:
        cells = [cell[key] for cell in conditions.values()]
        reasons = {cell["reason"] for cell in cells}
        if all(cell["value"] is None for cell in cells) and len(reasons) == 1:
            found[key] = reasons.pop()
    return found


def _cell(key: str, found: Mapping[str, Any]) -> str:
    return numbers.rate(found) if key in {"fpr", "tpr"} else _score(found)


def _effects(arm: Mapping[str, Any]) -> Iterator[tuple[list[str], str]]:
    for name, contrast in arm["contrasts"].items():
        for kind, cell in contrast["by_kind"].items():
            for rate, who in (("fpr", "failed"), ("tpr", "passed")):
                if cell[rate]["n"]:
                    yield _row(_TITLES[name], _SAYS[kind], who, cell[rate])
    for name in ("placebo", "noise"):
        if arm[name] is not None and arm[name]["n"]:
            yield _row(name, "none" if name == "placebo" else _SAYS["asserts"], "failed", arm[name])


def _row(title: str, kind: str, who: str, found: Mapping[str, Any]) -> tuple[list[str], str]:
    apart = found["low"] is not None and (found["low"] > 0 or found["high"] < 0)
    ends = numbers.points_interval(found["low"], found["high"])
    shown = [
        title,
        kind,
        who,
        f"{numbers.points(found['value'], reason=found['reason'])} {ends}".strip(),
        f"{found['flip_in']}/{found['flip_out']}",
        numbers.p_value(found["p_signflip"]),
        f"{found['n']:,}",
    ]
    return shown, screen.LOOK_HERE if apart else ""


def _family(arms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The p-values of the declared family, where it has more than one member."""
    cells = [(arm, arm["contrasts"]["claim"]["by_kind"]["asserts"]["fpr"]) for arm in arms]
    tested = [(arm, cell) for arm, cell in cells if cell["p_holm"] is not None]
    if len(tested) < 2:
        return
    parts = []
    for arm, cell in tested:
        marks = [arm["judge"], _WARNED[arm["warning"]], "with thoughts" if arm["thoughts"] else ""]
        parts.append(f"{' '.join(filter(None, marks))} {numbers.p_value(cell['p_holm'])}")
    yield (
        f"FPR with the words, asserts success: p after Holm over these {len(tested)}: {'; '.join(parts)}; "
        "all other p-values are exploratory"
    )


def _factor(found: Mapping[str, Any]) -> str:
    ends = numbers.points_interval(found["low"], found["high"])
    value = "null" if found["value"] is None else numbers.signed(100 * found["value"])
    moved = f"{value} {ends}".strip() + (f" ({words(found['reason'])})" if found["reason"] else "")
    if found["factor"] == "warning":
        what = "what the warning line does to the effect of the claim on the FPR"
        return f"{found['judge']}{', with thoughts' if found['thoughts'] else ''}: {what}: {moved}"
    return f"{found['judge']}: {found['rate'].upper()} with the agent's thoughts minus without: {moved}"


def _score(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return numbers.null(found["reason"])
    ends = numbers.coefficient_interval(found["low"], found["high"])
    return f"{numbers.coefficient(found['value'])} {ends}".strip()


def print_ensembles(combined: Sequence[Combined], bench: Path, *, no_color: bool) -> None:
    """A row an ensemble and condition: what it says, and how often its members are needed."""
    rows = []
    for one in combined:
        needed = ", ".join(f"{name} {n:,}" for name, n in one.consulted.items())
        counts = [f"{one.verdicts[word]:,}" for word in ("success", "failure", "uncertain")]
        cells = [one.judge, one.condition, *counts, f"{one.missing:,}", needed]
        rows.append([(cell, "") for cell in cells])
    heads = ("ensemble", "condition", "success", "failure", "uncertain", "missing", "judges needed")
    columns = [(head, "left" if at in {0, 1, 6} else "right") for at, head in enumerate(heads)]
    screen.table(columns, rows, no_color=no_color, fold=True)
    screen.result(f"verdicts {bench}/verdicts/\nnext     pyrite measure {shlex.quote(str(bench))}")


def _print(text: str) -> None:
    screen.result(
        textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    )
