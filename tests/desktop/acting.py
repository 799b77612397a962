"""What the tests of active verifiers share: altered tasks, disturbed desktops, one decided episode."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyrite.episodes.agents import Replayer
from pyrite.episodes.record import Order, record_episode
from pyrite.records import Action, TaskSpec, Truth
from pyrite.sandbox.backend import Act, EndState, SessionSpec
from pyrite.sandbox.local import LocalBackend, LocalSession
from pyrite.steps import ActLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines
from pyrite.suites.suite import load_suite
from pyrite.tasks.task import Program
from pyrite.truth import active
from pyrite.truth.decide import Job, decide, state_sha256
from pyrite.truth.live import script_of
from pyrite.truth.replay import replay

SUITE = load_suite("desk-active")
CALC, DIALOG, SLOW = (
    "calc-left-open-price-list-d4",
    "calc-left-open-headcount-d8",
    "calc-left-open-sales-b9",
)
TEXT, ANY_NAME = "text-left-open-minutes", "text-left-open-packing"


@dataclass(frozen=True)
class Altered:
    """A task of the suite with something else in its task.json; implements `Task`."""

    task_id: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> TaskSpec:
        body = SUITE.task(self.task_id).spec.model_dump(mode="json", by_alias=True)
        return TaskSpec.model_validate({**body, **self.changes})

    def builder(self, out: Path, names: Sequence[str]) -> Program:
        return SUITE.task(self.task_id).builder(out, names)

    def verifier(self, home: Path) -> Program:
        return SUITE.task(self.task_id).verifier(home)

    def verifier_sha256(self) -> str:
        return SUITE.task(self.task_id).verifier_sha256()


class Disturbed(LocalBackend):
    """A desktop on which something happens that is not the agent's doing."""

    def __init__(
        self,
        *,
        before_act: Callable[[LocalSession], None] | None = None,
        environment: Mapping[str, str] | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        super().__init__()
        self._before_act = before_act
        self._environment = environment or {}
        self._files = files or {}

    def start(self, home: Path, spec: SessionSpec) -> LocalSession:
        for name, source in self._files.items():
            shutil.copyfile(source, home / name)
        changed = SessionSpec(
            open=spec.open, read_clock=spec.read_clock, environment={**spec.environment, **self._environment}
        )
        session = super().start(home, changed)
        disturb = self._before_act
        if disturb is not None:
            finish = session.finish

            def disturbed(archive: Path, act: Act | None = None) -> EndState:
                disturb(session)
                return finish(archive, act)

            session.finish = disturbed  # type: ignore[method-assign]
        return session


@dataclass(frozen=True)
class Episode:
    """One recorded episode and what was decided of it."""

    folder: Path
    truth: Truth
    problems: tuple[str, ...]

    @property
    def lines(self) -> list[ActLine]:
        return list(read_lines(self.folder / "act.jsonl", ActLine))

    def seen(self) -> str:
        """The step that failed, in words."""
        return next((line.seen for line in self.lines if not line.ok), "")


def episode(
    tmp_path: Path,
    task: Any,
    *,
    backend: LocalBackend | None = None,
    script: Sequence[Action] | None = None,
    more: Sequence[dict[str, Any]] = (),
) -> Episode:
    """Record a competent agent's script and `more` actions on a real desktop, then decide the episode."""
    bench = Bench.create(tmp_path / "bench")
    folder = bench.paths.episode("e").root
    actions = [*(script if script is not None else script_of(SUITE.task(task.spec.task_id)))]
    actions = [action for action in actions if action.action != "done"]
    actions += [Action.model_validate(action) for action in more]
    agent = Replayer("scripted", [*actions, Action(action="done")], "It is done.")
    meta = record_episode(backend or LocalBackend(), task, agent, Order("e", "scripted", 0), folder)
    assert meta.ended_by == "done", meta.lost
    paths = bench.paths.episode("e")
    known = replay(task, image="here", live=False)
    assert known.cause is None, known.detail
    decided = decide(
        Job(
            bench.root,
            "e",
            task,
            task.verifier_sha256(),
            state_sha256(paths.final_state),
            known,
            acted_sha256=active.digest(paths),
        )
    )
    return Episode(folder, decided.truth, decided.problems)
