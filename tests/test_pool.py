"""Work in processes: results, errors, ctrl-C once and twice, SIGTERM, workers that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pyrite import pool
from pyrite.errors import RunError
from pyrite.store.scratch import sweep

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from pyrite import pool

def work(item):
    kind, _, rest = item.partition(":")
    Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["PLACE"], f"began-{os.getpid()}-{item}").touch()
    try:
        if kind == "sleep":
            time.sleep(float(rest))
        return item
    finally:
        print("cleaned", item, flush=True)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for item, result in pool.run(work, sys.argv[2:], jobs=2):
            print("got", result, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


FUNCTIONS = """
import os, signal, time

def square(number):
    return number * number

def boom(number):
    if number == 3:
        raise OSError(28, "No space left on device", "x")
    return number

def die(number):
    os.kill(os.getpid(), signal.SIGKILL)

def leave(number):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)
"""


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that worker processes can import, too."""
    name = f"work_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    return import_module(name)


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_item_gets_its_result(functions: Any, jobs: int) -> None:
    assert dict(pool.run(functions.square, iter(range(20)), jobs=jobs)) == {n: n * n for n in range(20)}


@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_to_do(functions: Any, jobs: int) -> None:
    assert list(pool.run(functions.square, [], jobs=jobs)) == []


def test_at_most_two_items_a_worker_are_taken_ahead(functions: Any) -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = pool.run(functions.square, source(), jobs=2)
    next(results)
    assert len(taken) <= 5
    results.close()  # type: ignore[attr-defined]  # a generator


def test_an_error_comes_after_what_was_in_flight(functions: Any) -> None:
    got: list[int] = []

    def collect() -> None:
        for item, _ in pool.run(functions.boom, range(50), jobs=2):
            got.append(item)

    with pytest.raises(OSError, match="No space left") as caught:
        collect()
    assert caught.value.filename == "x"
    assert got
    assert 3 not in got
    assert len(got) < 49, "no more was handed out"


@pytest.mark.parametrize("name", ["die", "leave"])
def test_a_worker_that_is_killed_is_an_error_of_the_run(functions: Any, name: str) -> None:
    began = time.monotonic()
    with pytest.raises(RunError, match="killed or ran out of memory") as caught:
        list(pool.run(getattr(functions, name), range(8), jobs=2))
    assert caught.value.exit_code == 4
    assert "-j 1" in caught.value.expected
    assert time.monotonic() - began < 10


def test_a_long_temporary_folder_is_not_too_long_for_sockets(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import math\nfrom pyrite import pool\nprint(len(list(pool.run(abs, range(5), jobs=2))))",
        ],
        env={**os.environ, "TMPDIR": str(deep)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("5\n", "")
    assert list(deep.iterdir()) == []


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A TMPDIR with a short name, which is empty at the end."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    yield folder
    assert list(folder.iterdir()) == []
    folder.rmdir()


@pytest.fixture
def started(tmp_path: Path, temporary: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Two sleeping workers, and two more items."""
    program, place = tmp_path / "program.py", tmp_path / "place"
    program.write_text(PROGRAM)
    place.mkdir()
    env = {**os.environ, "PLACE": str(place), "TMPDIR": str(temporary)}
    items = ["sleep:3", "sleep:3.1", "third", "fourth"]
    with subprocess.Popen(
        [sys.executable, str(program), str(place), *items],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    ) as child:
        deadline = time.monotonic() + 20
        while len(list(place.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        yield child, place
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)


def test_ctrl_c_after_the_last_result_is_not_forgotten(functions: Any) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    got: list[int] = []

    def collect() -> None:
        for item, _ in pool.run(functions.square, range(4), jobs=2):
            got.append(item)
            if len(got) == 4:
                signal.raise_signal(signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            collect()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(got) == 4


def test_the_first_ctrl_c_finishes_what_is_in_flight(started: tuple[subprocess.Popen[str], Path]) -> None:
    child, place = started
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert {line for line in out.splitlines() if line.startswith("got")} == {"got sleep:3", "got sleep:3.1"}
    assert out.splitlines()[-1] == "interrupted"
    assert err == "\nfinishing what is in flight; ctrl-C again stops at once\n"
    assert len(list(place.iterdir())) == 2


def test_the_second_ctrl_c_stops_at_once_and_workers_clean_up(
    started: tuple[subprocess.Popen[str], Path],
) -> None:
    child, place = started
    os.killpg(child.pid, signal.SIGINT)
    time.sleep(0.5)
    began = time.monotonic()
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert time.monotonic() - began < 2
    assert out.count("cleaned") == 2, "two workers print at once, so lines may meet"
    assert out.count("sleep:3") == 2
    assert out.count("interrupted") == 1
    assert "Traceback" not in err
    assert len(list(place.iterdir())) == 2


def test_workers_end_with_a_parent_that_is_killed(
    started: tuple[subprocess.Popen[str], Path], temporary: Path
) -> None:
    child, place = started
    pids = [int(path.name.split("-")[1]) for path in place.iterdir()]
    assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    child.kill()
    child.wait()
    deadline = time.monotonic() + 2
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    (left,) = temporary.iterdir()
    assert left.name.startswith(f"pyrite-pool-{child.pid}-")
    sweep(temporary)  # what the next run does


def test_workers_have_the_environment_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("first", "second"):
        monkeypatch.setenv("PYRITE_A_VARIABLE", value)
        found = pool.run(os.getenv, ["PYRITE_A_VARIABLE"] * 2, jobs=2)
        assert [result for _, result in found] == [value] * 2
    monkeypatch.delenv("PYRITE_A_VARIABLE")
    assert [result for _, result in pool.run(os.getenv, ["PYRITE_A_VARIABLE"] * 2, jobs=2)] == [None] * 2
