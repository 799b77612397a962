"""What an exception says: nobody could answer, there is no such thing, or the check is wrong."""

from __future__ import annotations

import asyncio
import doctest
import errno
import sqlite3
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, InvalidURL, RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.checks import trouble
from pyrite.checks.trouble import Absent, Trouble, TryLater, describe, explain, raise_for_trouble


class Answers(BaseHTTPRequestHandler):
    """GET /STATUS/RETRY-AFTER, with a Date of 2026-01-01 00:00:00; /0/ hangs up."""

    def do_GET(self) -> None:
        _, status, after = self.path.split("/", 2)
        if status == "0":
            self.close_connection = True
            return
        self.send_response_only(int(status))
        self.send_header("Date", "Thu, 01 Jan 2026 00:00:00 GMT")
        if after:
            self.send_header("retry-after", urllib.parse.unquote(after))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[str, int]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield "127.0.0.1", server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


CASES = [
    ("429/7", Trouble("rate_limited", "HTTP 429, Retry-After 7 s", 7.0)),
    ("429/Thu,%2001%20Jan%202026%2000:00:12%20GMT", Trouble("rate_limited", "", 12.0)),
    ("429/Wed,%2031%20Dec%202025%2000:00:12%20GMT", Trouble("rate_limited", "", 0.0)),
    ("429/soon", Trouble("rate_limited", "HTTP 429", None)),
    ("429/-3", Trouble("rate_limited", "HTTP 429", None)),
    ("429/1e9", Trouble("rate_limited", "HTTP 429", None)),
    ("429/", Trouble("rate_limited", "HTTP 429", None)),
    ("503/2", Trouble("unreachable", "HTTP 503, Retry-After 2 s", 2.0)),
    ("504/", Trouble("unreachable", "HTTP 504", None)),
    ("500/", Trouble("server_error", "HTTP 500", None)),
    ("404/", Absent("HTTP 404")),
    ("410/", Absent("HTTP 410")),
    ("401/", None),
    ("422/", None),
]


def same(found: object, expected: Trouble | Absent | None) -> bool:
    if isinstance(expected, Trouble) and isinstance(found, Trouble):
        return (found.kind, found.after_s) == (expected.kind, expected.after_s) and (
            not expected.why or found.why == expected.why
        )
    return found == expected


@pytest.mark.parametrize(("path", "expected"), CASES)
def test_http_errors_of_the_clients_people_use(
    service: tuple[str, int], path: str, expected: Trouble | Absent | None
) -> None:
    url = f"http://{service[0]}:{service[1]}/{path}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(urllib.error.HTTPError) as of_urllib:
        opener.open(url, timeout=5)
    of_urllib.value.close()
    for exc in (of_urllib.value, asyncio.run(_aiohttp_error(url))):
        assert same(explain(exc), expected), (exc, explain(exc))


async def _aiohttp_error(url: str) -> Exception:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        try:
            async with session.get(url) as answer:
                answer.raise_for_status()
        except aiohttp.ClientError as exc:
            return exc
    raise AssertionError("it answered")


@pytest.mark.parametrize(("path", "expected"), CASES)
def test_http_errors_of_requests(
    service: tuple[str, int], path: str, expected: Trouble | Absent | None
) -> None:
    requests = pytest.importorskip("requests", reason="requests comes with pyrite[ocr]")
    with requests.Session() as session:
        session.trust_env = False
        answer = session.get(f"http://{service[0]}:{service[1]}/{path}", timeout=5)
        with pytest.raises(requests.HTTPError) as raised:
            answer.raise_for_status()
    assert same(explain(raised.value), expected)


def test_a_connection_that_is_lost_or_refused(service: tuple[str, int]) -> None:
    with closing(HTTPConnection(*service, timeout=5)) as connection:
        connection.request("GET", "/0/")
        with pytest.raises(RemoteDisconnected) as lost:
            connection.getresponse()
    with closing(ThreadingHTTPServer(("127.0.0.1", 0), Answers).socket) as taken:
        port = taken.getsockname()[1]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(urllib.error.URLError) as refused:
        opener.open(f"http://127.0.0.1:{port}/", timeout=5)
    hung_up = asyncio.run(_aiohttp_error(f"http://{service[0]}:{service[1]}/0/"))
    refused_too = asyncio.run(_aiohttp_error(f"http://127.0.0.1:{port}/"))
    for raised in (lost.value, refused.value, hung_up, refused_too):
        found = explain(raised)
        assert isinstance(found, Trouble)
        assert found.kind == "unreachable"


def test_a_locked_database_is_trouble_and_a_missing_table_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as writer, closing(sqlite3.connect(path, timeout=0)) as reader:
        writer.execute("CREATE TABLE t (a)")
        writer.commit()
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as locked:
            reader.execute("SELECT * FROM t")
        writer.rollback()
        with pytest.raises(sqlite3.OperationalError) as missing:
            reader.execute("SELECT * FROM other")
    assert isinstance(explain(locked.value), Trouble)
    assert explain(missing.value) is None


@pytest.mark.parametrize(
    "mistake",
    [
        KeyError("id"),
        FileNotFoundError(errno.ENOENT, "no such file", "a.txt"),
        PermissionError(errno.EACCES, "denied", "a.txt"),
        OSError(errno.ENOSPC, "full"),
        InvalidURL("spaces"),
        urllib.error.URLError("unknown url type: shop"),
        aiohttp.InvalidURL("no scheme"),
        ValueError("status"),
    ],
)
def test_mistakes_of_the_check_are_no_trouble(mistake: Exception) -> None:
    assert explain(mistake) is None


def test_further_classes_and_try_later() -> None:
    class Grpc(Exception):
        pass

    assert explain(Grpc("unavailable")) is None
    assert explain(Grpc("unavailable"), [Grpc]) == Trouble("unreachable", "Grpc: unavailable")
    assert explain(TryLater("busy", 3.0)) == Trouble("unreachable", "busy", 3.0)
    assert TryLater("busy", float("nan")).after_s is None
    assert explain(OSError(errno.EHOSTUNREACH, "no route")) is not None


@pytest.mark.parametrize("status", [200, 202, 301, 400, 401, 404, 409])
def test_statuses_that_are_answers(status: int) -> None:
    raise_for_trouble(status, {"Retry-After": "3"})


@given(st.integers(100, 599), st.text(max_size=80), st.text(max_size=80))
def test_any_header_is_read(status: int, after: str, date: str) -> None:
    headers = {"Retry-After": after, "Date": date}
    if status in {408, 425, 429} or status >= 500:
        with pytest.raises(TryLater) as told:
            raise_for_trouble(status, headers)
        assert told.value.after_s is None or 0 <= told.value.after_s < 1e12
    else:
        raise_for_trouble(status, headers)


def test_examples() -> None:
    assert doctest.testmod(trouble) == (0, 2)


def test_describe_is_bounded_and_survives_a_broken_text() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe(ValueError("a\n" * 1000)).startswith("ValueError: a a")
    assert len(describe(ValueError("a\n" * 1000))) < 320
    assert describe(Broken()) == "Broken: (its text cannot be made: RuntimeError)"
