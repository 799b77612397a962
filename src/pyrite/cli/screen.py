"""What people see: progress on stderr, results on stdout. The only place that knows about colours."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

SILENCE_S = 1.8
"""A command that works says something at least this often."""

_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What JSON need not escape and a terminal may obey: control characters and changes of direction."""

_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"

LOOK_HERE = "magenta"
"""The one meaning of purple: a false accept, or an effect shown to be there."""


class Progress:
    """Stages on stderr: a running line on a terminal, a line an item elsewhere."""

    def __init__(self, *, quiet: bool = False, no_color: bool = False) -> None:
        self.quiet = quiet
        self._console = _console(stderr=True, no_color=no_color)
        self._terminal = self._console.is_terminal

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """One stage; it ends with a line that keeps what was done and how long it took."""
        stage = Stage(name, self)
        stage.start()
        try:
            yield stage
        except BaseException:
            stage.stop(None)
            raise
        stage.stop(stage.summary)

    def line(self, text: str, *, style: str = "") -> None:
        """One line that stays."""
        if not self.quiet:
            self._console.print(text, style=style or None, markup=False, highlight=False, soft_wrap=True)

    def running(self, text: str) -> None:
        """The line of what is being done: overwritten on a terminal, appended elsewhere."""
        if self.quiet:
            return
        if self._terminal:
            width = max(20, self._console.width - 1)
            self._console.file.write("\r\x1b[2K" + printable(text)[:width])
            self._console.file.flush()
        else:
            self.line(printable(text))

    def clear(self) -> None:
        if self._terminal and not self.quiet:
            self._console.file.write("\r\x1b[2K")
            self._console.file.flush()


class Stage:
    """A running stage: `tick(text)` an item, `summary` for its last line."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.name = name
        self.summary = ""
        self.total: int | None = None
        self._progress = progress
        self._done = 0
        self._text = ""
        self._began = self._said = time.monotonic()
        self._over = threading.Event()
        self._pulse = threading.Thread(target=self._beat, daemon=True)

    def start(self) -> None:
        self._pulse.start()

    def tick(self, text: str = "", *, items: int = 1) -> None:
        """One item is done (or `items=0`: a word about the one that is running)."""
        self._done += items
        self._text = text
        self._say()

    def stop(self, summary: str | None) -> None:
        self._over.set()
        self._pulse.join()
        self._progress.clear()
        if summary is not None:
            took = _duration(time.monotonic() - self._began)
            self._progress.line(f" ✓ {self.name:<8} {summary:<62} {took:>7}")

    def _say(self) -> None:
        self._said = time.monotonic()
        of = f"/{self.total}" if self.total else ""
        count = f"{self._done}{of}" if self._done or self.total else ""
        elapsed = _duration(time.monotonic() - self._began)
        self._progress.running(
            f" · {self.name:<8} {_bar(self._done, self.total)}{count} {self._text} {elapsed}"
        )

    def _beat(self) -> None:
        while not self._over.wait(0.2):
            if time.monotonic() - self._said >= SILENCE_S:
                self._say()


def result(text: str) -> None:
    """Print a plain result; text of an episode in it cannot move the cursor or set a title."""
    _write("\n".join(printable(line) for line in text.split("\n")) + "\n")


def result_json(document: Any) -> None:
    """Print the one JSON document of `--json`, of a mapping or a dataclass."""
    if is_dataclass(document) and not isinstance(document, type):
        document = {"schema_version": "1", **asdict(document)}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)
    _write(_UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text) + "\n")


def result_json_long(document: Mapping[str, Any], **lists: Iterable[Mapping[str, Any]]) -> None:
    """Print one JSON document whose last keys are lists that may be too long to be held."""
    head = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False, default=_plain)
    _write(head.removesuffix("\n}"))
    for name, rows in lists.items():
        _write(f",\n  {json.dumps(name)}: [")
        for number, row in enumerate(rows):
            line = json.dumps(row, ensure_ascii=True, allow_nan=False)
            _write(f"{',' if number else ''}\n    {line}")
        _write("\n  ]")
    _write("\n}\n")


def flush() -> None:
    """Hand over what was printed, as far as somebody still reads it."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _unread()


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        _unread()


def _unread() -> None:
    """The reader has gone: print into nothing, so that the command ends with the code of its answer."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def _plain(value: object) -> object:
    """Records and paths inside a document."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump is not None else str(value)


def table(
    columns: Sequence[tuple[str, str]],
    rows: Sequence[Sequence[tuple[str, str]]],
    *,
    no_color: bool,
    fold: bool = False,
) -> None:
    """Print a table: `columns` are (heading, justify), cells (text, style).

    Where it is too wide, cells are cut; with `fold` the first column is folded and no number is cut.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0), header_style="dim")
    for number, (heading, justify) in enumerate(columns):
        folded = fold and number == 0
        grid.add_column(
            heading,
            justify="right" if justify == "right" else "left",
            no_wrap=not folded,
            overflow="fold" if folded else "ellipsis",
        )
    for row in rows:
        grid.add_row(*(Text(printable(text), style=style) for text, style in row))
    _console(stderr=False, no_color=no_color).print(grid, highlight=False)


def styled(text: str, style: str, *, no_color: bool, end: str = "\n") -> None:
    """Print a result line with a style, wrapped at the terminal's width."""
    from rich.text import Text

    _console(stderr=False, no_color=no_color).print(Text(printable(text), style=style), end=end)


def _console(*, stderr: bool, no_color: bool) -> Console:
    from rich import console

    class Console(console.Console):
        """Goes on where the reader has gone; rich itself would end with the code of a failed check."""

        def on_broken_pipe(self) -> None:
            _unread()

    file = sys.stderr if stderr else sys.stdout
    width = None if file.isatty() else 100
    return Console(file=file, no_color=no_color or None, highlight=False, width=width)


def terminal_width() -> int | None:
    """Columns of the terminal that reads stdout; None for a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def printable(text: str) -> str:
    """Text of an episode without control characters: it cannot move the cursor or set a title."""
    return "".join(
        c if c.isprintable() or c in _SPACES else c.encode("unicode_escape").decode() for c in text
    )


def _bar(done: int, total: int | None) -> str:
    if not total:
        return ""
    filled = round(20 * min(done, total) / total)
    return "━" * filled + "─" * (20 - filled) + " "


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"
