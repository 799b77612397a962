"""A manifest finds one flipped bit, a missing and an extra file, and `sha256sum -c` agrees."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from tests.conftest import Episodes

from pyrite.errors import BusyError, InputError, UsageError
from pyrite.pool import Silent
from pyrite.store import manifest
from pyrite.store.bench import Bench
from pyrite.store.manifest import Checked

needs_sha256sum = pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
STRANGE = ["a\nb", "a\\b", "a\rb", "end\r", "-", "#x", " *x ", "*", "é", "\\n", "x" * 200]


@pytest.fixture
def bench(episodes: Episodes) -> Path:
    for name in ("ep_1", "ep_2"):
        episodes.add(name, [{"action": "type", "text": "4500"}, {"action": "done"}])
    (episodes.bench.root / "lock.json").write_text("{}\n", encoding="utf-8")
    return episodes.bench.root


def write(root: Path) -> manifest.Manifest:
    return manifest.write(root, watch=Silent())


def check(root: Path) -> Checked:
    return manifest.check(root, watch=Silent())


def sha256sum(root: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sha256sum", "-c", "--strict", "MANIFEST.sha256"],
        cwd=root,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def files_of(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and path.name != "MANIFEST.sha256")


@needs_sha256sum
def test_sha256sum_takes_it_and_it_lists_every_file_once_in_order(bench: Path) -> None:
    written = write(bench)
    names = [line.split("  ", 1)[1] for line in written.path.read_text(encoding="utf-8").splitlines()]
    assert names == sorted(str(path.relative_to(bench)) for path in files_of(bench))
    assert written.files == len(names) > 8
    assert written.bytes == sum(path.stat().st_size for path in files_of(bench))
    done = sha256sum(bench)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b": OK\n") == written.files
    assert check(bench).ok
    first = written.path.read_bytes()
    assert write(bench).since == {"changed": 0, "missing": 0, "extra": 0}
    assert written.path.read_bytes() == first


@needs_sha256sum
def test_one_flipped_bit_in_any_file_is_found_and_sha256sum_agrees(
    bench: Path, record_property: Callable[[str, object], None]
) -> None:
    write(bench)
    chance = random.Random(7)
    victims = files_of(bench)
    for path in victims:
        whole = path.read_bytes()
        at, bit = chance.randrange(len(whole)), chance.randrange(8)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
        found = check(bench)
        assert list(found.changed) == [str(path.relative_to(bench))]
        assert not found.missing
        assert not found.extra
        done = sha256sum(bench)
        assert done.returncode == 1
        assert done.stdout.count(b": FAILED\n") == 1
        path.write_bytes(whole)
    assert check(bench).ok
    record_property("figure", f"manifest: 1 flipped bit found in {len(victims)} of {len(victims)} files")


def test_any_flipped_bit_of_the_manifest_itself_is_found(bench: Path) -> None:
    path = write(bench).path
    whole = path.read_bytes()
    chance = random.Random(8)
    for _ in range(60):
        at, bit = chance.randrange(len(whole)), chance.randrange(8)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
        was, now = chr(whole[at]), chr(whole[at] ^ 1 << bit)
        still_the_same_digest = was in "abcdef" and now == was.upper()
        assert not check(bench).ok or still_the_same_digest, (at, was, now)


def test_missing_extra_and_malformed_are_named(bench: Path) -> None:
    path = write(bench).path
    (bench / "lock.json").unlink()
    (bench / "episodes" / "ep_1" / "gt.json").write_text("{}", encoding="utf-8")
    with path.open("a", encoding="utf-8") as handle:
        handle.write("nonsense\n" + "0" * 64 + "  ../outside\n" + "0" * 64 + "  /etc/passwd\n")
    found = check(bench)
    lines = path.read_bytes().count(b"\n")
    assert (found.missing, found.extra) == (["lock.json"], ["episodes/ep_1/gt.json"])
    assert found.malformed == [lines - 2, lines - 1, lines]
    assert not found.changed
    assert found.as_json()["ok"] is False


def test_a_line_that_stands_twice_does_not_hide_a_change(bench: Path) -> None:
    path = write(bench).path
    (bench / "lock.json").write_text('{"x": 1}\n', encoding="utf-8")
    changed = check(bench).changed
    assert list(changed) == ["lock.json"]
    other = bench.parent / "other"
    shutil.copytree(bench, other)
    write(other)
    forged = [line for line in (other / path.name).read_bytes().splitlines(True) if b"lock.json" in line]
    path.write_bytes(path.read_bytes() + forged[0])
    found = check(bench)
    assert list(found.changed) == ["lock.json"]
    assert len(found.malformed) == 1


def test_a_file_replaced_by_a_link_to_its_copy_has_changed(bench: Path, tmp_path: Path) -> None:
    write(bench)
    shutil.copy(bench / "lock.json", tmp_path / "copy.json")
    (bench / "lock.json").unlink()
    (bench / "lock.json").symlink_to(tmp_path / "copy.json")
    assert check(bench).changed == {"lock.json": "a link or a special file"}


@pytest.mark.parametrize("kind", ["link", "folder link", "fifo"])
def test_what_no_digest_can_stand_for_is_refused_and_not_followed(
    bench: Path, tmp_path: Path, kind: str
) -> None:
    odd = bench / "odd"
    if kind == "fifo":
        os.mkfifo(odd)
    else:
        odd.symlink_to(tmp_path if kind == "folder link" else tmp_path / "nowhere")
    with pytest.raises(InputError, match="link or a special file") as caught:
        write(bench)
    assert caught.value.where == str(odd)
    assert not (bench / "MANIFEST.sha256").exists()
    odd.unlink()
    write(bench)
    odd.symlink_to(tmp_path)
    assert check(bench).extra == ["odd"]


def test_half_written_files_are_left_out_on_both_sides(bench: Path) -> None:
    half = [
        bench / ".lock.json.12-34.partial",
        bench / "episodes" / "ep_1" / "meta.partial",
        bench / "episodes" / "ep_1" / ".final_state.tar.zst.a1b2c3_d",
        bench / "episodes" / "ep_1" / "final_state.tar.zst.part",
    ]
    for path in half:
        path.write_bytes(b"x")
    written = write(bench)
    assert written.files == len(files_of(bench)) - len(half)
    for path in half:
        path.unlink()
    assert check(bench).ok
    (bench / "notes.partial").write_bytes(b"x")
    assert check(bench).extra == ["notes.partial"]


@needs_sha256sum
def test_strange_names_are_escaped_as_sha256sum_does(bench: Path) -> None:
    for name in STRANGE:
        (bench / name).write_text(name, encoding="utf-8")
    (Path(os.fsdecode(os.fsencode(bench) + b"/\xff\xfe"))).write_bytes(b"not UTF-8")
    write(bench)
    assert check(bench).ok
    done = sha256sum(bench)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = subprocess.run(
        ["sha256sum", "--", *STRANGE[:4]], cwd=bench, capture_output=True, check=True
    ).stdout.splitlines()
    assert set(listed) <= set((bench / "MANIFEST.sha256").read_bytes().split(b"\n"))
    (bench / STRANGE[0]).write_text("other", encoding="utf-8")
    assert list(check(bench).changed) == [STRANGE[0]]


NAME = st.binary(min_size=1, max_size=40).filter(lambda n: b"\0" not in n and b"/" not in n)


@given(names=st.sets(NAME.filter(lambda n: n not in {b".", b".."}), max_size=5))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@needs_sha256sum
def test_every_name_comes_back(names: set[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("names") / "b"
    (root / "episodes" / "ep_1").mkdir(parents=True)
    (root / "episodes" / "ep_1" / "meta.json").write_text("{}", encoding="utf-8")
    for name in names:
        (Path(os.fsdecode(os.path.join(os.fsencode(root), name)))).write_bytes(name)
    write(root)
    assert check(root).ok
    assert sha256sum(root).returncode == 0


@given(line=st.binary(max_size=200))
def test_no_line_leads_out_of_the_bench(line: bytes) -> None:
    for text in (line, b"\\" + b"0" * 64 + b"  " + line, b"0" * 64 + b" *" + line):
        parsed = manifest._parse(text + b"\n")
        if parsed is not None:
            assert not parsed[0].startswith(b"/")
            assert b".." not in parsed[0].split(b"/")
            assert len(parsed[1]) == 64


def test_no_manifest_no_bench_and_a_foreign_file_are_exit_2(bench: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no manifest") as caught:
        check(bench)
    assert caught.value.next == f"pyrite manifest {bench}"
    (bench / "MANIFEST.sha256").write_text("hello\nworld\n", encoding="utf-8")
    with pytest.raises(InputError, match="no line of 2"):
        check(bench)
    with pytest.raises(UsageError):
        write(tmp_path / "nothing")


def test_while_another_process_writes_it_waits_for_nobody(bench: Path) -> None:
    with Bench(bench).exclusive(), pytest.raises(BusyError):
        write(bench)


def test_a_large_file_is_streamed(bench: Path) -> None:
    with (bench / "large.bin").open("wb") as handle:
        handle.truncate(300 << 20)
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    written = write(bench)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert written.bytes > 300 << 20
    assert grown < 50_000, "kilobytes"
