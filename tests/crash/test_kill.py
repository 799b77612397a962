"""SIGKILL at random moments: the rerun completes, nothing is lost, nothing stands twice."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.crash.conftest import Pyrite, Running, Stages

Figure = Callable[[str, object], None]
WRITES = {
    "verify": "episodes/*/gt.json",
    "pack": "evidence/*/*/evidence.json",
    "judge": "verdicts/*.jsonl",
    "report": "report.*",
}
READS = ("measure",)


def work(bench: Path, verb: str) -> int:
    """How much of a verb's work stands: files, or lines of verdicts."""
    files = list(bench.glob(WRITES[verb])) if verb in WRITES else []
    if verb == "judge":
        return sum(path.read_bytes().count(b"\n") for path in files)
    return len(files)


def at_random(running: Running, bench: Path, verb: str, whole: int, seconds: float, place: float) -> None:
    """Wait for a moment: `place` (0 to 1) of the undisturbed time, or of the work where there are steps.

    Half of the moments are measured in work, so that a busy machine cannot push all of them to one end.
    """
    began = time.monotonic()
    by_work = verb in WRITES and whole > 2 and int(place * 1000) % 2 == 0
    wanted = 1 + int(place * (whole - 1))
    while not running.over:
        if by_work and work(bench, verb) >= wanted:
            return
        if not by_work and time.monotonic() - began >= place * seconds:
            return
        time.sleep(0.002)


def kill_and_rerun(pyrite: Pyrite, stages: Stages, verb: str, kills: int, figure: Figure) -> None:
    seed = 4500 + kills
    print(f"seed {seed}")
    chance = random.Random(seed)
    before, after = stages.before(verb), None
    undisturbed = pyrite.folder / "undisturbed" / "bench"
    if verb in WRITES:
        after = stages.after(verb)
    else:
        shutil.copytree(before, undisturbed)
        began = time.monotonic()
        said = pyrite.run(*stages.arguments(verb, undisturbed))
        stages.seconds[verb] = time.monotonic() - began
        assert said.code in {0, 3}, said.err
        after = before
    wanted, whole = stages.content(after), work(after, verb)
    killed = unfinished = midway = lost = doubled = 0
    for number in range(kills):
        bench = pyrite.folder / f"{number}" / "bench"
        shutil.copytree(before, bench)
        place = (number + chance.random()) / kills
        running = pyrite.start(*stages.arguments(verb, bench))
        at_random(running, bench, verb, whole, stages.seconds[verb], place)
        if running.kill(group=number % 2 == 0):
            killed += 1
            done = work(bench, verb)
            unfinished += done < whole or verb not in WRITES
            midway += 0 < done < whole
        assert running.none_left(), running.left()
        stood = stages.content(bench) if verb == "verify" else {}
        again = pyrite.run(*stages.arguments(verb, bench))
        assert again.code in {0, 3}, again.err
        found = stages.content(bench)
        lost += sum(found.get(name) != wanted[name] for name in wanted)
        lost += sum(found.get(name) != stood[name] for name in stood if name.endswith("gt.json"))
        doubled += stages.doubled(bench) + len(found.keys() - wanted.keys())
        assert found == wanted, sorted(name for name in found if found[name] != wanted.get(name))
        if verb not in WRITES:
            assert again.out.replace(str(bench), "B") == said.out.replace(str(undisturbed), "B")
        shutil.rmtree(bench.parent)
    figure(
        "figure",
        f"crash: {verb} killed {killed} times of {kills}, {unfinished} with work left, {midway} with a part "
        f"of it written: lost {lost}, doubled {doubled} (seed {seed})",
    )
    assert killed
    assert unfinished
    if whole > 2:
        assert midway
    assert not list(pyrite.scratch.glob("pyrite-*")), "the last run removed what killed ones left"


@pytest.mark.parametrize("verb", [*WRITES, *READS])
def test_a_killed_command_goes_on(pyrite: Pyrite, stages: Stages, verb: str, record_property: Figure) -> None:
    kill_and_rerun(pyrite, stages, verb, 5, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("verb", [*WRITES, *READS])
def test_a_killed_command_goes_on_a_hundred_times(
    pyrite: Pyrite, stages: Stages, verb: str, record_property: Figure
) -> None:
    kill_and_rerun(pyrite, stages, verb, 100, record_property)


def test_halves_of_a_killed_command_are_removed(pyrite: Pyrite, stages: Stages) -> None:
    bench = pyrite.folder / "bench"
    shutil.copytree(stages.before("pack"), bench)
    halves = [
        bench / "evidence" / "images" / f".{'0' * 64}.png.1-1.partial",
        bench / "verdicts" / ".x__y.jsonl.1-1.partial",
        bench / ".lock.json.1-1.partial",
    ]
    for half in halves:
        half.parent.mkdir(parents=True, exist_ok=True)
        half.write_text("{")
    foreign = bench / "tasks" / ".mine.partial"
    foreign.parent.mkdir()
    foreign.write_text("not one of ours")
    (bench / ".writing").touch()
    assert pyrite.run(*stages.arguments("pack", bench)).code == 0
    assert not any(half.exists() for half in [*halves, bench / ".writing"])
    assert foreign.exists()


def test_a_killed_verify_leaves_no_folder_behind_for_long(pyrite: Pyrite, stages: Stages) -> None:
    bench = pyrite.folder / "bench"
    shutil.copytree(stages.before("verify"), bench)
    running = pyrite.start(*stages.arguments("verify", bench))
    while not running.over and not work(bench, "verify"):
        time.sleep(0.005)
    assert running.kill(group=True)
    assert running.process.returncode == -signal.SIGKILL
    assert list(pyrite.scratch.glob("pyrite-*")), "the kill came while it was at work"
    assert running.none_left(), running.left()
    assert pyrite.run(*stages.arguments("verify", bench)).code == 0
    assert not list(pyrite.scratch.glob("pyrite-*"))
    left = pyrite.scratch / f"pyrite-verify-{running.process.pid}-1-abcdefgh"
    left.mkdir()
    again = pyrite.run(*stages.arguments("verify", bench))
    assert again.code == 0, again.err
    assert not left.exists(), "removed also where every answer stands"
