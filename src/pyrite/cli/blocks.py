"""Results as text for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrite.cli import screen
from pyrite.report.numbers import THIN, count, interval, percent, rate, words

if TYPE_CHECKING:
    from pyrite.episodes.jobs import Recording
    from pyrite.evidence.packing import Packing
    from pyrite.judges.runner import Judging

SHORTCUTS = {"accept-all", "reject-all", "claim", "steps"}


# --- record, pack, judge


def recorded(recording: Recording) -> str:
    """One line of a recording."""
    endings = ", ".join(f"{n} {name}" for name, n in recording.endings().items()) or "nothing new"
    kept = f", {recording.kept} were there" if recording.kept else ""
    return f"{count(len(recording.new), 'episode')}: {endings}{kept}"


def recording_text(recording: Recording, *, dry: bool) -> str:
    """The episodes of a recording, one a line."""
    lines = []
    for one in recording.new:
        who = f"{one.agent}, {one.perturbation}" if one.perturbation else one.agent
        took = f"{one.seconds:5.1f} s" if one.seconds is not None else "      "
        lines.append(f"{one.episode_id}  {took}  {one.ended_by or 'planned':<10} {one.task_id}  {who}")
    lines += [f"{s.episode_id}  skipped  {s.kind}: {s.reason}" for s in recording.skipped]
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
    by: dict[str, int] = {}
    for entry in packing.entries:
        by[entry.condition] = by.get(entry.condition, 0) + 1
    lines = [f"{condition:<12} {count(n, 'package')}" for condition, n in sorted(by.items())]
    lines += [
        f"leak     {leak.package_id}: {leak.secret!r} in its {leak.where}" for leak in packing.leaks[:20]
    ]
    lines += broken_lines(packing.broken)
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


def judged(judging: Judging, *, dry: bool) -> str:
    """One line of a judging."""
    judges = len({one.judge for one in judging.asked})
    missing = f", {judging.missing} {'to ask' if dry else 'missing'}" if judging.missing else ""
    broken = f", {count(len(judging.broken), 'broken episode')}" if judging.broken else ""
    return f"{count(judges, 'judge')}, {count(judging.obtained, 'verdict')}{missing}{broken}"


def judging_text(judging: Judging, bench: Path, *, dry: bool) -> str:
    """A line for each judge and condition."""
    lines = []
    for one in judging.asked:
        name = f"{one.judge:<16} {one.condition:<12}"
        if not one.supported:
            lines.append(f"{name} not supported: this judge does not take this evidence")
            continue
        if dry:
            lines.append(f"{name} would ask for {count(one.missing, 'verdict')}, {one.kept} are there")
            continue
        lines.append(f"{name} {one.new} new, {one.kept} kept, {one.missing} missing")
        lines += [f"{'':<29} {n} {_missing(reason)}" for reason, n in one.why_missing.items()]
    lines += broken_lines(judging.broken)
    if not dry:
        lines += [f"verdicts {bench}/verdicts/", f"next     pyrite measure {bench}"]
    return "\n".join(lines)


def _missing(reason: str) -> str:
    return reason if reason.startswith("missing") else f"missing: {reason}"


# --- outcomes


def outcomes_text(result: Mapping[str, Any]) -> str:
    """The three-outcome block, one a stratum, and what keeps episodes from being decided."""
    parts = []
    for name, stratum in result["strata"].items():
        parts.append(truth_text(name, stratum, stratum))
    lines = [
        f"{one['episode_id']}: indeterminate, {one['cause']}, blame {one['blame']}"
        for one in result["indeterminate"][:20]
    ]
    lines += [f"episodes/{one['episode_id']}/meta.json: {one['problem']}" for one in result["broken"][:20]]
    if result["unverified"]:
        lines.append(
            f"{count(len(result['unverified']), 'episode')} not verified: they count as indeterminate"
        )
    lines += [f"note: {warning}" for warning in result["warnings"]]
    return "\n\n".join([*parts, *(["\n".join(lines)] if lines else [])])


def truth_text(name: str, truth: Mapping[str, Any], extra: Mapping[str, Any]) -> str:
    """One block: counts, rate over scored, bounds, causes, agents, categories."""
    name = screen.printable(name)
    value = percent(truth["rate"], reason=truth.get("reason"))
    ends = interval(truth["low"], truth["high"])
    if truth["rate"] is not None and not ends:
        ends = f"[no interval: {words(truth.get('reason') or 'unknown')}]"
    lines = [
        f"{name}: {truth['attempted']:,} attempted, {truth['indeterminate']:,} indeterminate, "
        f"{truth['scored']:,} scored ({truth['pass']:,} pass, {truth['fail']:,} fail)",
        f"  success rate {value} {ends} over scored".rstrip(),
    ]
    if truth["method"]:
        lines.append(f"  interval {truth['method']}")
    if truth["bounds"]:
        low, high = truth["bounds"]
        lines.append(
            f"  bounds {percent(low)} to {percent(high)}, if all indeterminate failed, or all passed"
        )
    for cause, seen in (extra.get("causes") or {}).items():
        lines.append(f"  indeterminate: {seen['n']} {cause}, blame {seen['blame']}")
    for agent, own in (extra.get("by_agent") or {}).items():
        three = ", ".join(f"{own[outcome]} {outcome}" for outcome in ("pass", "fail", "indeterminate"))
        lines.append(f"  agent {screen.printable(agent)}: {three}")
    categories = ", ".join(f"{n} {code}" for code, n in (extra.get("categories") or {}).items())
    if categories:
        lines.append(f"  failures: {categories}")
    return "\n".join(lines)


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
    """The figures of a table, or of a bench by stratum and condition."""
    if "strata" not in result:
        _print_table_result(result, no_color=no_color)
        return
    for name, stratum in result["strata"].items():
        leads = " (leads)" if name == result["lead"] else ""
        screen.result(truth_text(f"{name}{leads}", stratum["truth"], stratum))
        for condition, cell in stratum["conditions"].items():
            screen.result(f"\n{name}, {condition}")
            _print_judges(cell["judges"], no_color=no_color)
            _print_kinds(cell["judges"])
        screen.result("")
    _print_warnings(result)


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
            judge_table(judges, no_color=no_color)


def judge_table(judges: Mapping[str, Any], *, no_color: bool) -> None:
    """One row a judge, in 100 columns; a judge that accepts failures is marked."""
    columns = [
        ("judge", "left"),
        ("acc/failed", "right"),
        ("FPR [95 % CI]", "right"),
        ("TPR [95 % CI]", "right"),
        ("FDR", "right"),
        ("kappa", "right"),
        ("unc", "right"),
        ("miss", "right"),
    ]
    rows = []
    for label, judge in judges.items():
        counts = judge["counts"]
        negatives = counts["fp"] + counts["tn"]
        shortcut = label.split(",")[0] in SHORTCUTS
        look = screen.LOOK_HERE if counts["fp"] and not shortcut else ""
        rows.append(
            [
                (label, look or ("dim" if shortcut else "bold")),
                (f"{counts['fp']}/{negatives}", look),
                (short_rate(judge["fpr"]), look),
                (short_rate(judge["tpr"]), ""),
                (percent(judge["fdr"]["value"]), ""),
                (decimal(judge["kappa"]["value"]), ""),
                (str(counts["uncertain"] + counts["parse_error"]), ""),
                (str(counts["missing"]), ""),
            ]
        )
    screen.table(columns, rows, no_color=no_color)


def detail_table(judges: Mapping[str, Any], *, no_color: bool) -> None:
    """What does not fit into the first table: FDR, inflation and kappa with intervals, and the iid FPR."""
    columns = [
        ("judge", "left"),
        ("FDR [95 % CI]", "right"),
        ("prec", "right"),
        ("inflation pp", "right"),
        ("kappa [95 % CI]", "right"),
        ("iid FPR", "right"),
    ]
    rows = []
    for label, judge in judges.items():
        kappa, iid = judge["kappa"], judge["fpr"]["iid"] or {"low": None, "high": None}
        ends = "" if kappa["low"] is None else f" [{kappa['low']:.3f}, {kappa['high']:.3f}]"
        cells = [
            label,
            short_rate(judge["fdr"]),
            percent(judge["precision"]["value"]),
            points(judge["inflation"]),
            decimal(kappa["value"]) + ends,
            interval(iid["low"], iid["high"]) or "null",
        ]
        rows.append([(cell, "") for cell in cells])
    screen.table(columns, rows, no_color=no_color)


def decimal(value: float | None) -> str:
    """A coefficient with three decimals, or null."""
    return "null" if value is None else f"{value:.3f}"


def points(estimate: Mapping[str, Any]) -> str:
    """A signed difference in percentage points with its interval."""
    if estimate["value"] is None:
        return "null"
    ends = "" if estimate["low"] is None else f" [{_signed(estimate['low'])}, {_signed(estimate['high'])}]"
    return _signed(estimate["value"]) + ends


def _signed(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "\N{MINUS SIGN}")


def short_rate(estimate: Mapping[str, Any]) -> str:
    """A rate with its interval for a narrow cell; the reason of a null stands in the JSON."""
    return f"{percent(estimate['value'])} {interval(estimate.get('low'), estimate.get('high'))}".rstrip()


def _print_table_result(result: Mapping[str, Any], *, no_color: bool) -> None:
    screen.result(truth_text("truth", result["truth"], {}))
    _print_judges(result["judges"], no_color=no_color)
    for group in result.get("groups", ()):
        name = ", ".join(f"{key} = {value}" for key, value in group["by"].items())
        screen.result("\n" + truth_text(name, group["truth"], {}))
        if group["judges"]:
            screen.result("")
            judge_table(group["judges"], no_color=no_color)
    _print_warnings(result)


def _print_judges(judges: Mapping[str, Any], *, no_color: bool) -> None:
    if not judges:
        return
    screen.result("")
    judge_table(judges, no_color=no_color)
    screen.result("")
    detail_table(judges, no_color=no_color)
    methods = dict.fromkeys(judge["fpr"]["method"] for judge in judges.values() if judge["fpr"]["method"])
    if methods:
        screen.result("FPR by " + "; ".join(methods))
    screen.result("iid FPR: the interval that would hold if episodes were independent")


def _print_kinds(judges: Mapping[str, Any]) -> None:
    """FPR on failures that look like success apart from the rest."""
    for label, judge in judges.items():
        hard, other = judge["hard"], judge["other"]
        if hard["value"] is not None or other["value"] is not None:
            parts = f"hard negatives {rate(hard)} (n {hard['n']}), other {rate(other)} (n {other['n']})"
            screen.result(f"{label:<16} FPR {parts}")


def _print_warnings(result: Mapping[str, Any]) -> None:
    for warning in result.get("warnings", ()):
        screen.result(f"note     {warning}")
