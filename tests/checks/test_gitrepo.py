"""The reader of git repositories: against git, and against bytes that are none of git's."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.checks import gitrepo
from pyrite.checks.gitrepo import Repository
from pyrite.checks.package import Unreadable

SHIPPED = Path(gitrepo.__file__).parents[1] / "suites/desk/files/texts/site_stashes.git"
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED, tmp_path / "repository"))


def look(folder: Path) -> None:
    """Read everything that verifiers read."""
    found = Repository(folder)
    tip = found.resolved()
    found.whole(tip)
    found.commit(tip)
    found.index()
    for stash in found.stashes():
        found.whole(stash.commit)
    for sha in found.refs.values():
        found.peeled(sha)
    found.foreign  # noqa: B018 - a property that reads


def git(folder: Path, *words: str) -> str:
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b",
    }  # fmt: skip
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


@needs_git
def test_it_reads_what_git_reads_loose_and_packed_with_deltas(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    lines = [f"line {number}" for number in range(400)]
    for number in range(12):
        lines[number * 30] = f"changed {number}"
        (tmp_path / "long.txt").write_text("\n".join(lines))
        (tmp_path / "inner").mkdir(exist_ok=True)
        (tmp_path / "inner" / f"{number} ä.txt").write_text(f"{number}\n")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", f"Number {number}\n\nMore of it.")
    git(tmp_path, "tag", "-a", "v1", "-m", "One")
    for packed in (False, True):
        if packed:
            git(tmp_path, "gc", "-q", "--aggressive")
        found = Repository(tmp_path / ".git")
        tip = found.resolved()
        assert tip == git(tmp_path, "rev-parse", "main").strip()
        assert found.commit(tip).message == "Number 11\n\nMore of it."
        listed = git(tmp_path, "ls-tree", "-r", "-z", "main").split("\0")[:-1]
        told = {line.split("\t")[1]: (int(line.split()[0], 8), line.split()[2]) for line in listed}
        assert found.whole(tip) == told == found.index()
        assert found.peeled(found.refs["refs/tags/v1"]) == tip
        assert found.foreign == []
    deltas = git(tmp_path, "verify-pack", "-v", *map(str, (tmp_path / ".git/objects/pack").glob("*.idx")))
    assert "chain length" in deltas, "the pack holds deltas, or this proves nothing"


def test_the_shipped_repository(folder: Path) -> None:
    look(folder)
    found = Repository(folder)
    assert [stash.message for stash in found.stashes()] == [
        "On main: Walk on 18 May",
        "On main: Walk on 17 August",
    ]
    (folder / "notes.txt").write_text("x")
    (folder / "logs/refs/heads").mkdir()
    (folder / "logs/refs/heads/none").write_text("x")
    assert Repository(folder).foreign == ["logs/refs/heads/none", "notes.txt"]


NAMES = sorted(str(path.relative_to(SHIPPED)) for path in SHIPPED.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", [name for name in NAMES if name != "config"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_are_read_or_unreadable_and_nothing_else(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    folder = tmp_path / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SHIPPED, folder)
    body = bytearray((folder / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(body) - 1)))
        piece = data.draw(st.binary(max_size=6))
        body[at : at + data.draw(st.integers(0, 6))] = piece
    (folder / name).write_bytes(bytes(body))
    try:
        look(folder)
    except Unreadable:
        return


def loose(folder: Path, kind: str, data: bytes, claimed: str = "") -> str:
    whole = f"{kind} {len(data)}\0".encode() + data
    sha = claimed or hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    place = folder / "objects" / sha[:2] / sha[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(whole))
    return sha


def test_an_object_under_another_name_is_refused(folder: Path) -> None:
    sha = loose(folder, "blob", b"x", "ab" * 20)
    with pytest.raises(Unreadable, match="another one"):
        Repository(folder).object(sha)


def test_a_bomb_is_not_unpacked(folder: Path) -> None:
    sha = loose(folder, "blob", bytes(gitrepo.MAX_OBJECT + 100))
    with pytest.raises(Unreadable, match="too large"):
        Repository(folder).object(sha)


def test_a_tree_of_itself_and_tags_of_tags_end(folder: Path) -> None:
    sha = "0" * 40
    for _ in range(gitrepo.MAX_DEPTH + 5):
        sha = loose(folder, "tree", b"40000 d\0" + bytes.fromhex(sha))
    with pytest.raises(Unreadable):
        Repository(folder).files(sha)
    target = Repository(folder).resolved()
    for _ in range(gitrepo.MAX_DEPTH + 5):
        target = loose(folder, "tag", f"object {target}\ntype tag\ntag t\n\nx\n".encode())
    with pytest.raises(Unreadable, match="too many tags"):
        Repository(folder).peeled(target)


@pytest.mark.parametrize("kind", ["ref", "offset"])
def test_a_delta_of_itself_ends(kind: str, folder: Path) -> None:
    sha = "cd" * 20
    base = bytes.fromhex(sha) if kind == "ref" else b"\0"
    entry = bytes([(7 if kind == "ref" else 6) << 4 | 2]) + base + zlib.compress(b"\1\1")
    pack = b"PACK" + struct.pack(">II", 2, 1) + entry + bytes(20)
    names = bytes.fromhex(sha)
    fanout = b"".join(struct.pack(">I", int(number >= 0xCD)) for number in range(256))
    index = b"\xfftOc\0\0\0\x02" + fanout + names + bytes(4) + struct.pack(">I", 12) + bytes(40)
    for ending, data in (("pack", pack), ("idx", index)):
        (folder / f"objects/pack/pack-{'0' * 40}.{ending}").write_bytes(data)
    with pytest.raises(Unreadable):
        Repository(folder).object(sha)


@pytest.mark.parametrize("name", ["objects", "refs", "."])
def test_links_are_not_followed(name: str, folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    place = folder if name == "." else folder / name
    place.rename(moved)
    place.symlink_to(moved)
    with pytest.raises(Unreadable):
        look(folder)


def test_a_staged_conflict_and_a_new_form_of_index_are_unreadable(folder: Path) -> None:
    data = bytearray((folder / "index").read_bytes())
    data[7] = 5
    (folder / "index").write_bytes(bytes(data))
    with pytest.raises(Unreadable, match="version 5"):
        Repository(folder).index()


@needs_git
def test_an_index_of_version_4_is_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    for name in ("a", "inner/" + "n" * 200 + "1", "inner/" + "n" * 200 + "2", "inner/x", "z"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    git(tmp_path, "add", "-A")
    before = Repository(tmp_path / ".git").index()
    git(tmp_path, "update-index", "--index-version", "4")
    assert (tmp_path / ".git/index").read_bytes()[7] == 4
    assert Repository(tmp_path / ".git").index() == before


def test_hooks_rules_links_and_other_stores_of_objects_are_foreign(folder: Path) -> None:
    (folder / "hooks").mkdir()
    (folder / "hooks/pre-commit.sample").write_text("#!/bin/sh\n")
    (folder / "info").mkdir(exist_ok=True)
    (folder / "info/exclude").write_text("# *.html\n\n")
    assert Repository(folder).foreign == []
    (folder / "hooks/pre-commit").write_text("#!/bin/sh\n")
    (folder / "info/exclude").write_text("# *.html\n*.html\n")
    (folder / "branches").symlink_to("hooks")
    (folder / "objects/info").mkdir()
    (folder / "objects/info/alternates").write_text("/tmp\n")
    names = ["branches", "hooks/pre-commit", "info/exclude", "objects/info/alternates"]
    assert Repository(folder).foreign == names


def test_settings_are_read_as_values(folder: Path) -> None:
    assert Repository(folder).settings["user.email"] == ["agent@example.org"]
    (folder / "config").write_text("[core\n")
    with pytest.raises(Unreadable):
        Repository(folder).settings  # noqa: B018 - a property that reads
