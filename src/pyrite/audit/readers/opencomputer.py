"""OpenComputer's task folders: `task.json` with `verification`, a list of commands and expected values.

Before it verifies, its harness saves in the application where the application's spec names a shortcut
(`evaluation/apps/specs/<app>.py`, read as text), then waits 3 s. Written from task files and
`evaluation/runtime` of echo0715/OpenComputer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyrite.audit import hostile
from pyrite.audit.definition import Definition, Getter, Problem, Step, unreadable
from pyrite.audit.hostile import Parser, Unreadable, shown
from pyrite.audit.readers import Source

WAIT_S = 3.0
_PLACES = ("task_generator/tasks", "tasks", "")
_SPECS = ("evaluation/apps/specs", "../../evaluation/apps/specs", "../evaluation/apps/specs")
_SHORTCUT = re.compile(r"""\bsave_shortcut\s*[=:]\s*(?:str\s*=\s*)?["']([^"']{1,40})["']""")
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,60}")


class OpenComputer:
    """Reads OpenComputer's folders."""

    name = "opencomputer"
    title = "OpenComputer"
    written_from = "echo0715/OpenComputer 6d7fbba4"
    harness = (
        "saves with the application's shortcut where it has one, waits 3 s; reward is the share of checks"
    )

    def recognises(self, root: Path) -> bool:
        for source, _ in zip(self.sources(root), range(20), strict=False):
            try:
                data = Parser().document(hostile.text_of(hostile.read_bytes(source.path, _base(root))))
            except Unreadable:
                continue
            if isinstance(data, dict) and "verification" in data:
                return True
        return False

    def sources(self, root: Path) -> Iterator[Source]:
        if root.is_file():
            if root.name == "task.json":
                yield Source(shown(root.parent.name), "", root)
            return
        if (root / "task.json").is_file():
            yield Source(shown(root.name), "", root / "task.json")
            return
        for name in _PLACES:
            found = [one / "task.json" for one in hostile.folders(root / name)]
            there = [path for path in found if path.is_symlink() or path.is_file()]
            if there:
                yield from (Source(shown(path.parent.name), "", path) for path in there)
                return

    def bytes_of(self, source: Source, root: Path) -> bytes:
        try:
            return hostile.read_bytes(source.path, _base(root))
        except Unreadable:
            return b""

    def read(self, source: Source, root: Path) -> Definition:
        where = hostile.below(source.path, root if root.is_dir() else root.parent.parent)
        parser = Parser()
        try:
            data = parser.document(hostile.text_of(hostile.read_bytes(source.path, _base(root))))
            if not isinstance(data, dict):
                raise Unreadable("not_an_object", f"a {type(data).__name__} where an object belongs")
        except Unreadable as exc:
            return unreadable(source.key, source.domain, where, exc.kind, str(exc))
        return _definition(data, source, where, _base(root), parser.repeated)


def _base(root: Path) -> Path:
    return root if root.is_dir() else root.parent


def _definition(
    data: Mapping[str, Any], source: Source, where: str, root: Path, repeated: list[str]
) -> Definition:
    problems = [Problem("repeated_key", f"the key {shown(key, 80)!r} is there twice") for key in repeated]
    stated, app, checks = data.get("id"), data.get("app"), data.get("verification")
    if shown(stated) != source.key:
        problems.append(
            Problem("id_mismatch", f"id is {shown(stated, 80)!r}, the folder's name {source.key!r}", "id")
        )
    if not isinstance(data.get("task"), str) or not data["task"].strip():
        problems.append(Problem("schema_invalid", "task: no text: the agent is asked nothing", "task"))
    if not isinstance(checks, list) or not checks:
        problems.append(
            Problem("no_evaluator", f"verification is {shown(checks, 60)}", "verification", fatal=True)
        )
        checks = []
    getters: list[Getter] = []
    rules: list[tuple[str, str]] = []
    for number, check in enumerate(checks):
        _check(check, number, getters, rules, problems)
    steps = list(_saving(app, root, problems)) if isinstance(app, str) else []
    if not isinstance(app, str):
        problems.append(Problem("schema_invalid", f"app: {shown(app, 60)} where a name belongs", "app"))
    return Definition(
        task=source.key,
        domain=shown(app, 60) if isinstance(app, str) else "",
        where=where,
        instruction=shown(data.get("task") or "", 2000),
        steps=tuple(steps),
        getters=tuple(getters),
        metrics=tuple("check" for _ in checks),
        conj="share of checks",
        rules=tuple(rules),
        problems=tuple(problems),
    )


def _check(
    check: Any, number: int, getters: list[Getter], rules: list[tuple[str, str]], problems: list[Problem]
) -> None:
    at = f"verification[{number}]"
    if not isinstance(check, dict):
        problems.append(
            Problem("schema_invalid", f"{at}: {shown(check, 60)} where an object belongs", at, True)
        )
        return
    wait = WAIT_S if number == 0 else 0.0
    if check.get("judge") == "llm":
        rules.append((at, "llm_judge"))
        getters.append(
            Getter("llm_judge", "result", at, number, "app", shown(check.get("prompt", "")), sleeps=wait)
        )
        return
    command = check.get("command")
    if not isinstance(command, str):
        problems.append(
            Problem("schema_invalid", f"{at}.command: {shown(command, 60)} where a text belongs", at, True)
        )
        return
    getters.append(Getter("verifier_command", "result", at, number, "read", shown(command), sleeps=wait))
    if "eval" in check:
        rules.append((at, "eval"))
    elif "key" in check and "expected" in check:
        getters.append(Getter("expected_value", "expected", at, number, "rule", shown(check["expected"])))
    else:
        problems.append(Problem("schema_invalid", f"{at}: neither eval nor key and expected", at))


def _saving(app: str, root: Path, problems: list[Problem]) -> Iterator[Step]:
    """What the harness does before it verifies, told from the application's spec."""
    if not _SAFE.fullmatch(app):
        problems.append(Problem("schema_invalid", f"app: {shown(app, 60)!r} is no name of a spec", "app"))
        return
    for place in _SPECS:
        path = root / place / f"{app}.py"
        if not path.is_file():
            continue
        try:
            text = hostile.text_of(hostile.read_bytes(path, path.parent, 256 << 10))
        except Unreadable:
            break
        found = _SHORTCUT.search(text)
        if found:
            yield Step(
                "activate_window", "postconfig", "harness", f"xdotool: the window of {app}", silent=True
            )
            yield Step("sleep", "postconfig", "harness", seconds=0.4)
            yield Step(
                "save", "postconfig", "harness", f"xdotool key {found[1]}", silent=True, keys=True, saves=True
            )
            yield Step("sleep", "postconfig", "harness", seconds=0.8)
        return
    detail = f"evaluation/apps/specs/{app}.py says whether the harness saves first"
    problems.append(Problem("harness_not_there", detail, "harness"))
