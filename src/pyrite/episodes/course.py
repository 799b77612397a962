"""Replay a recorded course with a defect in it, and notice where it leaves the recording before the defect.

Up to the defect the same actions are done as in the recording, so the same screens must come of them:
then what differs at the end is the defect and nothing else. A replay that drifts is dropped and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from pyrite.episodes.agents import Observation, Replayer
from pyrite.errors import InputError
from pyrite.records import Action, ActionLine
from pyrite.store.images import open_image

TOLERANCE = 0.0025
"""Share of pixels that may differ: times of the day on the screen, a cursor; a window or a line is more."""


class Drifted(Exception):
    """A replay left the recorded course before its defect."""


@dataclass(frozen=True)
class Mark:
    """What the recording showed after one action."""

    screen: Path
    error: bool
    """Whether the action could not be carried out."""


def marks(folder: Path, lines: Sequence[ActionLine], actions: Sequence[Action]) -> tuple[Mark, ...]:
    """The marks of the common beginning of a recording and of what is to be replayed, the start first.

    `lines`: the recorded actions that are replayed, in their order. A line without a screen ends the marks.
    """
    start = next((p for p in (folder / "screens/000.webp", folder / "screens/000.png") if p.is_file()), None)
    if start is None:
        return ()
    found = [Mark(start, error=False)]
    for line, action in zip(lines, actions, strict=False):
        if line.screen is None or _asked(line) != _asked(action):
            break
        if not (folder / line.screen).resolve().is_relative_to(folder.resolve()):
            break
        found.append(Mark(folder / line.screen, error=line.error is not None))
    return tuple(found)


def _asked(action: Action) -> dict[str, object]:
    return action.model_dump(include=set(Action.model_fields), exclude_none=True)


@dataclass
class Course(Replayer):
    """A `Replayer` that raises `Drifted` where a screen is not the recorded one."""

    marks: Sequence[Mark] = ()

    def act(self, instruction: str, observation: Observation) -> Action:
        if observation.step < len(self.marks):
            self._compare(self.marks[observation.step], observation)
        return super().act(instruction, observation)

    def _compare(self, mark: Mark, observation: Observation) -> None:
        at = f"after action {observation.step}" if observation.step else "at the start"
        if (observation.error is not None) != mark.error:
            said = observation.error or "it was carried out, and was not in the recording"
            raise Drifted(f"{at}: {said}")
        try:
            share = difference(open_image(mark.screen), observation.screen)
        except InputError as exc:
            raise Drifted(f"{at}: the recorded screen cannot be read: {exc.what}") from None
        if share > TOLERANCE:
            raise Drifted(f"{at}: {share:.1%} of the screen is not as it was recorded")


def difference(one: Image.Image, other: Image.Image) -> float:
    """Share of pixels that differ, 0 to 1; 1 for screens of different sizes."""
    if one.size != other.size:
        return 1.0
    return float((np.asarray(one.convert("RGB")) != np.asarray(other.convert("RGB"))).any(axis=-1).mean())
