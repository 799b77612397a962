"""One small reader a benchmark: where its tasks lie, and what each definition says.

A reader opens files of its benchmark and runs none of them. It never fails for one task: what cannot
be read is a `Definition` with a problem, so that it stays in every total.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pyrite.audit.definition import Definition
from pyrite.errors import UsageError


@dataclass(frozen=True)
class Source:
    """Where one task stands."""

    key: str
    """The id that a list names it by."""
    domain: str
    path: Path
    item: Any = None
    """The definition itself, where one file holds many."""
    repeated: tuple[str, ...] = ()
    """Keys that stand twice in `item`."""


class Reader(Protocol):
    """How one benchmark writes its tasks."""

    name: str
    title: str
    written_from: str
    """The upstream commit or wheel whose format this reader was written from."""
    harness: str
    """What the benchmark's own harness does at evaluation for every task; empty where nothing."""

    def recognises(self, root: Path) -> bool:
        """Whether tasks of this benchmark lie there; looks at a few files."""
        ...

    def sources(self, root: Path) -> Iterator[Source]:
        """Every task, in a stable order. `Unreadable` where how many there are cannot be told."""
        ...

    def read(self, source: Source, root: Path) -> Definition:
        """What one definition says; what is wrong with it stands in it."""
        ...

    def bytes_of(self, source: Source, root: Path) -> bytes:
        """What the digest covers of a task; empty where it cannot be read."""
        ...


READERS = {
    "webarena-verified": "pyrite.audit.readers.webarena_verified:WebArenaVerified",
    "webarena": "pyrite.audit.readers.webarena:WebArena",
    "harbor": "pyrite.audit.readers.harbor:Harbor",
    "cua-bench": "pyrite.audit.readers.cua_bench:CuaBench",
    "opencomputer": "pyrite.audit.readers.opencomputer:OpenComputer",
    "pyrite": "pyrite.audit.readers.own:Own",
    "osworld": "pyrite.audit.readers.osworld:OSWorld",
}
"""In the order in which they are asked; OSWorld's layout is the loosest and comes last."""


def load(name: str) -> Reader:
    """The reader of that name; raises `UsageError`."""
    if name not in READERS:
        raise UsageError(f"no reader is called {name[:80]!r}", expected=", ".join(READERS))
    module, _, attribute = READERS[name].partition(":")
    found: Reader = getattr(import_module(module), attribute)()
    return found


def detect(root: Path) -> Reader:
    """The reader that knows what lies at `root`; raises `UsageError` saying what was there."""
    for name in READERS:
        reader = load(name)
        if reader.recognises(root):
            return reader
    raise UsageError(
        "no task definitions that pyrite can read",
        where=str(root),
        expected=f"tasks of {', '.join(READERS)}; {_there(root)}",
        next="pyrite audit PATH --format NAME, or the folder that holds the tasks",
    )


def _there(root: Path) -> str:
    from pyrite.audit.hostile import entries, shown

    if not root.is_dir():
        return "this is one file"
    names = [shown(entry.name, 40) for entry in entries(root)]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return f"it holds {', '.join(names[:6]) or 'nothing'}{more}"
