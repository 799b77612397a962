"""MANIFEST.sha256: every file of a bench with its digest, as `sha256sum -c` reads it.

    write(root, watch=Silent())         # one line a file, sorted by name
    check(root, watch=Silent()).ok      # False where a bit has flipped, or a file is missing or extra

Links are never followed: a link or another special file cannot stand in a manifest. Half-written
files are left out, on both sides.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrite.errors import InputError, UsageError
from pyrite.store.bench import Bench
from pyrite.store.jsonl import write_bytes
from pyrite.store.paths import BenchPaths

if TYPE_CHECKING:
    from pyrite.pool import Watch

_PARTIAL = re.compile(
    rb"\.writing|\..+\.\d+-\d+\.partial|meta\.partial|\..+\.tar\.zst\.[a-z0-9_]{8}|.+\.tar\.zst\.part",
    re.DOTALL,
)
"""Names of files that are not finished, by whoever writes them."""
_LINE = re.compile(rb"(?P<escaped>\\?)(?P<digest>[0-9a-fA-F]{64}) [ *](?P<name>.+)", re.DOTALL)
_ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r"}
_PLAIN = {escaped: raw for raw, escaped in _ESCAPES.items()}
_MAX_LINE = 3 * 4096 + 128
_SAID_EVERY = 20_000
"""Files between two words about the progress."""


@dataclass(frozen=True)
class Manifest:
    """What a manifest was written over."""

    path: Path
    files: int
    bytes: int
    since: dict[str, int] | None
    """How many files are changed, missing and extra against the manifest that it replaces; else None."""


@dataclass
class Checked:
    """What differs from a manifest; names are relative to the bench, as text."""

    bench: Path
    files: int = 0
    """Files that the manifest lists."""
    bytes: int = 0
    changed: dict[str, str] = field(default_factory=dict)
    """Name -> why: another digest, a link, unreadable."""
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    malformed: list[int] = field(default_factory=list)
    """Numbers of lines of the manifest that say nothing."""

    @property
    def ok(self) -> bool:
        return not (self.changed or self.missing or self.extra or self.malformed)

    def as_json(self) -> dict[str, Any]:
        """The result as one document."""
        return {"schema_version": "1", "ok": self.ok, **vars(self), "bench": str(self.bench)}


def write(root: Path, *, watch: Watch) -> Manifest:
    """Write the manifest of a bench; nobody else may write to it meanwhile.

    Raises `InputError` for a link or a special file, which no digest can stand for.
    """
    bench = Bench(root)
    bench.require_episodes()
    with bench.exclusive():
        return _write(bench, watch)


def _write(bench: Bench, watch: Watch) -> Manifest:
    path = bench.paths.manifest
    names = dict(_walk(bench.root))
    special = next((name for name, regular in names.items() if not regular), None)
    if special is not None:
        raise InputError(
            "a link or a special file cannot stand in a manifest",
            where=str(bench.root / _shown(special)),
            expected="folders and plain files",
            next=f"replace it by a copy of what it stands for, then: pyrite manifest {bench.root}",
        )
    watch.total = len(names)
    digests: dict[bytes, str] = {}
    size = 0
    for name in sorted(names):
        digests[name], count = _digest(bench.root, name)
        size += count
        if len(digests) % _SAID_EVERY == 0:
            watch.tick(_shown(name), items=_SAID_EVERY)
    since = _against(path, digests) if path.is_file() else None
    write_bytes(path, b"".join(_line(name, digest) for name, digest in digests.items()))
    return Manifest(path, len(digests), size, since)


def check(root: Path, *, watch: Watch) -> Checked:
    """Compare a bench with its manifest; `UsageError` where it has none."""
    bench = Bench(root)
    path = bench.paths.manifest
    if not path.is_file() or path.is_symlink():
        raise UsageError(
            "there is no manifest",
            where=str(bench.root),
            expected=path.name,
            next=f"pyrite manifest {bench.root}",
        )
    found = Checked(bench.root)
    with bench.exclusive():
        _check(bench, found, watch)
    return found


def _check(bench: Bench, found: Checked, watch: Watch) -> None:
    path = bench.paths.manifest
    listed, found.malformed = _read(path)
    found.files = len(listed)
    if not listed and found.malformed:
        raise InputError(
            f"no line of {len(found.malformed)} is one of a manifest",
            where=str(path),
            expected="64 hexadecimal digits, two spaces, a path below the bench",
        )
    there = dict(_walk(bench.root))
    watch.total = len(listed.keys() | there.keys())
    for number, name in enumerate(sorted(listed.keys() | there.keys()), start=1):
        _compare(bench.root, name, listed.get(name), there.get(name), found)
        if number % _SAID_EVERY == 0:
            watch.tick(_shown(name), items=_SAID_EVERY)


def _compare(root: Path, name: bytes, wanted: str | None, regular: bool | None, found: Checked) -> None:
    shown = _shown(name)
    if wanted is None:
        found.extra.append(shown)
    elif regular is None:
        found.missing.append(shown)
    elif not regular:
        found.changed[shown] = "a link or a special file"
    else:
        try:
            digest, size = _digest(root, name)
        except OSError as exc:
            found.changed[shown] = exc.strerror or str(exc)
            return
        found.bytes += size
        if digest != wanted:
            found.changed[shown] = "another content"


def _walk(root: Path) -> Iterator[tuple[bytes, bool]]:
    """(relative name, whether it is a plain file) of everything below a bench but folders.

    Raises `OSError` where a folder cannot be read.
    """
    waiting = [b""]
    own = os.fsencode(BenchPaths(root).manifest.name)
    base = os.fsencode(root)
    while waiting:
        folder = waiting.pop()
        with os.scandir(os.path.join(base, folder)) as entries:
            for entry in entries:
                name = os.path.join(folder, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                elif name != own and not _PARTIAL.fullmatch(entry.name):
                    yield name, entry.is_file(follow_symlinks=False)


def _digest(root: Path, name: bytes) -> tuple[str, int]:
    """Digest and size of a plain file, read as a stream; a link put in its place is not followed."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(os.path.join(os.fsencode(root), name), flags)
    with os.fdopen(descriptor, "rb") as handle:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(None, "it is not a plain file any more", _shown(name))
        return hashlib.file_digest(handle, "sha256").hexdigest(), status.st_size


def _line(name: bytes, digest: str) -> bytes:
    r"""One line as sha256sum writes it: where a name needs escapes, the line begins with a backslash.

    >>> _line(b"a\nb", "0" * 4), _line(b"-", "0" * 4)
    (b'\\0000  a\\nb\n', b'0000  ./-\n')
    """
    if name == b"-":
        name = b"./-"  # sha256sum takes a bare - for its standard input
    escaped = re.sub(rb"[\\\n\r]", lambda found: _ESCAPES[found[0]], name)
    return (b"\\" if escaped != name else b"") + digest.encode() + b"  " + escaped + b"\n"


def _read(path: Path) -> tuple[dict[bytes, str], list[int]]:
    """Name -> digest of a manifest, and the numbers of the lines that are no such thing."""
    listed: dict[bytes, str] = {}
    malformed: list[int] = []
    with path.open("rb") as handle:
        number = 0
        while line := handle.readline(_MAX_LINE):
            number += 1
            parsed = _parse(line) if len(line) < _MAX_LINE else None
            if parsed is None or parsed[0] in listed:
                malformed.append(number)
                continue
            listed[parsed[0]] = parsed[1]
    return listed, malformed


def _parse(line: bytes) -> tuple[bytes, str] | None:
    match = _LINE.fullmatch(line.removesuffix(b"\n"))
    if match is None:
        return None
    name = match["name"]
    if match["escaped"]:
        if re.search(rb"\\(?![\\nr])", re.sub(rb"\\\\", b"", name)):
            return None
        name = re.sub(rb"\\[\\nr]", lambda found: _PLAIN[found[0]], name)
    name = b"-" if name == b"./-" else name
    if name.startswith(b"/") or b"\0" in name or {b"..", b".", b""} & set(name.split(b"/")):
        return None
    return name, match["digest"].decode().lower()


def _against(path: Path, digests: dict[bytes, str]) -> dict[str, int]:
    listed, _ = _read(path)
    return {
        "changed": sum(1 for name in listed.keys() & digests.keys() if listed[name] != digests[name]),
        "missing": len(listed.keys() - digests.keys()),
        "extra": len(digests.keys() - listed.keys()),
    }


def _shown(name: bytes) -> str:
    """A name as text; bytes that are not UTF-8 are escaped."""
    return name.decode("utf-8", "backslashreplace")
