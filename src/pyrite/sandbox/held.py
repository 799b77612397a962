"""What isolates and bounds a running sandbox, read from the kernel instead of from what was asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrite.errors import SandboxError

NAMESPACES = {
    "network": "net",
    "filesystem": "mnt",
    "pid": "pid",
    "user": "user",
    "ipc": "ipc",
    "uts": "uts",
    "cgroup": "cgroup",
}
"""Name in meta.enforced -> file in /proc/PID/ns."""
REQUIRED = ("network", "filesystem", "pid", "user", "ipc")
"""Without one of these no episode is recorded."""

_ROOT_FOLDERS = {
    *("bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "nix", "gnu"),
    *("dev", "etc", "f", "home", "proc", "run", "tmp", "var"),
}
"""What may stand in the root of a sandbox; anything else came from the host by mistake."""
_ETC_FORBIDDEN = ("shadow", "gshadow", "sudoers", "ssh", "ssl/private", "krb5.keytab")


@dataclass(frozen=True)
class Held:
    """What holds for a process."""

    apart: dict[str, bool]
    """Name of `NAMESPACES` -> whether it is not shared with pyrite."""
    seccomp: bool
    no_new_privileges: bool
    capabilities: int
    file_size: int | None
    """Largest file it can write, in bytes; None: no limit."""
    processes: int | None
    core_size: int | None

    def require(self, wanted: Collection[str] = REQUIRED) -> None:
        """Raise `SandboxError` where one of `wanted` does not hold."""
        missing = [name for name in wanted if not self.apart.get(name)]
        if missing:
            raise SandboxError(
                f"the sandbox shares this machine's {', '.join(missing)}",
                expected=f"{', '.join(REQUIRED)} of its own",
                next="pyrite doctor",
            )

    def as_json(self) -> dict[str, Any]:
        """For meta.enforced."""
        return {
            **self.apart,
            "seccomp": self.seccomp,
            "no_new_privileges": self.no_new_privileges,
            "capabilities": self.capabilities,
            "file_size_limit_bytes": self.file_size,
            "core_size_limit_bytes": self.core_size,
        }


def read(pid: int, *, image: bool = False) -> Held:
    """What holds for a process, seen from outside. Raises `SandboxError` where it has gone.

    `image`: its root comes from an image and not from this machine, so anything may stand in it.
    """
    proc = Path("/proc", str(pid))
    try:
        apart = {name: _own(proc, kind) for name, kind in NAMESPACES.items()}
        status = (proc / "status").read_text()
        limits = (proc / "limits").read_text()
        apart["filesystem"] = apart["filesystem"] and _root_is_clean(proc / "root", image)
    except OSError as exc:
        raise SandboxError(
            f"what isolates the sandbox cannot be read: {exc.strerror}",
            expected="a running sandbox",
            next="pyrite doctor",
        ) from exc
    return Held(
        apart,
        seccomp=_field(status, "Seccomp", 10) == 2,
        no_new_privileges=_field(status, "NoNewPrivs", 10) == 1,
        capabilities=_field(status, "CapEff", 16),
        file_size=_limit(limits, "Max file size"),
        processes=_limit(limits, "Max processes"),
        core_size=_limit(limits, "Max core file size"),
    )


def are_apart(first: int, second: int) -> bool:
    """Whether two processes share neither files nor processes."""
    return all(
        os.readlink(f"/proc/{first}/ns/{kind}") != os.readlink(f"/proc/{second}/ns/{kind}")
        for kind in ("mnt", "pid")
    )


def _own(proc: Path, kind: str) -> bool:
    return os.readlink(proc / "ns" / kind) != os.readlink(f"/proc/self/ns/{kind}")


def _root_is_clean(root: Path, image: bool) -> bool:
    """Whether a process's root is one that was put together for it, and not this machine's."""
    if os.path.samestat(os.stat(root), os.stat("/")):
        return False
    if image:
        return True
    if not set(os.listdir(root)) <= _ROOT_FOLDERS:
        return False
    return not any(os.path.lexists(root / "etc" / name) for name in _ETC_FORBIDDEN)


def _field(text: str, name: str, base: int) -> int:
    found = re.search(rf"^{name}:\s*(\w+)$", text, re.M)
    return int(found[1], base) if found else 0


def _limit(text: str, name: str) -> int | None:
    """The soft limit of a line of /proc/PID/limits; None where there is none."""
    found = re.search(rf"^{name}\s+(\w+)", text, re.M)
    return int(found[1]) if found and found[1].isdigit() else None
