"""What a confined program can and cannot do, tried for real."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyrite.errors import InputError, RunError
from pyrite.records import Limits
from pyrite.sandbox import bwrap, cgroup, confine
from pyrite.tasks.task import Program

FOUND, REASON = bwrap.probe()
confined = pytest.mark.skipif(FOUND is None, reason=f"no bubblewrap: {REASON}")


def python(code: str, cwd: Path, **options: object) -> confine.Finished:
    return confine.run(Program((sys.executable, "-c", code), cwd), **options)  # type: ignore[arg-type]


@pytest.fixture(params=["bubblewrap", "none"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of running: with bubblewrap, and as a plain process."""
    if request.param == "none":
        monkeypatch.setattr(bwrap, "probe", lambda: (None, "switched off by a test"))
    elif FOUND is None:
        pytest.skip(f"no bubblewrap: {REASON}")
    return str(request.param)


def test_output_code_and_errors_come_back(either: str, tmp_path: Path) -> None:
    done = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")
    assert not done.timed_out
    assert not done.truncated


def test_signal_is_128_plus_its_number(either: str, tmp_path: Path) -> None:
    assert python("import os; os.kill(os.getpid(), 9)", tmp_path).returncode == 137


def test_environment_is_only_what_was_given(
    either: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYRITE_CANARY", "mouse")
    done = python("import os; print(sorted(os.environ))", tmp_path, env={"GIVEN": "1"})
    names = eval(done.stdout)
    assert "GIVEN" in names
    assert "PYRITE_CANARY" not in names
    expected = {
        "GIVEN",
        "HOME",
        "LANG",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "PATH",
        "PWD",
        "TMPDIR",
        "TZ",
    }
    assert {n for n in names if not n.startswith(("PYTHON", "LC_"))} <= {*expected, "_", "SHLVL", "OLDPWD"}


def test_stdin_is_empty_and_packages_import(either: str, tmp_path: Path) -> None:
    code = "import sys, pyrite.errors, defusedxml; print(repr(sys.stdin.read()))"
    assert python(code, tmp_path).stdout == b"''\n"


def test_time_limit_kills_the_whole_tree(either: str, tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', "
        '\'import time\\nwhile 1: open("beat", "w").close(); time.sleep(0.02)\'])\n'
        "print('here', flush=True); time.sleep(60)"
    )
    start = time.monotonic()
    done = python(code, tmp_path, writes=[tmp_path], limits=Limits(timeout_s=0.7))
    assert time.monotonic() - start < 5
    assert (done.returncode, done.timed_out, done.stdout) == (None, True, b"here\n")
    beat = (tmp_path / "beat").stat().st_mtime_ns
    time.sleep(0.2)
    assert (tmp_path / "beat").stat().st_mtime_ns == beat


def test_child_left_behind_does_not_outlive_the_program(either: str, tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.Popen(['/bin/sleep', '60']); print('bye')"
    start = time.monotonic()
    assert python(code, tmp_path).stdout == b"bye\n"
    assert time.monotonic() - start < 5


def test_flood_is_cut_without_blocking(either: str, tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write('x' * 5_000_000); sys.stderr.write('y' * 5_000_000); print('z')"
    done = python(code, tmp_path, output_limit=1000)
    assert (done.returncode, done.truncated) == (0, True)
    assert (done.stdout, done.stderr) == (b"x" * 1000, b"y" * 1000)


def test_closed_outputs_do_not_end_the_wait(either: str, tmp_path: Path) -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep(0.4); open('late', 'w'); os._exit(5)"
    done = python(code, tmp_path, writes=[tmp_path])
    assert done.returncode == 5
    assert (tmp_path / "late").exists()


def test_memory_limit(either: str, tmp_path: Path) -> None:
    done = python("x = bytearray(600 << 20)", tmp_path, limits=Limits(memory_mb=300))
    assert done.returncode == 1
    assert b"MemoryError" in done.stderr


def test_missing_path_is_an_input_error(either: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such path"):
        python("", tmp_path, reads=[tmp_path / "absent"])


def test_program_that_does_not_exist(either: str, tmp_path: Path) -> None:
    done = confine.run(Program(("/no/such/program",), tmp_path))
    assert done.returncode not in (0, None)


def test_path_with_odd_characters(either: str, tmp_path: Path) -> None:
    folder = tmp_path / 'a "b" \n c'
    folder.mkdir()
    done = python("open('made', 'w').close(); import os; print(os.getcwd())", folder, writes=[folder])
    assert done.returncode == 0, done.stderr
    assert (folder / "made").exists()


@confined
def test_writes_only_where_it_may(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    out.mkdir()
    other.mkdir()
    (other / "kept").write_text("as it was")
    code = f"""
import os
for path in ({str(out)!r}, {str(other)!r}, "/", "/usr", "/etc", "/dev", {sys.prefix!r}):
    try:
        open(os.path.join(path, "made"), "w").close()
        print("wrote", path)
    except OSError:
        pass
try:
    open({str(other / "kept")!r}, "a").write("x")
except OSError:
    print("kept")
"""
    done = python(code, other, writes=[out])
    assert done.stdout.decode().splitlines() == [f"wrote {out}", "kept"], done.stderr
    assert (other / "kept").read_text() == "as it was"
    made = out / "made"
    assert made.stat().st_uid == os.getuid()


@confined
def test_sees_nothing_that_was_not_named(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    theirs.mkdir()
    (theirs / "gold").write_text("4500")
    link = mine / "link"
    link.symlink_to(theirs / "gold")
    code = f"""
import os
print(os.path.exists({str(theirs)!r}), os.path.exists({str(link)!r}), os.path.exists("/etc/shadow"))
print(os.listdir({str(tmp_path)!r}))
print(os.listdir("/proc/self/fd"), [p for p in os.listdir("/proc") if p.isdigit()])
print(os.path.isdir("/sys"), os.listdir("/home") if os.path.isdir("/home") else [])
"""
    lines = python(code, mine).stdout.decode().splitlines()
    assert lines[0] == "False False False"
    assert lines[1] == "['mine']"
    descriptors, processes = eval(lines[2].replace("] [", "], ["))
    assert set(descriptors) <= {"0", "1", "2", "3"}
    assert set(processes) <= {"1", "2", "3"}
    own = [Path(sys.prefix).parts[2]] if sys.prefix.startswith("/home/") else []
    assert lines[3] == f"False {own}", "of /home only what leads to the interpreter"


@confined
def test_inner_write_below_a_read_only_folder(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    code = "open('inner/made', 'w').close()\ntry: open('outer', 'w')\nexcept OSError: print('refused')"
    assert python(code, tmp_path, writes=[inner]).stdout == b"refused\n"
    assert (inner / "made").exists()


@confined
def test_no_network(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import socket
for address in (("127.0.0.1", {port}), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, 1)
        print("connected", address)
    except OSError as exc:
        print("refused")
"""
        assert python(code, tmp_path).stdout == b"refused\nrefused\n"


@confined
def test_cannot_reach_processes_outside_or_make_namespaces(tmp_path: Path) -> None:
    code = f"""
import ctypes, os
try:
    os.kill({os.getpid()}, 0)
    print("signalled")
except ProcessLookupError:
    print("no such process")
print(ctypes.CDLL(None).unshare(0x10000000))
print([l.split()[1] for l in open("/proc/self/status") if l.startswith(("Seccomp:", "NoNewPrivs", "CapEff"))])
"""
    lines = python(code, tmp_path).stdout.decode().splitlines()
    assert lines[:2] == ["no such process", "-1"]
    assert FOUND is not None
    assert eval(lines[2]) == ["0000000000000000", "1", "2" if FOUND.seccomp else "0"]


FORKS = """
import os, time
made = 0
try:
    while made < 20000:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made, flush=True)
os._exit(0)
"""


@confined
def test_fork_bomb_is_bounded(tmp_path: Path) -> None:
    if confine.what_holds()["processes"] == "watched":
        pytest.skip("no control group here and the kernel exempts root from the process limit")
    done = python(FORKS, tmp_path, limits=Limits(timeout_s=20))
    assert 0 < int(done.stdout) < confine.PROCESS_LIMIT


@confined
@pytest.mark.skipif(os.getuid() != 0, reason="the kernel bounds the processes of an ordinary user")
def test_fork_bomb_of_root_without_a_control_group_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "available", dict)
    assert confine.what_holds()["processes"] == "watched"
    done = python(FORKS, tmp_path, limits=Limits(timeout_s=30))
    assert (done.returncode, done.stdout, done.timed_out) == (128 + 9, b"", False)


@confined
def test_many_at_once(tmp_path: Path) -> None:
    def one(number: int) -> bytes:
        return python(f"print({number})", tmp_path).stdout

    with ThreadPoolExecutor(6) as executor:
        assert list(executor.map(one, range(18))) == [f"{n}\n".encode() for n in range(18)]
    assert threading.active_count() < 20


def groups() -> set[Path]:
    """Control groups that this process has made."""
    folders = cgroup.available().values()
    return {group for folder in folders for group in folder.glob(f"pyrite-{os.getpid()}-*")}


@confined
def test_nothing_is_left_open(tmp_path: Path) -> None:
    python("", tmp_path)
    before = len(os.listdir("/proc/self/fd")), groups()
    for _ in range(3):
        python("", tmp_path)
    assert (len(os.listdir("/proc/self/fd")), groups()) == before


@confined
def test_links_to_the_interpreter_are_followed(tmp_path: Path) -> None:
    """The venv's python is a link; what it leads to is bound as well, wherever it lies."""
    code = "import sys, encodings; print(sys.prefix, encodings.__file__.startswith(sys.base_prefix))"
    assert python(code, tmp_path).stdout.decode().strip() == f"{sys.prefix} True"


def test_what_holds_is_honest(either: str) -> None:
    holds = confine.what_holds()
    keys = {"filesystem", "network", "pid", "ipc", "uts", "user", "seccomp", "memory", "processes", "backend"}
    assert keys <= holds.keys()
    if either == "none":
        assert holds["backend"] == "none"
        assert not any(holds[k] for k in ("filesystem", "network", "pid", "ipc", "uts", "user", "seccomp"))
        assert holds["reason"]
        assert "read_episode" in holds["not_prevented"]
    else:
        assert holds["filesystem"] is holds["network"] is holds["pid"] is holds["ipc"] is True
        assert holds["not_prevented"] == ([] if holds["seccomp"] else ["ptrace"])


@pytest.mark.skipif(FOUND is None, reason=f"no bubblewrap: {REASON}")
def test_setup_failure_is_an_error_not_an_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bwrap, "namespaces", lambda *_, **__: ["--ro-bind", "/no/such", "/x"])
    with pytest.raises(RunError, match="could not be set up"):
        python("", tmp_path)
