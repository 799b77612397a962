"""Replay of comparators: sound ones pass, every well-known fault is found, what is no answer is none."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from odf.opendocument import OpenDocumentSpreadsheet, OpenDocumentText
from odf.table import Table, TableCell, TableRow
from odf.text import P
from PIL import Image, ImageDraw

from pyrite.audit.answers import NON_ANSWERS, Answer, Said, parse_accept, read, weigh
from pyrite.audit.comparator import Ask, Replayed, parse_options, replay
from pyrite.errors import InputError, RunError, UsageError

COMPARATORS = Path(__file__).with_name("comparators")
Pair = tuple[Path, Path]
GOLD = {"name": "gold", "rows": [1, 2.5, 3], "ok": True, "by": {"x": "a", "y": "b"}}


def _json(path: Path, after: bool) -> None:
    path.write_text(json.dumps(GOLD if after else {**GOLD, "name": "start"}), encoding="utf-8")


def _csv(path: Path, after: bool) -> None:
    path.write_text(f"item,price\npen,{'2.25' if after else '1.50'}\nink,7.00\n", encoding="utf-8")


def _txt(path: Path, after: bool) -> None:
    path.write_text(f"size = 12\ncolour = {'red' if after else 'blue'}\n", encoding="utf-8")


def _xlsx(path: Path, after: bool) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["item", "price"], ["pen", 2.25 if after else 1.5], ["ink", 7]):
        sheet.append(row)
    book.save(path)


def _ods(path: Path, after: bool) -> None:
    book = OpenDocumentSpreadsheet()
    table = Table(name="Q3")
    for name, value in (("pen", 2.25 if after else 1.5), ("ink", 7)):
        row = TableRow()
        text = TableCell(valuetype="string")
        text.addElement(P(text=name))
        row.addElement(text)
        row.addElement(TableCell(valuetype="float", value=value))
        table.addElement(row)
    book.spreadsheet.addElement(table)
    book.save(str(path))


def _odt(path: Path, after: bool) -> None:
    text = OpenDocumentText()
    for line in ("Dear all,", "the price is 25." if after else "the price is 20.", "Bye"):
        text.text.addElement(P(text=line))
    text.save(str(path))


def _docx(path: Path, after: bool) -> None:
    import zipfile

    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    lines = ("Dear all,", "the price is 25." if after else "the price is 20.", "Bye")
    body = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in lines)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", '<?xml version="1.0"?><Types/>')
        file.writestr(
            "word/document.xml", f'<w:document xmlns:w="{name}"><w:body>{body}</w:body></w:document>'
        )


def _png(path: Path, after: bool) -> None:
    image = Image.new("RGB", (60, 40), (200, 220, 240))
    draw = ImageDraw.Draw(image)
    draw.rectangle((5, 5, 25, 20), fill=(220, 30, 30) if after else (30, 30, 220))
    draw.line((0, 39, 59, 0), fill=(0, 0, 0))
    image.save(path)


def _db(path: Path, after: bool) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("create table item (id integer primary key, name text, price real)")
        db.executemany(
            "insert into item values (?, ?, ?)", [(1, "pen", 2.25 if after else 1.5), (2, "ink", 7)]
        )


WRITERS: dict[str, Callable[[Path, bool], None]] = {
    "json": _json,
    "csv": _csv,
    "txt": _txt,
    "xlsx": _xlsx,
    "ods": _ods,
    "odt": _odt,
    "docx": _docx,
    "png": _png,
    "db": _db,
}


@pytest.fixture
def pair(tmp_path: Path) -> Callable[[str], Pair]:
    def make(ending: str) -> Pair:
        paths = tmp_path / f"gold.{ending}", tmp_path / f"start.{ending}"
        WRITERS[ending](paths[0], True)
        WRITERS[ending](paths[1], False)
        return paths

    return make


def ask(function: str, gold: Path, start: Path | None = None, **options: Any) -> Replayed:
    named = function if ":" in function else f"own_comparators:{function}"
    return replay(Ask(named, gold, start, paths=(COMPARATORS,), **options))


def wrong(found: Replayed) -> list[str]:
    return [case["name"] for case in found.document["cases"] if case["verdict"].startswith("false")]


@pytest.mark.parametrize(
    ("ending", "function", "harmless"),
    [
        ("json", "as_json", {"key-order", "whitespace"}),
        ("csv", "as_rows", {"line-ends", "quoted"}),
        ("txt", "as_bytes", set()),
        ("xlsx", "as_cells", {"zipped"}),
        ("ods", "as_cells", {"zipped"}),
        ("odt", "as_parts", {"zipped"}),
        ("docx", "as_parts", {"zipped"}),
        ("png", "as_pixels", {"encoded"}),
        ("db", "as_database", {"vacuumed"}),
    ],
)
def test_a_sound_comparator_has_no_fault(
    ending: str, function: str, harmless: set[str], pair: Callable[[str], Pair]
) -> None:
    found = ask(function, *pair(ending))
    document = found.document
    assert wrong(found) == []
    assert found.exit_code == 0
    assert document["gold"] == "right"
    assert document["constant"] is None
    made = {case["name"] for case in document["cases"] if case["kind"] == "harmless"}
    assert made == {f"harmless-{name}" for name in harmless}
    counts = document["counts"]
    assert counts["near_miss"] >= 8
    assert counts["right"] + counts["indeterminate"] == counts["cases"]
    assert counts["indeterminate"] == 0
    assert len({case["name"] for case in document["cases"]}) == counts["cases"]
    json.dumps(document, allow_nan=False)


def test_without_the_initial_file_everything_of_the_gold_is_nearly_missed(
    pair: Callable[[str], Pair],
) -> None:
    found = ask("as_json", pair("json")[0])
    assert found.exit_code == 0
    assert found.document["counts"]["initial"] == 0
    assert found.document["counts"]["near_miss"] > 20


@pytest.mark.parametrize(
    ("ending", "function", "kinds", "operators"),
    [
        ("json", "as_bytes", {"harmless"}, set()),
        ("xlsx", "as_bytes", {"harmless"}, set()),
        ("png", "as_bytes", {"harmless"}, set()),
        ("db", "as_bytes", {"harmless"}, set()),
        ("json", "one_key", {"near_miss"}, {"neighbour-changed", "neighbour-deleted"}),
        ("png", "mean_colour", {"near_miss"}, {"image-shifted", "image-resized"}),
        ("json", "accepts", {"initial", "near_miss"}, {"drop-change", "deleted-file"}),
        ("json", "rejects", {"gold", "harmless"}, set()),
    ],
)
def test_a_fault_is_found(
    ending: str, function: str, kinds: set[str], operators: set[str], pair: Callable[[str], Pair]
) -> None:
    found = ask(function, *pair(ending))
    bad = [case for case in found.document["cases"] if case["verdict"].startswith("false")]
    assert {case["kind"] for case in bad} == kinds
    assert {case["operator"] for case in bad} >= operators
    assert found.exit_code == 1
    counts = found.document["counts"]
    assert counts["false_accepts"] + counts["false_rejects"] == len(bad)
    assert found.document["constant"] == (function if function in {"accepts", "rejects"} else None)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("raises", "raised"),
        ("none", "none"),
        ("nan", "nan"),
        ("word", "not_a_number"),
        ("chance", "not_deterministic"),
        ("crashes", "died"),
        ("leaves", "died"),
        ("exits", "raised"),
        ("hangs", "timeout"),
    ],
)
def test_what_is_no_answer_is_counted_apart(function: str, why: str, pair: Callable[[str], Pair]) -> None:
    found = ask(function, *pair("json"), timeout_s=0.1 if function == "hangs" else 5.0)
    counts = found.document["counts"]
    assert counts["indeterminate"] == counts["cases"]
    assert (counts["false_accepts"], counts["false_rejects"]) == (0, 0)
    assert found.document["non_answers"] == {why: counts["cases"]}
    assert why in NON_ANSWERS
    assert found.exit_code == 3
    assert all(case["answer"] for case in found.document["cases"])


def test_another_order_of_hashing_is_seen(pair: Callable[[str], Pair]) -> None:
    found = ask("by_hash_seed", *pair("json"))
    assert found.document["non_answers"].keys() <= {"not_deterministic"}
    assert found.exit_code in {1, 3}


def test_a_comparator_that_kills_its_caller(pair: Callable[[str], Pair]) -> None:
    with pytest.raises(RunError, match="could not be called"):
        ask("kills_its_caller", *pair("json"))


@pytest.mark.parametrize("function", ["talks", "destroys", "later", "Metrics.compare"])
def test_strange_and_sound(function: str, pair: Callable[[str], Pair]) -> None:
    gold, start = pair("json")
    before = gold.read_bytes(), start.read_bytes()
    found = ask(function, gold, start)
    assert (found.exit_code, wrong(found)) == (0, [])
    assert (gold.read_bytes(), start.read_bytes()) == before


def test_options_reach_it(pair: Callable[[str], Pair]) -> None:
    options = parse_options('{"rules": [{"type": "sheet_data"}], "fuzzy": false}')
    assert ask("strict", *pair("json"), options=options).exit_code == 0
    assert ask("strict", *pair("json")).document["non_answers"].keys() == {"raised"}


def test_fractions_are_undecided_until_a_threshold_is_named(pair: Callable[[str], Pair]) -> None:
    gold, start = pair("txt")
    open_ = ask("similarity", gold, start).document
    assert open_["non_answers"]["fraction"] == open_["counts"]["fractions"] > 0
    assert open_["counts"]["false_accepts"] == 0
    whole = ask("similarity", gold, start, accept=parse_accept(">=1.0"))
    assert whole.exit_code == 0
    assert whole.document["counts"]["fractions"] == open_["counts"]["fractions"]
    loose = ask("similarity", gold, start, accept=parse_accept(">0"))
    assert "initial" in wrong(loose)
    assert loose.document["accept"] == ">0.0"


def test_near_misses_that_are_right_after_all(pair: Callable[[str], Pair]) -> None:
    found = ask("one_key", *pair("json"), equivalent=("neighbour-*", "duplicate-row@*"))
    assert wrong(found) == []
    assert found.document["counts"]["equivalent"] > 0
    assert ask("accepts", *pair("json"), equivalent=("*",)).exit_code == 1, "not the initial file"


def test_a_result_is_shown_and_not_held_against_it(pair: Callable[[str], Pair]) -> None:
    gold, start = pair("json")
    found = ask("as_json", gold, result=start)
    assert found.exit_code == 0
    assert found.document["result"]["got"] == "reject"
    assert found.document["result"]["verdict"] == "shown"


def test_every_file_can_be_seen(pair: Callable[[str], Pair], tmp_path: Path) -> None:
    gold, start = pair("json")
    keep = tmp_path / "kept" / "here"
    found = ask("one_key", gold, start, keep=keep)
    assert (keep / "expected.json").read_bytes() == gold.read_bytes()
    for case in found.document["cases"]:
        if case["operator"] == "deleted-file":
            assert case["path"] is None
        else:
            assert Path(case["path"]).is_file()
            assert (Path(case["path"]).read_bytes() == gold.read_bytes()) is (case["kind"] == "gold")
    with pytest.raises(UsageError, match="not empty"):
        ask("one_key", gold, start, keep=keep)


def test_it_is_confined(pair: Callable[[str], Pair], tmp_path: Path) -> None:
    """It sees neither files beside its own nor a server on this machine."""
    from pyrite.sandbox import confine

    if confine.what_holds()["backend"] == "none":
        pytest.skip("no bubblewrap here")
    canary = tmp_path / "canary"
    canary.write_text("x")
    found = ask("reaches_out", *pair("json"), options={"canary": str(canary)})
    assert found.document["constant"] == "rejects"


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        ("no_such_module:f", RunError, "no_such_module"),
        ("own_comparators:nothing", RunError, "nothing"),
        ("own_comparators:table", RunError, "no function"),
        ("own_comparators", UsageError, "module:function"),
        ("own comparators:f()", UsageError, "module:function"),
        (":f", UsageError, "module:function"),
    ],
)
def test_what_cannot_be_called(
    function: str, error: type[Exception], message: str, pair: Callable[[str], Pair]
) -> None:
    gold, start = pair("json")
    with pytest.raises(error) as caught:
        replay(Ask(function, gold, start, paths=(COMPARATORS,)))
    assert message in str(caught.value)


def test_what_cannot_be_compared(pair: Callable[[str], Pair], tmp_path: Path) -> None:
    gold, start = pair("json")
    with pytest.raises(InputError, match="byte for byte"):
        ask("as_json", gold, gold)
    with pytest.raises(InputError, match="no such file"):
        ask("as_json", tmp_path / "none.json", start)
    with pytest.raises(InputError, match="regular file"):
        ask("as_json", tmp_path, start)
    with pytest.raises(InputError, match="no such folder"):
        replay(Ask("a:b", gold, start, paths=(tmp_path / "none",)))
    with pytest.raises(UsageError, match="--timeout"):
        ask("as_json", gold, start, timeout_s=0)


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    """A gold of hostile bytes: what can be made of bytes is tried, nothing breaks."""
    gold, start = tmp_path / "gold.xlsx", tmp_path / "start.xlsx"
    gold.write_bytes(b"PK\x03\x04 not a zip")
    start.write_bytes(b"")
    found = ask("as_bytes", gold, start)
    assert found.exit_code == 0
    assert "zip" in found.document["not_made"]["zipped"]
    assert {case["operator"] for case in found.document["cases"]} >= {"truncated-file", "deleted-file"}


def test_a_file_too_large_for_near_misses_says_so(tmp_path: Path) -> None:
    gold = tmp_path / "gold.bin"
    gold.write_bytes(bytes(9 << 20))
    found = ask("as_bytes", gold)
    assert "8 MB" in found.document["not_made"]["near_misses"]
    assert found.document["counts"]["near_miss"] == 0
    assert found.document["constant"] is None


@pytest.mark.parametrize("text", ["1.0", "<1", ">=", ">=x", "=> 1", ">= nan", ">=1 or 2"])
def test_a_threshold_is_an_operator_and_a_number(text: str) -> None:
    with pytest.raises(UsageError, match="--accept"):
        parse_accept(text)


@pytest.mark.parametrize("text", ["", "[1]", "{", "NaN", "[" * 100_000])
def test_options_are_an_object(text: str) -> None:
    with pytest.raises(UsageError, match="--options"):
        parse_options(text)


@pytest.mark.parametrize(
    ("rule", "value", "wanted"),
    [
        (">=0.5", 0.5, True),
        (">0.5", 0.5, False),
        ("==1", 1.0, True),
        ("==1", 0.9, False),
        (">=-1", 0.0, True),
    ],
)
def test_thresholds(rule: str, value: float, wanted: bool) -> None:
    said = weigh(Answer("number", value), Answer("number", value), parse_accept(rule))
    assert said.accepts is wanted


def test_answers_are_believed_only_in_their_own_form() -> None:
    lines = [
        b'{"case": "a", "got": "number", "value": 1}',
        b'{"case": "a", "got": "number", "value": 0}',
        b'{"case": "b", "got": "number", "value": true}',
        b'{"case": "c", "got": "number", "value": 1e999}',
        b'{"case": "d", "got": "fraction"}',
        b'{"case": "e", "got": "number", "value": ' + b"9" * 400 + b"}",
        b'{"case": ["a"], "got": "none"}',
        b'{"case": "stranger", "got": "none"}',
        b"[" * 10_000,
        b"\xff",
        b"3",
    ]
    found, refused = read(b"\n".join(lines), ["a", "b", "c", "d", "e"])
    assert (found, refused) == ({"a": Answer("number", 1.0, "")}, None)
    assert weigh(found["a"], found["a"], None) == Said(True)
