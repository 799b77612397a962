"""The leak test on a bench: nothing in a clean one, each planted leak by its name."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, PngImagePlugin
from tests.conftest import Episodes

from pyrite.episodes.record import episode_id
from pyrite.errors import UsageError
from pyrite.evidence.conditions import parse_list
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import index, load, pack
from pyrite.records import Outcome, Truth
from pyrite.stages import leak_test as module
from pyrite.stages.leak_test import PLACES, leak_test, undecided
from pyrite.store.bench import Bench
from pyrite.store.jsonl import write_record

TASKS, EACH = 12, 8
PACKED, RECORDED = "packed", "recorded"
Change = Callable[[Bench, str, bool], None]


def passes(n: int) -> bool:
    """Each task has two episodes of each source and outcome."""
    return n // TASKS % 2 == 0


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Twelve tasks with eight episodes each, half of them perturbed and half of them failed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        episodes = Episodes(Bench.create(tmp_path_factory.mktemp("leaks") / "bench"))
        said = ("The task is done.", "I could not do it.", "It may be done.", None)
        drawn = random.Random(5)
        for n in range(TASKS * EACH):
            name = episode_id("leaks", n)
            source = "perturbed" if n // TASKS % 4 < 2 else "scripted"
            done: list[dict[str, Any]] = [{"action": "wait", "seconds": 1.0}, {"action": "done"}]
            episodes.add(
                name,
                done,
                colours=[0, 1, n],
                task_id=f"t{n % TASKS}",
                source=source,
                ended_by="done",
                final_message=drawn.choice(said),
            )
            outcome = Outcome.PASS if passes(n) else Outcome.FAIL
            truth = Truth(episode_id=name, outcome=outcome, passed=passes(n))
            write_record(episodes.bench.paths.episode(name).truth, truth)
        conditions = parse_list("E1-final,E2+claim")
        pack(episodes.bench, conditions, lambda task_id: "Do it.", lambda meta: Secrets())
        yield episodes.bench


def touch(bench: Bench, name: str, passed: bool) -> None:
    for condition in ("E1-final", "E2+claim"):
        entry = index(bench)[name, condition]
        os.utime(bench.paths.package(condition, entry.package_id), (10**9 + passed, 10**9 + passed))


def describe(bench: Bench, name: str, passed: bool) -> None:
    evidence = load(bench, index(bench)[name, "E1-final"])
    path = bench.paths.image(evidence.images[-1])
    told = PngImagePlugin.PngInfo()
    if passed:
        told.add_text("Software", "x")
    with Image.open(path) as image:
        image.load()
    image.save(path, pnginfo=told)


PLANTED: dict[str, tuple[Change, str]] = {
    "times": (touch, "packed: package times tell outcome"),
    "metadata": (describe, "packed: image metadata tell outcome"),
}


@pytest.fixture
def few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what can be told in a moment: the whole of it is a slow test."""
    monkeypatch.setattr(module, "PACKED", ("package times", "image metadata"))
    monkeypatch.setattr(module, "RECORDED", ("screen names",))


@pytest.mark.usefixtures("few_groups")
@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_leak_is_found(what: str, clean: Bench, tmp_path: Path) -> None:
    bench = Bench(Path(shutil.copytree(clean.root, tmp_path / "bench")))
    change, expected = PLANTED[what]
    for meta in bench.metas():
        truth = bench.truth(meta.episode_id)
        assert truth is not None
        change(bench, meta.episode_id, truth.outcome is Outcome.PASS)
    found = leak_test(bench, shuffles=199)
    assert expected in found["leaks"]
    assert not any("source" in leak for leak in found["leaks"]), found["rows"][:2]


@pytest.mark.usefixtures("few_groups")
def test_a_clean_bench_has_constant_times_and_metadata(clean: Bench) -> None:
    found = leak_test(clean, shuffles=9)
    assert found["leaks"] == []
    assert found["undecided"] is None
    assert {row["reason"] for row in found["rows"] if row["place"] == PACKED} == {"constant"}
    assert (found["episodes"], found["tasks"], found["conditions"]) == (96, 12, ["E1-final", "E2+claim"])


@pytest.mark.parametrize(("shuffles", "enough"), [(9, False), (158, False), (159, True), (299, True)])
def test_too_few_shuffles_cannot_show_a_leak(shuffles: int, enough: bool) -> None:
    rows = [{"place": place, "p": 0.5 if n < 8 else None} for place in PLACES for n in range(10)]
    told = undecided(12, shuffles, rows)
    assert told is None if enough else told == f"{shuffles} shuffles, at least 159 are needed to show a leak"


@pytest.mark.usefixtures("few_groups")
def test_too_few_tasks_say_nothing(clean: Bench, tmp_path: Path) -> None:
    bench = Bench(Path(shutil.copytree(clean.root, tmp_path / "bench")))
    kept = sorted({meta.task_id for meta in bench.metas()})[:3]
    for meta in list(bench.metas()):
        if meta.task_id not in kept:
            shutil.rmtree(bench.paths.episode(meta.episode_id).root)
    assert leak_test(bench, shuffles=299)["undecided"] == "3 tasks, at least 10 are needed"


def test_what_is_neither_verified_nor_packed_is_refused(clean: Bench, tmp_path: Path) -> None:
    bench = Bench(Path(shutil.copytree(clean.root, tmp_path / "bench")))
    bench.paths.evidence_index.unlink()
    with pytest.raises(UsageError, match="no episode is both verified and packed"):
        leak_test(bench)


@pytest.mark.slow
def test_every_group_of_a_clean_bench_and_a_message_that_tells(
    clean: Bench, tmp_path: Path, record_property: Any
) -> None:
    found = leak_test(clean)
    record_property(
        "figure", f"leak test on a clean bench: {len(found['leaks'])} of {len(found['rows'])} rows"
    )
    assert found["leaks"] == []
    assert all(row["auc"] is not None or row["reason"] == "constant" for row in found["rows"])
    bench = Bench(Path(shutil.copytree(clean.root, tmp_path / "bench")))
    for meta in list(bench.metas()):
        text = "The task is done." if meta.source == "scripted" else "I could not do it."
        write_record(
            bench.paths.episode(meta.episode_id).meta, meta.model_copy(update={"final_message": text})
        )
    conditions = parse_list("E1-final,E2+claim")
    pack(bench, conditions, lambda task_id: "Do it.", lambda meta: Secrets())
    assert leak_test(bench)["leaks"] == ["packed: message kinds tell source"]
