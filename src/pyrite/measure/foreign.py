"""Verdicts from elsewhere: the columns of a file become the one table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyrite.errors import InputError, UsageError
from pyrite.measure import values
from pyrite.measure.read import TextColumn, TextTable, read_columns
from pyrite.measure.scores import Scores
from pyrite.measure.table import Codes8, Episodes, Factor, Flags, Table, Verdicts

CONDITION = "as published"
"""The one condition of a table from elsewhere."""


@dataclass(frozen=True)
class Columns:
    """Which columns of a file mean what; `COL>=T` binarises in `truth` and `verdicts`."""

    truth: str
    cluster: str
    verdicts: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    cluster_strip: str | None = None
    """A regular expression whose matches are removed from the cluster value."""
    groups: tuple[str, ...] = ()
    mapping: tuple[str, ...] = ()
    """VALUE=OUTCOME pairs."""
    where: tuple[str, ...] = ()
    """Only rows in which each of these columns is not empty."""
    key: tuple[str, ...] = ()
    """Columns that together name a row; a repeated key is an error."""


@dataclass(frozen=True)
class ForeignTable:
    """The table, and the score columns as read."""

    table: Table
    scores: dict[str, Scores]
    """A score has no verdict until a threshold is chosen; `nan` in a cell is an unreadable one."""
    rows_read: int


def table_from_file(path: Path, columns: Columns) -> ForeignTable:
    """Read a file into the one table. `UsageError`/`InputError` name row, column and value.

    A row is an episode. Rows that `where` leaves out are not read further; nothing else is dropped.
    """
    mapping = values.outcome_map(columns.mapping)
    strip = _pattern(columns.cluster_strip)
    _refuse_repeats("--verdicts", columns.verdicts)
    _refuse_repeats("--scores", columns.scores)
    text, specs = _read(path, columns)
    truth_spec, verdict_specs = specs[0], specs[1:]
    kept = _kept(text, columns.where)
    rows = np.flatnonzero(kept)
    chosen = text if kept.all() else _narrowed(text, rows)
    truth = values.truth_codes(chosen, truth_spec, mapping)
    verdicts = [values.verdict_codes(chosen, spec, mapping) for spec in verdict_specs]
    cluster = _clusters(chosen, columns.cluster, strip)
    _refuse_repeated_keys(chosen, columns.key)
    groups = {name: values.factor(chosen.columns[name]) for name in columns.groups}
    episodes = Episodes(truth=truth, cluster=cluster, groups=groups)
    words = [chosen.columns[spec.column] for spec in specs]
    unused = values.unmapped(words, mapping) if mapping else []
    return ForeignTable(
        Table(
            episodes,
            _long([spec.name for spec in verdict_specs], verdicts, len(rows)),
            warnings=tuple(f"--map {value}=...: no row holds {value!r}" for value in unused),
        ),
        {name: _scores(chosen, name) for name in columns.scores},
        text.rows,
    )


def _read(path: Path, columns: Columns) -> tuple[TextTable, list[values.ColumnSpec]]:
    """Read the columns; a name that contains >= and exists as it stands is that column."""
    named = [columns.truth, *columns.verdicts]
    specs = [values.column_spec(name) for name in named]
    literal = [spec.name for spec in specs if spec.threshold is not None]
    plain = [*columns.scores, columns.cluster, *columns.groups, *columns.where, *columns.key]
    wanted = [*(spec.column for spec in specs if spec.name not in literal), *plain]
    cut = [spec.column for spec in specs if spec.name in literal]
    text = read_columns(path, wanted, optional=[*literal, *cut])
    specs = [values.ColumnSpec(s.name, s.name) if s.name in text.columns else s for s in specs]
    if any(spec.column not in text.columns for spec in specs):
        text = read_columns(path, [*wanted, *(spec.column for spec in specs)])
    return text, specs


def _kept(text: TextTable, where: Sequence[str]) -> Flags:
    kept: Flags = np.ones(text.rows, dtype=np.bool_)
    for name in where:
        column = text.columns[name]
        there = _filled(column)
        if not (kept & there).any():
            raise UsageError(
                f"no row is left after --where {name}: {int(there.sum())} of {text.rows} rows "
                "have a value there",
                where=str(text.path),
                expected="at least one row",
            )
        kept &= there
    return kept


def _clusters(text: TextTable, name: str, strip: re.Pattern[str] | None) -> Factor:
    found = values.factor(
        text.columns[name], lambda value: (strip.sub("", value) if strip else value).strip()
    )
    empty = np.flatnonzero(found.codes < 0)
    if len(empty):
        column = text.columns[name]
        code = column.codes[empty[0]]
        was = f" after --cluster-strip (it was {column.values[code][:60]!r})" if code >= 0 and strip else ""
        raise InputError(
            f"no cluster: {name} is empty{was}"
            + (f"; {len(empty) - 1} more such rows" if len(empty) > 1 else ""),
            where=text.where(int(empty[0])),
            expected="the task of every row",
            next=f"--where {name} keeps only the rows that have one" if not was else "",
        )
    return found


def _refuse_repeated_keys(text: TextTable, key: Sequence[str]) -> None:
    if not key:
        return
    columns = [text.columns[name] for name in key]
    for column in columns:
        empty = np.flatnonzero(column.codes < 0)
        if len(empty):
            raise InputError(
                f"key column {column.name} is empty",
                where=text.where(int(empty[0])),
                expected="a key in every row",
            )
    stacked = np.stack([column.codes for column in columns], axis=1)
    order = np.lexsort((np.arange(len(stacked)), *stacked.T))
    same = np.flatnonzero((stacked[order[1:]] == stacked[order[:-1]]).all(axis=1))
    if len(same):
        at = same[np.argmin(order[same + 1])]
        first, second = int(order[at]), int(order[at + 1])
        shown = ", ".join(f"{c.name}={c.values[c.codes[first]][:40]!r}" for c in columns)
        more = f"; {len(same) - 1} more repeats" if len(same) > 1 else ""
        raise InputError(
            f"the key {shown} of row {text.number(first)} stands again in row {text.number(second)}{more}",
            where=text.where(second),
            expected="a key that no other row has",
        )


def _long(names: list[str], verdicts: list[Codes8], episodes: int) -> Verdicts:
    count = len(names)
    size = count * episodes
    judge = np.repeat(np.arange(count, dtype=np.int32), episodes)
    return Verdicts(
        episode=np.tile(np.arange(episodes, dtype=np.int32), count),
        judge=Factor(judge, tuple(names)),
        condition=Factor(np.zeros(size, dtype=np.int32), (CONDITION,)),
        run=np.ones(size, dtype=np.int32),
        verdict=np.concatenate(verdicts) if verdicts else np.zeros(0, dtype=np.int8),
    )


def _scores(text: TextTable, name: str) -> Scores:
    return Scores(values.scores(text, name), _filled(text.columns[name]))


def _filled(column: TextColumn) -> Flags:
    filled: Flags = np.array([*(bool(value.strip()) for value in column.values), False])
    return filled[column.codes]


def _narrowed(text: TextTable, rows: np.ndarray[Any, np.dtype[np.intp]]) -> TextTable:
    columns = {n: TextColumn(n, c.codes[rows], c.values) for n, c in text.columns.items()}
    return TextTable(text.path, text.format, len(rows), columns, rows)


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as exc:
        raise UsageError(f"--cluster-strip {text!r}: {exc}", expected="a regular expression") from exc


def _refuse_repeats(option: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{option} names {', '.join(twice)} twice", expected="each column once")
