"""Ten ways in which verifiers of published benchmarks are broken, each one line of a sound one."""

from __future__ import annotations

from typing import NamedTuple


class Flaw(NamedTuple):
    """One broken verifier."""

    task: str
    sound: str
    """The line of the sound verifier."""
    broken: str
    caught_by: str
    """An operator whose near-miss it accepts."""


RIGHT = "return same_content(cell, WANTED)"

FLAWS = {
    "first_sheet_only": Flaw(
        "cell",
        "return list(BEFORE.sheets)",
        "return list(BEFORE.sheets)[:1]",
        "neighbour-changed",
    ),
    "substring_match": Flaw("cell", RIGHT, 'return "4500" in str(cell.value)', "longer"),
    "tolerance_one": Flaw(
        "cell",
        RIGHT,
        "return cell.formula is None and cell.kind == 'number' and abs(cell.value - 4500) <= 1.0",
        "off-by-one",
    ),
    "text_equals_number": Flaw(
        "cell",
        RIGHT,
        'return cell.formula is None and str(cell.value) in ("4500", "4500.0")',
        "number-as-text",
    ),
    "repeated_rows_ignored": Flaw(
        "cell",
        "return any(\n        before",
        "rows = zip(before.rows, after.rows)\n"
        "    return sum(old.item != new.item for old, new in rows) > 1\n"
        "    return any(\n        before",
        "duplicate-row",
    ),
    "exists_only": Flaw("answer", 'passed = answer == "42.50" and', "passed = total.is_file() and", "sign"),
    "exception_is_pass": Flaw(
        "cell",
        '        return Result(False, ("F-PARTIAL",))',
        "        return Result(True)",
        "truncated-file",
    ),
    "no_side_effects": Flaw(
        "cell", "if right(found):", "if right(found):\n        return Result(True)", "file-deleted"
    ),
    "case_folded_path": Flaw(
        "cell",
        "return {path: path for path in snapshot(home)}",
        "return {path[:10] + path[10:].lower(): path for path in sorted(snapshot(home), reverse=True)}",
        "case-folded-path",
    ),
    "stale_formula": Flaw("cell", RIGHT, "return same_number(cell.value, 4500.0)", "stale-formula"),
}
