"""Files of every format: all rows come through, and what cannot is named with its line."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.errors import InputError, UsageError
from pyrite.measure.read import column_names, read_columns


def rows_of(path: Path, *names: str) -> list[tuple[str | None, ...]]:
    table = read_columns(path, names)
    columns = [table.columns[name] for name in names]
    texts = [[c.values[k] if k >= 0 else None for k in c.codes] for c in columns]
    return list(zip(*texts, strict=True))


def written(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


CSV = 'a,b\n1,x\n2,"y,z"\n3,"two\nlines"\n4,\n5,"say ""hi"""\n'
CSV_ROWS = [("1", "x"), ("2", "y,z"), ("3", "two\nlines"), ("4", None), ("5", 'say "hi"')]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("plain.csv", CSV, CSV_ROWS),
        ("crlf.csv", b"a,b\r\n1,2\r\n3,4", [("1", "2"), ("3", "4")]),
        ("bom.csv", b"\xef\xbb\xbfa,b\n1,2\n", [("1", "2")]),
        ("blank_lines.csv", "a,b\n\n1,2\n\n\n3,4\n\n", [("1", "2"), ("3", "4")]),
        ("only_commas.csv", "a,b\n,\n3,4\n", [(None, None), ("3", "4")]),
        ("spaced.csv", "a, b \n1, 2\n", [("1", " 2")]),
        ("hash.csv", "a,b\n#1,2\n", [("#1", "2")]),
        ("quote_inside.csv", 'a,b\n1,x"y\n2,z"\n', [("1", 'x"y'), ("2", 'z"')]),
        ("null_word.csv", "a,b\nNULL,NaN\n", [("NULL", "NaN")]),
        ("old_mac.csv", b"a,b\r1,2\r3,4\r", [("1", "2"), ("3", "4")]),
        ("tabs.tsv", "a\tb\n1\tx,y\n", [("1", "x,y")]),
        ("rows.jsonl", '{"a":1,"b":"x"}\n\n  \n{"b":null,"a":true}\n{"a":1.0}', None),
        ("rows.ndjson", b'{"a":"1","b":"2"}\r\n', [("1", "2")]),
        ("bom.jsonl", b'\xef\xbb\xbf{"a":1,"b":2}\n', [("1", "2")]),
        ("array.json", '[{"a":1,"b":"x"},\n {"a":"2"}]', [("1", "x"), ("2", None)]),
    ],
)
def test_all_rows_come_through(
    tmp_path: Path, name: str, data: str | bytes, expected: list[tuple[str | None, ...]] | None
) -> None:
    expected = expected or [("1", "x"), ("true", None), ("1.0", None)]
    assert rows_of(written(tmp_path / name, data), "a", "b") == expected


@pytest.mark.parametrize(
    ("name", "data", "line", "says"),
    [
        ("short.csv", "a,b\n1,2\n3\n", 3, "1 field:"),
        ("long.csv", "a,b\n1,2\n3,4,5\n", 3, "3 fields"),
        ("trailing.csv", "a,b\n1,2\n3,4,\n", 3, "3 fields"),
        ("torn.csv", 'a,b\n1,2\n3,"4', 3, "never closed"),
        ("torn_row.csv", "a,b\n1,2\n3", 3, "1 field:"),
        ("after_quote.csv", 'a,b\n1,"x"y\n', 2, "badly quoted"),
        ("mixed.csv", b"a,b\n1,2\n3,4\r\n5,6\n", 3, "line ends are mixed"),
        ("latin1.csv", b"a,b\n1,2\n3,caf\xe9\n", 3, "not UTF-8"),
        ("after_two_lines.csv", 'a,b\n"x\ny",2\n3\n', 4, "1 field:"),
        ("spaces.csv", "a,b\n1,2\n   \n", 3, "1 field:"),
        ("list.jsonl", '{"a":1}\n\n[1]\n', 3, "an array"),
        ("number.jsonl", '{"a":1}\n3\n', 2, "a number"),
        ("null.jsonl", '{"a":1}\nnull\n', 2, "null"),
        ("torn.jsonl", '{"a":1}\n\n{"a":2', 3, "torn last line"),
        ("half.jsonl", '{"a":1}\n{"a":\n{"a":2}\n', 2, "not one JSON value"),
        ("two.jsonl", '{"a":1}{"a":2}\n', 1, "not one JSON value"),
        ("latin1.jsonl", b'{"a":1}\n{"a":"\xe9"}\n', 2, "not UTF-8"),
        ("nested.jsonl", '{"a":1}\n{"a":{"b":1}}\n', 2, "nested"),
        ("twice.jsonl", '{"a":1}\n{"a":1,"a":0}\n', 2, "a key twice"),
        ("list_inside.jsonl", '\n{"a":[1]}\n', 2, "nested"),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_its_line(
    tmp_path: Path, name: str, data: str | bytes, line: int, says: str
) -> None:
    path = written(tmp_path / name, data)
    with pytest.raises(InputError, match=says) as caught:
        read_columns(path, ["a"])
    assert caught.value.where == f"{path}:{line}"


@pytest.mark.parametrize(
    ("name", "data", "line", "says"),
    [
        ("torn.json", '[{"a":1},{"a":2}', 1, "ends after row 2: the array is not closed, at byte 16"),
        ("comma.json", '[{"a":1},\n', 2, "ends before row 2: the array is not closed"),
        ("inside.json", '[{"a":1},\n{"a":', 2, "row 2 is not one JSON value: the file ends inside it"),
        ("string.json", '[{"a":"x', 1, "row 1 is not one JSON value: the file ends inside it"),
        ("after.json", '[{"a":1}]\nx', 2, "after the end of the array stands 'x', at byte 10"),
        ("two.json", '[{"a":1}][{"a":2}]', 1, "after the end of the array"),
        ("between.json", '[{"a":1}\n{"a":2}]', 2, "after row 1 stands '{', not a comma"),
        ("trailing.json", '[{"a":1},]', 1, "row 2 is not one JSON value"),
        ("wide.json", '[{"a":"é"},\n{"a":é}]', 2, "row 2 is not one JSON value: .*, at byte 18"),
        ("lines.json", '{"a":1}\n{"a":2}\n', 1, "not an array: it starts with '{'"),
        ("half.json", '[{"a":1},\n{"a":"\\ud800"}]', 2, "row 2 holds a lone surrogate, .*d800"),
        ("half.jsonl", '{"a":"\\ud800"}\n{"a":1}\n', 1, "the row holds a lone surrogate"),
        ("half_key.jsonl", '{"a":1}\n{"\\udc00":1,"a":2}\n', 2, "the row holds a lone surrogate"),
        ("latin1.json", b'[{"a":1},\n{"a":"\xe9"}]', 2, "not UTF-8: byte 0xe9 at byte 16"),
        ("marked.json", b'\xef\xbb\xbf[{"a":1}]', 1, "a byte order mark"),
    ],
)
def test_json_that_is_cut_or_goes_on_is_named_in_our_words(
    tmp_path: Path, name: str, data: str | bytes, line: int, says: str
) -> None:
    path = written(tmp_path / name, data)
    with pytest.raises(InputError, match=says) as caught:
        read_columns(path, ["a"])
    assert caught.value.where == f"{path}:{line}"
    assert "Error:" not in caught.value.what
    assert caught.value.next


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.jsonl", "v.json"])
@pytest.mark.parametrize("coding", ["utf-16", "utf-32"])
def test_a_mark_of_another_unicode_names_the_conversion(tmp_path: Path, name: str, coding: str) -> None:
    path = written(tmp_path / name, "a,b\n1,2\n".encode(coding))
    with pytest.raises(InputError, match=coding.upper()) as caught:
        read_columns(path, ["a"])
    assert caught.value.next.startswith(f"iconv -f {coding} -t utf-8 {name}")
    made = written(tmp_path / f"converted{path.suffix}", path.read_bytes().decode(coding))
    if path.suffix == ".csv":
        assert rows_of(made, "a") == [("1",)]


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe, folder = tmp_path / "pipe.csv", tmp_path / "folder.csv"
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (pipe, folder, Path("/dev/null")):
        with pytest.raises(UsageError, match="not a regular file") as caught:
            read_columns(path, ["a"])
        assert caught.value.next


@pytest.mark.parametrize("cut", [0, 3, 4, 8, -20, -1])
def test_a_torn_parquet_file_is_named_in_our_words(tmp_path: Path, cut: int) -> None:
    whole = tmp_path / "whole.parquet"
    duckdb.sql(f"copy (select 1 as a) to '{whole}'")
    torn = written(tmp_path / "torn.parquet", whole.read_bytes()[:cut])
    with pytest.raises(InputError, match="not a whole Parquet file") as caught:
        read_columns(torn, ["a"])
    assert caught.value.next


def test_a_parquet_file_that_is_rotten_inside_is_refused_without_its_absolute_path(tmp_path: Path) -> None:
    whole = tmp_path / "whole.parquet"
    duckdb.sql(f"copy (select 1 as a) to '{whole}'")
    data = whole.read_bytes()
    rotten = written(tmp_path / "rotten.parquet", data[:-12] + b"\xff" * 4 + data[-8:])
    with pytest.raises(InputError) as caught:
        read_columns(rotten, ["a"])
    assert str(tmp_path) not in caught.value.what


@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from("ab"), st.text(max_size=4), min_size=1), min_size=1, max_size=4
    ),
    cut=st.integers(1, 40),
)
@settings(max_examples=30, deadline=None)
def test_an_array_cut_anywhere_is_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], cut: int
) -> None:
    data = json.dumps(rows, ensure_ascii=False).encode()
    path = written(tmp_path_factory.mktemp("c") / "c.json", data[: -min(cut, len(data) - 1)])
    with pytest.raises(InputError) as caught:
        read_columns(path, ["a"])
    assert "reader stopped" not in caught.value.what


def test_a_message_that_the_fast_reader_cuts_inside_a_character_is_ours_all_the_same(tmp_path: Path) -> None:
    rows = [{"a": "00\U00010000"}, {"a": "0\U00010000", "b": "\x1f\U00010000"}]
    path = written(tmp_path / "c.json", json.dumps(rows, ensure_ascii=False).encode()[:-1])
    with pytest.raises(InputError, match="ends after row 2: the array is not closed"):
        read_columns(path, ["a"])


@pytest.mark.parametrize(
    "data",
    [
        '{"a":1}',
        "3",
        "null",
        '"x"',
        '[{"a":1},',
        '[{"a":1}',
        '[{"a":1},]',
        '[{"a":1}]x',
        '[{"a":1}][{"a":2}]',
        '{"a":1}\n{"a":2}\n',
        '[{"a":1},3]',
        '[{"a":1},[2]]',
        '[{"a":{"b":1}}]',
        "",
        "  \n",
        "[",
        "[]",
    ],
)
def test_a_document_that_is_no_array_of_rows_is_refused(tmp_path: Path, data: str) -> None:
    with pytest.raises(InputError):
        read_columns(written(tmp_path / "d.json", data), ["a"])


@pytest.mark.parametrize("data", ["", "a,b\n", "\n", "\na,b\n1,2\n"])
def test_no_header_or_no_row_is_refused(tmp_path: Path, data: str) -> None:
    with pytest.raises(InputError):
        read_columns(written(tmp_path / "e.csv", data), ["a"])


def test_a_nested_value_in_another_column_is_no_harm(tmp_path: Path) -> None:
    assert rows_of(written(tmp_path / "n.jsonl", '{"a":1,"z":{"b":[1]}}\n'), "a") == [("1",)]


def test_the_first_of_several_bad_rows_is_named(tmp_path: Path) -> None:
    lines = ['{"a":1}'] * 200_000
    lines[150_000] = lines[190_000] = '{"a":[1]}'
    path = written(tmp_path / "n.jsonl", "\n".join(lines))
    with pytest.raises(InputError, match="row 150001, a: a nested value") as caught:
        read_columns(path, ["a"])
    assert caught.value.where == f"{path}:150001"


def test_keys_of_json_are_exact(tmp_path: Path) -> None:
    line = json.dumps({"A": 1, "a": 2, "x/y~z": 3, "q\"'": 4, "": 5})
    path = written(tmp_path / "k.jsonl", line + "\n")
    assert rows_of(path, "a", "A", "x/y~z", "q\"'") == [("2", "1", "3", "4")]


def test_column_names_may_hold_anything(tmp_path: Path) -> None:
    path = written(tmp_path / "n.csv", "a'b,\"c,d\",A'B,select *\n1,2,3,4\n")
    assert rows_of(path, "a'b", "c,d", "A'B", "select *") == [("1", "2", "3", "4")]
    parquet = tmp_path / "n.parquet"
    duckdb.sql(f'copy (select 1 as "a\'b", 2 as "c""d") to \'{parquet}\'')
    assert rows_of(parquet, "a'b", 'c"d') == [("1", "2")]


def test_a_column_that_stands_twice_is_an_error_only_when_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "d.csv", "a,a,b\n1,2,3\n")
    assert rows_of(path, "b") == [("3",)]
    with pytest.raises(InputError, match="2 times"):
        read_columns(path, ["a"])


@pytest.mark.parametrize("name", ["[x]*?.csv", "year=2026/v.csv", "it's.csv"])
def test_a_file_name_is_no_pattern(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    written(tmp_path / "x.csv", "a\n9\n9\n")
    assert rows_of(written(tmp_path / name, "a\n1\n"), "a") == [("1",)]


def test_parquet_of_every_type(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    duckdb.sql(
        "copy (select * from (values (true, 1::tinyint, 1.0::double, 'x', null, [1]), "
        f"(null, 0, 'nan'::double, '', 2.50, [2])) t(b, i, d, s, n, l)) to '{path}'"
    )
    assert rows_of(path, "b", "i", "d", "s", "n") == [
        ("true", "1", "1.0", "x", None),
        (None, "0", "nan", "", "2.50"),
    ]
    with pytest.raises(InputError, match="nested"):
        read_columns(path, ["l"])
    torn = written(tmp_path / "torn.parquet", path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"(?i)parquet"):
        read_columns(torn, ["b"])


def test_what_is_not_there_is_said_with_what_is(tmp_path: Path) -> None:
    path = written(tmp_path / "v.csv", "human,judge_a,task\n1,0,t\n")
    with pytest.raises(UsageError) as caught:
        read_columns(path, ["human", "juge_a"])
    assert "judge_a" in caught.value.next
    assert "human, judge_a, task" in caught.value.expected
    with pytest.raises(UsageError, match=r"v\.csv"):
        read_columns(tmp_path / "w.csv", ["a"])
    with pytest.raises(UsageError, match="unknown extension"):
        read_columns(written(tmp_path / "v.xls", "a"), ["a"])
    with pytest.raises(UsageError, match="a folder"):
        read_columns(tmp_path, ["a"])
    with pytest.raises(UsageError) as caught:
        read_columns(written(tmp_path / "s.csv", "a;b\n1;2\n"), ["a"])
    assert "semicolon" in caught.value.next


@pytest.mark.parametrize(
    ("name", "data"),
    [("v.jsonl", '{"a":1}\n{"b":2}\n'), ("v.json", '[{"a":1},{"b":2}]'), ("v.csv", "a,b\n1,2\n")],
)
def test_names_of_all_columns(tmp_path: Path, name: str, data: str) -> None:
    path = written(tmp_path / name, data)
    assert column_names(path) == ["a", "b"]
    with pytest.raises(UsageError, match="'c'"):
        read_columns(path, ["c"])


def test_a_long_record_is_read(tmp_path: Path) -> None:
    huge = "x" * 5_000_000
    path = written(tmp_path / "long.csv", f'a,b\n1,"{huge}"\n2,y\n')
    assert rows_of(path, "a") == [("1",), ("2",)]
    lines = written(tmp_path / "long.jsonl", json.dumps({"a": 1, "b": "y" * 20_000_000}) + '\n{"a":2}\n')
    assert rows_of(lines, "a") == [("1",), ("2",)]


def test_order_of_rows_is_kept_in_a_long_file(tmp_path: Path) -> None:
    path = written(tmp_path / "m.csv", "n,p\n" + "".join(f"{i},{i % 7}\n" for i in range(60_000)))
    table = read_columns(path, ["n"])
    assert table.rows == 60_000
    found = table.columns["n"]
    assert (found.codes >= 0).all()
    assert [found.values[found.codes[i]] for i in (0, 30_000, 59_999)] == ["0", "30000", "59999"]


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@given(st.lists(st.tuples(text, text), min_size=1, max_size=8))
@settings(deadline=None, max_examples=25)
def test_what_a_writer_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("r")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([("a", "b"), *rows])
    expected = [(a or None, b or None) for a, b in rows]
    assert rows_of(written(folder / "r.csv", buffer.getvalue()), "a", "b") == expected
    lines = "".join(json.dumps({"a": a, "b": b}) + "\n" for a, b in rows)
    assert rows_of(written(folder / "r.jsonl", lines), "a", "b") == rows
    array = json.dumps([{"a": a, "b": b} for a, b in rows], ensure_ascii=False)
    assert rows_of(written(folder / "r.json", array), "a", "b") == rows
