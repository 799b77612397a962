"""What an agent can make of a document: each through a real verifier, and each a plain fail.

Never a crash, never indeterminate: a policy would learn to make the file that is not counted.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import time
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyrite.records import Truth
from pyrite.sandbox import confine, end_state
from pyrite.store.bench import Bench
from pyrite.store.scratch import remove
from pyrite.suites.suite import FamilyTask, load_suite
from pyrite.tasks.task import INITIAL
from pyrite.truth.verify import verify

if TYPE_CHECKING:
    from tests.hostile.conftest import Ground

ODS_TASK, XLSX_TASK = "calc-set-cell-q3-budget-d14", "calc-set-cell-vehicle-costs-e9"
TARGETS = {ODS_TASK: "Documents/q3_budget.ods", XLSX_TASK: "Documents/vehicle_costs.xlsx"}
SECONDS = 45.0
"""What one of them may take, on a busy machine; the verifier's own limit is 60."""

_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_NAMESPACES = " ".join(f'xmlns:{name}="{_ODF}{name}:1.0"' for name in ("office", "table", "text"))
SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(10))


def letters(count: int, alphabet: str = "abcdefghijklmnop") -> str:
    """Text that does not pack well."""
    return "".join(random.Random(7).choices(alphabet, k=count))


def zipped(members: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as out:
        for name, content in members.items():
            out.writestr(name, content)
    return buffer.getvalue()


def ods(content: str | bytes, *, mimetype: str = SPREADSHEET, **more: str | bytes) -> bytes:
    return zipped({"mimetype": mimetype, "content.xml": content, **more})


def sheet(rows: str, *, before: str = "") -> str:
    """content.xml with one sheet of these rows."""
    table = f'<table:table table:name="Q3">{rows}</table:table>'
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    return f"{before}<office:document-content {_NAMESPACES}>{body}</office:document-content>"


def cell(value: object, **repeated: object) -> str:
    extra = "".join(f' table:{name.replace("_", "-")}="{count}"' for name, count in repeated.items())
    return f'<table:table-cell office:value-type="float" office:value="{value}"{extra}/>'


def row(cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{cells}</table:table-row>"


def related(key: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{key}" Type="{RELATIONS}/{kind}" Target="{target}"/>'


def xlsx(*sheets: str, strings: str = "", book: str = "", targets: tuple[str, ...] = ()) -> bytes:
    """A workbook of these sheets' rows; `targets` replaces where they are said to lie."""
    lies = targets or tuple(f"s{n}.xml" for n in range(len(sheets)))
    named = "".join(f'<sheet name="s{n}" r:id="r{n}"/>' for n in range(len(lies)))
    links = "".join(related(f"r{n}", "worksheet", target) for n, target in enumerate(lies))
    links += related("s", "sharedStrings", "strings.xml") if strings else ""
    first = related("r", "officeDocument", "xl/workbook.xml")
    around = f'<worksheet xmlns="{MAIN}"><sheetData>', "</sheetData></worksheet>"
    return zipped(
        {
            "_rels/.rels": f"<Relationships>{first}</Relationships>",
            "xl/workbook.xml": book
            or f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{named}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f"<Relationships>{links}</Relationships>",
            **{f"xl/s{n}.xml": f"{around[0]}{rows}{around[1]}" for n, rows in enumerate(sheets)},
            **({"xl/strings.xml": strings} if strings else {}),
        }
    )


def patched(data: bytes, *, at: int, value: bytes, record: bytes = b"PK\x01\x02") -> bytes:
    """The last central record of a zip with other bytes at an offset."""
    found = bytearray(data)
    start = found.rindex(record) + at
    found[start : start + len(value)] = value
    return bytes(found)


def overlapping() -> bytes:
    """Two names for the same packed bytes."""
    data = zipped({"content.xml": sheet(row(cell(4500))), "styles.xml": sheet("")})
    return patched(data, at=42, value=(0).to_bytes(4, "little"))


def shared_formulas(sheets: int) -> bytes:
    long = "A1+" * 2700 + "A1"
    rows = f'<row r="1"><c r="A1"><f t="shared" si="0">{long}</f><v>1</v></c>'
    return xlsx(*[rows + '<c><f t="shared" si="0"/></c>' * 1000 + "</row>"] * sheets)


SPACES = '<text:p><text:s text:c="1048576"/></text:p>'
MILLION = 1_000_000
WIDE = cell(4500, number_columns_repeated=MILLION)


@cache
def ods_documents() -> dict[str, bytes]:
    return {
        "billion laughs": ods(sheet(row("&l9;"), before=f"<!DOCTYPE x [{LAUGHS}]>")),
        "one long entity, often": ods(
            sheet("&a;" * 10_000, before=f'<!DOCTYPE x [<!ENTITY a "{"x" * 100_000}">]>')
        ),
        "external entity, file": ods(
            sheet("&a;", before='<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>')
        ),
        "external entity, http": ods(
            sheet("&a;", before='<!DOCTYPE x [<!ENTITY a SYSTEM "http://127.0.0.1:9/">]>')
        ),
        "external document type": ods(sheet("", before='<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">')),
        "parameter entity": ods(
            sheet("", before='<!DOCTYPE x [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>')
        ),
        "a document type": ods(sheet(row(cell(4500)), before="<!DOCTYPE office>")),
        "XInclude": ods(
            '<x xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="file:///etc/passwd"/></x>'
        ),
        "zip bomb": ods(bytes(300 << 20)),
        "zip bomb of spaces in XML": ods(sheet(" " * (60 << 20))),
        "a zip in a zip": ods(zipped({"content.xml": zipped({"content.xml": "<a/>"})})),
        "10^6 columns": ods(sheet(row(WIDE))),
        "10^6 rows of 10^6 columns": ods(sheet(row(WIDE, f'table:number-rows-repeated="{MILLION}"'))),
        "10^9 rows, many times": ods(sheet(row(WIDE, 'table:number-rows-repeated="1000000000"') * 1000)),
        "a repeat count of 5,000 digits": ods(sheet(row(cell(1, number_columns_repeated="9" * 5000)))),
        "wrong mimetype": ods(sheet(row(cell(4500))), mimetype="application/vnd.oasis.opendocument.text"),
        "no content.xml": zipped({"mimetype": SPREADSHEET}),
        "no sheet": ods(f"<office:document-content {_NAMESPACES}/>"),
        "huge attribute": ods(sheet(row("", f'a="{letters(7 << 20)}"'))),
        "500,000 attributes": ods(sheet(row("", " ".join(f'a{n}=""' for n in range(500_000))))),
        "100,000 namespaces": ods(sheet(row("", " ".join(f'xmlns:a{n}="u{n}"' for n in range(100_000))))),
        "huge tag name": ods(sheet(f"<{letters(3 << 20)}/>")),
        "huge text": ods(
            sheet(row(f"<table:table-cell><text:p>{letters(7 << 20)}</text:p></table:table-cell>"))
        ),
        "huge comment": ods(sheet(f"<!--{letters(7 << 20)}-->")),
        "deep nesting": ods(sheet("<a>" * 100_000 + "</a>" * 100_000)),
        "199 deep": ods(
            sheet(row("<table:table-cell>" + "<text:p>" * 190 + "</text:p>" * 190 + "</table:table-cell>"))
        ),
        "encrypted": patched(
            patched(ods(sheet("")), at=8, value=b"\1"), at=6, value=b"\1", record=b"PK\x03\x04"
        ),
        "a name that leads out": ods(sheet(row(cell(4500))), **{"../../x": "x"}),
        "an absolute name": ods(sheet(row(cell(4500))), **{"/etc/x": "x"}),
        "overlapping members": overlapping(),
        "3,000 members": zipped({f"{n}": "" for n in range(3000)}),
        "packed by LZMA": zipped({"content.xml": sheet("")}, zipfile.ZIP_LZMA),
        "a size that lies": patched(ods(sheet(letters(3 << 20))), at=24, value=(10).to_bytes(4, "little")),
        "cut off": ods(sheet(row(cell(4500))))[:-40],
        "no zip": b"D14;4500\n",
        "empty": b"",
        "an xlsx": xlsx("<row/>"),
        "unknown encoding": ods("<?xml version='1.0' encoding='no-such'?><a/>"),
        "no text": ods(bytes(range(256)) * 100),
        "UTF-16": ods(sheet("").encode("utf-16")),
        "repeated spaces": ods(sheet(row(f"<table:table-cell>{SPACES * 50_000}</table:table-cell>"))),
        "90,000 cells": ods(sheet(row("".join(cell(n) for n in range(90_000))))),
        "60,000 rows": ods(sheet("".join(row(cell(n)) for n in range(60_000)))),
        "a number of 5,000,000 digits": ods(
            sheet(
                row(
                    cell(
                        "4500" + letters(1) * 0 + "".join(random.Random(5).choices("0123456789", k=5_000_000))
                    )
                )
            )
        ),
        "a number that is none": ods(sheet(row(cell("nan") + cell("inf") + cell("0x10")))),
        "half a surrogate pair": ods(sheet(row(cell("&#xD800;")))),
    }


@cache
def xlsx_documents() -> dict[str, bytes]:
    return {
        "10^6 shared strings": xlsx("<row/>", strings="<sst>" + "<si><t>a</t></si>" * MILLION + "</sst>"),
        "90,000 shared strings": xlsx("<row/>", strings="<sst>" + "<si><t>a</t></si>" * 90_000 + "</sst>"),
        "one shared string of many runs": xlsx(
            "<row/>", strings=f"<sst><si>{'<r><t>a</t></r>' * 90_000}</si></sst>"
        ),
        "a missing sheet": xlsx(targets=("gone.xml",)),
        "a relation out": xlsx(targets=("../../../../etc/passwd",)),
        "a relation to the net": xlsx(targets=("http://127.0.0.1:9/sheet.xml",)),
        "a sheet that is the workbook": xlsx(targets=("workbook.xml",)),
        "one sheet, 5,000 times": xlsx("<row><c><v>1280</v></c></row>" * 100, targets=("s0.xml",) * 5000),
        "no workbook": zipped({"_rels/.rels": "<Relationships/>"}),
        "laughs in the workbook": xlsx("<row/>", book=f"<!DOCTYPE x [{LAUGHS}]><workbook>&l9;</workbook>"),
        "shared formulas": shared_formulas(90),
        "a string number out of range": xlsx('<row><c t="s"><v>99</v></c></row>'),
        "row 2,000,000": xlsx('<row r="2000000"><c><v>1</v></c></row>'),
        "a cell of another row": xlsx('<row r="1"><c r="B2"><v>1</v></c></row>'),
        "a cell twice": xlsx('<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>'),
        "an ods": ods(sheet(row(cell(1280)))),
        "a macro workbook's name": xlsx("<row/>", book="<document/>"),
    }


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The untouched homes of both tasks, as their suite builds them."""
    found = {}
    for task_id in TARGETS:
        out = tmp_path_factory.mktemp("states").resolve()
        finished = confine.run(task(task_id).builder(out, [INITIAL]), writes=[out])
        assert finished.returncode == 0, finished.stderr
        found[task_id] = out / INITIAL
    return found


def task(task_id: str) -> FamilyTask:
    return load_suite("desk").task(task_id)


class Clock:
    """Notes how long each episode took."""

    total: int | None = None

    def __init__(self) -> None:
        self.took: dict[str, float] = {}
        self.last = time.monotonic()

    def tick(self, text: str = "", *, items: int = 1) -> None:
        now = time.monotonic()
        self.took[text.split()[0] if text else ""] = now - self.last
        self.last = now


class Made:
    """Episodes whose homes are changed by hand and archived as the recorder does it."""

    def __init__(self, ground: Ground, homes: dict[str, Path]) -> None:
        self.ground = ground
        self.homes = homes
        self.names: dict[str, str] = {}

    def add(self, name: str, task_id: str, change: Callable[[Path], object]) -> None:
        episode_id = f"e{len(self.names):03}"
        self.names[episode_id] = name
        home = self.ground.root / "homes" / episode_id
        shutil.copytree(self.homes[task_id], home)
        change(home)
        folder = self.ground.episode(episode_id, task_id, None)
        end_state.write_archive(home, folder / "final_state.tar.zst", 2 << 30)
        remove(home)

    def verified(self) -> tuple[dict[str, Truth], dict[str, float]]:
        """Truth by name, and seconds by name."""
        bench, clock = Bench(self.ground.bench.root), Clock()
        tasks = {task_id: task(task_id) for task_id in TARGETS}
        verify(bench, tasks.get, jobs=1, watch=clock)
        found = {name: bench.truth(episode_id) for episode_id, name in self.names.items()}
        took = {name: clock.took[episode_id] for episode_id, name in self.names.items()}
        return {name: truth for name, truth in found.items() if truth is not None}, took


@pytest.fixture
def made(ground: Ground, homes: dict[str, Path]) -> Made:
    return Made(ground, homes)


def replaced(task_id: str, data: bytes, copies: int = 0) -> Callable[[Path], None]:
    """The target replaced by this document, and copies of it laid beside."""

    def change(home: Path) -> None:
        target = home / TARGETS[task_id]
        target.write_bytes(data)
        for number in range(copies):
            target.with_name(f"copy{number}{target.suffix}").write_bytes(data)

    return change


def assert_plain_fails(made: Made, record_property: Any, what: str) -> None:
    truths, took = made.verified()
    assert {name: (truth.outcome, truth.cause) for name, truth in truths.items()} == dict.fromkeys(
        made.names.values(), ("fail", None)
    )
    slowest = max(took, key=lambda name: took[name])
    assert took[slowest] < SECONDS, slowest
    record_property(
        "figure",
        f"{what}: {len(truths)} of {len(made.names)} are a plain fail; "
        f"the slowest took {took[slowest]:.1f} s ({slowest})",
    )


def test_documents(made: Made, record_property: Any) -> None:
    for task_id, documents in ((ODS_TASK, ods_documents()), (XLSX_TASK, xlsx_documents())):
        for name, data in documents.items():
            made.add(f"{name}, {task_id[14:18]}", task_id, replaced(task_id, data))
    assert_plain_fails(made, record_property, "hostile documents")


WORST = ("500,000 attributes", "huge tag name", "repeated spaces", "90,000 cells", "60,000 rows", "huge text")


def test_a_folder_full_of_the_worst_documents(made: Made, record_property: Any) -> None:
    """Bounds hold for all documents of a home together, or twenty of them take twenty times as long."""
    for name in WORST:
        made.add(f"20 x {name}", ODS_TASK, replaced(ODS_TASK, ods_documents()[name], 20))
    made.add("20 x shared formulas", XLSX_TASK, replaced(XLSX_TASK, xlsx_documents()["shared formulas"], 20))
    made.add("20 x newlines.csv", ODS_TASK, lambda home: lines(home, 20))
    assert_plain_fails(made, record_property, "homes full of hostile documents")


def lines(home: Path, copies: int) -> None:
    (home / TARGETS[ODS_TASK]).unlink()
    for number in range(copies):
        (home / "Documents" / f"{number}.csv").write_bytes(b"\n" * (7 << 20))


def deep(home: Path) -> None:
    folder = home / "Documents"
    for _ in range(1500):
        folder = folder / "d"
        folder.mkdir()
    (folder / "x.ods").write_bytes(b"x")


def as_link(home: Path) -> None:
    (home / TARGETS[ODS_TASK]).unlink()
    (home / TARGETS[ODS_TASK]).symlink_to("/etc/passwd")


def as_folder(home: Path) -> None:
    (home / TARGETS[ODS_TASK]).unlink()
    (home / TARGETS[ODS_TASK]).mkdir()


def as_pipe(home: Path) -> None:
    (home / TARGETS[ODS_TASK]).unlink()
    os.mkfifo(home / TARGETS[ODS_TASK])


def many(home: Path, count: int) -> None:
    """Files where the verifier looks."""
    for number in range(count):
        os.close(os.open(home / "Documents" / f"{number:07}.ods", os.O_CREAT | os.O_WRONLY, 0o644))


def quota(home: Path) -> None:
    """As much as is archived at all, to the last byte: a hole in a file costs no quota."""
    with (home / "Documents" / "hole.txt").open("wb") as handle:
        handle.truncate((2 << 30) - 20_000)
    for number in range(40):
        (home / "Documents" / f"{number}.txt").write_bytes(b"x" * 500)


def emptied(home: Path) -> None:
    shutil.rmtree(home)
    home.mkdir()


def shut(home: Path) -> None:
    (home / TARGETS[ODS_TASK]).write_bytes(b"")
    (home / "Documents").chmod(0)


HOMES: dict[str, Callable[[Path], None]] = {
    "everything deleted": emptied,
    "the folder deleted": lambda home: shutil.rmtree(home / "Documents"),
    "a symlink to /etc/passwd": as_link,
    "a folder of the document's name": as_folder,
    "a pipe": as_pipe,
    "1,500 folders deep": deep,
    "a folder that is shut": shut,
    "quota filled": quota,
    "21,000 documents": lambda home: many(home, 21_000),
}


def test_homes(made: Made, record_property: Any) -> None:
    for name, change in HOMES.items():
        made.add(name, ODS_TASK, change)
    assert_plain_fails(made, record_property, "homes that an agent has wrecked")


@pytest.mark.slow
def test_more_entries_than_are_archived(made: Made, record_property: Any) -> None:
    made.add("100,500 documents", ODS_TASK, lambda home: many(home, end_state.MAX_ENTRIES + 500))
    made.add("100,500 long paths", ODS_TASK, lambda home: long_paths(home, end_state.MAX_ENTRIES + 500))
    assert_plain_fails(made, record_property, "homes of more entries than are archived")


def long_paths(home: Path, count: int) -> None:
    """Each of 3,600 bytes, below a folder whose handle makes it quick."""
    folder = home / "Documents"
    for _ in range(14):
        folder = folder / ("y" * 250)
    folder.mkdir(parents=True)
    handle = os.open(folder, os.O_RDONLY)
    for number in range(count):
        os.close(os.open(f"{number}.ods", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=handle))
    os.close(handle)


def test_what_the_recorder_leaves_out_is_named_and_bounded(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for number in range(300):
        os.mkfifo(home / ("p" * 240 + f"{number:03}"))
    _, omitted = end_state.write_archive(home, tmp_path / "a", 1 << 20)
    assert len(omitted) == 101
    assert omitted[-1] == "and 200 more"
    assert max(map(len, omitted)) <= 200
