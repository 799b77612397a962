"""A gate's lines in words, for the terminal and for the report: what was asked, and what stood there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyrite.report.numbers import count, percent, points, rate, ratio, words

YES = {"PASS": "Yes", "FAIL": "No", "INSUFFICIENT": "Not decided"}
"""The summary of a gate."""
PLAIN = ("the limit lies between the bounds",)
"""Reasons that the bounds beside the limit say themselves."""


def asked(number: int, limits: Mapping[str, Any]) -> str:
    """What a line requires, with its limit; `limits` as they stand in a certificate."""
    one_a_task = limits["sampling"] == "one-per-task"
    texts = (
        f"FPR, natural and hard, upper bound ≤ {percent(limits['fpr'])}",
        f"FDR {'with one episode a task' if one_a_task else 'at the lowest success rate'}, upper bound ≤ "
        f"{percent(limits['fdr'])}",
        f"TPR, lower bound ≥ {percent(limits['tpr'])}; unusable and missing answers ≤ "
        f"{percent(limits['unusable'])} each",
        f"FPR with the claim minus without, upper bound ≤ {points(limits['claim_effect'])}",
        f"two runs agree, lower bound ≥ {percent(limits['consistency'])}",
        f"FPR of every category or group (n ≥ {limits['min_cell']}), upper bound ≤ "
        f"{percent(limits['leaky_cell'])}",
        "a certificate of the threshold, on other tasks",
        f"verifiers replayed, indeterminate ≤ {percent(limits['indeterminate'])}, false positives read",
        "no package tells the truth; all judges saw the same",
        "model, date, prompt, settings, seed",
    )
    return texts[number - 1]


def found(line: Mapping[str, Any]) -> str:
    """What stood there, of the part that decides the line, else of its first part with a figure."""
    deciding = [one for one in line["parts"] if one["answer"] == line["answer"]]
    first = next((one for one in deciding if one.get("value") is not None), deciding[0])
    text = part(first)
    others = [one for one in line["parts"] if one is not first and one.get("value") is not None]
    if line["line"] != 6 and others:
        return f"{text}; {part(others[0])}"
    if line["line"] == 6 and first.get("value") is not None:
        return f"worst: {text}"
    return text


def part(one: Mapping[str, Any]) -> str:
    """One part with its figure and bounds, or the reason why there is none."""
    if one.get("value") is None:
        held = one.get("held_out_fpr")
        elsewhere = f"; FPR on held-out tasks {rate(held)}" if held else ""
        return f"{one['name']}: {words(one['reason'])}{elsewhere}"
    wide = points if "flip_in" in one else percent
    if one["low"] is None or one["high"] is None:
        counts = ratio(round(one["events"]), one["n"]) if "events" in one else ""
        return f"{one['name']} {counts}, {words(one['reason'])}"
    text = (
        f"{one['name']} {wide(one['value'])}, bounds {_bare(wide(one['low']))} to {_bare(wide(one['high']))}"
    )
    if one["answer"] == "INSUFFICIENT" and one["reason"] not in PLAIN:
        return f"{text}: {words(one['reason'])}"
    if one.get("success_rate") is not None:
        return f"{text} ({percent(one['success_rate'])}, {one['of']})"
    if one.get("events") and "flip_in" not in one:
        return f"{text}, {ratio(round(one['events']), one['n'])}"
    return f"{text}, n {one['n']:,}"


def verdict(block: Mapping[str, Any]) -> str:
    """The answer for one judge: Yes, No or Not decided, with the lines behind it."""
    failed, open_ones = len(block["failed"]), len(block["insufficient"])
    said = [f"{failed} fail"] * bool(failed) + [f"{open_ones} insufficient"] * bool(open_ones)
    return f"{YES[block['answer']]}" + (f": {', '.join(said)}" if said else ": all ten lines pass")


def of_lines(blocks: Sequence[Mapping[str, Any]]) -> str:
    """How many lines of how many judges were tested.

    >>> of_lines([{"lines": [1] * 10}])
    '10 lines of 1 gate'
    """
    return f"{count(sum(len(one['lines']) for one in blocks), 'line')} of {count(len(blocks), 'gate')}"


def _bare(text: str) -> str:
    """A bound without its unit, which stands after the value already."""
    return text.rstrip("% p").rstrip("\N{NARROW NO-BREAK SPACE}")
