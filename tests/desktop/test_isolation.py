"""What an agent with a shell can find, reach and break: nothing of the host, and not its own session."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard
from Xlib.display import Display
from Xlib.ext import xtest

from pyrite.errors import RunError
from pyrite.records import Action, Launch
from pyrite.sandbox import desktop, local, processes, xclient
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.local import LocalBackend, LocalSession

pytestmark = pytest.mark.desktop

Eventually = Callable[[Callable[[], bool], float], bool]

SEARCH = r"""
export LC_ALL=C
pattern='(canary|control)-[0]1b2c3d4'
for folder in /*; do
    [ "$folder" = /proc ] || grep -r -a -s -o -h -E -D skip "$pattern" "$folder" >>found.txt
done
control=control-0; export CONTROL="${control}1b2c3d4"
sleep 5 & sleep 0.2
for name in environ cmdline mountinfo maps comm; do
    cat /proc/[0-9]*/$name 2>/dev/null | grep -a -o -E "$pattern" >>found.txt
done
{ echo shadow; cat /etc/shadow; ls /home /root /sys /usr/local; } >listed.txt 2>&1
{ cat /proc/net/dev; cat /proc/net/route; } >network.txt 2>&1
mv found.txt done.txt
"""


@contextmanager
def shell(backend: LocalBackend, home: Path, script: str, **limits: int) -> Iterator[LocalSession]:
    """A session in which an xterm runs a script."""
    (home / "script.sh").write_text(script)
    (home / "control.txt").write_text("control-01b2c3d4")
    with backend.start(home, SessionSpec(**limits)) as session:  # type: ignore[arg-type]
        command = ("-e", "sh", "script.sh")
        assert session.act(Action(action="launch", app="xterm", args=command), settle=False).error is None
        yield session


def members(archive: Path) -> dict[str, bytes]:
    out = {}
    with zstandard.open(archive, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            out[member.name] = content.read() if content else b""
    return out


def test_no_canary_is_found_from_inside(
    backend: LocalBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    canary = "canary-0" + "1b2c3d4"
    monkeypatch.setenv("PYRITE_CANARY", canary)
    os.environ["PYRITE_CANARY"] = canary
    bench = tmp_path / canary / "episodes"
    bench.mkdir(parents=True)
    (bench / "gt.json").write_text(canary)
    home = tmp_path / "home"
    home.mkdir()
    with tempfile.NamedTemporaryFile(dir=Path.home(), prefix=canary) as planted:
        planted.write(canary.encode())
        planted.flush()
        with shell(backend, home, SEARCH) as session:
            assert eventually((session.home / "done.txt").exists, 120)
            found = members(session.finish(tmp_path / "end.tar.zst").archive)
    hits = re.findall(r"(?:canary|control)-01b2c3d4", found["done.txt"].decode())
    assert "control-01b2c3d4" in hits
    assert len(hits) >= 2, "the search sees neither its own file nor its own environment"
    assert canary not in hits
    listed = found["listed.txt"].decode()
    assert re.search(r"/etc/shadow: No such file", listed), listed
    assert "root:" not in listed
    assert re.findall(r"^ *(\w+):", found["network.txt"].decode(), re.M) == ["lo"]


def test_killing_everything_does_not_end_the_session(
    backend: LocalBackend, tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with shell(backend, home, "echo before >kept.txt; rm -f /tmp/.X11-unix/*; kill -9 -1") as session:
        assert eventually((session.home / "kept.txt").exists, 20)
        assert eventually(lambda: not processes.inside(session._init), 20)
        assert session.act(Action(action="key", keys="Return")).error is None
        assert session.screenshot().screen.size == (1024, 768)
        monkeypatch.setattr(local, "LAUNCH_LIMIT_S", 1.0)  # no window manager is left to list a window
        session.act(Action(action="launch", app="xterm", args=("-e", "sh", "-c", "echo again >again.txt")))
        assert eventually((session.home / "again.txt").exists, 10)
        end = session.finish(tmp_path / "end.tar.zst")
    assert members(end.archive)["kept.txt"] == b"before\n"
    assert end.facts.unsaved is None


def test_filling_the_home_is_bounded_and_recorded(
    backend: LocalBackend, tmp_path: Path, eventually: Eventually
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    script = "i=0; while :; do i=$((i+1)); head -c 5000000 /dev/zero >big$i; sleep 0.05; done"
    with shell(backend, home, script, home_limit_bytes=60_000_000) as session:
        assert eventually(lambda: "home" in session._watchdog.hits, 30)
        assert eventually(lambda: not session.runs("xterm"), 10)
        end = session.finish(tmp_path / "end.tar.zst")
    assert end.facts.model_extra == {"limits_hit": ["home"]}
    assert end.archive.stat().st_size < 5_000_000


def test_busy_screen_times_out_and_says_so(
    backend: LocalBackend, tmp_path: Path, eventually: Eventually
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with shell(backend, home, "while :; do date +%N; done", settle_limit_s=1) as session:
        assert eventually(lambda: bool(session._x.managed()), 10)
        assert session.screenshot().timed_out
        end = session.finish(tmp_path / "end.tar.zst")
    assert "xterm" in {Path(p.exe).name for p in end.facts.processes}


def test_input_goes_through_while_a_client_holds_the_display(
    backend: LocalBackend, tmp_path: Path, eventually: Eventually
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with shell(backend, home, 'read line; echo "$line" >typed.txt; sleep 60') as session:
        assert eventually(lambda: bool(session._x.managed()), 10)
        assert session.screenshot().error is None
        greedy: Display = xclient._connect(session._x.socket_path, 5)
        xtest.grab_control(greedy, False)
        greedy.grab_server()
        greedy.sync()
        assert session.act(Action(action="move", x=5, y=6)).error is None
        greedy.ungrab_server()
        greedy.sync()
        session._x.close()  # a client may also disconnect ours: the next call connects again
        assert session.act(Action(action="type", text="añ€\n")).error is None
        greedy.close()
        end = session.finish(tmp_path / "end.tar.zst")
    assert members(end.archive)["typed.txt"].decode() == "añ€\n"


def test_bad_actions_are_answers_not_crashes(backend: LocalBackend, tmp_path: Path) -> None:
    wrong = [
        Action(action="hack"),
        Action(action="click"),
        Action(action="click", x=5000, y=1),
        Action(action="key", keys="ctrl+nosuchkey"),
        Action(action="key", keys=""),
        Action(action="type", text="\x00"),
        Action(action="type", text="x" * 100_000),
        Action(action="scroll"),
        Action(action="launch", app="rm", args=("-rf", "/")),
        Action(action="launch", app="xterm", args=("a\nb",)),
        Action(action="goto", url="http://example.org"),
        Action(action="wait", seconds=1e9),
    ]
    with backend.start(tmp_path, SessionSpec()) as session:
        for action in wrong:
            assert session.act(action, settle=False).error, action
        for action in (
            Action(action="done"),
            Action(action="scroll", x=5, y=5, dy=3),
            Action(action="wait", seconds=0),
        ):
            assert session.act(action, settle=False).error is None
        root = session.home.parent
        assert session.enforced["network"] is True
        assert session.image
    assert not root.exists()
    session.close()


def test_time_limit_stops_acting(backend: LocalBackend, tmp_path: Path) -> None:
    with backend.start(tmp_path, SessionSpec(time_limit_s=0.0)) as session:
        seen = session.act(Action(action="move", x=1, y=1), settle=False)
        assert seen.timed_out
        assert "time limit" in str(seen.error)
        session.finish(tmp_path / "end.tar.zst")


def test_nothing_is_left_after_a_failed_start(backend: LocalBackend, tmp_path: Path) -> None:
    base = desktop._reachable_temporary_folder()
    before = set(base.glob("pyrite-desk-*"))
    with pytest.raises(Exception, match="unknown application"):
        backend.start(tmp_path, SessionSpec(open=Launch(app="nothing")))
    assert set(base.glob("pyrite-desk-*")) <= before


KILLED = """
import sys, time
from pathlib import Path
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.local import LocalBackend
session = LocalBackend().start(Path(sys.argv[1]), SessionSpec())
print(session.home.parent, session._init, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_pyrite(
    backend: LocalBackend, tmp_path: Path, eventually: Eventually, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        folder, init = process.stdout.readline().split()
        assert Path(os.fsdecode(folder)).is_dir()
        process.send_signal(number)
    assert eventually(lambda: not Path("/proc", os.fsdecode(init)).exists(), 10)
    os.utime(folder, (1, 1))
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(desktop, "_STALE_S", -1.0)
        desktop._sweep(Path(os.fsdecode(folder)).parent)
    assert not Path(os.fsdecode(folder)).exists()


def test_archive_that_cannot_be_written_is_an_error_of_the_run(backend: LocalBackend, tmp_path: Path) -> None:
    with backend.start(tmp_path, SessionSpec()) as session:
        with pytest.raises(RunError, match="not written"):
            session.finish(tmp_path / "absent" / "end.tar.zst")
        root = session.home.parent
    assert not root.exists()
