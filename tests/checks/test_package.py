"""Hostile files: each is `Unreadable` with its reason, quickly and in bounded memory."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from pyrite.checks.cells import read_workbook
from pyrite.checks.package import Bounds, Package, Unreadable, read_file

SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"


def ods(content: str | bytes, *, method: int = zipfile.ZIP_DEFLATED, mimetype: str = SPREADSHEET) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("mimetype", mimetype)
        archive.writestr("content.xml", content)
    return buffer.getvalue()


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>'
    "<x>&c;</x>"
)
EXTERNAL = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
DEEP = "<a>" * 1000 + "</a>" * 1000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not_a_zip"),
        (b"D14;4500\n", "not_a_zip"),
        (b"PK\x05\x06" + bytes(18), "incomplete"),
        (ods("<a")[:-30], "not_a_zip"),
        (ods("<a"), "damaged"),
        (ods(b"\xff\xfe\x00"), "damaged"),
        (ods("<?xml version='1.0' encoding='no-such'?><a/>"), "damaged"),
        (ods("<a/>"), "wrong_format"),
        (ods("<a/>", mimetype="application/vnd.oasis.opendocument.text"), "wrong_format"),
        (ods(LAUGHS), "forbidden_xml"),
        (ods(EXTERNAL), "forbidden_xml"),
        (ods(DEEP), "too_large"),
        (ods(bytes(20 << 20)), "too_large"),
        (ods("<a/>", method=zipfile.ZIP_LZMA), "damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_ods(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "x.ods"
    path.write_bytes(data)
    with pytest.raises(Unreadable) as caught:
        read_workbook(path)
    assert caught.value.reason == reason


def test_a_lying_size_does_not_help() -> None:
    data = bytearray(ods(b"x" * (3 << 20), method=zipfile.ZIP_STORED))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    package = Package(bytes(data), Bounds(member_bytes=1 << 20))
    with pytest.raises(Unreadable):
        package.read("content.xml")


def test_bounds_on_members_names_and_elements() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(30):
            archive.writestr(f"{number}", "")
    with pytest.raises(Unreadable, match="30 members"):
        Package(buffer.getvalue(), Bounds(entries=20))
    package = Package(ods("<a>" + "<b/>" * 100 + "</a>"), Bounds(elements=50))
    with pytest.raises(Unreadable, match="too many"):
        list(package.elements("content.xml"))
    package = Package(ods("<a>" + "<b/>" * 100 + "<c>" + "<d/>" * 100 + "</c></a>"), Bounds(kept_elements=50))
    assert sum(event == "end" for event, _ in package.elements("content.xml")) == 202
    with pytest.raises(Unreadable, match="a c of too many"):
        list(package.elements("content.xml", whole="c"))


def test_reading_again_and_again_is_bounded() -> None:
    package = Package(ods("<a>" + "<b/>" * 100 + "</a>"), Bounds(elements=250, total_bytes=1000))
    list(package.elements("content.xml"))
    list(package.elements("content.xml"))
    with pytest.raises(Unreadable, match=r"unpacks to more than|too many"):
        list(package.elements("content.xml"))


def test_only_what_is_asked_for_is_kept_whole() -> None:
    package = Package(ods("<a><b><c/><c/></b><b><c/></b><d><c/></d></a>"))
    kept = [
        (element.tag, len(element))
        for event, element in package.elements("content.xml", whole="b")
        if event == "end" and element.tag in "abd"
    ]
    assert kept == [("b", 2), ("b", 1), ("d", 0), ("a", 0)]


def test_two_members_of_one_name_and_encryption_are_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("content.xml", "<a/>")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("content.xml", "<b/>")
    with pytest.raises(Unreadable, match="same name"):
        Package(buffer.getvalue())
    data = bytearray(ods("<a/>"))
    for start in (data.rindex(b"PK\x01\x02") + 8, data.rindex(b"PK\x03\x04") + 6):
        data[start] |= 1
    with pytest.raises(Unreadable, match="encrypted"):
        Package(bytes(data)).read("content.xml")


@pytest.fixture
def odd_files(tmp_path: Path) -> Path:
    (tmp_path / "folder.ods").mkdir()
    os.mkfifo(tmp_path / "fifo.ods")
    (tmp_path / "real.ods").write_bytes(b"x" * 100)
    (tmp_path / "link.ods").symlink_to("real.ods")
    (tmp_path / "loop.ods").symlink_to("loop.ods")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("folder.ods", "not_a_file"),
        ("fifo.ods", "not_a_file"),
        ("link.ods", "not_a_file"),
        ("loop.ods", "not_a_file"),
        ("none.ods", "missing"),
        ("real.ods", "too_large"),
    ],
)
def test_only_regular_files_are_opened(odd_files: Path, name: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_file(odd_files / name, 50)
    assert caught.value.reason == reason


def test_an_ending_that_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "x.doc").write_text("x")
    with pytest.raises(Unreadable, match="not one of"):
        read_workbook(tmp_path / "x.doc")
