"""A loopback model server that answers from a script and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def said(text: str, **more: Any) -> dict[str, Any]:
    """A chat completion with one answer."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": more.pop("finish_reason", "stop")}
    return {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 2}, **more}


@dataclass
class ModelServer:
    """`answers`: a body, a text, or (status, headers, bytes); the last one is given again and again."""

    url: str
    answers: list[Any]
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def next(self) -> tuple[int, dict[str, str], bytes]:
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, tuple):
            return answer
        body = said(answer) if isinstance(answer, str) else answer
        return 200, {}, json.dumps(body).encode()


@contextmanager
def serving(*answers: Any) -> Iterator[ModelServer]:
    """A server on a free port of loopback, ended afterwards."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.asked.append(body)
            server.keys.append(self.headers.get("Authorization"))
            status, headers, raw = server.next()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None: ...

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = ModelServer(f"http://127.0.0.1:{httpd.server_port}/v1", list(answers))
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
