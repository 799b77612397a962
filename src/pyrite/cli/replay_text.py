"""The replay of a comparator as text for a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pyrite.audit.answers import NON_ANSWERS
from pyrite.cli import screen
from pyrite.report import numbers
from pyrite.report.text import cut

MOST_ROWS = 60
_WORDS = {
    "right": "",
    "false_accept": "FALSE ACCEPT",
    "false_reject": "FALSE REJECT",
    "equivalent": "declared right",
}
_STYLES = {"false_accept": screen.LOOK_HERE, "false_reject": "bold", "indeterminate": "bold", "right": "dim"}


def summary(document: Mapping[str, Any]) -> str:
    """One line of a replay."""
    counts = document["counts"]
    return (
        f"{counts['cases']} cases, {counts['false_accepts']} false accepts, "
        f"{counts['false_rejects']} false rejects, {counts['indeterminate']} without an answer"
    )


def show(document: Mapping[str, Any], *, no_color: bool) -> None:
    """Print every case that is not right, what each kind came to, and what it all says."""
    _kinds(document, no_color=no_color)
    rows = [case for case in document["cases"] if case["verdict"] != "right"]
    if rows:
        _cases(rows[:MOST_ROWS], no_color=no_color)
        if len(rows) > MOST_ROWS:
            _wrapped(f"{len(rows) - MOST_ROWS} more: --json lists all.")
    _threshold(document)
    if document["result"] is not None:
        got = document["result"]["got"] or NON_ANSWERS[document["result"]["why"]]
        _wrapped(f"result: {got} ({document['result']['answer']})")
    for name, why in document["not_made"].items():
        if name in {"harmless", "near_misses"}:
            _wrapped(f"not tried: {why}")
    screen.result("")
    screen.styled(f" {headline(document)}", "bold", no_color=no_color)
    for line in _next(document):
        screen.result(line)


def headline(document: Mapping[str, Any]) -> str:
    """What the replay says of the comparator, in one sentence."""
    counts, gold = document["counts"], document["gold"]
    if document["constant"] is not None:
        return f"It {document['constant']} everything: it tells nothing."
    if gold == "false_reject":
        return "It rejects the expected file itself: no episode can pass."
    if gold == "indeterminate":
        return "It gives no answer to the expected file itself: what it says of others cannot be counted."
    wrong = []
    if counts["false_accepts"]:
        wrong.append(f"accepts {numbers.count(counts['false_accepts'], 'wrong file')}")
    if counts["false_rejects"]:
        wrong.append(f"rejects {numbers.count(counts['false_rejects'], 'right file')}")
    if wrong:
        return f"It {' and '.join(wrong)}."
    if not counts["initial"] + counts["near_miss"]:
        return "It accepts the expected file; no wrong file could be made to test it."
    if not document["wrong_answered"]:
        none = numbers.count(counts["initial"] + counts["near_miss"], "wrong file")
        return f"It accepts the expected file and gives no answer to any of {none}: they are not told apart."
    return "It accepts every right file and rejects every wrong one that it gave an answer to."


def _kinds(document: Mapping[str, Any], *, no_color: bool) -> None:
    _wrapped(f"{document['comparator']} on {document['expected']}")
    names = {
        "gold": "the expected file itself",
        "harmless": "the same content, written anew",
        "initial": "the file before the task",
        "near_miss": "nearly the expected file",
    }
    rows = []
    for kind, text in names.items():
        cases = [case for case in document["cases"] if case["kind"] == kind]
        if not cases:
            continue
        right = sum(case["verdict"] == "right" for case in cases)
        none = sum(case["verdict"] == "indeterminate" for case in cases)
        wrong = sum(case["verdict"].startswith("false_") for case in cases)
        rows.append(
            [
                (f" {text}", ""),
                (cases[0]["wanted"], "dim"),
                (f"{len(cases)}", ""),
                (f"{right}", ""),
                (f"{wrong}", screen.LOOK_HERE if wrong else "dim"),
                (f"{none}", "bold" if none else "dim"),
            ]
        )
    columns = [(" file", "left"), ("wanted", "left"), *((name, "right") for name in ("cases", "right"))]
    screen.table([*columns, ("wrong", "right"), ("no answer", "right")], rows, no_color=no_color)


def _cases(cases: Sequence[Mapping[str, Any]], *, no_color: bool) -> None:
    """Two lines a case: what it came to and which it is; what is wrong with the file and what was said."""
    for case in cases:
        word = _WORDS.get(case["verdict"]) or "no answer"
        style = _STYLES.get(case["verdict"], "")
        screen.styled(f" {word:<14}{cut(case['name'], 84)}", style, no_color=no_color)
        said = case["answer"] or NON_ANSWERS.get(case["why"], "")
        text = f"{case['what']}; it said {said}" if said else case["what"]
        screen.result(f"{'':<15}{cut(text, 84)}")


def _threshold(document: Mapping[str, Any]) -> None:
    fractions = document["counts"]["fractions"]
    if not fractions:
        return
    text = f"{numbers.count(fractions, 'answer')} {'is' if fractions == 1 else 'are'} neither 0 nor 1"
    if document["accept"] is None:
        _wrapped(f"{text} and no answer until --accept says from where on a number passes.")
    else:
        _wrapped(f"{text}: {document['accept']} decided.")


def _next(document: Mapping[str, Any]) -> list[str]:
    if document["kept"] is not None:
        return [f"files    {document['kept']}: a folder a case, and the expected file"]
    if any(case["verdict"] != "right" for case in document["cases"]):
        return ["next     the same command with --keep DIR leaves the file of every case in DIR"]
    return ["next     the same command with --json"]


def _wrapped(text: str) -> None:
    for line in textwrap.wrap(text, 98, initial_indent=" ", subsequent_indent=" ", break_on_hyphens=False):
        screen.result(line)
