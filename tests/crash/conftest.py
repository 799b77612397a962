"""Commands as processes that can be killed, and small benches to run them on.

pyrite.start("verify", bench) -> Running      its own session, a TMPDIR of its own
stages.before("judge")                        a bench on which that verb has all its work to do
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pyrite import flow
from pyrite.store.paths import BenchPaths

EPISODES = 8
"""Episodes of a small bench, of two tasks."""
VERBS = ("verify", "pack", "judge", "report")
"""Verbs that write, in the order in which a bench goes through them."""
TIMES = {"verified_at", "at", "called_at", "created_at", "latency_s"}
SEES_SIGINT = (
    "import signal, sys\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
    "from pyrite.cli import main\nmain()\n"
)


def content(root: Path) -> dict[str, Any]:
    """Every file of a bench but its log, without the times in it."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if not path.is_file() or name == "log.txt":
            continue
        if path.suffix == ".json" and path.name != "report.json":
            found[name] = timeless(json.loads(path.read_text(encoding="utf-8")))
        elif path.suffix == ".jsonl":
            lines = path.read_text(encoding="utf-8").splitlines()
            if path.parent.name == "verdicts":  # they stand in the order in which answers came
                lines.sort()
            found[name] = [timeless(json.loads(line)) for line in lines]
        else:
            found[name] = path.read_bytes()
    return found


def timeless(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: timeless(value) for key, value in document.items() if key not in TIMES}
    return [timeless(value) for value in document] if isinstance(document, list) else document


def doubled(root: Path) -> int:
    """Verdicts and packages that stand twice."""
    keys: list[tuple[object, ...]] = []
    for path in (root / "verdicts").glob("*.jsonl"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            keys.append((line["judge"], line["condition"], line["episode_id"], line["run"]))
    index = BenchPaths(root).evidence_index
    if index.is_file():
        for line in map(json.loads, index.read_text(encoding="utf-8").splitlines()):
            keys.append((line["episode_id"], line["condition"]))
    return len(keys) - len(set(keys))


@dataclass
class Running:
    """One command: a session of its own, so that everything it started can be found."""

    process: subprocess.Popen[bytes]
    out_file: Path
    err_file: Path
    scratch: Path

    @property
    def code(self) -> int:
        return self.wait()

    def wait(self, timeout_s: float = 300) -> int:
        return self.process.wait(timeout_s)

    @property
    def out(self) -> str:
        return self.out_file.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self.err_file.read_text(encoding="utf-8")

    @property
    def over(self) -> bool:
        return self.process.poll() is not None

    def signal(self, number: signal.Signals, *, group: bool = True) -> None:
        """To the whole foreground group, as a terminal or a service manager does, or to the command alone."""
        if group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)

    def kill(self, *, group: bool) -> bool:
        """SIGKILL; whether it still ran."""
        if self.over:
            return False
        self.signal(signal.SIGKILL, group=group)
        return self.wait() == -signal.SIGKILL

    def left(self) -> list[str]:
        """What this command started and that still runs: in its session, or with its scratch folder."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                status = (folder / "stat").read_text().rpartition(")")[2].split()
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            ours = int(status[3]) == self.process.pid or str(self.scratch) in line
            if ours and status[0] not in "ZX" and int(folder.name) != os.getpid():
                found.append(f"{folder.name} {line[:200]}")
        return found

    def none_left(self, patience_s: float = 15.0) -> bool:
        """Whether all of it ends by itself."""
        deadline = time.monotonic() + patience_s
        while self.left():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True


@dataclass
class Pyrite:
    """Starts commands in a folder of their own; those that still run at the end are killed."""

    folder: Path
    started: list[Running] = field(default_factory=list)

    @property
    def scratch(self) -> Path:
        return self.folder / "tmp"

    def start(
        self,
        *arguments: object,
        within: tuple[str, ...] = (),
        sees_sigint: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> Running:
        """Start `pyrite ARGUMENTS`, through the command `within` where one is given."""
        self.scratch.mkdir(exist_ok=True)
        number = len(self.started)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        variables = {
            **os.environ,
            "TMPDIR": str(self.scratch),
            "PYTHONPATH": str(Path(__file__).parent),
            **(env or {}),
        }
        module = ["-c", SEES_SIGINT] if sees_sigint else ["-m", "pyrite"]
        command = [*within, sys.executable, *module, *map(str, arguments)]
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=variables,
                start_new_session=True,
            )
        running = Running(process, out, err, self.scratch)
        self.started.append(running)
        return running

    def run(
        self, *arguments: object, within: tuple[str, ...] = (), env: Mapping[str, str] | None = None
    ) -> Running:
        """Run one to its end."""
        running = self.start(*arguments, within=within, env=env)
        running.wait()
        return running

    def end(self) -> None:
        for running in self.started:
            if not running.over:
                running.kill(group=True)


@pytest.fixture
def pyrite(tmp_path: Path) -> Iterator[Pyrite]:
    found = Pyrite(tmp_path)
    yield found
    found.end()


def arguments(verb: str, bench: Path) -> list[str]:
    """The command line of a verb on a bench."""
    extra = {
        "verify": ["-j", "2"],
        "judge": ["--judge", "accept-all,claim,steps,screen-rules,slow_judge:Slow"],
        "measure": ["--json"],
    }
    return [verb, str(bench), *extra.get(verb, [])]


@dataclass
class Stages:
    """The same bench before each verb, made when it is asked for; nobody writes to one of these."""

    folder: Path
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each verb took undisturbed."""
    _made: dict[str, Path] = field(default_factory=dict)

    @staticmethod
    def content(root: Path) -> dict[str, Any]:
        return content(root)

    @staticmethod
    def doubled(root: Path) -> int:
        return doubled(root)

    @staticmethod
    def arguments(verb: str, bench: Path) -> list[str]:
        return arguments(verb, bench)

    def before(self, verb: str) -> Path:
        """A bench on which this verb has all its work to do."""
        if verb not in VERBS:
            return self.after(VERBS[-2])
        place = VERBS.index(verb)
        return self.after(VERBS[place - 1]) if place else self._fresh()

    def after(self, verb: str) -> Path:
        """The same bench when the verb has run undisturbed."""
        if verb not in self._made:
            bench = self.folder / f"after-{verb}" / "bench"
            shutil.copytree(self.before(verb), bench)
            home = self.folder / f"run-{verb}"
            home.mkdir()
            began = time.monotonic()
            done = Pyrite(home).run(*arguments(verb, bench))
            self.seconds[verb] = time.monotonic() - began
            assert done.code in {0, 3}, done.err
            self._made[verb] = bench
        return self._made[verb]

    def _fresh(self) -> Path:
        if "" not in self._made:
            bench = flow.demo(self.folder / "fresh" / "bench")
            kept: dict[str, list[str]] = {}
            for meta in sorted(
                bench.metas(), key=lambda m: m.agent.name != "scripted" or m.parent is not None
            ):
                kept.setdefault(meta.task_id, []).append(meta.episode_id)
            chosen = {name for task in sorted(kept)[:2] for name in kept[task][: EPISODES // 2]}
            for name in bench.episode_ids():
                if name not in chosen:
                    shutil.rmtree(bench.paths.episode(name).root)
            self._made[""] = bench.root
        return self._made[""]


@pytest.fixture(scope="session")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Stages:
    return Stages(tmp_path_factory.mktemp("stages"))
