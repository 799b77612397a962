"""Prompts of judges, a file each; a verdict names the digest of what it was given under."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from pyrite.errors import InputError, UsageError

MAX_BYTES = 64 << 10
CLAIM_LINES = {"strict": "no-claim-line"}
"""Prompt that says what the agent's words are worth -> the same without that line."""


def names() -> list[str]:
    """The prompts that ship."""
    return sorted(
        one.name.removesuffix(".md") for one in files(__name__).iterdir() if one.name.endswith(".md")
    )


def load(name: str) -> str:
    """The text of a prompt that ships, or of a file: a name that ends in .md is a path.

    Raises `UsageError` for an unknown name or a file with another ending, `InputError` for a file that is
    none or too large.
    """
    if name.endswith(".md"):
        return _file(Path(name))
    if "/" in name:
        raise UsageError(f"prompt {name!r} is no .md file", expected="the path of a .md file")
    if name not in names():
        raise UsageError(f"no prompt {name!r}", expected=f"{', '.join(names())}, or the path of a .md file")
    return (files(__name__) / f"{name}.md").read_text(encoding="utf-8")


def _file(path: Path) -> str:
    expected = f"a text file of at most {MAX_BYTES:,} bytes in UTF-8"
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except OSError as exc:
        raise InputError(exc.strerror or str(exc), where=str(path), expected=expected) from exc
    except UnicodeDecodeError as exc:
        raise InputError("not UTF-8", where=str(path), expected=expected) from exc
    if len(data) > MAX_BYTES or not text.strip():
        raise InputError("too long" if text.strip() else "empty", where=str(path), expected=expected)
    return text
