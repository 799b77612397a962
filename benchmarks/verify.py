"""How fast end states are verified: the usual loop, two of it at once, and pyrite's isolated forks.

    .venv/bin/python benchmarks/verify.py [--states 200] [--rounds 3]

The end states are those that the suite declares for one spreadsheet task, each in a home with an
application profile beside it, packed as .tar.zst. The usual loop is the one that papers describe:
`zstd -dc | tar -x` into a temporary folder, then a fresh `python verify.py` on odfpy, not isolated.
Every way decides all states in every round; the answers must agree with what is declared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from pyrite import pool
from pyrite.records import SCHEMA_VERSION, Outcome
from pyrite.sandbox import confine, forkserver
from pyrite.store.bench import Bench
from pyrite.suites.suite import load_suite
from pyrite.tasks import archive
from pyrite.tasks.folder import load_folder
from pyrite.tasks.task import INITIAL, Task
from pyrite.truth.verifier import ask
from pyrite.truth.verify import verify

TASK_ID = "calc-set-cell-q3-budget-d14"
PROFILE_BYTES = 45_000
JOBS = 2
ROWS, COLUMNS = 60, 8
PRELOAD = ("pyrite.truth.verify",)

ODFPY = '''
import json
import sys
from odf.opendocument import load
from odf.table import Table, TableCell, TableRow
from odf.text import P


def cells(path):
    """{(sheet, row, column): value} of a spreadsheet."""
    found = {}
    for table in load(path).spreadsheet.getElementsByType(Table):
        row_number = 0
        for row in table.getElementsByType(TableRow):
            column = 0
            for cell in row.getElementsByType(TableCell):
                value = cell.getAttribute("value") or "".join(map(str, cell.getElementsByType(P)))
                repeated = int(cell.getAttribute("numbercolumnsrepeated") or 1)
                if value:
                    for at in range(column, column + repeated):
                        found[table.getAttribute("name"), row_number, at] = value
                column += repeated
            row_number += int(row.getAttribute("numberrowsrepeated") or 1)
    return found


try:
    found = cells(sys.argv[1] + "/Documents/q3_budget.ods")
    passed = float(found.get(("Q3", 13, 3), "nan")) == 4500
except Exception as exc:
    found, passed = {"error": str(exc)}, False
category = None if passed else "F-UNCOMMITTED_OR_WRONGTARGET"
print(json.dumps({"pass": passed, "category": category, "diagnostics": {"cells": len(found)}}))
'''


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--states", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pyrite-benchmark-") as folder:
        _run(Path(folder).resolve(), asked.states, asked.rounds)


def _run(root: Path, states: int, rounds: int) -> None:
    desk = load_suite("desk").task(TASK_ID)
    archives, declared = make_states(desk, root, states)
    script = odfpy_task(desk, root / "task")
    bench = make_bench(root / "bench", archives)
    ways: dict[str, Callable[[], Sequence[bool | None]]] = {
        "zstd | tar, fresh python on odfpy": partial(usual, archives, script, 1),
        "the same, two at once": partial(usual, archives, script, 2),
        "pyrite, isolated forks, desk verifier": partial(ours, desk, archives),
        "pyrite verify, with replay and gt.json": partial(whole, desk, bench, archives),
        "pyrite, isolated forks, the odfpy script": partial(ours, load_folder(script.parent), archives),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    said: dict[str, Sequence[bool | None]] = {}
    for number in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            said[name] = way()
            seconds[name].append(time.perf_counter() - started)
            print(f"round {number + 1}: {name}: {seconds[name][-1]:.1f} s", file=sys.stderr, flush=True)
    serial, pair, forks, all_of_it, forked_odfpy = ways
    if any(list(said[name]) != declared for name in (forks, all_of_it)):
        raise SystemExit("the desk verifier does not say what is declared")
    if not said[serial] == said[pair] == said[forked_odfpy]:
        raise SystemExit("the odfpy script says different things in different processes")
    _table(archives, {name: statistics.median(times) for name, times in seconds.items()}, rounds)
    _limit(script, make_large(root / "large"), states)
    naive = sum(1 for passed, right in zip(said[serial], declared, strict=True) if passed and not right)
    print(f"bad states accepted: odfpy script {naive} of {declared.count(False)}, desk verifier 0")


def _table(archives: list[Path], seconds: dict[str, float], rounds: int) -> None:
    size = sum(path.stat().st_size for path in archives) / len(archives) / 1000
    print(f"{len(archives)} end states of {size:.0f} kB, median of {rounds} rounds, {os.cpu_count()} cores,")
    print(f"load {os.getloadavg()[0]:.1f}; confinement: {'forked' if _forks() else forkserver.unavailable()}")
    serial, pair = list(seconds.values())[:2]
    print(f"{'':42}{'s':>8}{'per second':>12}{'x serial':>10}{'x pair':>8}")
    for name, took in seconds.items():
        rate = len(archives) / took
        print(f"{name:42}{took:8.1f}{rate:12.1f}{serial / took:10.1f}{pair / took:8.1f}")


def _forks() -> bool:
    return forkserver.unavailable() is None


def _limit(script: Path, large: Path, states: int) -> None:
    """How near forks come to what the odfpy check alone costs, with everything imported."""
    with tempfile.TemporaryDirectory() as folder:
        archive.extract(large, Path(folder))
        code = (
            "import contextlib, io, runpy, sys, time\nsys.argv = sys.argv[1:]\ntimes = []\n"
            "for _ in range(9):\n    started = time.process_time()\n"
            "    with contextlib.redirect_stdout(io.StringIO()):\n        runpy.run_path(sys.argv[0])\n"
            "    times.append(time.process_time() - started)\nprint(sorted(times)[4])"
        )
        command = [sys.executable, "-c", code, str(script), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    started = time.perf_counter()
    said = ours(load_folder(script.parent), [large] * states)
    reached = states / (time.perf_counter() - started)
    if set(said) != {True}:
        raise SystemExit("the odfpy script does not accept the large sheet")
    limit = JOBS / float(done.stdout)
    print(
        f"a sheet of {ROWS} x {COLUMNS} cells: the odfpy check alone allows {limit:.0f}/s on {JOBS} cores,"
        f" forked {reached:.0f}/s ({reached / limit:.0%})"
    )


# --- what is verified -----------------------------------------------------------------------------


def make_states(task: Task, root: Path, count: int) -> tuple[list[Path], list[bool | None]]:
    """Archives of the states that the task declares, again and again, and what each is declared."""
    outcomes = {INITIAL: False} | {s.name: s.outcome is Outcome.PASS for s in task.spec.states}
    homes = root / "homes"
    homes.mkdir()
    built = confine.run(task.builder(homes, list(outcomes)), writes=[homes])
    if built.returncode != 0:
        raise SystemExit(built.stderr.decode(errors="replace"))
    profile = random.Random(0).randbytes(PROFILE_BYTES)
    for name in outcomes:
        place = homes / name / ".config" / "libreoffice" / "4" / "user"
        place.mkdir(parents=True, exist_ok=True)
        (place / "registrymodifications.xcu").write_bytes(profile)
        archive.write(homes / name, root / "packed" / f"{name}.tar.zst")
    names = [list(outcomes)[number % len(outcomes)] for number in range(count)]
    return [root / "packed" / f"{name}.tar.zst" for name in names], [outcomes[name] for name in names]


def make_large(root: Path) -> Path:
    """An end state whose sheet has 480 cells, as in the usual figure for odfpy (44 ms a check)."""
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    document = OpenDocumentSpreadsheet()
    table = Table(name="Q3")
    for row in range(ROWS):
        line = TableRow()
        for column in range(COLUMNS):
            value = "4500" if (row, column) == (13, 3) else str(row * COLUMNS + column)
            cell = TableCell(valuetype="float", value=value)
            cell.addElement(P(text=value))
            line.addElement(cell)
        table.addElement(line)
    document.spreadsheet.addElement(table)
    (root / "home" / "Documents").mkdir(parents=True)
    document.save(str(root / "home" / "Documents" / "q3_budget.ods"))
    archive.write(root / "home", root / "large.tar.zst")
    return root / "large.tar.zst"


def odfpy_task(task: Task, folder: Path) -> Path:
    """A folder task whose verifier is the odfpy script; returns the script."""
    folder.mkdir()
    (folder / "verify.py").write_text(ODFPY)
    body = {"instruction": task.spec.instruction, "reads": ["Documents/*.ods"]}
    (folder / "task.json").write_text(json.dumps(body))
    return folder / "verify.py"


def make_bench(root: Path, archives: Sequence[Path]) -> Bench:
    """A bench with an episode an archive."""
    bench = Bench.create(root)
    for number, path in enumerate(archives):
        episode = bench.paths.episode(f"e{number:04}")
        episode.root.mkdir(parents=True)
        os.link(path, episode.final_state)
        episode.actions.write_text('{"step": 1, "action": "done"}\n')
        meta = {
            "schema_version": SCHEMA_VERSION,
            "episode_id": f"e{number:04}",
            "task_id": TASK_ID,
            "source": "scripted",
            "agent": {"name": "benchmark"},
            "n_steps": 1,
            "created_at": "2026-01-01T00:00:00Z",
        }
        episode.meta.write_text(json.dumps(meta))
    return bench


# --- the ways -------------------------------------------------------------------------------------


def usual(archives: Sequence[Path], script: Path, jobs: int) -> list[bool | None]:
    """The usual loop, `jobs` at once."""
    with ThreadPoolExecutor(jobs) as threads:
        return list(threads.map(partial(_usual_one, script), archives))


def _usual_one(script: Path, path: Path) -> bool | None:
    with tempfile.TemporaryDirectory() as folder:
        unpack = f'zstd -dcq "{path}" | tar -x -C "{folder}"'
        subprocess.run(["/bin/sh", "-c", unpack], check=True)
        command = [sys.executable, str(script), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    passed: bool | None = json.loads(done.stdout)["pass"]
    return passed


def ours(task: Task, archives: Sequence[Path]) -> list[bool | None]:
    """Every archive's selected files laid out and verified in a fork of its own."""
    jobs = pool.run(partial(_ours_one, task), list(enumerate(archives)), jobs=JOBS, preload=PRELOAD)
    answers = dict(result for _, result in jobs)
    return [answers[number] for number in range(len(archives))]


def _ours_one(task: Task, item: tuple[int, Path]) -> tuple[int, bool | None]:
    with forkserver.scratch() as folder:
        home = folder / "home"
        home.mkdir()
        archive.extract(item[1], home, reads=task.spec.reads)
        answer = ask(task, home)
    return item[0], _passed(answer.outcome)


def whole(task: Task, bench: Bench, archives: Sequence[Path]) -> list[bool | None]:
    """`pyrite verify`: the known states replayed, every episode decided, gt.json written."""
    ids = [f"e{number:04}" for number in range(len(archives))]
    for episode_id in ids:
        bench.paths.episode(episode_id).truth.unlink(missing_ok=True)
    verify(bench, {TASK_ID: task}.get, jobs=JOBS)
    truths = [bench.truth(episode_id) for episode_id in ids]
    return [None if truth is None else _passed(truth.outcome) for truth in truths]


def _passed(outcome: Outcome) -> bool | None:
    return None if outcome is Outcome.INDETERMINATE else outcome is Outcome.PASS


if __name__ == "__main__":
    main()
