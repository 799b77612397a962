"""Tell an exception that says "nobody could answer" from an answer and from a mistake of ours.

Transport errors, full servers and rate limits say nothing about what an agent did, so they are never a
FAIL. Exceptions are told by the names of their classes: nothing of a client library is imported here.
"""

from __future__ import annotations

import errno
import math
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Kind = Literal["rate_limited", "unreachable", "server_error"]

_UNREACHABLE = {
    "builtins.ConnectionError",
    "builtins.TimeoutError",
    "http.client.HTTPException",
    "ssl.SSLError",
    "socket.gaierror",
    "socket.herror",
    "requests.exceptions.ConnectionError",
    "requests.exceptions.Timeout",
    "requests.exceptions.ChunkedEncodingError",
    "urllib3.exceptions.TimeoutError",
    "urllib3.exceptions.ProtocolError",
    "urllib3.exceptions.MaxRetryError",
    "httpx.TransportError",
    "aiohttp.client_exceptions.ClientConnectionError",
    "aiohttp.client_exceptions.ClientPayloadError",
}
_OURS = {"http.client.InvalidURL", "http.client.ImproperConnectionState"}
"""Below one of those classes, and yet a mistake in the request."""

_NETWORK = {
    getattr(errno, name)
    for name in ("ENETDOWN", "ENETUNREACH", "EHOSTDOWN", "EHOSTUNREACH", "ETIMEDOUT", "EADDRNOTAVAIL")
    if hasattr(errno, name)
}
_BUSY = re.compile(r"\b(locked|busy)\b")
"""How SQLite says that somebody else is writing."""

_TRANSIENT = {408, 425, 502, 503, 504}
_ABSENT = {404, 410}


class TryLater(Exception):
    """Raised by a probe: nobody could answer now; `after_s` is how long to stay away, where that is known."""

    def __init__(self, why: str, after_s: float | None = None, kind: Kind = "unreachable") -> None:
        super().__init__(why)
        self.why = why
        self.after_s = after_s if after_s is None or math.isfinite(after_s) else None
        self.kind = kind


class Trouble(NamedTuple):
    """Why there was no answer."""

    kind: Kind
    why: str
    after_s: float | None = None
    """What Retry-After asks for, in seconds; None where it asks for nothing."""


class Absent(NamedTuple):
    """The service did answer: there is no such thing."""

    why: str


def raise_for_trouble(status: int, headers: Mapping[str, str] | None = None) -> None:
    """Raise `TryLater` for a status that is no answer: 408, 425, 429 and 500 to 599.

    For clients that return such a response instead of raising. What Retry-After asks for is kept.

    >>> raise_for_trouble(404)
    >>> raise_for_trouble(429, {"Retry-After": "30"})
    Traceback (most recent call last):
    pyrite.checks.trouble.TryLater: HTTP 429, Retry-After 30 s
    """
    trouble = _of_status(status, headers or {})
    if isinstance(trouble, Trouble):
        raise TryLater(trouble.why, trouble.after_s, trouble.kind)


def explain(exc: Exception, also: Sequence[type[Exception]] = ()) -> Trouble | Absent | None:
    """What an exception of a probe says; None where it is a mistake of the check itself.

    `also` names further classes of exceptions that are transport. An HTTP error of urllib, requests,
    httpx or aiohttp is told by its status: 404 and 410 are answers.
    """
    if isinstance(exc, TryLater):
        return Trouble(exc.kind, exc.why, exc.after_s)
    status, headers = _response(exc)
    if status is not None:
        found = _of_status(status, headers)
        if found is not None:
            return found
    if also and isinstance(exc, tuple(also)):
        return Trouble("unreachable", describe(exc))
    if status is None and _is_transport(exc):
        return Trouble("unreachable", describe(exc))
    return None


def describe(exc: BaseException) -> str:
    """An exception in one bounded line: its class and what it says."""
    try:
        text = str(exc)
    except Exception as broken:
        text = f"(its text cannot be made: {type(broken).__name__})"
    text = " ".join(text.split())[:300]
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__


def _is_transport(exc: Exception) -> bool:
    names = {f"{cls.__module__}.{cls.__qualname__}" for cls in type(exc).__mro__}
    if names & _OURS:
        return False
    if names & _UNREACHABLE:
        return True
    if "urllib.error.URLError" in names:
        # Its reason is a text where the request itself is wrong ("unknown url type").
        return isinstance(getattr(exc, "reason", None), Exception)
    if "sqlite3.OperationalError" in names:
        return _BUSY.search(str(exc)) is not None
    return isinstance(exc, OSError) and exc.filename is None and exc.errno in _NETWORK


def _response(exc: Exception) -> tuple[int | None, Any]:
    """Status and headers of an HTTP error, wherever its library keeps them."""
    for holder in (exc, _attribute(exc, "response")):
        for name in ("status_code", "status", "code"):
            status = _attribute(holder, name)
            if isinstance(status, int) and not isinstance(status, bool) and 100 <= status <= 599:
                headers = _attribute(holder, "headers")
                return status, headers if hasattr(headers, "get") else {}
    return None, {}


def _attribute(holder: Any, name: str) -> Any:
    """An attribute of somebody else's exception; None where there is none, or where reading it raises."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def _of_status(status: int, headers: Any) -> Trouble | Absent | None:
    if status in _ABSENT:
        return Absent(f"HTTP {status}")
    if status != 429 and status not in _TRANSIENT and not 500 <= status <= 599:
        return None
    after = _retry_after(_header(headers, "Retry-After"), _header(headers, "Date"))
    why = f"HTTP {status}" + (f", Retry-After {after:g} s" if after is not None else "")
    if status == 429:
        return Trouble("rate_limited", why, after)
    return Trouble("unreachable" if status in _TRANSIENT else "server_error", why, after)


def _header(headers: Any, name: str) -> str | None:
    value = headers.get(name)
    if value is None:
        value = headers.get(name.lower())
    return value if isinstance(value, str) else None


def _retry_after(value: str | None, date: str | None) -> float | None:
    """Seconds that a Retry-After asks for (RFC 9110, 10.2.3); None where it says nothing sound."""
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    then = _timestamp(text)
    if then is None:
        return None
    # The server's own clock where it tells it: ours may be wrong.
    told = _timestamp((date or "").strip())
    return max(0.0, then - (time.time() if told is None else told))


def _timestamp(text: str) -> float | None:
    if not text or len(text) > 64:
        return None
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
