"""Judges on a recorded set as Markdown, a table a stratum: what the README quotes.

    .venv/bin/python tools/judge_table.py runs/full

Each judge in the first condition that it takes. Intervals by task, then by family where that is another; a
second table has the FPR by domain. The data digest is that of CARD.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyrite import flow
from pyrite.errors import PyriteError
from pyrite.records import SOURCES
from pyrite.report.numbers import interval, null, percent
from pyrite.stages.card import data_digest
from pyrite.store.bench import Bench, now

Figure = Mapping[str, Any]
COLUMNS = ("FPR, hard negatives", "FPR, other failures", "TPR", "FDR")


def tables(bench: Bench) -> Iterator[str]:
    """The lines of all tables."""
    result = flow.measure(bench.root, group=("domain",))
    yield f"{result['episodes']:,} episodes on {result['tasks']:,} tasks in {result['families']:,} families,"
    yield f"measured {now()[:10]}, data digest `{data_digest(bench)[:12]}`"
    for name in (source for source in SOURCES if source in result["strata"]):
        stratum = result["strata"][name]
        n = stratum["truth"]
        yield f"\n**{name}**: {n['pass']} passed, {n['fail']} failed, {n['indeterminate']} undecided\n"
        yield from _rates(_first(stratum["conditions"]))
        yield ""
        yield from _domains(stratum["groups"])


def _first(conditions: Mapping[str, Any]) -> dict[str, tuple[str, Figure]]:
    """Judge -> the first condition that it takes, and its figures there."""
    found: dict[str, tuple[str, Figure]] = {}
    for condition, cell in sorted(conditions.items()):
        for judge, block in cell["judges"].items():
            found.setdefault(judge, (condition, block))
    return found


def _rates(judges: Mapping[str, tuple[str, Figure]]) -> Iterator[str]:
    yield f"| judge | condition | {' | '.join(COLUMNS)} | missing |"
    yield "|---|---|" + "--:|" * (len(COLUMNS) + 1)
    for judge, (condition, block) in judges.items():
        cells = [_cell(block[key]) for key in ("hard", "other", "tpr", "fdr")]
        yield f"| {judge} | {condition} | {' | '.join(cells)} | {block['counts']['missing']} |"


def _cell(figure: Figure) -> str:
    """A rate of how many, by task, by family."""
    if figure["value"] is None:
        return null()
    own = {"low": figure["low"], "high": figure["high"]}
    ends = [figure.get(key) or own for key in ("by_task", "by_family")]
    both = " ".join(dict.fromkeys(interval(one["low"], one["high"]) for one in ends))
    return f"{percent(figure['value'])} of {figure['n']} {both}".rstrip()


def _domains(groups: list[Mapping[str, Any]]) -> Iterator[str]:
    """FPR of all failures, by domain: accepted of failed."""
    shown = [(group["by"]["domain"] or "none", _first(group["conditions"])) for group in groups]
    yield f"| FPR by domain | {' | '.join(name for name, _ in shown)} |"
    yield "|---|" + "--:|" * len(shown)
    for judge in shown[0][1]:
        counts = [judges[judge][1]["counts"] for _, judges in shown]
        cells = [f"{c['fp']} of {c['fp'] + c['tn']}" for c in counts]
        yield f"| {judge} | {' | '.join(cells)} |"


def main() -> int:
    """Print the tables of one bench that is verified and judged."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bench", type=Path)
    try:
        print("\n".join(tables(Bench(parser.parse_args().bench))))
    except PyriteError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return exc.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
