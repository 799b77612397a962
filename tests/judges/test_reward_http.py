"""`reward-http` against a server on loopback: what it is sent, and what becomes of what it answers."""

from __future__ import annotations

import asyncio
import base64
import http.server
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.judges.packages import package, typed

from pyrite.errors import UsageError
from pyrite.judges.base import Package, Reply
from pyrite.judges.client.base import CallError
from pyrite.judges.client.calls import Calls, Options
from pyrite.judges.client.limits import Limits
from pyrite.judges.reward_http import RewardHttp
from pyrite.store.images import pixels_sha256

QUICK = Limits(attempt_s=1.0, call_s=5.0, retries=2, backoff_s=0.01)


class Server:
    """Answers each POST with the next of `answers`, the last one for ever: a status and a body."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.asked: list[tuple[dict[str, Any], str | None]] = []
        outer, left = self, list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((body, self.headers.get("Authorization")))
                status, said = left.pop(0) if len(left) > 1 else left[0]
                said = said.replace(b"ID", body["id"].encode())
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/score"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    """Servers that are closed at the end."""
    made: list[Server] = []
    yield made
    for server in made:
        server.close()


def ask(url: str, seen: Package, **options: str) -> Reply:
    calls = Calls(Options(limits=QUICK, cache=False))

    async def one() -> Reply:
        try:
            return await RewardHttp(url, **options, calls=calls).judge(seen, 1)
        finally:
            await calls.aclose()

    return asyncio.run(one())


def test_a_server_sees_the_package_and_its_score_is_kept_raw(
    servers: list[Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCORE_KEY", "a-key-of-this-test")
    servers.append(server := Server((200, b'{"id": "ID", "score": -17.5, "reason": "r"}')))
    seen = package(tmp_path, screens=2, condition="E2+claim", actions=(typed(),), final_message="done")
    found = ask(server.url, seen, api_key_env="SCORE_KEY", model_name="mine-7b")
    assert (found.score, found.verdict, found.status, found.reason) == (-17.5, None, "ok", "r")
    assert (found.model, found.usage) == ("mine-7b", {"requests": 1})
    ((body, key),) = server.asked
    assert key == "Bearer a-key-of-this-test"
    assert (body["model"], body["condition"], body["final_message"]) == ("mine-7b", "E2+claim", "done")
    for one in body["images"]:
        image = Image.open(io.BytesIO(base64.b64decode(one["base64"])))
        assert pixels_sha256(image) == one["sha256"]
    assert "path" not in body["images"][0]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"0.5", "malformed"),
        (b'{"score": 0.5', "malformed"),
        (b'{"score": "0.5"}', "off_schema"),
        (b'{"score": NaN}', "off_schema"),
        (b'{"reward": 0.5}', "off_schema"),
        (b'{"id": "another", "score": 0.5}', "off_schema"),
    ],
)
def test_what_cannot_be_read_is_counted_and_not_asked_for_again(
    servers: list[Server], tmp_path: Path, body: bytes, status: str
) -> None:
    servers.append(server := Server((200, body)))
    found = ask(server.url, package(tmp_path))
    assert (found.status, found.score) == (status, None)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b"<html>sign in</html>",
        b'{"error": {"message": "no model is loaded"}}',
        b'{"error": "CUDA out of memory"}',
        b'{"error": true}',
        b'{"id": "ID", "detail": [{"msg": "field required"}]}',
        b'{"error": {"score": 1}}',
    ],
)
def test_a_200_of_something_else_than_the_judge_is_no_verdict(
    servers: list[Server], tmp_path: Path, body: bytes
) -> None:
    servers.append(server := Server((200, body)))
    with pytest.raises(CallError) as caught:
        ask(server.url, package(tmp_path))
    assert (caught.value.kind, caught.value.status) == ("protocol", 200)
    assert len(server.asked) == 3, "it is asked again, as a model is"
    servers.append(server := Server((200, body), (200, b'{"score": 2, "error": null}')))
    assert ask(server.url, package(tmp_path)).score == 2


def test_a_server_in_trouble_gives_no_verdict_and_one_that_recovers_gives_one(
    servers: list[Server], tmp_path: Path
) -> None:
    servers += [down := Server((500, b"oops")), shaky := Server((503, b""), (200, b'{"score": 1}'))]
    with pytest.raises(CallError) as caught:
        ask(down.url, package(tmp_path))
    assert (caught.value.kind, len(down.asked)) == ("server", 3)
    assert ask(shaky.url, package(tmp_path)).usage == {"requests": 2}


def test_calls_are_counted_with_those_of_models(servers: list[Server], tmp_path: Path) -> None:
    servers.append(server := Server((503, b""), (200, b'{"score": 1}'), (404, b"")))
    calls = Calls(Options(limits=QUICK))
    judge = RewardHttp(server.url, calls=calls)

    async def twice() -> None:
        await judge.judge(package(tmp_path), 1)
        with pytest.raises(CallError, match="404"):
            await judge.judge(package(tmp_path), 2)
        await calls.aclose()

    asyncio.run(twice())
    assert (calls.spent.calls, calls.spent.failed, calls.spent.requests) == (1, 1, 3)
    assert (calls.spent.without_usage, calls.spent.without_cost) == (1, 1), "unknown, and not zero"


def test_options_are_checked_before_anything_is_sent() -> None:
    calls = Calls(Options(limits=QUICK))
    for url in ("", "ftp://x/y", "http://user:word@127.0.0.1/x", "127.0.0.1:80"):
        with pytest.raises(UsageError):
            RewardHttp(url, calls=calls)
    with pytest.raises(UsageError, match="NOT_SET_HERE"):
        RewardHttp("http://127.0.0.1:9/x", api_key_env="NOT_SET_HERE", calls=calls)
    judge = RewardHttp("http://127.0.0.1:9/x", conditions="final", calls=calls)
    assert [judge.supports(name) for name in ("E1-final", "E2-last4")] == [True, False]
