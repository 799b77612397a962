"""What the verifiers of office and settings tasks share: one target file, and all else as it was.

    watched = Watched(initial, FILES, "Documents/report.odt", "18 pt", compare, readable=("**/*.odt",))
    result = judge(watched, home)

A family says how its target differs from what it was (`compare`); here is what follows from it, from the
other files in Documents, and from new ones. Whatever an agent left is read within bounds or is its failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.cells import changes, read_workbook
from pyrite.checks.homes import IGNORED, HomeDiff, TooManyFiles, diff, digest_file, matches, snapshot
from pyrite.checks.package import Bounds, Spent, Unreadable
from pyrite.checks.paragraphs import read_text_document
from pyrite.checks.verdict import NOTHING_PERSISTED, Result

READS = ("Documents/**",)
ELSE = " Leave everything else in Documents as it is."
"""Ends the instructions of tasks with a document: what is watched beside it."""
MAX_NEW = 20
MAX_LISTED = 10
BOUNDS = Bounds(
    file_bytes=4 << 20, member_bytes=4 << 20, total_bytes=16 << 20, elements=150_000, made_text=1 << 20
)
"""For all that an agent leaves together, the target first."""


class Compared(NamedTuple):
    """What one file shows beside what it was."""

    target: str = "unchanged"
    """unchanged | right | wrong"""
    found: str = ""
    elsewhere: bool = False
    """The wanted change is at another place of the same file."""
    damage: tuple[str, ...] = ()
    """What else differs."""


class Watched(NamedTuple):
    """One task, as its verifier sees it."""

    initial: Mapping[str, str]
    """Path in the home -> file name in `files`."""
    files: Path
    target: str
    """Path of the file that is to change, or to be made."""
    expected: str | tuple[str, ...]
    """What the instruction asks for, in its own words."""
    compare: Callable[[Path | None, Path, Spent], Compared]
    """Before (None: it was not there), after. Raises `Unreadable`."""
    readable: tuple[str, ...] = ()
    """Files that `compare` can read."""
    like: str = ""
    """Of a target that is made: the initial file that a sibling of it would have been made from."""
    others: Callable[[Path, Path, Spent], Compared] | None = None
    """The same for a file that was there and is not the target, where `compare` does not fit."""
    reads: tuple[str, ...] = READS


class _Findings:
    """What the end state shows, gathered file by file."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.spent = Spent()
        self.seen = Compared()
        self.damage: list[str] = []
        self.codes: set[str] = set()

    def broken(self, target: str, why: str, damage: str) -> None:
        self.seen = Compared(target, why)
        self.damage.append(damage)

    def result(self) -> Result:
        watched, seen = self.watched, self.seen
        passed = seen.target == "right" and not self.damage
        diagnostics: dict[str, Any] = {
            "settings" if watched.target.startswith(".") else "file": watched.target,
            "expected": list(watched.expected) if isinstance(watched.expected, tuple) else watched.expected,
            "found": seen.found[:200],
            "target": seen.target,
            "damage": [line[:200] for line in self.damage[:MAX_LISTED]],
            "damage_count": len(self.damage),
        }
        return Result(passed, () if passed else self._category(), diagnostics)

    def _category(self) -> tuple[str, ...]:
        """Every code that the state allows; none where none fits."""
        if self.seen.target == "right":
            return ("F-SIDEEFFECT",)
        codes = set(self.codes)
        if self.seen.elsewhere:
            codes.add("F-WRONGTARGET")
        if self.seen.target in ("wrong", "unreadable"):
            codes.add("F-PARTIAL")
        if codes:
            return tuple(sorted(codes))
        return NOTHING_PERSISTED if self.seen.target == "unchanged" and not self.damage else ()


def judge(watched: Watched, home: Path) -> Result:
    """Compare an end state with the initial files; raises where those are not there."""
    before: dict[str, str] = {}
    for path, name in watched.initial.items():
        if not (watched.files / name).is_file():
            raise FileNotFoundError(watched.files / name)  # ours, so no failure of the agent
        before[path] = digest_file(watched.files / name)
    findings = _Findings(watched)
    reads = watched.reads
    try:
        after = snapshot(home, reads)
    except TooManyFiles as exc:
        findings.broken("missing", str(exc), "too many files to look at")
        return findings.result()
    _check_target(watched, home, findings)
    shown = {p: digest for p, digest in before.items() if matches(p, reads) and not matches(p, IGNORED)}
    _check_others(watched, home, diff(shown, after), findings)
    return findings.result()


def _reference(watched: Watched, path: str) -> Path | None:
    name = watched.initial.get(path)
    return None if name is None else watched.files / name


def _check_target(watched: Watched, home: Path, findings: _Findings) -> None:
    before = _reference(watched, watched.target)
    place = home / watched.target
    if not place.is_symlink() and not place.exists():
        if before is None:
            findings.seen = Compared("unchanged", "no file")
        else:
            findings.broken("missing", "no file", f"{watched.target} is gone")
        return
    try:
        findings.seen = watched.compare(before, place, findings.spent)
        findings.damage += findings.seen.damage
    except Unreadable as exc:
        lost = exc.reason in ("missing", "not_a_file")
        why = f"{watched.target} cannot be read: {exc}"
        findings.broken("missing" if lost else "unreadable", str(exc), why)


def _check_others(watched: Watched, home: Path, moved: HomeDiff, findings: _Findings) -> None:
    for path in (*moved.removed, *(old for old, _ in moved.renamed)):
        if path != watched.target:
            findings.damage.append(f"{path} is gone")
    for path in moved.changed:
        if path != watched.target:
            _check_changed(watched, home, path, findings)
    new = [path for path in (*moved.added, *(path for _, path in moved.renamed)) if path != watched.target]
    for path in new[:MAX_NEW]:
        findings.damage.append(f"{path} is new")
        found = _compared(watched, home, path, watched.like or watched.target, findings)
        if found is not None and (found.target == "right" or found.elsewhere):
            findings.codes.add("F-WRONGTARGET")
    if len(new) > MAX_NEW:
        findings.damage.append(f"{len(new)} new files")


def _check_changed(watched: Watched, home: Path, path: str, findings: _Findings) -> None:
    """Another file that was there: what programs write anew without a change of content is none."""
    found = _compared(watched, home, path, path, findings)
    if found is None:
        if not _same_content(_reference(watched, path), home / path, findings.spent):
            findings.damage.append(f"{path} is changed")
    elif found.target != "unchanged" or found.elsewhere or found.damage:
        findings.damage.append(f"{path} is changed: {'; '.join((found.found, *found.damage))[:120]}")
        if found.target == "right" or found.elsewhere:
            findings.codes.add("F-WRONGAPP")


def _same_content(before: Path | None, after: Path, spent: Spent) -> bool:
    """Whether an office document was only saved anew; anything else counts by its bytes."""
    if before is None:
        return False
    try:
        if after.suffix in (".odt", ".docx"):
            return read_text_document(before) == read_text_document(after, BOUNDS, spent)
        if after.suffix in (".ods", ".xlsx"):
            old, new = read_workbook(before), read_workbook(after, BOUNDS, spent)
            names = list(old.sheets)
            same = (next(changes(old.sheets[n], new.sheets[n]), None) is None for n in names)
            return names == list(new.sheets) and all(same)
    except Unreadable:
        pass
    return False


def _compared(watched: Watched, home: Path, path: str, like: str, findings: _Findings) -> Compared | None:
    """What a file shows beside the initial file `like`; None where it cannot be read."""
    if not matches(path, watched.readable):
        return None
    before = _reference(watched, like)
    try:
        if watched.others is not None and path in watched.initial and before is not None:
            return watched.others(before, home / path, findings.spent)
        return watched.compare(before, home / path, findings.spent)
    except Unreadable:
        return None
