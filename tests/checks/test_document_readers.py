"""Readers of text documents, number formats and PDFs: against other readers, and on hostile files."""

from __future__ import annotations

import contextlib
import io
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odf.opendocument import load
from odf.teletype import extractText
from odf.text import H, P
from openpyxl import load_workbook

from pyrite.checks.docx import parse_docx
from pyrite.checks.formats import normal, read_formats
from pyrite.checks.odt import parse_odt
from pyrite.checks.package import Bounds, Unreadable
from pyrite.checks.paragraphs import Look, Table, TextDocument, read_text_document
from pyrite.checks.pdf import read_pdf
from pyrite.suites.desk.format_edits import give_format
from pyrite.suites.desk.pdf_edits import write_pdf
from pyrite.suites.desk.text_edits import open_text

FILES = Path(__file__).parents[2] / "src/pyrite/suites/desk/files"
TEXTS = ("harbour.odt", "workshop.odt", "garden.docx", "lease.docx")
SMALL = Bounds(
    file_bytes=4 << 20, member_bytes=4 << 20, total_bytes=16 << 20, elements=150_000, made_text=1 << 20
)


def rewritten(source: Path, target: Path, part: str, change: Callable[[str], str]) -> Path:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data.decode()).encode() if name == part else data)
    return target


def test_paragraphs_agree_with_odfpy() -> None:
    for file in ("harbour.odt", "workshop.odt"):
        document = load(str(FILES / file))
        theirs = {extractText(one) for kind in (P, H) for one in document.getElementsByType(kind)}
        ours = read_text_document(FILES / file)
        texts = {p.text for p in ours.paragraphs} | {
            t for table in ours.tables for r in table.texts for t in r
        }
        assert texts - {""} == theirs - {""}


@pytest.mark.parametrize("file", TEXTS)
def test_titles_headings_and_bodies_look_as_their_styles_say(file: str) -> None:
    document = read_text_document(FILES / file)
    title, body, heading = document.paragraphs[:3]
    assert (title.style, title.looks) == ("title", {Look(24.0, bold=True)})
    assert (heading.style, {look.bold for look in heading.looks}) == ("heading 1", {True})
    assert body.looks == {Look(12.0)}
    assert {p.align for p in document.paragraphs} == {"left"}


@pytest.mark.parametrize("file", TEXTS)
def test_a_look_is_the_same_however_it_is_written(file: str, tmp_path: Path) -> None:
    """On the paragraph, on a part of it, or on both parts one after the other."""
    text = read_text_document(FILES / file).paragraphs[0].text
    whole, part = open_text(FILES / file), open_text(FILES / file)
    whole.look(text, size=31, bold=True)
    part.look(text, size=31, part=4)
    whole.save(tmp_path / file)
    assert read_text_document(tmp_path / file).paragraphs[0].looks == {Look(31.0, bold=True)}
    part.save(tmp_path / file)
    first = read_text_document(tmp_path / file).paragraphs[0]
    assert [(run.text, run.look.size) for run in first.runs] == [(text[:4], 31.0), (text[4:], 24.0)]


MARKS: dict[str, dict[str, Any]] = {
    "red": {"colour": "c9211e"},
    "struck": {"strike": True},
    "hidden": {"hidden": True},
    "underlined": {"underline": True},
}


@pytest.mark.parametrize("file", TEXTS)
@pytest.mark.parametrize("mark", [*MARKS, "marked"])
def test_what_else_characters_have_is_part_of_their_look(file: str, mark: str, tmp_path: Path) -> None:
    plain = read_text_document(FILES / file)
    document = open_text(FILES / file)
    document.look(plain.paragraphs[0].text, mark=mark, part=4)
    document.look(plain.paragraphs[1].text, mark=mark)
    document.save(tmp_path / file)
    title, body = read_text_document(tmp_path / file).paragraphs[:2]
    yellow = "yellow" if file.endswith(".docx") else "ffff00"
    wanted: dict[str, Any] = MARKS.get(mark, {"background": yellow})
    assert [run.look for run in title.runs] == [Look(24.0, bold=True, **wanted), Look(24.0, bold=True)]
    assert body.looks == {Look(12.0, **wanted)}
    assert body.text == plain.paragraphs[1].text


@pytest.mark.parametrize(
    ("kind", "attribute", "wanted"),
    [
        ("text", 'fo:color="#00a933"', {"colour": "00a933"}),
        ("text", 'fo:color="#000000"', {}),
        ("text", 'style:use-window-font-color="true"', {}),
        ("paragraph", 'fo:background-color="#ffff00"', {"background": "ffff00"}),
        ("paragraph", 'fo:background-color="transparent"', {}),
        ("text", 'style:text-line-through-type="double"', {"strike": True}),
    ],
)
def test_named_styles_of_odt_say_colours_too(
    kind: str, attribute: str, wanted: dict[str, Any], tmp_path: Path
) -> None:
    def change(xml: str) -> str:
        head, mark, rest = xml.partition('<style:style style:name="Title"')
        place, _, tail = rest.partition("</style:style>")
        return f"{head}{mark}{place}<style:{kind}-properties {attribute}/></style:style>{tail}"

    path = rewritten(FILES / "harbour.odt", tmp_path / "a.odt", "styles.xml", change)
    assert read_text_document(path).paragraphs[0].looks == {Look(24.0, bold=True, **wanted)}


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ('<w:rPr><w:color w:val="00A933"/></w:rPr>', {"colour": "00a933"}),
        ('<w:rPr><w:color w:val="auto"/><w:highlight w:val="none"/></w:rPr>', {}),
        ('<w:rPr><w:shd w:val="clear" w:fill="FFFF00"/></w:rPr>', {"background": "ffff00"}),
        ('<w:rPr><w:shd w:val="solid" w:color="FF0000" w:fill="auto"/></w:rPr>', {"background": "ff0000"}),
        ('<w:rPr><w:shd w:val="clear" w:fill="auto"/></w:rPr>', {}),
        ('<w:pPr><w:shd w:val="clear" w:fill="FFFF00"/></w:pPr>', {"background": "ffff00"}),
        ("<w:rPr><w:dstrike/></w:rPr>", {"strike": True}),
        ('<w:rPr><w:vanish w:val="false"/></w:rPr>', {}),
    ],
)
def test_named_styles_of_docx_say_colours_too(
    properties: str, wanted: dict[str, Any], tmp_path: Path
) -> None:
    def change(xml: str) -> str:
        head, mark, rest = xml.partition('w:styleId="Title"')
        inside, _, tail = rest.partition("</w:style>")
        return f"{head}{mark}{inside}{properties}</w:style>{tail}"

    path = rewritten(FILES / "lease.docx", tmp_path / "a.docx", "word/styles.xml", change)
    assert read_text_document(path).paragraphs[0].looks == {Look(24.0, bold=True, **wanted)}


@pytest.mark.parametrize(
    "wrap",
    [
        '<text:section text:name="s" text:display="none">{}</text:section>',
        "{}",
    ],
    ids=["section", "field"],
)
def test_a_hidden_section_or_paragraph_is_hidden(wrap: str, tmp_path: Path) -> None:
    field = '<text:hidden-paragraph text:condition="ooow:1" text:is-hidden="true"/>' if wrap == "{}" else ""

    def change(xml: str) -> str:
        start = xml.index("<text:p", xml.index("<office:text"))
        end = xml.index("</text:p>", start)
        shown = wrap.format(xml[start:end] + field + "</text:p>")
        return xml[:start] + shown + xml[end + len("</text:p>") :]

    path = rewritten(FILES / "harbour.odt", tmp_path / "a.odt", "content.xml", change)
    title, body = read_text_document(path).paragraphs[:2]
    assert title.text == "Harbour Report 2023"
    assert ({look.hidden for look in title.looks}, {look.hidden for look in body.looks}) == ({True}, {False})


@pytest.mark.parametrize(("file", "rows"), [("garden.docx", 4), ("workshop.odt", 3)])
def test_rows_of_tables(file: str, rows: int, tmp_path: Path) -> None:
    document = open_text(FILES / file)
    width = len(read_text_document(FILES / file).tables[0].texts[0])
    document.add_row(["one", "two", "three"][:width])
    document.save(tmp_path / file)
    texts = read_text_document(tmp_path / file).tables[0].texts
    assert len(texts) == rows + 1
    assert texts[-1] == ["one", "two", "three"][:width]


def test_deleted_text_of_tracked_changes_is_not_there(tmp_path: Path) -> None:
    def tracked(xml: str) -> str:
        gone = "<w:del><w:r><w:delText> X</w:delText></w:r></w:del>"
        new = f"<w:t>Storage</w:t></w:r>{gone}<w:ins><w:r><w:t> Lease</w:t></w:r></w:ins><w:r>"
        return xml.replace("<w:t>Storage Lease</w:t>", new)

    path = rewritten(FILES / "lease.docx", tmp_path / "a.docx", "word/document.xml", tracked)
    assert read_text_document(path).paragraphs[0].text == "Storage Lease"


def test_styles_in_a_circle_end(tmp_path: Path) -> None:
    def circle(xml: str) -> str:
        return xml.replace('style:parent-style-name="Standard"', 'style:parent-style-name="Title"')

    path = rewritten(FILES / "harbour.odt", tmp_path / "a.odt", "styles.xml", circle)
    assert read_text_document(path).paragraphs[0].text == "Harbour Report 2023"


def test_a_million_cells_are_refused(tmp_path: Path) -> None:
    def many(xml: str) -> str:
        row = '<table:table-row table:number-rows-repeated="1000">'
        cell = '<table:table-cell table:number-columns-repeated="1000"><text:p>x</text:p></table:table-cell>'
        return xml.replace(
            "</office:text>",
            f"<table:table>{(row + cell * 40 + '</table:table-row>') * 3}</table:table></office:text>",
        )

    path = rewritten(FILES / "harbour.odt", tmp_path / "a.odt", "content.xml", many)
    with pytest.raises(Unreadable, match="too_large"):
        read_text_document(path, SMALL)


@pytest.mark.parametrize("file", ["harbour.odt", "lease.docx"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_broken_documents_are_read_or_unreadable(file: str, data: st.DataObject) -> None:
    whole = bytearray((FILES / file).read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    parse: Callable[..., TextDocument] = parse_odt if file.endswith(".odt") else parse_docx
    with contextlib.suppress(Unreadable):
        assert parse(bytes(whole), SMALL).blocks is not None


LEAVES = st.sampled_from(["x", "<w:t>a</w:t>", "<w:p/>", "<w:tbl/>", "<w:tc/>"])
NAMES = st.sampled_from(["p", "r", "tbl", "tr", "tc", "sdt", "pPr", "rPr"])
NESTED = st.recursive(
    LEAVES, lambda inner: st.builds("<w:{0}>{1}</w:{0}>".format, NAMES, inner), max_leaves=12
)


@given(xml=NESTED)
@settings(max_examples=60, deadline=None)
def test_any_nesting_of_elements_is_read(xml: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(FILES / "lease.docx") as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "word/document.xml":
                data = data.replace(b"</w:body>", xml.encode() + b"</w:body>")
            new.writestr(name, data)
    assert parse_docx(buffer.getvalue(), SMALL).paragraphs[0].text == "Storage Lease"


# --- number formats ----------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["0%", "0.0%", "0.000", "#,##0.00", "DD/MM/YYYY"])
@pytest.mark.parametrize("file", ["members.ods", "mileage.xlsx"])
def test_formats_are_found_where_they_were_given(file: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.write_bytes((FILES / file).read_bytes())
    sheet, cells = ("Members", ["D3", "D4"]) if file == "members.ods" else ("Trips", ["E3", "E4"])
    before = read_formats(path)[sheet]
    give_format(path, sheet, cells, code)
    after = read_formats(path)[sheet]
    assert {after.at(cell).value for cell in cells} == {normal(code)}
    other = "D5" if file == "members.ods" else "E5"
    assert after.at(other) == before.at(other)


def test_formats_agree_with_openpyxl() -> None:
    book, ours = load_workbook(FILES / "mileage.xlsx"), read_formats(FILES / "mileage.xlsx")
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is not None:
                    assert ours[sheet.title].at(cell.coordinate).value == normal(cell.number_format)


def test_many_columns_and_cells_do_not_take_long(tmp_path: Path) -> None:
    def many(xml: str) -> str:
        columns = "<table:table-column/>" * 15_000
        cells = '<table:table-cell office:value-type="float" office:value="1"/>' * 15_000
        table = (
            f'<table:table table:name="x">{columns}<table:table-row>{cells}</table:table-row></table:table>'
        )
        return xml.replace("<table:table ", f"{table}<table:table ", 1)

    path = rewritten(FILES / "members.ods", tmp_path / "a.ods", "content.xml", many)
    started = time.process_time()
    assert read_formats(path)["x"].at("A1").value == "general"
    assert time.process_time() - started < 10


# --- PDF ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["harbour.odt", "garden.docx", "workshop.odt", "lease.docx"])
def test_an_exported_pdf_has_the_letters_of_its_document(file: str) -> None:
    document = read_text_document(FILES / file)
    wanted = "".join(
        "".join(text for row in block.texts for text in row) if isinstance(block, Table) else block.text
        for block in document.blocks
    )
    pdf = read_pdf(FILES / f"{Path(file).stem}.exported.pdf")
    assert (pdf.pages, pdf.letters) == (1, "".join(wanted.split()))


@given(lines=st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30), max_size=5))
@settings(max_examples=40, deadline=None)
def test_what_is_written_is_read(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("pdf") / "a.pdf"
    write_pdf(path, lines)
    assert read_pdf(path).letters == "".join("".join(lines).split())


def page(content: bytes, head: bytes = b"") -> bytes:
    packed = zlib.compress(content)
    return (
        b"%PDF-1.6\n1 0 obj\n<</Type/Page "
        + head
        + b"/Contents 2 0 R/Resources<</Font<</F 3 0 R>>>>>>\nendobj\n"
        b"2 0 obj\n<</Filter/FlateDecode>>\nstream\n" + packed + b"\nendstream\nendobj\n"
        b"3 0 obj\n<</ToUnicode 2 0 R>>\nendobj\n%%EOF"
    )


HOSTILE = {
    "starts of tables": page(b"beginbfchar" * 20_000),
    "long table": page(b"beginbfrange<00> <ff> <0041>" * 100_000),
    "open brackets": page(b"(" * 3_000_000),
    "open hexadecimal": page(b"<41" * 1_000_000),
    "a bomb": page(bytes(8 << 20)),
    "no end of stream": b"%PDF-1.6\n" + b"1 0 obj<</Type/Page>>stream\n" * 30_000 + b"%%EOF",
    "objects without end": b"%PDF-1.6\n" + b"".join(b"%d 0 obj\n" % n for n in range(4000)) + b"%%EOF",
    "fonts": page(b"x", b"/Font<<" * 2000),
    "encrypted": page(b"x")[:-5] + b"/Encrypt %%EOF",
    "other filter": page(b"x").replace(b"FlateDecode", b"LZWDecode"),
    "not packed": page(b"x").replace(b"stream\nx", b"stream\ny"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pdf_is_read_or_refused_in_seconds(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(HOSTILE[name])
    started = time.process_time()
    with contextlib.suppress(Unreadable):
        assert "HarbourReport" not in read_pdf(tmp_path / "a.pdf", SMALL).letters
    assert time.process_time() - started < 10
