"""A page that is one file under a name of the user's choice: it replaces only its own kind."""

from __future__ import annotations

from pathlib import Path

from pyrite.errors import UsageError
from pyrite.store.jsonl import write_bytes


def require_page(out: Path, kind: str, *, force: bool = False) -> None:
    """Raise `UsageError` for a place that cannot be a page, and for a file that is no page of `kind`.

    `kind` ("audit", "check") stands in the page as its generator, `pyrite KIND`.
    """
    if out.is_dir() or out.suffix.lower() not in {".html", ".htm"}:
        raise UsageError("not the name of a page", where=str(out), expected="a name that ends in .html")
    if not out.parent.is_dir():
        raise UsageError("no such folder", where=str(out.parent), expected="a folder that is there")
    if not out.exists() or force:
        return
    with out.open("rb") as file:
        if f'content="{mark(kind)}"'.encode() in file.read(1024):
            return
    raise UsageError(
        f"a file is there that is not the page of {'an' if kind[0] in 'aeiou' else 'a'} {kind}",
        where=str(out),
        expected="another name, or --force to overwrite it",
    )


def mark(kind: str) -> str:
    """What a page of this kind says that it was made by."""
    return f"pyrite {kind}"


def write_page(out: Path, kind: str, html: str, *, force: bool = False) -> int:
    """Write a page, whole or not at all, and say how many bytes it has."""
    require_page(out, kind, force=force)
    data = html.encode()
    write_bytes(out, data)
    return len(data)
