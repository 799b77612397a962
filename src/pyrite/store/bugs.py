"""`suite_bugs.json` and `suite_bugs.md`: what replays have found wrong with tasks, and what was mended.

The JSON file is what counts; the text is written anew from it. No entry is ever deleted. What comes from
a task (a name, what its verifier printed) is hostile: it is made visible, cut and escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from pyrite.errors import InputError
from pyrite.records import SCHEMA_VERSION, OpaqueId, Outcome, Record
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_record, write_bytes, write_record

LIMIT_BYTES = 16 << 20
MOST_BUGS = 5000
TEXT_LIMIT = 400
DETAIL_LIMIT = 2000
MARK = "<!-- written by pyrite verify from suite_bugs.json; what is added here by hand does not stay -->"
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&!$^@]|:(?=//)|(?<=[Ww]{3})\.)")
"""What Markdown or HTML takes for markup, and what bare links and mentions are made of."""


class SuiteBug(Record):
    """One fault of one task on one image, from the day on which it was first seen."""

    number: int = Field(ge=1)
    task_id: OpaqueId
    cause: str
    blame: str
    part: str = ""
    """comparison or active part, where that is known."""
    state: str = ""
    """The known state that shows it; empty where none could be made."""
    kind: str = ""
    expected: Outcome | None = None
    observed: str = ""
    detail: str = ""
    image: str
    verifier_sha256: str
    """Of the verifier that showed it last."""
    reproduce: str
    """What to type in the folder that holds this file."""
    flake: str = ""
    """How often the state is answered otherwise, where that was measured."""
    first_seen: str
    last_seen: str
    mended: str | None = None
    """The date on which a replay on this image did not show it any more."""
    again: tuple[str, ...] = ()
    """Dates on which it came back."""

    @property
    def fault(self) -> tuple[str, ...]:
        """What makes it the same fault, whenever and by whichever verifier it is shown."""
        return self.task_id, self.image, self.cause, self.state, str(self.expected), self.observed


class Look(NamedTuple):
    """One replay of one task: what it can say of faults that were found before."""

    task_id: str
    image: str
    day: str
    believed: bool
    """Nothing was wrong."""
    sound: frozenset[str]
    """States that were answered as declared, although something else was wrong."""

    def shows_mended(self, bug: SuiteBug) -> bool:
        """Whether a fault that was not found any more is mended, and not only out of sight."""
        plain = bug.cause != "gold_unstable" and bug.part != "active part"
        return self.believed or (plain and bug.state in self.sound)


class SuiteBugs(Record):
    """suite_bugs.json."""

    schema_version: str = SCHEMA_VERSION
    bugs: tuple[SuiteBug, ...] = ()

    @property
    def open(self) -> tuple[SuiteBug, ...]:
        return tuple(bug for bug in self.bugs if bug.mended is None)


def read(bench: Bench) -> SuiteBugs:
    """What was found so far; `InputError` where the file cannot be read."""
    path = bench.paths.suite_bugs
    if not path.is_file() and not path.is_symlink():
        return SuiteBugs()
    found = read_record(path, SuiteBugs, limit_bytes=LIMIT_BYTES)
    if len(found.bugs) > MOST_BUGS:
        raise InputError(f"more than {MOST_BUGS} entries", where=str(path), expected="fewer")
    return found


def entered(before: SuiteBugs, found: Sequence[SuiteBug], looked_at: Iterable[Look]) -> SuiteBugs:
    """The list with what was found now, and where it was looked for.

    A fault that is listed is not entered twice: one that is open was seen again, one that was mended has
    come back. What is open and was looked for on its image, and is not there any more, is mended.
    """
    now = {bug.fault: bug for bug in found}
    looks = {(look.task_id, look.image): look for look in looked_at}
    bugs: list[SuiteBug] = []
    for bug in before.bugs:
        seen = now.pop(bug.fault, None)
        look = looks.get((bug.task_id, bug.image))
        if seen is not None:
            bug = _seen_again(bug, seen)
        elif bug.mended is None and look is not None and look.shows_mended(bug):
            bug = bug.model_copy(update={"mended": look.day})
        bugs.append(bug)
    last = max((bug.number for bug in bugs), default=0)
    room = max(0, MOST_BUGS - len(bugs))
    new = list(now.values())[:room]
    bugs += [bug.model_copy(update={"number": last + n}) for n, bug in enumerate(new, start=1)]
    return SuiteBugs(bugs=tuple(bugs))


def _seen_again(bug: SuiteBug, seen: SuiteBug) -> SuiteBug:
    if bug.mended is None and seen.last_seen <= bug.last_seen:
        return bug
    kept = {"number": bug.number, "first_seen": bug.first_seen, "again": bug.again}
    if bug.mended is not None:
        kept["again"] = (*bug.again, seen.last_seen)[-50:]
    return seen.model_copy(update=kept)


def write(bench: Bench, bugs: SuiteBugs) -> str:
    """Write both files where they are to change; empty, or why the text was left alone."""
    if bench.paths.suite_bugs.is_symlink() or bench.paths.suite_bugs_text.is_symlink():
        return "suite_bugs.md or suite_bugs.json is a link: left alone"
    write_record(bench.paths.suite_bugs, bugs)
    path = bench.paths.suite_bugs_text
    if path.exists() and not _is_ours(path):
        return "suite_bugs.md is not one of pyrite's: left alone, the faults stand in suite_bugs.json"
    write_bytes(path, text(bugs).encode())
    return ""


def _is_ours(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return MARK.encode() in file.read(4096)


def text(bugs: SuiteBugs) -> str:
    """The list as Markdown: what is open first, then what was mended."""
    closed = [bug for bug in bugs.bugs if bug.mended is not None]
    lines = ["# Faults of the suite", "", MARK, ""]
    lines += [
        "A task with an open fault cannot tell a right end state from a wrong one on that image: its",
        "episodes are indeterminate, for every agent. Commands are for the folder that holds this file.",
        "",
        f"## Open: {len(bugs.open)}",
        "",
    ]
    for bug in bugs.open:
        lines += _entry(bug)
    lines += [f"## Mended: {len(closed)}", ""]
    for bug in closed:
        lines += _entry(bug)
    return "\n".join(lines).rstrip("\n") + "\n"


def _entry(bug: SuiteBug) -> Iterator[str]:
    part = f" ({bug.part})" if bug.part else ""
    yield f"### S{bug.number} {escaped(bug.task_id)}: {escaped(bug.cause)}"
    yield ""
    if bug.state:
        yield f"- what failed: {escaped(bug.kind)} state {escaped(bug.state)}{escaped(part)}"
        yield f"- expected: {escaped(str(bug.expected))}"
        yield f"- observed: {escaped(bug.observed)}"
    else:
        yield "- what failed: its known states could not be made, or contradict each other"
    if bug.detail:
        yield f"- in words: {escaped(bug.detail)}"
    if bug.flake:
        yield f"- how often: {escaped(bug.flake)}"
    yield f"- blame: {escaped(bug.blame)}"
    yield f"- image: {escaped(bug.image)}"
    yield f"- verifier: {escaped(bug.verifier_sha256[:12])}"
    yield f"- first seen {escaped(bug.first_seen)}, last seen {escaped(bug.last_seen)}"
    if bug.again:
        yield f"- came back: {escaped(', '.join(bug.again))}"
    if bug.mended is not None:
        yield f"- mended: {escaped(bug.mended)}"
    yield "- to reproduce:"
    yield ""
    yield f"      {visible(bug.reproduce)}"
    yield ""


def visible(text: str, limit: int = TEXT_LIMIT) -> str:
    """A text on one line, cut; what hides, breaks or reorders characters is written as its escape."""
    shown = "".join(map(_shown, text[: limit + 1]))
    return shown if len(shown) <= limit else f"{shown[:limit]}…"


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")


def escaped(text: str) -> str:
    """The same, with everything that Markdown or HTML would read as more than text escaped.

    >>> escaped("*a*\\n<b>")
    '\\\\*a\\\\*\\\\\\\\n\\\\<b\\\\>'
    """
    return _MARKUP.sub(r"\\\1", visible(text))
