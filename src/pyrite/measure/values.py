"""What the words in a table mean: outcomes and verdicts, thresholds, and the user's own map.

A value is compared trimmed and without regard to case. In a truth column `uncertain` and
`parse_error` are indeterminate; in a verdict column `indeterminate` is uncertain. A word that is not
known is an error until `--map VALUE=OUTCOME` says what it means.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pyrite.errors import InputError, UsageError
from pyrite.measure.read import TextColumn, TextTable
from pyrite.measure.table import (
    FAIL,
    FAILURE,
    INDETERMINATE,
    MISSING,
    PARSE_ERROR,
    PASS,
    SUCCESS,
    UNCERTAIN,
    Codes8,
    Factor,
)

Scalar = TypeVar("Scalar", bound=np.generic)
ACCEPTED = (
    "0/1, true/false, pass/fail, success/failure, uncertain, parse_error, indeterminate, "
    "or nothing for missing"
)
_WORDS = {
    **dict.fromkeys(("1", "true", "pass", "success"), "success"),
    **dict.fromkeys(("0", "false", "fail", "failure"), "failure"),
    "uncertain": "uncertain",
    "parse_error": "parse_error",
    "indeterminate": "indeterminate",
    "missing": "missing",
}
_TRUTH = {
    "success": PASS,
    "failure": FAIL,
    "uncertain": INDETERMINATE,
    "parse_error": INDETERMINATE,
    "indeterminate": INDETERMINATE,
    "missing": MISSING,
}
_VERDICT = {
    "success": SUCCESS,
    "failure": FAILURE,
    "uncertain": UNCERTAIN,
    "parse_error": PARSE_ERROR,
    "indeterminate": UNCERTAIN,
    "missing": MISSING,
}


@dataclass(frozen=True)
class ColumnSpec:
    """A column, or a column cut at a threshold: `COL` or `COL>=T`."""

    name: str
    """As written; the judge's name in the result."""
    column: str
    threshold: float | None = None


def column_spec(text: str) -> ColumnSpec:
    """Parse `COL` or `COL>=T`; `UsageError` where T is not a finite number.

    >>> column_spec("reward>=0.5")
    ColumnSpec(name='reward>=0.5', column='reward', threshold=0.5)
    """
    column, sign, limit = text.rpartition(">=")
    if not sign:
        return ColumnSpec(text, text.strip())
    threshold = _number(limit)
    if threshold is None or not math.isfinite(threshold) or not column.strip():
        raise UsageError(f"not a threshold: {text!r}", expected="COL>=T with a number T, such as reward>=0.5")
    return ColumnSpec(text, column.strip(), threshold)


def outcome_map(pairs: Sequence[str]) -> dict[str, str]:
    """Parse `VALUE=OUTCOME` pairs of --map; `UsageError` for an outcome that does not exist.

    >>> outcome_map(["2=indeterminate"])
    {'2': 'indeterminate'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        value, sign, outcome = pair.rpartition("=")
        word = _WORDS.get(outcome.strip().casefold())
        if not sign or word is None:
            raise UsageError(
                f"cannot map {pair!r}",
                expected="VALUE=OUTCOME, OUTCOME one of pass fail success failure uncertain parse_error "
                "indeterminate missing",
            )
        key = value.strip().casefold()
        if found.setdefault(key, word) != word:
            raise UsageError(
                f"{value!r} is mapped twice, to {found[key]} and {word}", expected="one outcome a value"
            )
    return found


def truth_codes(table: TextTable, spec: ColumnSpec, mapping: Mapping[str, str]) -> Codes8:
    """PASS, FAIL, INDETERMINATE or MISSING of each row of a truth column."""
    return _codes(table, spec, mapping, _TRUTH)


def verdict_codes(table: TextTable, spec: ColumnSpec, mapping: Mapping[str, str]) -> Codes8:
    """SUCCESS, FAILURE, UNCERTAIN, PARSE_ERROR or MISSING of each row of a verdict column."""
    return _codes(table, spec, mapping, _VERDICT)


def scores(table: TextTable, column: str) -> NDArray[np.float64]:
    """The numbers of a score column; NaN where there is none. `InputError` for a word."""
    found = table.columns[column]
    numbers = [_number(value) if value.strip() else math.nan for value in found.values]
    _refuse(table, found, [n is None for n in numbers], "a number, or nothing for missing")
    return _spread(found, [math.nan if n is None else n for n in numbers], np.float64, math.nan)


def factor(found: TextColumn, change: Callable[[str], str] = str.strip) -> Factor:
    """The column as codes into its changed (by default trimmed) distinct values; empty is -1."""
    changed = [change(value) for value in found.values]
    names = sorted({value for value in changed if value})
    index = {name: code for code, name in enumerate(names)}
    codes = _spread(found, [index.get(value, -1) for value in changed], np.int32, -1)
    return Factor(codes, tuple(names))


def unmapped(tables: Sequence[TextColumn], mapping: Mapping[str, str]) -> list[str]:
    """Values of --map that stand in none of the columns."""
    there = {value.strip().casefold() for column in tables for value in column.values}
    return [value for value in mapping if value not in there]


def _codes(
    table: TextTable, spec: ColumnSpec, mapping: Mapping[str, str], meaning: Mapping[str, int]
) -> Codes8:
    column = table.columns[spec.column]
    if spec.threshold is None:
        found = [_word(value, mapping, meaning) for value in column.values]
        _refuse(table, column, [code is None for code in found], ACCEPTED, mappable=True)
    else:
        limit = spec.threshold
        found = [_cut(value, limit, mapping, meaning) for value in column.values]
        _refuse(table, column, [code is None for code in found], "a number, or nothing for missing")
    return _spread(column, [MISSING if code is None else code for code in found], np.int8, MISSING)


def _word(value: str, mapping: Mapping[str, str], meaning: Mapping[str, int]) -> int | None:
    key = value.strip().casefold()
    if not key:
        return MISSING
    if key in mapping:
        return meaning[mapping[key]]
    if key == "missing":
        return None
    word = _WORDS.get(re.sub(r"^([01])\.0*$", r"\1", key))
    return None if word is None else meaning[word]


def _cut(value: str, limit: float, mapping: Mapping[str, str], meaning: Mapping[str, int]) -> int | None:
    key = value.strip().casefold()
    if key in mapping:
        return meaning[mapping[key]]
    number = _number(value) if key else math.nan
    if number is None:
        return None
    if math.isnan(number):
        return PARSE_ERROR if key and meaning is _VERDICT else MISSING  # "nan" is an answer, unreadable
    return meaning["success" if number >= limit else "failure"]


def _number(text: str) -> float | None:
    """A decimal number, inf or nan; None for anything else (an underscore is not a digit)."""
    stripped = text.strip().casefold()
    if "_" in stripped or not stripped.isascii():
        return None
    if stripped in {"true", "false"}:
        return float(stripped == "true")
    try:
        return float(stripped)
    except ValueError:
        return None


def _refuse(
    table: TextTable, column: TextColumn, bad: Sequence[bool], expected: str, *, mappable: bool = False
) -> None:
    """Raise `InputError` for the first row that holds one of the bad values, and count the rest."""
    if not any(bad):
        return
    rows = np.flatnonzero(_spread(column, list(bad), np.bool_, False))
    value = column.values[column.codes[rows[0]]]
    kinds = sorted({column.values[code] for code in np.unique(column.codes[rows])} - {value})
    more = f"; {len(rows) - 1} more such rows" if len(rows) > 1 else ""
    if kinds:
        shown = ", ".join(repr(kind[:40]) for kind in kinds[:5])
        more += f", also with {shown}" + (f" and {len(kinds) - 5} more values" if len(kinds) > 5 else "")
    raise InputError(
        f"{column.name} is {value[:80]!r}{more}",
        where=table.where(int(rows[0])),
        expected=expected,
        next=_remedy(column, value) if mappable else "",
    )


def _remedy(column: TextColumn, value: str) -> str:
    if len(column.values) > 3 and all(_number(v) is not None for v in column.values if v.strip()):
        return f"'{column.name}>=0.5' (or another threshold) makes outcomes of numbers"
    shown = value.strip() if len(value) <= 40 else "VALUE"
    return f"--map '{shown}=indeterminate' (or another outcome)"


def _spread(
    column: TextColumn, per_value: Sequence[float], dtype: type[Scalar], nothing: float
) -> NDArray[Scalar]:
    """What each row has, from what each distinct value has; `nothing` where the row is empty."""
    lookup: NDArray[Scalar] = np.array([*per_value, nothing], dtype=dtype)
    return lookup[column.codes]
