"""Can names, order, times or metadata tell source or outcome? `python tools/leak_test.py BENCH [--json]`.

The bench is verified and packed, and not copied since (`cp -a` keeps file times). Exit 1 where something
leaks, 3 where there is too little to tell. `make test-slow` runs it on the shipped episodes; run it on a set
before it is published, and quote it in the card of the set.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyrite.cli import screen
from pyrite.errors import PyriteError
from pyrite.report.numbers import coefficient, p_value
from pyrite.stages.leak_test import SHUFFLES, leak_test
from pyrite.store.bench import Bench


def lines(result: dict[str, Any]) -> Iterator[str]:
    """The result as text, one row a test."""
    packed = ", ".join(result["conditions"])
    yield f"{result['episodes']:,} episodes of {result['tasks']:,} tasks, packed as {packed}"
    yield f"{result['method']}; {result['shuffles']} shuffles"
    for row in result["rows"]:
        name = f"{row['place']:9} {row['group']:16} {row['label']:8}"
        if row["reason"]:
            yield f"{name} nothing to tell by: {row['reason'].replace('_', ' ')}"
            continue
        said = "LEAKS" if row["leaks"] else f"open: {row['open']}" if row["open"] else ""
        yield (
            f"{name} AUC {coefficient(row['auc'])}, by chance {coefficient(row['baseline'])} (95 %: "
            f"{coefficient(row['baseline_high'])}), p {p_value(row['p'])} {said}".rstrip()
        )
    nothing = f"undecided: {result['undecided']}" if result["undecided"] else "none"
    yield "leaks: " + ("; ".join(result["leaks"]) or nothing)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: expected a whole number from 1 to 100000")
    return int(text)


def main() -> int:
    """Test one bench; 1 where something leaks, 2 where there is nothing to test, 3 where too little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--shuffles", type=_positive, default=SHUFFLES)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    progress = screen.Progress()
    try:
        with progress.stage("leak test") as stage:
            result = leak_test(Bench(asked.bench), shuffles=asked.shuffles, seed=asked.seed, watch=stage)
            stage.summary = f"{len(result['leaks'])} leaks"
    except PyriteError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return exc.exit_code
    if asked.json:
        screen.result_json(result)
    else:
        screen.result("\n".join(lines(result)))
    screen.flush()
    return 1 if result["leaks"] else 3 if result["undecided"] else 0


if __name__ == "__main__":
    sys.exit(main())
