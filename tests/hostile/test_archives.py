"""Hostile end states, each the final state of an episode, through `pyrite verify` as it is run.

The archives are built byte by byte and are small on disk.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import struct
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.tasks.archive import StateUnreadable, extract

if TYPE_CHECKING:
    from tests.hostile.conftest import Ground, Ran

Member = tuple[tarfile.TarInfo, bytes]
GOOD = {"note.txt": b"4500", "list.txt": b"a\n"}
BASE = tuple(GOOD.items())
FRAME = b"\x28\xb5\x2f\xfd" + bytes([0, (17 - 10) << 3])
"""Start of a zstandard frame: no size, no checksum, a window of 128 kB."""
ZEROS_A_BLOCK = 128 << 10


def info(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname, found.mode = kind, link, mode
    return found


def tar(
    *members: Member, base: Iterable[tuple[str, bytes]] = BASE, format: int = tarfile.PAX_FORMAT
) -> bytes:
    """The two files of a good end state, then these members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as out:
        for member, content in (*((info(name), data) for name, data in base), *members):
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE) -> bytes:
    member = info(name, kind)
    member.size = size
    return member.tobuf(tarfile.GNU_FORMAT)


def pax(body: bytes) -> bytes:
    """A pax header with any body."""
    return header("x", len(body), tarfile.XHDTYPE) + body + bytes(-len(body) % 512)


def zeros(path: Path, size: int) -> None:
    """A file of `size` zeros, in 4 bytes for each 128 kB: blocks that repeat one byte."""
    head = header("zeros", size)
    count = -(-size // ZEROS_A_BLOCK)
    raw = (len(head) << 3).to_bytes(3, "little") + head
    repeat = (ZEROS_A_BLOCK << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (ZEROS_A_BLOCK << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    path.write_bytes(FRAME + raw + repeat * (count - 1) + last)


def entries(path: Path, count: int) -> None:
    """An archive of that many empty files, each with a name of its own."""
    digits = 7
    head = bytearray(header("x" + "0" * digits))
    unsigned = sum(head) - sum(head[148:156]) + 8 * 32 - digits * ord("0")
    with path.open("wb") as raw, zstandard.ZstdCompressor(level=1).stream_writer(raw) as out:
        for start in range(0, count, 4096):
            block = bytearray()
            for number in range(start, min(start + 4096, count)):
                name = b"%07d" % number
                head[1 : 1 + digits] = name
                head[148:156] = b"%06o\0 " % (unsigned + sum(name))
                block += head
            out.write(bytes(block))
        out.write(bytes(1024))


def old_sparse() -> bytes:
    """A GNU sparse member with a map that goes on and on."""
    head = bytearray(header("sparse", 0, tarfile.GNUTYPE_SPARSE))
    head[482] = 1
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + (b"0" * 504 + b"\1" + bytes(7)) * 200 + bytes(1024)


def skippable(body: bytes = b"hello") -> bytes:
    return struct.pack("<II", 0x184D2A50, len(body)) + body


def negative() -> bytes:
    """A member of negative size, as base 256 can say it."""
    head = bytearray(header("note.txt", 0))
    head[124:136] = b"\xff" * 11 + b"\x00"
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + bytes(1024)


def packed(raw: bytes) -> bytes:
    return zstandard.compress(raw)


SPARSE_PAX = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"
WHOLE = packed(tar((info("more.bin"), os.urandom(4000))))
LINK, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE

REFUSED: dict[str, bytes | Callable[[Path], None]] = {
    "absolute path": packed(tar((info("/tmp/pyrite-was-here"), b"x"))),
    "dot dot": packed(tar((info("../outside/secret.txt"), b"x"))),
    "dot dot inside": packed(tar((info("a/../../outside/new"), b"x"))),
    "hard link out, absolute": packed(tar((info("h", HARD, link="/etc/passwd"), b""))),
    "hard link out, relative": packed(tar((info("h", HARD, link="../outside/secret.txt"), b""))),
    "hard link to nothing": packed(tar((info("h", HARD, link="gone"), b""))),
    "hard link to itself": packed(tar((info("h", HARD, link="h"), b""))),
    "character device": packed(tar((info("null", tarfile.CHRTYPE), b""))),
    "block device": packed(tar((info("disk", tarfile.BLKTYPE), b""))),
    "10 GB of zeros": lambda path: zeros(path, 10 << 30),
    "a name twice": packed(tar((info("note.txt"), b"4501"))),
    "a link twice": packed(tar((info("l", LINK, link="a"), b""), (info("l", LINK, link="b"), b""))),
    "a name of 4,000 bytes": packed(tar((info("x" * 4000), b""))),
    "a path of 5,000 bytes": packed(tar((info("d/" * 2500), b""))),
    "a zero byte in a name": packed(pax(b"14 path=a\0bcd\n") + tar()),
    "empty": b"",
    "not zstandard": b"PK\x03\x04 and more",
    "not a tar": packed(b"no tar at all" * 100),
    "an empty frame": packed(b""),
    "only a skippable frame": skippable(),
    "a skippable frame first": skippable() + WHOLE,
    "a skippable frame last": WHOLE + skippable(),
    "two archives": WHOLE + WHOLE,
    "garbage after the frame": WHOLE + b"x",
    "garbage after the tar": packed(tar() + b"more"),
    "no end of the tar": packed(tar().rstrip(b"\0") + bytes(100)),
    "cut off after 1 byte": WHOLE[:1],
    "cut off after 100 bytes": WHOLE[:100],
    "cut off in the middle": WHOLE[: len(WHOLE) // 2],
    "cut off before the last byte": WHOLE[:-1],
    "a file, then a folder of its name": packed(tar((info("note.txt/more"), b"x"))),
    "a folder, then a file of its name": packed(tar((info("d/x"), b"1"), (info("d"), b"2"))),
    "a link, then a file through it": packed(
        tar((info("d", LINK, link="../outside"), b""), (info("d/x"), b"1"))
    ),
    "old GNU sparse": packed(old_sparse()),
    "pax sparse": packed(pax(SPARSE_PAX) + tar()),
    "a pax header of 2 MB": packed(pax(b"2000012 path=" + b"y" * 1_999_998 + b"\n") + tar()),
    "a pax header of digits": packed(pax(b"1" * 900_000) + tar()),
    "a pax size of 5,000 digits": packed(pax(b"5011 size=" + b"9" * 5000 + b"\n") + tar()),
    "2,000 pax headers in a row": packed(pax(b"12 path=abc\n") * 2000 + tar()),
    "2,000 long names in a row": packed(
        (header("././@LongLink", 4, tarfile.GNUTYPE_LONGNAME) + b"abc\0" + bytes(508)) * 2000 + tar()
    ),
    "a negative size": packed(negative()),
    "a size beyond the end": packed(header("note.txt", 4500) + b"x" * 512),
    "a window of 2 GB": b"\x28\xb5\x2f\xfd" + bytes([0, (31 - 10) << 3]) + b"\x01\x00\x00",
}
"""No home can be in these: the archive is broken, whoever broke it."""

LONG = "d/" * 1990
READ: dict[str, tuple[str, bytes]] = {
    "symlink out": ("pass", packed(tar((info("out", LINK, link="/etc/passwd"), b"")))),
    "symlink up and out": ("pass", packed(tar((info("out", LINK, link="../outside/secret.txt"), b"")))),
    "the note is a symlink out": (
        "fail",
        packed(tar((info("note.txt", LINK, link="../outside/secret.txt"), b""), base=BASE[1:])),
    ),
    "a symlink to itself": ("pass", packed(tar((info("l", LINK, link="l"), b"")))),
    "setuid": ("pass", packed(tar((info("s", mode=0o6777), b"#!/bin/sh\n")))),
    "a pipe": ("pass", packed(tar((info("p", tarfile.FIFOTYPE), b"")))),
    "the note is a pipe": ("fail", packed(tar((info("note.txt", tarfile.FIFOTYPE), b""), base=BASE[1:]))),
    "names that are not UTF-8": ("pass", packed(tar((info(os.fsdecode(b"caf\xe9\n\xff")), b"x")))),
    "1,000 folders deep": ("pass", packed(tar((info("d/" * 1000 + "x"), b"x")))),
    "a path that is too long here": ("pass", packed(tar((info(LONG + "y" * 110), b"x")))),
    "all is gone": ("fail", packed(tar(base=()))),
    "mode 0": ("pass", packed(tar((info("n", mode=0), b"x")))),
    "hard links": ("pass", packed(tar((info("h", HARD, link="note.txt"), b"")))),
}
"""What an agent can make of its home: read, and whatever is odd is skipped."""

SECONDS, PEAK_MB = 120, 500
"""What all of them together may take."""

Cases = dict[str, tuple[str, bytes | Callable[[Path], None]]]


def write(path: Path, content: bytes | Callable[[Path], None]) -> None:
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)


def run(ground: Ground, cases: Cases) -> tuple[Ran, dict[str, dict[str, Any]]]:
    """Verify a bench of one episode a case, and what truth says of each."""
    for number, (_, content) in enumerate(cases.values()):
        write(ground.episode(f"e{number}", "note", None) / "final_state.tar.zst", content)
    done = ground.verify()
    assert done.code == 0, done.err
    return done, {name: ground.truth(f"e{number}") for number, name in enumerate(cases)}


def test_archives(ground: Ground, record_property: Any) -> None:
    ground.task("note")
    cases: Cases = {**{name: ("indeterminate", content) for name, content in REFUSED.items()}, **READ}
    done, truths = run(ground, cases)
    assert {name: truth["outcome"] for name, truth in truths.items()} == {
        name: outcome for name, (outcome, _) in cases.items()
    }
    broken = [truth for truth in truths.values() if truth["outcome"] == "indeterminate"]
    assert {(truth["cause"], truth["blame"]) for truth in broken} == {("state_unreadable", "environment")}
    assert all(0 < len(truth["diagnostics"]["problem"]) < 600 for truth in broken)
    assert not Path("/tmp/pyrite-was-here").exists()
    assert done.seconds < SECONDS
    assert done.peak_mb < PEAK_MB
    read = len(truths) - len(broken)
    record_property(
        "figure",
        f"hostile archives: {len(broken)} of {len(REFUSED)} refused and {read} of {len(READ)} read within "
        f"bounds, nothing written outside ({done.seconds:.0f} s, {done.peak_mb:.0f} MB for all)",
    )


def test_bombs_beside_what_is_read(ground: Ground, record_property: Any) -> None:
    """The bounds hold for the whole archive, also where the task reads two small files of it."""
    ground.task("note", reads=["*.txt"])
    bombs: Cases = {
        "10 GB of zeros": ("indeterminate", lambda path: zeros(path, 10 << 30)),
        "1,000,000 entries": ("indeterminate", lambda path: entries(path, 1_000_000)),
        "a hard link out that is not read": ("pass", packed(tar((info("h", HARD, link="gone"), b"")))),
    }
    done, truths = run(ground, bombs)
    assert [truth["outcome"] for truth in truths.values()] == [outcome for outcome, _ in bombs.values()]
    problems = [truths[name]["diagnostics"]["problem"] for name in list(bombs)[:2]]
    assert "more than 2147483648 bytes" in problems[0]
    assert "more than 200000 entries" in problems[1]
    assert done.seconds < SECONDS
    assert done.peak_mb < PEAK_MB
    sizes = [ground.bench.paths.episode(f"e{n}").final_state.stat().st_size for n in range(2)]
    assert max(sizes) < 8 << 20
    record_property(
        "figure",
        f"10 GB of zeros ({sizes[0] / 1e6:.1f} MB packed) and 1,000,000 entries ({sizes[1] / 1e6:.1f} MB "
        f"packed): refused, {done.seconds:.0f} s, {done.peak_mb:.0f} MB",
    )


def test_a_full_disk_is_exit_4_and_no_outcome(ground: Ground) -> None:
    """A small file system for TMPDIR: what does not fit is not the episode's fault."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root to mount a small tmpfs")
    ground.task("note")
    ground.episode("e0", "note", {**GOOD, "large.bin": os.urandom(12 << 20)})
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(ground.temporary)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine allows no mount")
    try:
        done = ground.verify()
    finally:
        subprocess.run(["umount", "-l", str(ground.temporary)], check=True)
    assert done.code == 4, done.err
    assert not ground.bench.paths.episode("e0").truth.exists()
    assert "TMPDIR" in done.out
    assert ground.verify().code == 0
    assert ground.truth("e0")["outcome"] == "pass"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_headers_never_crash_nor_escape(tmp_path: Path, data: st.DataObject) -> None:
    """Bytes of every kind of header are changed: laid out inside, or `StateUnreadable`."""
    long = (info("l" * 150, LINK, link="t" * 150), b"")
    raw = bytearray(tar((info(os.fsdecode(b"\xff")), b"1"), long, (info("h", HARD, link="note.txt"), b"")))
    raw += bytearray(header("old", 3)) + b"abc" + bytes(509 + 1024)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    root = tmp_path / os.urandom(8).hex()
    (root / "out").mkdir(parents=True)
    (root / "a").write_bytes(packed(bytes(raw)))
    with contextlib.suppress(StateUnreadable):
        extract(root / "a", root / "out")
    assert sorted(path.name for path in root.iterdir()) == ["a", "out"]
    for path in (root / "out").rglob("*"):
        assert path.resolve().is_relative_to((root / "out").resolve())
