"""The reader of tar and zip files: every form, and what only looks like one."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.checks.archives import BOUNDS, Form, read_archive
from pyrite.checks.package import Unreadable
from pyrite.suites.desk.goals import sha256

FILES = {"a/one.txt": b"one\n", "two.txt": b"", "a/b/three.bin": bytes(range(256)) * 50}


def tar(files: dict[str, bytes], *more: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o755 if name.endswith(".bin") else 0o644
            archive.addfile(info, io.BytesIO(data))
        for info in more:
            archive.addfile(info)
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


WHOLE: dict[Form, bytes] = {
    "tar": tar(FILES),
    "tar.gz": gzip.compress(tar(FILES)),
    "tar.bz2": bz2.compress(tar(FILES)),
    "tar.xz": lzma.compress(tar(FILES)),
    "zip": zipped(FILES),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.mark.parametrize("form", WHOLE)
def test_every_form_gives_the_same_files_and_says_which_it_is(form: Form, path: Path) -> None:
    path.write_bytes(WHOLE[form])
    found = read_archive(path)
    assert found.form == form
    assert found.files == {name: sha256(data) for name, data in FILES.items()}
    if form != "zip":
        assert found.members["a/b/three.bin"].executable
        assert not found.members["two.txt"].executable


@pytest.mark.parametrize("form", WHOLE)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_are_read_or_unreadable_and_nothing_else(
    form: Form, data: st.DataObject, path: Path
) -> None:
    body = bytearray(WHOLE[form])
    at = data.draw(st.integers(0, len(body) - 1))
    body[at : at + data.draw(st.integers(0, 300))] = data.draw(st.binary(max_size=20))
    path.write_bytes(bytes(body))
    try:
        read_archive(path)
    except Unreadable:
        return


@pytest.mark.parametrize("form", WHOLE)
def test_one_that_is_cut_short_is_unreadable(form: Form, path: Path) -> None:
    for share in (0.2, 0.5) if form == "tar" else (0.3, 0.6, 0.95):  # a tar ends in zeros
        path.write_bytes(WHOLE[form][: int(len(WHOLE[form]) * share)])
        with pytest.raises(Unreadable):
            read_archive(path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_bomb_is_not_unpacked(pack: object, path: Path) -> None:
    assert callable(pack)
    path.write_bytes(pack(bytes(BOUNDS.total_bytes + 1)))
    with pytest.raises(Unreadable, match="too_large"):
        read_archive(path)


def test_links_and_devices_have_no_content(path: Path) -> None:
    link, device = tarfile.TarInfo("link"), tarfile.TarInfo("device")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    device.type = tarfile.CHRTYPE
    path.write_bytes(tar({}, link, device))
    assert {member.kind for member in read_archive(path).members.values()} == {"other"}


def test_the_same_path_twice_is_ambiguous_and_a_dot_does_not_count(path: Path) -> None:
    path.write_bytes(tar({"./a": b"1", "b": b"2"}))
    assert set(read_archive(path).files) == {"a", "b"}
    path.write_bytes(tar({"./a": b"1", "a": b"2"}))
    with pytest.raises(Unreadable, match="ambiguous"):
        read_archive(path)


def test_a_sparse_member_and_too_many_are_refused(path: Path) -> None:
    path.write_bytes(tar({str(number): b"" for number in range(BOUNDS.entries + 1)}))
    with pytest.raises(Unreadable, match="too_large"):
        read_archive(path)
