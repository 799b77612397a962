"""Hostile text becomes visible text."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from pyrite.report.text import MESSAGE_LIMIT, cut, label, lines, plain


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_nothing_invisible_is_left(text: str) -> None:
    shown = plain(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    shown.encode()


def test_what_reorders_or_ends_a_line_is_written_out() -> None:
    assert plain("invoice\u202efdp.exe") == "invoice\\u202efdp.exe"
    assert plain("a\nb\x00\x1b[31m") == "a\\nb\\x00\\x1b[31m"
    assert plain("Größe, 表, 😀") == "Größe, 表, 😀"


def test_a_long_text_is_cut_with_a_count() -> None:
    assert cut("x" * 100, 80) == "x" * 80 + "… (20 more characters)"
    assert cut("x" * 80, 80) == "x" * 80


@given(st.text(max_size=3000))
def test_a_message_is_bounded(text: str) -> None:
    shown = lines(text)
    assert 1 <= len(shown) <= 9
    assert sum(map(len, shown)) <= 10 * MESSAGE_LIMIT + 200


def test_a_message_keeps_its_lines() -> None:
    assert lines("one\ntwo\u202e") == ["one", "two\\u202e"]
    assert lines("") == [""]
    assert lines("\n" * 30)[-1] == "… (22 more lines)"


def test_a_label_breaks_between_its_parameters_and_stays_escaped() -> None:
    assert label("vlm@model=<b>,eyes=ocr") == "vlm@<wbr>model=&lt;b&gt;,<wbr>eyes=ocr"
    assert label("claim,") == "claim,"
    assert label("x" * 70).endswith("… (10 more characters)")
