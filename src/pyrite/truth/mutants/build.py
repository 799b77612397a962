"""The program that makes the homes of near-misses; it runs confined, as its own process.

    python -P -m pyrite.truth.mutants.build --initial HOME --good HOME --out OUT --seed TEXT
        [--harmless HOME]… [--reads GLOB]…

Makes OUT/m000/, OUT/m001/ … and OUT/made.json, which says what each of them is. Homes share the files
that they have in common. The same homes and seed give the same near-misses.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from pyrite.checks.homes import TooManyFiles, snapshot
from pyrite.truth.mutants.files import compare, near_homes
from pyrite.truth.mutants.model import MOST, OPERATORS, PER_OPERATOR, Mutant

MADE = "made.json"
MOST_BYTES = 512 << 20
_MOST_FOUND = 20_000
_TRIES = 4 * PER_OPERATOR


def build(
    initial: Path, good: Path, harmless: list[Path], reads: list[str], out: Path, seed: str
) -> dict[str, Any]:
    """Make the near-misses of a good home; what made.json says."""
    maker = _Maker(initial, good, harmless, out)
    found: dict[str, dict[str, Mutant]] = {operator: {} for operator in OPERATORS}
    for mutant in islice(near_homes(compare(initial, good, harmless, reads)), _MOST_FOUND):
        found[mutant.operator].setdefault(mutant.name, mutant)
    waiting = {name: _order(mutants, f"{seed}:{name}") for name, mutants in found.items()}
    for _ in range(PER_OPERATOR):
        for operator in OPERATORS:
            if len(maker.made) < MOST:
                maker.next(operator, waiting[operator])
    made = sorted(maker.made, key=lambda one: (list(OPERATORS).index(one["operator"]), one["name"]))
    used = {one["operator"] for one in made}
    refused = {
        operator: maker.why.get(operator, "nothing to act on")
        for operator in OPERATORS
        if operator not in used
    }
    return {"mutants": made, "not_applicable": refused}


def _order(mutants: dict[str, Mutant], seed: str) -> Iterator[Mutant]:
    """Where an operator finds more than is made, which ones: by chance, the same every time."""
    names = sorted(mutants)
    random.Random(seed).shuffle(names)  # noqa: S311 - not a secret
    return iter([mutants[name] for name in names][:_TRIES])


class _Maker:
    """Makes homes, each another one than all before."""

    def __init__(self, initial: Path, good: Path, harmless: list[Path], out: Path) -> None:
        self.out = out
        self.base = out / ".good"
        shutil.copytree(good, self.base, symlinks=True)
        self.seen = {_digest(home): f"state {home.name}" for home in (*harmless, initial, good)}
        self.made: list[dict[str, str]] = []
        self.why: dict[str, str] = {}

    def next(self, operator: str, waiting: Iterator[Mutant]) -> None:
        """Make the next near-miss of an operator that can be made and is new."""
        for mutant in waiting:
            home = self.out / f"m{len(self.made):03}"
            shutil.copytree(self.base, home, symlinks=True, copy_function=os.link)
            why = self._make(mutant, home)
            if not why:
                self.seen[_digest(home)] = mutant.name
                entry = {"folder": home.name, "name": mutant.name, "operator": operator}
                self.made.append({**entry, "what": mutant.what[:300]})
                return
            self.why[operator] = why
            shutil.rmtree(home)

    def _make(self, mutant: Mutant, home: Path) -> str:
        """Why it is none; empty where it is one."""
        try:
            mutant.make(home)
            same = self.seen.get(_digest(home))
        except Exception as exc:  # whatever a strange document makes a library raise
            return f"it cannot be made: {type(exc).__name__}: {exc!s:.100}"
        return "" if same is None else f"it is the same as {same[:100]}"


def _digest(home: Path) -> str:
    return json.dumps(sorted(snapshot(home, ignore=()).items()))


def _size(home: Path) -> int:
    return sum(
        os.lstat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(home) for name in names
    )


def main() -> None:
    """Build what the command line asks for; a home that is too large leaves with a message."""
    parser = argparse.ArgumentParser(prog="pyrite.truth.mutants.build")
    for name in ("--initial", "--good", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--harmless", type=Path, action="append", default=[])
    parser.add_argument("--reads", action="append", default=[])
    asked = parser.parse_args()
    if _size(asked.good) > MOST_BYTES:
        raise SystemExit(f"the good state has more than {MOST_BYTES >> 20} MB")
    try:
        made = build(asked.initial, asked.good, asked.harmless, asked.reads, asked.out, asked.seed)
    except TooManyFiles as exc:
        raise SystemExit(str(exc)) from None
    (asked.out / MADE).write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    main()
