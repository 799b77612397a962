from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from pyrite.judges import ocr
from pyrite.judges.base import Package, Unavailable
from pyrite.judges.ocr import Box
from pyrite.judges.screen_rules import ScreenRules, decide
from pyrite.judges.screen_rules.grid import Pixels, find_grid, number_bands
from pyrite.judges.screen_rules.window import find_dialog
from pyrite.records import Evidence, Verdict
from pyrite.store.images import open_image

SCREENS = Path(__file__).resolve().parent / "screens"
CASES = [json.loads(line) for line in (SCREENS / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
BUDGET = "In budget.ods set D14 to 1950 and save"


# --- real screens, recorded readings


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['screen']}: {case['instruction']}")
def test_real_screens_by_their_recorded_readings(case: dict[str, str]) -> None:
    reply = decide(case["instruction"], open_image(SCREENS / f"{case['screen']}.webp"))
    assert reply.verdict == case["verdict"], reply.reason
    assert "recorded reading by rapidocr" in reply.reason


@pytest.mark.usefixtures("no_engine")
def test_a_changed_pixel_in_the_cell_is_missing_and_never_the_old_answer() -> None:
    image = open_image(SCREENS / "dense.webp")
    image.putpixel((300, 300), (1, 2, 3))
    with pytest.raises(Unavailable, match="missing: no OCR"):
        decide("In q3_budget.xlsx set D14 to 4500 and save", image)


# --- reference screens, the engine itself


@pytest.fixture(scope="module")
def engine_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if ocr.engine() is None:
        pytest.skip("the ocr extra is not installed")
    return tmp_path_factory.mktemp("readings")


@pytest.mark.parametrize(
    ("screen", "instruction", "verdict", "says"),
    [
        ("calc-gtk3-1-saved", BUDGET, "success", 'D14 shows "1950"'),
        ("calc-gtk3-1-saved", "In budget.ods set D14 to 1951 and save", "failure", "not"),
        (
            "calc-gtk3-1-saved",
            "In budget.ods, sheet Q2, set D14 to 1950 and save",
            "failure",
            'sheet is "Q3"',
        ),
        ("calc-gtk3-2-not-saved", BUDGET, "success", 'D14 shows "1950"'),
        ("calc-gtk3-3-wrong-cell-D15", BUDGET, "failure", "D14 is empty"),
        ("calc-gtk3-4-saved-as-copy", BUDGET, "failure", '"budget-copy.ods", not budget.ods'),
        ("calc-gtk3-5-keep-format-dialog", "In sales.xlsx set A1 to 77 and save", "failure", "a dialog"),
        ("calc-gtk3-6-stale-lock-dialog", BUDGET, "failure", "a dialog"),
        ("hazard-window-mapped-but-not-painted", BUDGET, "uncertain", "no grid"),
        ("calc-gen-vcl-fixed-coordinate-missed", BUDGET, "failure", "D14 is empty"),
        ("calc-gen-vcl-fixed-coordinate-missed", "In budget.ods set A2 to 1950.", "success", "A2 shows"),
        ("mousepad-unsaved-star-in-title", BUDGET, "uncertain", "no window title"),
    ],
)
def test_reference_screens(
    screen: str,
    instruction: str,
    verdict: str,
    says: str,
    engine_cache: Path,
    reference_screens: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(engine_cache))
    reply = decide(instruction, open_image(reference_screens / f"{screen}.png"))
    assert (reply.verdict, says in reply.reason) == (verdict, True), reply.reason


# --- the judge


@pytest.mark.usefixtures("no_engine")
def test_the_judge_looks_at_the_last_image_and_the_instruction_alone() -> None:
    judge = ScreenRules()
    evidence = Evidence(
        package_id="p",
        condition="E3-full",
        instruction="In q3_budget.xlsx, sheet Q3, set cell D14 to 4500 and save the file.",
        images=("nogrid", "dense"),
        final_message="I failed.",
    )
    reply = asyncio.run(judge.judge(Package(evidence, lambda key: SCREENS / f"{key}.webp"), 1))
    assert reply.verdict is Verdict.SUCCESS
    assert reply.status == "ok"
    assert judge.deterministic
    assert judge.supports("E2+claim")
    assert judge.config()["ocr"] == "recorded readings of rapidocr"
    assert len(judge.config()["rules_sha256"]) == 64


def test_no_screen_is_uncertain() -> None:
    evidence = Evidence(package_id="p", condition="E1-final", instruction=BUDGET)
    reply = asyncio.run(ScreenRules().judge(Package(evidence, Path), 1))
    assert reply.verdict is Verdict.UNCERTAIN


@pytest.mark.usefixtures("no_engine")
def test_an_instruction_of_another_kind_needs_no_ocr() -> None:
    reply = decide("Book a flight to Oslo.", Image.new("RGB", (10, 10)))
    assert reply.verdict is Verdict.UNCERTAIN


# --- geometry on drawn grids


def drawn(
    columns: list[tuple[str, int]], rows: list[tuple[str, int]], *, missed: Collection[str] = ()
) -> tuple[Pixels, list[Box]]:
    """A grid with the given labels and sizes, and its labels as boxes, save for those that OCR missed."""
    left, top = 40, 60
    width, height = left + sum(w for _, w in columns) + 30, top + sum(h for _, h in rows) + 30
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, top - 18, width, top), fill=(246, 245, 244))
    draw.rectangle((0, top, left, height), fill=(246, 245, 244))
    boxes = []
    x, y = left, top
    draw.line((x, top - 18, x, height), fill=(146, 149, 149))
    draw.line((0, y, width, y), fill=(146, 149, 149))
    for label, size in columns:
        if label not in missed:
            boxes.append(Box(x + size // 2 - 5, top - 15, x + size // 2 + 5, top - 3, label, 0.9))
        x += size
        draw.line((x, top - 18, x, height), fill=(146, 149, 149))
    for label, size in rows:
        if label not in missed:
            boxes.append(Box(12, y + size // 2 - 6, 28, y + size // 2 + 6, label, 0.9))
        y += size
        draw.line((0, y, width, y), fill=(146, 149, 149))
    return np.asarray(image), boxes


ROWS = [(str(number), 18) for number in range(1, 12)]


def test_missed_letters_and_numbers_are_filled_in_from_their_neighbours() -> None:
    columns = [(letter, 70) for letter in "FGHIJKL"]
    grid = find_grid(*drawn(columns, ROWS, missed={"I", "J", "1", "7"}))
    assert grid is not None
    assert [band.number for band in grid.columns] == [6, 7, 8, 9, 10, 11, 12]
    assert [band.number for band in grid.rows] == list(range(1, 12))
    column, row = grid.column(10), grid.row(7)
    assert (column, row) == (4, 6)
    assert (grid.columns[4].start, grid.columns[4].end) == (40 + 4 * 70 + 1, 40 + 5 * 70)
    assert (grid.rows[6].start, grid.rows[6].end) == (60 + 6 * 18 + 1, 60 + 7 * 18)


def test_wide_narrow_and_far_columns_have_their_own_borders() -> None:
    columns = [("Y", 30), ("Z", 200), ("AA", 64), ("AB", 90), ("AC", 64)]
    grid = find_grid(*drawn(columns, ROWS))
    assert grid is not None
    assert [band.number for band in grid.columns] == [25, 26, 27, 28, 29]
    assert [band.end - band.start for band in grid.columns] == [29, 199, 63, 89, 63]


def test_a_column_that_is_hidden_or_scrolled_out_is_not_in_view() -> None:
    grid = find_grid(*drawn([(letter, 70) for letter in "ACDEF"], [(str(n), 18) for n in range(40, 52)]))
    assert grid is not None
    assert grid.column(1) == 0
    assert grid.column(2) is None
    assert grid.row(39) is None
    assert grid.row(52) is None


def test_no_labels_no_grid() -> None:
    pixels, boxes = drawn([(letter, 70) for letter in "ABCDE"], ROWS)
    assert find_grid(pixels, []) is None
    assert find_grid(pixels, [box for box in boxes if box.text.isdigit()]) is None
    assert find_grid(pixels, [box for box in boxes if box.text.isalpha()]) is None
    assert find_grid(np.zeros((1, 1, 3), dtype=np.uint8), boxes) is None


def test_without_borders_equal_columns_are_fitted() -> None:
    pixels, boxes = drawn([(letter, 70) for letter in "ABCDEF"], ROWS, missed={"D"})
    grid = find_grid(np.full_like(pixels, 255), boxes)
    assert grid is not None
    assert [band.number for band in grid.columns] == [1, 2, 3, 4, 5, 6]
    assert abs(grid.columns[3].start - (40 + 3 * 70 + 1)) <= 2


@given(st.integers(1, 500), st.lists(st.booleans(), min_size=4, max_size=40))
def test_labels_that_were_read_number_the_others(first: int, read: list[bool]) -> None:
    true = list(range(first, first + len(read)))
    own = [number if seen else None for number, seen in zip(true, read, strict=True)]
    found = number_bands(own)
    if sum(read) >= 2:
        assert found == true
    else:
        assert set(found) <= {None, *true}


@given(st.lists(st.one_of(st.none(), st.integers(1, 60)), max_size=30))
def test_any_labels_give_positive_numbers_or_none(own: list[int | None]) -> None:
    found = number_bands(own)
    assert len(found) == len(own)
    assert all(number is None or number >= 1 for number in found)


@given(st.lists(st.tuples(*[st.integers(0, 300)] * 4, st.text(max_size=8), st.floats(0, 1)), max_size=30))
def test_any_boxes_over_any_pixels_are_survived(raw: list[tuple[int, int, int, int, str, float]]) -> None:
    boxes = [Box(*values) for values in raw]
    find_dialog(boxes, find_grid(np.full((200, 300, 3), 200, dtype=np.uint8), boxes), [])


# --- dialogs


@pytest.mark.parametrize(
    "text", ["Keep Current Format!", "Document in Use", "Save Document?", "Use ODF Format!"]
)
def test_known_phrases_give_a_dialog_away(text: str) -> None:
    assert find_dialog([Box(300, 300, 420, 316, text, 0.9)], None, []) == text


def test_two_buttons_on_a_line_are_a_dialog_where_there_is_no_grid() -> None:
    buttons = [Box(600, 700, 660, 716, "Cancel", 0.9), Box(700, 701, 740, 717, "Save", 0.9)]
    assert find_dialog(buttons, None, []) == "Cancel / Save"
    assert find_dialog(buttons[:1], None, []) is None


def test_words_in_cells_are_no_dialog() -> None:
    pixels, boxes = drawn([(letter, 70) for letter in "ABCDE"], ROWS)
    grid = find_grid(pixels, boxes)
    cells = [
        Box(115, 80, 160, 94, "Cancel", 0.9),
        Box(185, 80, 220, 94, "Save", 0.9),
        Box(115, 134, 300, 148, "Save Document?", 0.9),
    ]
    assert grid is not None
    assert find_dialog([*boxes, *cells], grid, []) is None
