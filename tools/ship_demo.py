"""Choose the shipped demo set from a recorded and verified bench, and put it into the package.

    .venv/bin/python tools/ship_demo.py runs/full [--dry-run]

A stratified sample of the families that the shipped orm-lite was not trained on: twenty tasks with the
scripted episode that passes and one injected defect of it, of the category that is rarest so far; then
weakened agents, then those that fail by themselves; thirty tasks in all, as each is replayed before anything
is judged. Families take turns, and domains do. Then the last screens are read, by both engines, for the OCR
cache.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

from PIL import Image

from pyrite import flow
from pyrite.cli.screen import Progress
from pyrite.episodes.shipped import DEMO, ship, unpack
from pyrite.judges import ocr
from pyrite.judges.orm import SHIPPED_WEIGHTS
from pyrite.records import Meta, Outcome, Truth
from pyrite.store.bench import Bench
from pyrite.store.images import open_image
from pyrite.store.jsonl import read_json

LIMIT_BYTES = 14_000_000
COUNT, PAIRS, WEAKENED, TASKS = 60, 20, 14, 30
"""Episodes, of them in pairs and weakened; no more tasks, as each is replayed before anything is judged."""
Pick = Callable[[Sequence["Row"]], "list[Row]"]
"""Of the episodes of a family what is to be added; nothing where there is nothing more."""


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
    tasks: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.kinds[row.kind] += 1
        self.defects[how(row)] += 1
        self.tasks[row.meta.task_id] += 1

    def rarest(self, rows: Iterable[Row]) -> Row | None:
        """Of a new task where there are too few, whose category, then origin, is rarest; the smallest."""
        sought = len(self.tasks) < TASKS
        return min(
            rows,
            key=lambda row: (
                (row.meta.task_id in self.tasks) is sought,
                self.kinds[row.kind],
                self.defects[how(row)],
                row.size,
                row.meta.episode_id,
            ),
            default=None,
        )

    def fill(self, families: Sequence[Sequence[Row]], count: int, pick: Pick) -> None:
        """Families take turns until there are `count` episodes, or no family has more."""
        while True:
            before = len(self.rows)
            for family in families:
                found = pick(family)
                if len(self.rows) + len(found) <= count:
                    for row in found:
                        self.add(row)
            if len(self.rows) == before:
                return


def how(row: Row) -> str:
    """What went wrong by whose hand: the defect, what was taken away, or the agent."""
    return row.meta.perturbation or (row.meta.weakened or row.meta.agent.name).partition("=")[0]


def rows_of(bench: Bench, families: Collection[str]) -> list[Row]:
    """The episodes of these families that have an outcome, and a category where they fail."""
    found = []
    for name in bench.episode_ids():
        meta, truth, paths = bench.meta(name), bench.truth(name), bench.paths.episode(name)
        if truth is None or truth.outcome is Outcome.INDETERMINATE or not paths.final_state.is_file():
            continue
        if meta.family not in families or (truth.outcome is Outcome.FAIL and truth.category is None):
            continue
        size = paths.final_state.stat().st_size + sum(p.stat().st_size for p in paths.screens.iterdir())
        found.append(Row(meta, truth, size))
    return found


def choose(
    rows: Sequence[Row], count: int = COUNT, pairs: int = PAIRS, weakened: int = WEAKENED
) -> list[Row]:
    """Pairs on tasks of their own, then weakened episodes, then agents that fail by themselves."""
    chosen, families = Chosen(), _turns(rows)
    defects: dict[str, list[Row]] = {}
    for row in rows:
        if row.meta.parent is not None and row.truth.outcome is Outcome.FAIL:
            defects.setdefault(row.meta.parent, []).append(row)

    def pair(family: Sequence[Row]) -> list[Row]:
        parents = {r.meta.episode_id: r for r in family if r.truth.outcome is Outcome.PASS}
        free = [name for name, row in parents.items() if not chosen.tasks[row.meta.task_id]]
        defect = chosen.rarest(d for name in free for d in defects.get(name, ()))
        return [] if defect is None else [parents[str(defect.meta.parent)], defect]

    def single(family: Sequence[Row], *, weak: bool) -> list[Row]:
        there = {row.meta.episode_id for row in chosen.rows}
        own = [r for r in family if r.meta.parent is None and r.meta.episode_id not in there]
        found = chosen.rarest(r for r in own if bool(r.meta.weakened) is weak and (weak or _fails(r)))
        return [] if found is None else [found]

    chosen.fill(families, 2 * pairs, pair)
    chosen.fill(families, len(chosen.rows) + weakened, partial(single, weak=True))
    chosen.fill(families, count, partial(single, weak=False))
    return chosen.rows


def _fails(row: Row) -> bool:
    """Whether its agent is one that may fail by itself."""
    return row.meta.agent.name != "scripted"


def _turns(rows: Sequence[Row]) -> list[list[Row]]:
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
        "how": Counter(how(row) for row in rows),
    }
    lines = [f"{len(rows)} episodes, {len({row.meta.task_id for row in rows})} tasks"]
    lines += [f"{name:9} {', '.join(f'{n} {k}' for k, n in c.most_common())}" for name, c in counts.items()]
    return "\n".join(lines)


def last_screens(bench: Bench) -> Iterator[Image.Image]:
    """The last screen of every episode."""
    for name in bench.episode_ids():
        last = bench.actions(name)[-1].screen
        if last is not None:
            yield open_image(bench.inside(name, last))


def main() -> int:
    """Choose, ship into a partial folder, read the screens, and put it in place where it is small enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--dry-run", action="store_true")
    asked = parser.parse_args()
    bench = Bench(asked.bench)
    held_out = read_json(SHIPPED_WEIGHTS)["card"]["split"]["held_out"]["families"]
    rows = choose(rows_of(bench, held_out))
    print(told(rows))
    if asked.dry_run:
        return 0
    half = DEMO.with_name("demo.partial")
    shutil.rmtree(half, ignore_errors=True)
    count = ship(bench, half, [row.meta.episode_id for row in rows])
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="pyrite-demo-") as folder:
        root = unpack(Path(folder) / "demo", half).root
        with progress.stage("read") as stage, ocr.collected() as readings:
            flow.pack(root, conditions=flow.DEMO_CONDITIONS)
            judging = flow.judge(root, labels=flow.DEMO_JUDGES, conditions=flow.DEMO_CONDITIONS, watch=stage)
            for image, engine in product(last_screens(Bench(root)), ocr.ENGINES):
                ocr.read_screen(image, engine=engine)
            stage.summary = f"{judging.obtained} verdicts, {len(readings)} readings"
    ocr.ship(readings.values(), half / ocr.shipped_file().name)
    images = len(list((half / "images").iterdir()))
    size = sum(path.stat().st_size for path in half.rglob("*") if path.is_file())
    if size > LIMIT_BYTES:
        print(f"{size} bytes, more than {LIMIT_BYTES}: not shipped, see {half}", file=sys.stderr)
        return 1
    shutil.rmtree(DEMO, ignore_errors=True)
    half.rename(DEMO)
    print(f"{count} episodes, {images} images, {size / 1e6:.1f} MB in {DEMO}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
