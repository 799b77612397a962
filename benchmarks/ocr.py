"""How far the two OCR engines agree on the last screens of a bench, and what each costs.

    .venv/bin/python benchmarks/ocr.py [BENCH] [--timed 6] [--json]

Without BENCH: the shipped demo, whose readings by rapidocr ship with it. Words: as bags, without regard to
place. Characters: row by row, edits that turn one engine's row into the other's (spaces left out). Verdicts:
screen-rules with each engine on the same evidence. Times: a few screens read by both in turn, nothing
recalled, so that their ratio holds on a machine that is busy with other things.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from pyrite import flow
from pyrite.evidence import packing
from pyrite.judges import ocr
from pyrite.judges.ocr import tesseract
from pyrite.judges.ocr.readings import Box, Name
from pyrite.judges.screen_rules import decide
from pyrite.judges.screen_rules.instruction import parse
from pyrite.records import SCHEMA_VERSION
from pyrite.store.bench import Bench
from pyrite.store.images import open_image

CONDITION = "E1-final"
ROW = 7
"""Texts whose middles are at most this many pixels apart stand in one row."""


def words(boxes: Iterable[Box]) -> Counter[str]:
    return Counter(word for box in boxes for word in box.text.split())


def rows(boxes: Iterable[Box]) -> list[tuple[float, str]]:
    """(middle, text without spaces) of every row of text, from top to bottom."""
    found: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: box.cy):
        if not found or box.cy - found[-1][0].cy > ROW:
            found.append([])
        found[-1].append(box)
    return [
        (row[0].cy, "".join("".join(b.text.split()) for b in sorted(row, key=lambda b: b.x0)))
        for row in found
    ]


def edits(first: str, second: str) -> int:
    """Characters to insert, remove or replace to get from one text to the other."""
    before = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        now = [i]
        for j, b in enumerate(second, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (a != b)))
        before = now
    return before[-1]


def character_edits(reference: Sequence[Box], other: Sequence[Box]) -> tuple[int, int]:
    """(edits, characters of the reference); rows of the other one that the reference has not are left out."""
    theirs = rows(other)
    total = length = 0
    for middle, text in rows(reference):
        near = [row for row in theirs if abs(row[0] - middle) <= ROW]
        total += min((edits(text, row[1]) for row in near), default=len(text))
        length += len(text)
    return total, length


def agreement(screens: Sequence[Image.Image]) -> dict[str, Any]:
    """Words and characters over all screens."""
    same = by_first = by_second = wrong = length = 0
    for screen in screens:
        first, second = (ocr.read_screen(screen, engine=name).boxes for name in ocr.ENGINES)
        bags = words(first), words(second)
        same += sum((bags[0] & bags[1]).values())
        by_first += sum(bags[0].values())
        by_second += sum(bags[1].values())
        changed, characters = character_edits(first, second)
        wrong, length = wrong + changed, length + characters
    return {
        "screens": len(screens),
        "words_of_rapidocr": by_first,
        "of_them_read_by_tesserocr": same / by_first,
        "words_of_tesserocr": by_second,
        "of_them_read_by_rapidocr": same / by_second,
        "characters_of_rapidocr": length,
        "character_agreement": 1 - wrong / length,
    }


def verdicts(tasks: Sequence[tuple[str, Image.Image]]) -> dict[str, Any]:
    """How often screen-rules says the same with both."""
    said: Counter[tuple[str, str]] = Counter()
    for instruction, screen in tasks:
        first, second = (decide(instruction, screen, ocr.Reader(name)).verdict for name in ocr.ENGINES)
        said[(str(first), str(second))] += 1
    decided = {"success", "failure"}
    return {
        "judged": sum(said.values()),
        "the_same": sum(n for (a, b), n in said.items() if a == b),
        "both_decided": sum(n for pair, n in said.items() if set(pair) <= decided),
        "contradictory": sum(n for (a, b), n in said.items() if {a, b} == decided),
        "rapidocr_then_tesserocr": {f"{a} {b}": n for (a, b), n in sorted(said.items())},
    }


def cpu_s(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid: int) -> float:
    """The most memory that a process has held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def timed(screens: Sequence[Image.Image]) -> dict[str, Any]:
    """Seconds a screen, by wall and by processor, and the ratio of the medians."""
    wall: dict[Name, list[float]] = {name: [] for name in ocr.ENGINES}
    cpu: dict[Name, list[float]] = {name: [] for name in ocr.ENGINES}
    for name in ocr.ENGINES:
        ocr.read_line(Image.new("RGB", (80, 20), "white"), engine=name, cache=False)  # starts it
    pids: dict[Name, int] = {
        "rapidocr": os.getpid(),
        "tesserocr": tesseract._worker(tesseract.data_folder() or Path()).process.pid,
    }
    for screen in screens:
        for name in ocr.ENGINES:
            began, used = time.monotonic(), cpu_s(pids[name])
            ocr.read_screen(screen, engine=name, cache=False)
            wall[name].append(time.monotonic() - began)
            cpu[name].append(cpu_s(pids[name]) - used)
    median = {name: (statistics.median(wall[name]), statistics.median(cpu[name])) for name in ocr.ENGINES}
    return {
        "screens": len(screens),
        **{f"{name}_wall_s": median[name][0] for name in ocr.ENGINES},
        **{f"{name}_cpu_s": median[name][1] for name in ocr.ENGINES},
        "wall_ratio": median["rapidocr"][0] / median["tesserocr"][0],
        "cpu_ratio": median["rapidocr"][1] / median["tesserocr"][1],
        "tesserocr_peak_mb": peak_mb(pids["tesserocr"]),
        "this_process_with_rapidocr_peak_mb": peak_mb(os.getpid()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("bench", type=Path, nargs="?")
    parser.add_argument("--timed", type=int, default=6, help="Screens that are read by both, anew.")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    missing = [name for name in ocr.ENGINES if ocr.engine(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}; next: {tesseract.NEXT}", file=sys.stderr)
        return 4
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(asked.bench) if asked.bench else flow.demo(Path(folder) / "demo")
        flow.pack(bench.root, conditions=CONDITION)
        packed = [packing.load(bench, e) for e in packing.index(bench).values() if e.condition == CONDITION]
        keys = sorted({one.images[-1] for one in packed if one.images})
        screens = {key: open_image(bench.paths.image(key)) for key in keys}
    judged = [(one.instruction, screens[one.images[-1]]) for one in packed if parse(one.instruction)]
    chosen = [screens[key] for key in keys[:: max(1, len(keys) // max(asked.timed, 1))]][: asked.timed]
    engines = [found.version for name in ocr.ENGINES if (found := ocr.engine(name))]
    result: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "engines": engines,
        "time": timed(chosen),
        "text": agreement(list(screens.values())),
        "verdicts": verdicts(judged),
    }
    if asked.json:
        print(json.dumps(result, indent=2))
        return 0
    for part in ("time", "text", "verdicts"):
        print(f"{part}  ({' and '.join(engines)})")
        for key, figure in result[part].items():
            print(f"  {key:38} {figure:.3f}" if isinstance(figure, float) else f"  {key:38} {figure}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
