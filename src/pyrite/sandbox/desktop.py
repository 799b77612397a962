"""The two sandboxes of a desktop: the X server in one, window manager and applications in another.

Applications reach the display through a socket in a read-only folder and nothing else of it, so they
can neither end the server nor touch the file that screens are read from. Inside the applications'
sandbox runs nothing of pyrite: process 1 is a few lines that start what the host writes to
them and answer nothing, so there is no answer to forge.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import pyrite
from pyrite.errors import SandboxError, StartError
from pyrite.sandbox import apps, bwrap, cgroup, confine
from pyrite.store import scratch

HOME = "/home/agent"
DISPLAY_NUMBER = 7
PROCESS_LIMIT = 400
OUTPUT_LIMIT = 64 << 10
"""Bytes kept of what a program of `Applications.run` prints."""
DISPLAY_MEMORY_BYTES = 512 << 20
"""What the X server may allocate on behalf of its clients."""
PROGRAMS = {
    "/usr/bin/Xvfb": "xvfb",
    "/usr/bin/openbox": "openbox",
    "/usr/bin/dbus-daemon": "dbus",
    "/usr/bin/perl": "perl-base",
}
"""What every desktop needs -> the Debian package that brings it."""

_ETC = [
    *("fonts", "libreoffice", "gtk-3.0", "dconf", "xdg", "dbus-1", "mime.types", "machine-id"),
    *("ssl/openssl.cnf", "X11", "python3", "python3.11", "nsswitch.conf"),
]
_VAR = ["cache/fontconfig", "lib/libreoffice"]
_START_LIMIT_S = 20.0

# Process 1 ignores SIGCHLD, so the kernel clears away orphans (a shell cannot: its `read` ends when one
# dies); what it starts must not inherit that. A line is one command, each word in hexadecimal.
_LAUNCHER = """
use strict; use POSIX ();
$SIG{CHLD} = 'IGNORE';
sub start {
    my @command = @_;
    my $pid = fork;
    return if !defined $pid || $pid;
    $SIG{CHLD} = 'DEFAULT';
    POSIX::setsid();
    open STDIN, '<', '/dev/null'; open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null';
    exec { $command[0] } @command or POSIX::_exit(127);
}
start(qw(dbus-daemon --session --nofork --nopidfile --nosyslog), "--address=$ENV{DBUS_SESSION_BUS_ADDRESS}");
start('openbox');
while (defined(my $line = <STDIN>)) { chomp $line; start(map { pack 'H*', $_ } split / /, $line, -1); }
"""
_LIMITED = (
    'ulimit -c 0; ulimit -f "$1"; { ulimit -p "$2" || ulimit -u "$2"; } 2>/dev/null;'
    ' [ "$3" = 0 ] || ulimit -d "$3"; shift 3; exec "$@"'
)
START_LAUNCHER = ("perl", "-e", _LAUNCHER)
"""Process 1 of the applications: starts what is written to it, ends when that ends."""


def missing_programs() -> list[str]:
    """Debian packages that a desktop needs and that are not installed."""
    return sorted(package for program, package in PROGRAMS.items() if not os.path.exists(program))


@lru_cache(maxsize=1)
def unprivileged_id() -> int | None:
    """An id that nobody has, for sandboxes started by root; None for an ordinary user."""
    if os.getuid() != 0:
        return None
    for candidate in range(59_900, 50_000, -1):
        with contextlib.suppress(KeyError):
            pwd.getpwuid(candidate)
            continue
        with contextlib.suppress(KeyError):
            grp.getgrgid(candidate)
            continue
        return candidate
    raise SandboxError("every id from 50000 to 59900 is in use", expected="an id that nobody has")


# --- the folder -----------------------------------------------------------------------------------


class Workspace:
    """A temporary folder of one session, locked while in use; earlier ones left by a crash are removed."""

    def __init__(self) -> None:
        base = _reachable_temporary_folder()
        self._claimed = scratch.claim("desk", base=base, owner=unprivileged_id())
        self.root = self._claimed.root
        self.home = self.root / "h"
        self.frames = self.root / "f"
        self.sockets = self.root / "s"
        for folder in (self.home, self.frames, self.sockets):
            folder.mkdir(mode=0o700)
        self.give_away(self.root)

    def lay_in(self, source: Path) -> None:
        """Copy a folder's content into the home; links stay links, other special files are left out."""
        shutil.copytree(source, self.home, symlinks=True, dirs_exist_ok=True, ignore=_special_files)
        self.give_away(self.home)

    def give_away(self, folder: Path) -> None:
        """Make everything in a folder belong to the id that the sandbox runs under."""
        owner = unprivileged_id()
        for parent, folders, files in os.walk(folder):
            for path in (parent, *(os.path.join(parent, name) for name in (*folders, *files))):
                if owner is not None:
                    os.chown(path, owner, owner, follow_symlinks=False)
                if not os.path.islink(path):
                    mode = stat.S_IMODE(os.lstat(path).st_mode)
                    os.chmod(path, mode | (0o700 if os.path.isdir(path) else 0o600))

    def close(self) -> None:
        self._claimed.close()


def _reachable_temporary_folder() -> Path:
    """The temporary folder, or /tmp where an unprivileged id could not get there."""
    chosen = Path(tempfile.gettempdir()).resolve()
    if unprivileged_id() is None or all(p.stat().st_mode & 0o001 for p in (chosen, *chosen.parents)):
        return chosen
    return Path("/tmp")  # noqa: S108 - the folder made in it has an unpredictable name


def sweep() -> None:
    """Remove what sessions, recordings and verifications left that were killed."""
    memory = {found} if (found := scratch.in_memory(0)) else set()
    for base in {Path(tempfile.gettempdir()).resolve(), _reachable_temporary_folder(), *memory}:
        scratch.sweep(base, unprivileged_id())


def _special_files(folder: str, names: list[str]) -> list[str]:
    modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
    return [n for n, m in modes.items() if not (stat.S_ISREG(m) or stat.S_ISDIR(m) or stat.S_ISLNK(m))]


# --- the sandboxes --------------------------------------------------------------------------------


DISPLAY_LIMITS = f"ulimit -c 0; ulimit -d {DISPLAY_MEMORY_BYTES // 1024}"
"""Its clients make it allocate: a pixmap beyond the limit is an error of theirs, BadAlloc."""


def server(width: int, height: int) -> str:
    """The command of the X server: its screen file in /f, its socket below /tmp/.X11-unix."""
    # Shared memory would not work across the two sandboxes; without the extension nobody tries it.
    return (
        f"/usr/bin/Xvfb :{DISPLAY_NUMBER} -screen 0 {width}x{height}x24 -fbdir /f -nolisten tcp"
        " -noreset -ac -s 0 -extension MIT-SHM"
    )


def start_display(found: bwrap.Bubblewrap, space: Workspace, width: int, height: int) -> bwrap.Sandbox:
    """Start the X server; its screen file is in `space.frames`, its socket in `space.sockets`."""
    arguments = [*bwrap.root(found, etc=["X11", "fonts"]), *bwrap.namespaces(found, hostname="display")]
    arguments += ["--bind", str(space.frames), "/f", "--bind", str(space.sockets), "/tmp/.X11-unix"]  # noqa: S108
    arguments += bwrap.environment({"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
    command = ["/bin/sh", "-c", f"{DISPLAY_LIMITS}; exec {server(width, height)}"]
    sandbox = bwrap.Sandbox(found, arguments, command, stderr=subprocess.PIPE, user=unprivileged_id())
    deadline = time.monotonic() + _START_LIMIT_S
    while not (space.sockets / f"X{DISPLAY_NUMBER}").exists():
        if sandbox.process.poll() is not None or time.monotonic() > deadline:
            sandbox.kill()
            said = sandbox.process.stderr.read(4096) if sandbox.process.stderr else b""
            sandbox.close()
            raise SandboxError(
                "the display did not start: " + (bwrap.first_line(said) or "no reason given"),
                expected="Xvfb to start in a sandbox",
                next="pyrite doctor",
            )
        time.sleep(0.01)
    return sandbox


class Applications:
    """The sandbox in which window manager and applications run."""

    def __init__(
        self,
        found: bwrap.Bubblewrap,
        space: Workspace,
        home_limit: int,
        memory_limit: int,
        group: cgroup.Group,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        arguments = [*bwrap.root(found, etc=_ETC, var=_VAR), *bwrap.namespaces(found)]
        arguments += _masked(found)
        arguments += ["--bind", str(space.home), HOME, "--chdir", HOME]
        arguments += ["--ro-bind", str(space.sockets), "/tmp/.X11-unix"]  # noqa: S108
        arguments += ["--perms", "0700", "--dir", f"/run/user/{bwrap.INSIDE_ID}"]
        arguments += bwrap.environment({**environment(), **(variables or {})})
        self._found, self._arguments, self.group = found, arguments, group
        # A watchdog looks twice a second: without a control group no process may outrun it on its own.
        data = 0 if "memory" in group.folders else memory_limit // 1024
        limits = [str(home_limit // 512), str(PROCESS_LIMIT), str(data)]
        self._limits = [*limits[:2], str(memory_limit // 1024)]
        command = ["/bin/sh", "-c", _LIMITED, "sh", *limits, *START_LAUNCHER]
        self.sandbox = bwrap.Sandbox(
            found,
            [*arguments, "--as-pid-1"],
            command,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user=unprivileged_id(),
            group=group,
            files=apps.brought(),
        )
        if self.sandbox.init_pid is None:
            said = self.sandbox.process.stderr.read(4096) if self.sandbox.process.stderr else b""
            self.sandbox.close()
            raise StartError(f"the sandbox did not start: {bwrap.first_line(said)}", next="pyrite doctor")
        self.init_pid: int = self.sandbox.init_pid
        assert self.sandbox.process.stdin is not None
        self._commands = self.sandbox.process.stdin.fileno()
        os.set_blocking(self._commands, False)

    def launch(self, command: list[str]) -> bool:
        """Have a command started in the home; False where the sandbox no longer takes any."""
        return send(self._commands, command)

    @property
    def bounds_memory(self) -> bool:
        """Whether the kernel bounds their memory; else a watchdog has to."""
        return "memory" in self.group.folders

    def memory_kills(self) -> int | None:
        """How many processes the kernel killed at that bound; None where it does not say."""
        return self.group.memory_kills()

    def run(self, argv: Sequence[str], limit_s: float) -> confine.Finished:
        """Run a program to its end in a sandbox of its own: the same files, home and display.

        It shares neither processes nor network with the applications, so that what they are and do
        cannot forge its exit code or output. `returncode` is None where the time was up.
        """
        sandbox = bwrap.Sandbox(
            self._found,
            self._arguments,
            ["/bin/sh", "-c", _LIMITED, "sh", *self._limits, *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user=unprivileged_id(),
        )
        with sandbox:
            found = confine.collect(sandbox.process, limit_s, OUTPUT_LIMIT, sandbox.kill)
            out, err, timed_out, truncated = found
            code = None if timed_out else sandbox.exit_code()
        return confine.Finished(code, out, err, timed_out, truncated)


def send(descriptor: int, command: Sequence[str]) -> bool:
    """Write a command to process 1 of the applications; False where it no longer takes any."""
    line = " ".join(os.fsencode(word).hex() for word in command).encode() + b"\n"
    try:
        return os.write(descriptor, line) == len(line)
    except OSError:
        return False


def _masked(found: bwrap.Bubblewrap) -> list[str]:
    """Arguments that hide pyrite itself where it is installed below /usr: it holds tasks and answers."""
    package = Path(pyrite.__file__).resolve().parent
    if package.is_relative_to("/usr") and not package.is_relative_to("/usr/local"):
        return found.tmpfs(str(package), 1 << 20)
    return []


def environment(runtime: str = f"/run/user/{bwrap.INSIDE_ID}") -> dict[str, str]:
    """The variables of the applications; `runtime` is a folder inside that is theirs alone."""
    return {
        "HOME": HOME,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/sh",
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "DISPLAY": f":{DISPLAY_NUMBER}",
        "XDG_RUNTIME_DIR": runtime,
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus",
        "NO_AT_BRIDGE": "1",
        "SAL_USE_VCLPLUGIN": "gtk3",
    }
