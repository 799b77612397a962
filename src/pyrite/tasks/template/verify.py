"""Decide the end state: python verify.py ROOT prints one JSON object and exits with 0.

    {"pass": true | false | null, "category": [codes] | null, "diagnostics": {...}}

ROOT is the home as the agent left it, read-only. Judge the files alone, never what the agent says.
What the agent did to a file is a fail, however odd the file is. A non-zero exit or a traceback means
that this program is broken: the outcome is then indeterminate and the verifier is to blame.
"""

import csv
import io
import json
import sys
from pathlib import Path

TARGET = "Documents/prices.csv"
ROW = "pears"
EXPECTED = "4.50"
MAX_BYTES = 1 << 20  # everything below ROOT is hostile: bound what is read

# Every code that the state allows. Where nothing was saved, the state cannot tell these three apart:
# pyrite narrows them with what was seen of the episode.
NOTHING_SAVED = ["F-ABORT", "F-CLAIM", "F-UNCOMMITTED"]
NO_CODE_FITS: list[str] = []  # then people say: pyrite list episodes BENCH --needs category


def read_prices(path: Path) -> dict[str, str] | None:
    """Fruit -> price as written; None where the file is gone or is no such table any more."""
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    text = path.read_bytes().decode("utf-8-sig", "replace")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return None
    prices = {row[0].strip(): row[1].strip() for row in rows if len(row) == 2}
    return prices if len(prices) == len([row for row in rows if row]) else None


def same(price: str | None) -> bool:
    """Accept every way to write the number: 4.5 is 4.50."""
    try:
        return price is not None and float(price) == float(EXPECTED)
    except ValueError:
        return False


def other_files(root: Path) -> list[str]:
    """Files beside the target that are new, gone or changed; locks, backups and hidden files aside."""
    before = {path.name: path.read_bytes() for path in (Path(__file__).parent / "files").iterdir()}
    after: dict[str, bytes] = {}
    for path in (root / TARGET).parent.glob("*"):
        if not path.name.startswith(".") and not path.name.endswith("~"):
            small = path.is_file() and path.stat().st_size <= MAX_BYTES
            after[path.name] = path.read_bytes() if small else b""
    before.pop(Path(TARGET).name, None)
    after.pop(Path(TARGET).name, None)
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def decide(root: Path) -> tuple[bool, list[str], dict[str, object]]:
    """pass, categories, diagnostics."""
    before = read_prices(Path(__file__).parent / "files" / "prices.csv")
    if before is None:
        raise SystemExit("files/prices.csv of this task cannot be read")
    after = read_prices(root / TARGET)
    copies = sorted(
        path.name
        for path in (root / "Documents").glob("*")
        if path != root / TARGET and same((read_prices(path) or {}).get(ROW))
    )
    found = None if after is None else after.get(ROW)
    seen: dict[str, object] = {"expected": EXPECTED, "found": found, "copies": copies[:20]}
    if after is None:
        return False, ["F-WRONGTARGET"] if copies else NO_CODE_FITS, seen
    others = sorted(name for name in before.keys() | after.keys() if after.get(name) != before.get(name))
    others = [name for name in others if name != ROW]
    seen["other_rows_changed"] = others[:20]
    seen["other_files_changed"] = other_files(root)[:20]
    if same(found):
        damaged = others or seen["other_files_changed"]
        return (False, ["F-SIDEEFFECT"], seen) if damaged else (True, [], seen)
    if copies or any(same(after.get(name)) for name in others):
        return False, ["F-WRONGTARGET"], seen
    if found != before.get(ROW):
        return False, ["F-PARTIAL"], seen
    return False, NO_CODE_FITS if others else NOTHING_SAVED, seen


if __name__ == "__main__":
    passed, category, diagnostics = decide(Path(sys.argv[1]))
    print(json.dumps({"pass": passed, "category": category or None, "diagnostics": diagnostics}))
