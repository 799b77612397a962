"""Which screens are looked at, what of the record is missing, and the pictures that are sent."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image as Pil

from pyrite.errors import InputError
from pyrite.judges.base import Package
from pyrite.judges.client.base import Image
from pyrite.judges.universal.options import Settings
from pyrite.judges.universal.records import Fault
from pyrite.records import Evidence, ViewAction
from pyrite.store.images import read_image

_ENDING = ("done", "fail", "answer")
_ENDING_RAW = ("terminate", "stop_execution", "stop_and_answer_question", "finished")
"""How a foreign action begins that ends an episode: nothing changes after it."""


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
    return found, _missing(evidence)


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


def _missing(evidence: Evidence) -> list[Fault]:
    """Actions after which there is no screen, and what a budget kept out."""
    left = evidence.left_out
    kept_out = set(left.screens) if left is not None else set()
    found = []
    lost = [
        action.step
        for number, action in enumerate(evidence.actions)
        if action.screen is None
        and action.step not in kept_out
        and not (number == len(evidence.actions) - 1 and ends(action))
    ]
    if lost:
        found.append(Fault("frames", f"no screen after steps {_listed(lost)}", decisive=True))
    if left is not None and left.screens:
        found.append(
            Fault("frames", f"left out for want of room: screens after steps {_listed(left.screens)}")
        )
    if left is not None and left.actions:
        found.append(Fault("frames", f"left out for want of room: steps {_listed(left.actions)}"))
    return found


def _listed(steps: Sequence[int]) -> str:
    shown = ", ".join(map(str, steps[:20]))
    return f"{shown}, … ({len(steps)})" if len(steps) > 20 else shown


class Shots:
    """The pictures of a package as parts of requests: each is read when it is sent and let go after."""

    def __init__(self, package: Package, settings: Settings) -> None:
        self._package, self._settings = package, settings

    def part(self, frame: Frame, side: int = 0) -> Image:
        """A screen, scaled down to `side` where it is larger (0: as it is)."""
        digest = self._package.evidence.images[frame.image]
        if not side and not self._settings.quality:
            path = self._package.locate(digest)
            return Image(digest, "image/png", lambda: read_image(path))
        name = f"{digest} jpeg{self._settings.quality} {side}"
        kind = "image/jpeg" if self._settings.quality else "image/png"
        return Image(
            hashlib.sha256(name.encode()).hexdigest(), kind, lambda: self._encoded(frame.image, side)
        )

    def _encoded(self, image: int, side: int) -> bytes:
        picture = self._package.image(image)
        if side and max(picture.size) > side:
            picture.thumbnail((side, side), Pil.Resampling.LANCZOS)
        out = io.BytesIO()
        if self._settings.quality:
            picture.save(out, "JPEG", quality=self._settings.quality)
        else:
            picture.save(out, "PNG")
        return out.getvalue()

    async def unreadable(self, shown: Sequence[Frame]) -> dict[int, str]:
        """Number -> why, of the screens that cannot be decoded; each picture is tried once."""
        found: dict[str, str | None] = {}
        for frame in shown:
            digest = self._package.evidence.images[frame.image]
            if digest not in found:
                found[digest] = await asyncio.to_thread(self._try, frame.image)
        digests = self._package.evidence.images
        return {one.number: why for one in shown if (why := found[digests[one.image]]) is not None}

    def _try(self, image: int) -> str | None:
        try:
            self._package.image(image)
        except (InputError, OSError) as exc:
            return str(exc)[:200] or type(exc).__name__
        return None
