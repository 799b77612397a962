"""Keys are taken out of whatever an endpoint, a program or an error says, however it spells them."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

SECRET_CHARS = 8
"""A shorter key ("none", "EMPTY") is a word and no secret: it is not searched for in texts."""
MARK = "[key]"
_DEPTH = 50
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:$|_)", re.IGNORECASE
)


def redact(text: str, secrets: Iterable[str | None]) -> str:
    """The text without the secrets: plain, JSON- or percent-escaped in any part, as entities, in base64.

    >>> redact("Bearer sk-12\\\\/34\\\\u002b56%2B7", ["sk-12/34+56+7"])
    'Bearer [key]'
    """
    for secret in _sorted(secrets):
        text = _pattern(secret).sub(MARK, text)
    return text


def keys_of_environment() -> list[str]:
    """What the variables hold whose name says that it is a secret, such as OPENAI_API_KEY."""
    return [value for name, value in os.environ.items() if _SECRET_NAME.search(name)]


def redact_bytes(data: bytes, secrets: Iterable[str | None]) -> bytes:
    """The same for bytes of whatever encoding; they are not decoded."""
    for secret in _sorted(secrets):
        data = _byte_pattern(secret).sub(MARK.encode(), data)
    return data


def redact_value(value: Any, secrets: Iterable[str | None], depth: int = 0) -> Any:
    """The same for every string in JSON-like data; keys of objects too."""
    known = tuple(secrets)
    if isinstance(value, str):
        return redact(value, known)
    if depth >= _DEPTH:
        return value
    if isinstance(value, dict):
        return {
            redact_value(key, known, depth + 1): redact_value(one, known, depth + 1)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_value(one, known, depth + 1) for one in value]
    return value


def _sorted(secrets: Iterable[str | None]) -> list[str]:
    """The longest first: one may be a part of another."""
    return sorted({one for one in secrets if one and len(one) >= SECRET_CHARS}, key=len, reverse=True)


def _spelled(char: str) -> str:
    """A character as itself or escaped, once or more often, for JSON, JavaScript, URLs or HTML."""
    forms = [re.escape(char)]
    if char.isascii():
        code = ord(char)
        digits = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{code:02x}")
        forms += [
            rf"\\+(?:u00|u\{{0{{0,4}}|x){digits}\}}?",
            rf"%(?:25){{0,3}}{digits}",
            rf"&#(?:0{{0,4}}{code}|[xX]0{{0,4}}{digits});",
        ]
        if not char.isalnum():
            forms[0] = rf"\\*{re.escape(char)}"
    else:
        forms += [re.escape(json.dumps(char)[1:-1]), *_percent(char)]
    return "(?:" + "|".join(forms) + ")"


def _percent(char: str) -> list[str]:
    return ["".join(f"%{byte:02{kind}}" for byte in char.encode()) for kind in "xX"]


def _in_base64(secret: str) -> list[str]:
    """What of the secret's base64 is the same whatever stands before and behind it."""
    data, found = secret.encode(), []
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = (before * 8 + 5) // 6
        last = (before + len(data)) * 8 // 6
        found.append(coded[first:last])
    return [piece for piece in found if len(piece) >= SECRET_CHARS]


@lru_cache(maxsize=64)
def _source(secret: str) -> str:
    coded = []
    for piece in _in_base64(secret):
        spelled = {"+": r"(?:\\*\+|-|\\+u002[bB]|%2[bB])", "/": r"(?:\\*/|_|\\+u002[fF]|%2[fF])"}
        coded.append("".join(spelled.get(char, char) for char in piece))
    return "|".join(["".join(map(_spelled, secret)), *coded])


@lru_cache(maxsize=64)
def _pattern(secret: str) -> re.Pattern[str]:
    return re.compile(_source(secret))


@lru_cache(maxsize=64)
def _byte_pattern(secret: str) -> re.Pattern[bytes]:
    return re.compile(_source(secret).encode())
