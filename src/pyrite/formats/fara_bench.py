"""From trajectory folders of fara to a bench: an episode a folder, a task a text, nothing lost unsaid."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pyrite.errors import InputError, UsageError
from pyrite.formats.fara import NO_ANSWER, FaraAction, FaraRun, read, runs
from pyrite.pool import Silent, Watch
from pyrite.records import SCHEMA_VERSION, ActionLine, Agent, Benchmark, EndedBy, Meta, ScreenFiles
from pyrite.store.bench import Bench, inside, now
from pyrite.store.images import open_image, pixels_sha256, read_image
from pyrite.store.jsonl import append_lines, read_bounded, write_bytes, write_json, write_record

VERIFY = '''"""There is no verifier: the end state of this task was not recorded."""
print('{"pass": null, "cause": "verifier_says_unknown", "category": null, "diagnostics": {}}')
'''
START = "\n\nStart page: "
"""What stands between the text of a task and its start page."""
_OWN = ("ended_by", "final_message", "source", "screen_files")
"""What pyrite may have written beside an answer."""
MOST_PAGE = 150
"""Characters of an address; as the released code has it."""


@dataclass
class Imported:
    """What became of the folders."""

    bench: str
    new: list[str] = field(default_factory=list)
    """Episodes, by folder name."""
    kept: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    """terminated, over budget, aborted -> episodes."""
    notes: dict[str, list[str]] = field(default_factory=dict)
    """Folder -> what does not fit together in it."""
    broken: dict[str, str] = field(default_factory=dict)
    """Folders that are no episode, with the reason."""


def import_runs(
    source: Path,
    out: Path,
    *,
    agent: str = "fara",
    tasks: Path | None = None,
    watch: Watch | None = None,
) -> Imported:
    """Write the trajectories at or below a folder into a bench; what is there already is kept.

    `tasks`: a file with the texts of tasks by id, such as WebTailBench's, for folders that do not say.
    Raises `InputError` where not one of them can be read.
    """
    folders = runs(source)
    texts = task_texts(tasks) if tasks is not None else {}
    bench = Bench.create(out)
    done = Imported(str(out))
    watch = watch or Silent()
    watch.total = len(folders)
    with bench.exclusive():
        there = set(bench.episode_ids())
        for folder in folders:
            label = str(folder.relative_to(source)) if folder != source else folder.name
            try:
                run = read(folder)
                _write(bench, run, label, agent, texts, there, done)
            except InputError as exc:
                done.broken[label] = f"{exc.where}: {exc.what}" if exc.where else exc.what
            watch.tick(label)
    if not done.new and not done.kept:
        first, why = next(iter(done.broken.items()))
        raise InputError(f"none of {len(folders)} folders can be read; {first}: {why}", where=str(source))
    return done


def task_texts(path: Path) -> dict[str, tuple[str, str]]:
    """Task id -> text and start page, out of JSON lines (also .gz) with id and ques, or task_summary."""
    from pyrite.judges.universal.given import rows

    found = {}
    for row in rows(path):
        name = row.get("id") or row.get("task_id")
        text = next((row[key] for key in ("ques", "task_summary", "confirmed_task") if row.get(key)), None)
        if name and isinstance(text, str):
            found[str(name)] = (text.strip(), str(row.get("web") or row.get("init_url") or ""))
    if not found:
        raise UsageError("no task in it", where=str(path), expected="id and ques, or id and task_summary")
    return found


def episode_id(label: str) -> str:
    """Opaque, and the same whenever a folder of this name is read.

    >>> episode_id("united_13")
    'ep_0716e87f8d4c'
    """
    return "ep_" + hashlib.sha256(label.encode()).hexdigest()[:12]


def _write(
    bench: Bench,
    run: FaraRun,
    label: str,
    agent: str,
    texts: Mapping[str, tuple[str, str]],
    there: set[str],
    done: Imported,
) -> None:
    name = episode_id(label)
    text, start = texts.get(run.name, (run.task, run.start_url))
    if text is None:
        raise InputError(
            "the text of its task is not known",
            expected="task_data.json with task_proposal, or --tasks FILE",
        )
    if not run.screenshots or run.screenshots[0] is None:
        why = f": {'; '.join(run.notes)}" if run.notes else ""
        raise InputError(f"the first screenshot is not there{why}", expected="screenshot_1.png")
    done.ends[run.end] = done.ends.get(run.end, 0) + 1
    if run.notes:
        done.notes[label] = list(run.notes)
    if name in there:
        done.kept += 1
        return
    instruction = f"{text}{START}{start}" if start.strip() else text
    task_id = "fara-" + hashlib.sha256(instruction.encode()).hexdigest()[:12]
    _task(bench, task_id, instruction)
    _episode(bench, name, task_id, run, label, agent)
    done.new.append(label)


def _task(bench: Bench, task_id: str, instruction: str) -> None:
    folder = bench.paths.tasks / task_id
    if not (folder / "task.json").is_file():
        write_bytes(folder / "verify.py", VERIFY.encode())
        spec = {"instruction": instruction, "family": "fara", "domain": "web", "truth": "labels"}
        write_json(folder / "task.json", spec)


def _episode(bench: Bench, name: str, task_id: str, run: FaraRun, label: str, agent: str) -> None:
    paths = bench.paths.episode(name)
    shutil.rmtree(paths.root, ignore_errors=True)  # what a killed import has left of it
    shots = _paired(run)
    for index, shot in enumerate(shots):
        if shot is not None:
            write_bytes(paths.screens / f"{index:03d}.png", read_image(shot))
    lines = []
    for step, action in enumerate(run.actions, 1):
        shot = shots[step] if step < len(shots) else None
        screen = None if shot is None else f"screens/{step:03d}.png"
        lines.append(action_line(step, action, screen))
    write_bytes(paths.actions, b"")  # there without an action too
    append_lines(paths.actions, lines)
    started = now() if run.started is None else _time(run.started)
    ended = ended_by("" if run.end == "terminated" else NO_ANSWER, aborted=run.end == "aborted")
    meta = Meta(
        schema_version=SCHEMA_VERSION,
        episode_id=name,
        task_id=task_id,
        source="natural",
        agent=Agent(name=agent),
        n_steps=len(lines),
        created_at=started,
        final_message=run.final_answer,
        ended_by=ended,
        lost="the run was aborted" if run.end == "aborted" else None,
        family="fara",
        domain="web",
        benchmark=Benchmark(name="fara", version=""),
        origin_id=label,
        screen_files=_unmatched(run, shots),
        **({"notes": list(run.notes)} if run.notes else {}),
    )
    write_record(paths.meta, _with_own(meta, run))


def ended_by(said: str, *, aborted: bool) -> EndedBy:
    """How an episode ended, by the answer file: aborted, over budget, or terminated."""
    if aborted:
        return "environment_lost"
    return "step_limit" if said == NO_ANSWER else "done"


def _with_own(meta: Meta, run: FaraRun) -> Meta:
    """With what pyrite has written beside the answer; where that is none of ours, or says otherwise, not.

    Files that do not fit are counted as they lie there, whatever was written of others.
    """
    own = {key: run.own[key] for key in _OWN if key in run.own}
    if meta.screen_files is not None:
        own.pop("screen_files", None)
    if (own.get("ended_by", meta.ended_by) == "environment_lost") != (run.end == "aborted"):
        return meta
    try:
        return Meta.model_validate({**meta.model_dump(by_alias=True), **own})
    except ValidationError:
        return meta


def _paired(run: FaraRun) -> Sequence[Path | None]:
    """Screen 0 is before the first action, screen n after the n-th; of a surplus the last one is the end."""
    shots, n = run.screenshots, len(run.actions)
    if len(shots) > n + 1:
        return [*shots[:n], shots[-1]]
    return shots


def _unmatched(run: FaraRun, shots: Sequence[Path | None]) -> ScreenFiles | None:
    """How many files there were, where they are not one a state, and how many show what no other shows."""
    surplus = run.screenshots[len(run.actions) : -1] if len(shots) < len(run.screenshots) else ()
    left = [*surplus, *run.unlisted]
    fits = len(run.actions) <= len(run.screenshots) <= len(run.actions) + 1
    if fits and not left:
        return None
    kept = {_pixels(shot) for shot in shots if shot is not None}
    unseen = sum(shot is None or _pixels(shot) not in kept for shot in left)
    return ScreenFiles(files=len(run.screenshots) + len(run.unlisted), unseen=unseen)


def _pixels(path: Path) -> str:
    """The key of a screenshot's pixels; of one that cannot be read its place, which no other has."""
    try:
        return pixels_sha256(open_image(inside(path.parent, path.name)))
    except InputError:
        return str(path)


def action_line(step: int, action: FaraAction, screen: str | None) -> ActionLine:
    """An action as a line of ours; what pyrite has written beside it wins where it is one."""
    if action.own is not None:
        place = {"step": step, "screen": screen}
        with suppress(ValidationError):
            return ActionLine.model_validate({**action.own, **place})
    arguments = dict(action.arguments)
    point = arguments.get("coordinate")
    fields: dict[str, Any] = {}
    plain = {"left_click": "click", "mouse_move": "move"}.get(action.name)
    if plain and isinstance(point, list) and _is_point(point) and set(arguments) == {"coordinate"}:
        fields = {"action": plain, "x": float(point[0]), "y": float(point[1])}
    elif action.name == "visit_url" and set(arguments) == {"url"} and isinstance(arguments["url"], str):
        fields = {"action": "goto", "url": arguments["url"]}
    else:
        said = json.dumps(arguments, ensure_ascii=False, sort_keys=True)
        fields = {"action": "raw", "text": f"{action.name} {said}"}
    fields |= {"thought": action.thought, "page": None if action.url is None else page(action.url)}
    fields["unknown"] = None if action.unknown is None else [one[:100] for one in action.unknown[:20]]
    clean = json.loads(json.dumps(fields).encode("utf-8", "replace"))
    return ActionLine(step=step, screen=screen, **clean)


def page(url: str) -> str:
    """An address without its query and fragment, and without a name and password; at most 150 characters.

    >>> page("https://shop.example/cart?id=7#top")
    'https://shop.example/cart'
    >>> page("https://ana:secret@shop.example/@home")
    'https://shop.example/@home'
    """
    bare = re.split(r"[?#]", url.strip(), maxsplit=1)[0]
    bare = re.sub(r"^((?:[\w+.-]+:)*//)[^/\\]*@", r"\1", bare)
    return f"{bare[:MOST_PAGE]}..." if len(bare) > MOST_PAGE else bare


def _is_point(value: list[Any]) -> bool:
    numbers = [one for one in value if isinstance(one, int | float) and not isinstance(one, bool)]
    return len(numbers) == len(value) == 2


def _time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return now()


def rubrics(source: Path, out: Path) -> int:
    """Write the rubrics that lie in the folders' task_data.json, without their grades, as one file."""
    from pyrite.judges.universal.given import ungraded

    lines = []
    for folder in runs(source):
        path = folder / "task_data.json"
        try:
            data = json.loads(read_bounded(path)) if path.is_file() else {}
        except (ValueError, RecursionError, InputError):
            continue
        task = data.get("task_proposal") or data.get("task_summary") if isinstance(data, dict) else None
        if task and data.get("precomputed_rubric"):
            row = {"ques": task, "precomputed_rubric": ungraded(data["precomputed_rubric"])}
            lines.append(json.dumps(row, ensure_ascii=False))
    if lines:
        write_bytes(out, ("\n".join(lines) + "\n").encode("utf-8", "replace"))
    return len(lines)
