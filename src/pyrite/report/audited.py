"""The page of an audit, from the document that `pyrite audit --json` prints and its two long lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

import pyrite
from pyrite.report import numbers, single, svg
from pyrite.report.page import environment
from pyrite.report.text import cut

KIND = "audit"
"""What `report.single` knows its pages by."""
MOST_EXAMPLES = 12
"""Places of one hazard that the page lists; how many more there are is said."""
MOST_TASKS = 1000
MOST_ROWS = 40
_LEVELS = ("verdict", "risk", "info")
TIERS = {
    "4": "active, keystrokes into a window",
    "3": "active steps, no keystrokes",
    "2": "active through a getter only",
    "1b": "passive: asks a running application",
    "1a": "passive: files, settings, commands that only read",
    "0": "infeasible: only the last action is read",
    "unknown": "cannot be told",
}
GOLD = {
    "A": "published files, or a shipped solution",
    "B": "some published files",
    "C": "values in rules, no end state",
    "D": "nothing expected: the metric decides alone",
    "E": "from the live web or the machine",
}


@dataclass
class Hazards:
    """A kind of hazard with what is shown of it."""

    name: str
    priority: int
    level: str
    says: str
    tasks: int
    places: int
    examples: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def look(self) -> bool:
        """A check that cannot fail: what purple is for."""
        return self.tasks > 0 and self.priority == 3 and self.level == "verdict"


def write_page(
    out: Path,
    document: Mapping[str, Any],
    findings: Iterable[Mapping[str, Any]],
    per_task: Iterable[Mapping[str, Any]],
    *,
    force: bool = False,
) -> int:
    """Write the page, whole or not at all, and say how many bytes it has."""
    return single.write_page(out, KIND, render(document, findings, per_task), force=force)


def render(
    document: Mapping[str, Any], findings: Iterable[Mapping[str, Any]], per_task: Iterable[Mapping[str, Any]]
) -> str:
    """The page as HTML; the lists are read once each, and only their beginnings are kept."""
    tasks = [row for row, _ in zip(per_task, range(MOST_TASKS), strict=False)]
    found = hazards(document, findings)
    return (
        environment()
        .get_template("audit.html.j2")
        .render(
            version=pyrite.__version__,
            mark=single.mark(KIND),
            audit=document,
            subject=subject(document),
            headline=headline(document),
            basis=basis(document),
            tiers=list(tiers(document)),
            domains=list(domains(document)),
            steps=list(steps(document)),
            getters=list(getters(document)),
            hazards=found,
            gold=list(gold(document)),
            tasks=tasks,
            more_tasks=document["tasks"] - len(tasks),
            baselines=list(baselines(document)),
            bar=bar,
            named=named,
        )
    )


def subject(document: Mapping[str, Any]) -> str:
    """What was audited, as a name."""
    name = Path(document["path"]).name or document["path"]
    return f"{name}, {Path(document['list']['file']).name}" if document["list"] else name


def headline(document: Mapping[str, Any]) -> str:
    """The finding: how many verifiers act before they look."""
    tasks, known = document["tasks"], document["tasks"] - document["unknown"]
    if not known:
        return f"Of none of {numbers.count(tasks, 'task')} can it be told what the verifier does."
    acts = "acts before it looks" if known == 1 else "act before they look"
    said = f"{document['active']:,} of {numbers.count(known, 'task')} {acts}"
    said += f" ({numbers.percent(document['active'] / known)})"
    if document["infeasible"]:
        said += f", and {document['infeasible']:,} look at no state at all"
    return said + "."


def basis(document: Mapping[str, Any]) -> str:
    """The line below: what else changes verdicts, and what could not be read."""
    silent = document["hazards"]["silent_step"]
    said = (
        f"{numbers.count(silent, 'task')} with steps whose failure nobody hears of, "
        f"{document['network']['tasks']:,} need the network to evaluate, "
        f"{document['passive']:,} only read."
    )
    if document["unknown"]:
        why = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in document["unknown_why"].items())
        said += (
            f" {numbers.count(document['unknown'], 'task')} of {document['tasks']:,} cannot be told: {why}."
        )
    return said


def tiers(document: Mapping[str, Any]) -> Iterator[tuple[str, str, int, str]]:
    """(tier, what it is, tasks, share of all) of every tier; unknown where there is any."""
    counts = {**document["tiers"], "unknown": document["unknown"]}
    for name, says in TIERS.items():
        if name != "unknown" or counts[name]:
            yield name, says, counts[name], numbers.percent(counts[name] / document["tasks"])


def domains(document: Mapping[str, Any]) -> Iterator[tuple[str, list[int], int]]:
    """(domain, tasks by tier, all of them), most first, at most `MOST_ROWS`."""
    names = [name for name, *_ in tiers(document)]
    rows = sorted(document["domains"].items(), key=lambda one: (-sum(one[1].values()), one[0]))
    for name, counts in rows[:MOST_ROWS]:
        yield name or "(none)", [counts.get(tier, 0) for tier in names], sum(counts.values())


def steps(document: Mapping[str, Any]) -> Iterator[tuple[str, int, int, int]]:
    """(step type, setup, evaluation, both), most first."""
    config, post = document["steps"]["config"], document["steps"]["postconfig"]
    for name, both in list(document["steps"]["both"].items())[:MOST_ROWS]:
        yield name, config.get(name, 0), post.get(name, 0), both


def getters(document: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """(getter, as a result, as an expected value), most first."""
    result, expected = document["getters"]["result"], document["getters"]["expected"]
    names = sorted(
        {*result, *expected}, key=lambda name: (-result.get(name, 0) - expected.get(name, 0), name)
    )
    for name in names[:MOST_ROWS]:
        yield name, result.get(name, 0), expected.get(name, 0)


def hazards(
    document: Mapping[str, Any], findings: Iterable[Mapping[str, Any]]
) -> list[tuple[str, list[Hazards]]]:
    """(priority, its hazards that were found) in order of importance, with examples."""
    found = {
        name: Hazards(name, kind["priority"], kind["level"], kind["says"], document["hazards"][name], 0)
        for name, kind in document["kinds"].items()
        if document["hazards"][name]
    }
    for name, one in found.items():
        one.places = document["places"][name]
    for row in findings:
        shown = found[row["kind"]].examples
        if len(shown) < MOST_EXAMPLES:
            shown.append(row)
    rows = []
    for number, text in document["priorities"].items():
        group = [one for one in found.values() if str(one.priority) == number]
        if group:
            rows.append((text, sorted(group, key=lambda one: (_LEVELS.index(one.level), -one.tasks))))
    return rows


def gold(document: Mapping[str, Any]) -> Iterator[tuple[str, str, int, int, int]]:
    """(class, what it is, tasks, of them with steps, of them with a save by keys)."""
    for name, says in GOLD.items():
        yield (
            name,
            says,
            document["gold_classes"][name],
            document["gold_with_steps"][name],
            document["gold_with_save"][name],
        )


def baselines(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(agent, its score or null with the reason, note)."""
    gives_up = document["baselines"]["fail_always"]
    if gives_up["value"] is None:
        yield "FAIL always", f"null: {gives_up['reason']}", ""
    else:
        score = f"{numbers.ratio(gives_up['tasks'], gives_up['of'])}, {numbers.percent(gives_up['value'])}"
        bounds = gives_up["low"] != gives_up["high"]
        note = f"bounds {100 * gives_up['low']:.1f} to {100 * gives_up['high']:.1f}" if bounds else ""
        yield "FAIL always", score, note or "passes every infeasible task without looking"
    idle = document["baselines"]["no_op"]
    near = f"{numbers.count(idle['expected_is_input'], 'task')} expect a file that they start from"
    yield "does nothing", f"null: {idle['reason']}", near if idle["expected_is_input"] else ""
    best = document["baselines"]["gold"]
    yield "gold", f"null: {best['reason']}", f"{best['l1_possible']:,} can be compared without a machine"


def bar(number: int, whole: int) -> Markup:
    """A count as a bar of the whole; its number stands beside it."""
    share = number / whole if whole else 0.0
    return svg.figure(
        "bar count",
        f"{number} of {whole}",
        svg.element("rect", {"class": "empty", "width": "100%", "height": "100%"}),
        svg.element("rect", {"class": "amount", "width": svg.across(share), "height": "100%"}),
    )


def named(row: Mapping[str, Any]) -> str:
    """A task with its domain, cut."""
    return cut(f"{row['domain']}/{row['task']}" if row["domain"] else row["task"], 100)
