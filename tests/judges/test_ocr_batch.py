"""Screens of a bench read beforehand: in worker processes, resumable, with the reason where one fails."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from pyrite import flow
from pyrite.cli import run
from pyrite.evidence import packing
from pyrite.judges import ocr, runner
from pyrite.judges.base import Unavailable
from pyrite.judges.labels import make
from pyrite.judges.ocr import batch
from pyrite.judges.ocr.batch import Screen
from pyrite.judges.shortcuts import AcceptAll
from pyrite.records import VerdictLine
from pyrite.store.images import open_image, pixels_sha256, save_png
from pyrite.store.jsonl import read_lines
from pyrite.suites.desk.calc_set_cell import PARAMS

SCREENS = Path(__file__).resolve().parent / "screens"
needs_engine = pytest.mark.skipif(
    ocr.engine("tesserocr") is None, reason="tesserocr or Debian's tesseract-ocr-eng is not installed"
)


class Said:
    """A watch that keeps what it is told."""

    total: int | None = None

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.items = 0

    def tick(self, text: str = "", *, items: int = 1) -> None:
        self.texts.append(text)
        self.items += items


class Undecided(AcceptAll):
    """Answers anew every time."""

    deterministic = False


def screens(*names: str) -> list[Screen]:
    paths = [SCREENS / f"{name}.webp" for name in names]
    return [Screen("tesserocr", pixels_sha256(open_image(path)), path) for path in paths]


@needs_engine
def test_screens_are_read_once_by_several_processes(own_cache: Path) -> None:
    wanted = screens("dense", "quit", "nogrid")
    said = Said()
    first = batch.read_all([*wanted, wanted[0]], workers=2, watch=said)
    assert (first.read, first.kept, first.failed) == (3, 0, {})
    assert said.texts[-1] == "tesserocr has read 3 of 3 screens"
    assert said.items == 0, "they are a part of another stage"
    assert len(list(own_cache.glob("tesserocr-*/*.screen.json"))) == 3
    (own_cache / next(own_cache.glob("*/*.json")).relative_to(own_cache)).unlink()
    again = batch.read_all(wanted, workers=1)
    assert (again.read, again.kept) == (1, 2)
    reading = ocr.read_screen(open_image(wanted[0].path), engine="tesserocr")
    assert any("q3_budget" in box.text for box in reading.boxes)


@needs_engine
def test_what_cannot_be_read_is_named_and_costs_no_other(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.webp"
    broken.write_bytes(b"RIFF no image")
    image = Image.new("RGB", (30, 30), "white")
    save_png(image, tmp_path / "other.png")
    monkeypatch.setattr(ocr, "_FAILED", {})
    (good,) = screens("quit")
    bad = Screen("tesserocr", "0" * 64, broken)
    done = batch.read_all([bad, good], workers=1)
    assert done.read == 1
    assert done.failed["0" * 64].startswith("not an image")
    assert own_cache.is_dir()
    ocr.note_failure(pixels_sha256(image), "tesserocr", "missing: it was ended by SIGABRT")
    with pytest.raises(Unavailable, match="SIGABRT"):
        ocr.read_screen(image, engine="tesserocr")
    assert ocr.read_screen(image, engine="tesserocr", cache=False).boxes == ()


@pytest.mark.usefixtures("no_engine")
def test_without_the_engine_nothing_is_read_and_what_is_recorded_counts() -> None:
    dense = SCREENS / "dense.webp"
    known = Screen("rapidocr", pixels_sha256(open_image(dense)), dense)
    done = batch.read_all([known, *screens("dense")])
    assert (done.read, done.kept, done.failed) == (0, 1, {})


def test_a_judge_names_what_it_will_read(tmp_path: Path) -> None:
    bench = flow.demo(tmp_path / "bench")
    flow.pack(bench.root, conditions="E1-final,E3-full")
    entries = list(packing.index(bench).values())
    judge = make("screen-rules@ocr=tesserocr").judge
    assert batch.reads(judge)
    found = batch.to_read(bench, judge, entries)
    assert {screen.engine for screen in found} == {"tesserocr"}
    assert len({screen.key for screen in found}) == len(found) > 0
    assert all(screen.path.is_file() for screen in found)
    last = {packing.load(bench, entry).images[-1] for entry in entries if entry.condition == "E1-final"}
    assert {screen.key for screen in found} & last
    assert not batch.reads(make("accept-all").judge)


@needs_engine
def test_judging_reads_beforehand_and_names_the_engine_in_every_line(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr, "shipped_file", lambda: tmp_path / "nothing ships")
    bench = flow.demo(tmp_path / "bench")
    spreadsheets = [meta.episode_id for meta in bench.metas() if meta.task_id in PARAMS][:4]
    for name in set(bench.episode_ids()) - set(spreadsheets):
        shutil.rmtree(bench.paths.episode(name).root)
    asked: list[int] = []
    real = batch.read_all

    def counted(wanted: list[Screen], **options: object) -> batch.Batch:
        asked.append(len(wanted))
        return real(wanted, workers=1)

    monkeypatch.setattr(batch, "read_all", counted)
    label = "screen-rules@ocr=tesserocr"
    flow.judge(bench.root, labels=label, conditions="E1-final")
    assert asked == [len(list(own_cache.glob("*/*.screen.json")))]
    lines = list(read_lines(bench.paths.verdict_file(label, "E1-final"), VerdictLine))
    assert len(lines) == 4
    assert all(line.usage["ocr"]["engine"].startswith("tesserocr ") for line in lines if line.usage)
    assert any(line.usage for line in lines)
    flow.judge(bench.root, labels=label, conditions="E1-final")
    assert asked[1:] == [0], "what is answered is not read again"


def test_jobs_of_judge_are_the_processes_that_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = flow.demo(tmp_path / "bench")
    for meta in list(bench.metas())[2:]:
        shutil.rmtree(bench.paths.episode(meta.episode_id).root)
    asked: list[object] = []

    def noted(wanted: list[Screen], **options: object) -> batch.Batch:
        asked.append((len(wanted) > 0, options["workers"]))
        return batch.Batch()

    monkeypatch.setattr(batch, "read_all", noted)
    command = ["judge", str(bench.root), "--condition", "E1-final", "--quiet", "--force", "--judge"]
    assert run([*command, "screen-rules", "-j", "3"]) == 0
    assert run([*command, "accept-all"]) == 0
    assert asked == [(True, 3), (False, None)]


def test_an_episode_that_lacks_a_run_is_still_to_be_asked_about(tmp_path: Path) -> None:
    bench = flow.demo(tmp_path / "bench")
    labelled = make("accept-all")
    flow.judge(bench.root, labels="accept-all", conditions="E1-final")
    entries = list(packing.index(bench).values())
    assert runner.unanswered(bench, labelled, entries) == []
    assert runner.unanswered(bench, labelled, entries, runs=2) == [], "it answers the same every time"
    other = replace(labelled, judge=Undecided())
    assert runner.unanswered(bench, other, entries, runs=1) == []
    assert runner.unanswered(bench, other, entries, runs=2) == entries
