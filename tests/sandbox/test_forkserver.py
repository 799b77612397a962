"""Forked programs: the same answers as processes of their own, and nothing that stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pyrite.errors import InputError
from pyrite.records import Limits
from pyrite.sandbox import bwrap, cgroup, confine, forkserver
from pyrite.tasks.folder import _imported
from pyrite.tasks.task import Program

FOUND, REASON = bwrap.probe()
pytestmark = pytest.mark.skipif(FOUND is None, reason=f"no bubblewrap: {REASON}")
LIMITS = Limits(timeout_s=3.0, memory_mb=512)


class Scripts:
    """Runs a script as a folder task's verify.py is run, in both ways."""

    def __init__(self, task: Path, home: Path) -> None:
        self.task = task
        self.home = home

    def program(self, code: str) -> Program:
        script = self.task / "verify.py"
        script.write_text(textwrap.dedent(code))
        return Program(
            (sys.executable, str(script), str(self.home)), self.task, (self.home,), _imported(script)
        )

    def fork(self, code: str, **options: object) -> confine.Finished:
        done = forkserver.run(self.program(code), **{"limits": LIMITS, **options})  # type: ignore[arg-type]
        assert done.forked, forkserver.unavailable()
        return done

    def fresh(self, code: str, **options: object) -> confine.Finished:
        return confine.run(self.program(code), **{"limits": LIMITS, **options})  # type: ignore[arg-type]


@pytest.fixture
def scripts(tmp_path: Path) -> Iterator[Scripts]:
    task = (tmp_path / "task").resolve()
    task.mkdir()
    with forkserver.scratch() as folder:
        home = folder / "home"
        home.mkdir()
        (home / "note.txt").write_text("4500")
        yield Scripts(task, home)


SAME = {
    "answer": "print('{\"pass\": true}')",
    "argv and name": "import sys; print(__name__, __file__, sys.argv, sys.path[0], sys.stdin.read() == '')",
    "where": "import os; print(os.getcwd(), sorted(os.listdir('.')), sorted(os.listdir('/')))",
    "environment": "import os; print(sorted((k, v) for k, v in os.environ.items() if k not in {'PWD', '_'}))",
    "home": "import os, sys; print(os.listdir(sys.argv[1]), os.listdir(os.path.dirname(sys.argv[1])))",
    "writes to the home": "import sys; open(sys.argv[1] + '/note.txt', 'w')",
    "makes a file in the home": "import sys; open(sys.argv[1] + '/new', 'w')",
    "writes to the task": "open('x', 'w')",
    "writes to /tmp": "open('/tmp/x', 'w').write('y'); print(open('/tmp/x').read())",
    "crash": "1 / 0",
    "crash in a function": "def f():\n    raise KeyError('x')\nf()",
    "does not parse": "def f(:",
    "imports what is not there": "import nothing_of_that_name",
    "sys.exit": "import sys; sys.exit()",
    "sys.exit 3": "import sys; print(1); sys.exit(3)",
    "sys.exit text": "import sys; sys.exit('no')",
    "sys.exit -1": "import sys; sys.exit(-1)",
    "os._exit": "import os; print('lost'); os._exit(0)",
    "os._exit 7": "import os; os._exit(7)",
    "killed": "import os; os.kill(os.getpid(), 9)",
    "terminated": "import os; os.kill(os.getpid(), 15)",
    "aborted": "import os; os.abort()",
    "interrupted": "import os, time; os.kill(os.getpid(), 2); time.sleep(1)",
    "kills process 1": "import os; os.kill(1, 9); os.kill(1, 2); print('alive')",
    "two objects": "print('{\"pass\": true}'); print('{\"pass\": false}')",
    "garbage": "import sys; sys.stdout.buffer.write(bytes(range(256)) * 10)",
    "1 MB": "print('x' * (1 << 20))",
    "5 MB on both": "import sys; sys.stderr.write('y' * (5 << 20)); print('x' * (5 << 20))",
    "recursion": "def f(): f()\nf()",
    "deep but right": "def f(n): return n and f(n - 1)\nprint(f(900))",
    "memory": "x = bytearray(2 << 30)",
    "large file": "f = open('/tmp/x', 'wb')\nfor _ in range(400): f.write(bytes(1 << 20))",
    "file left open": "out = open(1, 'w', closefd=False); out.write('late')",
    "at exit": "import atexit; atexit.register(print, 'bye'); print('hello')",
    "thread": "import threading; threading.Timer(0.05, print, ('late',)).start(); print('first')",
    "leftover child": "import os, time\nif os.fork() == 0:\n    time.sleep(60)\nprint('done')",
    "child that goes on printing": (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'while 1: print(1)'], stdout=2)\n"
        "print('done')"
    ),
    "runs itself": (
        "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(6)'],"
        " capture_output=True, check=True).stdout)"
    ),
    "exec": "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'print(5)'])",
    "closes stdout": "import sys; sys.stdout.close()",
    "socket": (
        "import socket\ntry:\n    socket.create_connection(('192.0.2.1', 80), 1)\n"
        "except OSError as exc:\n    print(exc)"
    ),
    "loopback": (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "c = socket.create_connection(s.getsockname()); print(bool(c))"
    ),
    "unshare": (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.unshare(0x10000000), ctypes.get_errno())\n"
        "print(libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None), ctypes.get_errno())\n"
        "print(libc.ptrace(16, 1, 0, 0), ctypes.get_errno())"
    ),
    "status": (
        "print([l.split() for l in open('/proc/self/status') if l.split(':')[0] in"
        " {'Uid', 'Gid', 'CapEff', 'CapPrm', 'CapInh', 'CapBnd', 'NoNewPrivs', 'Seccomp'}])"
    ),
    "limits": (
        "import resource as r; print([r.getrlimit(n) for n in"
        " (r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_CORE, r.RLIMIT_FSIZE)])"
    ),
    "descriptors": "import os; print(sorted(os.listdir('/proc/self/fd'))[:3])",
    "host": "import os; print(os.uname().nodename, os.getuid(), os.path.exists('/etc/shadow'))",
    "process 1": "open('/proc/1/mem', 'r+b')",
}


@pytest.mark.parametrize("name", SAME)
def test_same_as_a_process_of_its_own(name: str, scripts: Scripts) -> None:
    forked, fresh = scripts.fork(SAME[name]), scripts.fresh(SAME[name])
    seen = [(d.returncode, d.stdout, d.timed_out, d.truncated) for d in (forked, fresh)]
    assert seen[0] == seen[1], (forked.stderr, fresh.stderr)
    if name != "child that goes on printing":
        assert _stable(forked.stderr) == _stable(fresh.stderr)


def _stable(stderr: bytes) -> bytes:
    """Error text without the lines that count how deep a stack was, and process 1's own path."""
    lines = stderr.replace(b"\r", b"").splitlines()
    return b"\n".join(line for line in lines if b"repeated" not in line)[-2000:]


# --- nothing stays behind ---------------------------------------------------------------------------

LEAVES = """
import json, multiprocessing.shared_memory, os, socket, subprocess, sys, time, urllib.parse, resource
json.dumps = lambda *a, **k: "forged"
urllib.parse.quote = None
sys.path.insert(0, "/tmp")
os.environ["LEFT"] = "1"
for folder in ("/tmp", "/dev/shm", "/run"):
    with open(folder + "/left", "w") as file:
        file.write("left")
    os.symlink("/etc/passwd", folder + "/link")
if os.fork() == 0:
    os.setsid()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\\0left")
    listener.listen()
    time.sleep(600)
time.sleep(0.1)
import ctypes
queue = ctypes.CDLL(None).msgget(4711, 0o1600)
for pid in (os.getppid(), 1):
    try:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3))
    except OSError as exc:
        print("prlimit", exc)
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("oom_score_adj", "comm", "coredump_filter"):
        try:
            if int(pid) != os.getpid() and pid != os.readlink("/proc/self"):
                open(f"/proc/{pid}/{name}", "w").write("7")
        except OSError:
            pass
print("queue", queue >= 0)
"""

LOOKS = """
import ctypes, json, os, socket, sys, urllib.parse
with_proc = [p for p in os.listdir("/proc") if p.isdigit()]
try:
    socket.socket(socket.AF_UNIX).connect("\\0left")
    reached = True
except OSError:
    reached = False
import resource
print(json.dumps({
    "files": [[name for name in os.listdir(folder) if not name.startswith("pyrite-verify-")]
              for folder in ("/dev/shm", "/run")] + [os.path.exists("/tmp/left")],
    "patched": urllib.parse.quote is None, "path": "/tmp" in sys.path, "env": os.environ.get("LEFT"),
    "socket": reached, "queue": ctypes.CDLL(None).msgget(4711, 0) >= 0,
    "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 3,
    "sleepers": sum(b"sleep" in open(f"/proc/{p}/cmdline", "rb").read() for p in with_proc
                    if os.access(f"/proc/{p}/cmdline", os.R_OK)),
}))
"""


def test_what_one_leaves_the_next_does_not_see(scripts: Scripts) -> None:
    imports = ("json", "urllib.parse", "os", "sys", "socket")  # one server for both
    for code in (LOOKS, LEAVES, LOOKS):
        program = scripts.program(code)
        program = Program(program.argv, program.cwd, program.reads, imports)
        done = forkserver.run(program, limits=LIMITS)
        assert done.forked
        assert done.returncode == 0, done.stderr
        if code is LEAVES:
            assert b"queue True" in done.stdout  # it did leave one
            continue
        assert json.loads(done.stdout) == {
            "files": [[], [], False],
            "patched": False,
            "path": False,
            "env": None,
            "socket": False,
            "queue": False,
            "open_files": True,
            "sleepers": 0,
        }


def test_another_home_is_not_there(scripts: Scripts) -> None:
    with forkserver.scratch() as other:
        (other / "secret").write_text("x")
        code = f"import os; print(os.path.exists({str(other)!r}), os.listdir({str(other.parent)!r}))"
        assert scripts.fork(code).stdout.decode().split()[0] == "False"
        assert len(scripts.fork(code).stdout.decode().split()) == 2  # its own folder alone


def test_no_process_is_left(scripts: Scripts) -> None:
    marker = f"marker-{os.getpid()}"
    code = f"""
        import subprocess, sys
        for _ in range(5):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)", {marker!r}],
                             start_new_session=True)
        print("started")
    """
    assert scripts.fork(code).stdout == b"started\n"
    commands = b"".join(_commands())
    assert marker.encode() not in commands


def _commands() -> Iterator[bytes]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield (entry / "cmdline").read_bytes()


# --- limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(60)",
        "while True: pass",
        "import os, signal, time; os.kill(os.getpid(), signal.SIGSTOP)",
        "import signal, time\nfor n in set(signal.Signals) - {9, 19}:\n    signal.signal(n, signal.SIG_IGN)\n"
        "time.sleep(60)",
        "import os\nwhile True:\n    os.write(1, bytes(1 << 16))",
    ],
    ids=["sleeps", "spins", "stops", "ignores", "floods"],
)
def test_time_is_limited(code: str, scripts: Scripts) -> None:
    started = time.monotonic()
    done = scripts.fork(code, limits=Limits(timeout_s=0.5, memory_mb=512))
    assert (done.timed_out, done.returncode) == (True, None)
    assert time.monotonic() - started < 8
    assert len(done.stdout) <= 1 << 20
    assert scripts.fork("print(1)").stdout == b"1\n"


def test_a_fork_bomb_ends_with_its_program(scripts: Scripts) -> None:
    code = "import os\ntry:\n    while True: os.fork()\nexcept OSError:\n    pass"
    scripts.fork(code, limits=Limits(timeout_s=2.0, memory_mb=512))
    assert scripts.fork("print(1)", limits=Limits(timeout_s=20.0, memory_mb=512)).stdout == b"1\n"


def test_memory_of_all_its_processes_is_limited(scripts: Scripts) -> None:
    code = """
        import os
        for _ in range(4):
            if os.fork() == 0:
                x = bytearray(b"x" * (200 << 20))
                os._exit(0)
        print(sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(4)))
    """
    done = forkserver.run(scripts.program(code), limits=Limits(timeout_s=20.0, memory_mb=300))
    if "memory" in cgroup.available():
        assert done.stdout != b"[0, 0, 0, 0]\n"
    assert scripts.fork("print(1)", limits=Limits(timeout_s=20.0, memory_mb=300)).stdout == b"1\n"


# --- where it cannot be had -------------------------------------------------------------------------


def test_without_bubblewrap_it_is_a_plain_process(scripts: Scripts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bwrap, "probe", lambda: (None, "switched off by a test"))
    done = forkserver.run(scripts.program("print(2)"), limits=LIMITS)
    assert (done.stdout, done.forked) == (b"2\n", False)
    assert forkserver.unavailable() == "switched off by a test"


def test_where_nested_namespaces_are_refused(scripts: Scripts, monkeypatch: pytest.MonkeyPatch) -> None:
    """bubblewrap's own switch makes the kernel refuse them, as it is set up on some systems."""
    real = replace

    def strict(found: bwrap.Bubblewrap, **changes: object) -> bwrap.Bubblewrap:
        return real(found, **{**changes, "disable_userns": found.disable_userns})

    if FOUND is not None and not FOUND.disable_userns:
        pytest.skip("this bubblewrap cannot refuse them")
    monkeypatch.setattr(forkserver, "_STATE", forkserver._State())
    monkeypatch.setattr("pyrite.sandbox.forkserver.replace", strict)
    with forkserver.scratch() as folder:
        (folder / "home").mkdir()
        other = Scripts(scripts.task, folder / "home")
        done = forkserver.run(other.program("print(3)"), limits=LIMITS)
        assert (done.stdout, done.forked) == (b"3\n", False)
        expected = "this system refuses nested namespaces (clone: No space left on device)"
        assert forkserver.unavailable() == expected
    forkserver.close()


def test_a_home_elsewhere_gets_a_process_of_its_own_kind(scripts: Scripts, tmp_path: Path) -> None:
    home = tmp_path.resolve() / "elsewhere"
    home.mkdir()
    program = Scripts(scripts.task, home).program("import os, sys; print(os.path.isdir(sys.argv[1]))")
    assert forkserver.run(program, limits=LIMITS).stdout == b"True\n"


def test_a_path_that_is_not_there_is_an_error(scripts: Scripts) -> None:
    with pytest.raises(InputError):
        forkserver.run(scripts.program("print(1)"), reads=[scripts.home / "none"])


def test_a_module_beside_the_script_wins_as_ever(scripts: Scripts) -> None:
    (scripts.task / "json.py").write_text("dumps = lambda x: 'own'")
    done = forkserver.run(scripts.program("import json; print(json.dumps(1))"), limits=LIMITS)
    assert (done.stdout, done.forked) == (b"own\n", False)
    (scripts.task / "json.py").unlink()


def test_a_helper_beside_the_script_is_read_anew(scripts: Scripts) -> None:
    for text in ("one", "three"):
        (scripts.task / "helper_of_task.py").write_text(f"said = {text!r}")
        assert (
            scripts.fork("import helper_of_task; print(helper_of_task.said)").stdout.decode() == f"{text}\n"
        )


def test_a_server_that_was_killed_is_replaced(scripts: Scripts) -> None:
    assert scripts.fork("print(1)").stdout == b"1\n"
    for server in forkserver._of_this_thread()._servers.values():
        server._sandbox.kill()
    assert scripts.fork("print(1)").stdout == b"1\n"


def test_a_program_that_is_not_pythons_is_run_as_it_is(scripts: Scripts) -> None:
    program = Program(("/bin/echo", "hello"), scripts.task, (scripts.home,), ())
    done = forkserver.run(program, limits=LIMITS)
    assert (done.stdout, done.forked) == (b"hello\n", False)


def test_threads_have_servers_of_their_own(scripts: Scripts) -> None:
    found: list[bytes] = []

    def work() -> None:
        with forkserver.scratch() as folder:
            (folder / "home").mkdir()
            program = Program((sys.executable, "-c", ""), scripts.task, (folder / "home",), ())
            script = Program((sys.executable, str(scripts.task / "verify.py")), *_rest(program))
            found.append(forkserver.run(script, limits=LIMITS).stdout)

    scripts.program("print(8)")
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [b"8\n"] * 3
    more = threading.Thread(target=work)
    more.start()
    more.join()
    assert sum(thread.is_over() for thread in forkserver._STATE.threads) == 1  # those before are put away


def _rest(program: Program) -> tuple[Path, tuple[Path, ...], tuple[str, ...] | None]:
    return program.cwd, program.reads, program.imports


def test_few_servers_are_kept(scripts: Scripts) -> None:
    for name in ("csv", "html", "zipfile", "wave"):
        assert scripts.fork(f"import {name}; print({name}.__name__)").stdout.decode() == f"{name}\n"
    assert len(forkserver._of_this_thread()._servers) <= forkserver.SERVERS


def test_everything_is_gone_at_the_end_of_a_process(scripts: Scripts, tmp_path: Path) -> None:
    scripts.program("print(9)")
    code = f"""
import sys
from dataclasses import replace
from pathlib import Path
from pyrite.sandbox import forkserver
from pyrite.tasks.task import Program
with forkserver.scratch() as folder:
    (folder / "home").mkdir()
    task = Path({str(scripts.task)!r})
    done = forkserver.run(Program((sys.executable, str(task / "verify.py")), task, (folder / "home",), ()))
    print(done.forked, done.stdout)
"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True b'9\\n'\n", "")
    assert not list(tmp_path.glob("pyrite-verify-*"))
