"""OSWorld's task files, and WindowsAgentArena's, which have the same schema: one JSON a task.

    examples/<domain>/<id>.json     config (setup), evaluator {func, result, expected, postconfig, …}

Written from the task files of OSWorld and the setup controller and getters that read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyrite.audit import commands, hostile
from pyrite.audit.definition import Definition, Getter, Phase, Problem, Role, Step, unreadable
from pyrite.audit.hostile import Parser, Unreadable, shown
from pyrite.audit.readers import Source
from pyrite.audit.readers import osworld_names as names

INVALID = "(invalid)"
"""What a step or getter is counted under whose type is no text."""
_DEPTH = 3
_SNIFFED = 12


class OSWorld:
    """Reads task files of OSWorld and of what kept its schema."""

    name = "osworld"
    title = "OSWorld schema"
    written_from = (
        "task files of xlang-ai/OSWorld by way of ljxpython/OSWorldUse b5007a93, its setup controller; "
        "Windows: GAIR-NLP/WindowsAgentArena-V2 dc31e43a, getters of WindowsAgentArena"
    )
    harness = "waits a fixed 20 s before it evaluates; a task whose last action is FAIL gets 0 unread"

    def recognises(self, root: Path) -> bool:
        looked = 0
        for source in self.sources(root):
            looked += 1
            try:
                data = Parser().document(hostile.text_of(hostile.read_bytes(source.path, root)))
            except Unreadable:
                data = None
            if isinstance(data, dict) and "evaluator" in data:
                return True
            if looked >= _SNIFFED:
                return self._named(root)
        return looked > 0 and self._named(root)

    def _named(self, root: Path) -> bool:
        """Folders that are called what OSWorld calls them: their files count, whatever is in them."""
        return root.is_dir() and self._bases(root) != [root]

    def sources(self, root: Path) -> Iterator[Source]:
        if root.is_file():
            if root.suffix == ".json":
                yield Source(shown(root.stem), shown(root.parent.name), root)
            return
        for base in self._bases(root):
            for folder in hostile.walk(base, _DEPTH):
                for path in hostile.files(folder, ".json"):
                    if folder != base or not _is_list(path, root):
                        yield Source(shown(path.stem), shown(str(folder.relative_to(base))), path)

    def _bases(self, root: Path) -> list[Path]:
        for place in (root, root / "evaluation_examples"):
            found = [folder for folder in hostile.folders(place) if folder.name.startswith("examples")]
            if found:
                return found
        return [root]

    def bytes_of(self, source: Source, root: Path) -> bytes:
        try:
            return hostile.read_bytes(source.path, root)
        except Unreadable:
            return b""

    def read(self, source: Source, root: Path) -> Definition:
        where = hostile.below(source.path, root if root.is_dir() else root.parent)
        parser = Parser()
        try:
            data = parser.document(hostile.text_of(hostile.read_bytes(source.path, root)))
            if not isinstance(data, dict):
                raise Unreadable("not_an_object", f"a {type(data).__name__} where an object belongs")
        except Unreadable as exc:
            return unreadable(source.key, source.domain, where, exc.kind, str(exc))
        return _Task(data, source, where, parser.repeated).definition()


def _is_list(path: Path, root: Path) -> bool:
    """Whether a file beside the domains is a list of tasks (`test_all.json`), and no task."""
    try:
        data = Parser().document(hostile.text_of(hostile.read_bytes(path, root)))
    except Unreadable:
        return False
    lists = isinstance(data, dict) and bool(data) and all(isinstance(one, list) for one in data.values())
    return lists or isinstance(data, list)


class _Task:
    """One task file, read into a definition; collects what is wrong with it on the way."""

    def __init__(self, data: Mapping[str, Any], source: Source, where: str, repeated: list[str]) -> None:
        self._data = data
        self._source = source
        self._where = where
        self._problems = [
            Problem("repeated_key", f"the key {shown(key, 80)!r} is there twice; the last one counts")
            for key in repeated
        ]

    def definition(self) -> Definition:
        data, source = self._data, self._source
        evaluator = self._evaluator()
        self._check_top()
        steps = [*self._steps(data.get("config"), "config", "config")]
        steps += self._steps(evaluator.get("postconfig"), "postconfig", "evaluator.postconfig")
        metrics = self._metrics(evaluator)
        infeasible = evaluator.get("func") == "infeasible"  # the harness compares the word alone
        getters = [
            *self._getters(evaluator.get("result"), "result"),
            *self._getters(evaluator.get("expected"), "expected"),
        ]
        if not infeasible:
            self._check_pairs(evaluator, metrics)
        options = evaluator.get("options")
        return Definition(
            task=source.key,
            domain=source.domain,
            where=self._where,
            instruction=shown(data.get("instruction", ""), 2000),
            steps=tuple(steps),
            getters=tuple(getters),
            metrics=tuple(metrics),
            conj=shown(evaluator.get("conj", "and"), 20),
            options=options if isinstance(options, dict) else {},
            rules=tuple(_rules(metrics, options)),
            infeasible=infeasible,
            proxy=data.get("proxy") is True,
            may_change=data.get("possibility_of_env_change") in ("medium", "high"),
            problems=tuple(self._problems),
        )

    def _bad(self, at: str, detail: str, *, fatal: bool = False) -> None:
        self._problems.append(Problem("schema_invalid", f"{at}: {detail}", at, fatal))

    def _evaluator(self) -> Mapping[str, Any]:
        found = self._data.get("evaluator")
        if isinstance(found, dict):
            return found
        what = "is missing" if found is None else f"is a {type(found).__name__}, not an object"
        self._problems.append(Problem("no_evaluator", f"evaluator {what}", "evaluator", fatal=True))
        return {}

    def _check_top(self) -> None:
        instruction, stated = self._data.get("instruction"), self._data.get("id")
        if not isinstance(instruction, str) or not instruction.strip():
            self._bad("instruction", "no text: the agent is asked nothing")
        if stated is None:
            self._bad("id", "is missing; the file's name is used")
        elif shown(stated) != self._source.key:
            self._problems.append(
                Problem(
                    "id_mismatch", f"id is {shown(stated, 80)!r}, the file's name {self._source.key!r}", "id"
                )
            )

    def _metrics(self, evaluator: Mapping[str, Any]) -> list[str]:
        func = evaluator.get("func")
        found = func if isinstance(func, list) else [func]
        if not found or not all(isinstance(one, str) for one in found):
            if evaluator:
                self._bad("evaluator.func", f"{shown(func, 60)} where metric names belong", fatal=True)
            return []
        return [shown(one, 80) for one in found]

    def _check_pairs(self, evaluator: Mapping[str, Any], metrics: list[str]) -> None:
        """Metric, result and expected are paired by position: lists of other lengths pair wrongly."""
        many = isinstance(evaluator.get("func"), list)
        for role in ("result", "expected", "options"):
            value = evaluator.get(role)
            if not value:
                continue
            if isinstance(value, list) != many or (many and len(value) != len(metrics)):
                got = f"{len(value)} entries" if isinstance(value, list) else "one entry"
                self._problems.append(
                    Problem(
                        "length_mismatch",
                        f"{len(metrics)} metric{'' if len(metrics) == 1 else 's'}, {role} has {got}",
                        f"evaluator.{role}",
                    )
                )

    def _steps(self, value: Any, phase: Phase, at: str) -> Iterator[Step]:
        if value is None:
            return
        if not isinstance(value, list):
            self._bad(
                at, f"a {type(value).__name__} where a list of steps belongs", fatal=phase == "postconfig"
            )
            return
        for number, item in enumerate(value):
            yield self._step(item, phase, f"{at}[{number}]")

    def _step(self, item: Any, phase: Phase, at: str) -> Step:
        kind = item.get("type") if isinstance(item, dict) else None
        parameters = item.get("parameters") if isinstance(item, dict) else None
        if not isinstance(kind, str):
            self._bad(at, f"{shown(item, 60)} where a step with a type belongs")
            return Step(INVALID, phase, at, shown(item), known=False)
        if not isinstance(parameters, dict):
            if parameters is not None or kind not in {"close_all", "tidy_desktop", "clean_up_files"}:
                self._bad(f"{at}.parameters", f"{shown(parameters, 60)} where an object belongs")
            parameters = {}
        text, argv = _command(parameters)
        title = parameters.get("window_name")
        urls = tuple(_urls(parameters))
        seconds = parameters.get("seconds") if kind == "sleep" else None
        wait = _number(seconds)
        if kind == "sleep" and wait is None:
            self._bad(f"{at}.parameters.seconds", f"{shown(seconds, 60)} where a number belongs")
        unlogged = kind in names.SILENT and not (kind in {"execute", "command"} and parameters.get("until"))
        return Step(
            type=shown(kind, 80),
            phase=phase,
            at=at,
            text=text or shown(title or " ".join(urls) or parameters.get("path") or "", 2000),
            known=kind in names.STEPS,
            silent=unlogged,
            argv=argv,
            seconds=wait,
            title=shown(title) if isinstance(title, str) else None,
            strict=parameters.get("strict") is True,
            urls=urls,
        )

    def _getters(self, value: Any, role: Role) -> Iterator[Getter]:
        if value is None:
            return
        items = value if isinstance(value, list) else [value]
        for pair, item in enumerate(items):
            at = f"evaluator.{role}[{pair}]" if isinstance(value, list) else f"evaluator.{role}"
            if item is None or item == {}:
                continue  # a metric that takes none
            kind = item.get("type") if isinstance(item, dict) else None
            if not isinstance(kind, str):
                self._bad(at, f"{shown(item, 60)} where an object with a type belongs")
                yield Getter(INVALID, role, at, pair, "unknown", shown(item))
                continue
            yield _getter(kind, item, role, at, pair)


def _getter(kind: str, item: Mapping[str, Any], role: Role, at: str, pair: int) -> Getter:
    text, argv = _command(item)
    reach = names.reach(kind, expected=role == "expected")
    if kind in names.COMMANDS:
        reach = "derived" if role == "expected" else "read"
        if commands.runs_code(text, argv):
            reach = "acts"
    elif role == "expected" and reach in {"file", "read", "app"}:
        reach = "derived"
    return Getter(
        type=shown(kind, 80),
        role=role,
        at=at,
        pair=pair,
        reach=reach,
        text=text,
        argv=argv,
        paths=tuple(_texts(item.get("path"))),
        dests=tuple(_texts(item.get("dest"))),
        urls=tuple(_urls(item)),
        cdp=kind in names.CDP,
        account=kind == "googledrive_file",
        clock=kind in names.CLOCK,
        live=kind in names.LIVE,
    )


def _command(item: Mapping[str, Any]) -> tuple[str, tuple[str, ...] | None]:
    """(text, argv) of a command; argv is None where a shell reads it."""
    command = item.get("command", "")
    if isinstance(command, list):
        argv = tuple(shown(part, 4000) for part in command[:200])
        return " ".join(argv), None if item.get("shell") else argv
    return (shown(command, 4000), None) if command else ("", None)


def _texts(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield shown(one, 1000)


def _urls(item: Mapping[str, Any]) -> Iterator[str]:
    for text in hostile.strings(dict(item)):
        if text.startswith(("http://", "https://")):
            yield shown(text, 1000)


def _rules(metrics: list[str], options: Any) -> Iterator[tuple[str, str]]:
    """Kinds of comparison rules: those of compare_table, and options whose name says fuzzy."""
    for number, one in enumerate(options if isinstance(options, list) else [options]):
        if not isinstance(one, dict):
            continue
        metric = metrics[number] if number < len(metrics) else ""
        rules = one.get("rules")
        for rule in rules if isinstance(rules, list) else []:
            if isinstance(rule, dict) and isinstance(rule.get("type"), str):
                yield metric, shown(rule["type"], 60)
        for key in one:
            if "fuzzy" in key:
                yield metric, "fuzzy"


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value)
