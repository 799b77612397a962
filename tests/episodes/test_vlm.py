"""The model agent against a loopback server: every way in which a model can answer, and how it ends."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

from pyrite.episodes import chat, labels
from pyrite.episodes.vlm import VlmAgent
from pyrite.errors import RunError, UsageError


def _model_server() -> ModuleType:
    spec = importlib.util.spec_from_file_location("model_server", Path(__file__).with_name("model_server.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


_SERVER = _model_server()
said, serving = _SERVER.said, _SERVER.serving

CLICK = '{"action": "click", "x": 5, "y": 6, "thought": "there"}'
DONE = '{"action": "done", "message": "The price is set."}'


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "_WAITS_S", (0.01, 0.01))
    for name in ("BASE_URL", "MODEL", "API_KEY"):
        monkeypatch.delenv(f"PYRITE_AGENT_{name}", raising=False)


def agent(server: Any, **options: str) -> VlmAgent:
    return VlmAgent("a-model", server.url, **options)


def test_it_acts_and_ends_with_its_message(recorder: Any) -> None:
    with serving(
        CLICK, f"I type it.\n```json\n{json.dumps({'action': 'type', 'text': 'x'})}\n```", DONE
    ) as server:
        made = recorder(agent(server))
    assert [line.action for line in made.lines] == ["click", "type", "done"]
    assert made.lines[0].thought == "there"
    assert made.meta.ended_by == "done"
    assert made.meta.final_message == "The price is set."
    assert made.meta.source == "natural"
    told = made.meta.agent.model_dump()
    assert told["model"] == "a-model"
    assert told["usage"] == {"calls": 3, "prompt_tokens": 30, "completion_tokens": 6}
    assert [action.action for action in made.session.performed] == ["click", "type"]


def test_it_sends_task_screen_and_a_window_of_history(recorder: Any) -> None:
    turns = [json.dumps({"action": "type", "text": f"word {n}"}) for n in range(4)]
    with serving(*turns, DONE) as server:
        recorder(agent(server, history="2"))
    last = server.asked[-1]["messages"]
    assert [message["role"] for message in last] == ["system", *(["user", "assistant"] * 2), "user"]
    assert last[2]["content"] == turns[2]
    image = last[-1]["content"][1]["image_url"]["url"].partition("base64,")[2]
    seen = Image.open(io.BytesIO(base64.b64decode(image)))
    assert seen.size == (80, 60)
    assert seen.getpixel((0, 0)) == (40, 0, 0), "the screen after four actions"
    assert "prices.csv" in last[-1]["content"][0]["text"]


@pytest.mark.parametrize(
    "answer",
    [
        "I would click on the cell.",
        "",
        '{"action": "clik", "x": 1, "y": 2}',
        '{"action": "click", "x": 1}',
        '{"action": "click", "x": NaN, "y": 2}',
        '{"action": ["click"]}',
        '{"action": "key", "keys": {"ctrl": "s"}}',
        '{"action": "click", "x": 5',
        "[1, 2, 3]",
        "{" * 5000,
        said(CLICK, finish_reason="length"),
        {"choices": []},
        {"choices": [{"message": "x"}]},
        {"nothing": True},
        said(CLICK + " " * (5 << 20)),
    ],
)
def test_malformed_answers_cost_steps_and_then_end_it(answer: Any, recorder: Any) -> None:
    with serving(answer) as server:
        made = recorder(agent(server))
    assert made.meta.ended_by == "malformed"
    assert made.meta.stopped
    assert [line.action for line in made.lines] == ["raw", "raw"]
    assert all(line.error for line in made.lines)
    assert made.session.performed == []
    assert (made.folder / "final_state.tar.zst").is_file(), "it is a failure of the agent, and verified"
    assert "was not carried out" in server.asked[1]["messages"][-1]["content"][0]["text"]


def test_half_of_a_surrogate_pair_breaks_nothing(recorder: Any) -> None:
    typed = r'{"action": "type", "text": "a\ud800b"}'
    with serving(typed, r'{"action": "done", "message": "Saved \ud83d"}') as server:
        made = recorder(agent(server))
    assert made.meta.ended_by == "done"
    assert made.meta.final_message == "Saved ?"
    assert [line.text for line in made.lines if line.action == "type"] == ["a?b"]


def test_one_malformed_answer_is_forgiven(recorder: Any) -> None:
    with serving("Hm.", "Hm.", CLICK, "Hm.", "Hm.", DONE) as server:
        made = recorder(agent(server))
    assert made.meta.ended_by == "done"
    assert [line.action for line in made.lines] == ["raw", "raw", "click", "raw", "raw", "done"]


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't assist with that.",
        "I cannot help with this request.",
        said("", message={"refusal": "I can't do that."}),
        said("", finish_reason="content_filter"),
    ],
)
def test_a_refusal_ends_it(answer: Any, recorder: Any) -> None:
    with serving(CLICK, answer) as server:
        made = recorder(agent(server))
    assert made.meta.ended_by == "refused"
    assert len(made.lines) == 1
    assert made.meta.final_message


def test_an_endless_loop_is_noticed(recorder: Any) -> None:
    with serving(CLICK) as server:
        made = recorder(agent(server), frozen=True)
    assert made.meta.ended_by == "loop"
    assert made.meta.n_steps == 6


def test_doing_the_same_on_changing_screens_is_no_loop_and_the_budget_ends_it(recorder: Any) -> None:
    with serving(CLICK) as server:
        made = recorder(agent(server, steps="9"))
    assert made.meta.ended_by == "step_limit"
    assert made.meta.n_steps == 9


def test_an_endpoint_that_comes_back_is_asked_again(recorder: Any) -> None:
    busy = (429, {"Retry-After": "0"}, b"busy")
    with serving(busy, (503, {}, b""), CLICK, (200, {}, b"<html>"), DONE) as server:
        made = recorder(agent(server))
    assert made.meta.ended_by == "done"
    assert len(server.asked) == 5


@pytest.mark.parametrize("answer", [(500, {}, b"x"), (200, {}, b"<html>"), (401, {}, b"expired")])
def test_an_endpoint_that_is_lost_on_the_way_is_no_failure_of_the_agent(answer: Any, recorder: Any) -> None:
    with serving(CLICK, answer) as server:
        made = recorder(agent(server))
    assert made.meta.ended_by == "environment_lost"
    assert "model endpoint" in made.meta.lost
    assert not (made.folder / "final_state.tar.zst").exists()


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_an_endpoint_that_takes_nothing_stops_the_recording(
    status: int, recorder: Any, tmp_path: Path
) -> None:
    with serving((status, {}, b'{"error": "no such model"}')) as server, pytest.raises(RunError) as caught:
        recorder(agent(server))
    assert f"HTTP {status}" in str(caught.value)
    assert list((tmp_path / "episodes").iterdir()) == []


def test_a_redirect_does_not_carry_the_key_away(recorder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-42")
    with serving(DONE) as other, serving((307, {"Location": f"{other.url}/chat/completions"}, b"")) as server:
        made = recorder(agent(server, api_key_env="MY_KEY"))
    assert made.meta.ended_by == "environment_lost"
    assert server.keys[0] == "Bearer sk-secret-42"
    assert other.keys == []


def test_the_key_is_written_nowhere(recorder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRITE_AGENT_API_KEY", "sk-secret-42")
    with serving(CLICK, DONE) as server:
        made = recorder(agent(server))
    assert server.keys == ["Bearer sk-secret-42"] * 2
    for path in made.folder.rglob("*"):
        assert path.is_dir() or b"sk-secret-42" not in path.read_bytes(), path


@pytest.mark.parametrize(
    "label",
    [
        "vlm-agent",
        "vlm-agent@model=m",
        "vlm-agent@model=m,base_url=ftp://x",
        "vlm-agent@model=m,base_url=http://me:sk-42@127.0.0.1:1/v1",
        "vlm-agent@model=m,base_url=http://127.0.0.1:99999/v1",
        "vlm-agent@model=m,base_url=http://127.0.0.1:1/v1,history=-1",
        "vlm-agent@model=m,base_url=http://127.0.0.1:1/v1,steps=0",
        "vlm-agent@model=m,base_url=http://127.0.0.1:1/v1,temprature=1",
    ],
)
def test_what_is_missing_is_said_before_anything_starts(label: str) -> None:
    with pytest.raises(UsageError) as caught:
        labels.parse_list(label)
    assert caught.value.expected
