"""Ranks, human labels and what to read by hand, as lines of a measurement."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyrite.cli import screen
from pyrite.measure.finding import is_shortcut
from pyrite.report.numbers import coefficient, count, few, percent, points, points_interval, rate, ratio

MOST = 6
"""Groups that are named in a line."""
LEAST = 3
"""Pairs of groups that are named in a line."""


def print_ranks(judges: Mapping[str, Mapping[str, Any] | None]) -> None:
    """A line a ranking: which agents change place, and how many pairs keep their order."""
    for name, ranks in judges.items():
        if ranks is None or ranks["reason"] or is_shortcut(name):
            continue
        groups = ranks["groups"]
        moved = [
            f"{one[:40]} {groups[one]['true_rank']:g}→{groups[one]['judged_rank']:g}"
            for one in ranks["rank_changes"][:MOST]
        ]
        more = len(ranks["rank_changes"]) - len(moved)
        places = ", ".join([*moved, *([f"{more} more"] if more > 0 else [])]) or "no place changes"
        kept = f"pairs in the same order {rate(ranks['concordance'])}"
        _print(f"ranks    {name[:60]} by {ranks['by']}: {places}; {kept}{_least_sure(ranks['pairs'])}")


def _least_sure(pairs: Sequence[Mapping[str, Any]]) -> str:
    """The pairs that a judge would most likely put in the wrong order, with the chance of the right one."""
    known = [one for one in pairs if one["probability"] is not None]
    least = sorted(known, key=lambda one: one["probability"])[:LEAST]
    shown = [f"{one['a'][:40]} and {one['b'][:40]} {percent(one['probability'])}" for one in least]
    return f"; chance that it orders as truth does, lowest: {', '.join(shown)}" if shown else ""


def print_people(result: Mapping[str, Any]) -> None:
    """What people say of the episodes, and what is left to read, of the leading stratum."""
    if people := result.get("people"):
        for text in _people(people):
            _print(text)
    for stratum, block in (result.get("both") or {}).items():
        _print_both(stratum, block)
    if health := result.get("health"):
        where: dict[tuple[str, str], list[str]] = {}
        for condition, judges in health["judges"].items():
            for name, one in judges.items():
                if not is_shortcut(name) and (one["to_read"]["open"] or one["adjudicated"]):
                    where.setdefault((name, _to_read(one)), []).append(condition)
        for (name, text), conditions in where.items():
            _print(f"to read  {name[:60]}, {', '.join(conditions)}: {text}")
        _print_kinds(health["judges"])


def _print_both(stratum: str, block: Mapping[str, Any]) -> None:
    """Each judge against verifier and people, on the episodes that both decided."""
    _print(
        f"both     {stratum}: {count(block['episodes'], 'episode')} with an outcome of verifier and people, "
        f"{block['differ']:,} of them different"
    )
    for condition, judges in block["conditions"].items():
        for name, one in judges.items():
            if is_shortcut(name):
                continue
            said = [
                f"{figure.upper()} {_of(one['verifier'][figure])} by the verifier, "
                f"{_of(one['labels'][figure])} by people"
                for figure in ("fpr", "tpr")
            ]
            _print(f"         {name[:60]}, {condition}: {'; '.join(said)}")


def _of(estimate: Mapping[str, Any]) -> str:
    """A rate with its interval, null with its reason, or how many of how many where there are few."""
    return rate(estimate) if estimate["value"] is None else _shown(estimate).removeprefix("in ")


def _print_kinds(judges: Mapping[str, Mapping[str, Any]]) -> None:
    """Failure categories as expected or not, and the FPR at a declared mix; judges alike stand once."""
    where: dict[tuple[str, str], list[str]] = {}
    for condition, found in judges.items():
        for name, one in found.items():
            if not is_shortcut(name):
                for text in _kinds(one):
                    where.setdefault((name, text), []).append(condition)
    for (name, text), conditions in where.items():
        _print(f"kinds    {name[:60]}, {', '.join(conditions)}: {text}")


def _kinds(one: Mapping[str, Any]) -> Iterator[str]:
    """Each category against all failures of the other kind, where there are enough of both."""
    categories = one["by_category"]["categories"] if one["by_category"] else {}
    for answer in ("as expected", "not as expected", "not shown"):
        said = [
            f"{code} ({kind['expected']}) {_apart(kind['measured']['difference'])}"
            for code, kind in categories.items()
            if kind["measured"]["answer"] == answer
        ]
        if said:
            yield f"{answer} against the other kind: {', '.join(said)}"
    if one["standardised"] is not None:
        yield f"FPR at the declared mix of categories {rate(one['standardised'])}"


def _people(people: Mapping[str, Any]) -> Iterator[str]:
    who = "1 person" if len(people["annotators"]) == 1 else f"{len(people['annotators']):,} people"
    counts = ", ".join(
        f"{people[key]:,} {word}"
        for key, word in (
            ("pass", "pass"),
            ("fail", "fail"),
            ("indeterminate", "undecided"),
            ("adjudicated", "adjudicated"),
        )
    )
    yield f"people   {count(people['episodes'], 'episode')} labelled by {who}: {counts}"
    pairwise = people["agreement"]["pairwise"]
    if pairwise["value"] is not None:
        yield f"         two of them agree {_shown(pairwise)}"
    verifier = people["verifier"]
    if verifier["n"]:
        kappa = verifier["kappa"]
        shown = coefficient(kappa["value"], reason=kappa["reason"])
        yield f"         people and verifier agree {_shown(verifier['agreement'])}, kappa {shown}"
    changed = people["flips"]["changed"]
    if changed["value"] is not None:
        flips = people["flips"]
        yield (
            f"         informed people change {_shown(changed)} answers: {flips['to_pass']} to pass, "
            f"{flips['to_fail']} to fail"
        )


def _to_read(one: Mapping[str, Any]) -> str:
    listed = one["to_read"]
    text = (
        f"{count(len(listed['false_positives']), 'false positive')} and as a control "
        f"{count(len(listed['true_negatives']), 'true negative')}; {len(listed['open']):,} not read by anyone"
    )
    after = one["adjudicated"]
    if after is None:
        return text
    before, now = one["fpr"], after["fpr"]
    moved = f"{count(after['moved'], 'outcome')} moved"
    if before["value"] is None or now["value"] is None:
        return f"{text}; {moved}"
    return (
        f"{text}; FPR {rate(before)} as verified, {rate(now)} as people say "
        f"({points(now['value'] - before['value'])}, {moved})"
    )


def _shown(estimate: Mapping[str, Any]) -> str:
    """A rate, or how many of how many where there are few."""
    n = int(estimate["n"])
    return f"in {ratio(round(estimate['value'] * n), n)}" if few(n) else rate(estimate)


def _print(text: str) -> None:
    screen.result(textwrap.fill(text, 99, subsequent_indent="         "))


def _apart(difference: Mapping[str, Any]) -> str:
    return f"{points(difference['value'])} {points_interval(difference['low'], difference['high'])}"
