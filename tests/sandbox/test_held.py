"""What is read from the kernel about a sandbox: each kind of isolation, present and taken away."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pyrite.errors import SandboxError
from pyrite.sandbox import bwrap, desktop, held

FOUND, REASON = bwrap.probe()
pytestmark = pytest.mark.skipif(FOUND is None, reason=f"no bubblewrap: {REASON}")


@contextmanager
def running(*more: str, script: str = "") -> Iterator[held.Held]:
    """What holds for a sleeping program with `more` arguments to bubblewrap."""
    assert FOUND is not None
    arguments = [*bwrap.root(FOUND), *bwrap.namespaces(FOUND), "--as-pid-1", *more]
    command = ["/bin/sh", "-c", f"{script} exec /bin/sleep 60"]
    with bwrap.Sandbox(FOUND, arguments, command, user=desktop.unprivileged_id()) as sandbox:
        assert sandbox.init_pid is not None
        deadline = time.monotonic() + 10
        while os.path.basename(os.readlink(f"/proc/{sandbox.init_pid}/exe")) != "sleep":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield held.read(sandbox.init_pid)


def test_all_of_it_holds() -> None:
    limits = "ulimit -c 0; ulimit -f 1024; { ulimit -p 300 || ulimit -u 300; } 2>/dev/null;"
    with running(script=limits) as holds:
        holds.require(held.NAMESPACES)
    assert FOUND is not None
    assert holds.seccomp is FOUND.seccomp
    assert (holds.no_new_privileges, holds.capabilities) == (True, 0)
    assert (holds.file_size, holds.processes, holds.core_size) == (1024 * 512, 300, 0)


@pytest.mark.parametrize(
    ("more", "missing"),
    [
        (["--share-net"], "network"),
        (["--ro-bind", "/", "/"], "filesystem"),
        (["--ro-bind", "/opt", "/opt"], "filesystem"),
        (["--ro-bind", "/etc", "/etc"], "filesystem"),
    ],
)
def test_what_is_missing_is_refused(more: list[str], missing: str) -> None:
    with running(*more) as holds, pytest.raises(SandboxError, match=missing) as caught:
        holds.require()
    assert caught.value.exit_code == 4
    assert holds.as_json()[missing] is False


def test_of_this_very_process_nothing_holds() -> None:
    holds = held.read(os.getpid())
    assert not any(holds.apart.values())
    with pytest.raises(SandboxError, match="network, filesystem, pid, user, ipc"):
        holds.require()


def test_a_process_that_has_gone_is_an_error() -> None:
    with pytest.raises(SandboxError, match="cannot be read"):
        held.read(2**22)
