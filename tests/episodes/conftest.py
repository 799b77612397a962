"""A desktop of one colour a step, to test what happens around agents; the real one is in tests/desktop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from PIL import Image

from pyrite.episodes.agents import Agent
from pyrite.episodes.record import Order, record_episode
from pyrite.records import Action, ActionLine, Facts, Meta
from pyrite.sandbox.backend import Act, EndState, Observation, SessionSpec
from pyrite.sandbox.inputs import problem
from pyrite.store.jsonl import read_lines
from pyrite.tasks.archive import write
from pyrite.tasks.folder import FolderTask
from pyrite.tasks.starter import start


@dataclass
class PlainSession:
    """Takes actions and shows a screen whose colour counts those that were performed."""

    home: Path
    frozen: bool
    enforced: dict[str, Any] = field(default_factory=dict)
    image: str = "plain"
    performed: list[Action] = field(default_factory=list)
    settled: list[bool] = field(default_factory=list)

    def screenshot(self, *, settle: bool = True) -> Observation:
        shade = 0 if self.frozen else 10 * len(self.performed)
        return Observation(Image.new("RGB", (80, 60), (shade % 256, 0, 0)))

    def act(self, action: Action, *, settle: bool = True) -> Observation:
        wrong = problem(action, 80, 60)
        if wrong is None:
            self.performed.append(action)
        self.settled.append(settle)
        return Observation(self.screenshot().screen, error=wrong)

    def finish(self, archive: Path, act: Act | None = None) -> EndState:
        written = write(self.home, archive)
        return EndState(archive, Facts(), written.sha256)

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass
class PlainBackend:
    frozen: bool = False
    name: str = "plain"
    session: PlainSession | None = None

    def start(self, home: Path, spec: SessionSpec) -> PlainSession:
        self.session = PlainSession(home, self.frozen)
        return self.session


@dataclass
class Recorded:
    """An episode that was recorded, and what the desktop was told."""

    meta: Meta
    lines: list[ActionLine]
    session: PlainSession
    folder: Path


Recorder = Callable[..., Recorded]


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> FolderTask:
    return start("a-task", tmp_path_factory.mktemp("tasks"))


@pytest.fixture
def recorder(tmp_path: Path, task: FolderTask) -> Recorder:
    def record(agent: Agent, *, frozen: bool = False, source: str = "natural", **order: Any) -> Recorded:
        backend = PlainBackend(frozen)
        folder = tmp_path / "episodes" / "ep_1"
        folder.parent.mkdir(exist_ok=True)
        asked = Order("ep_1", source, 7, **order)  # type: ignore[arg-type]
        meta = record_episode(backend, task, agent, asked, folder)
        actions = folder / "actions.jsonl"
        lines = list(read_lines(actions, ActionLine)) if actions.exists() else []
        assert backend.session is not None
        return Recorded(meta, lines, backend.session, folder)

    return record
