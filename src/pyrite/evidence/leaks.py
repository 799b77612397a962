"""Search packages for what a judge must not know: plain strings that flow hands over.

In package names, file names and image metadata: source, perturbation, agent name and seed. In the
text too: whole category codes, planted canaries, and values that only the verifier could know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyrite.records import Evidence
from pyrite.store.paths import BenchPaths

SHORTEST_VALUE = 4
"""Values of a verifier's diagnostics that are shorter than this occur by chance."""


@dataclass(frozen=True)
class Secrets:
    """What must not be found, as plain strings."""

    names: tuple[str, ...] = ()
    """Searched in names and image metadata only: they are ordinary words."""
    texts: tuple[str, ...] = ()
    """Searched everywhere, in the text too: category codes and planted canaries."""
    values: tuple[str, ...] = ()
    """Values that the verifier saw: searched everywhere, unless the view's own text holds them."""


@dataclass(frozen=True)
class Leak:
    """One secret found in one package."""

    package_id: str
    where: str
    secret: str


def scan(evidence: Evidence, secrets: Secrets, paths: BenchPaths, visible: str) -> list[Leak]:
    """All secrets found in one package; `visible` is the text of the view it was packed from."""
    folded = visible.casefold()
    values = [v for v in secrets.values if len(v) >= SHORTEST_VALUE and v.casefold() not in folded]
    texts = (*secrets.texts, *values)
    body = evidence.model_dump(mode="json", exclude={"images", "same_as", "left_out"})
    names = "\n".join((evidence.package_id, *evidence.images))
    leaks = [Leak(evidence.package_id, "name", s) for s in (*secrets.names, *texts) if _word(s, names)]
    written = paths.package(evidence.condition, evidence.package_id).read_text(encoding="utf-8")
    decoded, said = "\n".join(leaves(body)), "\n".join(leaves(body, keys=False))
    found = [s for s in secrets.texts if s in written or s in decoded] + [s for s in values if _word(s, said)]
    leaks += [Leak(evidence.package_id, "text", s) for s in found]
    for digest in dict.fromkeys(evidence.images):
        metadata = _image_metadata(paths.image(digest).read_bytes())
        found = [s for s in (*secrets.names, *texts) if _word(s, metadata)]
        leaks += [Leak(evidence.package_id, f"metadata of image {digest[:8]}", s) for s in found]
    return leaks


def _word(secret: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(secret)}(?![A-Za-z0-9])", text, re.IGNORECASE) is not None


def leaves(value: Any, *, keys: bool = True) -> Iterable[str]:
    """Every key and value of a JSON document as text, or the values alone."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if keys:
                yield str(key)
            yield from leaves(inner, keys=keys)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, keys=keys)
    elif isinstance(value, str):
        yield value
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _image_metadata(png: bytes) -> str:
    """Everything in a PNG file that is not pixels: the ancillary chunks as text."""
    position, parts = 8, []
    while position + 8 <= len(png):
        length = int.from_bytes(png[position : position + 4], "big")
        kind = png[position + 4 : position + 8]
        if kind not in {b"IHDR", b"IDAT", b"IEND", b"PLTE"}:
            parts.append(kind + b" " + png[position + 8 : position + 8 + length])
        position += 12 + length
    return b"\n".join(parts).decode("latin-1")
