"""Run one function over many items, serially or in processes, with results as they finish.

    for item, result in pool.run(verify_one, items, jobs=2): ...

A result is what the function returned; what it raised is re-raised here. Workers ignore ctrl-C: the
parent sees it, stops handing out work and ends its own workers.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing.connection import wait as wait_for
from threading import Thread
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    jobs: int | None = None,
    preload: Sequence[str] = (),
) -> Iterator[tuple[Item, Result]]:
    """Yield (item, result) in order of completion; `jobs=1` runs here, in order.

    At most two items a worker are in flight, so a long iterable is never held in memory. `function`
    and items must be picklable when `jobs` is above 1. Default: one worker a core. Modules to `preload`
    are imported once for all workers, if no workers were started before.
    """
    jobs = jobs or os.cpu_count() or 1
    if jobs == 1:
        for item in items:
            yield item, function(item)
        return
    context = multiprocessing.get_context("forkserver")
    if preload:
        context.set_forkserver_preload(list(preload))
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_follow_parent)
    pending: dict[Future[Result], Item] = {}
    source = iter(items)
    try:
        while True:
            for item in islice(source, 2 * jobs - len(pending)):
                pending[executor.submit(function, item)] = item
            if not pending:
                break
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield pending.pop(future), future.result()
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _follow_parent() -> None:
    """A worker leaves ctrl-C to its parent, and does not outlive it: a killed command writes no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


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
