"""Harbor's task folders (`task.toml`) and terminal-bench's older ones (`task.yaml`), by their files.

    <task>/task.toml  instruction.md  tests/test.sh  solution/solve.sh       [steps/<name>/tests/test.sh]
    <task>/task.yaml  run-tests.sh  tests/  solution.sh | solution.yaml

Nothing of either package is needed. Written from the models of the wheels named below.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from pyrite.audit import commands, hostile
from pyrite.audit.definition import Definition, Getter, Limits, Problem, Step, unreadable
from pyrite.audit.hostile import Parser, Unreadable, shown
from pyrite.audit.readers import Source

MAX_SCRIPT_BYTES = 256 << 10
MAX_SCRIPTS = 20
_DEPTH = 4
_NAMES = ("task.toml", "task.yaml")
_TESTS = ("test.sh", "test.bat")
_SOLUTIONS = ("solution/solve.sh", "solution/solve.bat", "solution.sh", "solution.yaml")
_DURATIONS = ("oracle_duration_sec", "oracle_time_sec", "estimated_duration_sec")
_RECORDED = ("evidence/oracle/result.json", "oracle/result.json")


class Harbor:
    """Reads task folders of both generations."""

    name = "harbor"
    title = "Harbor / terminal-bench folders"
    written_from = "wheels harbor 0.26.0 and terminal-bench 0.2.18"
    harness = "runs the test script, ignores its exit code and reads the reward file that it left"

    def recognises(self, root: Path) -> bool:
        return next(self.sources(root), None) is not None

    def sources(self, root: Path) -> Iterator[Source]:
        if root.is_file():
            if root.name in _NAMES:
                yield Source(shown(root.parent.name), "", root)
            return
        waiting = [(root, 0)]
        while waiting:
            folder, depth = waiting.pop(0)
            path = next((folder / name for name in _NAMES if _is_there(folder / name)), None)
            if path is not None:
                domain = "" if folder.parent == root or folder == root else hostile.below(folder.parent, root)
                yield Source(shown(folder.name), domain, path)
            elif depth < _DEPTH:
                waiting += [(one, depth + 1) for one in hostile.folders(folder)]

    def bytes_of(self, source: Source, root: Path) -> bytes:
        parts = [source.path, *_test_files(source.path.parent)]
        found = []
        for path in parts:
            try:
                found.append(hostile.read_bytes(path, root, MAX_SCRIPT_BYTES))
            except Unreadable:
                found.append(b"")
        return b"\0".join(found)

    def read(self, source: Source, root: Path) -> Definition:
        where = hostile.below(source.path, root if root.is_dir() else root.parent.parent)
        base = root if root.is_dir() else root.parent
        try:
            text = hostile.text_of(hostile.read_bytes(source.path, base))
            data = _toml(text) if source.path.name.endswith(".toml") else _yaml(text)
        except Unreadable as exc:
            return unreadable(source.key, source.domain, where, exc.kind, str(exc))
        return _Task(data, source, where, base).definition()


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _toml(text: str) -> Mapping[str, Any]:
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as exc:
        raise Unreadable("not_toml", f"not TOML: {shown(str(exc), 120)}") from None
    hostile.bounded(found)
    return found


def _yaml(text: str) -> Mapping[str, Any]:
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as exc:
        raise Unreadable("not_yaml", f"not YAML: {shown(str(exc).splitlines()[0], 120)}") from None
    hostile.bounded(found)
    if not isinstance(found, dict):
        raise Unreadable("not_an_object", f"a {type(found).__name__} where keys belong")
    return found


def _test_files(folder: Path) -> list[Path]:
    """The scripts that verify: the ones that are run, and what lies beside them."""
    places = [folder / "tests", *(one / "tests" for one in hostile.folders(folder / "steps"))]
    found = [folder / "run-tests.sh"] if _is_there(folder / "run-tests.sh") else []
    for place in places:
        for ending in (".sh", ".bat", ".py"):
            found += hostile.files(place, ending)
    return found[:MAX_SCRIPTS]


class _Task:
    def __init__(self, data: Mapping[str, Any], source: Source, where: str, root: Path) -> None:
        self._data = data
        self._source = source
        self._where = where
        self._root = root
        self._folder = source.path.parent
        self._new = source.path.name == "task.toml"
        self._problems: list[Problem] = []

    def definition(self) -> Definition:
        scripts = list(self._scripts())
        entry = [name for name, _ in scripts if name.rsplit("/", 1)[-1] in (*_TESTS, "run-tests.sh")]
        if not entry:
            wanted = "tests/test.sh" if self._new else "run-tests.sh"
            self._problems.append(Problem("no_evaluator", f"{wanted} is not there", wanted, fatal=True))
        oracle = next((name for name in self._solutions() if _is_there(self._folder / name)), None)
        if oracle is None:
            self._problems.append(Problem("no_oracle", "no solution/solve.sh or solution.sh", "solution"))
        if self._new:
            self._check_environment(scripts)
        return Definition(
            task=self._source.key,
            domain=self._source.domain,
            where=self._where,
            instruction=shown(self._instruction(), 2000),
            steps=tuple(
                Step("test_script", "postconfig", name, f"bash {name}", silent=True) for name in entry
            ),
            getters=(Getter("reward_file" if self._new else "test_report", "result", "tests", 0, "read"),),
            metrics=("reward",),
            conj="all",
            limits=self._limits(oracle),
            scripts=tuple(scripts),
            oracle=oracle,
            problems=tuple(self._problems),
        )

    def _solutions(self) -> Iterator[str]:
        yield from _SOLUTIONS
        for step in hostile.folders(self._folder / "steps"):
            for name in ("solve.sh", "solve.bat"):
                yield f"steps/{shown(step.name)}/solution/{name}"

    def _bad(self, at: str, detail: str) -> None:
        self._problems.append(Problem("schema_invalid", f"{at}: {detail}", at))

    def _text(self, path: Path) -> str:
        try:
            return hostile.text_of(hostile.read_bytes(path, self._root, MAX_SCRIPT_BYTES))
        except Unreadable as exc:
            self._bad(shown(path.name, 80), str(exc))
            return ""

    def _scripts(self) -> Iterator[tuple[str, str]]:
        for path in _test_files(self._folder):
            yield hostile.below(path, self._folder), self._text(path)

    def _instruction(self) -> str:
        if not self._new:
            found = self._data.get("instruction")
            if not isinstance(found, str) or not found.strip():
                self._bad("instruction", "no text: the agent is asked nothing")
            return found if isinstance(found, str) else ""
        places = [self._folder / "instruction.md"]
        places += [one / "instruction.md" for one in hostile.folders(self._folder / "steps")]
        there = [path for path in places if _is_there(path)]
        if not there:
            self._bad("instruction.md", "is not there")
        return self._text(there[0]) if there else ""

    def _section(self, name: str) -> Mapping[str, Any]:
        found = self._data.get(name, {})
        if not isinstance(found, dict):
            self._bad(name, f"{shown(found, 60)} where keys belong")
            return {}
        return found

    def _check_environment(self, scripts: list[tuple[str, str]]) -> None:
        verifier, environment = self._section("verifier"), self._section("environment")
        mode = verifier.get("environment_mode") or ("separate" if "environment" in verifier else "shared")
        if mode != "separate":
            detail = "the verifier runs in the container that the agent worked in"
            self._problems.append(Problem("shared_environment", detail, "verifier.environment_mode"))
        network = verifier.get("network_mode") or environment.get("network_mode")
        closed = network == "no-network" or (network is None and environment.get("allow_internet") is False)
        if closed and any(commands.installs(text) or commands.fetches(text) for _, text in scripts):
            detail = "the network is off, and the test script installs or fetches"
            self._problems.append(Problem("network_forbidden", detail, "environment.network_mode"))

    def _limits(self, oracle: str | None) -> Limits:
        if self._new:
            agent, verifier = self._section("agent"), self._section("verifier")
            places = (self._section("metadata"),)
            agent_s = self._seconds(agent.get("timeout_sec"), "agent.timeout_sec")
            verifier_s = self._seconds(verifier.get("timeout_sec", 600.0), "verifier.timeout_sec")
        else:
            places = (self._data,)
            agent_s = self._seconds(self._data.get("max_agent_timeout_sec", 360.0), "max_agent_timeout_sec")
            verifier_s = self._seconds(self._data.get("max_test_timeout_sec", 60.0), "max_test_timeout_sec")
        known = [self._seconds(place.get(name), name) for place in places for name in _DURATIONS]
        known.append(self._recorded())
        if oracle is not None and oracle.endswith(".sh"):
            known.append(commands.sleeps(self._text(self._folder / oracle)) or None)
        found = [seconds for seconds in known if seconds is not None]
        return Limits(agent_s=agent_s, verifier_s=verifier_s, oracle_s=max(found, default=None))

    def _seconds(self, value: Any, at: str) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
            self._bad(at, f"{shown(value, 60)} where seconds belong")
            return None
        return float(value)

    def _recorded(self) -> float | None:
        """How long the oracle took in a run of Harbor's that lies beside the task."""
        for name in _RECORDED:
            try:
                data = Parser().document(hostile.text_of(hostile.read_bytes(self._folder / name, self._root)))
                span = data["agent_execution"]
                took = datetime.fromisoformat(span["finished_at"]) - datetime.fromisoformat(
                    span["started_at"]
                )
            except (Unreadable, ValueError, TypeError, KeyError, OverflowError):
                continue
            return max(0.0, took.total_seconds())
        return None
