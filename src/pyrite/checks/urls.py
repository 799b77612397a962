"""Compare addresses by their parts, and query strings by their terms."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote_plus, urlsplit

from pyrite.checks.compared import Compared, Read, settle, shown

_MAX_TEXT = 10_000
_MAX_TERMS = 1000
_PORTS = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\\u00a0\u2028\u2029]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_QUERIES = ("unordered", "ordered", "ignored")


class Address(NamedTuple):
    """An address as it is compared."""

    scheme: str
    user: str
    host: str
    port: int | None
    path: str
    query: tuple[tuple[str, str], ...]
    fragment: str


class Url(NamedTuple):
    """An address: host without regard to case, path whole and exact, terms of the query in any order.

    What is expected may be a path alone (/r/view): then scheme and host are not looked at.

    >>> from pyrite.checks.compare import compare
    >>> compare("http://Shop.example:80/r/view/", "http://shop.example/r/view", Url()).equal
    True
    >>> compare("http://shop.example/r/viewall", "/r/view", Url()).reason
    "the path is '/r/viewall', not '/r/view'"
    """

    query: str = "unordered"
    """unordered | ordered | ignored"""
    fragment: bool = False
    """Whether what follows # counts."""
    scheme: bool = True
    """Whether http and https differ, and one must be named."""
    trailing_slash: bool = False
    """Whether /view/ and /view differ."""

    @property
    def rule(self) -> str:
        parts = ["url"] + ([] if self.query == "unordered" else [f"query {self.query}"])
        parts += [*(["fragment counts"] if self.fragment else []), *([] if self.scheme else ["any scheme"])]
        return ", ".join([*parts, *(["a last / counts"] if self.trailing_slash else [])])

    def compared(self, got: object, expected: object) -> Compared:
        rule, pair = self.rule, (shown(got), shown(expected))
        if self.query not in _QUERIES:
            problem = f"query {shown(self.query)}, known: {', '.join(_QUERIES)}"
            return Compared(None, rule, problem, "expected")
        wanted, found = self._read(expected), self._read(got)
        if isinstance(expected, str) and expected.strip()[:1] == "/" and expected.strip()[:2] != "//":
            rule += ", path alone"
            found = found._replace(values=tuple(one._replace(**_NOWHERE) for one in found.values), sure=True)
        elif not found.sure and wanted.values:
            found = found._replace(values=tuple(_with_scheme(one, wanted.values[0]) for one in found.values))
        compared = settle(rule, found, wanted, Address.__eq__, pair)
        if compared.equal is False and found.values:
            return compared._replace(reason=_difference(found.values[0], wanted.values[0]))
        return compared

    def _read(self, value: object) -> Read:
        if not isinstance(value, str) or len(value) > _MAX_TEXT:
            return Read(problem="it is no address")
        text, sure = value.strip(), True
        if _FORBIDDEN.search(text) or not text:
            return Read(problem="it is no address")
        if "://" not in text and not text.startswith("/"):
            if text[0] in "?#.":
                return Read(problem="it names neither a host nor a path")
            text, sure = f"//{text}", not self.scheme
        try:
            address = self._address(urlsplit(text))
        except ValueError:
            return Read(problem="it is no address")
        return Read((address,), "" if sure else "it names no scheme, such as https://", sure)

    def _address(self, parts: SplitResult) -> Address:
        scheme = parts.scheme.lower()
        port = None if parts.port == _PORTS.get(scheme) else parts.port
        path = _path(parts.path)
        if not self.trailing_slash and len(path) > 1:
            path = path.rstrip("/") or "/"
        query: tuple[tuple[str, str], ...] = ()
        if self.query != "ignored":
            query = _terms(parts.query, "&", (), ordered=self.query == "ordered", decode=True)
        return Address(
            scheme if self.scheme else "",
            (parts.username or "") + (f":{parts.password}" if parts.password is not None else ""),
            _host(parts.hostname or ""),
            port,
            path,
            query,
            parts.fragment if self.fragment else "",
        )


class Query(NamedTuple):
    """A query string: its terms, in any order unless that is declared to count.

    Terms of one name keep their order. `name=` and `name` alone are one, and so is a term that ends in
    one of the words of `empty`.

    >>> from pyrite.checks.compare import compare
    >>> encoded = Query(separator="^", empty=("ISEMPTY",))
    >>> compare("shortISEMPTY^active=true", "active=true^short=", encoded).equal
    True
    """

    separator: str = "&"
    ordered: bool = False
    empty: tuple[str, ...] = ()
    """Words that say, at the end of a term, that its value is empty."""
    decode: bool = True
    """Whether %20 and + are space."""

    @property
    def rule(self) -> str:
        parts = ["query"] + ([f"terms between {self.separator}"] if self.separator != "&" else [])
        parts += [f"empty is = or {' or '.join(self.empty)}"] if self.empty else []
        return ", ".join([*parts, *(["strict order"] if self.ordered else [])])

    def compared(self, got: object, expected: object) -> Compared:
        rule, pair = self.rule, (shown(got), shown(expected))
        found, wanted = self._read(got), self._read(expected)
        compared = settle(rule, found, wanted, tuple.__eq__, pair)
        if compared.equal is False and found.values and sorted(found.values[0]) == sorted(wanted.values[0]):
            return compared._replace(reason=f"{pair[0]}: the same terms as {pair[1]} in another order")
        return compared

    def _read(self, value: object) -> Read:
        if not isinstance(value, str) or len(value) > _MAX_TEXT or not self.separator:
            return Read(problem="it is no query string")
        text = value.strip()
        text = text.removeprefix("?") if self.separator == "&" else text
        try:
            terms = _terms(text, self.separator, self.empty, ordered=self.ordered, decode=self.decode)
        except ValueError as exc:
            return Read(problem=str(exc))
        return Read((terms,))


_NOWHERE: dict[str, Any] = {"scheme": "", "user": "", "host": "", "port": None}


def _with_scheme(one: Address, other: Address) -> Address:
    """An address that names no scheme, as if it had that of another."""
    port = None if one.port == _PORTS.get(other.scheme) else one.port
    return one._replace(scheme=other.scheme, port=port)


def _terms(
    text: str, separator: str, empty: tuple[str, ...], *, ordered: bool, decode: bool
) -> tuple[tuple[str, str], ...]:
    parts = [part for part in text.split(separator) if part]
    if len(parts) > _MAX_TERMS:
        raise ValueError(f"it has more than {_MAX_TERMS} terms")
    found: list[tuple[str, str]] = []
    for part in parts:
        name, sign, value = part.partition("=")
        word = "" if sign else next((word for word in empty if word and name.endswith(word)), "")
        name = name.removesuffix(word)
        found.append((unquote_plus(name), unquote_plus(value)) if decode else (name, value))
    return tuple(found if ordered else sorted(found, key=lambda term: term[0]))


def _host(host: str) -> str:
    host = host.lower().removesuffix(".")
    if host.isascii() or len(host) > 253:
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def _path(path: str) -> str:
    """Without what two spellings of one path may differ in (RFC 3986, section 6.2.2)."""

    def canonical(match: re.Match[str]) -> str:
        char = chr(int(match[1], 16))
        return char if char in _UNRESERVED else match[0].upper()

    kept: list[str] = []
    segments = _ESCAPE.sub(canonical, path).split("/")
    for segment in segments:
        if segment == ".." and len(kept) > 1:
            kept.pop()
        if segment not in {".", ".."}:
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/".join(kept) or "/"


def _difference(found: Address, wanted: Address) -> str:
    name = next(name for name in Address._fields if getattr(found, name) != getattr(wanted, name))
    one, other = getattr(found, name), getattr(wanted, name)
    if name == "query":
        one, other = ("&".join(f"{key}={value}" for key, value in terms) for terms in (one, other))
    return f"the {name} is {shown(one)}, not {shown(other)}"
