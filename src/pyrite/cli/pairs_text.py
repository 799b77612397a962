"""Comparisons and plans as text for a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pyrite.cli import screen
from pyrite.measure.reasons import words
from pyrite.report import numbers
from pyrite.report.numbers import THIN

WIDTH = 100
_RATES = {"fpr": "FPR, failed episodes", "tpr": "TPR, passed episodes"}
_SOURCES = {
    "given": "given",
    "bench": "seen",
    "table": "seen",
    "default": "assumed",
    "independent errors": "independent errors",
}
_NAMES = {
    "fpr": "FPR",
    "difference": "difference",
    "discordant": "disagree on",
    "half_width": "half-width",
    "limit": "limit",
    "icc": "ICC",
    "icc_difference": "ICC of differences",
    "success_rate": "success rate",
}


def compared(result: Mapping[str, Any]) -> str:
    """One line of a comparison."""
    n = result["rows"] if "rows" in result else result["episodes"]
    of = f" ({result['stratum']})" if result["stratum"] else ""
    episodes = numbers.count(n, "episode")
    pairs, tasks = numbers.count(len(result["pairs"]), "pair"), numbers.count(result["tasks"], "task")
    return f"{pairs}, {episodes}{of} in {tasks}"


def print_compare(result: Mapping[str, Any], *, no_color: bool) -> None:
    """A table a metric and condition, then how it was made and what it could not show."""
    for family in result["families"]:
        pairs = [
            pair
            for pair in result["pairs"]
            if (pair["metric"], pair["condition"]) == (family["metric"], family["condition"])
        ]
        stratum = f", {result['stratum']}" if result["stratum"] else ""
        screen.result(f"{_RATES[family['metric']]} ({family['condition']}{stratum}): a minus b")
        if not family["tested"]:
            screen.result(f"  null: {', '.join(sorted({words(pair['reason']) for pair in pairs}))}\n")
            continue
        _pair_table(pairs, no_color=no_color)
        for line in _family_lines(family, pairs):
            screen.result(_wrapped(line))
        screen.result("")
    screen.result(_wrapped(_method(result)))
    for warning in result["warnings"]:
        screen.result(_wrapped(f"note: {warning}"))


def _pair_table(pairs: list[Mapping[str, Any]], *, no_color: bool) -> None:
    columns = [
        ("a − b", "left"),
        ("difference pp", "right"),
        ("p Holm", "right"),
        ("only a/b", "right"),
        ("n", "right"),
        ("tasks", "right"),
        ("detectable", "right"),
        ("", "left"),
    ]
    rows = []
    for pair in pairs:
        look = screen.LOOK_HERE if pair["differs"] else ""
        found = pair["difference"]
        ends = numbers.points_interval(found["low"], found["high"])
        shown = (
            "null" if found["value"] is None else f"{numbers.signed(100 * found['value'])} {ends}".rstrip()
        )
        rows.append(
            [
                (f"{pair['a']} − {pair['b']}", look),
                (shown, look),
                (numbers.p_value(pair["p_holm"]), look),
                (f"{pair['a_only']:,}/{pair['b_only']:,}", ""),
                (f"{pair['n']:,}", ""),
                (f"{pair['clusters']:,}", ""),
                (numbers.distance(pair["detectable_difference"]), ""),
                (verdict(pair), look),
            ]
        )
    screen.table(columns, rows, no_color=no_color, fold=True)


def verdict(pair: Mapping[str, Any]) -> str:
    """differs, not shown to differ, or why it could not be tested."""
    if pair["differs"] is None:
        return f"null: {words(pair['reason'])}"
    return "differs" if pair["differs"] else "not shown to differ"


def _family_lines(family: Mapping[str, Any], pairs: list[Mapping[str, Any]]) -> Iterator[str]:
    omnibus = family["cochrans_q"]
    if omnibus is not None and omnibus["p"] is not None:
        yield (
            f"all judges at once: Cochran's Q {omnibus['statistic']:.1f}, p {numbers.p_value(omnibus['p'])} "
            f"on {numbers.count(omnibus['n'], 'episode')}, taken for independent"
        )
    naive = [
        pair
        for pair in pairs
        if pair["differs"] is False and pair["p_mcnemar"] is not None and pair["p_mcnemar"] <= family["alpha"]
    ]
    if naive:
        yield (
            "McNemar's test, which takes the episodes of one task for independent and each pair for the only "
            f"one, would have called {len(naive)} of the pairs not shown to differ different"
        )
    for pair in pairs:
        if pair["lost"]:
            left_out = numbers.count(pair["lost"], "episode")
            yield f"{pair['a']} {numbers.MINUS} {pair['b']}: {left_out} left out, not decided by both"


def _method(result: Mapping[str, Any]) -> str:
    level = f"{100 * result['level']:.0f}{THIN}%"
    methods = list(dict.fromkeys(p["signflip_method"] for p in result["pairs"] if p["signflip_method"]))
    units = list(dict.fromkeys(p["unit"] for p in result["pairs"]))
    made = f" ({', '.join(methods)})" if methods else ""
    return (
        f"Test: sign flips by {' or '.join(units)}{made}, p after Holm over the pairs of a table. Interval: "
        f"{level}, one pair at a time, widened where its own test does not reject 0. "
        f"detectable: the smallest difference of one pair, before Holm, "
        f"found with {100 * result['power']:.0f}{THIN}% power on these episodes."
    )


def print_plan(result: Mapping[str, Any], *, no_color: bool) -> None:
    """What is assumed, then a row a question."""
    screen.result(_wrapped("assumed: " + ", ".join(_assumptions(result["assumptions"]))))
    screen.result("")
    columns = [
        ("to know", "left"),
        ("independent", "right"),
        ("failed episodes", "right"),
        ("tasks", "right"),
        ("episodes", "right"),
    ]
    rows = []
    for one in result["questions"]:
        cells = [
            one["question"],
            *(_number(one[key]) for key in ("independent", "failed", "tasks", "episodes")),
        ]
        rows.append([(cell, "") for cell in cells])
    screen.table(columns, rows, no_color=no_color, fold=True)
    for one in result["questions"]:
        if one["failed"] is None:
            screen.result(_wrapped(f"null: {one['question']}: {one['reason']}"))
    if any(one["failed"] is not None and one["episodes"] is None for one in result["questions"]):
        screen.result("episodes null: give --success-rate, only failed episodes say anything of an FPR")
    if (found := result["detectable"]) is not None:
        shown = numbers.distance(found["value"])
        why = f": {words(found['reason'])}" if found["value"] is None else ""
        screen.result(
            _wrapped(
                f"{numbers.count(found['failed'], 'failed episode')} can tell judges apart that differ by "
                f"{shown}{why} (were they independent: {numbers.distance(found['independent'])})"
            )
        )
    screen.result(
        _wrapped(
            f"{100 * result['power']:.0f}{THIN}% power, {100 * result['level']:.0f}{THIN}% level; "
            "independent: failed episodes if each were of a task of its own"
        )
    )
    for warning in result["warnings"]:
        screen.result(_wrapped(f"note: {warning}"))


def _assumptions(assumed: Mapping[str, Any]) -> Iterator[str]:
    for name, title in _NAMES.items():
        one = assumed[name]
        if one["value"] is not None:
            shown = f"{one['value']:.2f}" if name.startswith("icc") else numbers.percent(one["value"])
            if name in {"difference", "half_width"}:
                shown = numbers.distance(one["value"])
            yield f"{title} {shown} ({_source(one)})"
    one = assumed["per_task"]
    yield f"{one['value']:.3g} failed episodes a task ({_SOURCES[one['from']]})"


def _source(one: Mapping[str, Any]) -> str:
    """Where an assumption is from, of which judge, and what was seen where more is taken."""
    seen = f"{one['seen']:.2f} seen" if "seen" in one else _SOURCES[one["from"]]
    return f"{seen}, {screen.printable(one['of'])}" if one.get("of") else seen


def _number(value: int | None) -> str:
    return "null" if value is None else f"{value:,}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
