"""The page on `universal` names what there is."""

from __future__ import annotations

import re
from pathlib import Path

from tests.judges.universal.brain import Script

from pyrite.judges.labels import make, options_of
from pyrite.judges.universal.taxonomy import CODES, FAMILIES
from pyrite.store.conditions import canonical

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "universal.md"


def test_the_page_names_every_option_and_no_other() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("## Options")[2].partition("## ")[0]
    named = {
        name
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert named == set(options_of("universal"))
    assert f"{len(FAMILIES)} families, {len(CODES)} codes" in text


def test_every_label_and_condition_in_a_command_can_be_made() -> None:
    text = PAGE.read_text(encoding="utf-8")
    labels = re.findall(r"^pyrite judge \S+ --judge (\S+) --condition (\S+)", text, re.MULTILINE)
    assert len(labels) >= 3
    for label, condition in labels:
        judge = make(label, calls=Script()).judge
        assert canonical(condition) == condition
        assert judge.supports(condition)


def test_what_a_mode_stands_for_is_what_the_page_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    told = re.search(r"`economical`: `([^`]*)`", text)
    assert told is not None
    whole = make(f"universal@{told[1]}", calls=Script()).settings["settings"]
    short = make("universal@mode=economical", calls=Script()).settings["settings"]
    assert {**whole, "mode": "economical"} == short
