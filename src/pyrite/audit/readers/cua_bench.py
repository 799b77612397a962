"""cua-bench's task folders: `main.py` with decorated functions, read with `ast` and never imported.

    @cb.tasks_config  @cb.setup_task  @cb.solve_task  @cb.evaluate_task

A folder is one task here: how many variants it makes is decided when it runs. What `evaluate_task`
does is told from the calls in it; what a helper does that it calls is not followed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from pyrite.audit import commands, hostile
from pyrite.audit.definition import Definition, Getter, Limits, Phase, Problem, Reach, Step, unreadable
from pyrite.audit.hostile import Unreadable, shown
from pyrite.audit.readers import Source


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAX_SOURCE_BYTES = 1 << 20
_DEPTH = 3
_DECORATORS = ("tasks_config", "setup_task", "solve_task", "evaluate_task")
_KEYS = _words(
    """
    click double_click right_click middle_click click_element right_click_element type type_text press
    press_key key hotkey scroll drag move execute_action
    """
)
_ACTS = _words(
    """
    run_command launch_window launch_app install_app close close_all_windows execute_javascript goto
    write_file serve_static upload
    """
)
_READS: dict[str, Reach] = {"read_file": "file", "file_exists": "read", "list_dir": "read"}
_LOOKS = frozenset({"screenshot", "get_snapshot", "get_element_rect"})
_FETCHES = frozenset({"get", "post", "urlopen", "urlretrieve", "request"})


class CuaBench:
    """Reads cua-bench folders."""

    name = "cua-bench"
    title = "cua-bench folders"
    written_from = "wheel cua-bench 0.3.1"
    harness = "an exception in evaluate_task becomes reward 0.0 with an error text"

    def recognises(self, root: Path) -> bool:
        return any(_functions(_tree(source.path, root)) for source in _first(self.sources(root), 20))

    def sources(self, root: Path) -> Iterator[Source]:
        if root.is_file():
            if root.name == "main.py":
                yield Source(shown(root.parent.name), "", root)
            return
        waiting = [(root, 0)]
        while waiting:
            folder, depth = waiting.pop(0)
            if (folder / "main.py").is_file():
                domain = "" if folder.parent == root or folder == root else hostile.below(folder.parent, root)
                yield Source(shown(folder.name), domain, folder / "main.py")
            elif depth < _DEPTH:
                waiting += [(one, depth + 1) for one in hostile.folders(folder)]

    def bytes_of(self, source: Source, root: Path) -> bytes:
        try:
            return hostile.read_bytes(source.path, _base(root), MAX_SOURCE_BYTES)
        except Unreadable:
            return b""

    def read(self, source: Source, root: Path) -> Definition:
        where = hostile.below(source.path, root if root.is_dir() else root.parent.parent)
        try:
            text = hostile.text_of(hostile.read_bytes(source.path, _base(root), MAX_SOURCE_BYTES))
            functions = _functions(_parsed(text))
        except Unreadable as exc:
            kind = "not_python" if exc.kind == "not_json" else exc.kind
            return unreadable(source.key, source.domain, where, kind, str(exc))
        return _definition(functions, text, source, where)


def _base(root: Path) -> Path:
    return root if root.is_dir() else root.parent


def _first(sources: Iterator[Source], most: int) -> list[Source]:
    return [source for source, _ in zip(sources, range(most), strict=False)]


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise Unreadable("not_python", f"not Python: {shown(str(exc), 120)}") from None


def _tree(path: Path, root: Path) -> ast.Module:
    try:
        return _parsed(hostile.text_of(hostile.read_bytes(path, _base(root), MAX_SOURCE_BYTES)))
    except Unreadable:
        return ast.Module([], [])


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.Module) -> dict[str, list[Function]]:
    """Decorator -> the functions at module level that carry it."""
    found: dict[str, list[Function]] = {}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            if name in _DECORATORS:
                found.setdefault(name, []).append(node)
    return found


def _definition(functions: dict[str, list[Function]], text: str, source: Source, where: str) -> Definition:
    problems: list[Problem] = []
    if "evaluate_task" not in functions:
        problems.append(Problem("no_evaluator", "no function is decorated with evaluate_task", fatal=True))
    if "tasks_config" not in functions:
        problems.append(Problem("schema_invalid", "no function is decorated with tasks_config", "main.py"))
    solve = functions.get("solve_task", [])
    if not solve:
        problems.append(Problem("no_oracle", "no function is decorated with solve_task", "main.py"))
    steps: list[Step] = []
    getters: list[Getter] = []
    for name, phase in (("setup_task", "config"), ("evaluate_task", "postconfig")):
        for function in functions.get(name, []):
            steps += _steps(function, "config" if phase == "config" else "postconfig", getters)
    code = "\n".join(ast.get_source_segment(text, one) or "" for one in functions.get("evaluate_task", []))
    return Definition(
        task=source.key,
        domain=source.domain,
        where=where,
        instruction=_described(functions.get("tasks_config", [])),
        steps=tuple(steps),
        getters=tuple(getters),
        metrics=("evaluate_task",),
        conj="all",
        limits=Limits(agent_steps=_max_steps(functions), oracle_steps=_actions(solve)),
        scripts=(("main.py", code),) if code else (),
        oracle="solve_task" if solve else None,
        problems=tuple(problems),
    )


def _calls(function: Function) -> list[ast.Call]:
    """Calls in the order of the source."""
    found = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _steps(function: Function, phase: Phase, getters: list[Getter]) -> Iterator[Step]:
    for call in _calls(function):
        if not isinstance(call.func, ast.Attribute):
            continue
        name, at = call.func.attr, f"{function.name}:{call.lineno}"
        owner = call.func.value.id if isinstance(call.func.value, ast.Name) else ""
        text = shown(" ".join(_literals(call)), 400)
        if name == "sleep" and owner in {"time", "asyncio"}:
            seconds = _constant(call)
            yield Step("sleep", phase, at, text, seconds=seconds)
        elif name in _KEYS:
            yield Step(name, phase, at, text, keys=True)
        elif name == "run_command" and phase == "postconfig" and not commands.runs_code(text):
            getters.append(Getter(name, "result", at, 0, "read", text))
        elif name in _ACTS:
            yield Step(name, phase, at, text, urls=commands.urls(text))
        elif name in _READS and phase == "postconfig":
            getters.append(Getter(name, "result", at, 0, _READS[name], text))
        elif name in _LOOKS and phase == "postconfig":
            getters.append(Getter(name, "result", at, 0, "app", text))
        elif (
            name in _FETCHES and owner in {"requests", "httpx", "urllib", "request"} and phase == "postconfig"
        ):
            getters.append(Getter(f"{owner}.{name}", "result", at, 0, "acts", text, live=True))


def _literals(call: ast.Call) -> Iterator[str]:
    for node in ast.walk(call):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _constant(call: ast.Call) -> float | None:
    value = call.args[0] if call.args else None
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        return float(min(value.value, 1e6))
    return None


def _described(functions: list[Function]) -> str:
    for function in functions:
        for call in _calls(function):
            for keyword in call.keywords:
                if keyword.arg == "description":
                    parts = [n.value for n in ast.walk(keyword.value) if isinstance(n, ast.Constant)]
                    return shown("".join(part for part in parts if isinstance(part, str)), 2000)
    return ""


def _max_steps(functions: dict[str, list[Function]]) -> int | None:
    """The smallest `max_steps` that a variant is given as a number."""
    found = []
    for function in functions.get("tasks_config", []):
        for node in ast.walk(function):
            pairs: list[tuple[object, ast.expr]] = []
            if isinstance(node, ast.keyword):
                pairs = [(node.arg, node.value)]
            elif isinstance(node, ast.Dict):
                pairs = [
                    (getattr(key, "value", None), value)
                    for key, value in zip(node.keys, node.values, strict=True)
                ]
            for name, value in pairs:
                if name == "max_steps" and isinstance(value, ast.Constant) and type(value.value) is int:
                    found.append(value.value)
    return min(found, default=None)


def _actions(functions: list[Function]) -> int | None:
    """Actions that the solution takes at least: those outside of loops and branches, each once."""
    if not functions:
        return None
    return min(sum(_surely(statement) for statement in function.body) for function in functions)


def _surely(statement: ast.stmt) -> int:
    if isinstance(
        statement, ast.If | ast.For | ast.AsyncFor | ast.While | ast.FunctionDef | ast.AsyncFunctionDef
    ):
        return 0
    if isinstance(statement, ast.With | ast.AsyncWith | ast.Try):
        return sum(_surely(one) for one in statement.body)
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _KEYS | _ACTS
        for node in ast.walk(statement)
    )
