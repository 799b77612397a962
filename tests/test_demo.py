"""The shipped demo, end to end, and what it promises."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import odf.opendocument
import odf.table
import odf.teletype
import openpyxl
import pytest
from PIL import Image

from pyrite import flow
from pyrite.cli import run
from pyrite.episodes.shipped import DEMO
from pyrite.errors import UsageError
from pyrite.judges import ocr
from pyrite.judges.orm import SHIPPED_WEIGHTS
from pyrite.records import Category, Meta, Outcome
from pyrite.store.bench import Bench
from pyrite.store.images import open_image, save_webp
from pyrite.store.jsonl import read_json, read_record, write_record
from pyrite.suites.desk.calc_set_cell import PARAMS, Params
from pyrite.tasks import archive

LIMIT_BYTES = 14_000_000
EPISODES = 60
LOOKING = ("screen-rules", "orm-lite@cut=prior")
"""The judges that read the screen."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, dict[str, Any]]:
    """A finished demo; tests that change it take a copy."""
    root = tmp_path_factory.mktemp("demo") / "pyrite-demo"
    assert run(["demo", "-o", str(root), "-q", "--json"]) == 0
    return Bench(root), flow.measure(root)


@pytest.fixture
def copy(ran: tuple[Bench, dict[str, Any]], tmp_path: Path) -> Bench:
    shutil.copytree(ran[0].root, tmp_path / "copy")
    return Bench(tmp_path / "copy")


def demo(bench: Bench, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Run the demo again on a bench and return its document."""
    capsys.readouterr()
    assert run(["demo", "-o", str(bench.root), "-q", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def saved(bench: Bench) -> Meta:
    """A cell of an .ods file that was set to a text, and saved."""
    return next(
        m
        for m in bench.metas()
        if m.task_id in PARAMS
        and PARAMS[m.task_id].path.endswith(".ods")
        and isinstance(PARAMS[m.task_id].value, str)
        and (m.agent.name, m.source) == ("scripted", "scripted")
    )


# --- truth against an independent reading


def cells(path: Path) -> dict[tuple[str, int, int], object]:
    """Every filled cell by odfpy or openpyxl: (sheet, row, column) -> its formula, else its value."""
    found: dict[tuple[str, int, int], object] = {}
    if path.suffix == ".xlsx":
        for sheet in openpyxl.load_workbook(path).worksheets:
            for row in sheet.iter_rows():
                for cell in row:
                    if cell.value is not None:
                        found[sheet.title, cell.row, cell.column or 0] = cell.value
        return found
    for table in odf.opendocument.load(path).spreadsheet.getElementsByType(odf.table.Table):
        for row_number, column, cell in _walk(table):
            number = cell.getAttribute("value")
            value: object = float(number) if number else odf.teletype.extractText(cell)
            value = cell.getAttribute("formula") or value
            if value != "":
                found[table.getAttribute("name"), row_number, column] = value
    return found


def _walk(table: Any) -> Iterator[tuple[int, int, Any]]:
    row_number = 0
    for row in table.getElementsByType(odf.table.TableRow):
        column = 0
        for cell in row.getElementsByType(odf.table.TableCell):
            for _ in range(min(int(cell.getAttribute("numbercolumnsrepeated") or 1), 50)):
                column += 1
                yield row_number + 1, column, cell
        row_number += int(row.getAttribute("numberrowsrepeated") or 1)


def target(params: Params) -> tuple[str, int, int]:
    column, row = params.cell[0], params.cell[1:]
    return params.sheet, int(row), ord(column) - ord("A") + 1


def test_outcomes_of_spreadsheets_agree_with_an_independent_reading(
    ran: tuple[Bench, dict[str, Any]], tmp_path: Path
) -> None:
    bench, _ = ran
    seen = {True: 0, False: 0}
    for meta in bench.metas():
        if (params := PARAMS.get(meta.task_id)) is None:
            continue
        home = tmp_path / meta.episode_id
        home.mkdir()
        archive.extract(bench.paths.episode(meta.episode_id).final_state, home)
        found = cells(home / params.path)
        initial = cells(Path(flow.__file__).parent / "suites/desk/files" / params.file)
        where = target(params)
        same_name = {p.name for p in (home / "Documents").iterdir() if p.suffix == Path(params.file).suffix}
        right = found.get(where) == params.value and same_name == {params.file, params.sibling}
        others = {key: value for key, value in found.items() if key != where}
        right = right and others == {key: value for key, value in initial.items() if key != where}
        truth = bench.truth(meta.episode_id)
        assert truth is not None
        assert truth.passed == right, (meta.episode_id, meta.perturbation, params.path)
        seen[right] += 1
    assert seen[True] >= 2
    assert seen[False] >= 2


def test_of_every_pair_one_passes_and_the_defect_fails(ran: tuple[Bench, dict[str, Any]]) -> None:
    bench, _ = ran
    pairs = [(meta.parent, meta.episode_id) for meta in bench.metas() if meta.parent is not None]
    assert len(pairs) >= 18
    for names in pairs:
        truths = [bench.truth(name) for name in names]
        assert [truth.outcome for truth in truths if truth is not None] == [Outcome.PASS, Outcome.FAIL]


# --- what the demo prints comes from the files


def test_a_changed_cell_changes_what_the_demo_prints(
    copy: Bench, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    meta = saved(copy)
    params = PARAMS[meta.task_id]
    was, now = f">{params.value}<".encode(), b">Rotterdam<"
    before = demo(copy, capsys)["strata"]["scripted"]["truth"]
    state = copy.paths.episode(meta.episode_id).final_state
    home = tmp_path / "home"
    home.mkdir()
    archive.extract(state, home)
    document = home / params.path
    with zipfile.ZipFile(document) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    changed = parts["content.xml"].replace(was, now)
    assert changed != parts["content.xml"]
    with zipfile.ZipFile(document, "w") as package:
        for name, data in {**parts, "content.xml": changed}.items():
            package.writestr(name, data)
    archive.write(home, state)
    after = demo(copy, capsys)["strata"]["scripted"]["truth"]
    assert (after["pass"], after["fail"]) == (before["pass"] - 1, before["fail"] + 1)
    truth = copy.truth(meta.episode_id)
    assert truth is not None
    assert truth.diagnostics["found"] == 'text "Rotterdam"'
    assert len(list(copy.paths.episode(meta.episode_id).root.glob("gt.*.json"))) == 1


def test_a_changed_pixel_without_an_engine_is_missing_never_the_cached_answer(
    copy: Bench,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ocr, "engine", lambda name="rapidocr": None)
    meta = saved(copy)
    without = demo(copy, capsys)["strata"]["scripted"]["conditions"]["E1-final"]["judges"]
    assert [without[name]["counts"]["missing"] for name in LOOKING] == [0, 0]
    last = copy.actions(meta.episode_id)[-1].screen
    assert last is not None
    path = copy.inside(meta.episode_id, last)
    image: Image.Image = open_image(path)
    pixel = image.getpixel((700, 600))
    assert isinstance(pixel, tuple)
    image.putpixel((700, 600), (pixel[0] ^ 1, *pixel[1:]))
    save_webp(image, path)
    judges = demo(copy, capsys)["strata"]["scripted"]["conditions"]["E1-final"]["judges"]
    assert [judges[name]["counts"]["missing"] for name in LOOKING] == [1, 1]
    assert judges["accept-all"]["counts"]["missing"] == 0
    assert "missing: no OCR" in copy.paths.log.read_text(encoding="utf-8")


def test_the_categories_do_not_come_from_who_made_the_episode(copy: Bench) -> None:
    wanted = {m.episode_id: copy.truth(m.episode_id) for m in copy.metas()}
    for meta in list(copy.metas()):
        paths = copy.paths.episode(meta.episode_id)
        blank = meta.model_copy(
            update={
                "source": "natural",
                "perturbation": None,
                "parent": None,
                "agent": meta.agent.model_copy(update={"name": "x"}),
            }
        )
        write_record(paths.meta, blank)
        paths.truth.unlink()
    flow.verify(copy.root)
    kinds = set()
    for episode_id, before in wanted.items():
        after = copy.truth(episode_id)
        assert after is not None
        assert before is not None
        assert (after.outcome, after.category) == (before.outcome, before.category)
        kinds.add(after.category)
    assert kinds == {None, *Category}


def test_a_broken_gold_makes_its_task_indeterminate_and_nothing_else(
    copy: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted = Counter(m.task_id for m in copy.metas() if m.source == "scripted")
    ((task, several),) = scripted.most_common(1)
    folder = copy.paths.tasks / task
    (folder / "states").mkdir(parents=True)
    spec = {
        "instruction": "In Documents/offices.ods set cell B9 to Amsterdam and save the file.",
        "states": [{"name": "good", "kind": "good", "outcome": "pass"}],
    }
    (folder / "task.json").write_text(json.dumps(spec), encoding="utf-8")
    (folder / "verify.py").write_text(
        "import json\nprint(json.dumps({'pass': False, 'category': None, 'diagnostics': {}}))\n",
        encoding="utf-8",
    )
    (folder / "states" / "good.sh").write_text("mkdir -p Documents\n", encoding="utf-8")
    strata = demo(copy, capsys)["strata"]
    outcomes: dict[str, set[tuple[object, ...]]] = {m.task_id: set() for m in copy.metas()}
    for meta in copy.metas():
        truth = copy.truth(meta.episode_id)
        assert truth is not None
        outcomes[meta.task_id].add((truth.outcome, truth.cause, truth.blame))
    assert outcomes.pop(task) == {(Outcome.INDETERMINATE, "gold_failed", "verifier")}
    assert all(outcome != Outcome.INDETERMINATE for seen in outcomes.values() for outcome, _, _ in seen)
    block = strata["scripted"]["truth"]
    everyone = scripted.total()
    assert block["attempted"] == everyone
    assert block["indeterminate"] == several
    assert block["scored"] == block["pass"] + block["fail"] == everyone - several
    assert block["rate"] == pytest.approx(block["pass"] / block["scored"])
    bounds = [block["pass"] / everyone, (block["pass"] + several) / everyone]
    assert block["bounds"] == pytest.approx(bounds)


# --- hostile texts, and what ships


def test_hostile_texts_are_escaped_in_the_report(copy: Bench) -> None:
    message, nasty = "<script>alert(1)</script>", "a\"b'c\n<img src=x>.ods"
    for meta in list(copy.metas()):
        paths, truth = copy.paths.episode(meta.episode_id), copy.truth(meta.episode_id)
        assert truth is not None
        write_record(paths.meta, meta.model_copy(update={"final_message": message}))
        elsewhere = {**truth.diagnostics, "elsewhere": [{"file": nasty, "cells": ["D14"]}]}
        write_record(paths.truth, truth.model_copy(update={"diagnostics": elsewhere}))
    page = flow.report(copy.root, force=True).html.read_text(encoding="utf-8")
    assert message not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<img src=x>" not in page


def test_the_same_inputs_give_the_same_report(copy: Bench) -> None:
    first = flow.report(copy.root, force=True)
    before = (first.json.read_bytes(), first.html.read_bytes())
    second = flow.report(copy.root, force=True)
    assert (second.json.read_bytes(), second.html.read_bytes()) == before


def test_the_first_sentence_says_that_this_is_no_agent_under_test(
    ran: tuple[Bench, dict[str, Any]],
) -> None:
    _, result = ran
    assert result["lead"] == "weakened"
    assert "not of the agent under test" in result["finding"].split(":")[0]


def test_what_ships_is_small_and_has_no_outcome_and_no_name_that_tells(
    ran: tuple[Bench, dict[str, Any]],
) -> None:
    files = [path for path in DEMO.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LIMIT_BYTES
    assert max(path.stat().st_size for path in files) < 1_000_000
    assert not [path for path in files if path.name.startswith("gt.")]
    episodes = list((DEMO / "episodes").iterdir())
    assert len(episodes) == EPISODES
    metas = [read_record(path / "meta.json", Meta) for path in episodes]
    assert all(path.name.startswith("ep_") and len(path.name) == 15 for path in episodes)
    assert {m.source for m in metas} == {"scripted", "perturbed", "weakened"}
    assert len({m.task_id for m in metas}) >= 30
    assert len({m.domain for m in metas}) == 6
    unseen = read_json(SHIPPED_WEIGHTS)["card"]["split"]["held_out"]["families"]
    assert {m.family for m in metas} <= set(unseen), "what ships is not what orm-lite was trained on"
    assert {m.sandbox_image for m in metas if m.sandbox_image}, "recorded on a named image"


def test_end_states_are_trimmed_to_what_the_task_may_read() -> None:
    for path in sorted((DEMO / "episodes").iterdir()):
        assert (path / "final_state.tar.zst").stat().st_size < 100_000


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UsageError, match="something else"):
        flow.demo(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]
