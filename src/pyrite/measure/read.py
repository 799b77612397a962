"""Named columns of a CSV, TSV, JSON lines, JSON array or Parquet file of any length, as text codes.

duckdb reads; nothing is detected and nothing is dropped: every column is text, every row is checked
and the number of rows is compared with an independent count. A column comes back as integer codes
into its distinct values, so a million rows cost a few megabytes.
"""

# ruff: noqa: S608 - names in a query are c0, c1, ...; paths, pointers and columns are quoted below

from __future__ import annotations

import difflib
import os
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from pyrite.errors import InputError, UsageError
from pyrite.measure import delimited, jsonrows, refused

Connection = duckdb.DuckDBPyConnection
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
}


@dataclass(frozen=True)
class TextColumn:
    """One column of text: `codes[i]` indexes `values`; -1 where the row has nothing."""

    name: str
    codes: NDArray[np.int32]
    values: tuple[str, ...]


@dataclass(frozen=True)
class TextTable:
    """The wanted columns of a file, in order of its rows."""

    path: Path
    format: str
    rows: int
    columns: dict[str, TextColumn]
    kept: NDArray[np.intp] | None = None
    """Rows of the file, from 0, that are left after a filter; None for all."""

    def number(self, row: int) -> int:
        """The row of the file (from 1, a header not counted) that stands at this index."""
        return row + 1 if self.kept is None else int(self.kept[row]) + 1

    def where(self, row: int) -> str:
        """Where the row at this index (from 0) stands, for an error."""
        number, line = self.number(row), None
        if self.format in _DELIMITERS:
            line = delimited.line_of_row(self.path, _DELIMITERS[self.format], number)
        elif self.format == "jsonl":
            line = jsonrows.line_of_row(self.path, number)
        return f"{self.path}:{line} (row {number})" if line else f"{self.path}: row {number}"


_DELIMITERS = {"csv": ",", "tsv": "\t"}


def file_format(path: Path) -> str:
    """csv, tsv, jsonl, json or parquet, by extension; `UsageError` for anything else."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device, pipe or socket"
        raise UsageError(
            f"not a regular file: {kind}",
            where=str(path),
            expected="a table file, or a bench without --table",
            next=f"pyrite measure {path}" if path.is_dir() else "cat SOURCE > table.csv",
        )
    if not path.is_file():
        near = difflib.get_close_matches(path.name, _names_beside(path), 3)
        raise UsageError(
            "no such file" + (f"; there is {', '.join(near)}" if near else ""),
            where=str(path),
            expected=f"a file: {' '.join(FORMATS)}",
            next=f"ls {path.parent}",
        )
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            f"unknown extension {path.suffix!r}",
            where=str(path),
            expected=f"one of {' '.join(FORMATS)}",
            next=f"cp {shlex.quote(path.name)} table.csv",
        )
    return found


def read_columns(path: Path, wanted: Sequence[str], *, optional: Sequence[str] = ()) -> TextTable:
    """Read the wanted columns of a file; those of `optional` only where they exist.

    Raises `InputError` for a ragged, torn or nested row, `UsageError` for a column that is not there.
    """
    with refused.with_next(path):
        return _read(path, wanted, optional)


def _read(path: Path, wanted: Sequence[str], optional: Sequence[str]) -> TextTable:
    form = file_format(path)
    connection = duckdb.connect(":memory:", config=_CONFIG)
    try:
        with _explained(path, form):
            names = _LOADERS[form](connection, path, form, tuple(dict.fromkeys([*wanted, *optional])))
        missing = [name for name in dict.fromkeys(wanted) if name not in names]
        rows = int(_one(connection, "select count(*) from t"))
        if rows == 0:
            raise InputError("no row", where=str(path), expected="at least one row below the header")
        if missing:
            raise unknown_column(path, missing, _all_names(connection, path, form))
        columns = {name: _encoded(connection, name, slot) for name, slot in names.items()}
        return TextTable(path, form, rows, columns)
    finally:
        connection.close()


def column_names(path: Path) -> list[str]:
    """The columns of a file; of JSON rows all keys that occur."""
    with refused.with_next(path):
        form = file_format(path)
        connection = duckdb.connect(":memory:", config=_CONFIG)
        try:
            with _explained(path, form):
                return _all_names(connection, path, form)
        finally:
            connection.close()


def unknown_column(path: Path, missing: Sequence[str], there: Sequence[str]) -> UsageError:
    """The error for columns that a file does not have, with those that come close."""
    near = [match for name in missing for match in difflib.get_close_matches(name, there, 2, 0.5)]
    shown = ", ".join(there[:20]) + (f" and {len(there) - 20} more" if len(there) > 20 else "")
    hint = f"did you mean {', '.join(dict.fromkeys(near))}?" if near else "pyrite measure --help"
    if len(there) == 1 and ";" in there[0]:
        hint = "the file is separated by semicolons; save it with commas"
    noun = "column" if len(missing) == 1 else "columns"
    return UsageError(
        f"no {noun} {', '.join(map(repr, missing))}", where=str(path), expected=f"one of {shown}", next=hint
    )


_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "temp_directory": str(Path(tempfile.gettempdir()) / f"pyrite-duckdb-{os.getpid()}-0"),
}


def _load_delimited(con: Connection, path: Path, form: str, wanted: Sequence[str]) -> dict[str, str]:
    layout = delimited.scan(path, _DELIMITERS[form])
    for name in wanted:
        if layout.header.count(name) > 1:
            raise InputError(
                f"the header has column {name!r} {layout.header.count(name)} times",
                where=f"{path}:1",
                expected="one column of that name",
            )
    slots = {name: f"c{layout.header.index(name)}" for name in wanted if name in layout.header}
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(layout.header)))
    con.execute(
        f"create temp table t as select {_listed(slots)} from read_csv({_literal(path)}, auto_detect=false, "
        f"header=true, delim='{_DELIMITERS[form]}', quote='\"', escape='\"', columns={{{columns}}}, "
        f"null_padding=false, strict_mode=true, hive_partitioning=false, "
        f"max_line_size={max(1 << 21, 4 * layout.longest + 1)})"
    )
    _agree(con, path, layout.rows)
    return slots


def _load_lines(con: Connection, path: Path, form: str, wanted: Sequence[str]) -> dict[str, str]:
    lines = jsonrows.count_lines(path)
    return _load_objects(con, path, wanted, "newline_delimited", lines.rows, lines.longest)


def _load_array(con: Connection, path: Path, form: str, wanted: Sequence[str]) -> dict[str, str]:
    size = path.stat().st_size
    whole = f"(select content::JSON as d from read_text({_literal(path)}))"
    with path.open("rb") as handle:
        blank = not handle.read(1 << 16).strip()
    if blank:
        raise InputError("the file is empty", where=str(path), expected="a JSON array of objects")
    found = con.execute(f"select json_type(d), json_array_length(d) from {whole}").fetchone()
    assert found is not None
    if found[0] != "ARRAY":
        raise InputError(
            f"the document is {_KINDS.get(found[0], 'a number')}, not an array of rows",
            where=str(path),
            expected=jsonrows.ARRAY,
        )
    return _load_objects(con, path, wanted, "array", int(found[1]), size)


_KINDS = {
    "ARRAY": "an array",
    "OBJECT": "an object",
    "VARCHAR": "a string",
    "BOOLEAN": "true or false",
    "NULL": "null",
}


def _load_objects(
    con: Connection, path: Path, wanted: Sequence[str], layout: str, rows: int, longest: int
) -> dict[str, str]:
    pointers = ", ".join(_quoted("/" + name.replace("~", "~0").replace("/", "~1")) for name in wanted)
    paths = f"[{pointers}]::VARCHAR[]"
    slots = {name: f"c{i}" for i, name in enumerate(wanted)}
    fields = "".join(f", v[{i + 1}] as c{i}, k[{i + 1}] as k{i}" for i in range(len(wanted)))
    con.execute(
        f"create temp table t as select kind, twice{fields} from (select json_type(json) as kind, "
        f"len(json_keys(json)) <> list_unique(json_keys(json)) as twice, "
        f"json_extract_string(json, {paths}) as v, json_type(json, {paths}) as k from "
        f"read_json_objects({_literal(path)}, format='{layout}', hive_partitioning=false, "
        f"maximum_object_size={max(1 << 24, longest + 1)}))"
    )
    _agree(con, path, rows)
    odd = con.execute(
        "select r, kind from (select row_number() over () as r, kind, twice from t) "
        "where kind <> 'OBJECT' or twice order by r limit 1"
    )
    if first := odd.fetchone():
        kind = _KINDS.get(first[1], "a number")
        raise InputError(
            f"row {first[0]} is {kind if kind != 'an object' else 'an object that has a key twice'}",
            where=_place(path, layout, int(first[0])),
            expected="a JSON object a row",
        )
    present = {}
    for name, slot in slots.items():
        kind = f"k{slot[1:]}"
        if _one(con, f"select count({kind}) from t") == 0:
            continue
        present[name] = slot
        nested = con.execute(
            f"select r from (select row_number() over () as r, {kind} as k from t) "
            "where k in ('OBJECT', 'ARRAY') order by r limit 1"
        ).fetchone()
        if nested:
            raise InputError(
                f"row {nested[0]}, {name}: a nested value",
                where=_place(path, layout, int(nested[0])),
                expected="a string, number, true, false or null",
            )
    return present


def _place(path: Path, layout: str, row: int) -> str:
    line = jsonrows.line_of_row(path, row) if layout == "newline_delimited" else None
    return f"{path}:{line}" if line else str(path)


def _load_parquet(con: Connection, path: Path, form: str, wanted: Sequence[str]) -> dict[str, str]:
    source = f"read_parquet({_literal(path)}, hive_partitioning=false)"
    types = {str(r[0]): str(r[1]) for r in con.execute(f"describe select * from {source}").fetchall()}
    slots = {name: f"c{i}" for i, name in enumerate(wanted) if name in types}
    for name in slots:
        if types[name].endswith("]") or types[name].startswith(("STRUCT", "MAP", "UNION", "VARIANT")):
            raise InputError(
                f"column {name!r} is nested ({types[name][:60]})",
                where=str(path),
                expected="a column of text, numbers or booleans",
            )
    fields = ", ".join(f"{_identifier(name)}::VARCHAR as {slot}" for name, slot in slots.items())
    con.execute(f"create temp table t as select {fields or '1 as x'} from {source}")
    _agree(con, path, int(_one(con, f"select sum(num_rows) from parquet_file_metadata({_literal(path)})")))
    return slots


_LOADERS = {
    "csv": _load_delimited,
    "tsv": _load_delimited,
    "jsonl": _load_lines,
    "json": _load_array,
    "parquet": _load_parquet,
}


def _all_names(con: Connection, path: Path, form: str) -> list[str]:
    if form in _DELIMITERS:
        return delimited.scan(path, _DELIMITERS[form]).header
    if form == "parquet":
        source = f"read_parquet({_literal(path)}, hive_partitioning=false)"
        return [str(r[0]) for r in con.execute(f"describe select * from {source}").fetchall()]
    layout = "newline_delimited" if form == "jsonl" else "array"
    longest = min(max(1 << 24, path.stat().st_size + 1), 1 << 28)
    found = con.execute(
        f"select distinct unnest(json_keys(json)) as k from read_json_objects({_literal(path)}, "
        f"format='{layout}', maximum_object_size={longest}) order by k limit 1000"
    ).fetchall()
    return [str(r[0]) for r in found]


def _encoded(con: Connection, name: str, slot: str) -> TextColumn:
    """A column as codes into its sorted distinct values."""
    names = f"n_{slot}"
    con.execute(
        f"create temp table {names} as select v, row_number() over (order by v) - 1 as k "
        f"from (select distinct {slot} as v from t where {slot} is not null)"
    )
    values = tuple(con.execute(f"select v from {names} order by k").fetchnumpy()["v"].tolist())
    if not values:
        return TextColumn(name, np.full(int(_one(con, "select count(*) from t")), -1, dtype=np.int32), ())
    if len(values) <= _ENUM_VALUES:
        con.execute(f"create type e_{slot} as enum (select v from {names} order by k)")
        query = f"select enum_code({slot}::e_{slot})::INTEGER as code from t"
    else:
        query = f"select k::INTEGER as code from t left join {names} on {slot} = v order by t.rowid"
    found = con.execute(query).fetchnumpy()["code"]
    codes = np.ma.filled(found, -1) if isinstance(found, np.ma.MaskedArray) else found
    return TextColumn(name, codes.astype(np.int32, copy=False), values)


_ENUM_VALUES = 20_000
"""Up to here an enum type is 10 times faster than a join; with a million values a join is 4 times faster."""


def _agree(con: Connection, path: Path, rows: int) -> None:
    read = int(_one(con, "select count(*) from t"))
    if read != rows:
        raise InputError(
            f"{read} rows were read where the file has {rows}",
            where=str(path),
            expected="a file whose rows all can be read",
        )


@contextmanager
def _explained(path: Path, form: str) -> Iterator[None]:
    """Turn what duckdb raises into an error that names the line."""
    if form != "parquet":
        refused.other_unicode(path)
    try:
        yield
    except OSError as exc:
        raise InputError(exc.strerror or str(exc), where=str(path), expected="a readable file") from exc
    except (duckdb.Error, UnicodeDecodeError) as exc:  # a message of duckdb's may hold half a character
        if form == "jsonl":
            jsonrows.refuse_bad_line(path)
        elif form == "json":
            jsonrows.refuse_bad_array(path)
        elif form == "parquet":
            refused.torn_parquet(path)
        elif form in _DELIMITERS and (line := delimited.mixed_line_ends(path)):
            raise InputError(
                "line ends are mixed (LF and CR LF)",
                where=f"{path}:{line}",
                expected="one kind of line end",
                next=f"sed -i 's/\\r$//' {path.name}",
            ) from exc
        text = " ".join(str(exc).split("Possible fixes")[0].split("\n\nLINE")[0].split())
        text = text.replace(str(path.absolute()), path.name)
        raise InputError(
            f"the {form} reader stopped: {text[:300]}", where=str(path), expected=f"a {form} file"
        ) from exc


def _one(con: Connection, query: str) -> Any:
    found = con.execute(query).fetchone()
    assert found is not None
    return found[0]


def _listed(slots: dict[str, str]) -> str:
    return ", ".join(slots.values()) or "1 as x"


def _literal(path: Path) -> str:
    """The path as a SQL string, with glob characters taken literally."""
    absolute = str(path.absolute())
    return _quoted("".join(f"[{c}]" if c in "*?[" else c for c in absolute))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _names_beside(path: Path) -> list[str]:
    return [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
