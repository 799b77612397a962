"""A full disk and one that cannot be written to: exit 4, nothing is broken, the same command goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.crash.conftest import Pyrite, Stages

PAGE = 4096


@dataclass
class Disk:
    """A tmpfs of a namespace of its own; `enter` is the command that runs another in there."""

    place: Path
    """Where it lies, in the namespace."""
    seen: Path
    """Where it lies, from here."""
    enter: tuple[str, ...]

    def fill(self, pages: int) -> None:
        """Leave room for so many pages."""
        filler = self.seen / "filler"
        with filler.open("wb", buffering=0) as handle:
            try:
                while True:
                    handle.write(bytes(PAGE))
            except OSError:
                size = handle.tell()
        os.truncate(filler, size - pages * PAGE)

    def clear(self) -> None:
        (self.seen / "filler").unlink()

    def remount(self, options: str) -> None:
        command = [*self.enter, "mount", "-o", f"remount,{options}", str(self.place)]
        subprocess.run(command, check=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Disk]]:
    """Makes small disks."""
    holders: list[subprocess.Popen[bytes]] = []
    root = os.getuid() == 0

    def make(size: str) -> Disk:
        place = tmp_path / f"disk{len(holders)}"
        place.mkdir()
        script = f"mount -t tmpfs -o size={size} tmpfs '{place}' && echo ready && exec sleep 3600"
        holder = subprocess.Popen(
            ["unshare", "-m" if root else "-rm", "sh", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        holders.append(holder)
        assert holder.stdout is not None
        assert holder.stderr is not None
        if holder.stdout.readline() != b"ready\n":
            pytest.skip(f"no file system can be mounted here: {holder.stderr.read().decode().strip()}")
        user = () if root else ("-U", "--preserve-credentials")
        enter = ("nsenter", "-t", str(holder.pid), *user, "-m", "--")
        return Disk(place, Path(f"/proc/{holder.pid}/root{place}"), enter)

    yield make
    for holder in holders:
        holder.kill()
        holder.communicate()


@pytest.mark.parametrize("verb", ["verify", "pack", "judge", "report"])
def test_a_full_disk_is_exit_4_and_the_same_command_goes_on(
    pyrite: Pyrite, stages: Stages, mount: Callable[[str], Disk], verb: str
) -> None:
    disk = mount("16m")
    bench = disk.place / "bench"
    shutil.copytree(stages.before(verb), disk.seen / "bench")
    before = stages.content(disk.seen / "bench")
    for pages in (0, 3):
        disk.fill(pages)
        full = pyrite.run(*stages.arguments(verb, bench), within=disk.enter)
        disk.clear()
        assert full.code == 4, full.err
        assert "No space left on device" in full.err
        assert f"error: {bench}" in full.err, "it says where"
        assert f"next: pyrite {verb} {bench}" in full.err
        assert "Traceback" not in full.err
        found = stages.content(disk.seen / "bench")
        for content in (found, before):  # who is asked is noted before anybody is
            content["lock.json"] = {
                k: v for k, v in content["lock.json"].items() if not k.startswith("judge")
            }
        assert {name: found[name] for name in before if not name.endswith("index.jsonl")} == {
            name: before[name] for name in before if not name.endswith("index.jsonl")
        }
    again = pyrite.run(*stages.arguments(verb, bench), within=disk.enter)
    assert again.code in {0, 3}, again.err
    assert stages.content(disk.seen / "bench") == stages.content(stages.after(verb))
    assert stages.doubled(disk.seen / "bench") == 0


def test_a_full_temporary_folder_is_exit_4_and_no_outcome(
    pyrite: Pyrite, stages: Stages, mount: Callable[[str], Disk]
) -> None:
    disk = mount("4m")
    bench = pyrite.folder / "bench"
    shutil.copytree(stages.before("verify"), bench)
    disk.fill(4)
    full = pyrite.run(*stages.arguments("verify", bench), within=disk.enter, env={"TMPDIR": str(disk.place)})
    assert full.code == 4, (full.out, full.err)
    assert "No space left on device" in full.err
    assert "next: pyrite verify" in full.err
    assert not list(bench.glob("episodes/*/gt.json"))
    assert pyrite.run(*stages.arguments("verify", bench)).code == 0
    assert stages.content(bench) == stages.content(stages.after("verify"))


@pytest.mark.parametrize("verb", ["verify", "pack", "judge", "report", "manifest", "label"])
def test_a_disk_that_cannot_be_written_to_is_exit_4(
    pyrite: Pyrite, stages: Stages, mount: Callable[[str], Disk], verb: str
) -> None:
    disk = mount("16m")
    bench = disk.place / "bench"
    shutil.copytree(stages.before(verb), disk.seen / "bench")
    disk.remount("ro")
    before = stages.content(disk.seen / "bench")
    words = stages.arguments(verb, bench)
    if verb == "label":
        episode = next((disk.seen / "bench" / "episodes").iterdir()).name
        words = ["label", str(bench / "episodes" / episode), "--outcome", "fail", "--annotator", "ana"]
    failed = pyrite.run(*words, within=disk.enter)
    assert failed.code == 4, failed.err
    assert "Read-only file system" in failed.err
    assert f"error: {bench}" in failed.err
    assert f"next: pyrite {verb}" in failed.err
    assert "Traceback" not in failed.err
    assert stages.content(disk.seen / "bench") == before


def test_reading_needs_no_disk_that_can_be_written_to(
    pyrite: Pyrite, stages: Stages, mount: Callable[[str], Disk]
) -> None:
    disk = mount("16m")
    shutil.copytree(stages.after("report"), disk.seen / "bench")
    bench = disk.place / "bench"
    assert pyrite.run("manifest", bench, within=disk.enter).code == 0
    disk.remount("ro")
    for words in (
        ["measure", bench],
        ["outcomes", bench],
        ["list", "episodes", bench],
        ["manifest", bench, "--check"],
        ["verify", bench],
        ["pack", bench],
        ["judge", bench, "--judge", "accept-all", "--dry-run"],
    ):
        done = pyrite.run(*words, within=disk.enter)
        assert done.code in {0, 3}, (words, done.err)
        assert done.out
