"""The agent `vlm-agent`: screenshot and task in, one JSON action out, from any OpenAI-compatible endpoint.

    PYRITE_AGENT_BASE_URL=http://127.0.0.1:8000/v1 PYRITE_AGENT_MODEL=my-model
    pyrite record desk --agent vlm-agent -o runs/first
    pyrite record desk --agent vlm-agent@model=o4-mini,history=4,steps=30 -o runs/first

The key is read from the environment variable PYRITE_AGENT_API_KEY, or from the one that `api_key_env`
names, and from nowhere else; it is in no file that is written.
"""

from __future__ import annotations

import base64
import io
import os
from collections import deque
from typing import Any
from urllib.parse import urlsplit

from PIL import Image

from pyrite.episodes import answers
from pyrite.episodes.agents import Observation, Stopped, not_performed
from pyrite.episodes.chat import Chat, Failed, Reply
from pyrite.errors import RunError, UsageError
from pyrite.records import Action

HISTORY = 3
STEPS = 50

_SYSTEM = """You operate a Linux desktop through screenshots. You are given a task and the current screen \
({width}x{height} pixels). Answer with exactly one JSON object: your next action.

{{"action": "click", "x": 10, "y": 20}}   also double_click, right_click, middle_click, move
{{"action": "drag", "x": 10, "y": 20, "to_x": 30, "to_y": 40}}
{{"action": "scroll", "x": 10, "y": 20, "dy": 3}}   wheel clicks, down is positive
{{"action": "type", "text": "hello"}}
{{"action": "key", "keys": "ctrl+s"}}   X keysym names joined by +
{{"action": "wait", "seconds": 1}}
{{"action": "done", "message": "what you did"}}   when the task is complete
{{"action": "fail", "message": "why"}}   when it cannot be done

A "thought" may stand beside the action. Nothing else is read."""


class VlmAgent:
    """A model that sees the task and the last screens, and answers with one action."""

    def __init__(
        self,
        model: str = "",
        base_url: str = "",
        api_key_env: str = "PYRITE_AGENT_API_KEY",
        history: str = str(HISTORY),
        steps: str = str(STEPS),
        timeout: str = "120",
        max_tokens: str = "1024",
    ) -> None:
        """`history`: earlier screens that are sent along. `steps`: its budget. `timeout`: seconds a call."""
        self.name = "vlm-agent"
        self.version = "1"
        self.waits = True
        self._model = model or os.environ.get("PYRITE_AGENT_MODEL", "")
        url = (base_url or os.environ.get("PYRITE_AGENT_BASE_URL", "")).rstrip("/")
        _require(self._model, "model", "PYRITE_AGENT_MODEL")
        _require(url, "base_url", "PYRITE_AGENT_BASE_URL")
        _require_plain(url)
        window = _number("history", history, 0, 50)
        self.step_limit = _number("steps", steps, 1, 1000)
        self._tokens = _number("max_tokens", max_tokens, 16, 65_536)
        key = os.environ.get(api_key_env) or None
        self._chat = Chat(url, key, _number("timeout", timeout, 1, 3600))
        self._past: deque[tuple[Image.Image, str]] = deque(maxlen=window)
        self._malformed = 0
        self._asked = 0
        self._message: str | None = None
        self.settings: dict[str, Any] = {
            "model": self._model,
            "base_url": url,
            "history": window,
            "steps": self.step_limit,
        }

    @property
    def usage(self) -> dict[str, Any]:
        """Calls that were answered, and their tokens; None where the endpoint did not say."""
        return dict(self._chat.usage)

    def act(self, instruction: str, observation: Observation) -> Action:
        reply = self._ask(instruction, observation)
        if reply.refusal is not None:
            self._message = reply.refusal
            raise Stopped("refused", "the model refused")
        answer = (
            answers.parse(reply.text) if not reply.truncated else answers.Answer(None, why="it was cut off")
        )
        self._past.append((observation.screen, reply.text[: answers.MOST_MESSAGE]))
        if answer.action is None:
            if answers.is_refusal(reply.text):
                self._message = reply.text[: answers.MOST_MESSAGE]
                raise Stopped("refused", "the model refused")
            self._malformed += 1
            if self._malformed >= answers.MALFORMED_LIMIT:
                raise Stopped("malformed", f"{self._malformed} answers in a row are no action: {answer.why}")
            return not_performed(reply.text, answer.why)
        self._malformed = 0
        self._message = answer.message
        return answer.action

    def final_message(self) -> str | None:
        return self._message

    def _ask(self, instruction: str, observation: Observation) -> Reply:
        try:
            reply = self._chat.ask(self._request(instruction, observation))
        except Failed as exc:
            if exc.settled and not self._asked:
                raise RunError(
                    f"the model endpoint of vlm-agent does not take the request: {exc}",
                    where=self.settings["base_url"],
                    expected="an OpenAI-compatible endpoint that knows this model and key",
                ) from None
            raise Stopped("environment_lost", f"the model endpoint gave no answer: {exc}") from None
        self._asked += 1
        return reply

    def _request(self, instruction: str, observation: Observation) -> dict[str, Any]:
        width, height = observation.screen.size
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": _SYSTEM.format(width=width, height=height)}
        ]
        for screen, said in self._past:
            messages += [_shown(f"Task: {instruction}", screen), {"role": "assistant", "content": said}]
        told = f"Task: {instruction}\nStep {observation.step + 1} of at most {self.step_limit}."
        if observation.error:
            told += f"\nYour last answer was not carried out: {observation.error}"
        messages.append(_shown(told, observation.screen))
        return {"model": self._model, "messages": messages, "max_tokens": self._tokens, "temperature": 0}


def _shown(text: str, screen: Image.Image) -> dict[str, Any]:
    buffer = io.BytesIO()
    screen.save(buffer, "PNG")
    url = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    return {
        "role": "user",
        "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}],
    }


def _require(value: str, option: str, variable: str) -> None:
    if not value:
        raise UsageError(
            f"vlm-agent has no {option}",
            expected=f"vlm-agent@{option}=… or the environment variable {variable}",
            next=f"{variable}=… pyrite record desk --agent vlm-agent",
        )


def _number(option: str, text: str, low: int, high: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6 or not low <= int(text) <= high:
        raise UsageError(
            f"vlm-agent: {option} is {text[:40]!r}", expected=f"a whole number from {low} to {high}"
        )
    return int(text)


def _require_plain(url: str) -> None:
    """An address that is one, and that holds no key: it is written into every meta.json."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine:
        raise UsageError("vlm-agent: base_url is no web address", expected="http(s)://HOST[:PORT]/v1")
    if parts.username is not None or parts.password is not None or parts.query:
        raise UsageError(
            "vlm-agent: base_url holds a user, a password or a query",
            expected="an address alone; the key comes from the environment variable PYRITE_AGENT_API_KEY",
        )
