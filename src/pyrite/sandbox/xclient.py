"""The host's own connection to the display: input, windows, pings, close requests.

Applications share the display, so all of it is hostile: a client may grab the server, disconnect
others, set any title and flood the event queue. Every call has a time limit, grabs do not hold up
our input, properties are read within bounds, and a lost connection is made anew.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from Xlib import X, Xatom, error
from Xlib.display import Display
from Xlib.ext import xtest
from Xlib.protocol import event as xevent
from Xlib.support import connect as xconnect

from pyrite import records

CALL_LIMIT_S = 5.0
MAX_WINDOWS = 64
_MAX_PROPERTY_WORDS = 256
_MAX_DEPTH = 32
_PAGER = 2
"""Source indication of _NET_ACTIVE_WINDOW: a user's own tool, so the window manager obeys."""
_CONNECTING = threading.Lock()


class DisplayLost(Exception):
    """The display did not answer, or closed the connection; the next call connects anew."""


class XClient:
    """A connection to the X server that listens on a Unix socket."""

    def __init__(self, socket_path: Path) -> None:
        self.socket_path = socket_path
        self._display: Display | None = None
        self._ping = 0
        with self.connected():
            pass

    # --- connection

    @contextlib.contextmanager
    def connected(self, limit_s: float = CALL_LIMIT_S) -> Iterator[Display]:
        """The connection, for calls that together end within `limit_s`. Raises `DisplayLost`."""
        timer: threading.Timer | None = None
        try:
            if self._display is None:
                self._display = _connect(self.socket_path, limit_s)
            timer = threading.Timer(limit_s, _shut, [self._display.display.socket])
            timer.daemon = True
            timer.start()
            yield self._display
        except Exception as exc:  # whatever python-xlib makes of a closed socket or a forged event
            self.close()
            raise DisplayLost(str(exc) or type(exc).__name__) from exc
        finally:
            if timer is not None:
                timer.cancel()

    def close(self) -> None:
        """Drop the connection; the next call makes a new one."""
        display, self._display = self._display, None
        if display is not None:
            _shut(display.display.socket)
            with contextlib.suppress(Exception):
                display.display.socket.close()

    # --- windows

    def managed(self) -> list[int]:
        """Ids of the windows that the window manager knows, oldest first."""
        with self.connected() as display:
            found = _words(display, display.screen().root, "_NET_CLIENT_LIST", 4096)
        return found[:MAX_WINDOWS]

    def has_window_manager(self) -> bool:
        """Whether a window manager has announced itself and begun to keep its list of windows."""
        with self.connected() as display:
            root = display.screen().root
            announced = bool(_words(display, root, "_NET_SUPPORTING_WM_CHECK", 1))
            return announced and _property(display, root, "_NET_CLIENT_LIST", 1) is not None

    def active(self) -> int | None:
        """Id of the active window."""
        with self.connected() as display:
            found = _words(display, display.screen().root, "_NET_ACTIVE_WINDOW", 1)
        return found[0] if found and found[0] else None

    def is_dialog(self, window: int) -> bool:
        """Whether a window says that it belongs to another one."""
        with self.connected() as display:
            return bool(_words(display, _window(display, window), "WM_TRANSIENT_FOR", 1))

    def window_class(self, window: int) -> str:
        with self.connected() as display:
            return _class(display, _window(display, window))

    def describe(self) -> tuple[records.Window, ...]:
        """All managed windows as facts; titles are whatever the application set, cut at 1 kB."""
        out = []
        for number in self.managed():
            with self.connected() as display:
                window = _window(display, number)
                pids = _words(display, window, "_NET_WM_PID", 1)
                title = _text(display, window, "_NET_WM_NAME") or _text(display, window, "WM_NAME")
                out.append(
                    records.Window(
                        title=title,
                        wm_class=_class(display, window),
                        pid=pids[0] if pids else None,
                        transient=bool(_words(display, window, "WM_TRANSIENT_FOR", 1)),
                    )
                )
        return tuple(out)

    def ask_to_close(self, window: int) -> None:
        """What a click on the window's close button does."""
        with self.connected() as display:
            self._message(display, window, "WM_DELETE_WINDOW", [X.CurrentTime, 0, 0, 0])
            display.sync()

    def titled(self) -> list[tuple[int, str, str]]:
        """(id, title, class) of all managed windows, oldest first; titles are cut at 1 kB."""
        out = []
        for number in self.managed():
            with self.connected() as display:
                window = _window(display, number)
                title = _text(display, window, "_NET_WM_NAME") or _text(display, window, "WM_NAME")
                out.append((number, title, _class(display, window)))
        return out

    def activate(self, window: int) -> None:
        """Ask the window manager to bring a window to the front; see `holds_keyboard` for what came of it."""
        with self.connected() as display:
            root = display.screen().root
            message = xevent.ClientMessage(
                window=_window(display, window),
                client_type=display.intern_atom("_NET_ACTIVE_WINDOW"),
                data=(32, [_PAGER, X.CurrentTime, 0, 0, 0]),
            )
            root.send_event(message, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
            display.sync()

    def holds_keyboard(self, window: int) -> bool:
        """Whether a window is the active one and keys go to it or to a part of it."""
        if self.active() != window:
            return False
        with self.connected() as display:
            focus: Any = display.get_input_focus().focus
            with contextlib.suppress(error.XError):  # the window that had it went away meanwhile
                for _ in range(_MAX_DEPTH):
                    number = getattr(focus, "id", focus)
                    if number == window:
                        return True
                    if isinstance(focus, int) or number == display.screen().root.id:
                        return False
                    focus = focus.query_tree().parent
        return False

    # --- ping

    def takes_ping(self, window: int) -> bool:
        """Whether a window promises to answer pings."""
        with self.connected() as display:
            offered = _words(display, _window(display, window), "WM_PROTOCOLS", 32)
            return display.intern_atom("_NET_WM_PING") in offered

    def ping(self, window: int, patience_s: float) -> bool:
        """Ask a window whether it has read its input so far; False where no answer came in time."""
        with self.connected() as display:
            root = display.screen().root
            root.change_attributes(event_mask=X.SubstructureNotifyMask)
            try:
                self._ping += 1
                self._message(display, window, "_NET_WM_PING", [self._ping, window, 0, 0])
                display.sync()
                return self._await_ping(display, patience_s)
            finally:
                root.change_attributes(event_mask=X.NoEventMask)
                display.sync()
                _drain(display)

    def _await_ping(self, display: Display, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        while True:
            while display.pending_events() and time.monotonic() < deadline:
                event = display.next_event()
                if event.type == X.ClientMessage and event.data[0] == 32 and event.data[1][1] == self._ping:
                    return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            select.select([display.fileno()], [], [], left)

    def _message(self, display: Display, window: int, protocol: str, data: list[int]) -> None:
        words = [display.intern_atom(protocol), *data]
        target = _window(display, window)
        message = xevent.ClientMessage(
            window=target, client_type=display.intern_atom("WM_PROTOCOLS"), data=(32, words)
        )
        target.send_event(message, event_mask=X.NoEventMask)


def _connect(path: Path, limit_s: float) -> Display:
    """Connect through a socket of our own: python-xlib itself knows only /tmp/.X11-unix."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel.settimeout(limit_s)
    timer = threading.Timer(limit_s, _shut, [channel])
    timer.daemon = True
    try:
        channel.connect(str(path))
        channel.settimeout(None)
        timer.start()
        with _CONNECTING:
            kept = xconnect.get_socket, xconnect.get_auth
            # No cookie either: the user's own, for a display of the same number, is none of its business.
            xconnect.get_socket, xconnect.get_auth = (lambda *_: channel), (lambda *_: (b"", b""))
            try:
                display = Display(":0")
            finally:
                xconnect.get_socket, xconnect.get_auth = kept
        display.set_error_handler(lambda *_: None)
        if not display.has_extension("XTEST"):
            raise OSError("the display has no XTEST extension")
        xtest.grab_control(display, True)  # our requests are served even while a client holds a grab
        display.sync()
    except BaseException:
        channel.close()
        raise
    finally:
        timer.cancel()
    return display


def _shut(channel: socket.socket) -> None:
    with contextlib.suppress(OSError):
        channel.shutdown(socket.SHUT_RDWR)


def _drain(display: Display) -> None:
    while display.pending_events():
        display.next_event()


def _window(display: Display, number: int) -> Any:
    return display.create_resource_object("window", number)


def _property(display: Display, window: Any, name: str, words: int) -> Any:
    atom = display.intern_atom(name)
    try:
        return window.get_property(atom, X.AnyPropertyType, 0, words)
    except error.XError:  # the window has gone
        return None


def _words(display: Display, window: Any, name: str, limit: int) -> list[int]:
    found = _property(display, window, name, limit)
    if found is None or found.format != 32:
        return []
    return [int(n) for n in found.value]


def _text(display: Display, window: Any, name: str) -> str:
    found = _property(display, window, name, _MAX_PROPERTY_WORDS)
    if found is None or found.format != 8:
        return ""
    raw = found.value.encode("latin-1") if isinstance(found.value, str) else bytes(found.value)
    text = raw.decode("latin-1" if found.property_type == Xatom.STRING else "utf-8", "replace")
    return text.replace("\0", " ").strip()


def _class(display: Display, window: Any) -> str:
    """The general part of WM_CLASS."""
    return _text(display, window, "WM_CLASS").split(" ")[-1]
