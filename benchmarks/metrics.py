"""How fast figures with cluster resampling are: pandas, scipy, pyrite, and the whole command from a file.

    .venv/bin/python benchmarks/metrics.py [--rows 1000000] [--tasks 10000] [--resamples 2000]

Invented verdicts: each row an episode of a task with its truth and what three judges say of it, judges
that err by task. Every way makes a 95 % percentile interval of five figures of each judge (FPR, FDR,
TPR, inflation, kappa) from the same number of resamples of tasks; the intervals must agree. The pandas
loop, the one that snippets show, puts the rows of the drawn tasks together anew for each resample; it
is timed on a few and extrapolated. Reducing the rows to counts of each task is in every time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from pyrite.metrics.agreement import kappa_of
from pyrite.metrics.judge import cells
from pyrite.metrics.resample import resampled_sums

Array = NDArray[np.float64]
JUDGES = {"alpha": (0.06, 0.55), "beta": (0.10, 0.70), "gamma": (0.16, 0.85)}
"""Judge -> (FPR, TPR) that its verdicts are drawn with, before tasks are made unlike."""
FIGURES = ("FPR", "FDR", "TPR", "inflation", "kappa")
WAYS = ("pandas, groups put together", "scipy.stats.bootstrap on counts", "pyrite")
TOLERANCE = 0.35
"""Of an interval's width: what two sets of resamples may differ by."""


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--pandas", type=int, default=3, help="resamples that the pandas loop really makes")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    columns = invented(asked.rows, asked.tasks)
    print(
        f"{asked.rows:,} episodes of {asked.tasks:,} tasks, {len(JUDGES)} judges, "
        f"{asked.resamples:,} resamples,"
    )
    print(f"median of {asked.rounds} rounds, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    resampling(columns, asked.resamples, asked.pandas, asked.rounds)
    with tempfile.TemporaryDirectory(prefix="pyrite-benchmark-") as folder:
        commands(columns, Path(folder), asked.rounds)


def resampling(columns: dict[str, NDArray[Any]], resamples: int, few: int, rounds: int) -> None:
    """Time the three ways, compare what they say, and print a row for each."""
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    said: dict[str, Array] = {}
    ways: dict[str, Callable[[int], Array]] = {
        WAYS[1]: lambda seed: by_scipy(counted(columns), resamples, seed),
        WAYS[2]: lambda seed: by_pyrite(counted(columns), resamples, seed),
    }
    for number in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            said[name] = way(number)  # a seed of its own: pyrite keeps what it has resampled
            seconds[name].append(time.perf_counter() - started)
            print(f"round {number + 1}: {name}: {seconds[name][-1]:.2f} s", file=sys.stderr, flush=True)
    loop, first = by_pandas(columns, few)
    seconds[WAYS[0]].append(loop * resamples)
    width = said[WAYS[2]][:, 1] - said[WAYS[2]][:, 0]
    apart = np.abs(said[WAYS[1]] - said[WAYS[2]]) / width[:, None]
    if apart.max() > TOLERANCE:
        raise SystemExit(f"scipy and pyrite differ by {apart.max():.2f} of an interval's width")
    outside = np.abs(first - said[WAYS[2]].mean(axis=1)) > 1.5 * width
    if outside.any():
        raise SystemExit("a pandas resample lies far outside of the intervals")
    took = {name: statistics.median(times) for name, times in seconds.items()}
    print(f"{'resampling, counts of each task included':44}{'s':>10}{'pyrite is faster by':>22}")
    for name in WAYS:
        note = f"  from {few}" if name == WAYS[0] else ""
        print(f"{name:44}{took[name]:10.2f}{took[name] / took[WAYS[2]]:21.1f}x{note}")


def commands(columns: dict[str, NDArray[Any]], folder: Path, rounds: int) -> None:
    """Time `pyrite measure` with all its figures on the same rows in a file, and its largest memory."""
    print(f"{'pyrite measure --table, the whole command':44}{'s':>10}{'CPU s':>8}{'MB':>8}{'file, MB':>12}")
    found = {}
    for suffix in ("parquet", "jsonl"):
        path = write(columns, folder / f"verdicts.{suffix}")
        runs = [command(path) for _ in range(rounds)]
        took, busy = statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)
        memory, found[suffix] = max(run[2] for run in runs), runs[0][3]
        size = path.stat().st_size / 1e6
        print(f"from {suffix:39}{took:10.2f}{busy:8.2f}{memory:8.0f}{size:12.1f}")
    if found["parquet"] != found["jsonl"]:
        raise SystemExit("the same rows in two formats give two results")
    for name, judge in found["parquet"]["judges"].items():
        counts = judge["counts"]
        if judge["fpr"]["value"] != counts["fp"] / (counts["fp"] + counts["tn"]):
            raise SystemExit(f"{name}: the FPR is not what its counts say")


# --- the ways


def counted(columns: dict[str, NDArray[Any]]) -> Array:
    """tp, fp, fn, tn of each judge in each task: (tasks, 4 x judges)."""
    passed = columns["truth"].astype(bool)
    found = [cells(passed, columns[name].astype(bool), columns["task"]) for name in JUDGES]
    return np.stack([cell for one in found for cell in (one.tp, one.fp, one.fn, one.tn)], axis=1)


def figures(sums: Array) -> Array:
    """(..., 4 x judges) sums of counts -> (..., judges x figures)."""
    parts = []
    for judge in range(len(JUDGES)):
        tp, fp, fn, tn = (sums[..., 4 * judge + cell] for cell in range(4))
        parts += [fp / (fp + tn), fp / (fp + tp), tp / (tp + fn), (fp - fn) / (tp + fp + fn + tn)]
        parts.append(kappa_of(tp, fp, fn, tn))
    return np.stack(parts, axis=-1)


def by_pyrite(counts: Array, resamples: int, seed: int) -> Array:
    """Intervals from the resampling that `pyrite measure` uses."""
    replicates = figures(resampled_sums(counts, resamples=resamples, seed=seed))
    return np.quantile(replicates, [0.025, 0.975], axis=0).T


def by_scipy(counts: Array, resamples: int, seed: int) -> Array:
    """Intervals from scipy's vectorised paired bootstrap on the same counts."""
    from scipy.stats import bootstrap

    def statistic(*data: Array, axis: int) -> Array:
        sums = np.stack([column.sum(axis=axis) for column in data], axis=-1)
        return np.moveaxis(figures(sums), -1, 0)

    found = bootstrap(
        tuple(counts.T),
        statistic,
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=resamples,
        batch=100,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return np.stack([found.low, found.high], axis=1)


def by_pandas(columns: dict[str, NDArray[Any]], resamples: int) -> tuple[float, Array]:
    """(seconds of one resample, mean of the figures): draw tasks, put their rows together, compute."""
    import pandas  # type: ignore[import-untyped]

    frame = pandas.DataFrame(columns)
    groups = dict(list(frame.groupby("task")))
    names, generator, found, times = np.array(list(groups)), np.random.default_rng(0), [], []
    for _ in range(resamples):
        started = time.perf_counter()
        drawn = generator.choice(names, size=len(names))
        rows = pandas.concat([groups[name] for name in drawn])
        passed, sums = rows["truth"] == 1, []
        for judge in JUDGES:
            accepted = rows[judge] == 1
            sums += [
                (passed & accepted).sum(),
                (~passed & accepted).sum(),
                (passed & ~accepted).sum(),
                (~passed & ~accepted).sum(),
            ]
        found.append(figures(np.array(sums, dtype=np.float64)))
        times.append(time.perf_counter() - started)
    return statistics.median(times), np.mean(found, axis=0)


def command(path: Path) -> tuple[float, float, float, dict[str, Any]]:
    """(seconds, seconds of processors, largest resident MB, result) of one `pyrite measure`."""
    options = ["--truth", "truth", "--cluster", "task", "--verdicts", ",".join(JUDGES), "--json", "--quiet"]
    arguments = [sys.executable, "-m", "pyrite", "measure", "--table", str(path), *options]
    answer = path.with_suffix(".answer.json")
    started = time.perf_counter()
    with answer.open("wb") as handle:
        child = subprocess.Popen(arguments, stdout=handle)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    took = time.perf_counter() - started
    if child.returncode != 0:
        raise SystemExit(f"pyrite measure left with {child.returncode}")
    busy = usage.ru_utime + usage.ru_stime
    return took, busy, usage.ru_maxrss / 1000, json.loads(answer.read_text(encoding="utf-8"))


# --- the rows


def invented(rows: int, tasks: int) -> dict[str, NDArray[Any]]:
    """Truth and verdicts in which the episodes of a task are alike."""
    generator = np.random.default_rng(20_260_101)
    task = generator.integers(0, tasks, size=rows)
    task[: min(rows, tasks)] = np.arange(min(rows, tasks))
    easy = generator.beta(1.0, 1.6, size=tasks)
    truth = generator.random(rows) < easy[task]
    found: dict[str, NDArray[Any]] = {"task": task, "truth": truth.astype(np.int8)}
    for name, (fpr, tpr) in JUDGES.items():
        wrong = generator.beta(fpr * 4, (1 - fpr) * 4, size=tasks)[task]
        right = generator.beta(tpr * 4, (1 - tpr) * 4, size=tasks)[task]
        found[name] = (generator.random(rows) < np.where(truth, right, wrong)).astype(np.int8)
    return found


def write(columns: dict[str, NDArray[Any]], path: Path) -> Path:
    """Lay the rows down as a file that `pyrite measure` reads."""
    kind = "parquet" if path.suffix == ".parquet" else "json"
    names = ", ".join(name for name in columns if name != "task")
    with duckdb.connect() as connection:
        connection.register("verdicts", columns)
        connection.execute(
            f"COPY (SELECT 'task-' || task AS task, {names} FROM verdicts) TO '{path}' (FORMAT {kind})"
        )
    return path


if __name__ == "__main__":
    main()
