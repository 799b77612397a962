"""The readers against what odfpy and openpyxl write and read."""

from __future__ import annotations

import io
import zipfile
from datetime import date, datetime, time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odf.namespaces import OFFICENS, TABLENS
from odf.opendocument import OpenDocumentSpreadsheet, load
from odf.table import CoveredTableCell, Table, TableCell, TableRow
from odf.teletype import addTextToElement
from odf.text import A, P, S, Span
from openpyxl import Workbook, load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from pyrite.checks.cells import Cell, Sheet, read_workbook, reference
from pyrite.checks.ods import parse_ods
from pyrite.checks.package import Bounds, Unreadable
from pyrite.checks.xlsx import parse_xlsx

FILES = Path(__file__).resolve().parents[2] / "src/pyrite/suites/desk/files"

texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
numbers = st.floats(-1e300, 1e300)
values = st.none() | numbers | texts


def stored(sheet: Sheet) -> dict[str, Cell]:
    """Every cell that a sheet of few repeats holds."""
    return {
        reference(row, column): run.item
        for rows in sheet.rows
        for row in range(rows.first, rows.last + 1)
        for run in rows.item
        for column in range(run.first, run.last + 1)
    }


def as_bytes(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def ods_cell(value: float | str | None, repeat: int) -> TableCell:
    if value is None:
        return TableCell(numbercolumnsrepeated=repeat)
    if isinstance(value, float):
        return TableCell(numbercolumnsrepeated=repeat, valuetype="float", value=repr(value))
    cell = TableCell(numbercolumnsrepeated=repeat, valuetype="string")
    paragraph = P()
    rest = value.lstrip(" ")
    if rest != value:
        paragraph.addElement(S(c=len(value) - len(rest)))
    addTextToElement(paragraph, rest)
    cell.addElement(paragraph)
    return cell


runs = st.lists(st.tuples(values, st.integers(1, 3)), min_size=1, max_size=4)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(runs, st.integers(1, 4)), min_size=1, max_size=4))
def test_ods_with_repeats(rows: list[tuple[list[tuple[float | str | None, int]], int]]) -> None:
    document = OpenDocumentSpreadsheet()
    table = Table(name="First")
    expected: dict[str, float | str] = {}
    at = 1
    for cells, row_repeat in rows:
        row = TableRow(numberrowsrepeated=row_repeat)
        column = 1
        for value, repeat in cells:
            row.addElement(ods_cell(value, repeat))
            if value not in (None, ""):
                for down in range(row_repeat):
                    for across in range(repeat):
                        expected[reference(at + down, column + across)] = value
            column += repeat
        at += row_repeat
        table.addElement(row)
    document.spreadsheet.addElement(table)
    sheet = parse_ods(as_bytes(document)).sheets["First"]
    assert {key: cell.value for key, cell in stored(sheet).items() if cell.value != ""} == expected


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.tuples(st.integers(1, 30), st.integers(1, 30)), numbers | texts, max_size=12))
def test_xlsx_against_openpyxl(cells: dict[tuple[int, int], float | str]) -> None:
    book = Workbook()
    page = book.active
    assert page is not None
    page.title = "First"
    kept = {key: value for key, value in cells.items() if not str(value).startswith("=") and value != ""}
    for (row, column), value in kept.items():
        cell = page.cell(row, column)
        cell.value = value
        if isinstance(value, str):
            cell.data_type = "s"
    sheet = parse_xlsx(as_bytes(book)).sheets["First"]
    found = {key: cell.value for key, cell in stored(sheet).items()}
    expected = {reference(*key): value for key, value in kept.items()}
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)


@pytest.mark.parametrize("path", sorted(FILES.glob("*.ods")), ids=lambda path: path.name)
def test_ods_of_libreoffice_against_odfpy(path: Path) -> None:
    book = read_workbook(path)
    compared = 0
    for table in load(str(path)).spreadsheet.getElementsByType(Table):
        expected: dict[str, tuple[str | None, str | None]] = {}
        row_at = 1
        for row in table.getElementsByType(TableRow):
            column = 1
            for cell in row.childNodes:
                repeat = int(cell.getAttrNS(TABLENS, "number-columns-repeated") or 1)
                number = cell.getAttrNS(OFFICENS, "value")
                formula = cell.getAttrNS(TABLENS, "formula")
                text = "".join(str(p) for p in cell.getElementsByType(P))
                repeated = int(row.getAttrNS(TABLENS, "number-rows-repeated") or 1)
                for down, across in product(range(repeated), range(repeat)):
                    if not (number or text or formula):
                        break
                    expected[reference(row_at + down, column + across)] = (
                        None if formula is None else formula.removeprefix("of:"),
                        number or text,
                    )
                column += repeat
            row_at += repeated
        name = table.getAttrNS(TABLENS, "name")
        found = {
            key: (cell.formula, cell.value if isinstance(cell.value, str) else f"{cell.value:.15g}")
            for key, cell in stored(book.sheets[name]).items()
        }
        compared += len(expected)
        assert found == expected
    assert compared >= 8


@pytest.mark.parametrize("path", sorted(FILES.glob("*.xlsx")), ids=lambda path: path.name)
def test_xlsx_of_libreoffice_against_openpyxl(path: Path) -> None:
    book = read_workbook(path)
    formulas, results = load_workbook(path), load_workbook(path, data_only=True)
    assert list(book.sheets) == formulas.sheetnames
    for page in formulas:
        found = stored(book.sheets[page.title])
        expected = {cell.coordinate for row in page.iter_rows() for cell in row if cell.value is not None}
        assert found.keys() == expected
        for key, cell in found.items():
            read = results[page.title][key].value
            assert cell.value == (read.isoformat() if cell.kind == "date" else read)
            if cell.formula is not None:
                assert cell.formula == page[key].value


def one_cell(**attributes: str) -> TableCell:
    return TableCell(**attributes)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (one_cell(valuetype="percentage", value="0.25"), Cell("number", 0.25, None, "percentage")),
        (one_cell(valuetype="currency", value="9.5", currency="EUR"), Cell("number", 9.5, None, "currency")),
        (one_cell(valuetype="boolean", booleanvalue="true"), Cell("boolean", True)),
        (one_cell(valuetype="date", datevalue="2024-02-29"), Cell("date", "2024-02-29T00:00:00")),
        (one_cell(valuetype="date", datevalue="2024-02-29T06:07:08"), Cell("date", "2024-02-29T06:07:08")),
        (one_cell(valuetype="time", timevalue="PT36H30M01.5S"), Cell("time", 131401.5)),
        (one_cell(valuetype="time", timevalue="noon"), Cell("error", "noon")),
        (one_cell(valuetype="float", value="3", formula="of:=[.A2]+1"), Cell("number", 3.0, "=[.A2]+1")),
        (one_cell(valuetype="string", stringvalue="x", formula="of:=T()"), Cell("text", "x", "=T()")),
        (one_cell(formula="of:=[.A2]"), Cell("empty", None, "=[.A2]")),
        (one_cell(), Cell("empty")),
    ],
)
def test_ods_types(cell: TableCell, expected: Cell) -> None:
    document = OpenDocumentSpreadsheet()
    table, row = Table(name="S"), TableRow()
    row.addElement(cell)
    table.addElement(row)
    document.spreadsheet.addElement(table)
    assert parse_ods(as_bytes(document)).sheets["S"].at("A1") == expected


def test_ods_text_with_spans_links_and_paragraphs() -> None:
    document = OpenDocumentSpreadsheet()
    table, row, cell = Table(name="S"), TableRow(), TableCell(valuetype="string")
    first, second = P(text="Am"), P()
    first.addElement(Span(text="ster"))
    first.addElement(A(href="http://localhost/", text="dam"))
    addTextToElement(second, "two  spaces\tand a tab")
    cell.addElement(first)
    cell.addElement(second)
    row.addElement(cell)
    table.addElement(row)
    document.spreadsheet.addElement(table)
    assert parse_ods(as_bytes(document)).sheets["S"].at("A1").value == "Amsterdam\ntwo  spaces\tand a tab"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<text:p>Amsterdam </text:p>", "Amsterdam "),
        ("<text:p><text:s/>lead</text:p>", " lead"),
        ("<text:p>a <text:s text:c='2'/>b</text:p>", "a   b"),
        ("<text:p>  \n a \t\n b</text:p>", "a b"),
        ("<text:p><text:span>a </text:span> b</text:p>", "a b"),
        ("<text:p>a<office:annotation><text:p>note</text:p></office:annotation>b</text:p>", "ab"),
        ("<office:annotation><text:p>note</text:p></office:annotation><text:p>a</text:p>", "a"),
        ("<text:p>a</text:p><text:p/><text:p>b</text:p>", "a\n\nb"),
    ],
)
def test_ods_white_space(raw: str, text: str) -> None:
    cell = f'<table:table-cell office:value-type="string">{raw}</table:table-cell>'
    content = f'<table:table table:name="S"><table:table-row>{cell}</table:table-row></table:table>'
    assert parse_ods(ods_of(content)).sheets["S"].at("A1").value == text


def test_ods_merged_cells_keep_the_place_of_what_follows() -> None:
    document = OpenDocumentSpreadsheet()
    table, row = Table(name="S"), TableRow()
    row.addElement(TableCell(valuetype="float", value="1", numbercolumnsspanned=2, numberrowsspanned=3))
    row.addElement(CoveredTableCell())
    row.addElement(TableCell(valuetype="float", value="2"))
    table.addElement(row)
    document.spreadsheet.addElement(table)
    sheet = parse_ods(as_bytes(document)).sheets["S"]
    assert sheet.merged == ("A1:B3",)
    assert {key: cell.value for key, cell in stored(sheet).items()} == {"A1": 1.0, "C1": 2.0}


def ods_of(content: str) -> bytes:
    head = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
        ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        body = f"<office:body><office:spreadsheet>{content}</office:spreadsheet></office:body>"
        archive.writestr("content.xml", f"{head}{body}</office:document-content>")
    return buffer.getvalue()


CELL = '<table:table-cell office:value-type="float" office:value="5"/>'


def test_ods_groups_nested_tables_and_links_to_other_documents() -> None:
    book = parse_ods(
        ods_of(
            '<table:table table:name="S"><table:shapes><table:table table:name="inner"><table:table-row>'
            f"{CELL}{CELL}</table:table-row></table:table></table:shapes><table:table-header-rows>"
            f"<table:table-row>{CELL}</table:table-row></table:table-header-rows><table:table-row-group>"
            f"<table:table-row-group><table:table-row><table:table-cell/>{CELL}</table:table-row>"
            "</table:table-row-group></table:table-row-group></table:table>"
            "<table:table table:name=\"'file:///x.ods'#A\"><table:table-source/><table:table-row>"
            f"{CELL}</table:table-row></table:table>"
        )
    )
    assert list(book.sheets) == ["S"]
    assert sorted(stored(book.sheets["S"])) == ["A1", "B2"]


def test_ods_error_values() -> None:
    book = parse_ods(
        ods_of(
            '<table:table table:name="S"><table:table-row><table:table-cell table:formula="of:=1/0"'
            ' office:value-type="string" office:string-value="" calcext:value-type="error">'
            "<text:p>#DIV/0!</text:p></table:table-cell></table:table-row></table:table>"
        )
    )
    assert book.sheets["S"].at("A1") == Cell("error", "#DIV/0!", "=1/0")


@pytest.mark.parametrize("count", ["0", "-1", "x", "99999999999", "1.5", "١"])
def test_ods_repeat_counts_that_are_none(count: str) -> None:
    content = (
        f'<table:table-row><table:table-cell table:number-columns-repeated="{count}"/></table:table-row>'
    )
    with pytest.raises(Unreadable, match="repeat count"):
        parse_ods(ods_of(f'<table:table table:name="S">{content}</table:table>'))


def test_ods_two_sheets_of_one_name_are_refused() -> None:
    with pytest.raises(Unreadable, match="two sheets"):
        parse_ods(ods_of('<table:table table:name="S"/><table:table table:name="S"/>'))


def test_ods_text_bombs_of_spaces_are_refused() -> None:
    cell = '<table:table-cell><text:p><text:s text:c="9999999"/></text:p></table:table-cell>'
    with pytest.raises(Unreadable, match="repeated spaces"):
        parse_ods(
            ods_of(f'<table:table table:name="S"><table:table-row>{cell}</table:table-row></table:table>')
        )


@pytest.mark.parametrize("mac", [False, True])
def test_xlsx_dates_of_both_bases(mac: bool) -> None:
    book = Workbook()
    if mac:
        book.epoch = CALENDAR_MAC_1904
    page = book.active
    assert page is not None
    page["A1"], page["A2"], page["A3"] = date(2024, 2, 29), datetime(2024, 2, 29, 6, 7, 8), time(18, 30)
    page["A4"], page["A4"].number_format = 1.5, "[h]:mm"
    page["A5"], page["A5"].number_format = 45322, 'dd"th of" mmmm'
    page["A6"], page["A6"].number_format = 0.5, "0.0%"
    page["A7"], page["A7"].number_format = 12, '[$€-407] #,##0.00;[Red]-#,##0.00 "days"'
    page["A8"], page["A8"].number_format = 45322, '#,##0 "days"'
    sheet = next(iter(parse_xlsx(as_bytes(book)).sheets.values()))
    assert sheet.at("A1") == Cell("date", "2024-02-29T00:00:00")
    assert sheet.at("A2") == Cell("date", "2024-02-29T06:07:08")
    assert sheet.at("A3") == Cell("time", 66600.0)
    assert sheet.at("A4") == Cell("time", 129600.0)
    assert sheet.at("A5") == Cell("date", "2028-02-01T00:00:00" if mac else "2024-01-31T00:00:00")
    assert sheet.at("A6") == Cell("number", 0.5, None, "percentage")
    assert sheet.at("A7") == Cell("number", 12.0, None, "currency")
    assert sheet.at("A8") == Cell("number", 45322.0)


def test_xlsx_rich_text_booleans_errors_merged_and_formulas() -> None:
    book = Workbook()
    page = book.active
    assert page is not None
    page["A1"] = CellRichText("Am", TextBlock(InlineFont(b=True), "sterdam"))
    page["A2"], page["A3"], page["A4"] = True, "#N/A", "=SUM(B1:B9)"
    page["A3"].data_type = "e"
    page.merge_cells("C1:D2")
    sheet = next(iter(parse_xlsx(as_bytes(book)).sheets.values()))
    assert sheet.at("A1") == Cell("text", "Amsterdam")
    assert sheet.at("A2") == Cell("boolean", True)
    assert sheet.at("A3") == Cell("error", "#N/A")
    assert sheet.at("A4").formula == "=SUM(B1:B9)"
    assert sheet.merged == ("C1:D2",)


def xlsx_of(rows: str, *, strings: str = "") -> bytes:
    """A minimal workbook with its parts in unusual places, as other programs write them."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rels = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    parts = {
        "_rels/.rels": f'{rels}<Relationship Id="a" Type="{kind}/officeDocument" Target="/book/w.xml"/>'
        "</Relationships>",
        "book/w.xml": f'<x:workbook xmlns:x="{main}" xmlns:q="{kind}"><x:sheets>'
        '<x:sheet name="S" sheetId="9" q:id="s1"/></x:sheets></x:workbook>',
        "book/_rels/w.xml.rels": f'{rels}<Relationship Id="s1" Type="{kind}/worksheet" Target="../s/1.xml"/>'
        f'<Relationship Id="s2" Type="{kind}/sharedStrings" Target="str.xml"/></Relationships>',
        "s/1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
        "book/str.xml": f'<sst xmlns="{main}">{strings}</sst>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def test_xlsx_without_references_and_with_shared_formulas() -> None:
    rows = (
        '<row><c><v>1</v></c><c/><c t="str"><v> a </v></c></row>'
        '<row r="4"><c r="C4"><f t="shared" ref="C4:C5" si="0">A4*B$1</f><v>0</v></c></row>'
        '<row><c r="C5"><f t="shared" si="0"/><v>0</v></c>'
        '<c><f t="array" ref="D5:D6">A1:A2</f><v>1</v></c></row>'
        '<row r="9"><c r="B9" t="s"><v>0</v></c>'
        '<c t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r></is></c></row>'
    )
    strings = "<si><r><t>one</t></r><r><t xml:space='preserve'> two_x000A_</t></r><rPh><t>no</t></rPh></si>"
    sheet = parse_xlsx(xlsx_of(rows, strings=strings)).sheets["S"]
    assert {key: (cell.value, cell.formula) for key, cell in stored(sheet).items()} == {
        "A1": (1.0, None),
        "C1": (" a ", None),
        "C4": (0.0, "=A4*B$1"),
        "C5": (0.0, "=A5*B$1"),
        "D5": (1.0, "={array D5:D6: A1:A2}"),
        "B9": ("one two\n", None),
        "C9": ("inline", None),
    }


def test_xlsx_that_multiplies_what_it_holds_is_refused() -> None:
    long = "A1+" * 2000 + "A1"
    master = f'<row><c><f t="shared" si="0">{long}</f></c></row>'
    rows = master + '<row><c><f t="shared" si="0"/></c></row>' * 20
    with pytest.raises(Unreadable, match="shared formulas"):
        parse_xlsx(xlsx_of(rows), Bounds(made_text=100_000))
    data = xlsx_of("<row><c><v>1</v></c></row>" * 1000)
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            text = source.read(name).decode()
            if name == "book/w.xml":
                sheet = '<x:sheet name="{}" q:id="s1"/>'
                text = text.replace("<x:sheets>", "<x:sheets>" + "".join(map(sheet.format, range(3000))))
            target.writestr(name, text)
    with pytest.raises(Unreadable, match="too many"):
        parse_xlsx(buffer.getvalue(), Bounds(elements=50_000))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ('<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>', "there twice"),
        ('<row r="1"/><row r="1"/>', "there twice"),
        ('<row r="1"><c r="A2"><v>1</v></c></row>', "stands in row 1"),
        ('<row r="1"><c r="?"><v>1</v></c></row>', "is called"),
        ('<row r="0"/>', "number is"),
        ('<row r="9999999"/>', "number is"),
        ('<row r="1"><c r="A1" t="s"><v>7</v></c></row>', "number is"),
        ('<row r="1"><c r="A1" t="s"><v>-1</v></c></row>', "number is"),
        ('<row r="1"><c r="A1"><f t="shared" si="3"/></c></row>', "not defined"),
        ('<row r="1"><c r="A1">', "not XML"),
    ],
)
def test_xlsx_that_contradicts_itself_is_refused(rows: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        parse_xlsx(xlsx_of(rows))


def damaged(data: st.DataObject, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 127))
    return bytes(changed[: data.draw(st.none() | st.integers(0, len(raw)))])


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_a_damaged_document_is_unreadable_or_read_but_never_a_crash(data: st.DataObject) -> None:
    """Bytes of the file, or of one of its members packed anew (which no checksum protects)."""
    name, parse = data.draw(st.sampled_from([("q3_budget.ods", parse_ods), ("roster.xlsx", parse_xlsx)]))
    raw = (FILES / name).read_bytes()
    if data.draw(st.booleans()):
        raw = damaged(data, raw)
    else:
        buffer = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(raw)) as source, zipfile.ZipFile(buffer, "w") as target:
            members = [
                info.filename for info in source.infolist() if info.filename.endswith((".xml", ".rels"))
            ]
            chosen = data.draw(st.sampled_from(members))
            for member in source.namelist():
                part = source.read(member)
                target.writestr(member, damaged(data, part) if member == chosen else part)
        raw = buffer.getvalue()
    try:
        sheets = parse(raw).sheets
    except Unreadable as exc:
        sheets = {exc.reason: Sheet("")}
    assert sheets


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,1\n007,-2.5e3\n", {"A1": "a", "B1": 1.0, "A2": "007", "B2": -2500.0}),
        ('"x,""y""",""\n\n 3 ,4', {"A1": 'x,"y"', "A3": " 3 ", "B3": 4.0}),
        ("\ufeffa\r\nb", {"A1": "a", "A2": "b"}),
        ("", {}),
    ],
)
def test_csv(tmp_path: Path, text: str, expected: dict[str, float | str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, "utf-8", newline="")
    sheet = read_workbook(path).sheets[""]
    assert {key: cell.value for key, cell in stored(sheet).items()} == expected


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b", b'"open'])
def test_csv_that_is_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(Unreadable):
        read_workbook(path)
