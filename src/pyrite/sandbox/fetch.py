"""One HTTP request from inside a sandbox's network, made by the host: nobody inside can forge the answer.

    python -P -m pyrite.sandbox.fetch NETWORK_NAMESPACE_FD URL TIMEOUT

Prints one JSON object: status and body, or what went wrong. A process of its own, because joining a
namespace is for good. An ordinary user joins the user namespace that owns the network first.
"""

from __future__ import annotations

import ctypes
import fcntl
import http.client
import json
import os
import subprocess
import sys
from typing import NamedTuple
from urllib.parse import urlsplit

BODY_LIMIT = 64 << 10
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_NS_GET_USERNS = 0xB701
_GRACE_S = 5.0


class Fetched(NamedTuple):
    """An answer, or why there is none."""

    status: int | None
    body: str
    problem: str = ""


def fetch(pid: int, url: str, timeout_s: float) -> Fetched:
    """Ask for a URL in the network namespace of a process; redirects are answers and not followed."""
    try:
        network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as exc:
        return Fetched(None, "", f"the sandbox's network has gone: {exc.strerror}")
    command = [sys.executable, "-P", "-m", "pyrite.sandbox.fetch", str(network), url, str(timeout_s)]
    try:
        done = subprocess.run(
            command, capture_output=True, pass_fds=(network,), timeout=timeout_s + _GRACE_S, check=False
        )
        return Fetched(*json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return Fetched(None, "", f"no answer within {timeout_s:g} s")
    except (ValueError, TypeError):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return Fetched(None, "", said[-1][:300] if said else "the request could not be made")
    finally:
        os.close(network)


def _join(network: int) -> None:
    """Enter a network namespace. Raises `OSError`."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(descriptor: int, kind: int) -> bool:
        return bool(libc.setns(descriptor, kind) == 0)

    if enter(network, _CLONE_NEWNET):
        return
    owner = fcntl.ioctl(network, _NS_GET_USERNS)
    if not enter(owner, _CLONE_NEWUSER) or not enter(network, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f"the sandbox's network cannot be joined: {os.strerror(number)}")


def _ask(url: str, timeout_s: float) -> Fetched:
    found = urlsplit(url)
    path = (found.path or "/") + (f"?{found.query}" if found.query else "")
    connection = http.client.HTTPConnection(found.hostname or "", found.port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return Fetched(answer.status, answer.read(BODY_LIMIT).decode("utf-8", "replace"))
    except (OSError, http.client.HTTPException, ValueError) as exc:
        return Fetched(None, "", f"{type(exc).__name__}: {exc}"[:300])
    finally:
        connection.close()


def main() -> None:
    """What the command line asks for."""
    network, url, timeout = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    _join(network)
    print(json.dumps(list(_ask(url, timeout))))


if __name__ == "__main__":
    main()
