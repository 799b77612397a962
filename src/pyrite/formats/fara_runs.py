"""Episodes of a bench as trajectory folders of fara: what `fara` reads, written.

What fara's own words can say is said in them. What they cannot stands beside it under `pyrite`, which other
readers pass over: so reading a folder back gives the same actions, screens and end, also of a desktop
episode, and no episode comes back as another kind of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from pyrite.errors import InputError
from pyrite.formats.fara import LOG, NO_ANSWER, TASK_DATA, TIMES, structured
from pyrite.formats.fara_bench import START, action_line, ended_by
from pyrite.pool import Silent, Watch
from pyrite.records import ActionLine, Meta
from pyrite.store.bench import Bench, inside
from pyrite.store.images import open_image, read_image, save_png
from pyrite.store.jsonl import write_bytes, write_json
from pyrite.suites.lookup import Lookup

PNG = b"\x89PNG"
_PLAIN = {"click": "left_click", "move": "mouse_move", "goto": "visit_url"}
_ENDS = {"done": "success", "fail": "failure"}


@dataclass
class Trajectories:
    """What became of the episodes."""

    out: str
    new: list[str] = field(default_factory=list)
    """Folders."""
    kept: int = 0
    """Folders that were there: nothing is written to them."""
    broken: dict[str, str] = field(default_factory=dict)
    """Episodes that are no trajectory, with the reason."""


def write_runs(
    bench: Bench, out: Path, *, tasks: Sequence[Path] = (), watch: Watch | None = None
) -> Trajectories:
    """Write each episode as a folder; its answer file, without which it is no trajectory, comes last."""
    names = bench.require_episodes()
    lookup, done = Lookup(bench, tasks), Trajectories(str(out))
    watch = watch or Silent()
    watch.total = len(names)
    for name in names:
        try:
            meta = bench.meta(name)
            label = meta.origin_id or name
            folder = inside(out, label)
            if list(folder.glob("*_answer.json")):
                done.kept += 1
            else:
                _write(bench, meta, folder, lookup.instruction(meta.task_id))
                done.new.append(label)
        except InputError as exc:
            done.broken[name] = f"{exc.where}: {exc.what}" if exc.where else exc.what
        watch.tick(name)
    return done


def _write(bench: Bench, meta: Meta, folder: Path, instruction: str | None) -> None:
    if instruction is None:
        raise InputError(
            f"the task {meta.task_id!r} is not known", expected="a task of the bench, or --tasks"
        )
    lines = bench.actions(meta.episode_id)
    screens = _screens(bench, meta, lines)
    if screens[0] is None:
        raise InputError("there is no screen before the first action", expected="screens/000.png or .webp")
    named = []
    for number, screen in enumerate(screens, 1):
        named.append(f"screenshot_{number}.png")
        if screen is not None:
            _picture(screen, folder / named[-1])
    log = "".join(json.dumps(_logged(line, meta)) + "\n" for line in lines)
    write_bytes(folder / LOG, log.encode())
    started = datetime.fromisoformat(meta.created_at).timestamp()
    write_json(folder / TIMES, {"start_time": started, "end_time": None, "duration": None})
    text, start = task_and_start(instruction)
    task = {"task_proposal": text, "task_summary": text, "init_url": start}
    write_json(folder / TASK_DATA, task)
    write_json(folder / f"{folder.name}_final_answer.json", _answer(meta, named))


def task_and_start(instruction: str) -> tuple[str, str]:
    """The text of a task and its start page, as an import has put them together.

    >>> task_and_start("Find a kettle\\n\\nStart page: https://shop.example/")
    ('Find a kettle', 'https://shop.example/')
    >>> task_and_start("Find a kettle")
    ('Find a kettle', '')
    """
    text, mark, start = instruction.rpartition(START)
    return (text, start) if mark and "\n" not in start else (instruction, "")


def _screens(bench: Bench, meta: Meta, lines: Sequence[ActionLine]) -> list[Path | None]:
    """The screen before the first action and after each; None where there is none. None stands at the end."""
    first = (bench.inside(meta.episode_id, f"screens/000.{kind}") for kind in ("png", "webp"))
    found = [next((path for path in first if path.is_file()), None)]
    for line in lines:
        found.append(None if line.screen is None else bench.inside(meta.episode_id, line.screen))
    while len(found) > 1 and found[-1] is None:
        found.pop()
    return found


def _picture(screen: Path, to: Path) -> None:
    """A PNG as it lies there, byte by byte; another picture as a PNG of the same pixels."""
    data = read_image(screen)
    if data.startswith(PNG):
        write_bytes(to, data)
    else:
        save_png(open_image(screen), to)


def _logged(line: ActionLine, meta: Meta) -> dict[str, Any]:
    """A line of web_surfer.log; `pyrite` where its words would not be read as this action."""
    name, arguments = _words(line)
    body = {
        "timestamp": line.at or meta.created_at,
        "type": "WebSurferEvent",
        "source": "WebSurfer",
        "message": f"{name}( {json.dumps(arguments)} )",
        "url": line.page or "",
        "action": name,
        "arguments": {**arguments, **({} if line.thought is None else {"thoughts": line.thought})},
    }
    plain = structured(body)
    if plain is None or action_line(line.step, plain, line.screen) != line:
        body["pyrite"] = own(line)
    return body


def own(line: ActionLine) -> dict[str, Any]:
    """What an action is besides its place and its screen."""
    return line.model_dump(mode="json", exclude={"step", "screen"}, exclude_none=True)


def _words(line: ActionLine) -> tuple[str, Mapping[str, Any]]:
    """An action in fara's words; one that has no such words under its own name."""
    if line.action == "raw":
        name, _, said = (line.text or "").partition(" ")
        try:
            arguments = json.loads(said, parse_constant=_constant)
        except (ValueError, RecursionError):
            arguments = None
        known = isinstance(arguments, dict) and name
        return (name, arguments) if known else ("raw", {"text": line.text})
    if line.action in _ENDS:
        return "terminate", {"status": _ENDS[line.action]}
    given = line.visible_parameters()
    if {"x", "y"} <= set(given):
        given = {"coordinate": [given.pop("x"), given.pop("y")], **given}
    return _PLAIN.get(line.action, line.action), given


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _answer(meta: Meta, named: Sequence[str]) -> dict[str, Any]:
    """The answer file: terminated with what was said, over budget, or aborted."""
    aborted = meta.ended_by == "environment_lost"
    spoken = meta.ended_by in {"done", "fail", None} and not aborted
    said = (meta.final_message or "") if spoken else NO_ANSWER
    body: dict[str, Any] = {
        "final_answer": said,
        "env_state_json": NO_ANSWER,
        "env_state_raw": NO_ANSWER,
        "screenshots": list(named),
        "is_aborted": aborted,
        "is_rel_paths": True,
        "token_usage": {},
    }
    beside = dict(_beside(meta, said))
    return {**body, "pyrite": beside} if beside else body


def _beside(meta: Meta, said: str) -> Iterator[tuple[str, Any]]:
    """What the answer file's own words leave out."""
    aborted = meta.ended_by == "environment_lost"
    if meta.ended_by != ended_by(said, aborted=aborted):
        yield "ended_by", meta.ended_by
    if meta.final_message is not None and said != meta.final_message:
        yield "final_message", meta.final_message
    if meta.source != "natural":
        yield "source", meta.source
    if meta.screen_files is not None:
        yield "screen_files", meta.screen_files.model_dump(mode="json")
