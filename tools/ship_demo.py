"""Choose the shipped demo set from a recorded and verified bench, and put it into the package.

    .venv/bin/python tools/ship_demo.py runs/full [--dry-run]

A stratified sample: twenty tasks with the scripted episode that passes and one injected defect of it, of the
category that is rarest so far; then one more task a family, with an agent that fails by itself or with
something taken away, until about sixty are chosen. Then the last screens are read for the OCR cache.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pyrite import flow
from pyrite.cli.screen import Progress
from pyrite.episodes.shipped import DEMO, ship, unpack
from pyrite.judges import ocr
from pyrite.records import Meta, Outcome, Truth
from pyrite.store.bench import Bench

LIMIT_BYTES = 14_000_000
COUNT, PAIRS = 60, 22
JUDGES = "screen-rules"


@dataclass(frozen=True)
class Row:
    """One episode that may ship."""

    meta: Meta
    truth: Truth
    size: int
    """Bytes of its screens and its end state."""

    @property
    def kind(self) -> str:
        """What of it should be there at least once: its category, else how it came to pass."""
        return self.truth.category.value if self.truth.category else self.truth.outcome.value


@dataclass
class Chosen:
    """What is chosen so far."""

    rows: list[Row] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    defects: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.kinds[row.kind] += 1
        self.defects[self.how(row)] += 1

    @staticmethod
    def how(row: Row) -> str:
        return row.meta.perturbation or (row.meta.weakened or row.meta.agent.name).partition("=")[0]

    def rarest(self, rows: Iterable[Row]) -> Row | None:
        """Of these the one whose category, then whose origin, is rarest so far; the smallest of equals."""
        return min(
            rows,
            key=lambda row: (
                self.kinds[row.kind],
                self.defects[self.how(row)],
                row.size,
                row.meta.episode_id,
            ),
            default=None,
        )


def rows_of(bench: Bench) -> list[Row]:
    """The episodes that have an outcome, and a category where they fail."""
    found = []
    for name in bench.episode_ids():
        meta, truth, paths = bench.meta(name), bench.truth(name), bench.paths.episode(name)
        if truth is None or truth.outcome is Outcome.INDETERMINATE or not paths.final_state.is_file():
            continue
        if truth.outcome is Outcome.FAIL and truth.category is None:
            continue
        size = paths.final_state.stat().st_size + sum(p.stat().st_size for p in paths.screens.iterdir())
        found.append(Row(meta, truth, size))
    return found


def choose(rows: list[Row], count: int = COUNT, pairs: int = PAIRS) -> list[Row]:
    """Pairs first, then single episodes of tasks that are not there yet; domains take turns."""
    chosen, families = Chosen(), _turns(rows)
    by_parent: dict[str, list[Row]] = {}
    for row in rows:
        if row.meta.parent is not None and row.truth.outcome is Outcome.FAIL:
            by_parent.setdefault(row.meta.parent, []).append(row)
    paired: set[str] = set()
    for family in families:
        parents = [r for r in family if r.meta.episode_id in by_parent and r.truth.outcome is Outcome.PASS]
        defect = chosen.rarest(d for parent in parents for d in by_parent[parent.meta.episode_id])
        if defect is not None and len(paired) < pairs:
            chosen.add(next(r for r in parents if r.meta.episode_id == defect.meta.parent))
            chosen.add(defect)
            paired.add(defect.meta.task_id)
    taken = set(paired)
    while len(chosen.rows) < count:
        before = len(chosen.rows)
        for family in families:
            own = [r for r in family if r.meta.parent is None and r.meta.task_id not in taken]
            other = chosen.rarest(r for r in own if r.meta.agent.name != "scripted" or r.meta.weakened)
            if other is not None and len(chosen.rows) < count:
                chosen.add(other)
                taken.add(other.meta.task_id)
        if len(chosen.rows) == before:
            break
    return chosen.rows


def _turns(rows: list[Row]) -> list[list[Row]]:
    """The episodes by family; families of different domains take turns."""
    domains: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        family = domains.setdefault(row.meta.domain or "", {}).setdefault(row.meta.family or "", [])
        family.append(row)
    turns = [list(families.values()) for _, families in sorted(domains.items())]
    longest = max(map(len, turns), default=0)
    return [families[i] for i in range(longest) for families in turns if i < len(families)]


def told(rows: list[Row]) -> str:
    """What is in the sample, in lines."""
    counts: dict[str, Counter[str]] = {
        "domain": Counter(row.meta.domain or "" for row in rows),
        "source": Counter(str(row.meta.source) for row in rows),
        "category": Counter(row.kind for row in rows),
        "how": Counter(Chosen.how(row) for row in rows),
    }
    lines = [f"{len(rows)} episodes, {len({row.meta.task_id for row in rows})} tasks"]
    lines += [f"{name:9} {', '.join(f'{n} {k}' for k, n in c.most_common())}" for name, c in counts.items()]
    return "\n".join(lines)


def main() -> int:
    """Choose, ship into a partial folder, read the screens, and put it in place where it is small enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--dry-run", action="store_true")
    asked = parser.parse_args()
    bench = Bench(asked.bench)
    rows = choose(rows_of(bench))
    print(told(rows))
    if asked.dry_run:
        return 0
    partial = DEMO.with_name("demo.partial")
    shutil.rmtree(partial, ignore_errors=True)
    count = ship(bench, partial, [row.meta.episode_id for row in rows])
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="pyrite-demo-") as folder:
        root = unpack(Path(folder) / "demo", partial).root
        with progress.stage("read") as stage, ocr.collected() as readings:
            flow.pack(root, conditions=flow.DEMO_CONDITIONS)
            judging = flow.judge(root, labels=JUDGES, conditions=flow.DEMO_CONDITIONS, watch=stage)
            stage.summary = f"{judging.obtained} verdicts, {len(readings)} readings"
    ocr.ship(readings.values(), partial / ocr.shipped_file().name)
    images = len(list((partial / "images").iterdir()))
    size = sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())
    if size > LIMIT_BYTES:
        print(f"{size} bytes, more than {LIMIT_BYTES}: not shipped, see {partial}", file=sys.stderr)
        return 1
    shutil.rmtree(DEMO, ignore_errors=True)
    partial.rename(DEMO)
    print(f"{count} episodes, {images} images, {size / 1e6:.1f} MB in {DEMO}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
