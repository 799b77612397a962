"""The replay client: recorded answers by package, run, step and position; what is not there is missing."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Episodes

from pyrite.cli import run
from pyrite.errors import InputError, UsageError
from pyrite.evidence.packing import package_id
from pyrite.judges.client.base import CallError, Request, Text
from pyrite.judges.client.calls import Calls, Options
from pyrite.judges.client.replay import Recorded, Recording, ReplayClient
from pyrite.judges.labels import make
from pyrite.records import VerdictLine
from pyrite.store.jsonl import read_lines
from pyrite.tasks import starter

DONE = [{"action": "type", "text": "4500"}, {"action": "done"}]


def request(**more: Any) -> Request:
    return Request("m", "s", (Text("any words"),), **more)


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_an_answer_is_found_by_its_place_and_not_by_words() -> None:
    lines = [
        Recorded(package_id="p_1", step="image", position=2, text="two"),
        Recorded(package_id="p_1", step="image", position=0, run=2, text="again"),
    ]
    client = ReplayClient(Recording.of(lines))
    answer = asyncio.run(client.ask(request(package="p_1", step="image", position=2)))
    assert (answer.text, answer.requests, answer.cost) == ("two", 0, 0.0)
    assert client.unasked == {("p_1", 2, "image", 0)}
    for other in (
        {"package": "p_2", "step": "image", "position": 2},
        {"package": "p_1", "step": "verdict", "position": 2},
        {"package": "p_1", "step": "image", "position": 2, "run": 3},
    ):
        with pytest.raises(CallError, match="the recording has no answer"):
            asyncio.run(client.ask(request(**other)))


def test_an_episode_and_condition_name_the_package() -> None:
    line = Recorded(episode_id="ep_1", condition="full", text="x")
    assert line.place == (package_id("ep_1", "E3-full"), 1, "", 0)


def test_a_recording_may_be_packed_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    plain = write(tmp_path / "log.jsonl", {"package_id": "p_1", "text": "\u00e9"}, {"package_id": "p_2"})
    data = plain.read_bytes()
    expected = Recording.load(plain)
    for number, other in enumerate((b"\xef\xbb\xbf" + data, gzip.compress(data), data[:-1])):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(other)
        found = Recording.load(path)
        assert (found.answers, found.sha256) == (expected.answers, expected.sha256)


@pytest.mark.parametrize("cut", [3, 12, 30])
def test_a_broken_archive_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"package_id": "p_1", "text": "abc"}\n')[:cut])
    with pytest.raises(InputError, match="broken gzip"):
        Recording.load(path)
    path.write_bytes(b"\x1f\x8bno gzip at all")
    with pytest.raises(InputError, match="broken gzip"):
        Recording.load(path)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "holds no answer"),
        ([{"text": "x"}], "either package_id, or episode_id and condition"),
        ([{"package_id": "p", "episode_id": "e", "condition": "full", "text": "x"}], "either package_id"),
        ([{"episode_id": "e", "condition": "E9", "text": "x"}], "no condition"),
        ([{"package_id": "p", "text": "x"}, {"package_id": "p", "text": "y"}], "two answers"),
        ([{"package_id": "p", "text": "x", "setp": "image"}], "setp"),
    ],
)
def test_a_recording_that_is_none_is_refused(tmp_path: Path, lines: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Recording.load(write(tmp_path / "log.jsonl", *lines))


def test_a_judge_is_run_from_a_file_and_what_is_missing_is_missing(
    episodes: Episodes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("ep_1", "ep_2"):
        episodes.add(name, DONE)
    starter.start("a-task", episodes.bench.root / "tasks")
    at: dict[str, Any] = {"episode_id": "ep_1", "condition": "E3-full"}
    told = [{**at, "step": "key-points", "text": "**Key Points**:\n1. D14 is 4500"}]
    told += [{**at, "step": "image", "position": n, "text": f"**Score**: {n + 2}"} for n in range(5)]
    told += [{**at, "step": "verdict", "text": "Thoughts: it is there.\nStatus: success"}]
    told += [{**at, "episode_id": "ep_9", "step": "verdict", "text": "Status: success"}]
    log = write(tmp_path / "log.jsonl", *told)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    command = ["judge", str(episodes.bench.root), "--judge", "webjudge", "--model", f"replay:{log}"]
    assert run([*command, "--condition", "E3-full"]) == 4
    seen = capsys.readouterr()
    assert "1 new, 0 kept, 1 missing" in seen.out
    assert "0 answered, 5 from the cache" in seen.out
    assert "the recording has no answer to step 'key-points'" in seen.out
    assert "answers that nobody asked for: 2 of evidence that was judged" in seen.err
    assert "1 of evidence that was not asked about" in seen.err
    lines = [line for path in episodes.bench.paths.verdict_files() for line in read_lines(path, VerdictLine)]
    assert [(line.episode_id, line.verdict) for line in lines] == [("ep_1", "success")]
    assert lines[0].usage["calls"] == 5
    assert lines[0].raw is not None
    raw = json.loads((episodes.bench.root / lines[0].raw).read_text(encoding="utf-8"))
    assert raw["read"]["kept"] == [1, 2]
    assert [one["step"] for one in raw["calls"]] == ["image"] * 3 + ["key-points", "verdict"]


def test_the_digest_of_the_file_is_in_the_config(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", {"package_id": "p", "text": "x"})
    first = make(f"vlm@model=replay:{log}", calls=Calls())
    write(log, {"package_id": "p", "text": "y"})
    assert first.config != make(f"vlm@model=replay:{log}", calls=Calls()).config


def test_answers_that_nobody_asked_for_are_named() -> None:
    lines = [
        Recorded(episode_id="ep_1", condition="full", step="image", position=n, text="x") for n in range(7)
    ]
    lines.append(Recorded(package_id="p_9", run=2, text="y"))
    client = ReplayClient(Recording.of(lines, name="log.jsonl"))
    asyncio.run(client.ask(request(package=package_id("ep_1", "E3-full"), step="image", position=0)))
    told = client.left_over()
    assert "6 of evidence that was judged" in told
    assert "(ep_1 full, run 1, image 1; ep_1 full, run 1, image 2;" in told
    assert "and 1 more)" in told
    assert "1 of evidence that was not asked about (p_9, run 2)" in told


@pytest.mark.parametrize("place", ["command", "label"])
def test_a_recording_is_asked_at_no_endpoint(place: str, tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", {"package_id": "p", "text": "x"})
    url = "http://127.0.0.1:9/v1"
    calls = Calls(Options(base_url=url if place == "command" else None))
    label = f"vlm@model=replay:{log}" + ("" if place == "command" else f",base_url={url}")
    with pytest.raises(UsageError, match="read from a file, and asked at no endpoint"):
        make(label, calls=calls)
