"""Features: what is read of instruction and screen, blocks by condition, the version that pins them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pyrite.judges.base import Package
from pyrite.judges.ocr import Box
from pyrite.judges.orm.features import FEATURES_VERSION, Features, features
from pyrite.judges.orm.wanted import Text, asked
from pyrite.records import Evidence, ViewAction
from pyrite.store.images import pixels_sha256, save_png

TASK = 'In Documents/minutes.txt, replace the line "Lamps: 3" by "Lamps: 12", and save the file.'
Make = Callable[..., Features]


def box(text: str, y: int = 100, x: int = 10) -> Box:
    return Box(x, y, x + 8 * len(text), y + 14, text, 0.9)


def act(step: int, action: str, **parameters: Any) -> ViewAction:
    return ViewAction(step=step, action=action, parameters=parameters)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Features of a package whose screens are plain images of these shades."""

    def made(
        condition: str = "E3-full",
        actions: tuple[ViewAction, ...] = (),
        boxes: tuple[Box, ...] = (),
        shades: tuple[int, ...] = (0, 9),
        message: str | None = None,
        instruction: str = TASK,
    ) -> Features:
        keys = []
        for shade in shades:
            image = Image.new("RGB", (40, 30), (shade, 0, 0))
            keys.append(pixels_sha256(image))
            save_png(image, tmp_path / f"{keys[-1]}.png")
        evidence = Evidence(
            package_id="p_1",
            condition=condition,
            instruction=instruction,
            actions=actions,
            images=tuple(keys),
            final_message=message,
        )
        return features(Package(evidence, lambda key: tmp_path / f"{key}.png"), boxes)

    return made


DONE = (act(1, "type", text="Lamps: 12"), act(2, "key", keys="ctrl+s"), act(3, "done"))


@pytest.mark.parametrize(
    ("condition", "blocks"),
    [
        ("E1-final", {"screen"}),
        ("E2-last4", {"screen", "frames", "actions"}),
        ("E3-full", {"screen", "frames", "actions"}),
        ("E2+claim", {"screen", "frames", "actions", "claim"}),
    ],
)
def test_blocks_by_condition(make: Make, condition: str, blocks: set[str]) -> None:
    found = make(condition, DONE, message="The task is done.")
    assert {name.partition(".")[0] for name in found} == blocks
    assert ("actions.steps" in found) == (condition == "E3-full")


def test_the_claim_is_seen_in_conditions_with_one_and_nowhere_else(make: Make) -> None:
    for condition in ("E1-final", "E2-last4", "E3-full"):
        assert make(condition, DONE, message="It is done.") == make(condition, DONE, message="I failed.")
    said, denied = (make("E2+claim", DONE, message=text) for text in ("It is done.", "I failed."))
    assert (said["claim.asserted"], denied["claim.denied"]) == (1.0, 1.0)
    assert make("E2+claim", DONE)["claim.values"] is None, "nothing was said: missing, not 0"


def test_what_the_screen_shows_of_what_is_asked_for(make: Make) -> None:
    shown = make(boxes=(box("minutes.txt - Mousepad", 5), box("Lamps: I2"), box("Minutes of May", 60)))
    assert (shown["screen.values"], shown["screen.title_file"], shown["screen.title_marked"]) == (0.5, 1, 0)
    marked = make(boxes=(box("*minutes.txt - Mousepad", 5),))
    assert (marked["screen.title_marked"], marked["screen.title_file"]) == (1.0, 1.0)
    assert make(instruction="Do it.")["screen.values"] is None


def test_a_dialog_is_two_buttons_on_a_line(make: Make) -> None:
    assert make(boxes=(box("Cancel"), box("Save", x=200)))["screen.buttons"] == 1.0
    assert make(boxes=(box("Cancel"), box("Save", y=300)))["screen.buttons"] == 0.0
    assert make(boxes=(box("Save changes before closing?"),))["screen.asks"] == pytest.approx(math.log(2))
    assert make(boxes=(box("bash: no such file"),))["screen.errors"] == pytest.approx(math.log(2))


def test_what_was_typed_and_what_came_after(make: Make) -> None:
    done = make(actions=DONE)
    names = ("actions.done", "actions.typed_values", "actions.saved_after", "actions.typed_other")
    assert [done[name] for name in names] == [1.0, 0.5, 1.0, 0.0]
    unsaved = make(actions=(DONE[1], DONE[0], act(3, "fail")))
    assert (unsaved["actions.saved_after"], unsaved["actions.fail"]) == (0.0, 1.0)
    idle = make(actions=(act(1, "done"),))
    assert (idle["actions.none"], idle["actions.typed_values"], idle["actions.steps"]) == (1.0, None, 0.0)


def test_change_between_frames(make: Make) -> None:
    assert make(shades=(5, 5))["frames.last"] == pytest.approx(-6)
    moved = make(shades=(5, 9, 5, 5))
    assert moved["frames.most"] == pytest.approx(0, abs=1e-5)
    assert moved["frames.still"] == pytest.approx(1 / 3)
    assert moved["frames.all"] == pytest.approx(-6)
    assert make(shades=(5,))["frames.last"] is None, "one frame: unknown, not unchanged"


def test_short_strings_are_words_and_long_ones_stand_anywhere() -> None:
    text = Text(["cell D14: 14500", "InDocuments/q3_budget"])
    assert [text.holds(one) for one in ("450", "4500", "D14", "D1", "q3 budget")] == [
        False,
        True,
        True,
        False,
        True,
    ]
    assert text.share(()) is None


@settings(max_examples=60)
@given(st.text(max_size=300), st.lists(st.text(max_size=60), max_size=8))
def test_any_text_gives_finite_numbers(instruction: str, lines: list[str]) -> None:
    parts = asked(instruction)
    shares = [Text(lines).share(part) for part in (parts.quoted, parts.values, parts.words, parts.files)]
    assert all(share is None or 0 <= share <= 1 for share in shares)


@pytest.mark.parametrize(
    "text", ["(" * 20_000, "a/" * 20_000 + ".b", '"' * 20_001, "to " * 9_000, "1." * 9_999]
)
def test_hostile_instructions_take_no_time(text: str) -> None:
    asked(text)


def test_the_version_pins_what_comes_out(make: Make) -> None:
    """Another digest: raise FEATURES_VERSION, and train the shipped weights anew."""
    found = [
        make("E2+claim", DONE, (box("*minutes.txt - Mousepad", 5), box("Lamps: 12")), (1, 2, 2), "Done."),
        make("E3-full", DONE[:2], (box("OK"), box("Cancel", x=90), box("error 7")), (1, 1)),
        make("E1-final", (), (box("draft 2"), box("Order placed")), (4,), instruction="Send draft 2 to Eva."),
    ]
    rounded = [{k: None if v is None else round(v, 9) for k, v in one.items()} for one in found]
    digest = hashlib.sha256(json.dumps(rounded, sort_keys=True).encode()).hexdigest()[:16]
    assert (FEATURES_VERSION, digest) == (1, "a6c9cfce18af8783")
