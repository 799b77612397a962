"""The episodes of a bench, and the queue of failures without a category."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.truth.conftest import Episodes

from pyrite.errors import UsageError
from pyrite.measure.bench import outcomes
from pyrite.records import Truth
from pyrite.store import labels
from pyrite.store.bench import Bench
from pyrite.store.jsonl import write_record
from pyrite.truth import queue


def truth(episodes: Episodes, episode_id: str, outcome: str, **more: Any) -> None:
    passed = {"pass": True, "fail": False}.get(outcome)
    body = {"episode_id": episode_id, "outcome": outcome, "pass": passed, **more}
    write_record(episodes.bench.paths.episode(episode_id).truth, Truth.model_validate(body))


@pytest.fixture
def bench(episodes: Episodes) -> Bench:
    """A pass, a classified fail, two unclassified ones, an indeterminate and an unverified episode."""
    for name in ("pass", "known", "open", "other", "lost", "new"):
        episodes.add(name, None)
    truth(episodes, "pass", "pass")
    truth(episodes, "known", "fail", category="F-CLAIM", category_source="state")
    truth(episodes, "open", "fail", candidates=["F-ABORT", "F-ODD"])
    truth(episodes, "other", "fail")
    truth(episodes, "lost", "indeterminate", cause="state_missing", blame="environment")
    return episodes.bench


def ids(found: dict[str, Any]) -> list[str]:
    return [row["episode_id"] for row in found["episodes"]]


def say(bench: Bench, episode_id: str, who: str, code: str) -> None:
    labels.label(bench.paths.episode(episode_id).root, category=code, outcome=None, annotator=who)


def test_every_episode_is_there_and_what_is_not_known_is_null(bench: Bench) -> None:
    found = queue.episodes(bench)
    json.dumps(found, allow_nan=False)
    assert ids(found) == ["known", "lost", "new", "open", "other", "pass"]
    assert (found["total"], found["verified"], found["failed"]) == (6, 5, 3)
    by = {row["episode_id"]: row for row in found["episodes"]}
    assert by["new"]["outcome"] is None
    assert (by["lost"]["outcome"], by["lost"]["cause"]) == ("indeterminate", "state_missing")
    assert (by["known"]["category"], by["known"]["category_source"]) == ("F-CLAIM", "state")


def test_the_queue_holds_the_fails_without_a_category_until_people_agree(bench: Bench) -> None:
    assert ids(queue.episodes(bench, needs_category=True)) == ["open", "other"]
    say(bench, "open", "ana", "F-PARTIAL")
    say(bench, "other", "ana", "F-PARTIAL")
    say(bench, "other", "ben", "F-ABORT")
    found = queue.episodes(bench, needs_category=True)
    assert ids(found) == ["other"]
    assert found["episodes"][0]["conflicting"] == ["F-ABORT", "F-PARTIAL"]
    row = next(row for row in queue.episodes(bench)["episodes"] if row["episode_id"] == "open")
    assert (row["category"], row["category_source"], row["conflicting"]) == ("F-PARTIAL", "person", [])


def test_the_outcomes_count_them_and_say_so(bench: Bench) -> None:
    before = outcomes(bench)["strata"]["scripted"]
    assert before["categories"] == {"unclassified": 2, "F-CLAIM": 1}
    say(bench, "open", "ana", "F-CLAIM")
    say(bench, "other", "ana", "F-PARTIAL")
    say(bench, "other", "ben", "F-ABORT")
    say(bench, "pass", "ben", "F-ABORT")
    block = outcomes(bench)
    after = block["strata"]["scripted"]
    assert after["categories"] == {"F-CLAIM": 2, "unclassified": 1}
    assert (after["pass"], after["fail"], after["rate"]) == (before["pass"], before["fail"], before["rate"])
    assert block["labels"] == {"classified": {"open": "F-CLAIM"}, "conflicting": ["other"]}
    assert any("1 failure has its category from people" in text for text in block["warnings"])
    assert any("1 failure stays unclassified" in text for text in block["warnings"])


def test_a_queue_of_nothing_verified_is_not_an_empty_queue(episodes: Episodes) -> None:
    episodes.add("ep_1", None)
    with pytest.raises(UsageError, match="the one episode here has not been verified"):
        queue.episodes(episodes.bench, needs_category=True)
    assert queue.episodes(episodes.bench)["episodes"][0]["outcome"] is None


def test_a_broken_episode_stays_in_the_denominator(bench: Bench) -> None:
    Path(bench.paths.episode("open").meta).write_text("{", encoding="utf-8")
    found = queue.episodes(bench)
    assert found["total"] == 6
    assert [one["episode_id"] for one in found["broken"]] == ["open"]


def test_a_folder_whose_name_is_not_utf_8_is_broken_and_can_be_printed(bench: Bench) -> None:
    folder = Path(os.fsdecode(os.fsencode(bench.paths.episodes) + b"/\xff"))
    folder.mkdir()
    (folder / "meta.json").write_bytes(bench.paths.episode("open").meta.read_bytes())
    for found in (queue.episodes(bench)["broken"], outcomes(bench)["broken"]):
        assert [one["episode_id"] for one in found] == ["\\udcff"]
        json.dumps(found, ensure_ascii=False).encode()
