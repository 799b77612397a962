"""Temporary folders go away, also those of processes that were killed; others' are left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrite.store.scratch import claim, in_memory, require_room, scratch, sweep

HOLDS = """
import sys, time
from pyrite.store.scratch import claim
claimed = claim("test")
(claimed.root / "deep").mkdir()
print(claimed.root, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True, env=env) as child:
        assert child.stdout is not None
        yield child, Path(child.stdout.readline().strip())
        child.kill()


def test_a_folder_is_there_and_then_gone(tmp_path: Path) -> None:
    with scratch("some") as folder:
        assert folder.parent == tmp_path
        (folder / "shut").mkdir(mode=0o000)
        with scratch("", folder) as inner:
            assert inner.parent == folder
        assert not inner.exists()
    assert list(tmp_path.iterdir()) == []


def test_it_is_gone_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x"), scratch("some"):
        raise ValueError("x")
    assert list(tmp_path.iterdir()) == []


def test_what_a_living_process_holds_stays_and_what_a_killed_one_left_goes(
    tmp_path: Path, holder: tuple[subprocess.Popen[str], Path]
) -> None:
    child, folder = holder
    with scratch("mine") as mine:
        sweep(tmp_path)
        assert mine.is_dir()
        assert folder.is_dir()
        child.kill()
        assert child.stdout is not None
        child.stdout.read()  # ended, and not waited for: a zombie
        while not Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].startswith(" Z"):
            time.sleep(0.01)
        sweep(tmp_path)
        assert mine.is_dir()
        assert not folder.exists()


def test_another_process_with_the_same_number_does_not_keep_it(tmp_path: Path) -> None:
    left = tmp_path / f"pyrite-test-{os.getpid()}-1-abcd1234"
    ours = claim("test")
    left.mkdir()
    sweep(tmp_path)
    assert not left.exists()
    assert ours.root.is_dir()
    ours.close()
    ours.close()


def test_the_next_claim_sweeps(tmp_path: Path) -> None:
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    left = tmp_path / f"pyrite-pool-{int(gone.stdout)}-abcd1234"
    left.mkdir()
    claim("test").close()
    assert not left.exists()


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "pyrite-demo").mkdir()
    (tmp_path / "pyrite-test-999999999-1-abcd1234").symlink_to(target)
    (tmp_path / "pyrite-test-999999999-2-abcd1234").write_text("a file")
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_of_other_users_only_the_one_that_sandboxes_run_under(tmp_path: Path) -> None:
    for number, owner in enumerate((12345, 59_900)):
        left = tmp_path / f"pyrite-test-999999999-{number}-abcd1234"
        left.mkdir()
        os.chown(left, owner, owner)
    sweep(tmp_path, 59_900)
    assert [path.stat().st_uid for path in tmp_path.iterdir()] == [12345]


def test_no_room_is_an_error_of_the_disk(tmp_path: Path) -> None:
    require_room(tmp_path)
    with pytest.raises(OSError, match="No space left on device"):
        require_room(tmp_path, 1 << 60)


def test_files_lie_in_memory_only_where_there_is_room_and_nobody_chose_a_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    found = in_memory(0)
    if found is not None:  # a system may have none
        kinds = [line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()]
        assert str(found) == "/dev/shm"
        assert "tmpfs" in kinds
    assert in_memory(1 << 60) is None
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    assert in_memory(0) is None
