"""Ctrl-C in an event loop: the first lets what is in flight finish, the second ends it at once."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, Token
from types import FrameType
from typing import Any


class Interrupts:
    """Notes ctrl-C while it is entered, where ctrl-C would end the process; else it changes nothing."""

    def __init__(self) -> None:
        self.seen = False
        self.at_second: Callable[[], object] = lambda: None
        """Called in the event loop at the second ctrl-C."""
        self._before: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._token: Token[Interrupts | None] | None = None

    def __enter__(self) -> Interrupts:
        self._token = _CURRENT.set(self)
        before = signal.getsignal(signal.SIGINT)
        here = threading.current_thread() is threading.main_thread()
        if here and before not in (signal.SIG_IGN, signal.SIG_DFL, None):
            self._loop = asyncio.get_running_loop()
            self._before = before
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _CURRENT.reset(self._token)
            self._token = None
        if self._loop is not None:
            signal.signal(signal.SIGINT, self._before)
            self._loop = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.seen:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self.at_second)
            return
        self.seen = True
        with suppress(OSError, ValueError):
            print("\nfinishing what is in flight; ctrl-C again stops at once", file=sys.stderr, flush=True)


_LOOKS_S = 0.2
"""Seconds between two looks at whether ctrl-C was seen."""
_CURRENT: ContextVar[Interrupts | None] = ContextVar("interrupts", default=None)


def stopping() -> bool:
    """Whether ctrl-C was seen by what is entered here: nothing more is to be sent."""
    current = _CURRENT.get()
    return current is not None and current.seen


async def pause(seconds: float) -> None:
    """Wait for so long, or until ctrl-C is seen: before a call that will then not be made."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while (left := until - loop.time()) > 0 and not stopping():
        await asyncio.sleep(min(left, _LOOKS_S))
