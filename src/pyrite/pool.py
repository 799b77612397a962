"""Run one function over many items, serially or in processes, with results as they finish.

    for item, result in pool.run(verify_one, items, jobs=2): ...

A result is what the function returned; what it raised is re-raised here, once the others that were in
flight are done. Ctrl-C is the parent's: the first one stops handing out work, and `KeyboardInterrupt`
comes when what was in flight is done and given out; the second ends the workers at once, as SIGTERM
does. Workers end with their parent, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import forkserver, resource_tracker, util
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.process import BaseProcess
from threading import Thread
from types import FrameType
from typing import Generic, Protocol, TypeVar

from pyrite.errors import RunError

Item = TypeVar("Item")
Result = TypeVar("Result")

_POLL_S = 0.2
_BASE_BYTES = 40
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_OURS = (signal.SIGINT, *_ENDING)
_GRACE_S = 10.0
"""How long workers that are told to end may clean up."""


def run(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    jobs: int | None = None,
    preload: Sequence[str] = (),
) -> Iterator[tuple[Item, Result]]:
    """Yield (item, result) in order of completion; `jobs=1` runs here, in order.

    At most two items a worker are in flight, so a long iterable is never held in memory. `function`
    and items must be picklable when `jobs` is above 1. Default: one worker a core. `preload` names
    modules that are imported once, in the server that workers are forked from, and not once a worker.
    Raises `RunError` where a worker process dies.
    """
    jobs = jobs or os.cpu_count() or 1
    if jobs == 1:
        for item in items:
            yield item, function(item)
        return
    with _Interrupts() as interrupts, _Workers(function, items, jobs, preload) as workers:
        while workers.hand_out():
            yield from workers.finished()
            if interrupts.seen and workers.error is None:
                workers.stop(KeyboardInterrupt())
                _say("\nfinishing what is in flight; ctrl-C again stops at once")
        if workers.error is not None:
            raise workers.error
        if interrupts.seen:  # after the last one was given out
            raise KeyboardInterrupt


class _Workers(Generic[Item, Result]):
    """The processes, and what they have been given."""

    def __init__(
        self, function: Callable[[Item], Result], items: Iterable[Item], jobs: int, preload: Sequence[str]
    ) -> None:
        _place_sockets()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(preload))
        _start_server()
        self._before = set(multiprocessing.active_children())
        # its other end closes when no more is wanted; a semaphore would be leaked by a kill
        wanted, self._wanted = context.Pipe(duplex=False)
        # each worker holds an end of this one, so it ends when the last of them has
        self._alive, alive = context.Pipe(duplex=False)
        self._theirs = wanted, alive
        self._function = function
        self._source = iter(items)
        self._most = 2 * jobs
        self._executor = ProcessPoolExecutor(
            jobs, mp_context=context, initializer=_begin, initargs=(*self._theirs, dict(os.environ))
        )
        self.pending: dict[Future[tuple[Result] | None], Item] = {}
        self.error: BaseException | None = None
        """Why no more is handed out; raised once what is in flight is done."""

    def hand_out(self) -> bool:
        """Keep the workers busy; False once nothing is in flight."""
        try:
            while self.error is None and len(self.pending) < self._most:
                more = list(islice(self._source, 1))
                if not more:
                    break
                self.pending[self._executor.submit(_call, self._function, more[0])] = more[0]
        except BrokenProcessPool as exc:
            self.stop(_died(exc))
        return bool(self.pending)

    def finished(self) -> Iterator[tuple[Item, Result]]:
        """What has been done meanwhile; waits a moment for it."""
        done, _ = wait(self.pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        for future in done:
            item = self.pending.pop(future)
            try:
                result = future.result()
            except (BrokenProcessPool, SystemExit) as exc:
                self.stop(_died(exc))
            except Exception as exc:
                self.stop(exc)
            else:
                if result is not None:
                    yield item, result[0]

    def stop(self, error: BaseException) -> None:
        """Hand out nothing more; what has not begun is not begun."""
        if self.error is None:
            self.error = error
            self._wanted.close()

    def __enter__(self) -> _Workers[Item, Result]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the workers: gently when all is done, else with SIGTERM and then SIGKILL."""
        with contextlib.suppress(OSError):
            self._wanted.close()
        try:
            if self.pending:
                self._end_now()
        finally:
            self._executor.shutdown(wait=True, cancel_futures=True)
            for end in (*self._theirs, self._alive):
                end.close()

    def _end_now(self) -> None:
        workers: list[BaseProcess] = [p for p in multiprocessing.active_children() if p not in self._before]
        try:
            for worker in workers:
                worker.terminate()
            self._executor.shutdown(wait=False, cancel_futures=True)  # tells the idle ones to end
            for end in self._theirs:
                end.close()
            self._alive.poll(_GRACE_S)
        finally:
            for worker in workers:
                worker.kill()


def _start_server() -> None:
    """Start what workers are forked from so that signals to the whole group leave it alone.

    It hands out the workers' exit codes, and what tracks semaphores complains when it is ended. A
    blocked signal stays blocked in both; workers take it again in `_begin`.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
    try:
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)  # the line above takes some of them again
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_SOCKETS: list[str] = []


def _place_sockets() -> None:
    """Give multiprocessing a folder for its sockets whose path is short enough, and that is swept.

    A socket's path has at most 107 bytes, so a long TMPDIR would do as well as none.
    """
    if _SOCKETS:
        return
    usual = tempfile.gettempdir()
    base = usual if len(os.fsencode(usual)) <= _BASE_BYTES else "/tmp"  # noqa: S108 - the name is random
    _SOCKETS.append(tempfile.mkdtemp(prefix=f"pyrite-pool-{os.getpid()}-", dir=base))
    held = os.open(_SOCKETS[0], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(held, fcntl.LOCK_EX)  # until this process ends: what is not locked is swept away
    # after multiprocessing has removed its own folder, which is done at -100
    util.Finalize(None, shutil.rmtree, (_SOCKETS[0], True), exitpriority=-110)
    tempfile.tempdir = _SOCKETS[0]
    try:
        util.get_temp_dir()
    finally:
        tempfile.tempdir = usual


def _died(cause: BaseException) -> RunError:
    error = RunError(
        "a worker process was killed or ran out of memory; what was finished is on disk and safe",
        expected="memory for all workers: fewer (-j 1) need less",
    )
    error.__cause__ = cause
    return error


class _Interrupts:
    """Notes the first ctrl-C; the second is a `KeyboardInterrupt`. Only where it would have been one."""

    def __init__(self) -> None:
        self.seen = False
        self._installed = False

    def __enter__(self) -> _Interrupts:
        here = threading.current_thread() is threading.main_thread()
        if here and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._installed = True
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True

    def __exit__(self, *_: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


# --- inside a worker ------------------------------------------------------------------------------


_WANTED: list[Connection] = []
_LEAVING: list[int] = []
"""Not empty once this worker is about to end: the signal that has told it to."""


def _begin(wanted: Connection, alive: Connection, environment: Mapping[str, str]) -> None:
    """A worker leaves ctrl-C to its parent, cleans up at SIGTERM, and does not outlive its parent.

    It has the environment of who wants it now; the fork server still has that of who wanted the first.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in _ENDING:
        signal.signal(number, _leave)
    util.Finalize(None, _LEAVING.append, (signal.SIGTERM,), exitpriority=1000)
    _WANTED[:] = [wanted, alive]
    os.environ.clear()
    os.environ.update(environment)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS)
    except SystemExit:  # it came meanwhile; from here it would be shown as a failure
        os._exit(128 + signal.SIGTERM)


def _call(function: Callable[[Item], Result], item: Item) -> tuple[Result] | None:
    """The result in a tuple; None where no more is wanted."""
    if _WANTED[0].poll():  # nothing is ever sent: this is its end
        return None
    try:
        return (function(item),)
    finally:
        if _LEAVING:  # the executor would take what ended the function for a result, and go on
            util._exit_function()  # type: ignore[attr-defined]  # what a worker does at its end
            os._exit(128 + _LEAVING[0])


def _leave(number: int, frame: FrameType | None) -> None:
    """Unwind the function that runs, or the wait for one; cleaning up is not interrupted again."""
    if not _LEAVING:
        _LEAVING.append(number)
        raise SystemExit(128 + number)


def _end_with(sentinel: int) -> None:
    wait_for([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


class Watch(Protocol):
    """Who is told how a stage gets on."""

    total: int | None
    """How many items there will be, once that is known."""

    def tick(self, text: str = "", *, items: int = 1) -> None:
        """`items` more are done (0: a word about the running one)."""
        ...


class Silent:
    """Tells nobody."""

    total: int | None = None

    def tick(self, text: str = "", *, items: int = 1) -> None:
        return
