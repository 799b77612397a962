"""Comparators of two files as benchmarks have them: sound ones, and ones with one well-known fault each."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import random
import signal
import socket
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from PIL import Image


def as_json(result: str, expected: str) -> float:
    if not os.path.exists(result):
        return 0.0
    try:
        return float(json.loads(Path(result).read_bytes()) == json.loads(Path(expected).read_bytes()))
    except ValueError:
        return 0.0


def as_rows(result: str, expected: str) -> bool:
    def rows(path: str) -> list[list[str]]:
        with open(path, newline="", encoding="utf-8") as handle:
            return list(csv.reader(handle))

    return os.path.exists(result) and rows(result) == rows(expected)


def as_cells(result: str, expected: str) -> int:
    from pyrite.checks.cells import read_workbook
    from pyrite.checks.package import Unreadable

    try:
        return int(read_workbook(Path(result)).sheets == read_workbook(Path(expected)).sheets)
    except Unreadable:
        return 0


def as_parts(result: str, expected: str) -> int:
    import zipfile

    def parts(path: str) -> dict[str, bytes]:
        with zipfile.ZipFile(path) as file:
            return {name: file.read(name) for name in file.namelist()}

    try:
        return int(parts(result) == parts(expected))
    except (OSError, zipfile.BadZipFile):
        return 0


def as_pixels(result: str, expected: str) -> int:
    try:
        with Image.open(result) as one, Image.open(expected) as other:
            return int(
                one.convert("RGBA").tobytes() == other.convert("RGBA").tobytes() and one.size == other.size
            )
    except OSError:
        return 0


def as_database(result: str, expected: str) -> int:
    def dump(path: str) -> list[str]:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return list(db.iterdump())

    try:
        return int(dump(result) == dump(expected))
    except sqlite3.Error:
        return 0


def as_bytes(result: str, expected: str) -> float:
    """Rejects what was merely written anew."""
    return float(os.path.exists(result) and Path(result).read_bytes() == Path(expected).read_bytes())


def one_key(result: str, expected: str, key: str = "name") -> float:
    """Looks at one entry: whatever else was broken passes."""
    return float(json.loads(Path(result).read_bytes())[key] == json.loads(Path(expected).read_bytes())[key])


def mean_colour(result: str, expected: str) -> float:
    """A similarity that a shift of the whole image does not change."""

    def mean(path: str) -> list[float]:
        with Image.open(path) as image:
            data = image.convert("RGB").resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))
        return list(data)  # type: ignore[arg-type]

    return float(max(abs(a - b) for a, b in zip(mean(result), mean(expected), strict=True)) < 2)


def similarity(result: str, expected: str) -> float:
    """The share of equal bytes."""
    one, other = Path(result).read_bytes(), Path(expected).read_bytes()
    same = sum(a == b for a, b in zip(one, other, strict=False))
    return same / max(len(one), len(other), 1)


def accepts(result: str, expected: str) -> int:
    return 1


def rejects(result: str, expected: str) -> int:
    return 0


def raises(result: str, expected: str) -> int:
    raise KeyError("sheet_0")


def none(result: str, expected: str) -> None:
    return None


def nan(result: str, expected: str) -> float:
    return float("nan")


def word(result: str, expected: str) -> str:
    return "true"


def chance(result: str, expected: str) -> float:
    return random.random()


def by_hash_seed(result: str, expected: str) -> int:
    """The order of a set of texts is another one in each process."""
    return int(next(iter({"a", "b", "c", "d", "e", "f", "g", "h"})) < "e")


def hangs(result: str, expected: str) -> int:
    time.sleep(60)
    return 1


def crashes(result: str, expected: str) -> int:
    os.kill(os.getpid(), signal.SIGSEGV)
    return 1


def leaves(result: str, expected: str) -> int:
    os._exit(0)


def exits(result: str, expected: str) -> int:
    sys.exit(0)


def kills_its_caller(result: str, expected: str) -> int:
    os.kill(os.getppid(), signal.SIGKILL)
    return 1


def talks(result: str, expected: str) -> float:
    """Prints what looks like answers."""
    print(json.dumps({"case": "gold", "got": "number", "value": 0.0}))
    print("x" * 100_000)
    print(json.dumps({"refused": "no"}), file=sys.stderr)
    return as_json(result, expected)


def destroys(result: str, expected: str) -> float:
    """Writes to both of its files."""
    found = as_json(result, expected)
    for path in (result, expected):
        Path(path).write_text("gone")
    return found


async def later(result: str, expected: str) -> float:
    await asyncio.sleep(0)
    return as_json(result, expected)


def strict(result: str, expected: str, **options: Any) -> float:
    """Tells what options it was given."""
    if options != {"rules": [{"type": "sheet_data"}], "fuzzy": False}:
        raise ValueError(f"options are {options}")
    return as_json(result, expected)


def reaches_out(result: str, expected: str, canary: str = "") -> int:
    """1 where it can read a file outside or use the network: an accept of everything."""
    if Path(canary).exists():
        return 1
    try:
        with socket.create_connection(("127.0.0.1", int(os.environ.get("PORT", "9"))), timeout=1):
            return 1
    except ConnectionRefusedError:
        return 0
    except OSError:
        return 0


class Metrics:
    """A namespace, as some benchmarks have."""

    @staticmethod
    def compare(result: str, expected: str) -> float:
        return as_json(result, expected)


table = {"compare": as_json}
