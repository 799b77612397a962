"""When a screen is ready: still pixels, idle processes, and a toolkit that has read its input.

LibreOffice repaints its marks 0.05 to 0.45 s after it looks settled, so a recorded screen needs 0.5 s
of stillness; between the steps of a start 0.2 s is enough, because three rounds follow each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

RECORDED_S = 0.5
"""Stillness before a screen that is recorded."""
START_ROUNDS = (0.2, 0.2, 0.2, RECORDED_S)
ACTION_ROUNDS = (RECORDED_S,)
DIALOG_ROUNDS = (RECORDED_S, RECORDED_S)
"""After Return in a dialog: LibreOffice waits inside for up to 0.5 s, idle, before it closes."""
POLL_S = 0.02
IDLE_TICKS = 1
"""CPU ticks that all processes together may use in one round."""


def settle(
    checksum: Callable[[], int],
    ticks_since: Callable[[dict[int, int] | None], tuple[dict[int, int], int]],
    answers: Callable[[], bool],
    rounds: Sequence[float],
    limit_s: float,
) -> bool:
    """Wait until every round of stillness has passed; False where that took longer than `limit_s`.

    checksum: of the screen. ticks_since: reads CPU times, and what has been used since an earlier
    reading. answers: whether the active window has answered a ping.
    """
    deadline = time.monotonic() + limit_s
    for stillness in rounds:
        while not _round(checksum, ticks_since, stillness, deadline) or not answers():
            if time.monotonic() > deadline:
                return False
    return True


def _round(
    checksum: Callable[[], int],
    ticks_since: Callable[[dict[int, int] | None], tuple[dict[int, int], int]],
    stillness: float,
    deadline: float,
) -> bool:
    reading, _ = ticks_since(None)
    seen = checksum()
    since = time.monotonic()
    while time.monotonic() - since < stillness:
        time.sleep(POLL_S)
        if checksum() != seen:
            return False
        if time.monotonic() > deadline:
            return False
    _, used = ticks_since(reading)
    return used <= IDLE_TICKS
