"""Desktops on this machine: bubblewrap, Xvfb and openbox, driven from outside."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyrite.errors import InputError, RunError, SandboxError, StartError
from pyrite.records import Action, Clock, Facts, Launch
from pyrite.sandbox import (
    acting,
    apps,
    closing,
    desktop,
    end_state,
    inputs,
    processes,
    seed,
)
from pyrite.sandbox import settle as readiness
from pyrite.sandbox.backend import Act, EndState, Observation, SessionSpec
from pyrite.sandbox.enclosure import Bubblewrapped, Enclosure
from pyrite.sandbox.framebuffer import Framebuffer
from pyrite.sandbox.keyboard import Keyboard
from pyrite.sandbox.watchdog import Watchdog
from pyrite.sandbox.xclient import DisplayLost, XClient

OPEN_LIMIT_S = 90.0
"""Longest wait for the application that a session starts with."""
LAUNCH_LIMIT_S = 30.0
"""Longest wait for a window after a `launch`."""
_FIRST_PING_S = 1.0
_PING_S = 0.03
_INPUT_LIMIT_S = 60.0
_DIALOG_LIMIT_S = 2.0
_DESKTOP_ROUNDS = (0.1,)
_FLUSH_S = 0.2
_ARCHIVE_FACTOR = 2
"""An archive holds at most this many times the home limit; sparse files look larger than they are."""


class LocalBackend:
    """Desktops in bubblewrap on this machine, or in what a backend built on it hands over."""

    name = "local"

    def __init__(self, enclosure: Enclosure | None = None) -> None:
        self._enclosure: Enclosure = enclosure or Bubblewrapped()

    def start(self, home: Path, spec: SessionSpec) -> LocalSession:
        """A desktop whose home is the seed profile with a copy of `home` laid over it.

        The thread that calls this must outlive the session. Raises `SandboxError` where isolation
        is missing or the application does not open.
        """
        if not home.is_dir():
            raise InputError("no such folder", where=str(home), expected="the initial home of a task")
        if spec.open is not None:
            wrong = self._enclosure.command(spec.open)
            if isinstance(wrong, str):
                raise SandboxError(wrong, expected="an application that is installed", next="make desktop")
        try:
            profile = seed.profile(self._make_profile, self._enclosure.seed_key)
            return LocalSession(self._enclosure, [profile, home], spec)
        except OSError as exc:
            raise StartError(f"the desktop did not start: {exc}", next="pyrite doctor") from exc

    def _make_profile(self, bare: Path, into: Path) -> None:
        """Start LibreOffice once, quit it, and keep its settings."""
        spec = SessionSpec(open=Launch(app="calc"))
        if isinstance(self._enclosure.command(Launch(app="calc")), str):
            seed.take(bare, into)
            return
        with LocalSession(self._enclosure, [bare], spec) as session:
            session.act(Action(action="key", keys="ctrl+q"))
            deadline = time.monotonic() + LAUNCH_LIMIT_S
            while session.runs("soffice.bin"):
                if time.monotonic() > deadline:
                    raise SandboxError("LibreOffice did not quit after its first start", next="pyrite doctor")
                time.sleep(0.1)
            seed.take(session.home, into)


class LocalSession:
    """One desktop, driven from this machine's kernel. Made by `LocalBackend.start`."""

    def __init__(self, enclosure: Enclosure, homes: Sequence[Path], spec: SessionSpec) -> None:
        self.spec = spec
        self.image = enclosure.image()
        self._command = enclosure.command
        self._launched: set[str] = set()
        self.ignores_ping: set[str] = set()
        """Window classes that promise to answer pings and do not."""
        self._stack = contextlib.ExitStack()
        self._started = time.monotonic()
        self._finished = False
        with contextlib.ExitStack() as stack:
            space = desktop.Workspace()
            stack.callback(space.close)
            for home in homes:
                space.lay_in(home)
            self.home = space.home
            self._display = stack.enter_context(enclosure.display(space, spec))
            self._apps = enclosure.applications(space, spec)
            stack.enter_context(self._apps.sandbox)
            self._init = self._apps.init_pid
            self._connect(space)
            stack.callback(self._x.close)
            # only now: with the window manager up, the sandbox is the one that applications will run in
            self.enforced = enclosure.enforced(spec, self._apps, self._display)
            # only now: the file exists before the server has written its header
            self._frame = Framebuffer(space.frames / "Xvfb_screen0", spec.width, spec.height)
            stack.callback(self._frame.close)
            # openbox announces itself before it takes windows; Xt applications then wait 5 s for it
            self._settle(_DESKTOP_ROUNDS)
            self._watchdog = self._watch()
            stack.callback(self._watchdog.stop)
            if spec.open is not None:
                self._open(spec.open)
            self._clock = self._read_clock() if spec.read_clock else None
            self._started = time.monotonic()
            self._stack = stack.pop_all()

    def _watch(self) -> Watchdog:
        memory = None if self._apps.bounds_memory else self.spec.memory_limit_bytes
        return Watchdog(self.home, self.spec.home_limit_bytes, self._init, memory)

    def _connect(self, space: desktop.Workspace) -> None:
        try:
            self._x = XClient(space.sockets / f"X{desktop.DISPLAY_NUMBER}")
            deadline = time.monotonic() + LAUNCH_LIMIT_S
            while not self._x.has_window_manager():
                if time.monotonic() > deadline:
                    raise StartError("the window manager did not start", next="pyrite doctor")
                time.sleep(0.01)
            with self._x.connected() as display:
                self._keyboard = Keyboard(display)
        except DisplayLost as exc:
            raise StartError(f"the display does not answer: {exc}", next="pyrite doctor") from exc

    def _open(self, launch: Launch) -> None:
        error, timed_out = self._launch(launch, OPEN_LIMIT_S)
        if self._apps.sandbox.is_empty():
            error = "the sandbox ended on its own"
        if error is None and timed_out:
            error = f"{launch.app} was not ready within {OPEN_LIMIT_S:g} s"
        if error is not None:
            raise StartError(error, expected=f"{launch.app} to open", next="pyrite doctor")

    def _read_clock(self) -> Clock | None:
        """Both clocks, before anybody has acted: from then on what is inside may lie."""
        before = time.time()
        finished = self._apps.run(["/usr/bin/date", "+%s.%N"], LAUNCH_LIMIT_S)
        with contextlib.suppress(ValueError):
            return Clock(sandbox=float(finished.stdout), host=(before + time.time()) / 2)
        return None

    # --- acting

    def act(self, action: Action, *, settle: bool = True) -> Observation:
        """Perform one action; see `Session.act`."""
        self._require_running()
        error = inputs.problem(action, self.spec.width, self.spec.height)
        late = time.monotonic() - self._started > self.spec.time_limit_s
        if late:
            error = f"the time limit of {self.spec.time_limit_s:g} s is over"
        timed_out = False
        if error is None:
            try:
                error, timed_out = self._perform(action, settle)
            except DisplayLost as exc:
                error = f"the display did not take the input: {exc}"
        return self._observe((), timed_out or late, error)

    def screenshot(self, *, settle: bool = True) -> Observation:
        """The screen now, or once it is still."""
        self._require_running()
        return self._observe(readiness.ACTION_ROUNDS if settle else (), False, None)

    def runs(self, program: str) -> bool:
        """Whether a process of this executable name is running inside."""
        return any(
            os.path.basename(processes.executable(e.pid)) == program for e in processes.inside(self._init)
        )

    def _require_running(self) -> None:
        if self._finished:
            raise SandboxError("the session has ended", expected="no action after finish or close")

    def _perform(self, action: Action, settle: bool) -> tuple[str | None, bool]:
        if action.action == "launch":
            launch = Launch(app=action.app or "", args=action.args or ())
            return self._launch(launch, LAUNCH_LIMIT_S) if settle else (self._send(launch), False)
        if action.action == "wait":
            time.sleep(action.seconds or 0.0)
        windows = self._dialog_windows() if settle and inputs.confirms(action) else None
        with self._x.connected(_INPUT_LIMIT_S) as display:
            inputs.perform(display, self._keyboard, action, self._pause)
        if not settle:
            return None, False
        if windows is None:
            return None, not self._settle(readiness.ACTION_ROUNDS)
        self._await(lambda: self._x.managed() != windows, _DIALOG_LIMIT_S)
        return None, not self._settle(readiness.DIALOG_ROUNDS)

    def _dialog_windows(self) -> list[int] | None:
        """The windows there are, where the active one is a dialog; else None."""
        active = self._x.active()
        return self._x.managed() if active is not None and self._x.is_dialog(active) else None

    def _pause(self) -> None:
        self._settle((_FLUSH_S,))

    def _send(self, launch: Launch) -> str | None:
        command = self._command(launch)
        if isinstance(command, str):
            return command
        self._launched.add(launch.app)
        return None if self._apps.launch(command) else "the desktop no longer starts applications"

    def _launch(self, launch: Launch, limit_s: float) -> tuple[str | None, bool]:
        """Start an application and wait until a new window is there and ready."""
        before = set(self._x.managed())
        error = self._send(launch)
        if error is not None:
            return error, False
        if not self._await(lambda: bool(set(self._x.managed()) - before), limit_s):
            return f"{launch.app} opened no new window within {limit_s:g} s", True
        self._learn_ping()
        return None, not self._settle(readiness.START_ROUNDS, max(limit_s, self.spec.settle_limit_s))

    @staticmethod
    def _await(condition: Any, limit_s: float) -> bool:
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(readiness.POLL_S)
        return True

    # --- looking

    def _observe(self, rounds: Sequence[float], timed_out: bool, error: str | None) -> Observation:
        if rounds:
            timed_out = not self._settle(rounds) or timed_out
        return Observation(self._frame.image(), timed_out, error)

    def _settle(self, rounds: Sequence[float], limit_s: float | None = None) -> bool:
        limit = self.spec.settle_limit_s if limit_s is None else limit_s
        return readiness.settle(self._frame.checksum, self._ticks_since, self._answers, rounds, limit)

    def _ticks_since(self, earlier: dict[int, int] | None) -> tuple[dict[int, int], int]:
        now = processes.cpu_ticks(self._init)
        return now, 0 if earlier is None else processes.grown(earlier, now)

    def _answers(self, patience_s: float = _PING_S) -> bool:
        """Whether the active window has answered a ping; True where there is nobody to ask."""
        try:
            window = self._x.active()
            if window is None or not self._x.takes_ping(window):
                return True
            if self._x.window_class(window) in self.ignores_ping:
                return True
            return self._x.ping(window, patience_s)
        except DisplayLost:
            return True

    def _learn_ping(self) -> None:
        """Note an application that promises answers to pings and gives none: pings are advice."""
        try:
            window = self._x.active()
            if window is not None and not self._answers(_FIRST_PING_S):
                # busy starting, or never going to answer: ask again once before it is believed
                self._settle((_FLUSH_S,), _FIRST_PING_S)
                if not self._answers(_FIRST_PING_S):
                    self.ignores_ping.add(self._x.window_class(window))
        except DisplayLost:
            return

    # --- the end

    def finish(self, archive: Path, act: Act | None = None) -> EndState:
        """End the session; see `Session.finish`."""
        self._require_running()
        self._finished = True
        running = {name: app for name, app in apps.APPS.items() if self.runs(app.executable)}
        time.sleep(apps.flush_s(running, self._launched))  # what is written by a timer, nothing shows
        self._settle((_FLUSH_S,), limit_s=3.0)
        self._watchdog.stop()
        frozen = processes.stop_all(self._init)
        facts = self._facts()
        if not frozen:  # something keeps running: what it does must not reach into the archive
            self._apps.sandbox.kill()
        digest, omitted = self._archive(archive)
        unsaved = None
        if frozen and act is None:
            processes.continue_all(self._init)
            unsaved = closing.unsaved(self._x)
            if unsaved is False and not all(app.asks for app in running.values()):
                unsaved = None  # what is left in a form of a browser goes without a word
        if act is not None:
            self._carry_out(act, frozen)
        if not self._apps.sandbox.kill():
            raise SandboxError(
                "processes of the sandbox could not be killed", next="run the same command again"
            )
        found: dict[str, Any] = {"unsaved": unsaved}
        if omitted:
            found["omitted"] = list(omitted)
        return EndState(archive, facts.model_copy(update=found), digest, omitted)

    def _archive(self, archive: Path) -> tuple[str, tuple[str, ...]]:
        try:
            return end_state.write_archive(self.home, archive, _ARCHIVE_FACTOR * self.spec.home_limit_bytes)
        except OSError as exc:
            raise RunError(f"the end state was not written: {exc}", where=str(archive)) from exc

    def _carry_out(self, act: Act, frozen: bool) -> None:
        """Act on the living desktop, then take the home once more, with everything stopped."""
        if frozen:
            processes.continue_all(self._init)
            self._watchdog = self._watch()
            try:
                acting.act(self._hands(), act.steps, act.note)
            finally:
                self._watchdog.stop()
            if not processes.stop_all(self._init):
                self._apps.sandbox.kill()
        self._archive(act.archive)

    def _hands(self) -> acting.Hands:
        def press(keys: str) -> str | None:
            action = Action(action="key", keys=keys)
            problem = inputs.problem(action, self.spec.width, self.spec.height)
            if problem is None:
                with self._x.connected(_INPUT_LIMIT_S) as display:
                    inputs.perform(display, self._keyboard, action, self._pause)
            return problem

        def settle(limit_s: float) -> bool:
            return self._settle(readiness.ACTION_ROUNDS, limit_s)

        return acting.Hands(self._x, self.home, self._init, press, settle, self._apps.run)

    def _facts(self) -> Facts:
        windows: tuple[Any, ...] = ()
        with contextlib.suppress(DisplayLost):
            windows = self._x.describe()
        hits = [*self._watchdog.hits, *(["memory"] if self._apps.memory_kills() else [])]
        extra: dict[str, Any] = {"limits_hit": hits} if hits else {}
        if self.ignores_ping:
            extra["ignores_ping"] = sorted(self.ignores_ping)
        return Facts(
            processes=processes.describe(self._init),
            windows=windows,
            ports=processes.listening_ports(self._init),
            clock=self._clock,
            **extra,
        )

    def close(self) -> None:
        """Kill what runs and remove what was made; may be called twice."""
        self._finished = True
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
