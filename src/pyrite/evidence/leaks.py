"""Search packages for what a judge must not know: plain strings that flow hands over.

In package names, file names and image metadata: source, perturbation, agent name and seed. In the
text too: whole category codes, planted canaries, and values that only the verifier could know.
A code or canary in what the agent itself wrote is told apart: it speaks of one episode, not of the packing.
"""

from __future__ import annotations

import re
import unicodedata
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
    by_agent: bool = False
    """Whether it stands in what the agent wrote alone: its actions, thoughts and final message."""


def scan(evidence: Evidence, secrets: Secrets, paths: BenchPaths, visible: str) -> list[Leak]:
    """All secrets found in one package; `visible` is the text of the view it was packed from."""
    folded = visible.casefold()
    values = [v for v in secrets.values if len(v) >= SHORTEST_VALUE and v.casefold() not in folded]
    texts = (*secrets.texts, *values)
    body = evidence.model_dump(mode="json", exclude={"images", "same_as", "left_out", "mark"})
    names = "\n".join((evidence.package_id, *evidence.images))
    leaks = [Leak(evidence.package_id, "name", s) for s in (*secrets.names, *texts) if _word(s, names)]
    wrote = {key: body.pop(key) for key in ("actions", "final_message")}
    ours, theirs = _Text(leaves(body)), _Text(leaves(wrote))
    said = "\n".join(leaves({**body, **wrote}, keys=False))
    for secret in secrets.texts:
        if secret in ours or secret in theirs:
            leaks.append(Leak(evidence.package_id, "text", secret, by_agent=secret not in ours))
    own = "\n".join(leaves(body, keys=False))
    for secret in values:
        if _word(secret, said):
            leaks.append(Leak(evidence.package_id, "text", secret, by_agent=not _word(secret, own)))
    for digest in dict.fromkeys(evidence.images):
        metadata = _image_metadata(paths.image(digest).read_bytes())
        found = [s for s in (*secrets.names, *texts) if _word(s, metadata)]
        leaks += [Leak(evidence.package_id, f"metadata of image {digest[:8]}", s) for s in found]
    return leaks


class _Text:
    """Texts to look for codes and canaries in: blanks, and letters that nobody sees, hide none."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._plain = _squeezed("\0".join(parts))
        self._folded = self._plain.casefold()

    def __contains__(self, secret: object) -> bool:
        """A canary in any case, a code as it is written."""
        found = _squeezed(str(secret))
        canary = found.casefold().startswith("canary")
        return found.casefold() in self._folded if canary else found in self._plain


_UNSEEN = re.compile(
    r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)


def _squeezed(text: str) -> str:
    """Without blanks and what is not seen; letters of other widths as plain ones."""
    return _UNSEEN.sub("", text if text.isascii() else unicodedata.normalize("NFKC", text))


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
