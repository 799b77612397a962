"""End states as hostile data."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.errors import RunError
from pyrite.store.scratch import remove
from pyrite.tasks import archive as archives
from pyrite.tasks.archive import Limits, StateUnreadable, extract, trim, write


def member(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    return info


def packed(path: Path, members: list[tuple[tarfile.TarInfo, bytes]], *, after: bytes = b"") -> Path:
    """An archive of just these members, hostile names and all."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    path.write_bytes(zstandard.compress(buffer.getvalue()) + after)
    return path


def laid_out(
    archive: Path, into: Path, *reads: str, limits: Limits = archives.DEFAULT_LIMITS
) -> archives.Extracted:
    into.mkdir()
    return extract(archive, into, reads=reads, limits=limits)


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        for path in root.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    for path, content in {
        "Documents/q3_budget.ods": b"x" * 70_000,
        "Documents/old/q1.ods": b"1",
        ".config/a": b"2",
        os.fsdecode(b"caf\xe9.txt"): b"3",
        "tab\tand\nnewline": b"4",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    (root / "Documents/latest.ods").symlink_to("q3_budget.ods")
    (root / "Documents/empty").mkdir()
    return root


def test_round_trip_with_odd_names(tmp_path: Path, home: Path) -> None:
    written = write(home, tmp_path / "a.tar.zst")
    assert written.files == 5
    assert written.omitted == ()
    found = laid_out(tmp_path / "a.tar.zst", tmp_path / "out")
    assert found == archives.Extracted(5, written.bytes, ())
    assert tree(tmp_path / "out") == tree(home)
    assert (tmp_path / "out/Documents/empty").is_dir()


def test_equal_content_gives_equal_bytes_and_no_temporary_file_stays(tmp_path: Path, home: Path) -> None:
    first = write(home, tmp_path / "one" / "a.tar.zst")
    os.utime(home / ".config/a", (5, 5))
    (home / ".config/a").chmod(0o666)
    assert write(home, tmp_path / "one" / "b.tar.zst").sha256 == first.sha256
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["a.tar.zst", "b.tar.zst"]


def test_members_are_sorted_and_carry_no_times_or_owners(tmp_path: Path, home: Path) -> None:
    write(home, tmp_path / "a.tar.zst")
    with (tmp_path / "a.tar.zst").open("rb") as file:
        plain = zstandard.ZstdDecompressor().stream_reader(file).read()
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        infos = tar.getmembers()
    names = [info.name for info in infos]
    assert names == sorted(names)
    assert {(info.mtime, info.uid, info.gid, info.uname) for info in infos} == {(0, 0, 0, "")}


def test_selection_by_reads(tmp_path: Path, home: Path) -> None:
    write(home, tmp_path / "a.tar.zst")
    laid_out(tmp_path / "a.tar.zst", tmp_path / "out", "Documents/*.ods")
    assert sorted(tree(tmp_path / "out")) == ["Documents/latest.ods", "Documents/q3_budget.ods"]
    trimmed = trim(tmp_path / "a.tar.zst", tmp_path / "t.tar.zst", reads=["Documents/**"])
    assert trimmed.files == 2
    laid_out(tmp_path / "t.tar.zst", tmp_path / "out2")
    assert "Documents/old/q1.ods" in tree(tmp_path / "out2")
    assert ".config/a" not in tree(tmp_path / "out2")


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "a/..", "x" * 5000, "..", "a/./../b"])
def test_names_that_no_home_can_contain(tmp_path: Path, name: str) -> None:
    with pytest.raises(StateUnreadable) as caught:
        laid_out(packed(tmp_path / "a", [(member(name), b"evil")]), tmp_path / "out")
    assert str(tmp_path / "a") in str(caught.value)
    assert tree(tmp_path / "out") == {}


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(StateUnreadable, match="device"):
        laid_out(packed(tmp_path / "a", [(member("null", kind), b"")]), tmp_path / "out")


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../../x", "..", "a/../../..", "sub/../../x", "", "./../.."]
)
def test_what_an_agent_can_make_is_skipped_not_refused(tmp_path: Path, target: str) -> None:
    archive = packed(
        tmp_path / "a",
        [
            (member("Documents/x.ods", tarfile.SYMTYPE, link=target), b""),
            (member("fifo", tarfile.FIFOTYPE), b""),
            (member("y.ods"), b"kept"),
        ],
    )
    found = laid_out(archive, tmp_path / "out")
    assert {path for path, _ in found.skipped} >= {"fifo"}
    for path in (tmp_path / "out").rglob("*"):
        assert path.resolve().is_relative_to((tmp_path / "out").resolve())
    assert (tmp_path / "out/y.ods").read_bytes() == b"kept"


def test_a_link_is_never_written_through(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    archive = packed(
        tmp_path / "a",
        [
            (member("d", tarfile.SYMTYPE, link=str(tmp_path / "outside")), b""),
            (member("d/x"), b"evil"),
            (member("deep/b", tarfile.SYMTYPE, link="../deep"), b""),
            (member("hop", tarfile.SYMTYPE, link="deep/b/../.."), b""),
        ],
    )
    with pytest.raises(StateUnreadable, match="'d' stands twice"):
        laid_out(archive, tmp_path / "out")
    assert list((tmp_path / "outside").iterdir()) == []
    assert not (tmp_path / "out/hop").is_symlink()


def test_a_deep_path_is_laid_out_and_its_folders_are_bounded(tmp_path: Path) -> None:
    deep = "d/" * 1200 + "x"
    archive = packed(tmp_path / "a", [(member(deep), b"1"), (member("d/d/y"), b"2")])
    assert laid_out(archive, tmp_path / "out").files == 2
    assert (tmp_path / "out/d/d/y").read_bytes() == b"2"
    remove(tmp_path / "out")
    with pytest.raises(StateUnreadable, match="more than 1000 folders"):
        laid_out(archive, tmp_path / "out", limits=Limits(entries=1000))


def test_a_full_disk_is_no_broken_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(RunError, match="No space left"):
        laid_out(packed(tmp_path / "a", [(member("x"), b"1")]), tmp_path / "out")


def test_modes_are_normal_and_setuid_is_dropped(tmp_path: Path) -> None:
    modes = {"s": 0o6777, "n": 0, "g": 0o670, "x": 0o100}
    archive = packed(tmp_path / "a", [(member(name, mode=mode), b"") for name, mode in modes.items()])
    laid_out(archive, tmp_path / "out")
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()}
    assert found == {"s": 0o755, "n": 0o600, "g": 0o650, "x": 0o700}, (
        "its owner may read and write a file, nobody else may write"
    )


def test_hard_links_are_copied_from_members_selected_or_not(tmp_path: Path) -> None:
    members = [
        (member("a/first"), b"content"),
        (member("b/second", tarfile.LNKTYPE, link="a/first"), b""),
        (member("b/third", tarfile.LNKTYPE, link="a/first"), b""),
    ]
    archive = packed(tmp_path / "a", members)
    laid_out(archive, tmp_path / "all")
    assert tree(tmp_path / "all") == {"a/first": b"content", "b/second": b"content", "b/third": b"content"}
    laid_out(archive, tmp_path / "some", "b/*")
    assert tree(tmp_path / "some") == {"b/second": b"content", "b/third": b"content"}
    lost = packed(tmp_path / "l", [(member("b", tarfile.LNKTYPE, link="nowhere"), b"")])
    with pytest.raises(StateUnreadable, match="does not hold"):
        laid_out(lost, tmp_path / "lost")


def test_bounds(tmp_path: Path) -> None:
    many = packed(tmp_path / "m", [(member(str(number)), b"") for number in range(50)])
    with pytest.raises(StateUnreadable, match="more than 20 entries"):
        laid_out(many, tmp_path / "1", limits=Limits(entries=20))
    bomb = packed(tmp_path / "b", [(member("zeros"), bytes(50 << 20))])
    assert bomb.stat().st_size < 20_000
    with pytest.raises(StateUnreadable, match="unpacks to more than"):
        laid_out(bomb, tmp_path / "2", limits=Limits(total_bytes=1 << 20))
    links = [(member(f"l{number}", tarfile.LNKTYPE, link="f"), b"") for number in range(40)]
    multiplied = packed(tmp_path / "h", [(member("f"), bytes(1 << 20)), *links])
    with pytest.raises(StateUnreadable, match="come to more than"):
        laid_out(multiplied, tmp_path / "3", limits=Limits(total_bytes=10 << 20))


def test_a_huge_header_is_refused(tmp_path: Path) -> None:
    info = member("x")
    info.pax_headers = {"comment": "y" * (2 << 20)}
    with pytest.raises(StateUnreadable, match="header"):
        laid_out(packed(tmp_path / "a", [(info, b"")]), tmp_path / "out")


def test_file_where_a_folder_stands(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a", [(member("x"), b"1"), (member("x/y"), b"2")])
    with pytest.raises(StateUnreadable, match="stands twice"):
        laid_out(archive, tmp_path / "out")


Damage = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data + b"\0" * 1000,
        lambda data: data + data,
        lambda data: b"PK" + data,
        lambda data: zstandard.compress(b"no tar at all" * 100),
        lambda data: zstandard.compress(zstandard.decompress(data)[:-1024]),
        lambda data: zstandard.compress(zstandard.decompress(data) + b"more"),
    ],
)
def test_cut_off_padded_or_foreign(tmp_path: Path, damage: Damage) -> None:
    whole = packed(tmp_path / "a", [(member("x"), os.urandom(5000))]).read_bytes()
    if damage(whole) == zstandard.compress(zstandard.decompress(whole)[:-1024]):
        whole = zstandard.compress(zstandard.decompress(whole).rstrip(b"\0") + bytes(1024))
    (tmp_path / "b").write_bytes(damage(whole))
    with pytest.raises(StateUnreadable):
        laid_out(tmp_path / "b", tmp_path / "out")


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_flipped_bytes_never_crash_nor_escape(tmp_path: Path, data: st.DataObject) -> None:
    root = tmp_path / os.urandom(8).hex()
    root.mkdir()
    raw = bytearray(zstandard.decompress(packed(root / "a", [(member("d/x"), b"1" * 600)]).read_bytes()))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, 600))] = data.draw(st.integers(0, 255))
    (root / "b").write_bytes(zstandard.compress(bytes(raw)))
    with contextlib.suppress(StateUnreadable):
        laid_out(root / "b", root / "out")
    assert sorted(path.name for path in root.iterdir()) == ["a", "b", "out"]


def test_what_does_not_fit_is_left_out_and_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "a").write_bytes(b"1")
    with (home / "big").open("wb") as big:
        big.truncate(1 << 40)
    os.mkfifo(home / "fifo")
    written = write(home, tmp_path / "a.tar.zst", limits=Limits(total_bytes=1 << 20))
    assert written.omitted == ("big",)
    laid_out(tmp_path / "a.tar.zst", tmp_path / "out", limits=Limits(total_bytes=1 << 20))
    assert tree(tmp_path / "out") == {"a": b"1"}


def test_a_missing_archive_is_not_an_unreadable_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        laid_out(tmp_path / "none.tar.zst", tmp_path / "out")
