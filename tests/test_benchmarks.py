"""The benchmarks run, check what they measure, and print what they promise."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pyrite import flow
from pyrite.judges import ocr
from pyrite.sandbox import bwrap

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_verify_compares_the_usual_loop_with_isolated_forks() -> None:
    missing = [name for name in ("zstd", "tar") if shutil.which(name) is None]
    if missing or bwrap.probe()[0] is None:
        pytest.skip(f"not installed: {', '.join(missing) or bwrap.probe()[1]}")
    command = [sys.executable, str(ROOT / "benchmarks" / "verify.py"), "--states", "8", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("8 end states of ")
    assert "confinement: forked" in lines[1]
    rows = {line[:42].strip(): line[42:].split() for line in lines[3:8]}
    serial = rows["zstd | tar, fresh python on odfpy"]
    assert float(serial[2]) == 1.0
    for seconds, rate, *_ in rows.values():
        assert float(seconds) * float(rate) == pytest.approx(8, rel=0.1)
    assert "desk verifier 0" in lines[-1]


@pytest.mark.slow
def test_ocr_compares_the_two_engines(tmp_path: Path) -> None:
    if any(ocr.engine(name) is None for name in ocr.ENGINES):
        pytest.skip("rapidocr, tesserocr or Debian's tesseract-ocr-eng is not installed")
    bench = flow.demo(tmp_path / "bench")
    kept = [meta.episode_id for meta in bench.metas() if meta.task_id.startswith("calc-set-cell")][:3]
    for episode_id in set(bench.episode_ids()) - set(kept):
        shutil.rmtree(bench.paths.episode(episode_id).root)
    command = [sys.executable, str(ROOT / "benchmarks" / "ocr.py"), str(bench.root), "--timed", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [engine.split()[0] for engine in found["engines"]] == list(ocr.ENGINES)
    assert found["time"]["cpu_ratio"] > 1.5
    assert found["text"]["of_them_read_by_tesserocr"] > 0.5
    assert found["text"]["character_agreement"] > 0.5
    assert found["verdicts"]["judged"] == 3
    assert found["verdicts"]["contradictory"] == 0


@pytest.mark.slow
def test_metrics_compares_three_ways_to_resample_and_the_whole_command() -> None:
    for name in ("pandas", "scipy"):
        pytest.importorskip(name)
    sizes = ["--rows", "20000", "--tasks", "400", "--resamples", "500", "--rounds", "1", "--pandas", "2"]
    command = [sys.executable, str(ROOT / "benchmarks" / "metrics.py"), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    rows = {line[:44].strip(): line[44:].split() for line in lines}
    loop, scipy, ours = (
        float(rows[name][0])
        for name in ("pandas, groups put together", "scipy.stats.bootstrap on counts", "pyrite")
    )
    assert loop > 20 * ours
    assert scipy > ours
    for suffix in ("parquet", "jsonl"):
        seconds, _, memory, _ = map(float, rows[f"from {suffix}"])
        assert 0 < seconds < 60
        assert 50 < memory < 1000


@pytest.mark.slow
def test_replay_says_what_share_of_recording_it_is() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "replay.py"), "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 110
    rows = {line[:42].strip(): line[42:].split() for line in lines[2:6]}
    for states, seconds, rate in rows.values():
        assert float(seconds) * float(rate) == pytest.approx(float(states), rel=0.1)
    assert "of it (aim under 10%" in lines[-1]


@pytest.mark.slow
def test_judge_runner_compares_clients_at_two_latencies() -> None:
    for name in ("openai", "inspect_ai"):
        pytest.importorskip(name)
    sizes = ["--calls", "128", "--in-flight", "32", "--long", "640"]
    command = [sys.executable, str(ROOT / "benchmarks" / "judge_runner.py"), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("128 calls of 4 images of 7")
    rows = {line[:30].strip(): line[30:].replace("*", "").split() for line in lines[3:8]}
    assert float(rows["ideal"][0]) == 4.0
    for name in ("pyrite judge, all of it", "pyrite's client alone", "inspect_ai generate"):
        wall, share, rate, *_ = map(float, rows[name])
        assert wall == pytest.approx(4.0 * share, rel=0.05)
        assert wall >= 4.0
        assert rate > 10
    fast, slow = (float(rows[name][3]) for name in ("pyrite's client alone", "a loop over the openai SDK"))
    assert slow > 3 * fast
    assert float(rows["inspect_ai generate"][3]) > 6 * fast
    assert lines[-1].startswith("pyrite judge, 640 calls: ")


@pytest.mark.slow
def test_ten_thousand_episodes_of_twenty_images_stay_under_500_mb() -> None:
    sizes = ["--memory", "10000", "--images", "20"]
    command = [sys.executable, str(ROOT / "benchmarks" / "judge_runner.py"), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(r"(\d+) MB at most", done.stdout)
    assert found is not None
    assert int(found[1]) < 500


@pytest.mark.slow
def test_universal_is_small_and_holds_its_limits(record_property: Callable[[str, str], None]) -> None:
    """300 steps and 12 criteria: little memory, never more requests in flight than are allowed."""
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "universal.py"),
        "--steps",
        "300",
        "--criteria",
        "12",
    ]
    done = subprocess.run(
        [*command, "--in-flight", "8", "--latency", "0.01", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for one in json.loads(done.stdout)["modes"]:
        record_property("figure", f"universal, 300 steps, 12 criteria, {one['mode']}: {one['rss_mb']} MB")
        assert one["rss_mb"] < 500
        assert one["most_in_flight"] <= 8
        assert one["images"] > 300


@pytest.mark.slow
def test_universal_needs_no_more_than_the_released_code() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "universal.py"), "--latency", "0.05", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    strict, thrifty, _ = found["modes"]
    released = found["released"]
    for key in ("calls", "image_mb", "characters", "rss_mb"):
        assert strict[key] <= released[key], key
    assert thrifty["characters"] <= 0.4 * released["characters"]


def test_universal_is_measured_in_all_modes() -> None:
    size = ["--steps", "4", "--criteria", "3", "--latency", "0.01", "--json"]
    command = [sys.executable, str(ROOT / "benchmarks" / "universal.py"), *size]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    strict, economical, unscaled = json.loads(done.stdout)["modes"]
    for one in (strict, economical, unscaled):
        assert one["images"] > 4
        assert one["calls"] >= one["images"] + 10
        assert one["wall_s"] >= one["limit_s"]
    assert economical["image_mb"] < strict["image_mb"]
    assert unscaled["calls"] == strict["calls"]
