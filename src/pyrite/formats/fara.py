"""Trajectory folders of fara and webeval: one folder a task, read as they lie on disk.

    web_surfer.log  <task>_answer.json  screenshot_1.png …  [times.json]  [task_data.json]  [scores/…]

Both forms of the log are read: one JSON object an action, or lines of text. Everything in a folder is
foreign: bounded, never followed out of it, and what does not fit together is told in `notes`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

from pyrite.errors import InputError
from pyrite.store.bench import inside
from pyrite.store.images import open_image
from pyrite.store.jsonl import read_bounded

End = Literal["terminated", "over budget", "aborted"]
NO_ANSWER = "<no_answer>"
LOG, TIMES, TASK_DATA = "web_surfer.log", "times.json", "task_data.json"
MAX_LOG_BYTES = 64 << 20
MAX_ACTIONS = 2_000
EXPECTED = "a folder with web_surfer.log and one file named *_answer.json"
_SHOT = re.compile(r"^screenshot_?(\d+)\.png$")
_NUMBER = re.compile(r"(\d+)(?=\.\w+$)")
_TEXT_ACTION = re.compile(r"Action #\d+: executing tool '?([\w.]+)'? with arguments (\{.*\})\s*$", re.DOTALL)
_TEXT_THOUGHT = re.compile(r"Thought #\d+:\s*(.*)$", re.DOTALL)
_THOUGHTS = ("screen_description", "state_description", "thoughts", "reasoning")
_RENAMED = {"stop_execution": "terminate", "stop_and_answer_question": "terminate"}
_POINT = frozenset({"coordinate"})
ACTION_SPACE: Mapping[str, frozenset[str]] = {
    "key": frozenset({"keys"}),
    "type": _POINT | {"text", "press_enter", "delete_existing_text"},
    "mouse_move": _POINT,
    "left_click": _POINT,
    "scroll": _POINT | {"pixels"},
    "visit_url": frozenset({"url"}),
    "web_search": frozenset({"query"}),
    "history_back": frozenset(),
    "pause_and_memorize_fact": frozenset({"fact"}),
    "wait": frozenset({"time"}),
    "terminate": frozenset({"status", "answer"}),
}
"""Fara's actions and their arguments. Other agents of the same log have other ones, not known here."""


@dataclass(frozen=True)
class FaraAction:
    """One action as it was logged."""

    name: str
    arguments: Mapping[str, Any]
    """Without what the agent thought."""
    thought: str | None
    """How it described the screen, and why it did what it did."""
    url: str | None = None
    """Of the page before the action."""
    unknown: tuple[str, ...] | None = None
    """As in `records.ActionLine`."""
    own: Mapping[str, Any] | None = None
    """What pyrite has written beside it, where it has written the log."""


@dataclass(frozen=True)
class FaraRun:
    """One trajectory."""

    folder: Path
    task: str | None
    """None where the folder does not say."""
    start_url: str
    actions: tuple[FaraAction, ...]
    screenshots: tuple[Path | None, ...]
    """In order of time; the n-th shows the state before the n-th action, one more the state at the end.
    None: it is listed and not there, or is no picture that can be read."""
    final_answer: str | None
    end: End
    started: float | None
    notes: tuple[str, ...]
    """What does not fit together."""
    unlisted: tuple[Path, ...] = ()
    """Screenshots that lie there and are not in the answer's list."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """What pyrite has written beside the answer, where it has written it."""

    @property
    def name(self) -> str:
        return self.folder.name


def is_run(folder: Path) -> bool:
    """Whether a folder is a trajectory of fara."""
    return (folder / LOG).is_file() or bool(list(folder.glob("*_answer.json")))


def runs(root: Path) -> list[Path]:
    """The trajectories at or below a folder, sorted; `InputError` where there is none."""
    if is_run(root):
        return [root]
    found = sorted(_folders(root)) if root.is_dir() else []
    if not found:
        what = "no trajectory in it" if root.is_dir() else "no such folder"
        raise InputError(what, where=str(root), expected=EXPECTED)
    return found


def _folders(root: Path) -> Iterator[Path]:
    """Folders that hold anything of a trajectory, whole or not: what is no run has to be named."""
    for place, _, files in os.walk(root):
        if any(
            name == LOG or fnmatch(name, "*_answer.json") or _SHOT.match(name) is not None for name in files
        ):
            yield Path(place)


def read(folder: Path) -> FaraRun:
    """Read one trajectory. Raises `InputError` where it cannot be used at all."""
    answers = sorted(folder.glob("*_answer.json"))
    if len(answers) != 1:
        killed = "; a run that was killed leaves none" if not answers else ""
        what = f"{len(answers) or 'no'} files named *_answer.json{killed}"
        raise InputError(what, where=str(folder), expected="one")
    answer = _object(answers[0])
    data = _object(folder / TASK_DATA) if (folder / TASK_DATA).is_file() else {}
    times = _object(folder / TIMES) if (folder / TIMES).is_file() else {}
    actions = _actions(folder / LOG)
    shots, unlisted, notes = _screenshots(folder, answer)
    if not actions and len(shots) > 1:
        raise InputError(
            f"no action in it, and {len(shots)} screenshots",
            where=str(folder / LOG),
            expected="an action a screenshot",
        )
    said = answer.get("final_answer", NO_ANSWER)
    final = said if isinstance(said, str) and said != NO_ANSWER else None
    aborted = answer.get("is_aborted") is True
    end: End = "aborted" if aborted else "terminated" if final is not None else "over budget"
    own = answer.get("pyrite")
    extra = len(shots) - len(actions)
    if extra > 1 or extra < 0:
        notes.append(f"{len(actions)} actions and {len(shots)} screenshots")
    if extra == 0 and end != "terminated" and actions and actions[-1].name != "terminate":
        notes.append(f"{end}: no screenshot shows what the last action, {actions[-1].name[:60]}, led to")
    task = next((data[key] for key in ("task_proposal", "task_summary") if _said(data.get(key))), None)
    start = data.get("init_url")
    started = times.get("start_time")
    real = isinstance(started, int | float) and not isinstance(started, bool) and 0 < started < 1 << 40
    return FaraRun(
        folder,
        task,
        start if isinstance(start, str) else "",
        tuple(actions),
        tuple(shots),
        final or None,
        end,
        float(started) if real else None,  # type: ignore[arg-type]
        tuple(notes),
        tuple(unlisted),
        own if isinstance(own, dict) else {},
    )


def _said(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_bounded(path, MAX_LOG_BYTES))
    except (ValueError, RecursionError):
        raise InputError("not JSON", where=str(path), expected="one JSON object") from None
    if not isinstance(found, dict):
        raise InputError(f"it holds a {type(found).__name__}", where=str(path), expected="one JSON object")
    return found


def _actions(path: Path) -> list[FaraAction]:
    """The structured lines where there are any, else those of text."""
    lines = _lines(path)
    found = [one for line in lines if (one := structured(line)) is not None]
    found = found or _texts(lines)
    if len(found) > MAX_ACTIONS:
        raise InputError(f"{len(found)} actions", where=str(path), expected=f"at most {MAX_ACTIONS}")
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    found = []
    text = read_bounded(path, MAX_LOG_BYTES).decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise InputError("no JSON object", where=f"{path}:{number}", expected="one JSON object a line")
        found.append(body)
    return found


def structured(line: Mapping[str, Any]) -> FaraAction | None:
    """The action of a line of the log; None for a summary, which has none."""
    arguments, name = line.get("arguments"), line.get("action")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    inner = arguments.get("action")
    url = line.get("url")
    own = line.get("pyrite")
    action = _action(inner if isinstance(inner, str) else name, arguments, url if _said(url) else None)
    return replace(action, own=own) if isinstance(own, dict) else action


def _action(
    name: str, arguments: Mapping[str, Any], url: str | None, thought: str | None = None
) -> FaraAction:
    said = [str(arguments[key]) for key in _THOUGHTS if arguments.get(key)]
    kept = {key: value for key, value in arguments.items() if key not in {*_THOUGHTS, "action"}}
    thought = thought or ("\n".join(said) if said else None)
    name = _RENAMED.get(name, name)
    own = isinstance(arguments.get("action"), str)  # so Fara logs; other agents name the action beside
    return FaraAction(name, kept, thought, url, _unknown(name, kept) if own else None)


def _unknown(name: str, arguments: Mapping[str, Any]) -> tuple[str, ...] | None:
    """What Fara's action space does not have."""
    if name not in ACTION_SPACE:
        return ()
    return tuple(sorted(set(arguments) - ACTION_SPACE[name] - {"_call_id"})) or None


def _texts(lines: list[dict[str, Any]]) -> list[FaraAction]:
    found, thought = [], None
    for line in lines:
        message = line.get("message")
        if not isinstance(message, str):
            continue
        if (match := _TEXT_THOUGHT.search(message)) is not None and "Action #" not in message:
            thought = match[1].strip() or None
        elif (match := _TEXT_ACTION.search(message)) is not None:
            try:
                arguments = json.loads(match[2])
            except (ValueError, RecursionError):
                arguments = {"text": match[2]}
            inner = arguments.get("action")
            name = inner if isinstance(inner, str) else match[1]
            url = line.get("url")
            found.append(_action(name, arguments, url if _said(url) else None, thought))
            thought = None
    return found


def _screenshots(folder: Path, answer: Mapping[str, Any]) -> tuple[list[Path | None], list[Path], list[str]]:
    """Those that the answer lists; without a list, those that lie there. In order of their numbers.

    Then those that are not listed, and what is wrong.
    """
    listed = answer.get("screenshots")
    there = {path.name for path in folder.iterdir() if _SHOT.match(path.name)}
    notes, unlisted = [], []
    if isinstance(listed, list) and listed:
        names = [Path(str(name)).name for name in listed[: MAX_ACTIONS + 2]]
        unlisted = [folder / name for name in sorted(there - set(names))[: MAX_ACTIONS + 2]]
        if unlisted:
            notes.append(f"{len(unlisted)} screenshots lie there and are not listed")
    else:
        names = list(there)
    names.sort(key=_number)
    found: list[Path | None] = []
    for name in names:
        path, wrong = inside(folder, name), ""
        if not path.is_file():
            wrong = "listed and not there"
        else:
            try:
                open_image(path)
            except InputError as exc:
                wrong = f"unreadable: {exc.what}"
        found.append(None if wrong else path)
        if wrong:
            notes.append(f"{name} is {wrong}")
    return found, unlisted, notes


def _number(name: str) -> tuple[int, str]:
    match = _NUMBER.search(name)
    return (int(match[1]) if match else -1, name)
