"""Start the application, then the browser at one of its pages; without a browser, the application alone.

python3 kontor.pyz DATABASE [BROWSER ARGUMENT… PATH]
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from pathlib import Path

from .server import HOST, PORT, serve

_START_LIMIT_S = 20.0


def main() -> None:
    """The server becomes a process of its own; this one becomes the browser."""
    database, *words = sys.argv[1:]
    if not words:
        serve(Path(database)).serve_forever()
    *browser, path = words
    if not _listens():
        if os.fork() == 0:
            os.setsid()
            serve(Path(database)).serve_forever()
        deadline = time.monotonic() + _START_LIMIT_S
        while not _listens() and time.monotonic() < deadline:
            time.sleep(0.02)
    os.execv(browser[0], [*browser, f"http://{HOST}:{PORT}{path}"])  # noqa: S606 - no shell is wanted


def _listens() -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, PORT), timeout=1):
        return True
    return False
