"""Carry out the steps of an active verifier on a living desktop, each observed, none believed unseen.

What is looked at is hostile (titles, files, answers), so all of it is bounded, and whatever keeps a step
from being seen to work ends the act. Nothing here decides an outcome.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.sandbox import fetch
from pyrite.sandbox.confine import Finished
from pyrite.sandbox.end_state import printable
from pyrite.sandbox.xclient import DisplayLost, XClient
from pyrite.steps import (
    MAX_ACT_S,
    ActivateWindow,
    ActLine,
    Execute,
    Key,
    Match,
    Sleep,
    Step,
    WaitFor,
    as_line,
)
from pyrite.store.bench import now

TITLE_LIMIT = 300
SEEN_LIMIT = 600
SLEEPS = "a sleep observes nothing: on a slow machine what it waits for may not have happened"
REST_S = 0.4
"""How long a written file must stay as it is: a save writes in several goes."""
_HOLD_S = 0.15
"""How long an activated window must keep the keyboard before it is believed to have it."""
_POLL_S = 0.05
_FETCH_S = 5.0


class Hands(NamedTuple):
    """What the steps are carried out with."""

    x: XClient
    home: Path
    pid: int
    """Of the sandbox's process 1: its network is where `http` asks."""
    press: Callable[[str], str | None]
    """Press keys; why that cannot be done, or None."""
    settle: Callable[[float], bool]
    """Wait for a still screen, at most so many seconds."""
    run: Callable[[Sequence[str], float], Finished]


class _Failed(Exception):
    """A step was not seen to work; the text says what was seen instead."""

    def __init__(self, seen: str, exit_code: int | None = None) -> None:
        super().__init__(seen)
        self.exit_code = exit_code


class _Seen(NamedTuple):
    """What was observed of a step that worked."""

    words: str
    exit_code: int | None = None


Mark = tuple[int, int, int, int]
"""What changes when a file is written: inode, size, times of content and of status in ns."""


def act(hands: Hands, steps: Sequence[Step], note: Callable[[ActLine], None]) -> bool:
    """Carry out the steps in order; the first one that fails ends it. True where all of them worked.

    `note` gets each line as soon as it is known. Never raises for what happens on the desktop.
    """
    worker = _Worker(hands, steps)
    began = time.monotonic()
    for number, step in enumerate(steps, start=1):
        started = time.monotonic()
        code: int | None = None
        try:
            if started - began > MAX_ACT_S:
                raise _Failed(f"the limit of {MAX_ACT_S:g} s for all steps is over")
            words, code = worker.carry_out(step)
            ok = True
        except _Failed as exc:
            words, code, ok = str(exc), exc.exit_code, False
        except DisplayLost as exc:
            words, ok = f"the display does not answer: {exc}", False
        except OSError as exc:
            words, ok = f"{type(exc).__name__}: {exc.strerror or exc}", False
        note(
            ActLine(
                n=number,
                step=as_line(step),
                ok=ok,
                seen=_shown(words, SEEN_LIMIT),
                focus=worker.focus(),
                exit_code=code,
                seconds=round(time.monotonic() - started, 3),
                hazard=SLEEPS if isinstance(step, Sleep) else None,
                at=now(),
            )
        )
        if not ok:
            return False
    return True


class _Worker:
    """One act: the window that was activated, and how the files were when it began."""

    def __init__(self, hands: Hands, steps: Sequence[Step]) -> None:
        self._hands = hands
        self._window: int | None = None
        named = {step.file for step in steps if isinstance(step, WaitFor) and step.file is not None}
        self._before = {name: _mark(hands.home, name) for name in named}

    def carry_out(self, step: Step) -> _Seen:
        if isinstance(step, ActivateWindow):
            return self._activate(step)
        if isinstance(step, Key):
            return self._press(step)
        if isinstance(step, WaitFor):
            return self._wait(step)
        if isinstance(step, Execute):
            return self._execute(step)
        time.sleep(step.seconds)
        return _Seen(f"{step.seconds:g} s passed; nothing was observed")

    def focus(self) -> str | None:
        """Title of the active window; None where there is none or that is not known."""
        try:
            active = self._hands.x.active()
            titles = {number: title for number, title, _ in self._hands.x.titled()}
            return _shown(titles[active]) if active in titles else None
        except DisplayLost:
            return None

    # --- windows and keys

    def _activate(self, step: ActivateWindow) -> _Seen:
        x = self._hands.x
        deadline = time.monotonic() + step.timeout_s
        seen = ""
        while True:
            known = x.titled()
            fitting = [number for number, title, _ in known if _fits(step.match, step.title, title)]
            if fitting:
                active = x.active()
                window = active if active in fitting else fitting[-1]
                if not x.holds_keyboard(window):
                    x.activate(window)
                if self._comes_to_hold(window, deadline):
                    self._window = window
                    return _Seen(f"{self._title(window)} is in front and has the keyboard")
                seen = f"{_named(known, window)} was asked for; {self.focus()!r} stays in front"
            else:
                seen = f"no window is titled so; there are: {_listed(known)}"
            if time.monotonic() > deadline:
                raise _Failed(seen)
            time.sleep(_POLL_S)

    def _comes_to_hold(self, window: int, deadline: float) -> bool:
        """Whether a window gets the keyboard, and still has it a moment later."""
        last = min(deadline, time.monotonic() + 1.0)
        while not self._hands.x.holds_keyboard(window):
            if time.monotonic() > last:
                return False
            time.sleep(_POLL_S)
        time.sleep(_HOLD_S)
        return self._hands.x.holds_keyboard(window)

    def _press(self, step: Key) -> _Seen:
        x = self._hands.x
        window = self._window
        if step.title is not None:
            known = x.titled()
            active = x.active()
            window = next(
                (n for n, title, _ in known if n == active and _fits(step.match, step.title, title)), None
            )
            if window is None:
                raise _Failed(f"not pressed: {self.focus()!r} is in front, and not {step.title!r}")
        if window is None or not x.holds_keyboard(window):
            raise _Failed(
                f"not pressed: {self.focus()!r} has the keyboard, and not {self._title(window)}; "
                f"windows: {_listed(x.titled())}"
            )
        title = self._title(window)
        problem = self._hands.press(step.keys)
        if problem is not None:
            raise _Failed(f"not pressed: {problem}")
        rested = self._hands.settle(step.timeout_s)
        still = "" if rested else f"; the screen did not come to rest within {step.timeout_s:g} s"
        return _Seen(f"pressed in {title}{still}")

    def _title(self, window: int | None) -> str:
        return _named(self._hands.x.titled(), window)

    # --- waiting

    def _wait(self, step: WaitFor) -> _Seen:
        deadline = time.monotonic() + step.timeout_s
        look: Callable[[WaitFor, float], tuple[bool, _Seen]] = getattr(self, f"_look_{step.thing}")
        while True:
            done, seen = look(step, deadline)
            if done:
                return seen
            if time.monotonic() + step.poll_s > deadline:
                raise _Failed(f"not within {step.timeout_s:g} s: {seen.words}", seen.exit_code)
            time.sleep(step.poll_s)

    def _look_title(self, step: WaitFor, deadline: float) -> tuple[bool, _Seen]:
        known = self._hands.x.titled()
        there = any(_fits(step.match, step.title or "", title) for _, title, _ in known)
        return there != step.gone, _Seen(f"windows: {_listed(known)}")

    def _look_window(self, step: WaitFor, deadline: float) -> tuple[bool, _Seen]:
        known = self._hands.x.titled()
        there = any(found == step.window for _, _, found in known)
        listed = ", ".join(sorted({_shown(found, 60) for _, _, found in known})) or "none"
        return there != step.gone, _Seen(f"classes: {listed}")

    def _look_file(self, step: WaitFor, deadline: float) -> tuple[bool, _Seen]:
        name = step.file or ""
        mark = _mark(self._hands.home, name)
        if mark is None:
            return False, _Seen(f"{name} is not there as a file")
        if step.is_ == "changed" and mark == self._before[name]:
            return False, _Seen(f"{name} is as it was when the act began")
        if time.monotonic() + REST_S > deadline:
            return False, _Seen(f"{name} was written, and there was no time to see it come to rest")
        time.sleep(REST_S)
        if _mark(self._hands.home, name) != mark:
            return False, _Seen(f"{name} is still being written")
        return True, _Seen(f"{name} has {mark[1]} bytes and is at rest")

    def _look_http(self, step: WaitFor, deadline: float) -> tuple[bool, _Seen]:
        patience = max(0.1, min(_FETCH_S, deadline - time.monotonic()))
        answer = fetch.fetch(self._hands.pid, step.http or "", patience)
        if answer.status is None:
            return False, _Seen(answer.problem or "no answer")
        holds = step.output is None or _fits(step.match, step.output, answer.body)
        said = f"status {answer.status}: {_shown(answer.body, 120)}"
        return answer.status == step.status and holds, _Seen(said)

    def _look_command(self, step: WaitFor, deadline: float) -> tuple[bool, _Seen]:
        finished = self._hands.run(step.command or (), max(0.1, deadline - time.monotonic()))
        out = finished.stdout.decode("utf-8", "replace")
        holds = step.output is None or _fits(step.match, step.output, out.strip())
        return finished.returncode == step.expect_exit and holds, _ended(finished)

    def _execute(self, step: Execute) -> _Seen:
        finished = self._hands.run(step.argv, step.timeout_s)
        seen = _ended(finished)
        if finished.returncode != step.expect_exit:
            words = f"{seen.words}; expected exit {step.expect_exit}"
            raise _Failed(words, seen.exit_code)
        return seen


def _ended(finished: Finished) -> _Seen:
    """How a program ended, and the start of what it said."""
    said = (finished.stdout or finished.stderr).decode("utf-8", "replace").strip()
    how = "its time was up" if finished.timed_out else f"exit {finished.returncode}"
    return _Seen(f"{how}: {_shown(said, 200)}" if said else how, finished.returncode)


def _mark(home: Path, name: str) -> Mark | None:
    """State of a file below the home; None where there is none, or where the way to it leads out."""
    try:
        place = os.path.realpath(home / name)
        if not Path(place).is_relative_to(os.path.realpath(home)):
            return None
        found = os.stat(place, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _fits(match: Match, wanted: str, text: str) -> bool:
    """Whether a text is as a step says. Patterns are RE2's, linear in the text whatever it holds."""
    if match == "exact":
        return text == wanted
    if match == "contains":
        return wanted in text
    import duckdb

    with duckdb.connect() as engine:
        try:
            found: Any = engine.execute("select regexp_matches(?, ?)", [text[:8192], wanted]).fetchone()
        except duckdb.Error as exc:
            raise _Failed(f"the pattern {wanted!r} cannot be used: {str(exc).splitlines()[0]}") from exc
    return bool(found[0])


def _named(known: Sequence[tuple[int, str, str]], window: int | None) -> str:
    title = next((title for number, title, _ in known if number == window), None)
    return "a window that has gone" if title is None else repr(_shown(title))


def _listed(known: Sequence[tuple[int, str, str]]) -> str:
    shown = [repr(_shown(title, 80)) for _, title, _ in known[:8]]
    more = f" and {len(known) - 8} more" if len(known) > 8 else ""
    return (", ".join(shown) or "none") + more


def _shown(text: str, limit: int = TITLE_LIMIT) -> str:
    """Hostile text as one printable line."""
    plain = "".join(c if c.isprintable() else " " for c in printable(text[: 2 * limit]))
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
