"""What of an episode may be seen at all: task text, actions, screens, final message.

Source, agent, perturbation, parent, seed, verifier and truth are not in an `EpisodeView`, so no
packing code downstream can leak them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyrite.errors import InputError, UsageError, boundary
from pyrite.records import Meta, ScreenFiles, ViewAction
from pyrite.store.bench import Bench
from pyrite.store.images import read_image

MAX_ACTION_BYTES = 64 << 20
"""Of one actions.jsonl."""

Instructions = Callable[[str], str | None]
"""task_id -> task text, or None where the task is not known."""


@dataclass(frozen=True)
class EpisodeView:
    """The visible part of an episode; `screens[i]` is a file, in order of time."""

    instruction: str
    actions: tuple[ViewAction, ...]
    """`ViewAction.screen` is an index into `screens`."""
    screens: tuple[Path, ...]
    final_message: str | None
    screen_files: ScreenFiles | None = None

    def text(self) -> str:
        """Everything textual in the view, for the leak scan."""
        parts = [self.instruction, self.final_message or ""]
        for action in self.actions:
            parts += [action.action, action.thought or "", action.page or ""]
            parts += map(str, action.parameters.values())
        return "\n".join(parts)

    def mark(self) -> str:
        """What marks the agent's words in a request, the same in every condition: 16 hex digits.

        It is a digest of the task, of every action and screen and of the final message. Who writes one of
        them cannot write the mark there: it would be the digest of a text that it stands in.
        """
        digest = hashlib.sha256()
        for part in (self.instruction, *(one.model_dump_json() for one in self.actions)):
            digest.update(part.encode("utf-8", "replace") + b"\0")
        for path in self.screens:
            try:
                data = read_image(path)
            except (InputError, OSError):  # it is told where it is shown
                data = b""
            digest.update(hashlib.sha256(data).digest())
        digest.update(json.dumps(self.final_message).encode())
        return digest.hexdigest()[:16]


def view(bench: Bench, meta: Meta, instructions: Instructions) -> EpisodeView:
    """Read the visible part of a finished episode.

    Raises `UsageError` when the task text is not known, `InputError` for a screen outside the
    episode, a missing one, or an episode without any.
    """
    paths = bench.paths.episode(meta.episode_id)
    _require_bounded(paths.actions)
    named = (bench.inside(meta.episode_id, f"screens/000.{kind}") for kind in ("webp", "png"))
    screens = [path for path in named if path.is_file()][:1]
    actions = []
    for line in bench.actions(meta.episode_id):
        index = None
        if line.screen is not None:
            screens.append(_screen(bench, meta.episode_id, line.screen))
            index = len(screens) - 1
        actions.append(
            ViewAction(
                step=line.step,
                action=line.action,
                parameters=line.visible_parameters(),
                thought=line.thought,
                screen=index,
                page=line.page,
                unknown=line.unknown,
            )
        )
    if not screens:
        raise InputError(
            "no screen is named",
            where=str(paths.actions),
            expected="at least one action with a `screen`",
        )
    told = _instruction(meta, instructions)
    return EpisodeView(told, tuple(actions), tuple(screens), meta.final_message, meta.screen_files)


def _require_bounded(path: Path) -> None:
    """A pipe would never end; a file of any length would fill the memory."""
    if not path.is_file():
        raise InputError("not there as a file", where=str(path), expected="one action a line")
    size = path.stat().st_size
    if size > MAX_ACTION_BYTES:
        raise InputError(f"{size} bytes", where=str(path), expected=f"at most {MAX_ACTION_BYTES} bytes")


def _screen(bench: Bench, episode_id: str, relative: str) -> Path:
    path = bench.inside(episode_id, relative)
    with boundary(str(path)[:500], expected="a PNG or WebP image"):
        there = path.is_file()
    if not there:
        raise InputError("no such screen", where=str(path), expected="a PNG or WebP image")
    return path


def _instruction(meta: Meta, instructions: Instructions) -> str:
    text = instructions(meta.task_id)
    if text is None:
        raise UsageError(
            f"the task {meta.task_id!r} of episode {meta.episode_id} is not known, so its text is missing",
            expected="a task in <bench>/tasks, in a suite that lock.json names, or below --tasks",
            next="pyrite pack BENCH --tasks FOLDER",
        )
    return text
