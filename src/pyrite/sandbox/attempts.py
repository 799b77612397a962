"""What a hostile verifier may attempt, and which of it confinement does not prevent here.

`tests/sandbox/test_escape.py` carries all of them out, with and without bubblewrap, and compares.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

NAMES = (
    "write_state",
    "read_episode",
    "open_socket",
    "ptrace",
    "fork_bomb",
    "write_10_gb",
    "signal_parent",
    "read_environment",
    "write_after_exit",
    "symlink_out",
)
"""Change the end state that it is asked about; read another episode, or pyrite's environment; reach a
listener of this machine; trace or signal a process that is not its own; start or write without bound;
go on after its exit; follow a link of the end state to a file of this machine."""

_PLAIN = (
    *("write_state", "read_episode", "open_socket", "write_10_gb"),
    *("signal_parent", "read_environment", "write_after_exit"),
)
_CAP_SYS_PTRACE = 19


def not_prevented(*, isolated: bool, seccomp: bool) -> list[str]:
    """The attempts that succeed here, in the order of NAMES.

    `isolated`: in namespaces and a root of its own. A link out of an end state is never followed:
    `tasks.archive` does not lay it out.
    """
    if isolated:
        return [] if seccomp else ["ptrace"]
    named = {*_PLAIN}
    if may_trace():
        named.add("ptrace")
    if os.getuid() == 0:  # whom the kernel exempts from the limit of processes
        named.add("fork_bomb")
    return [name for name in NAMES if name in named]


def may_trace() -> bool:
    """Whether a process of this user may trace another one that it did not start."""
    scope = _number(Path("/proc/sys/kernel/yama/ptrace_scope"), r"(\d+)", 10) or 0
    capable = (_number(Path("/proc/self/status"), r"CapEff:\s*(\w+)", 16) or 0) >> _CAP_SYS_PTRACE & 1
    return scope == 0 or (scope < 3 and bool(capable))


def _number(path: Path, pattern: str, base: int) -> int | None:
    try:
        found = re.search(pattern, path.read_text())
    except OSError:
        return None
    return int(found[1], base) if found else None
