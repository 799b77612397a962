"""Read settings in text files as keys and values: git's configuration and X resources.

    read_git_config(home / ".gitconfig")["user.email"]      # ['ana@example.org']
    read_resources(home / ".Xresources")["XTerm*faceSize"]  # '14'

What another program would take from elsewhere (`include`, `#include`) is a value like any other here.
Sources: git-config(1), "Syntax"; XrmGetFileDatabase, X11 Xlib section 15.1.
"""

from __future__ import annotations

import re
from pathlib import Path

from pyrite.checks.package import Unreadable, read_file

MAX_BYTES = 256 << 10
MAX_LINES = 5000
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]{1,100})(?:\s+"((?:[^"\\\n]|\\["\\]){0,300})")?\s*\]')
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,100})[ \t]*(?:=(.*))?")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


def _lines(path: Path) -> list[str]:
    try:
        text = read_file(path, MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("wrong_format", "it is not UTF-8 text") from None
    if "\0" in text:
        raise Unreadable("wrong_format", "it holds zero bytes")
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) > MAX_LINES:
        raise Unreadable("too_large", f"more than {MAX_LINES} lines")
    return lines


def read_git_config(path: Path) -> dict[str, list[str]]:
    """Every value of each key, in order: "section.name" or "section.subsection.name".

    Sections and names are in lower case, as git takes them; how a header is spelled is a key of its own, in
    brackets. Raises `Unreadable` where git would refuse.
    """
    found: dict[str, list[str]] = {}
    section: str | None = None
    lines = iter(_lines(path))
    for line in lines:
        rest = line.strip()
        match = _SECTION.match(rest)
        if match is not None:
            sub = re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else None
            found[match[0]] = []
            section = match[1].lower() + (f".{sub}" if sub is not None else "")
            rest = rest[match.end() :].strip()
        if not rest or rest[0] in "#;":
            continue
        name = _NAME.fullmatch(rest)
        if name is None or section is None:
            raise Unreadable("damaged", f"git does not understand the line {line[:60]!r}")
        value = "true" if name[2] is None else name[2]
        while value.endswith("\\") and not value.endswith("\\\\"):
            value = value[:-1] + next(lines, "")
        found.setdefault(f"{section}.{name[1].lower()}", []).append(_git_value(value))
    return found


def _git_value(text: str) -> str:
    """A value without its quotes, escapes and comment; raises `Unreadable`."""
    parts: list[str] = []
    kept = 0
    quoted = False
    chars = iter(text.strip())
    for char in chars:
        if char == '"':
            quoted = not quoted
            kept = len(parts)
        elif char == "\\":
            escaped = next(chars, "")
            if escaped not in _ESCAPES:
                raise Unreadable("damaged", "git does not understand an escape")
            parts.append(_ESCAPES[escaped])
            kept = len(parts)
        elif char in "#;" and not quoted:
            break
        else:
            parts.append(char)
            if quoted or not char.isspace():
                kept = len(parts)
    if quoted:
        raise Unreadable("damaged", "a quote is not closed")
    return "".join(parts[:kept])


def read_resources(path: Path) -> dict[str, str]:
    """Resource -> value, a later line over an earlier one; comments and broken lines are keys of no value."""
    found: dict[str, str] = {}
    lines = iter(_lines(path))
    for line in lines:
        while line.endswith("\\"):
            line = line[:-1] + next(lines, "")
        if not line.strip():
            continue
        if line.lstrip().startswith("!"):
            found[line.strip()[:200]] = ""
            continue
        name, colon, value = line.partition(":")
        key = re.sub(r"\s", "", name)
        if colon and re.fullmatch(r"[\w.*?#-]{1,300}", key):
            found[key] = value.lstrip()
        else:
            found[f"line {line.strip()[:100]}"] = ""
    return found
