"""What a git repository holds, read as data: refs, loose and packed objects, the index, the stashes.

    found = Repository(home / "Site/.git")
    found.commit(found.refs["refs/heads/main"]).message

`git` itself is not run: a repository brings hooks, filters, aliases and a pager along, and its
configuration decides what a command does. Nothing here acts on the configuration: it is read as keys and
values. Links are not followed, alternates are not looked up, every size is bounded, and an object must have
the name that its bytes give. What cannot be read is `Unreadable`, which an agent can cause.
Names of sha1 are meant; a repository of sha256 is not read.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from pyrite.checks.keyfiles import read_git_config
from pyrite.checks.package import Unreadable, read_file

MAX_FILES = 5000
MAX_FILE = 4 << 20
MAX_OBJECT = 4 << 20
MAX_TOTAL = 64 << 20
"""Bytes that all objects come to, over all reads."""
MAX_ENTRIES = 5000
"""Of a tree with everything below it, an index, a list of refs or of stashes."""
MAX_DEPTH = 50
MAX_PATH = 4096
_SHA = re.compile(r"[0-9a-f]{40}")
_PACKED_HEADER = re.compile(r"# pack-refs with:(?: [a-z-]+)+ ?")
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFS_DELTA, _REF_DELTA = 6, 7
_PIECE = 1 << 14
_SUBMODULE = 0o160000
_WRITTEN = re.compile(
    r"HEAD|ORIG_HEAD|FETCH_HEAD|AUTO_MERGE|MERGE_RR|config|description|index|packed-refs|gc\.(?:pid|log)"
    r"|(?:COMMIT_EDITMSG|TAG_EDITMSG|MERGE_MSG)(?:~|\.save)?"
    r"|\.(?:COMMIT_EDITMSG|TAG_EDITMSG|MERGE_MSG)\.sw[op]"
    r"|info/(?:attributes|exclude|refs)|hooks/[^/]+\.sample|rr-cache/.*|logs/.*|refs/.*"
    r"|objects/(?:[0-9a-f]{2}/(?:[0-9a-f]{38}|tmp_obj_\w+)|info/(?:packs|commit-graph|commit-graphs/[^/]+)"
    r"|pack/(?:pack-[0-9a-f]{40}\.(?:pack|idx|rev|bitmap|keep|mtimes)"
    r"|multi-pack-index(?:-[0-9a-f]{40}\.(?:bitmap|rev))?))"
)
"""Files that git writes of its own accord, or the editor of its messages."""
_RULES = ("info/attributes", "info/exclude")
"""Of them, those that git writes with nothing but comments."""


class Commit(NamedTuple):
    """A commit, without who made it and when."""

    tree: str
    parents: tuple[str, ...]
    message: str


class Tag(NamedTuple):
    """An annotated tag."""

    target: str
    name: str
    message: str


class Stash(NamedTuple):
    """One entry of the list of stashes."""

    commit: str
    message: str


Files = dict[str, tuple[int, str]]
"""Path -> (mode, name of the blob)."""


class Repository:
    """A repository by its .git folder; raises `Unreadable` where there is none or its refs make no sense."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = _listed(folder)
        self._left = MAX_TOTAL
        self._packs: dict[str, tuple[bytes, int]] | None = None
        self.head = self._text("HEAD").removesuffix("\n")
        self.refs = self._refs()
        """Full name -> name of the object, or `ref: …` of a symbolic one."""

    @property
    def foreign(self) -> list[str]:
        """Files of the folder that git does not write (hooks among them), and logs of no ref."""
        logs = [name for name in self.names if name.startswith("logs/refs/")]
        stray = [name for name in logs if name[5:] not in self.refs]
        stray += [name for name in _RULES if name in self.names and _rules(self._text(name))]
        return sorted([name for name in self.names if not _WRITTEN.fullmatch(name)] + stray)

    @property
    def settings(self) -> dict[str, list[str]]:
        """Every value of each key of the configuration; raises `Unreadable` where git would refuse."""
        found = read_git_config(self.folder / "config")
        return {name: values for name, values in found.items() if not name.startswith("[")}

    def resolved(self) -> str:
        """The commit that HEAD stands on; empty for a branch without any."""
        name = self.head.removeprefix("ref: ")
        return name if name == self.head else self.refs.get(name, "")

    # --- refs

    def _text(self, name: str) -> str:
        if name not in self.names:
            raise Unreadable("incomplete", f"it has no {name[:80]}")
        try:
            return read_file(self.folder / name, MAX_FILE).decode("utf-8")
        except UnicodeDecodeError:
            raise Unreadable("damaged", f"{name[:80]} is no text") from None

    def _refs(self) -> dict[str, str]:
        found = self._packed_refs() if "packed-refs" in self.names else {}
        for name in sorted(self.names):
            if name.startswith("refs/") and not name.endswith(".lock"):
                text = self._text(name).removesuffix("\n")
                if not text.startswith("ref: ") and not _SHA.fullmatch(text):
                    raise Unreadable("damaged", f"{name[:80]} names no object")
                found[name] = text
        return found

    def _packed_refs(self) -> dict[str, str]:
        found: dict[str, str] = {}
        lines = self._text("packed-refs").splitlines()
        traits = lines[0].split() if lines and _PACKED_HEADER.fullmatch(lines[0]) else []
        if not {"peeled", "fully-peeled", "sorted"} <= set(traits) or len(lines) > MAX_ENTRIES:
            raise Unreadable("damaged", "packed-refs does not begin as git writes it, or is too long")
        last = ""
        for line in [*lines[1:], ""]:
            sha, _, name = line.partition(" ")
            if last and (self.kind(found[last]) == "tag") != line.startswith("^"):
                raise Unreadable("damaged", "packed-refs says of a tag what is not so")
            if last and line.startswith("^") and self.peeled(found[last]) == line[1:]:
                last = ""
            elif _SHA.fullmatch(sha) and name.startswith("refs/") and name not in found:
                found[name], last = sha, name
            elif line:
                raise Unreadable("damaged", "packed-refs has a line that names no ref")
        return found

    # --- objects

    def object(self, sha: str, depth: int = 0) -> tuple[str, bytes]:
        """Kind and content of an object; raises `Unreadable` where it is missing, damaged or too large."""
        if not _SHA.fullmatch(sha) or depth > MAX_DEPTH:
            raise Unreadable("damaged", "no name of an object, or one made of too many others")
        loose = f"objects/{sha[:2]}/{sha[2:]}"
        if loose in self.names:
            kind, data = _loose(_inflate(read_file(self.folder / loose, MAX_FILE), 0, MAX_OBJECT + 64))
        else:
            kind, data = self._packed(sha, depth)
        self._spend(data)
        named = hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()
        if named != sha:
            raise Unreadable("damaged", f"object {sha} is another one")
        return kind, data

    def _spend(self, data: bytes) -> None:
        self._left -= len(data) + 64
        if self._left < 0 or len(data) > MAX_OBJECT:
            raise Unreadable("too_large", "its objects are too large")

    def holds(self, sha: str) -> bool:
        """Whether an object is there and sound."""
        try:
            self.object(sha)
        except Unreadable:
            return False
        return True

    def kind(self, sha: str) -> str:
        return self.object(sha)[0]

    def peeled(self, sha: str) -> str:
        """The object that a tag stands for, or the object itself."""
        for _ in range(MAX_DEPTH):
            if self.kind(sha) != "tag":
                return sha
            sha = self.tag(sha).target
        raise Unreadable("too_large", "a tag of too many tags")

    def commit(self, sha: str) -> Commit:
        headers, message = self._headers(sha, "commit")
        parents = tuple(value for key, value in headers if key == "parent")
        return Commit(dict(headers).get("tree", ""), parents, message)

    def tag(self, sha: str) -> Tag:
        headers, message = self._headers(sha, "tag")
        told = dict(headers)
        return Tag(told.get("object", ""), told.get("tag", ""), message)

    def _headers(self, sha: str, wanted: str) -> tuple[list[tuple[str, str]], str]:
        kind, data = self.object(sha)
        if kind != wanted:
            raise Unreadable("wrong_format", f"{sha} is no {wanted}")
        head, _, message = data.decode("utf-8", "replace").partition("\n\n")
        pairs = [line.partition(" ") for line in head.split("\n")]
        return [(key, value) for key, _, value in pairs], message.strip()

    def files(self, tree: str) -> Files:
        """Every file of a tree, by its path."""
        found: Files = {}
        waiting = [("", tree, 0)]
        while waiting:
            prefix, sha, depth = waiting.pop()
            kind, data = self.object(sha)
            if kind != "tree" or depth > MAX_DEPTH:
                raise Unreadable("damaged", f"{sha} is no tree, or too deep")
            for mode, name, blob in _entries(data):
                if mode == 0o40000:
                    waiting.append((f"{prefix}{name}/", blob, depth + 1))
                else:
                    found[prefix + name] = (mode, blob)
            if len(found) + len(waiting) > MAX_ENTRIES:
                raise Unreadable("too_large", f"a tree of more than {MAX_ENTRIES} files")
        return found

    def content(self, commit: str) -> Files:
        """Every file of a commit."""
        return self.files(self.commit(commit).tree)

    def whole(self, commit: str) -> Files:
        """The same, once every one of them has been read."""
        files = self.content(commit)
        for mode, blob in files.values():
            if mode != _SUBMODULE and self.kind(blob) != "blob":
                raise Unreadable("damaged", f"{blob} is no file")
        return files

    def _packed(self, sha: str, depth: int) -> tuple[str, bytes]:
        if self._packs is None:
            self._packs = {}
            for name in sorted(self.names):
                if name.startswith("objects/pack/") and name.endswith(".idx"):
                    self._open_pack(name)
        if sha not in self._packs:
            raise Unreadable("incomplete", f"object {sha} is not there")
        return self._unpack(*self._packs[sha], depth)

    def _open_pack(self, name: str) -> None:
        pack = name.removesuffix(".idx") + ".pack"
        if pack not in self.names:
            raise Unreadable("incomplete", "an index without its pack")
        data = read_file(self.folder / pack, MAX_FILE)
        assert self._packs is not None
        for sha, offset in _pack_index(read_file(self.folder / name, MAX_FILE)):
            self._packs.setdefault(sha, (data, offset))
            if len(self._packs) > MAX_FILES * 4:
                raise Unreadable("too_large", "too many objects")

    def _unpack(self, data: bytes, offset: int, depth: int) -> tuple[str, bytes]:
        """An object of a pack: its deltas, latest first, down to what they are made from."""
        deltas: list[bytes] = []
        for _ in range(MAX_DEPTH):
            code, size, at = _entry_header(data, offset)
            if code in _KINDS:
                return _KINDS[code], self._built(_inflate(data, at, MAX_OBJECT, size), deltas)
            if code == _OFS_DELTA:
                back, at = _offset(data, at)
                deltas.append(_inflate(data, at, MAX_OBJECT, size))
                if not 0 < back <= offset:
                    break
                offset -= back
            elif code == _REF_DELTA:
                deltas.append(_inflate(data, at + 20, MAX_OBJECT, size))
                kind, base = self.object(data[at : at + 20].hex(), depth + 1)
                return kind, self._built(base, deltas)
            else:
                break
        raise Unreadable("damaged", "a pack that makes no sense")

    def _built(self, base: bytes, deltas: list[bytes]) -> bytes:
        for delta in reversed(deltas):
            self._spend(base)
            base = _apply(delta, base)
        return base

    # --- index and stashes

    def index(self) -> Files:
        """What is staged; raises `Unreadable` for conflicts and for a form other than 2, 3 and 4."""
        return _index(read_file(self.folder / "index", MAX_FILE)) if "index" in self.names else {}

    def stashes(self) -> list[Stash]:
        """The stashes, the latest first."""
        if "refs/stash" not in self.refs:
            return []
        lines = self._text("logs/refs/stash").splitlines() if "logs/refs/stash" in self.names else []
        found = [Stash(line[41:81], line.partition("\t")[2]) for line in reversed(lines[-MAX_ENTRIES:])]
        if not found or found[0].commit != self.refs["refs/stash"]:
            raise Unreadable("damaged", "the list of stashes does not fit its ref")
        return found


def _rules(text: str) -> list[str]:
    """The lines of a file of patterns that are no comments."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _listed(folder: Path) -> set[str]:
    """Every file and every link below a folder that is no link."""
    if folder.is_symlink() or not folder.is_dir():
        lost = not os.path.lexists(folder)
        raise Unreadable("missing" if lost else "not_a_file", "there is no repository")
    for name in ("objects", "refs"):  # without which git takes it for no repository
        if not (folder / name).is_dir() or (folder / name).is_symlink():
            raise Unreadable("incomplete", f"it has no folder {name}")
    found: set[str] = set()
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        folders[:] = [name for name in folders if name not in links]
        names += links
        inside = os.path.relpath(parent, folder)
        found.update(name if inside == "." else f"{inside}/{name}" for name in names)
        if len(found) > MAX_FILES or inside.count("/") > MAX_DEPTH:
            raise Unreadable("too_large", f"more than {MAX_FILES} files, or too deep")
    return found


def _inflate(data: bytes, at: int, limit: int, size: int | None = None) -> bytes:
    """The zlib stream that begins at `at`, of at most `limit` bytes."""
    if size is not None and size > limit:
        raise Unreadable("too_large", f"an object of more than {limit} bytes")
    one, out = zlib.decompressobj(), bytearray()
    try:
        while at < len(data) and not one.eof and len(out) <= limit:
            out += one.decompress(one.unconsumed_tail + data[at : at + _PIECE], limit + 1 - len(out))
            at += _PIECE
    except zlib.error as exc:
        raise Unreadable("damaged", f"an object cannot be unpacked: {exc}") from None
    if len(out) > limit or not one.eof or (size is not None and len(out) != size):
        raise Unreadable("damaged", "an object is cut short or too large")
    return bytes(out)


def _loose(data: bytes) -> tuple[str, bytes]:
    head, _, body = data.partition(b"\0")
    kind, _, size = head.partition(b" ")
    if kind.decode("latin-1") not in _KINDS.values() or size != str(len(body)).encode():
        raise Unreadable("damaged", "a loose object that makes no sense")
    return kind.decode(), body


def _entries(data: bytes) -> list[tuple[int, str, str]]:
    """(mode, name, object) of a tree's entries."""
    found: list[tuple[int, str, str]] = []
    at = 0
    while at < len(data):
        end = data.find(b"\0", at, at + 5000)
        mode, _, name = data[at:end].partition(b" ")
        if (
            end < 0
            or not re.fullmatch(rb"[0-7]{5,6}", mode)
            or not name
            or b"/" in name
            or end + 21 > len(data)
        ):
            raise Unreadable("damaged", "a tree that makes no sense")
        found.append((int(mode, 8), name.decode("utf-8", "surrogateescape"), data[end + 1 : end + 21].hex()))
        at = end + 21
    return found


def _pack_index(data: bytes) -> list[tuple[str, int]]:
    """(object, offset) of a pack index of version 2."""
    if data[:8] != b"\xfftOc\0\0\0\x02" or len(data) < 8 + 1024 + 40:
        raise Unreadable("damaged", "no index of a pack")
    (count,) = struct.unpack_from(">I", data, 8 + 1020)
    if count > MAX_FILES * 4 or len(data) < 1032 + count * 28 + 40:
        raise Unreadable("damaged", "an index of a pack that makes no sense")
    names = [data[1032 + 20 * n : 1052 + 20 * n].hex() for n in range(count)]
    offsets = struct.unpack_from(f">{count}I", data, 1032 + count * 24)
    return list(zip(names, offsets, strict=True))


def _entry_header(data: bytes, at: int) -> tuple[int, int, int]:
    """(kind, size, where it goes on) of an entry of a pack."""
    if at >= len(data):
        raise Unreadable("damaged", "a pack is cut short")
    byte = data[at]
    code, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 128:
        at += 1
        if at >= len(data) or shift > 40:
            raise Unreadable("damaged", "a pack is cut short")
        byte = data[at]
        size |= (byte & 127) << shift
        shift += 7
    return code, size, at + 1


def _offset(data: bytes, at: int) -> tuple[int, int]:
    value, steps = -1, 0
    while True:
        if at >= len(data) or steps > 8:
            raise Unreadable("damaged", "a pack is cut short")
        byte = data[at]
        value = (value + 1) << 7 | byte & 127
        at, steps = at + 1, steps + 1
        if not byte & 128:
            return value, at


def _apply(delta: bytes, base: bytes) -> bytes:
    """What a delta makes of its base; raises `Unreadable` for one that does not fit."""
    size, at = _varint(delta, 0)
    wanted, at = _varint(delta, at)
    if size != len(base) or wanted > MAX_OBJECT:
        raise Unreadable("damaged", "a delta that does not fit")
    out = bytearray()
    while at < len(delta):
        code = delta[at]
        at += 1
        if code & 128:
            fields = []
            for bit in range(7):
                fields.append(delta[at] if code >> bit & 1 and at < len(delta) else 0)
                at += code >> bit & 1
            start = fields[0] | fields[1] << 8 | fields[2] << 16 | fields[3] << 24
            length = (fields[4] | fields[5] << 8 | fields[6] << 16) or 0x10000
            out += base[start : start + length]
        else:
            out += delta[at : at + code]
            at += code
        if len(out) > wanted or not code:
            raise Unreadable("damaged", "a delta that does not fit")
    if len(out) != wanted:
        raise Unreadable("damaged", "a delta that does not fit")
    return bytes(out)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift <= 42:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 128:
            return value, at
    raise Unreadable("damaged", "a delta is cut short")


def _index(data: bytes) -> Files:
    if len(data) < 32 or data[:4] != b"DIRC":
        raise Unreadable("damaged", "no index")
    version, count = struct.unpack_from(">II", data, 4)
    if version not in {2, 3, 4} or count > MAX_ENTRIES:
        raise Unreadable("damaged", f"an index of version {version} with {count} entries")
    check = data[-20:]
    if any(check) and hashlib.sha1(data[:-20], usedforsecurity=False).digest() != check:
        raise Unreadable("damaged", "an index that does not fit its checksum")
    found: Files = {}
    at, name = 12, b""
    for _ in range(count):
        if at + 64 > len(data):
            raise Unreadable("damaged", "an index is cut short")
        (mode,) = struct.unpack_from(">I", data, at + 24)
        (flags,) = struct.unpack_from(">H", data, at + 60)
        start = at + (64 if flags & 0x4000 else 62)
        kept = 0
        if version == 4:  # a name as how much of the one before goes, and what comes instead
            gone, start = _offset(data, start)
            kept = len(name) - gone
        end = data.find(b"\0", start)
        if end < 0 or flags & 0x3000 or kept < 0 or kept + end - start > MAX_PATH:
            raise Unreadable("damaged", "an index with conflicts, or cut short")
        name = name[:kept] + data[start:end]
        found[name.decode("utf-8", "surrogateescape")] = (mode, data[at + 40 : at + 60].hex())
        at = end + 1 if version == 4 else at + (end - at) // 8 * 8 + 8
    if re.match(rb"[a-z]{4}", data[at : at + 4]) and at < len(data) - 20:
        raise Unreadable("damaged", "an index that is shared or sparse")
    return found
