"""A chat-completions endpoint on loopback that answers wrongly on purpose, and counts.

The request's text names the fault: `fault:500-once`. A text without one gets a good answer. Everything
is written to the socket by hand, so it can be cut, slow, too large or no HTTP at all.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

GOOD = json.dumps({"reason": "the cell shows it", "verdict": "success", "confidence": 0.9})
PARAMETERS = {
    "schema": b'"response_format"',
    "temperature": b'"temperature"',
    "logprobs": b'"logprobs"',
    "seed": b'"seed"',
    "max_tokens": b'"max_tokens"',
}
USAGE = {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}
_NAMED = re.compile(rb"fault:([a-z0-9-]+)")


@dataclass
class Asked:
    """One request, as it came."""

    fault: str
    at: float
    head: str
    body: bytes


def completion(content: Any = GOOD, *, finish: str = "stop", **message: Any) -> bytes:
    """The body of a chat completion."""
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return json.dumps({"id": "c1", "model": "stub-1", "choices": [choice], "usage": USAGE}).encode()


def response(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """HTTP around a body."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def error(status: str, message: str, *headers: str, **more: Any) -> bytes:
    return response(json.dumps({"error": {"message": message, **more}}).encode(), status, *headers)


CONTENT: dict[str, bytes] = {
    "malformed": completion('{"reason": "it shows" "verdict": success}'),
    "prose": completion("I would say that the agent did well here."),
    "fenced": completion(f"```json\n{GOOD}\n```"),
    "two-objects": completion(GOOD + "\n" + GOOD.replace("success", "failure")),
    "empty": completion(""),
    "null": completion(None),
    "refusal": completion(None, refusal="I cannot help with that."),
    "filtered": completion("", finish="content_filter"),
    "tool-call": completion(
        None,
        finish="tool_calls",
        tool_calls=[{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    ),
    "truncated": completion('{"reason": "the cell', finish="length"),
    "language": completion('{"reason": "…", "verdict": "Erfolg", "confidence": 0.9}'),
    "score-string": completion('{"reason": "…", "verdict": "success", "confidence": "very high"}'),
    "nan": completion('{"reason": "…", "verdict": "success", "confidence": NaN}'),
    "invalid-utf8": completion().replace(b"the cell", b"the \xff\xfe cell"),
}
"""Answers that a client hands on as they are: what they are worth is the parser's question."""


class FaultServer:
    """Runs in a thread of its own; `url` is its base URL, `count[fault]` how often a fault was asked for."""

    def __init__(
        self, *, latency_s: float = 0.0, keep: bool = True, refuses: tuple[str, str] | None = None
    ) -> None:
        """`keep=False` counts requests and forgets them: for runs of thousands.

        `refuses` is a parameter that is a 400 where it is sent, and what is said of it then.
        """
        self._keep = keep
        self._refuses = refuses
        self.asked: list[Asked] = []
        self.count: Counter[str] = Counter()
        self.latency_s = latency_s
        self.most_at_once = 0
        self._now = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._seen: defaultdict[bytes, int] = defaultdict(int)
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> FaultServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        self._loop.close()

    def _serve(self) -> None:
        self._loop.run_until_complete(self._main())

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=64 << 20)
        self.port = server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._ready.set()
        await self._stop.wait()
        server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1]) if length else 0)
                self._now += 1
                self.most_at_once = max(self.most_at_once, self._now)
                try:
                    if self.latency_s:
                        await asyncio.sleep(self.latency_s)
                    async for piece in self._answer(head, body):
                        writer.write(piece)
                        await writer.drain()
                finally:
                    self._now -= 1
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError, EOFError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: str, body: bytes) -> AsyncIterator[bytes]:
        found = _NAMED.search(body)
        fault = found[1].decode() if found else "none"
        self.count[fault] += 1
        if self._keep:
            self.asked.append(Asked(fault, time.monotonic(), head, body))
            self._seen[body] += 1
        first = self._seen[body] == 1
        if self._refuses and PARAMETERS[self._refuses[0]] in body:
            yield error("400 Bad Request", self._refuses[1])
        elif fault in CONTENT:
            yield response(CONTENT[fault])
        elif fault in SCRIPTED:
            yield SCRIPTED[fault](first, self)
        elif fault in STREAMED:
            async for piece in STREAMED[fault](first):
                yield piece
        else:
            yield response(completion())


async def _hang(first: bool) -> AsyncIterator[bytes]:
    await asyncio.sleep(3600)
    yield b""


async def _cut(first: bool) -> AsyncIterator[bytes]:
    yield response(completion())[:-40]
    raise EOFError


async def _cut_once(first: bool) -> AsyncIterator[bytes]:
    yield response(completion())[: -40 if first else None]
    if first:
        raise EOFError


async def _closed(first: bool) -> AsyncIterator[bytes]:
    yield b""
    raise EOFError


async def _trickle(first: bool) -> AsyncIterator[bytes]:
    for byte in response(completion()):
        yield bytes([byte])
        await asyncio.sleep(0.2)


async def _huge(first: bool) -> AsyncIterator[bytes]:
    yield response(completion("x" * (5 << 20)))


async def _endless(first: bool) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    while True:
        yield b" " * (1 << 16)


STREAMED: dict[str, Callable[[bool], AsyncIterator[bytes]]] = {
    "hang": _hang,
    "cut": _cut,
    "cut-once": _cut_once,
    "closed": _closed,
    "trickle": _trickle,
    "huge": _huge,
    "endless": _endless,
}


def _again(bad: bytes) -> Callable[[bool, FaultServer], bytes]:
    return lambda first, _: bad if first else response(completion())


def _always(bad: bytes) -> Callable[[bool, FaultServer], bytes]:
    return lambda first, _: bad


def _date() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)


SCRIPTED: dict[str, Callable[[bool, FaultServer], bytes]] = {
    "429-seconds": _again(error("429 Too Many Requests", "slow down", "Retry-After: 1")),
    "429-date": lambda first, _: (
        error("429 Too Many Requests", "slow down", f"Retry-After: {_date()}")
        if first
        else response(completion())
    ),
    "429-long": _always(error("429 Too Many Requests", "come back tomorrow", "Retry-After: 86400")),
    "429-quota": _always(error("429 Too Many Requests", "no money left", code="insufficient_quota")),
    "500-once": _again(error("500 Internal Server Error", "oops")),
    "500": _always(error("500 Internal Server Error", "oops")),
    "503-html": _always(response(b"<html>down</html>", "503 Service Unavailable")),
    "401": lambda first, server: error("401 Unauthorized", f"bad key: {_authorization(server)}"),
    "400": _always(error("400 Bad Request", "context too long", code="context_length_exceeded")),
    "redirect": _always(response(b"", "307 Temporary Redirect", "Location: http://127.0.0.2:9/v1/x")),
    "redirect-key": lambda first, server: response(
        b"", "308 Permanent Redirect", f"Location: http://{_authorization(server).split()[-1]}/x.example/"
    ),
    "redirect-here": lambda first, server: response(
        b"", "302 Found", f"Location: http://127.0.0.1:{server.port}/v1/chat/completions"
    ),
    "html": _always(response(b"<html>welcome</html>")),
    "no-choices": _always(response(b'{"id": "x", "choices": []}')),
    "error-in-200": _always(response(b'{"error": {"message": "overloaded", "code": 503}}')),
    "dear": _always(response(completion().replace(b'"usage": {', b'"usage": {"cost": 1.0, '))),
    "deep": _always(response(b"[" * 100_000)),
    "echo": lambda first, server: response(completion(f"your key is {_authorization(server)}")),
    "azure": _always(error("400 Bad Request", "filtered", code="content_filter")),
}


def _authorization(server: FaultServer) -> str:
    found = re.search(r"authorization: (.*)\r", server.asked[-1].head, re.IGNORECASE)
    return found[1] if found else "none"
