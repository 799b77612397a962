"""Which screens are looked at, what of the record is missing, and the pictures that are sent."""

from __future__ import annotations

import asyncio
import hashlib
import io
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PIL import Image as Pil

from pyrite.errors import InputError
from pyrite.judges.base import Package
from pyrite.judges.client.base import Image
from pyrite.judges.universal.options import Settings
from pyrite.judges.universal.records import Fault
from pyrite.records import Evidence, ViewAction
from pyrite.store.images import png_size, read_image

_END = b"IEND\xaeB`\x82"
"""How a PNG ends."""
OUT_OF_ROOM = "left out for want of room"
_ENDING = ("done", "fail", "answer")
_ENDING_RAW = ("terminate", "stop_execution", "stop_and_answer_question", "finished")
"""How a foreign action begins that ends an episode: nothing changes after it."""
_STILL = "pause_and_memorize_fact"
"""How a foreign action begins that changes nothing but what the agent knows."""


@dataclass(frozen=True)
class Frame:
    """One screen that is looked at."""

    number: int
    """From 0, in order of time."""
    image: int
    """Its place in the package."""
    first: int
    """Number of the first screen with the same pixels: its own, where it is the first."""
    after: int | None
    """The step that led to it; None for the one at the start."""


def frames(evidence: Evidence, settings: Settings) -> tuple[list[Frame], list[Fault]]:
    """The screens to look at, and what is missing among them."""
    led = {action.screen: action.step for action in evidence.actions if action.screen is not None}
    chosen = list(range(len(evidence.images)))
    if settings.frames == "pre-action" and evidence.actions:
        chosen = _before(evidence.actions)
    firsts: dict[str, int] = {}
    found = []
    for number, image in enumerate(chosen):
        first = firsts.setdefault(evidence.images[image], number)
        found.append(Frame(number, image, first if settings.once else number, led.get(image)))
    return found, _missing(evidence, settings)


def _before(actions: Sequence[ViewAction]) -> list[int]:
    """The last screen before each action; an action without one leaves the earlier screen standing."""
    found, last = [], 0
    for action in actions:
        found.append(last)
        if action.screen is not None:
            last = action.screen
    return found


def ends(action: ViewAction) -> bool:
    """Whether an action ends the episode."""
    words = (action.parameters.get("text") or "").lstrip() if action.action == "raw" else ""
    return action.action in _ENDING or str(words).startswith(_ENDING_RAW)


def open_end(evidence: Evidence, settings: Settings) -> int | None:
    """The last step, where what it led to is part of the record and no screen shows it; else None.

    So ends a run with a screen a step that was stopped on its way, for want of budget for instance.
    """
    last = evidence.actions[-1] if evidence.actions else None
    if last is None or last.screen is not None or settings.frames == "pre-action":
        return None
    raw = str(last.parameters.get("text") or "").lstrip() if last.action == "raw" else ""
    return None if ends(last) or raw.startswith(_STILL) else last.step


def _missing(evidence: Evidence, settings: Settings) -> list[Fault]:
    """Actions taken on no screen, an open end, files that do not fit, what a budget kept out."""
    left = evidence.left_out
    kept_out = set(left.screens) if left is not None else set()
    found = _files(evidence, settings)
    before_last = evidence.actions[:-1]
    lost = [one.step for one in before_last if one.screen is None and one.step not in kept_out]
    if lost:
        found.append(Fault("frames", f"no screen after steps {_listed(lost)}", decisive=True))
    if (step := open_end(evidence, settings)) is not None:
        found.append(Fault("frames", f"no screen after step {step}, the last one"))
    if left is not None:
        for name, steps in (("screens after steps", left.screens), ("steps", left.actions)):
            if steps:
                what = f"{OUT_OF_ROOM}: {name} {_listed(steps)}"
                more = "" if settings.blind else "; E3-whole has them, left_out=told judges without them"
                found.append(Fault("frames", what + more, decisive=not settings.blind))
    return found


def _files(evidence: Evidence, settings: Settings) -> list[Fault]:
    """Files of screens that were not one a state: open where one of them shows what no other shows."""
    record = evidence.screen_files
    if record is None:
        return []
    what = f"{record.files} files of screens for {len(evidence.actions)} actions"
    if record.unseen and settings.blind:
        return [Fault("frames", f"{what}: {record.unseen} were not looked at")]
    if record.unseen:
        what += f": {record.unseen} were not looked at; left_out=told judges without them"
        return [Fault("frames", what, decisive=True)]
    return [Fault("frames", what)]


def _listed(steps: Sequence[int]) -> str:
    shown = ", ".join(map(str, steps[:20]))
    return f"{shown}, … ({len(steps)})" if len(steps) > 20 else shown


class Shots:
    """The pictures of a package as parts of requests: each is read when it is sent and let go after."""

    def __init__(self, package: Package, settings: Settings) -> None:
        self._package, self._settings = package, settings
        self._ahead: dict[tuple[int, int], bytes] = {}

    def part(self, frame: Frame, side: int = 0) -> Image:
        """A screen, scaled down to `side` where it is larger (0: as it is).

        A PNG of at most `jpeg_above` bytes goes as it lies in the package, a larger one as JPEG.
        """
        digest = self._package.evidence.images[frame.image]
        path = self._package.locate(digest)
        if self._plain(path, side):
            return Image(digest, "image/png", partial(read_image, path))
        name = f"{digest} jpeg{self._settings.quality} {side}"
        key = hashlib.sha256(name.encode()).hexdigest()
        return Image(key, "image/jpeg", partial(self._jpeg, frame.image, side))

    def _plain(self, path: Path, side: int) -> bool:
        try:
            width, height, size = png_size(path)
        except (InputError, OSError, struct.error):
            return True  # it will be said when it is read
        return (not side or max(width, height) <= side) and size <= self._settings.jpeg_above

    def _jpeg(self, image: int, side: int) -> bytes:
        ahead = self._ahead.pop((image, side), None)
        return self._encoded(image, side) if ahead is None else ahead

    def _encoded(self, image: int, side: int) -> bytes:
        picture = self._package.image(image)
        if side and max(picture.size) > side:
            picture.thumbnail((side, side), Pil.Resampling.BILINEAR, reducing_gap=2.0)
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=self._settings.quality)
        return out.getvalue()

    async def ahead(self, shown: Iterator[Frame], side: int) -> None:
        """Encode one screen after the other while something else is waited for, until cancelled."""
        for frame in shown:
            path = self._package.locate(self._package.evidence.images[frame.image])
            if not self._plain(path, side):
                with suppress(InputError, OSError, struct.error):
                    made = await asyncio.to_thread(self._encoded, frame.image, side)
                    self._ahead[frame.image, side] = made

    def unreadable(self, shown: Sequence[Frame]) -> dict[int, str]:
        """Number -> why, of the screens that are not there or no whole PNG; what is inside is not decoded."""
        found: dict[str, str | None] = {}
        digests = self._package.evidence.images
        for frame in shown:
            if digests[frame.image] not in found:
                found[digests[frame.image]] = self._wrong(digests[frame.image])
        return {one.number: why for one in shown if (why := found[digests[one.image]]) is not None}

    def _wrong(self, digest: str) -> str | None:
        try:
            path = self._package.locate(digest)
            png_size(path)
            with path.open("rb") as handle:
                handle.seek(-len(_END), io.SEEK_END)
                return None if handle.read() == _END else "it is cut off"
        except (InputError, OSError, struct.error) as exc:
            return str(exc)[:200] or type(exc).__name__
