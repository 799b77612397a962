"""Archives of hostile homes: bounded, complete as far as possible, and honest about what is left out."""

from __future__ import annotations

import hashlib
import os
import socket
import tarfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.sandbox import end_state


def members(archive: Path) -> dict[str, tarfile.TarInfo]:
    with zstandard.open(archive, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        return {m.name: m for m in tar}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "Documents").mkdir(parents=True)
    (folder / "Documents" / "a.txt").write_text("alpha")
    (folder / "b.txt").write_text("beta")
    return folder


def test_same_content_gives_the_same_bytes(home: Path, tmp_path: Path) -> None:
    first, omitted = end_state.write_archive(home, tmp_path / "1.tar.zst", 1 << 20)
    os.utime(home / "b.txt", (1, 1))
    second, _ = end_state.write_archive(home, tmp_path / "2.tar.zst", 1 << 20)
    assert first == second == hashlib.sha256((tmp_path / "1.tar.zst").read_bytes()).hexdigest()
    assert omitted == ()
    found = members(tmp_path / "1.tar.zst")
    assert list(found) == ["Documents", "b.txt", "Documents/a.txt"]
    assert {(m.mtime, m.uid, m.gid, m.uname) for m in found.values()} == {(0, 0, 0, "")}


def test_links_are_kept_and_not_followed(home: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "gold").write_text("4500")
    (home / "out").symlink_to(secret)
    (home / "gold").symlink_to(secret / "gold")
    end_state.write_archive(home, tmp_path / "x", 1 << 20)
    found = members(tmp_path / "x")
    assert found["out"].issym()
    assert found["gold"].linkname == str(secret / "gold")
    assert "out/gold" not in found


def test_special_files_are_left_out_and_named(home: Path, tmp_path: Path) -> None:
    os.mkfifo(home / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(home)
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
    _, omitted = end_state.write_archive(home, tmp_path / "x", 1 << 20)
    assert sorted(omitted) == ["pipe", "socket"]


def test_sparse_files_are_bounded(home: Path, tmp_path: Path) -> None:
    for name in ("huge1", "huge2"):
        with (home / name).open("wb") as handle:
            handle.truncate(1 << 40)
    _, omitted = end_state.write_archive(home, tmp_path / "x", 1 << 20)
    assert omitted == ("huge1", "huge2")
    assert "b.txt" in members(tmp_path / "x")


def test_what_was_shut_is_opened(home: Path, tmp_path: Path) -> None:
    (home / "Documents" / "a.txt").chmod(0)
    (home / "Documents").chmod(0)
    _, omitted = end_state.write_archive(home, tmp_path / "x", 1 << 20)
    assert omitted == ()
    assert "Documents/a.txt" in members(tmp_path / "x")
    assert members(tmp_path / "x")["Documents"].mode == 0


def test_names_of_any_bytes(home: Path, tmp_path: Path) -> None:
    raw = os.fsencode(home) + b"/\xff\n\"'"
    with open(raw, "wb") as handle:
        handle.write(b"x")
    os.mkfifo(os.fsencode(home) + b"/\xfe")
    _, omitted = end_state.write_archive(home, tmp_path / "x", 1 << 20)
    assert os.fsdecode(b"\xff\n\"'") in members(tmp_path / "x")
    assert omitted == ("\\xfe",)
    omitted[0].encode("utf-8")


def test_deep_tree(home: Path, tmp_path: Path) -> None:
    folder = home
    for _ in range(200):
        folder = folder / "d"
        folder.mkdir()
    (folder / "leaf").write_text("x")
    end_state.write_archive(home, tmp_path / "x", 1 << 20)
    assert "/".join(["d"] * 200 + ["leaf"]) in members(tmp_path / "x")


def test_too_many_entries(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(end_state, "MAX_ENTRIES", 10)
    for number in range(50):
        (home / f"f{number}").touch()
    _, omitted = end_state.write_archive(home, tmp_path / "x", 1 << 20)
    assert len(members(tmp_path / "x")) == 10
    assert "more than 10 entries" in omitted[-1]


def test_shrinking_file_is_filled_up(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    with end_state._open_file(str(path)) as handle:
        assert end_state._Exactly(handle, 5).read() == b"abc\0\0"


def test_nothing_half_written_is_left(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(end_state, "_add", broken)
    with pytest.raises(KeyboardInterrupt):
        end_state.write_archive(home, tmp_path / "x", 1 << 20)
    assert [p.name for p in tmp_path.iterdir()] == ["home"]


def test_usage_counts_blocks_and_stops(home: Path) -> None:
    (home / "big").write_bytes(b"x" * 100_000)
    assert 100_000 <= end_state.usage(home, 1 << 30) < 200_000
    assert end_state.usage(home, 5000) < 100_000
    assert end_state.usage(home / "absent", 1 << 30) == 0


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(st.binary(min_size=1, max_size=20), st.binary(max_size=200), max_size=6))
def test_every_regular_file_comes_back(
    tmp_path_factory: pytest.TempPathFactory, files: dict[bytes, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("home")
    wanted = {}
    for name, content in files.items():
        if b"/" in name or b"\0" in name or name in (b".", b".."):
            continue
        with open(os.path.join(os.fsencode(folder), name), "wb") as handle:
            handle.write(content)
        wanted[os.fsdecode(name)] = content
    archive = folder.with_suffix(".tar.zst")
    end_state.write_archive(folder, archive, 1 << 20)
    got = {}
    with zstandard.open(archive, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            content_file = tar.extractfile(member)
            assert content_file is not None
            got[member.name] = content_file.read()
    assert got == wanted
