"""One episode as a page shows it, read from its folder and, where there is one, from its bench.

What is missing or broken becomes a reason in the place of what it would have told; only a folder that
is no episode is an error.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from PIL import Image

from pyrite.errors import InputError, PyriteError, UsageError, boundary
from pyrite.measure.table import FAIL, INDETERMINATE, PASS
from pyrite.records import ActionLine, Facts, Meta, Outcome, Truth
from pyrite.report.frames import Frame, Frames
from pyrite.report.overlay import Overlay, in_words, overlay
from pyrite.report.screens import Difference, difference, last_screen
from pyrite.report.verdicts import Spoken, of_episode
from pyrite.store import labels
from pyrite.store.bench import Bench, inside
from pyrite.store.jsonl import read_lines, read_record
from pyrite.store.paths import EpisodePaths

FIRST_STEPS, LAST_STEPS = 400, 100
"""Steps that are shown; of more, the first and the last of them."""
TEXT_LIMIT = 300
_ENDS = {"done", "fail", "answer", "wait"}
_TRUTH = {Outcome.PASS: PASS, Outcome.FAIL: FAIL, Outcome.INDETERMINATE: INDETERMINATE}

Found = TypeVar("Found")


@dataclass(frozen=True)
class Place:
    """An episode folder, and the bench that it lies in."""

    folder: Path
    bench: Bench | None
    meta: Meta


@dataclass(frozen=True)
class Step:
    """One action, and the screen after it; step 0 is the start."""

    number: int
    action: str
    words: str
    frame: Frame | None
    reason: str
    """Why there is no frame."""
    unchanged: bool
    """The screen is the same picture as the one before it."""
    thought: str = ""
    error: str = ""


@dataclass(frozen=True)
class Look:
    """The step of interest: its action on the screen that it was taken from."""

    number: int
    action: str
    words: str
    frame: Frame | None
    reason: str
    overlay: Overlay | None
    final: bool
    """The last action before the end, for nobody asked for another."""


@dataclass(frozen=True)
class Last:
    """The last screen, and what differs from that of the episode it was made from."""

    frame: Frame | None
    reason: str
    parent: str | None = None
    difference: Difference | None = None
    not_compared: str = ""


@dataclass
class Episode:
    """Everything that the page shows; what could not be read has its reason in `problems`."""

    place: Place
    frames: Frames
    steps: list[Step] = field(default_factory=list)
    left_out: int = 0
    """Steps between the first and the last ones that are not shown."""
    look: Look | None = None
    last: Last = field(default_factory=lambda: Last(None, "no screen"))
    truth: Truth | None = None
    facts: Facts | None = None
    verdicts: list[Spoken] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    """actions, truth, facts or verdicts -> why it is not here, or not all of it."""


@dataclass
class _Line:
    """What is kept of one line of actions.jsonl."""

    number: int
    action: str
    words: str
    screen: str | None
    thought: str
    error: str


@dataclass
class _Script:
    """actions.jsonl as it was read: bounded, whatever its length."""

    first: list[_Line] = field(default_factory=list)
    last: deque[_Line] = field(default_factory=lambda: deque(maxlen=LAST_STEPS))
    count: int = 0
    chosen: ActionLine | None = None
    chosen_from: str | None = None
    """The screen that the chosen action was taken from."""
    numbers: tuple[int, int] | None = None
    last_screen: str | None = None


def locate(episode: Path) -> Place:
    """The episode that a path names; `UsageError` where it is none, `InputError` for a broken meta.json."""
    path = Path(os.path.abspath(episode))
    if not (path / "meta.json").is_file():
        raise _no_episode(episode)
    place = episode if episode.parent.name == "episodes" else path
    if place.parent.name == "episodes" and not path.is_symlink():
        bench = Bench(place.parent.parent)
        return Place(place, bench, bench.meta(path.name))
    return Place(episode, None, read_record(path / "meta.json", Meta))


def read_episode(place: Place, *, step: int | None = None) -> Episode:
    """Read one episode for its page; `step` is the step of interest, else the last before the end."""
    paths = EpisodePaths(place.folder)
    found = Episode(place, Frames(place.folder))
    script = _Script()
    problem = _trying(lambda: _read_script(paths.actions, script, step))[1]
    if problem:
        found.problems["actions"] = problem
    if step is not None and script.chosen is None:
        low, high = script.numbers or (0, 0)
        raise UsageError(
            f"no step {step}",
            where=str(paths.actions),
            expected=f"a step from {low} to {high}" if high else "an episode with steps",
            next=f"pyrite view {place.folder}",
        )
    start = _start(place.folder)
    found.steps = list(_steps(script, start, found.frames))
    found.left_out = script.count - len(script.first) - len(script.last)
    found.look = _look(script, found.frames, final=step is None)
    found.last = _last(place, script.last_screen or start, found.frames)
    _read_facts(found, paths)
    _read_truth(found, paths)
    _read_verdicts(found)
    return found


def _no_episode(episode: Path) -> UsageError:
    if not episode.is_dir():
        what = "not a folder" if episode.exists() else "no such folder"
        following = "pyrite demo"
    elif (episode / "episodes").is_dir():
        ids = Bench(episode).episode_ids()
        what = "this is a bench, not an episode"
        following = f"pyrite view {episode / 'episodes' / ids[0]}" if ids else "pyrite demo"
    else:
        what, following = "no meta.json here: not a finished episode", "pyrite demo"
    return UsageError(
        what,
        where=str(episode),
        expected="an episode folder, <bench>/episodes/<episode_id>, with a meta.json",
        next=following,
    )


def _trying(read: Callable[[], Found]) -> tuple[Found | None, str]:
    """What was read, or None and the reason: a broken part of an episode does not stop its page."""
    try:
        with boundary(""):
            return read(), ""
    except PyriteError as exc:
        return None, f"{Path(exc.where).name}: {exc.what}" if exc.where else exc.what


def _read_script(path: Path, script: _Script, step: int | None) -> None:
    if not path.is_file():
        raise InputError("no actions.jsonl", expected="one action a line")
    before = _start(path.parent)
    for line in read_lines(inside(path.parent, path.name), ActionLine):
        script.count += 1
        low, high = script.numbers or (line.step, line.step)
        script.numbers = min(low, line.step), max(high, line.step)
        if line.step == step if step is not None else line.action not in _ENDS or script.chosen is None:
            script.chosen, script.chosen_from = _light(line), before
        kept = _Line(
            line.step,
            line.action[:80],
            in_words(line),
            line.screen,
            (line.thought or "")[: TEXT_LIMIT + 1],
            (line.error or "")[: TEXT_LIMIT + 1],
        )
        (script.first if len(script.first) < FIRST_STEPS else script.last).append(kept)
        before = line.screen
        script.last_screen = line.screen or script.last_screen


def _light(line: ActionLine) -> ActionLine:
    """The line without what is not drawn: an agent may write megabytes into it."""
    return line.model_copy(update={"thought": None, "error": None, "text": line.text and line.text[:2000]})


def _start(folder: Path) -> str | None:
    """The screen before the first action."""
    names = ("screens/000.webp", "screens/000.png")
    return next((name for name in names if (folder / name).is_file()), None)


def _steps(script: _Script, start: str | None, frames: Frames) -> Iterator[Step]:
    shown = frames.thumb(start) if start else "no screen before the first action"
    before = shown if isinstance(shown, Frame) else None
    yield Step(0, "start", "", before, "" if isinstance(shown, Frame) else shown, False)
    for line in (*script.first, *script.last):
        found = frames.thumb(line.screen) if line.screen is not None else "the step names no screen"
        frame = found if isinstance(found, Frame) else None
        yield Step(
            line.number,
            line.action,
            line.words,
            frame,
            "" if isinstance(found, Frame) else found,
            frame is not None and before is not None and frame.key == before.key,
            line.thought,
            line.error,
        )
        before = frame


def _look(script: _Script, frames: Frames, *, final: bool) -> Look | None:
    line = script.chosen
    if line is None:
        return None
    name = script.chosen_from
    found = frames.large(name) if name is not None else "the step before it names no screen"
    if isinstance(found, str):
        return Look(line.step, line.action, in_words(line), None, found, None, final)
    frame, _ = found
    drawn = overlay(line, frame.width, frame.height)
    return Look(line.step, line.action, in_words(line), frame, "", drawn, final)


def _last(place: Place, name: str | None, frames: Frames) -> Last:
    found = frames.large(name) if name is not None else "the episode names no screen"
    if isinstance(found, str):
        return Last(None, found)
    frame, image = found
    parent = place.meta.parent
    if parent is None or place.bench is None:
        return Last(frame, "")
    other, problem = _trying(lambda: _parent_screen(place, parent))
    if other is None:
        return Last(frame, "", parent, None, problem)
    compared = difference(other, image)
    return Last(frame, "", parent, compared, "" if compared else "the sizes of the screens differ")


def _parent_screen(place: Place, parent: str) -> Image.Image:
    bench = place.bench
    if bench is None or parent not in bench.episode_ids():
        raise InputError("the episode that it was made from is not in this bench")
    return last_screen(bench, parent)


def _read_facts(found: Episode, paths: EpisodePaths) -> None:
    if not paths.facts.is_file():
        found.problems["facts"] = "no final_facts.json"
        return
    found.facts, problem = _trying(lambda: read_record(inside(paths.root, paths.facts.name), Facts))
    if problem:
        found.problems["facts"] = problem


def _read_truth(found: Episode, paths: EpisodePaths) -> None:
    if not paths.truth.is_file():
        found.problems["truth"] = "not verified yet, no gt.json"
        return
    truth, problem = _trying(lambda: read_record(inside(paths.root, paths.truth.name), Truth))
    bench = found.place.bench
    if truth is not None and bench is not None:
        people, problem = _trying(lambda: labels.read(bench))
        truth = people.joined(truth) if people is not None else truth
    found.truth = truth
    if problem:
        found.problems["truth"] = problem


def _read_verdicts(found: Episode) -> None:
    bench = found.place.bench
    if bench is None:
        found.problems["verdicts"] = "the folder does not lie in a bench, which is where verdicts are"
        return
    truth = INDETERMINATE if found.truth is None else _TRUTH[found.truth.outcome]
    verdicts, problem = _trying(lambda: of_episode(bench, found.place.meta.episode_id, truth))
    found.verdicts = verdicts or []
    if problem:
        found.problems["verdicts"] = problem
