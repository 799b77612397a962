"""What there is: suites, tasks, judges, agents, episodes, and one of them by its name.

listing("episodes", "runs/first", needs="category")
show("ep_026f7f94cf46", "runs/first")
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyrite.episodes.agents import AGENTS
from pyrite.errors import InputError, PyriteError, UsageError
from pyrite.evidence.conditions import parse_list
from pyrite.judges.base import Judge
from pyrite.judges.client.calls import Calls, Options
from pyrite.judges.labels import JUDGES, make, options_of
from pyrite.measure.bench import TRUTH
from pyrite.records import Outcome, TaskSpec
from pyrite.report import verdicts
from pyrite.store import labels
from pyrite.store.bench import Bench
from pyrite.suites.lookup import Lookup, Origin, is_task, open_origin
from pyrite.suites.suite import load_suite, suite_names
from pyrite.tasks.task import Task
from pyrite.truth import queue

KINDS = ("suites", "tasks", "judges", "agents", "episodes")
_CONDITIONS = "E1-final,E2-last4,E2+claim,E3-full"


def listing(kind: str, where: str | None = None, *, needs: str | None = None) -> dict[str, Any]:
    """Everything of one kind, a row each under the kind's name.

    `where` is a bench for episodes, and a suite, a folder or a bench for tasks (default: every suite).
    `needs="category"` leaves the failed episodes without one. Raises `UsageError` for an unknown kind
    and for a place or a filter that the kind does not take.
    """
    if kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS, n=1)
        raise UsageError(
            f"nothing to list is called {kind[:80]!r}",
            expected=", ".join(KINDS),
            next=f"pyrite list {near[0]}" if near else "pyrite list suites",
        )
    if needs is not None and (kind != "episodes" or needs != "category"):
        raise UsageError(
            f"{kind} cannot be filtered by --needs {needs[:80]}",
            expected="--needs category, for episodes",
            next="pyrite list episodes BENCH --needs category",
        )
    if kind == "episodes":
        if where is None:
            raise UsageError("which bench?", expected="a bench directory", next="pyrite list episodes BENCH")
        return {"kind": kind, **queue.episodes(Bench(Path(where)), needs_category=needs is not None)}
    rows: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "suites": lambda: [_guarded(name, _suite) for name in suite_names()],
        "judges": lambda: [_guarded(name, judge) for name in JUDGES.names()],
        "agents": lambda: [_guarded(name, _agent) for name in AGENTS.names()],
    }
    if kind == "tasks":
        found = [_task_row(origin, task_id) for origin, task_id in _tasks(where)]
    elif where is not None:
        raise UsageError(f"{kind} are not of a place: {where[:200]!r}", next=f"pyrite list {kind}")
    else:
        found = rows[kind]()
    return {"schema_version": "1", "kind": kind, kind: found}


def show(name: str, where: str | None = None) -> dict[str, Any]:
    """One episode, task or judge: `kind` says which.

    With `where` (a bench, a suite or a folder of tasks) a name is looked up there. Without it, it is
    the path of an episode or task folder, a judge's label, or a task of a suite.
    """
    if where is not None:
        return _within(name, where)
    path = Path(name)
    if is_task(path):
        return task(Origin(folder=path.absolute().parent).task(path.absolute().name))
    if (path / "meta.json").is_file() or path.absolute().parent.name == "episodes":
        return episode(*labels.locate(path))
    if (path / "episodes").is_dir():
        raise UsageError(
            "this is a bench: which of its episodes?",
            where=name,
            expected="pyrite show EPISODE BENCH",
            next=f"pyrite list episodes {name}",
        )
    if ":" in name or name.partition("@")[0] in JUDGES.names():
        return judge(name)
    if path.exists():
        raise UsageError(
            "this is no episode, task or bench",
            where=name[:200],
            expected="a folder that holds meta.json (an episode), task.json (a task) or episodes/ (a bench)",
            next="pyrite list tasks",
        )
    known = {task_id: origin for origin, task_id in _tasks(None)}
    if name in known:
        return task(known[name].task(name))
    near = difflib.get_close_matches(name, [*known, *JUDGES.names()], n=1)
    raise UsageError(
        f"nothing here is called {name[:200]!r}",
        expected="a judge, a task of a suite, the path of an episode or task folder, or an id and its BENCH",
        next=f"pyrite show {near[0]}" if near else "pyrite list tasks",
    )


def _within(name: str, where: str) -> dict[str, Any]:
    path = Path(where)
    if not (path / "episodes").is_dir():
        origin = open_origin(where)
        if origin.suite is None and name not in origin.task_ids():
            raise UsageError(f"no task {name[:200]!r}", where=where, expected=_some(origin.task_ids()))
        return task(origin.task(name))
    bench = Bench(path)
    ids = bench.episode_ids()
    if name in ids:
        return episode(bench, name)
    found = Lookup(bench).task(name)
    if found is None:
        near = difflib.get_close_matches(name, ids, n=1)
        raise UsageError(
            f"no episode and no task {name[:200]!r}",
            where=where,
            expected=_some(ids),
            next=f"pyrite show {near[0]} {where}" if near else f"pyrite list episodes {where}",
        )
    return task(found)


def episode(bench: Bench, episode_id: str) -> dict[str, Any]:
    """Everything that a bench holds of one episode; what cannot be read stands under `problems`."""
    problems: list[str] = []

    def part(read: Callable[[], Any], otherwise: Any = None) -> Any:
        try:
            return read()
        except PyriteError as exc:
            problems.append(str(exc).splitlines()[0])
        except OSError as exc:
            problems.append(f"{exc.filename}: {exc.strerror}")
        return otherwise

    meta = bench.meta(episode_id)
    own = part(lambda: bench.truth(episode_id))
    people = part(lambda: labels.read(bench), labels.People())
    truth = None if own is None else people.joined(own)
    lines = part(lambda: [one for one in labels.lines(bench) if one.episode_id == episode_id], [])
    code = TRUTH[truth.outcome if truth else Outcome.INDETERMINATE]
    return {
        "schema_version": "1",
        "kind": "episode",
        "path": str(bench.paths.episode(episode_id).root),
        "bench": str(bench.root),
        "meta": meta.model_dump(mode="json"),
        "instruction": part(lambda: Lookup(bench).instruction(meta.task_id)),
        "actions": part(
            lambda: [
                {**one.visible_parameters(), **one.model_dump(mode="json", include=_OF_A_STEP)}
                for one in bench.actions(episode_id)
            ]
        ),
        "facts": part(lambda: _dumped(bench.facts(episode_id))),
        "truth": _dumped(truth),
        "labels": [_dumped(one) for one in lines],
        "conflicting": list(people.tied.get(episode_id, ())),
        "verdicts": [vars(one) | {"said": vars(one.said)} for one in part(
            lambda: verdicts.of_episode(bench, episode_id, code), []
        )],
        "problems": problems,
    }  # fmt: skip


_OF_A_STEP = {"step", "action", "screen", "error", "thought", "at"}


def _dumped(record: Any) -> Any:
    return None if record is None else record.model_dump(mode="json", by_alias=True)


def task(found: Task) -> dict[str, Any]:
    """A task: its spec, and the digest of what decides."""
    spec = found.spec
    return {
        "schema_version": "1",
        "kind": "task",
        "task_id": spec.task_id,
        "spec": spec.model_dump(mode="json", by_alias=True),
        "verifier_sha256": found.verifier_sha256(),
    }


def judge(label: str) -> dict[str, Any]:
    """A judge: what it does, the conditions that it takes, and everything that can change its answers.

    One that ships and cannot be made of its name alone (`needs` says what is missing) is told with its
    options.
    """
    options = options_of(label) if label in JUDGES.names() else {}
    try:
        made = make(label)
    except UsageError as exc:
        other = None
        with contextlib.suppress(PyriteError):
            nowhere = Calls(Options(model="none", base_url="http://127.0.0.1"))
            other = make(label, calls=nowhere).judge
        if label not in JUDGES.names() and other is None:
            raise
        return _unmade(label, options, other, exc.what)
    return {
        "schema_version": "1",
        "kind": "judge",
        "name": made.label,
        "text": _first_line(type(made.judge)),
        "deterministic": made.judge.deterministic,
        **_of_itself(made.judge),
        "conditions": _taken(made.judge),
        "settings": made.settings,
        "config": made.config,
        "options": options,
        "needs": None,
    }


def _unmade(label: str, options: dict[str, str], other: Judge | None, needs: str) -> dict[str, Any]:
    """A judge that needs more than its label; `other` is the same with an endpoint that is none."""
    factory = JUDGES.load(label.partition("@")[0])
    return {
        "schema_version": "1",
        "kind": "judge",
        "name": label,
        "text": _first_line(factory),
        "deterministic": None,
        **_of_itself(factory if other is None else other),
        "conditions": None if other is None else _taken(other),
        "settings": None,
        "config": None,
        "options": options,
        "needs": needs,
    }


def _of_itself(judge: Any) -> dict[str, str | None]:
    """What a judge says of its inputs, calls and source; None where it says nothing."""
    names = {
        "inputs": "inputs",
        "calls": "calls_per_episode",
        "source": "source",
        "published_condition": "published_condition",
    }
    told = {key: getattr(judge, name, None) for key, name in names.items()}
    return {key: one if isinstance(one, str) else None for key, one in told.items()}


def _taken(judge: Judge) -> list[str]:
    """The usual conditions that a judge takes; one with more to it counts where the judge wants it so."""
    return [condition.name for condition in parse_list(_CONDITIONS) if judge.supports(condition.name)]


def _guarded(name: str, describe: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """A row of a plug-in; one that cannot be loaded stays in the list with the reason."""
    try:
        return {**describe(name), "name": name, "problem": None}
    except PyriteError as exc:
        return {"name": name, "text": "", "problem": exc.what}


def _suite(name: str) -> dict[str, Any]:
    specs = [one.spec for one in load_suite(name).tasks()]
    return {
        "tasks": len(specs),
        "families": sorted({spec.family for spec in specs}),
        "apps": sorted({spec.initial.open.app for spec in specs if spec.initial.open}),
    }


def _agent(name: str) -> dict[str, Any]:
    return {"text": _first_line(AGENTS.load(name))}


def _first_line(target: Any) -> str:
    return (inspect.getdoc(target) or "").partition("\n")[0]


def _tasks(where: str | None) -> Iterator[tuple[Origin, str]]:
    """(origin, task id) of a bench, a suite or a folder; of every suite where no place is named."""
    if where is None:
        origins = [Origin(suite=name) for name in suite_names()]
    elif is_task(Path(where)):
        folder = Path(where).absolute()
        yield Origin(folder=folder.parent), folder.name
        return
    elif (Path(where) / "episodes").is_dir():
        found = list(Lookup(Bench(Path(where))))
        if not found:
            raise UsageError(
                "this bench brings no tasks",
                where=where,
                expected="tasks/<task_id>/task.json, or suites in lock.json",
                next=f"pyrite list episodes {where}",
            )
        yield from found
        return
    else:
        origins = [open_origin(where)]
    for origin in origins:
        for task_id in origin.task_ids():
            yield origin, task_id


def _task_row(origin: Origin, task_id: str) -> dict[str, Any]:
    place = origin.suite if origin.suite is not None else str(origin.folder)
    try:
        spec: TaskSpec = origin.task(task_id).spec
    except InputError as exc:
        return {"task_id": task_id, "of": place, "problem": str(exc).splitlines()[0]}
    return {
        "task_id": task_id,
        "of": place,
        "family": spec.family or None,
        "app": spec.initial.open.app if spec.initial.open else None,
        "good": sum(1 for state in spec.states if state.kind != "bad"),
        "bad": sum(1 for state in spec.states if state.kind == "bad"),
        "instruction": spec.instruction,
        "problem": None,
    }


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:4]) or "nothing is there"
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")
