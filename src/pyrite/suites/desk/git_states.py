"""Make known states of a git repository without git: objects, refs, an index. Never part of a verifier."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyrite.checks.gitrepo import Files, Repository
from pyrite.suites.desk.git_site import GIT, SITE

WHO = "Agent <agent@example.org> 1714550400 +0000"
SETTINGS = {
    "line_ends_set": "[core]\n\tautocrlf = true\n",
    "remote_set": '[remote "origin"]\n\turl = https://example.org/site.git\n',
}
FILES = {
    "hook": ("hooks/pre-commit", "#!/bin/sh\nexit 1\n"),
    "page_hidden": ("info/exclude", "# none\n*.html\n"),
    "other_objects": ("objects/info/alternates", "/home/agent/objects\n"),
}
MEDDLED = (*SETTINGS, "user_changed", "page_ignored", *FILES)
"""What may be changed beside, that a commit, a ref or a stash does not show."""


class Writer:
    """The repository of a home under construction."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / GIT

    def read(self) -> Repository:
        return Repository(self.folder)

    def object(self, kind: str, data: bytes) -> str:
        """Write a loose object where it is not there yet; its name."""
        whole = f"{kind} {len(data)}\0".encode() + data
        sha = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        if not self.read().holds(sha):
            self.write(f"objects/{sha[:2]}/{sha[2:]}", zlib.compress(whole))
        return sha

    def write(self, name: str, data: bytes) -> None:
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    def blob_of(self, path: str) -> tuple[int, str]:
        """Store a file of the working tree."""
        return 0o100644, self.object("blob", (self.home / SITE / path).read_bytes())

    def tree(self, files: Files) -> str:
        """Store a tree and those below it."""
        here: dict[str, tuple[int, str]] = {}
        below: dict[str, Files] = {}
        for path, entry in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                below.setdefault(first, {})[rest] = entry
            else:
                here[first] = entry
        for name, inner in below.items():
            here[name] = (0o40000, self.tree(inner))
        ordered = sorted(here.items(), key=lambda item: item[0] + ("/" if item[1][0] == 0o40000 else ""))
        rows = [f"{mode:o} {name}\0".encode() + bytes.fromhex(sha) for name, (mode, sha) in ordered]
        return self.object("tree", b"".join(rows))

    def commit(self, files: Files, parents: Sequence[str], message: str) -> str:
        """Store a commit of these files."""
        lines = [f"tree {self.tree(files)}", *(f"parent {one}" for one in parents)]
        lines += [f"author {WHO}", f"committer {WHO}", "", message, ""]
        return self.object("commit", "\n".join(lines).encode())

    def tag(self, target: str, name: str, message: str) -> str:
        lines = [f"object {target}", "type commit", f"tag {name}", f"tagger {WHO}", "", message, ""]
        return self.object("tag", "\n".join(lines).encode())

    def ref(self, name: str, sha: str) -> None:
        self.write(name, f"{sha}\n".encode())

    def drop_ref(self, name: str) -> None:
        """Remove a ref, loose and packed, with the line of a tag's object below it."""
        (self.folder / name).unlink(missing_ok=True)
        kept: list[str] = []
        skipping = False
        for line in (self.folder / "packed-refs").read_text().splitlines(keepends=True):
            skipping = line.rstrip("\n").endswith(f" {name}") or (skipping and line.startswith("^"))
            kept += [] if skipping else [line]
        self.write("packed-refs", "".join(kept).encode())

    def head(self, branch: str) -> None:
        self.write("HEAD", f"ref: {branch}\n".encode())

    def index(self, files: Files, *, version: int = 2) -> None:
        """Stage these files; version 4 has no names in common and no padding."""
        out = [b"DIRC", struct.pack(">II", version, len(files))]
        before = 0
        for path, (mode, sha) in sorted(files.items()):
            name = path.encode()
            entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(sha)
            entry += struct.pack(">H", len(name))
            entry += bytes([before]) + name if version == 4 else name
            out.append(entry + b"\0" * (1 if version == 4 else 8 - len(entry) % 8))
            before = len(name)
        data = b"".join(out)
        self.write("index", data + hashlib.sha1(data, usedforsecurity=False).digest())

    def stashes(self, entries: Sequence[tuple[str, str]]) -> None:
        """Make these the stashes, (commit, message), the latest first; none: take the ref away."""
        if not entries:
            (self.folder / "logs/refs/stash").unlink()
            self.drop_ref("refs/stash")
            return
        lines: list[str] = []
        last = "0" * 40
        for sha, message in reversed(entries):
            lines.append(f"{last} {sha} {WHO}\t{message}\n")
            last = sha
        self.write("logs/refs/stash", "".join(lines).encode())
        if self.read().refs.get("refs/stash") != entries[0][0]:
            self.ref("refs/stash", entries[0][0])

    def leave_notes(self) -> None:
        """What git notes for itself beside its work."""
        for name, data in {
            "COMMIT_EDITMSG": b"x\n",
            "ORIG_HEAD": b"0" * 40 + b"\n",
            "logs/HEAD": b"",
            "logs/refs/heads/main": b"",
            "description": b"Unnamed repository\n",
            "hooks/pre-commit.sample": b"#!/bin/sh\nexit 1\n",
            "info/exclude": b"# none\n",
            "info/refs": b"",
            "COMMIT_EDITMSG~": b"x\n",
            "objects/info/packs": b"",
            "objects/pack/multi-pack-index": b"MIDX",
        }.items():
            self.write(name, data)

    def config(self, more: str) -> None:
        """Write more settings."""
        self.write("config", (self.folder / "config").read_bytes() + more.encode())

    def meddle(self, what: str) -> None:
        """Change what nobody asks for, one of `MEDDLED`."""
        if what in SETTINGS:
            self.config(SETTINGS[what])
        elif what == "user_changed":
            text = (self.folder / "config").read_text("utf-8")
            self.write("config", text.replace("agent@example.org", "other@example.org").encode())
        elif what == "page_ignored":
            (self.home / SITE / ".gitignore").write_text("*.html\n")
        else:
            path, text = FILES[what]
            self.write(path, text.encode())

    def commit_on(
        self,
        branch: str,
        files: Sequence[str],
        message: str,
        *,
        base: Mapping[str, tuple[int, str]] | None = None,
    ) -> str:
        """Commit files of the working tree on top of a branch, and stage them; the new commit."""
        found = self.read()
        tip = found.refs[branch]
        content = {
            **(found.content(tip) if base is None else base),
            **{path: self.blob_of(path) for path in files},
        }
        sha = self.commit(content, [tip], message)
        self.ref(branch, sha)
        self.index(content)
        return sha
