"""The system calls that no confined program may make, as a BPF program for bubblewrap.

They are the ones that have been the way out of a container (namespaces, mounts, tracing, kernel
keyrings, bpf, io_uring); LibreOffice, Chromium, GTK and Python run without them.
"""

from __future__ import annotations

import errno
import os
from functools import lru_cache

DENIED = (
    "acct",
    "add_key",
    "bpf",
    "clock_adjtime",
    "clock_settime",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mount",
    "mount_setattr",
    "move_mount",
    "name_to_handle_at",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pidfd_getfd",
    "pivot_root",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "reboot",
    "request_key",
    "setns",
    "settimeofday",
    "swapoff",
    "swapon",
    "syslog",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
)

_CLONE_NEWUSER = 0x10000000


@lru_cache(maxsize=1)
def program() -> bytes | None:
    """The compiled filter, or None where libseccomp is not there (`reason()` says why)."""
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError):
        return None
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    for name in DENIED:
        try:
            rules.add_rule(refuse, name)
        except (OSError, ValueError):  # this architecture or libseccomp does not know the call
            continue
    rules.add_rule(refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _CLONE_NEWUSER, _CLONE_NEWUSER))
    # clone3 passes its flags in memory, out of a filter's sight; libc falls back to clone on ENOSYS.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    descriptor = os.memfd_create("seccomp")
    with os.fdopen(descriptor, "w+b") as handle:
        rules.export_bpf(handle)
        handle.seek(0)
        return handle.read()
