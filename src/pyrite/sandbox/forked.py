"""The inside of the fork server: runs in bubblewrap, imports once, forks once a request.

A request becomes process 2 of its own user, mount, pid, ipc and network namespace with empty /tmp,
/run and /dev/shm, no capabilities and the filter of system calls; process 1 waits for it and takes
everything else along when it ends. Messages are JSON on standard input, a SEQPACKET socket; a request
carries the two ends that become its stdout and stderr. Standard library only: all of it is paid for
in every fork.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import errno
import fcntl
import gc
import importlib
import importlib.util
import json
import os
import platform
import resource
import select
import signal
import socket
import struct
import sys
import types
from importlib.machinery import SourceFileLoader
from typing import Any, NoReturn

_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
_NEW_NAMESPACES = 0x00020000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000  # mnt ipc user pid net
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC = 1, 2, 4, 8, 32, 4096, 16384
_CAPBSET_DROP, _SET_SECCOMP, _FILTER = 24, 22, 2
_LAST_CAP = 63
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_REFUSED = b"!"
_LATER = {
    "odf.opendocument": "odf.load",
    "xml.sax": "xml.sax.expatreader",
    "zipfile": "encodings.cp437",
}
"""What a module imports when it is first used."""
_LIBC = ctypes.PyDLL(None, use_errno=True)
"""PyDLL keeps the interpreter's lock, so a clone has it too."""

Code = types.CodeType
_CODES: dict[str, tuple[Any, Code]] = {}
"""Of modules that were run with -m: their specification and code, read once in the server."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class _Ready:
    """What a forked child returns to the top of the stack: the program that it shall become."""

    def __init__(self, argv: list[str]) -> None:
        self.argv = argv


def main() -> None:
    """Import what is named, then serve; in a forked child, become the program and never return."""
    channel = socket.socket(fileno=0)
    setup = json.loads(channel.recv(1 << 20)) | {"server": os.getpid()}
    for name in setup["imports"]:
        # a name that does not import here fails in the program too, in its own words
        with contextlib.suppress(Exception, SystemExit):
            importlib.import_module(name)
    for name, later in _LATER.items():
        if name in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(later)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # process 1 of a request must not be interruptible
    gc.collect()
    gc.freeze()
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1 or platform.machine() not in _CLONE:
        why = f"imports started {threads - 1} threads" if threads != 1 else platform.machine()
        channel.send(json.dumps({"refused": why, "lasting": False}).encode())
        return
    channel.send(b"{}")
    child = _serve(channel, setup)
    if child is not None:
        _become(child.argv)


def _serve(channel: socket.socket, setup: dict[str, Any]) -> _Ready | None:
    while True:
        data, descriptors, _, _ = socket.recv_fds(channel, 1 << 20, 2)
        if not data:
            return None
        request = json.loads(data)
        shadowed = _shadowed(request["argv"])
        if shadowed:
            reply: dict[str, Any] | _Ready = {"own_process": f"{shadowed} stands beside the program"}
        else:
            _read_once(request["argv"])
            reply = _fork(setup, request, descriptors)
        if isinstance(reply, _Ready):
            return reply
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(json.dumps(reply).encode())


def _read_once(argv: list[str]) -> None:
    """Keep the code of a module that is run with -m, where it was imported here anyway."""
    name = next((word for word in argv[1:] if not word.startswith("-")), "")
    if "-m" in argv[1:3] and name in sys.modules and name not in _CODES:
        with contextlib.suppress(Exception):
            spec: Any = sys.modules[name].__spec__
            _CODES[name] = spec, spec.loader.get_code(name)
            gc.freeze()


def _shadowed(argv: list[str]) -> str:
    """A module beside a script that has the name of one imported here; the script would miss its own."""
    if argv[1].startswith("-"):
        return ""
    loaded = {name.partition(".")[0] for name in sys.modules}
    with os.scandir(os.path.dirname(argv[1])) as entries:
        for entry in entries:
            stem, _, ending = entry.name.partition(".")
            folder = not ending and os.path.exists(f"{entry.path}/__init__.py")
            if stem in loaded and (folder or ending.endswith(("py", "pyc", "so"))):
                return entry.name
    return ""


def _fork(setup: dict[str, Any], request: dict[str, Any], descriptors: list[int]) -> dict[str, Any] | _Ready:
    """Run one request to its end; returns in the server with the result, and in the child."""
    ours, theirs = os.pipe()
    own = os.getuid(), os.getgid()
    pid = _LIBC.syscall(_CLONE[platform.machine()], _NEW_NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        return _first_process(setup, request, descriptors, theirs, own)
    os.close(theirs)
    with os.fdopen(ours, "rb") as said:
        if pid < 0:
            number = ctypes.get_errno()
            return {"refused": f"clone: {os.strerror(number)}", "lasting": number != errno.EAGAIN}
        timed_out = _wait(pid, request["timeout_s"])
        status = said.read()
    if status.startswith(_REFUSED):
        text = status[1:].decode("utf-8", "replace")
        return {"refused": text, "lasting": text.startswith(PermissionError.__name__)}
    if timed_out or len(status) != struct.calcsize("i"):
        return {"code": None, "timed_out": timed_out}
    code = os.waitstatus_to_exitcode(struct.unpack("i", status)[0])
    return {"code": 128 - code if code < 0 else code, "timed_out": False}


def _wait(pid: int, timeout_s: float) -> bool:
    """Wait for a process, kill it when its time is up; its namespace is empty afterwards."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        timed_out = not poll.poll(timeout_s * 1000)
        if timed_out:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        os.waitpid(pid, 0)
    finally:
        os.close(descriptor)
    return timed_out


# --- process 1 of a request -----------------------------------------------------------------------


def _first_process(
    setup: dict[str, Any], request: dict[str, Any], descriptors: list[int], status: int, own: tuple[int, int]
) -> _Ready:
    """Lay out the namespaces, start process 2 and wait for it; returns only in process 2."""
    pid = -1
    try:
        _map_ids(*own)
        _lay_out(setup, request["binds"])
        _loopback_up()
        pid = os.fork()
        if pid == 0:
            _confine(setup, request, descriptors, status)
            return _Ready(request["argv"])
        for descriptor in descriptors:
            os.close(descriptor)
        ended, code = os.wait()
        while ended != pid:  # a process that lost its parent
            ended, code = os.wait()
        os.write(status, struct.pack("i", code))
        os._exit(0)
    except BaseException as exc:
        with contextlib.suppress(OSError):
            os.write(status, _REFUSED + f"{type(exc).__name__}: {exc}".encode()[:500])
        os._exit(1)


def _map_ids(user: int, group: int) -> None:
    """One id inside, the one outside; without a map new files belong to nobody (EOVERFLOW)."""
    for name, text in (
        ("oom_score_adj", "1000"),  # the program is to be killed, not its server
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _lay_out(setup: dict[str, Any], binds: list[str]) -> None:
    """Empty the places that can be written to, then bring back the named paths, read-only as they are."""
    paths = [*setup["kept"], *binds]
    held = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths]
    for place, size in setup["emptied"]:
        _mount("tmpfs", place, "tmpfs", _NOSUID | _NODEV, f"size={size},mode=0755")
    for path, descriptor in zip(paths, held, strict=True):
        source = f"/proc/self/fd/{descriptor}"
        if os.path.isdir(source):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o444))
        _mount(source, path, None, _BIND | _REC)
        os.close(descriptor)
    _hide_processes(setup["server"])


def _hide_processes(server: int) -> None:
    """A /proc of this namespace; where the kernel refuses one, the old one read-only without the server."""
    hidden = ["1"]
    flags = _NOSUID | _NODEV | _NOEXEC
    try:
        _mount("proc", "/proc", "proc", flags)
    except PermissionError:  # bwrap, started by root, covers parts of /proc, and so this must, too
        hidden += [str(server), os.readlink("/proc/self")]
        _mount("proc", "/proc", None, _REMOUNT | _BIND | _RDONLY | flags)
    for number in hidden:
        _mount("tmpfs", f"/proc/{number}", "tmpfs", _RDONLY | flags, "size=4096,mode=0000")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    words = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    if _LIBC.mount(*words, ctypes.c_ulong(flags), os.fsencode(options)) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


# --- process 2: the program -----------------------------------------------------------------------


def _confine(setup: dict[str, Any], request: dict[str, Any], descriptors: list[int], status: int) -> None:
    """Give up everything that the program must not have; raises where one thing cannot be given up."""
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDONLY)
    for number, descriptor in enumerate((nothing, *descriptors)):
        os.dup2(descriptor, number)
    os.closerange(3, status)
    os.closerange(status + 1, 1 << 16)
    for name, value in request["limits"].items():
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for capability in range(_LAST_CAP + 1):
        if _LIBC.prctl(_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # beyond the last one that this kernel has
    if _LIBC.capset(struct.pack("Ii", 0x20080522, 0), bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    if setup["filter"]:
        code = bytes.fromhex(setup["filter"])
        program = _Program(len(code) // 8, code)
        if _LIBC.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")
    os.close(status)


def _become(argv: list[str]) -> NoReturn:
    """Run a Python command line as `__main__`, end as the interpreter would, and never return."""
    code = 1
    try:
        main_module = types.ModuleType("__main__")
        main_module.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = main_module
        sys.orig_argv = list(argv)
        program = _load(argv, main_module)
        exec(program, main_module.__dict__)  # noqa: S102 - the program that was asked for
        code = 0
    except SystemExit as exc:
        code = _exit_code(exc.code)
    except BaseException as exc:
        trace = exc.__traceback__  # as from a process of its own, without the frames of this module
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        exc.__traceback__ = trace
        sys.excepthook(type(exc), exc, trace)
        code = 128 + signal.SIGINT if isinstance(exc, KeyboardInterrupt) else 1
    finally:
        os._exit(_end(code))


def _load(argv: list[str], module: types.ModuleType) -> Code:
    """The code of `python [-P] -m MODULE …` or `python SCRIPT …`; sets sys.argv and sys.path."""
    words = argv[1:]
    while words and words[0] == "-P":
        words = words[1:]
    if words[0] == "-m":
        spec, code = _CODES.get(words[1]) or _found(argv[0], words[1])
        module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
        sys.argv = [spec.origin or words[1], *words[2:]]
        return code
    path = words[0]
    module.__file__, module.__loader__ = path, SourceFileLoader("__main__", path)
    sys.argv = words
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    with open(path, "rb") as file:
        source = file.read()
    compiled: Code = compile(source, path, "exec", dont_inherit=True)
    return compiled


def _found(interpreter: str, name: str) -> tuple[Any, Code]:
    spec: Any = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{interpreter}: No module named {name}")
    return spec, spec.loader.get_code(name)


def _exit_code(said: object) -> int:
    if said is None:
        return 0
    if isinstance(said, int):
        return said & 0xFF
    print(said, file=sys.stderr)
    return 1


def _end(code: int) -> int:
    """What the interpreter does at its end and others can see: threads, exit functions, open files."""
    import atexit

    with contextlib.suppress(BaseException):
        threading = sys.modules.get("threading")
        if threading is not None:
            threading._shutdown()
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    with contextlib.suppress(BaseException):
        sys.modules["__main__"].__dict__.clear()
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except BaseException:
        code = code or 120
    with contextlib.suppress(BaseException):
        sys.stderr.flush()
    return code


if __name__ == "__main__":
    main()
