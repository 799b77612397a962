"""One call of an OpenAI-compatible chat endpoint at a time: bounded, retried, no redirects.

What an endpoint does is hostile data too: the answer is bounded, and anything that is not what the
interface promises is a `Failed`, never a crash.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import aiohttp

from pyrite.episodes.answers import whole

TRIES = 3
MOST_BYTES = 4 << 20
LONGEST_WAIT_S = 30.0
_SETTLED = frozenset({400, 401, 403, 404, 405, 413, 415, 422})
"""Statuses that another try cannot change."""
_WAITS_S = (0.5, 2.0)


class Failed(Exception):
    """There is no answer; `settled` where asking again cannot help."""

    def __init__(self, why: str, *, settled: bool = False, after_s: float | None = None) -> None:
        super().__init__(why)
        self.settled = settled
        self.after_s = after_s
        """How long the endpoint asked to be left alone."""


@dataclass(frozen=True)
class Reply:
    """What a model said."""

    text: str
    refusal: str | None = None
    """What it said instead, where the interface marks a refusal."""
    truncated: bool = False


class Chat:
    """An endpoint, its key, and what was used of it."""

    def __init__(self, base_url: str, key: str | None, timeout_s: float) -> None:
        self._url = f"{base_url}/chat/completions"
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self.usage: dict[str, int | None] = {"calls": 0, "prompt_tokens": None, "completion_tokens": None}

    def ask(self, request: dict[str, Any]) -> Reply:
        """The reply to one request; raises `Failed`."""
        body = asyncio.run(self._tried(request))
        self.usage["calls"] = (self.usage["calls"] or 0) + 1
        used = body.get("usage")
        for name in ("prompt_tokens", "completion_tokens"):
            n = used.get(name) if isinstance(used, dict) else None
            if isinstance(n, int) and not isinstance(n, bool) and n >= 0:
                self.usage[name] = (self.usage[name] or 0) + n
        return _reply(body)

    async def _tried(self, request: dict[str, Any]) -> dict[str, Any]:
        last = Failed("no try was made")
        async with aiohttp.ClientSession(headers=self._headers, timeout=self._timeout) as session:
            for attempt in range(TRIES):
                try:
                    return await self._once(session, request)
                except Failed as exc:
                    last = exc
                except (aiohttp.ClientError, TimeoutError, OSError) as exc:
                    last = Failed(f"{type(exc).__name__}: {str(exc)[:200]}".rstrip(": "))
                if last.settled:
                    break
                if attempt < len(_WAITS_S):
                    await asyncio.sleep(_WAITS_S[attempt] if last.after_s is None else last.after_s)
        raise last

    async def _once(self, session: aiohttp.ClientSession, request: dict[str, Any]) -> dict[str, Any]:
        async with session.post(self._url, json=request, allow_redirects=False) as response:
            raw = bytearray()
            async for chunk in response.content.iter_chunked(1 << 16):
                raw += chunk
                if len(raw) > MOST_BYTES:
                    break
            if response.status != 200:
                said = bytes(raw[:200]).decode("utf-8", "replace")
                raise Failed(
                    f"HTTP {response.status}: {said}",
                    settled=response.status in _SETTLED,
                    after_s=_after(response.headers.get("Retry-After")),
                )
        if len(raw) > MOST_BYTES:  # the model goes on and on: its own doing, like one that is cut off
            return {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            raise Failed("the answer is not JSON") from None
        if not isinstance(body, dict):
            raise Failed("the answer is no JSON object")
        return body


def _after(header: str | None) -> float | None:
    """Seconds that the endpoint asks to wait, at most 30; None where it says nothing readable."""
    if header is None or not header.isascii() or not header.isdigit():
        return None
    return min(float(header[:9]), LONGEST_WAIT_S)


def _reply(body: dict[str, Any]) -> Reply:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Reply("")
    content = message.get("content")
    if isinstance(content, list):  # parts, as some servers send them
        content = "".join(
            str(part["text"])
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    text = whole(content) if isinstance(content, str) else ""
    refusal = message.get("refusal")
    ended = choice.get("finish_reason")
    if isinstance(refusal, str) and refusal.strip():
        return Reply(text, refusal=whole(refusal[:20_000]))
    if ended == "content_filter":
        return Reply(text, refusal=text or "(the answer was withheld by a content filter)")
    return Reply(text, truncated=ended == "length")
