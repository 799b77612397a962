"""The page: everything that is shown, rendered by templates that escape all they are given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import pyrite
from pyrite.measure.finding import finding, subject
from pyrite.report import gate_words, graders, kinds, numbers, pairs, plots, sections, slopes
from pyrite.report import scores as score_words
from pyrite.report.endings import MAX_LINES, Endings
from pyrite.report.text import cut, label, lines, plain

TEMPLATES = Path(__file__).parent / "templates"
_RATE = re.compile(r"\d+\.\d %(?: \[\d+\.\d, \d+\.\d\])?")


def render(
    result: Mapping[str, Any],
    *,
    endings: Endings | None,
    no_endings: str,
    compared: Mapping[str, Any] | None = None,
    no_pairs: str = "the judges were not compared",
    gated: Mapping[str, Any] | None = None,
    no_gate: str = "the judges were not gated",
    grader: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any],
    options: Mapping[str, Any],
) -> str:
    """The whole page as HTML. `no_...` says why `endings`, `compared` or `gated` is None."""
    strata = sections.strata(result)
    page = environment().get_template("page.html.j2")
    return page.render(
        result=result,
        version=pyrite.__version__,
        facts=facts(result),
        finding=finding_parts(result),
        basis=basis(result),
        strata=strata,
        truth_axis=sections.truth_axis(result),
        causes=sections.causes(result),
        methods=sections.methods(result),
        endings=endings,
        no_endings=no_endings,
        compared=compared,
        no_pairs=no_pairs,
        gated=gated,
        no_gate=no_gate,
        scores=score_words.section(result),
        grader=grader or {"suite_bugs": [], "broke": [], "held": []},
        max_lines=MAX_LINES,
        inputs=inputs,
        options=options,
    )


def facts(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(label, value) of the header."""
    blocks = result["strata"].values()
    agents = sorted({agent for block in blocks for agent in block["by_agent"]})
    judges, conditions = sections.judge_names(result), sections.condition_names(result)
    runs = {judge["runs"] for _, _, _, judge in sections.judges(result)}
    asked = "one run each" if runs == {1} else f"up to {max(runs)} runs each" if runs else ""
    others = [name for name in result["strata"] if name != result["lead"]]
    lead = result["lead"] or "none has failures"
    return [
        ("episodes", f"{result['episodes']:,}"),
        ("tasks", f"{result['tasks']:,}"),
        ("agents", _listed(agents)),
        ("judges", f"{len(judges)}, {asked}" if judges else "none asked"),
        ("condition" if len(conditions) == 1 else "conditions", _listed(conditions, most=3) or "none"),
        ("leading stratum", lead + (f"; also {_listed(others)}" if others and result["lead"] else "")),
        ("truth", "people" if result["truth_from"] == "labels" else "verifier"),
    ]


def finding_parts(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(text, emphasis) of the finding in pieces: "", "strong", or "look".

    The rates of a judge that accepts failures are strong; "look" is its FPR, the first of them, where
    even the lower bound is above the target.
    """
    said = result.get("finding") or finding(result)
    found, chosen = _subject(result), subject(result)
    if found is None or chosen is None or not found["counts"]["fp"]:
        return [(_RATE.sub(_thin, said), "")]
    named = f"{chosen[1]} accepts "
    end = said.index(named) + len(named) if named in said else 0
    parts, css = [(said[:end], "")], "look" if sections.above_target(found["fpr"]) else "strong"
    for match in _RATE.finditer(said, end):
        parts.append((said[end : match.start()], ""))
        parts.append((_thin(match), css))
        end, css = match.end(), "strong"
    return [part for part in [*parts, (said[end:], "")] if part[0]]


def _thin(rate: re.Match[str]) -> str:
    return rate.group().replace(" %", f"{numbers.THIN}%")


def basis(result: Mapping[str, Any]) -> str:
    """The line below the finding: n, tasks, method, and what independence would have given."""
    found = _subject(result)
    level = f"{100 * result['level']:.0f}{numbers.THIN}%"
    if found is None:
        return f"Intervals: {level}. The figures that exist stand below, each null with its reason."
    fpr = found["fpr"]
    said = f"n = {fpr['n']:,} failed episodes in {numbers.count(fpr['clusters'] or 0, 'task')}"
    if fpr["n_eff"] is not None:
        said += f" (effective n {fpr['n_eff']:,.0f})"
    said += "."
    if fpr["method"]:
        said += f" Interval: {level} {fpr['method']}."
    else:
        said += f" No interval: {numbers.words(fpr['reason'] or 'unknown')}."
    if fpr["iid"]:
        alone = numbers.interval(fpr["iid"]["low"], fpr["iid"]["high"])
        said += f" If episodes were independent it would be {alone}."
    return said


def _subject(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    chosen = subject(result)
    if chosen is None:
        return None
    condition, judge = chosen
    found: Mapping[str, Any] = result["strata"][result["lead"]]["conditions"][condition]["judges"][judge]
    return found


def _listed(names: list[str], most: int = 4) -> str:
    """A few names, or how many."""
    return ", ".join(cut(name, 30) for name in names) if len(names) <= most else f"{len(names):,}"


def environment() -> Environment:
    """Templates of ours only; every value is made visible and escaped, an unknown name is an error."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    found.globals.update(
        numbers=numbers,
        pairs=pairs,
        plots=plots,
        sections=sections,
        slopes=slopes,
        gate_words=gate_words,
        graders=graders,
        kinds=kinds,
        score_words=score_words,
        cut=cut,
        label=label,
        lines=lines,
    )
    return found


def _visible(value: Any) -> Any:
    if value is None:
        raise TypeError("a template printed None: what is not known must say so")
    if isinstance(value, Markup):
        return Markup("\n").join(Markup(plain(line)) for line in value.split("\n"))  # noqa: S704 - was markup
    return plain(value) if isinstance(value, str) else value
