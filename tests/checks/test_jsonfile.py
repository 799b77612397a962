"""Reading JSON that an agent has left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.checks.jsonfile import at, read_json
from pyrite.checks.package import Unreadable

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(TREES)
def test_values_come_back(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.mktemp("json") / "a"
    path.write_text(json.dumps(value), "utf-8")
    assert read_json(path) == value


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a": 1, "a": 1}', "NaN", "[1e]", "[" * 100_000, '{"a": Infinity}', "\udcff", "1" * 5000],
)
def test_what_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(Unreadable):
        read_json(path)
    path.write_text("1" + " " * 100)
    with pytest.raises(Unreadable, match="too_large"):
        read_json(path, limit=10)


def test_paths_of_keys() -> None:
    assert at({"a": {"b": 1}}, "a", "b") == 1
    assert at({"a": {"b": 1}}, "a", "c") is None
    assert at({"a": [1]}, "a", "b") is None
    assert at([], "a") is None
