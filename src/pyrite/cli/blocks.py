"""Results as text for a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrite.cli import people_text, scores_text, screen
from pyrite.measure.finding import is_shortcut
from pyrite.measure.reasons import words
from pyrite.report import numbers
from pyrite.report.numbers import THIN, count, interval, percent

if TYPE_CHECKING:
    from pyrite.episodes.jobs import Recording
    from pyrite.evidence.packing import Packing

WIDTH = 100
LISTED = 20


# --- record, pack, judge


def recorded(recording: Recording) -> str:
    """One line of a recording."""
    endings = ", ".join(f"{n} {name}" for name, n in recording.endings().items()) or "nothing new"
    kept = f", {recording.kept} were there" if recording.kept else ""
    drifted = f", {len(recording.drifted)} dropped (drift)" if recording.drifted else ""
    aside = f", {len(recording.superseded)} of changed tasks set aside" if recording.superseded else ""
    return f"{count(len(recording.new), 'episode')}: {endings}{kept}{drifted}{aside}"


def _skipped(recording: Recording) -> list[str]:
    """What does not apply: an episode a line, or a line a reason where many have the same."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in recording.skipped:
        groups.setdefault((one.kind, one.reason), []).append(one.episode_id)
    return [
        f"{ids[0] if len(ids) == 1 else count(len(ids), 'episode')}  skipped  {kind}: {reason}"
        for (kind, reason), ids in groups.items()
    ]


def recording_text(recording: Recording, *, dry: bool) -> str:
    """The episodes of a recording, one a line."""
    lines = []
    for one in recording.new:
        who = f"{one.agent}, {one.perturbation}" if one.perturbation else one.agent
        took = f"{one.seconds:5.1f} s" if one.seconds is not None else "      "
        lines.append(f"{one.episode_id}  {took}  {one.ended_by or 'planned':<10} {one.task_id}  {who}")
    lines += _skipped(recording)
    lines += [f"{s.episode_id}  dropped  {s.kind} {s.reason}" for s in recording.drifted]
    lines += [f"held     {one.task_id}: {one.why}" for one in recording.held]
    if recording.unchecked:
        lines.append(f"not checked: {', '.join(recording.unchecked[:LISTED])}")
    seconds = sorted(one.seconds for one in recording.new if one.seconds is not None)
    if seconds:
        lines.append(
            f"wall     median {seconds[len(seconds) // 2]:.1f} s an episode, longest {seconds[-1]:.1f} s"
        )
    if dry:
        lines.append(f"would record {count(len(recording.new), 'episode')}, {recording.kept} are there")
    return "\n".join(lines or [f"nothing to record: {count(recording.kept, 'episode')} are there"])


def packed(packing: Packing) -> str:
    """One line of a packing."""
    conditions = sorted({entry.condition for entry in packing.entries})
    broken = f", {count(len(packing.broken), 'broken episode')}" if packing.broken else ""
    return f"{count(len(packing.entries), 'package')}, {', '.join(conditions)}{broken}"


def packing_text(packing: Packing, bench: Path) -> str:
    """What was packed by condition, and the leaks."""
    by = Counter(entry.condition for entry in packing.entries)
    cut = {name: f", {n} with something left out" for name, n in packing.shortened.items()}
    lines = [f"{name:<12} {count(n, 'package')}{cut.get(name, '')}" for name, n in sorted(by.items())]
    lines += [
        f"leak     {leak.package_id}: {leak.secret!r} in its {leak.where}" for leak in packing.leaks[:20]
    ]
    lines += broken_lines(packing.broken) + unswappable_lines(packing.unswappable)
    lines.append(f"leaks    {len(packing.leaks) or 'none found'}")
    lines.append(f"evidence {bench}/evidence/")
    return "\n".join(lines)


def broken_lines(broken: Mapping[str, str]) -> list[str]:
    """Episodes that could not be packed, and what that means; the first twenty by name."""
    if not broken:
        return []
    listed = [f"broken   {name}: {' '.join(why.split())[:300]}" for name, why in sorted(broken.items())]
    more = [f"and {len(listed) - 20} more"] if len(listed) > 20 else []
    return [*listed[:20], *more, f"broken   {count(len(broken), 'episode')}: missing verdicts, no rejections"]


def unswappable_lines(found: Mapping[str, int]) -> list[str]:
    """Episodes that a condition with +swap leaves out."""
    return [
        f"left out {name}: {count(n, 'episode')} without a claim that can be turned round"
        for name, n in found.items()
    ]


# --- outcomes


def not_scored_lines(result: Mapping[str, Any]) -> list[str]:
    """The episodes of a bench that are in no rate, each with its reason; twenty of a kind by name."""
    kinds = [
        [f"{one['episode_id']}: {one['cause']}, blame {one['blame']}" for one in result["indeterminate"]],
        [one["problem"][:300] for one in result["broken"]],
        [f"{episode_id}: not verified" for episode_id in result["unverified"]],
    ]
    lines: list[str] = []
    for listed in kinds:
        lines += [wrapped(f"indeterminate {screen.printable(text)}", indent=14) for text in listed[:LISTED]]
        lines += [f"indeterminate and {len(listed) - LISTED:,} more"] if len(listed) > LISTED else []
    return lines


def note(warning: str) -> str:
    return wrapped(f"note     {screen.printable(warning)}", indent=9)


def wrapped(text: str, *, indent: int) -> str:
    """The text in lines of the terminal's width; a path or a name is never broken."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


def truth_text(name: str, truth: Mapping[str, Any], extra: Mapping[str, Any]) -> str:
    """One block: counts, rate over scored, bounds, causes, agents, categories."""
    value = percent(truth["rate"], reason=truth.get("reason"))
    ends = interval(truth["low"], truth["high"])
    if truth["rate"] is not None and not ends:
        ends = f"[no interval: {words(truth.get('reason'))}]"
    counts = (
        f"{truth['attempted']:,} attempted, {truth['indeterminate']:,} indeterminate, "
        f"{truth['scored']:,} scored ({truth['pass']:,} pass, {truth['fail']:,} fail)"
    )
    lines = [
        wrapped(f"{screen.printable(name)}: {counts}", indent=2),
        f"  success rate {' '.join(filter(None, (value, ends)))} over scored",
    ]
    if truth["method"]:
        lines.append(f"  interval {truth['method']}")
    if truth["bounds"]:
        low, high = truth["bounds"]
        lines.append(
            f"  bounds {percent(low)} to {percent(high)}, if all indeterminate failed, or all passed"
        )
    lines += _why_indeterminate(truth)
    for agent, own in (extra.get("by_agent") or {}).items():
        three = ", ".join(f"{own[outcome]} {outcome}" for outcome in ("pass", "fail", "indeterminate"))
        lines.append(f"  agent {screen.printable(agent)}: {three}")
        lines += _agents_rate(own)
    categories = ", ".join(f"{n} {code}" for code, n in (extra.get("categories") or {}).items())
    if categories:
        lines.append(f"  failures: {categories}")
    return "\n".join(lines)


def _agents_rate(own: Mapping[str, Any]) -> Iterator[str]:
    """The rate of one agent; its method is that of the stratum, or is said."""
    if own["rate"] is None:
        yield f"    success rate {percent(None, reason=own['reason'])}"
        return
    ends = interval(own["low"], own["high"]) or f"[no interval: {words(own['reason'])}]"
    bounds = f", bounds {percent(own['bounds'][0])} to {percent(own['bounds'][1])}" if own["bounds"] else ""
    yield f"    success rate {percent(own['rate'])} {ends} over {own['scored']:,} scored{bounds}"


def _why_indeterminate(truth: Mapping[str, Any]) -> Iterator[str]:
    for cause, seen in truth.get("causes", {}).items():
        yield f"  indeterminate: {seen['n']} {cause}, blame {seen['blame']}"
    if n := truth.get("missing"):
        unknown = "not verified, or not readable" if "unverified" in truth else "no value in the truth column"
        yield f"  indeterminate: {n} {unknown}"


def nothing_scored(result: Mapping[str, Any]) -> bool:
    """Whether no episode of any stratum is pass or fail."""
    return all(stratum["scored"] == 0 for stratum in result["strata"].values())


def unconfined(confinement: Mapping[str, Any]) -> str:
    """What was not enforced while foreign code ran; empty where all of it was."""
    if confinement.get("filesystem") and confinement.get("network"):
        return ""
    reason = confinement.get("reason") or "bubblewrap is not here"
    return f"verifiers ran without file or network isolation: {reason}; `apt-get install bubblewrap` helps"


def doctor_text(capabilities: Sequence[Any]) -> str:
    """A line for each capability: there, missing (with what installs it), or not known."""
    marks = {True: "✓", False: "✗", None: "·"}
    lines = []
    for one in capabilities:
        lines.append(f" {marks[one.ok]} {one.name:<27} {one.detail}")
        if one.ok is False and one.install:
            lines.append(f"   {'':<27} install: {one.install}")
    return "\n".join(lines)


# --- measure


def measured(result: Mapping[str, Any]) -> str:
    """One line of a measurement."""
    n = result["rows"] if "rows" in result else result["episodes"]
    level = f"{100 * result['level']:.0f}{THIN}%"
    return f"{count(n, 'episode')} in {count(result['tasks'], 'task')}, {level} intervals clustered by task"


def print_measure(result: Mapping[str, Any], *, no_color: bool) -> None:
    """The finding, then the figures of a table, or of a bench by stratum and condition."""
    if result.get("finding"):
        print_finding(result["finding"], no_color=no_color)
        screen.result("")
    if "strata" not in result:
        _print_table_result(result, no_color=no_color)
        return
    for name, stratum in result["strata"].items():
        leads = " (leads)" if name == result["lead"] else ""
        screen.result(truth_text(f"{name}{leads}", stratum["truth"], stratum))
        _print_sections(_alike(stratum["conditions"]), no_color=no_color)
        for where, judges in _alike(stratum["conditions"]):
            scores_text.print_beside({f"{judge}, {where}": block for judge, block in judges.items()})
            people_text.print_ranks({f"{judge}, {where}": one.get("ranks") for judge, one in judges.items()})
        _print_groups(stratum["groups"], no_color=no_color)
        scores_text.print_claims(stratum["claims"])
        screen.result("")
    people_text.print_people(result)
    for line in not_scored_lines(result):
        screen.result(line)
    _print_warnings(result)


def _print_groups(groups: Sequence[Mapping[str, Any]], *, no_color: bool) -> None:
    """A stratum broken down: a table a group, in it one row a judge and condition."""
    for group in groups:
        screen.result("\n" + truth_text(_named(group["by"]), group["truth"], {}))
        judges = _alike(group["conditions"])
        if judges and group["truth"]["scored"]:
            screen.result("")
            judge_table(judges, no_color=no_color)
            _print_kinds(judges, no_color=no_color)


def print_finding(finding: str, *, no_color: bool) -> None:
    """The one sentence, in bold, in lines of the terminal's width."""
    for line in wrapped(screen.printable(finding), indent=0).splitlines():
        screen.styled(line, "bold", no_color=no_color)


def _alike(conditions: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(conditions, judges) of a stratum: a judge with the same figures in several conditions stands once."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    names = {judge: None for cell in conditions.values() for judge in cell["judges"]}
    for judge in sorted(names):
        seen: list[tuple[list[str], Any]] = []
        for condition, cell in conditions.items():
            if (block := cell["judges"].get(judge)) is None:
                continue
            same = next((where for where, other in seen if other == block), None)
            if same is None:
                seen.append(([condition], block))
            else:
                same.append(condition)
        for where, block in seen:
            found.setdefault(tuple(where), {})[judge] = block
    everywhere = len(conditions) > 1
    ordered = sorted(found.items(), key=lambda item: (-len(item[0]), item[0]))
    return [
        ("all conditions" if everywhere and len(where) == len(conditions) else ", ".join(where), judges)
        for where, judges in ordered
    ]


def demo_tables(result: Mapping[str, Any], *, no_color: bool) -> None:
    """A table a stratum, the leading one first: each judge in the first condition that it takes."""
    lead = result["lead"]
    for name in sorted(result["strata"], key=lambda name: name != lead):
        stratum = result["strata"][name]
        judges: dict[str, Any] = {}
        for condition, cell in sorted(stratum["conditions"].items()):
            for label, judge in cell["judges"].items():
                if not any(known.startswith(f"{label}, ") for known in judges):
                    judges[f"{label}, {condition}"] = judge
        screen.result("\n" + truth_text(f"{name}{' (leads)' if name == lead else ''}", stratum["truth"], {}))
        if judges:
            screen.result("")
            judge_table([("", judges)], no_color=no_color)


Sections = Sequence[tuple[str, Mapping[str, Any]]]
"""(title, judge -> block); a title of nothing is no row."""


def judge_table(sections: Sections, *, no_color: bool) -> None:
    """One row a judge, in 100 columns; a judge that accepts failures is marked."""
    columns = [
        ("judge", "left"),
        ("acc/failed", "right"),
        ("FPR [95 % CI]", "right"),
        ("TPR [95 % CI]", "right"),
        ("FDR", "right"),
        ("kappa", "right"),
        ("unc", "right"),
        ("err", "right"),
        ("miss", "right"),
    ]

    def row(label: str, judge: Mapping[str, Any]) -> list[tuple[str, str]]:
        counts = judge["counts"]
        negatives = counts["fp"] + counts["tn"]
        shortcut = is_shortcut(label.split(", ")[0])
        look = screen.LOOK_HERE if counts["fp"] and not shortcut else ""
        return [
            (label, look or ("dim" if shortcut else "bold")),
            (f"{counts['fp']}/{negatives}", look),
            (short_rate(judge["fpr"]), look),
            (short_rate(judge["tpr"]), ""),
            (percent(judge["fdr"]["value"]), ""),
            (numbers.coefficient(judge["kappa"]["value"]), ""),
            (str(counts["uncertain"]), ""),
            (str(counts["parse_error"]), ""),
            (str(counts["missing"]), ""),
        ]

    screen.table(columns, _rows(sections, row, len(columns)), no_color=no_color, fold=True)


def detail_table(sections: Sections, *, no_color: bool) -> None:
    """What does not fit into the first table: FDR, inflation and kappa with intervals, and the iid FPR."""
    columns = [
        ("judge", "left"),
        ("FDR [95 % CI]", "right"),
        ("prec", "right"),
        ("inflation pp", "right"),
        ("kappa [95 % CI]", "right"),
        ("iid FPR", "right"),
    ]

    def row(label: str, judge: Mapping[str, Any]) -> list[tuple[str, str]]:
        kappa, iid = judge["kappa"], judge["fpr"]["iid"] or {"low": None, "high": None}
        ends = numbers.coefficient_interval(kappa["low"], kappa["high"])
        cells = [
            label,
            short_rate(judge["fdr"]),
            percent(judge["precision"]["value"]),
            _points(judge["inflation"]),
            f"{numbers.coefficient(kappa['value'])} {ends}".rstrip(),
            interval(iid["low"], iid["high"]) or "null",
        ]
        return [(cell, "") for cell in cells]

    screen.table(columns, _rows(sections, row, len(columns)), no_color=no_color, fold=True)


def _rows(
    sections: Sections, row: Callable[[str, Mapping[str, Any]], list[tuple[str, str]]], width: int
) -> list[list[tuple[str, str]]]:
    """The rows of all sections, below the title of each."""
    rows = []
    for title, judges in sections:
        for line in textwrap.wrap(title, 20, break_long_words=False, break_on_hyphens=False):
            rows.append([(line, "italic"), *[("", "")] * (width - 1)])
        for label, judge in judges.items():
            first, *rest = row(label, judge)
            rows.append([(f" {first[0]}" if title else first[0], first[1]), *rest])
    return rows


def _points(estimate: Mapping[str, Any]) -> str:
    """A signed difference in percentage points with its interval."""
    if estimate["value"] is None:
        return numbers.null()
    ends = numbers.points_interval(estimate["low"], estimate["high"])
    return f"{numbers.signed(100 * estimate['value'])} {ends}".rstrip()


def short_rate(estimate: Mapping[str, Any]) -> str:
    """A rate with its interval for a narrow cell; the reason of a null stands in the JSON."""
    return f"{percent(estimate['value'])} {interval(estimate.get('low'), estimate.get('high'))}".rstrip()


def _print_table_result(result: Mapping[str, Any], *, no_color: bool) -> None:
    screen.result(truth_text("truth", result["truth"], {}))
    _print_sections([("", result["judges"])], no_color=no_color)
    scores_text.print_beside(result["judges"])
    scores_text.print_scores(result["scores"])
    for group in result.get("groups", ()):
        screen.result("\n" + truth_text(_named(group["by"]), group["truth"], {}))
        if group["judges"]:
            screen.result("")
            judge_table([("", group["judges"])], no_color=no_color)
    for judge in result["judges"]:
        _group_table(judge, result.get("groups", ()), no_color=no_color)
    for ranks in result.get("ranks", {}).values():
        people_text.print_ranks(ranks)
    _print_warnings(result)


def _group_table(judge: str, groups: Sequence[Mapping[str, Any]], *, no_color: bool) -> None:
    """True against judged success of each group: what an agent would seem to gain or lose by the judge."""
    decided = [(", ".join(map(_cut, one["by"].values())), one["judges"][judge]) for one in groups]
    if not decided:
        return
    columns = [
        ("group", "left"),
        ("n", "right"),
        ("truly passed", "right"),
        ("judged passed [95 % CI]", "right"),
        ("inflation pp", "right"),
    ]
    rows = []
    for name, block in decided:
        counts = block["counts"]
        n = counts["tp"] + counts["fp"] + counts["fn"] + counts["tn"]
        true = percent((counts["tp"] + counts["fn"]) / n) if n else numbers.null()
        cells = [name, f"{n:,}", true, short_rate(block["judged"]), _points(block["inflation"])]
        rows.append([(cell, "") for cell in cells])
    screen.result(f"\ntrue and judged success by group, {screen.printable(judge)}")
    screen.table(columns, rows, no_color=no_color, fold=True)


def _named(by: Mapping[str, str | None]) -> str:
    return ", ".join(f"{key} = {_cut(value)}" for key, value in by.items())


def _cut(value: str | None) -> str:
    if value is None:
        return "(empty)"
    return value if len(value) <= 60 else f"{value[:60]}… ({len(value)} characters)"


def _print_sections(sections: Sections, *, no_color: bool) -> None:
    """Both tables, what the intervals are, and the FPR on failures that look like success."""
    judges = [judge for _, found in sections for judge in found.values()]
    if not judges:
        return
    screen.result("")
    judge_table(sections, no_color=no_color)
    screen.result("")
    detail_table(sections, no_color=no_color)
    methods = dict.fromkeys(judge["fpr"]["method"] for judge in judges if judge["fpr"]["method"])
    for method in methods:
        screen.result(wrapped(f"FPR by {method}", indent=4))
    bare = [fpr for judge in judges if (fpr := judge["fpr"])["value"] is not None and not fpr["method"]]
    for reason in dict.fromkeys(words(fpr["reason"]) for fpr in bare):
        screen.result(f"FPR without an interval: {reason}")
    if any(judge["fpr"]["iid"] for judge in judges):
        screen.result("iid FPR: the interval that would hold if episodes were independent")
    _print_kinds(sections, no_color=no_color)


def _print_kinds(sections: Sections, *, no_color: bool) -> None:
    """FPR on failures that look like success apart from the rest, where there are both."""
    judges = [judge for _, found in sections for judge in found.values() if judge.get("hard")]
    hard, other = (any(judge[kind]["n"] for judge in judges) for kind in ("hard", "other"))
    if hard and not other:
        screen.result("FPR on hard negatives: the same, all failures here are hard negatives")
    if not (hard and other):
        return
    columns = [("judge", "left")]
    for kind in ("hard negatives", "other failures"):
        columns += [(f"FPR on {kind}", "right"), ("of", "right")]

    def row(label: str, judge: Mapping[str, Any]) -> list[tuple[str, str]]:
        kinds = (judge["hard"], judge["other"])
        return [(label, ""), *((text, "") for kind in kinds for text in (short_rate(kind), str(kind["n"])))]

    screen.result("")
    screen.table(columns, _rows(sections, row, len(columns)), no_color=no_color, fold=True)


def _print_warnings(result: Mapping[str, Any]) -> None:
    if (policy := result.get("uncertain_policy", "failure")) != "failure":
        counts = "is left out" if policy == "drop" else "counts as success"
        screen.result(note(f"uncertain {counts}: a stress test; the headline counts it as failure"))
    for warning in result.get("warnings", ()):
        screen.result(note(warning))
