"""The bounds of a session, each tried from inside: it holds, and the record says that it does."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from Xlib import error

from pyrite.cli import run
from pyrite.errors import SandboxError
from pyrite.records import Action
from pyrite.sandbox import bwrap, cgroup, desktop, processes, xclient
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.local import LocalBackend, LocalSession

pytestmark = pytest.mark.desktop

Shell = Callable[..., AbstractContextManager[LocalSession]]
Members = Callable[[Path], dict[str, bytes]]
Eventually = Callable[[Callable[[], bool], float], bool]
HOME_LIMIT = 60_000_000
MEGABYTE = 1 << 20

TRIES = r"""
. ./host.sh
export LC_ALL=C
{
kill -0 $HOST_PID 2>/dev/null && echo pid: found || echo pid: apart
echo processes: $(ls -d /proc/[0-9]* | wc -l)
perl -MSocket -e '
    socket(S, PF_INET, SOCK_STREAM, 6); $tcp = connect(S, sockaddr_in($ENV{PORT}, inet_aton("127.0.0.1")));
    socket(U, PF_UNIX, SOCK_STREAM, 0); $abstract = connect(U, sockaddr_un("\0$ENV{ABSTRACT}"));
    print "network: ", ($tcp || $abstract ? "reached" : "apart"), "\n";'
echo interfaces: $(tail -n +3 /proc/net/dev | cut -d: -f1)
perl -e '$got = shmread($ENV{SEGMENT}, $text, 0, 4); print "ipc: ", ($got ? "read" : "apart"), "\n";'
echo segments: $(tail -n +2 /proc/sysvipc/shm | wc -l)
echo uts: $(uname -n) $(hostname changed 2>/dev/null && echo changed)
echo user: $(cat /proc/self/uid_map | wc -l) $(id -u)
echo unshare: $(unshare -U true 2>&1)
echo mount: $(unshare -m true 2>&1)
echo seccomp: $(grep -E '^(Seccomp|NoNewPrivs|CapEff|CapBnd):' /proc/self/status | cut -f2)
head -c 100000000 /dev/zero >big; echo real: $(stat -c %s big); rm -f big
truncate -s 10G sparse; echo sparse: $(stat -c %s sparse 2>/dev/null || echo 0); rm -f sparse
echo core: $(ulimit -c)
for folder in /tmp /dev/shm /run/user/1000; do
    for n in 1 2 3 4 5 6 7 8; do head -c 50000000 /dev/zero >$folder/big$n; done 2>/dev/null
    echo full: $folder $(du -xsk $folder | cut -f1); rm -f $folder/big*
done
for folder in / /usr /etc /dev /tmp/.X11-unix /home; do : | tee $folder/made && echo wrote: $folder; done
} >report.txt 2>/dev/null
mv report.txt done.txt
sleep 60
"""


Said = dict[str, list[str]]


@contextmanager
def host_side() -> Iterator[str]:
    """What an agent might reach of this machine, as variables for its script."""
    libc = ctypes.CDLL(None, use_errno=True)
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract = f"pyrite-{os.getpid()}"
        unix.bind(f"\0{abstract}")
        unix.listen()
        segment = libc.shmget(0, 4096, 0o1666)
        assert segment >= 0
        stack.callback(libc.shmctl, segment, 0, None)
        owner = desktop.unprivileged_id()
        process = stack.enter_context(subprocess.Popen(["/bin/sleep", "300"], user=owner, cwd="/"))
        stack.callback(process.kill)
        values = {"HOST_PID": process.pid, "PORT": tcp.getsockname()[1], "SEGMENT": segment}
        values["ABSTRACT"] = abstract
        yield "".join(f"export {name}={value}\n" for name, value in values.items())


@pytest.fixture
def found(
    shell: Shell, members: Members, eventually: Eventually, tmp_path: Path
) -> tuple[Said, dict[str, Any]]:
    """What the script reported, by name, and what meta.enforced says."""
    with (
        host_side() as variables,
        shell(TRIES, {"host.sh": variables}, home_limit_bytes=HOME_LIMIT) as session,
    ):
        assert eventually((session.home / "done.txt").exists, 60)
        text = members(session.finish(tmp_path / "end.tar.zst").archive)["done.txt"].decode()
        return _said(text), session.enforced


def _said(text: str) -> Said:
    out: Said = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        out.setdefault(name, []).append(value.strip())
    return out


def test_every_bound_holds_from_inside_and_is_recorded(
    found: tuple[Said, dict[str, Any]], record_property: Any
) -> None:
    said, enforced = found
    whole = 1 << 20
    held = {
        "pid": said["pid"] == ["apart"] and int(said["processes"][0]) < 20,
        "network": said["network"] == ["apart"] and said["interfaces"] == ["lo"],
        "ipc": said["ipc"] == ["apart"] and said["segments"] == ["0"],
        "uts": said["uts"] == ["desk"],
        "user": said["user"] == [f"1 {bwrap.INSIDE_ID}"],
        "seccomp": said["seccomp"] == ["0000000000000000 0000000000000000 1 2"]
        and all("Operation not permitted" in said[name][0] for name in ("unshare", "mount")),
        "file_size_limit_bytes": int(said["real"][0]) <= HOME_LIMIT and said["sparse"] == ["0"],
        "core_size_limit_bytes": said["core"] == ["0"],
        "filesystem": "wrote" not in said and len(said["full"]) == 3,
        "scratch": all(int(line.split()[1]) * 1024 <= 256 * whole for line in said["full"]),
    }
    record_property("figure", f"{sum(held.values())} of {len(held)} bounds of a session hold from inside")
    assert [name for name, holds in held.items() if not holds] == [], repr(said)
    for name in ("pid", "network", "filesystem", "ipc", "uts", "user", "seccomp", "display_apart"):
        assert enforced[name] is True, name
    assert enforced["nested_user_namespaces"] is False
    assert enforced["file_size_limit_bytes"] == HOME_LIMIT // 512 * 512
    assert (enforced["core_size_limit_bytes"], enforced["capabilities"]) == (0, 0)
    assert enforced["processes_limit"] == desktop.PROCESS_LIMIT
    assert enforced["unprivileged_id"] != 0


@pytest.fixture(params=["cgroup", "otherwise"])
def bounded_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of bounding memory and processes; control groups only where one may make them."""
    if request.param == "otherwise":
        monkeypatch.setattr(cgroup, "available", dict)
    elif {"memory", "pids"} - cgroup.available().keys():
        pytest.skip("no control group may be made here")
    return str(request.param)


EATER = """perl -e 'my $x = ""; vec($x, 60_000_000, 8) = 1; sleep 60'"""


def test_memory_is_bounded_and_the_session_goes_on(
    bounded_by: str, shell: Shell, members: Members, eventually: Eventually, tmp_path: Path
) -> None:
    script = f"for n in 1 2 3 4 5; do {EATER} & done; wait; echo over >over.txt; sleep 60"
    limit = 200 * MEGABYTE
    with shell(script, memory_limit_bytes=limit) as session:
        dog = session._watchdog
        assert eventually(lambda: "memory" in dog.hits or bool(session._apps.memory_kills()), 30)
        assert eventually(lambda: _memory(session) < limit, 10)
        assert session.act(Action(action="key", keys="a"), settle=False).error is None
        end = session.finish(tmp_path / "end.tar.zst")
        enforced = session.enforced
    assert (end.facts.model_extra or {})["limits_hit"] == ["memory"]
    assert enforced["memory"] == ("cgroup" if bounded_by == "cgroup" else "watchdog+rlimit")
    assert enforced["memory_limit_bytes"] == limit


def _memory(session: LocalSession) -> int:
    return sum(processes.memory_bytes(entry) for entry in processes.inside(session._init))


def test_one_process_cannot_outrun_the_watchdog(
    monkeypatch: pytest.MonkeyPatch, shell: Shell, members: Members, eventually: Eventually, tmp_path: Path
) -> None:
    monkeypatch.setattr(cgroup, "available", dict)
    script = """perl -e 'my $x = ""; vec($x, 900_000_000, 8) = 1; print "got it"' >got.txt 2>&1
    mv got.txt done.txt; sleep 60"""
    with shell(script, memory_limit_bytes=200 * MEGABYTE) as session:
        assert eventually((session.home / "done.txt").exists, 30)
        found = members(session.finish(tmp_path / "end.tar.zst").archive)
    assert b"Out of memory" in found["done.txt"]


def test_a_client_cannot_make_the_display_take_all_memory(backend: LocalBackend, tmp_path: Path) -> None:
    with backend.start(tmp_path, SessionSpec()) as session:
        client = xclient._connect(session._x.socket_path, 5)
        answers: list[object] = []
        client.set_error_handler(lambda refused, request: answers.append(refused))
        for _ in range(40):
            pixmap = client.screen().root.create_pixmap(6000, 6000, 24)  # 144 MB each
            pixmap.fill_rectangle(pixmap.create_gc(foreground=0xFFFFFF), 0, 0, 6000, 6000)
            client.sync()
        assert any(isinstance(answer, error.BadAlloc) for answer in answers)
        server = session._display.init_pid
        assert server is not None
        used = sum(processes.memory_bytes(entry) for entry in processes.inside(server))
        assert 100 * MEGABYTE < used < desktop.DISPLAY_MEMORY_BYTES
        assert session.act(Action(action="move", x=5, y=6)).error is None
        client.close()


def test_processes_are_bounded(
    bounded_by: str, shell: Shell, members: Members, eventually: Eventually, tmp_path: Path
) -> None:
    script = """perl -e '
    while ($made < 1000) { $pid = fork; last unless defined $pid; if (!$pid) { sleep 60; exit } $made++ }
    open F, ">made.txt"; print F $made; close F; rename "made.txt", "done.txt"; sleep 60'"""
    with shell(script) as session:
        assert eventually((session.home / "done.txt").exists, 60)
        assert len(processes.inside(session._init)) <= desktop.PROCESS_LIMIT
        end = session.finish(tmp_path / "end.tar.zst")
        enforced = session.enforced
    assert 300 < int(members(end.archive)["done.txt"]) < desktop.PROCESS_LIMIT
    assert enforced["processes"] == ("cgroup+rlimit" if bounded_by == "cgroup" else "rlimit")


def _shares_network(monkeypatch: pytest.MonkeyPatch) -> None:
    real = bwrap.namespaces
    monkeypatch.setattr(bwrap, "namespaces", lambda *a, **b: [*real(*a, **b), "--share-net"])


def _shows_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    real = bwrap.root
    monkeypatch.setattr(bwrap, "root", lambda *a, **b: [*real(*a, **b), "--ro-bind", "/opt", "/opt"])


@pytest.mark.parametrize(
    ("broken", "named"), [(_shares_network, "network"), (_shows_this_machine, "filesystem")]
)
def test_an_episode_is_refused_where_isolation_is_missing(
    backend: LocalBackend,
    broken: Callable[[pytest.MonkeyPatch], None],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken(monkeypatch)
    with pytest.raises(SandboxError, match=f"shares this machine's {named}"):
        backend.start(tmp_path, SessionSpec())
    out = tmp_path / "bench"
    words = ["record", "desk", "--agent", "idle", "--limit", "1", "-j", "1", "-o", str(out)]
    assert run(words) == 4
    assert f"shares this machine's {named}" in capsys.readouterr().err
    assert not list(out.glob("episodes/*/meta.json"))
