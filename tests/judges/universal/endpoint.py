"""The model of `brain` behind a real endpoint on loopback, with faults by step."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.judges.client.fault_server import FaultServer, completion, response
from tests.judges.universal.brain import STEPS, Brain

Fault = Callable[[int], bytes | AsyncIterator[bytes] | None]
"""From how often a step was asked to what is sent in place of an answer; None: an answer."""


class BrainServer(FaultServer):
    """Answers each step as the brain says; counts requests by step."""

    def __init__(
        self, brain: Brain | None = None, faults: dict[str, Fault] | None = None, **more: Any
    ) -> None:
        super().__init__(**more)
        self.brain = brain or Brain()
        self.faults = faults or {}
        self.image_bytes = 0
        self.characters = 0
        self.keys: list[bytes] = []

    def __enter__(self) -> BrainServer:
        super().__enter__()
        return self

    async def _answer(self, head: str, body: bytes) -> AsyncIterator[bytes]:
        sent = json.loads(body)
        system: str = sent["messages"][0]["content"]
        user: Any = sent["messages"][1]["content"]
        parts: list[dict[str, Any]] = [{"type": "text", "text": user}] if isinstance(user, str) else user
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        pictures = tuple(base64.b64decode(url.partition(",")[2]) for url in urls)
        step = STEPS[system]
        self.count[step] += 1
        self.characters += len(system) + len(text)
        self.image_bytes += sum(map(len, pictures))
        self.keys.append(body)
        planned = self.faults.get(step)
        fault = None if planned is None else planned(self.count[step])
        if isinstance(fault, bytes):
            yield fault
        elif fault is not None:
            async for piece in fault:
                yield piece
        else:
            answer = self.brain.answer(step, text, pictures)
            content = completion(answer.text, finish=answer.finish or "stop")
            yield response(content)
