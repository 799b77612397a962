"""What a session survives: processes killed, a full home, a busy screen, a held display, bad actions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from Xlib.display import Display
from Xlib.ext import xtest

from pyrite.errors import RunError
from pyrite.records import Action, Launch
from pyrite.sandbox import desktop, local, processes, xclient
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.local import LocalBackend, LocalSession
from pyrite.store import scratch

pytestmark = pytest.mark.desktop

Eventually = Callable[[Callable[[], bool], float], bool]
Shell = Callable[..., AbstractContextManager[LocalSession]]
Members = Callable[[Path], dict[str, bytes]]


def test_killing_everything_does_not_end_the_session(
    shell: Shell, members: Members, tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shell("echo before >kept.txt; rm -f /tmp/.X11-unix/*; kill -9 -1") as session:
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
    shell: Shell, members: Members, tmp_path: Path, eventually: Eventually
) -> None:
    script = "i=0; while :; do i=$((i+1)); head -c 5000000 /dev/zero >big$i; sleep 0.05; done"
    with shell(script, home_limit_bytes=60_000_000) as session:
        assert eventually(lambda: "home" in session._watchdog.hits, 30)
        assert eventually(lambda: not session.runs("xterm"), 10)
        end = session.finish(tmp_path / "end.tar.zst")
    assert end.facts.model_extra == {"limits_hit": ["home"]}
    assert end.archive.stat().st_size < 5_000_000


def test_busy_screen_times_out_and_says_so(
    shell: Shell, members: Members, tmp_path: Path, eventually: Eventually
) -> None:
    with shell("while :; do date +%N; done", settle_limit_s=1) as session:
        assert eventually(lambda: bool(session._x.managed()), 10)
        assert session.screenshot().timed_out
        end = session.finish(tmp_path / "end.tar.zst")
    assert "xterm" in {Path(p.exe).name for p in end.facts.processes}


def test_input_goes_through_while_a_client_holds_the_display(
    shell: Shell, members: Members, tmp_path: Path, eventually: Eventually
) -> None:
    with shell('read line; echo "$line" >typed.txt; sleep 60') as session:
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
    scratch.sweep(Path(os.fsdecode(folder)).parent, desktop.unprivileged_id())
    assert not Path(os.fsdecode(folder)).exists()


def test_archive_that_cannot_be_written_is_an_error_of_the_run(backend: LocalBackend, tmp_path: Path) -> None:
    with backend.start(tmp_path, SessionSpec()) as session:
        with pytest.raises(RunError, match="not written"):
            session.finish(tmp_path / "absent" / "end.tar.zst")
        root = session.home.parent
    assert not root.exists()
