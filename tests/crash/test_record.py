"""A recording that is killed or interrupted: finished episodes stay, nothing runs on, the rest follows."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from pyrite.errors import SandboxError
from pyrite.records import Launch
from pyrite.sandbox import apps, cgroup
from pyrite.sandbox.local import LocalBackend

if TYPE_CHECKING:
    from tests.crash.conftest import Pyrite, Stages

pytestmark = pytest.mark.desktop
TASK = "calc-set-cell-vehicle-costs-e9"
AGENTS = "idle,quitter"
OWN_TIMES = (".lock", "recently-used.xbel")
"""Files of LibreOffice and GTK that hold the time of the day."""


@pytest.fixture(autouse=True)
def _desktop() -> None:
    try:
        wrong = apps.command(Launch(app="calc"))
        if isinstance(wrong, str):
            raise SandboxError(wrong, next="make desktop")
        LocalBackend()
    except SandboxError as exc:
        if os.environ.get("PYRITE_REQUIRE_DESKTOP") == "1":
            raise
        pytest.skip(f"no desktop here: {exc.what} (next: {exc.next})")


def record(bench: Path, *more: str) -> list[str]:
    return ["record", "desk", "--agent", AGENTS, "--only", TASK, "-o", str(bench), "-j", "2", *more]


def recorded(stages: Stages, bench: Path) -> dict[str, Any]:
    """What a bench holds, without times; of an end state the files that hold none."""
    found = stages.content(bench)
    for name in [name for name in found if name.endswith(".tar.zst")]:
        with zstandard.open(bench / name, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            members = {}
            for member in tar:
                data = tar.extractfile(member) if member.isfile() else None
                timed = member.name.endswith(OWN_TIMES) or "/.~lock." in member.name
                members[member.name] = data.read() if data is not None and not timed else member.type
        del found[name]
        found |= {f"{name}: {member}": content for member, content in members.items()}
    return found


def finished(bench: Path) -> set[str]:
    return {path.parent.name for path in bench.glob("episodes/[!.]*/meta.json")}


def groups_left() -> list[str]:
    """Control groups whose maker has ended and in which something still runs."""
    found = []
    for parent in set(cgroup.available().values()):
        for folder in parent.glob("pyrite-*"):
            maker = folder.name.split("-")[1]
            if not Path("/proc", maker).exists() and (folder / "cgroup.procs").read_text().strip():
                found.append(str(folder))
    return found


def eventually(condition: Callable[[], bool], limit_s: float = 15.0) -> bool:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def kill_and_go_on(
    pyrite: Pyrite, stages: Stages, kills: int, rounds: int, figure: Callable[[str, object], None]
) -> None:
    """Kill one recording `kills` times, then let it finish; `rounds` times over, on new benches."""
    seed = 4500 + kills * rounds
    print(f"seed {seed}")
    chance = random.Random(seed)
    undisturbed = pyrite.folder / "undisturbed" / "bench"
    began = time.monotonic()
    assert pyrite.run(*record(undisturbed)).code == 0
    seconds = time.monotonic() - began
    wanted = recorded(stages, undisturbed)
    killed = unfinished = lost = 0
    for turn in range(rounds):
        bench = pyrite.folder / f"{turn}" / "bench"
        for number in range(kills):
            before = finished(bench)
            running = pyrite.start(*record(bench))
            with_group = number % 2 == 0
            time.sleep(seconds * (number + chance.random()) / kills)
            if running.kill(group=with_group):
                killed += 1
                unfinished += len(finished(bench)) < 2
            assert running.none_left(), running.left()
            lost += len(before - finished(bench))
        again = pyrite.run(*record(bench))
        assert again.code == 0, again.err
        found = recorded(stages, bench)
        lost += len(wanted.keys() - found.keys())
        assert sorted(found) == sorted(wanted)
        assert found == wanted, [name for name in found if found[name] != wanted.get(name)]
        assert not list(bench.glob("episodes/.*")), "no half-recorded episode is left"
        assert not list(bench.glob(".*"))
        shutil.rmtree(bench.parent)
    assert eventually(lambda: not groups_left()), groups_left()
    figure(
        "figure",
        f"crash: record killed {killed} times of {kills * rounds}, {unfinished} with work left: lost {lost}, "
        f"doubled 0, processes left 0 (seed {seed})",
    )
    assert killed
    assert unfinished
    assert lost == 0
    assert not list(pyrite.scratch.glob("pyrite-*")), "the last run removed what killed ones left"


def test_a_killed_recording_goes_on(
    pyrite: Pyrite, stages: Stages, record_property: Callable[[str, object], None]
) -> None:
    kill_and_go_on(pyrite, stages, 5, 1, record_property)


@pytest.mark.slow
def test_a_killed_recording_goes_on_a_hundred_times(
    pyrite: Pyrite, stages: Stages, record_property: Callable[[str, object], None]
) -> None:
    kill_and_go_on(pyrite, stages, 20, 5, record_property)


def test_ctrl_c_finishes_what_is_in_flight_and_twice_stops_at_once(pyrite: Pyrite, stages: Stages) -> None:
    bench = pyrite.folder / "bench"
    running = pyrite.start(*record(bench, "--repeats", "3"), sees_sigint=True)
    assert eventually(lambda: len(list(bench.glob("episodes/.*.partial/screens"))) == 2, 60)
    running.signal(signal.SIGINT)
    assert running.wait(120) == 130, running.err
    assert "finishing what is in flight; ctrl-C again stops at once" in running.err
    assert "go on: pyrite record desk" in running.err
    assert "Traceback" not in running.err
    assert len(finished(bench)) == 2, "the two that were being recorded, and no other"
    assert running.none_left(), running.left()

    again = pyrite.start(*record(bench, "--repeats", "3"), sees_sigint=True)
    assert eventually(lambda: len(list(bench.glob("episodes/.*.partial/screens"))) == 2, 60)
    again.signal(signal.SIGINT)
    time.sleep(0.5)
    began = time.monotonic()
    again.signal(signal.SIGINT)
    assert again.wait(60) == 130
    assert time.monotonic() - began < 12
    assert "Traceback" not in again.err
    assert again.none_left(), again.left()
    assert not list(pyrite.scratch.glob("pyrite-*")), "it cleaned up"
    assert not groups_left()


def test_sigterm_stops_at_once_and_the_rest_is_recorded_later(pyrite: Pyrite, stages: Stages) -> None:
    bench = pyrite.folder / "bench"
    running = pyrite.start(*record(bench, "--json"))
    assert eventually(lambda: len(list(bench.glob("episodes/.*.partial/screens"))) == 2, 60)
    running.signal(signal.SIGTERM, group=False)
    assert running.wait(30) == 143, running.err
    assert json.loads(running.out)["error"]["code"] == "interrupted"
    assert "Traceback" not in running.err
    assert running.none_left(), running.left()
    assert not list(pyrite.scratch.glob("pyrite-*")), "it cleaned up"
    assert pyrite.run(*record(bench)).code == 0
    assert len(finished(bench)) == 2
    assert not list(bench.glob("episodes/.*"))
