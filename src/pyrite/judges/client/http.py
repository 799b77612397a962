"""POST with bounds: in flight, rates, times, repeats, bytes; no redirect, no cookie, no key in a text.

    transport = Transport("https://…/v1", Limits(), key)
    response = await transport.post("/chat/completions", body)

One `Transport` an endpoint. It works in whatever event loop it is called from, and `aclose()` closes
what it opened there.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from pyrite.errors import UsageError
from pyrite.judges.client.base import AGAIN, CallError, Kind, stopped
from pyrite.judges.client.limits import Limits, Pace
from pyrite.judges.client.secrets import redact, redact_bytes
from pyrite.judges.interrupts import pause, stopping

if TYPE_CHECKING:  # it takes a third of a second to import, and most commands ask no endpoint
    import aiohttp

ENDPOINT: frozenset[Kind] = AGAIN | {"auth", "redirect"}
"""What speaks of the endpoint and not of one request."""
_ORIGIN = re.compile(r"(https?)://(?:[^/?#@\s]*@)?([^/?#\s]+)", re.IGNORECASE)
_RETRIED = frozenset({408, 409, 425, 429})


@dataclass(frozen=True)
class Response:
    """The response that counted, and what it took to get it."""

    body: bytes
    requests: int
    seconds: float


@dataclass
class _Live:
    """What belongs to one event loop."""

    loop: asyncio.AbstractEventLoop
    session: aiohttp.ClientSession
    gate: asyncio.Semaphore
    pace: Pace


@dataclass(eq=False)
class _Failed(Exception):
    """One request that gave nothing."""

    kind: Kind
    what: str
    status: int | None = None
    wait_s: float | None = None
    """What Retry-After says."""
    final: bool = False
    """Whether another request cannot help, whatever the kind."""
    body: bytes = field(default=b"", repr=False)


class Transport:
    """Sends requests to one endpoint. Raises `CallError`, and `UsageError` for a base URL that is none."""

    def __init__(self, base_url: str, limits: Limits | None = None, key: str | None = None) -> None:
        self.base_url = checked_url(base_url)
        self.limits = limits or Limits()
        self._key = key
        self._live: _Live | None = None
        self._failed_in_a_row = 0
        self._last: tuple[Kind, str] | None = None
        proxies = urllib.request.getproxies()
        parts = urlsplit(self.base_url)
        bypass = urllib.request.proxy_bypass(parts.hostname or "")
        self._proxy = None if bypass else proxies.get(parts.scheme)

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        tokens: float = 0.0,
        check: Callable[[bytes], None] | None = None,
    ) -> Response:
        """Send JSON until there is an answer, a failure that stands, or no time or repeat is left.

        `tokens` is an estimate for the token rate. `check` may raise `CallError` of a body that is no
        answer after all (an error inside of a 200): it then counts as one.
        """
        if self._failed_in_a_row >= self.limits.most_failed and self._last is not None:
            kind, what = self._last
            raise CallError(kind, f"not asked: too many calls in a row failed ({what})", where=self.base_url)
        started, requests, live = time.monotonic(), 0, self._here()
        while True:
            left = self.limits.call_s - (time.monotonic() - started)
            try:
                async with asyncio.timeout(left):
                    await live.pace.turn(tokens)
                    await live.gate.acquire()
                if stopping():
                    live.gate.release()
                    raise stopped(requests)
                requests += 1
                try:
                    data = await self._once(live, path, body, started)
                finally:
                    live.gate.release()
                if check is not None:
                    self._checked(check, data)
            except TimeoutError:
                failed = _Failed("timeout", f"no turn within {self.limits.call_s:g} s", final=True)
            except _Failed as exc:
                failed = exc
            else:
                self._failed_in_a_row = 0
                return Response(data, requests, time.monotonic() - started)
            wait = self._wait(failed, requests)
            if wait is None or time.monotonic() - started + wait >= self.limits.call_s:
                self._give_up(failed, requests)
            if failed.kind == "rate_limited":
                live.pace.hold(wait)
            await pause(wait)

    def correct(self, tokens: float) -> None:
        """Tokens that a call used beyond its estimate."""
        if self._live is not None:
            self._live.pace.correct(tokens)

    async def aclose(self) -> None:
        live, self._live = self._live, None
        if live is not None and live.loop is asyncio.get_running_loop():
            await live.session.close()

    def redact(self, text: str) -> str:
        """The text without the key."""
        return redact(text, [self._key])

    # --- one request

    def _here(self) -> _Live:
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._live is None or self._live.loop is not loop:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None),
            )
            gate = asyncio.Semaphore(self.limits.in_flight)
            self._live = _Live(loop, session, gate, Pace(self.limits))
        return self._live

    async def _once(self, live: _Live, path: str, body: bytes, started: float) -> bytes:
        """One request; the whole body of a 2xx, else `_Failed`."""
        import aiohttp

        left = min(self.limits.attempt_s, self.limits.call_s - (time.monotonic() - started))
        try:
            async with (
                asyncio.timeout(left),
                live.session.post(
                    self.base_url + path,
                    data=body,
                    allow_redirects=False,
                    proxy=self._proxy,
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.limits.connect_s),
                ) as response,
            ):
                data = await self._body(response)
                if response.status < 300:
                    return data
                raise self._refused(response, data)
        except TimeoutError as exc:
            raise _Failed("timeout", f"no answer within {left:.3g} s") from exc
        except aiohttp.ClientSSLError as exc:
            what = self.redact(f"{type(exc).__name__}: {exc}")
            raise _Failed("connection", what, final=True) from exc
        except (aiohttp.ClientError, OSError) as exc:
            what = self.redact(f"{type(exc).__name__}: {exc}").rstrip(": ")
            raise _Failed("connection", what) from exc

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        """The body, unpacked, of at most so many bytes."""
        most = self.limits.max_answer_bytes
        pieces: list[bytes] = []
        size = 0
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > most:
                response.close()  # what else would come is not wanted
                raise _Failed("too_large", f"an answer of more than {most} bytes", response.status)
            pieces.append(piece)
        return redact_bytes(b"".join(pieces), [self._key])  # an endpoint may repeat what it was sent

    def _refused(self, response: aiohttp.ClientResponse, data: bytes) -> _Failed:
        """What a status of 300 or more means."""
        status = response.status
        if status < 400:
            location = self.redact(response.headers.get("Location", ""))  # before it is cut
            origin = _ORIGIN.match(location)
            where = f"{origin[1]}://{origin[2]}" if origin is not None else "another path"
            return _Failed("redirect", self.redact(f"{status}: redirected to {where}; not followed"), status)
        said = f"{status}: {self.redact(message(data)) or response.reason or 'no reason given'}"
        wait = retry_after(response.headers)
        return _Failed(kind_of(status), said, status, wait, final=out_of_quota(data), body=data)

    def _checked(self, check: Callable[[bytes], None], data: bytes) -> None:
        try:
            check(data)
        except CallError as exc:
            raise _Failed(exc.kind, self.redact(exc.what), exc.status, final=exc.kind not in AGAIN) from exc

    def _wait(self, failed: _Failed, requests: int) -> float | None:
        """Seconds until the next request; None where there is none."""
        asked, most = failed.wait_s, self.limits.longest_wait_s
        if asked is not None and asked > most:
            failed.what += f"; it asks to wait {asked:.0f} s"
        return None if failed.final else self.limits.pause(failed.kind, requests, asked)

    def _give_up(self, failed: _Failed, requests: int) -> NoReturn:
        if failed.kind in ENDPOINT:
            self._failed_in_a_row += 1
            self._last = failed.kind, failed.what
        times = f" ({requests} requests)" if requests > 1 else ""
        raise CallError(
            failed.kind,
            failed.what + times,
            where=self.base_url,
            status=failed.status,
            requests=requests,
            body=failed.body,
        ) from None


def checked_url(url: str) -> str:
    """A base URL without its last slash. Raises `UsageError`: no http, no host, or a secret in it.

    It may be a key that somebody took for the URL: no error repeats it.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise UsageError("the base URL is none", expected="such as http://127.0.0.1:8000/v1") from exc
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"the base URL of {parts.hostname} has a user, a password or a query in it",
            expected="a plain URL; keys come from an environment variable (--api-key-env NAME)",
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        known = parts.scheme.isalpha() and len(parts.scheme) <= 5 and "://" in url
        what = f"a base URL of {parts.scheme}://" if known else "the base URL is none"
        raise UsageError(what, expected="such as http://127.0.0.1:8000/v1")
    return url.rstrip("/")


def kind_of(status: int) -> Kind:
    """What an HTTP status of 400 and above is."""
    if status in {401, 403}:
        return "auth"
    if status == 429:
        return "rate_limited"
    return "server" if status >= 500 or status in _RETRIED else "rejected"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait: in milliseconds, in seconds or as a date; None if it does not.

    >>> retry_after({"Retry-After": "2"}), retry_after({"Retry-After": "soon"})
    (2.0, None)
    """
    for name, unit in (("retry-after-ms", 1000.0), ("Retry-After", 1.0)):
        text = str(headers.get(name, "")).strip()
        if text.replace(".", "", 1).isascii() and text.replace(".", "", 1).isdigit():
            return float(text) / unit
        try:
            until: datetime = parsedate_to_datetime(text)
            now = datetime.now(UTC)
            if "Date" in headers:  # by the clock of who says so
                now = parsedate_to_datetime(headers["Date"])
            left: float = (until - now).total_seconds()
            return max(0.0, left)
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def error_of(data: bytes) -> dict[str, Any]:
    """The `error` object of a response in any of its usual forms; empty where there is none."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    error = document.get("error", document.get("detail"))
    if isinstance(error, dict):
        return error
    if isinstance(error, str):
        return {"message": error, "code": document.get("code")}
    return document if document.get("object") == "error" else {}


def message(data: bytes) -> str:
    """What an error response says, on one line of at most 300 characters."""
    said = error_of(data).get("message")
    text = said if isinstance(said, str) else data[:2000].decode("utf-8", "replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]


def out_of_quota(data: bytes) -> bool:
    """Whether a 429 says that there is no money left, and not that it was too fast."""
    error = error_of(data)
    return "insufficient_quota" in {error.get("code"), error.get("type")} if _hashable(error) else False


def _hashable(error: dict[str, Any]) -> bool:
    return all(isinstance(error.get(key), str | int | None) for key in ("code", "type"))
