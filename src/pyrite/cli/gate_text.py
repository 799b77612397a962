"""A gate as text for a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyrite.cli import screen
from pyrite.report import gate_words

_STYLE = {"PASS": "green", "FAIL": "bold red", "INSUFFICIENT": "yellow"}
_MARK = {"PASS": "●", "FAIL": "■", "INSUFFICIENT": "◇"}


def summary(result: Mapping[str, Any]) -> str:
    """One line of a gate."""
    blocks = result["judges"]
    if len(blocks) == 1:
        return f"{blocks[0]['judge']}: {result['answer']}"
    return f"{result['answer']}, {gate_words.of_lines(blocks)}"


def show(result: Mapping[str, Any], out: Path | None, *, no_color: bool) -> None:
    """Print each judge with its ten lines, then the answer and where the certificate is."""
    for block in result["judges"]:
        screen.styled(f"{block['judge']}, {block['condition']}", "bold", no_color=no_color)
        for line in block["lines"]:
            _line(line, result["limits"], no_color=no_color)
        screen.styled(" May it be a reward?  ", "", no_color=no_color, end="")
        screen.styled(gate_words.verdict(block), _STYLE[block["answer"]], no_color=no_color)
        screen.result("")
    limits = result["limits"]
    bounds = f"one-sided {100 * limits['confidence']:g} % bounds, clustered by task"
    looks = f", shared by {limits['looks']} looks" if limits["looks"] > 1 else ""
    screen.result(f"bounds   {bounds}{looks}; {gate_words.of_lines(result['judges'])} tested")
    for text in result["warnings"]:
        screen.result(textwrap.fill(f"note     {text}", 99, subsequent_indent="         "))
    screen.result(f"valid    for {result['holds_for']}")
    if out is not None:
        screen.result(f"written  {out}")
    else:
        screen.result("next     the same command with -o certificate.json keeps limits, bounds and digests")


def _line(line: Mapping[str, Any], limits: Mapping[str, Any], *, no_color: bool) -> None:
    answer = line["answer"]
    screen.styled(f" {line['line']:>2} ", "", no_color=no_color, end="")
    screen.styled(f"{_MARK[answer]} {answer:<13}", _STYLE[answer], no_color=no_color, end="")
    screen.result(line["title"])
    texts = (gate_words.asked(line["line"], limits), gate_words.found(line))
    for text in texts:
        screen.result(textwrap.fill(text, 99, initial_indent=" " * 19, subsequent_indent=" " * 19))
