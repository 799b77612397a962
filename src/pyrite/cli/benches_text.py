"""Agents of two benches as text for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyrite.cli import screen
from pyrite.cli.blocks import LISTED, note, wrapped
from pyrite.measure.reasons import words
from pyrite.report import numbers


def compared(result: Mapping[str, Any]) -> str:
    """One line of a comparison of benches."""
    tasks = {pair["tasks"]["compared"] for pair in result["pairs"]}
    said = numbers.count(tasks.pop(), "task") if len(tasks) == 1 else f"up to {max(tasks)} tasks"
    return f"{numbers.count(len(result['pairs']), 'agent')} ({result['stratum']}) on {said}"


def show(result: Mapping[str, Any], *, no_color: bool) -> None:
    """A block a pair of agents: both rates, the difference, what was left out, what graders explain."""
    a, b = result["a"], result["b"]
    for letter, one in (("A", a), ("B", b)):
        images = f", image {', '.join(one['images'])}" if one["images"] else ""
        screen.result(wrapped(screen.printable(f"{letter}  {one['path']}{images}"), indent=3))
    for pair in result["pairs"]:
        screen.result("")
        for number, line in enumerate(_pair(result, pair)):
            text = wrapped(screen.printable(line), indent=11)
            if number == 0 and pair["differs"]:
                screen.styled(text, screen.LOOK_HERE, no_color=no_color)
            else:
                screen.result(text)
    screen.result("")
    for warning in result["warnings"]:
        screen.result(note(warning))


def _pair(result: Mapping[str, Any], pair: Mapping[str, Any]) -> Iterator[str]:
    tasks = pair["tasks"]
    who = pair["a"] if pair["a"] == pair["b"] else f"{pair['b']} (B) less {pair['a']} (A)"
    yield f"{who}, {result['stratum']}: {_difference(pair)}"
    for letter in "ab":
        rate = pair["rates"][letter]
        yield (
            f"  {letter.upper()}        {numbers.rate(rate)}: {rate['pass']:,} pass, {rate['fail']:,} fail, "
            f"{rate['indeterminate']:,} indeterminate of {rate['attempted']:,}"
        )
    yield (
        f"  tasks    {tasks['compared']:,} compared, each weighing one; {len(tasks['left_out']):,} left out"
        + (f"; {len(tasks['partly']):,} with some episodes indeterminate" if tasks["partly"] else "")
    )
    yield from _tested(result, pair)
    for one in tasks["left_out"][:LISTED]:
        yield f"  left out {one['task_id']}: {one['why']}"
    if len(tasks["left_out"]) > LISTED:
        yield f"  left out and {len(tasks['left_out']) - LISTED:,} more"
    yield from _grader(pair)


def _difference(pair: Mapping[str, Any]) -> str:
    found = pair["difference"]
    if found["value"] is None:
        return numbers.null(found["reason"])
    ends = numbers.points_interval(found["low"], found["high"]) or f"[no interval: {words(found['reason'])}]"
    return f"{numbers.points(found['value'])} {ends}"


def _tested(result: Mapping[str, Any], pair: Mapping[str, Any]) -> Iterator[str]:
    found = pair["difference"]
    if found["method"]:
        yield f"  interval {100 * result['level']:.0f} %, {found['method']}"
    if pair["p_signflip"] is None:
        return
    said = f"  test     p = {numbers.p_value(pair['p_signflip'])}, signs flipped by {pair['unit']}, "
    said += pair["signflip_method"]
    if len(result["pairs"]) > 1:
        said += f"; Holm {numbers.p_value(pair['p_holm'])}"
    if not pair["differs"]:
        seen = numbers.distance(pair["detectable_difference"])
        said += f": not shown to differ; {seen} would be seen 8 times in 10"
    yield said


def _grader(pair: Mapping[str, Any]) -> Iterator[str]:
    grader = pair["grader"]
    if grader["worst_case"] is None:
        return
    shares = grader["indeterminate"]
    if not shares["a"]["n"] and not shares["b"]["n"]:
        yield "  graders  every episode of the common tasks has an outcome: they explain nothing"
        return
    told = [
        f"{letter.upper()} {one['n']:,} of {one['attempted']:,} ({', '.join(one['causes']) or 'none'})"
        for letter, one in shares.items()
    ]
    yield f"  graders  indeterminate on the {grader['tasks']:,} common tasks: {'; '.join(told)}"
    holds = "its sign holds" if grader["sign_holds"] else "its sign may be the graders'"
    yield (
        f"  graders  at worst {numbers.points_interval(*grader['worst_case'])} pp, were all of them fails or "
        f"passes: {holds}"
    )
    if grader["explained"] is not None:
        yield (
            f"  graders  counted as fails they would make it {numbers.points(grader['two_outcome'])}, "
            f"{numbers.points(grader['explained'])} from what was measured"
        )
