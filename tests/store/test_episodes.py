"""One reader for every count: whole, unverified and broken episodes, all of them attempted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.conftest import Episodes

from pyrite.errors import UsageError
from pyrite.records import Truth
from pyrite.store import episodes as attempts
from pyrite.store.jsonl import write_record


def verified(episodes: Episodes, name: str) -> None:
    episodes.add(name, [])
    truth = Truth.model_validate({"episode_id": name, "outcome": "pass", "pass": True})
    write_record(episodes.bench.paths.episode(name).truth, truth)


def test_every_finished_episode_is_there_whatever_its_state(episodes: Episodes) -> None:
    for name in ("meta", "truth", "whole"):
        verified(episodes, name)
    episodes.add("new", [])
    episodes.bench.paths.episode("meta").meta.write_text("{")
    episodes.bench.paths.episode("truth").truth.write_text('{"episode_id": "truth\n')
    (episodes.bench.paths.episodes / "unfinished").mkdir()
    found = attempts.read(episodes.bench)
    assert [one.episode_id for one in found.episodes] == ["meta", "new", "truth", "whole"]
    assert (found.verified, found.unattributed, found.unverified) == (1, 1, ["new"])
    assert [one["episode_id"] for one in found.broken] == ["meta", "truth"]
    assert all("\n" not in one["problem"] for one in found.broken)
    assert "meta.json" in found.broken[0]["problem"]
    assert "gt.json" in found.broken[1]["problem"]
    by = {one.episode_id: one for one in found.episodes}
    assert by["meta"].meta is None
    assert by["truth"].meta is not None


def test_a_name_that_is_not_utf_8_or_has_a_line_end_is_one_printable_line(episodes: Episodes) -> None:
    verified(episodes, "whole")
    whole = episodes.bench.paths.episode("whole").meta.read_bytes()
    for name in (b"\xff", b"two\nlines"):
        folder = Path(os.fsdecode(os.fsencode(episodes.bench.paths.episodes) + b"/" + name))
        folder.mkdir()
        (folder / "meta.json").write_bytes(whole)
    broken = attempts.read(episodes.bench).broken
    assert {one["episode_id"] for one in broken} == {"\\udcff", "two\nlines"}
    for one in broken:
        assert len(one["problem"].splitlines()) == 1
        one["problem"].encode()


def test_nothing_verified_names_the_first_that_is_broken(episodes: Episodes) -> None:
    episodes.add("a", [])
    episodes.add("b", [])
    episodes.bench.paths.episode("b").meta.write_text("[]")
    with pytest.raises(
        UsageError, match=r"none of 2 episodes has been verified; 1 cannot be read, first episodes/b/meta"
    ):
        attempts.require_verified(episodes.bench, attempts.read(episodes.bench))
