"""Record one episode: build the home, start the desktop, let the agent act, take the end state.

meta.json is written last, so a folder without it is unfinished and recorded anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from pyrite.episodes.agents import NOT_PERFORMED, Agent, Observation, Stopped
from pyrite.episodes.loops import Loops
from pyrite.errors import RunError, SandboxError
from pyrite.records import SCHEMA_VERSION, Action, ActionLine, EndedBy, Meta, Screen, Source
from pyrite.records import Agent as AgentRecord
from pyrite.sandbox import confine
from pyrite.sandbox.backend import Act, Backend, EndState, Session, SessionSpec
from pyrite.steps import ActLine, Step
from pyrite.store.bench import now
from pyrite.store.images import pixels_sha256, save_webp
from pyrite.store.jsonl import append_lines, write_record
from pyrite.store.paths import EpisodePaths
from pyrite.store.scratch import scratch
from pyrite.tasks.task import BUILD_LIMITS, INITIAL, Task

STEP_LIMIT = 100
PARTIAL = ".partial"
"""Ending of a folder that is being recorded into."""
TIME_LIMIT_S = 600.0
_SPEAKS = ("done", "fail", "refused")
"""How an episode ends whose agent has had a last word."""


@dataclass(frozen=True)
class Order:
    """What to record, apart from the objects that do it."""

    episode_id: str
    source: Source
    seed: int
    parent: str | None = None
    perturbation: str | None = None
    weakened: str | None = None
    """What is taken away from the agent."""
    message_kind: str | None = None
    """Of a final message that was drawn for this episode; None asks the agent."""
    task_digest: str | None = None
    """Of the task as it is now, so that an episode of a changed task is known later."""
    step_limit: int = STEP_LIMIT
    time_limit_s: float = TIME_LIMIT_S


def episode_id(*parts: object) -> str:
    """An opaque id that the same order gets again, so that recording resumes.

    >>> episode_id(0, "a-task", "scripted", 1)
    'ep_e895bb1465dc'
    """
    return "ep_" + hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]


def record_episode(
    backend: Backend,
    task: Task,
    agent: Agent,
    order: Order,
    folder: Path,
) -> Meta:
    """Record into `folder` and return the finished meta; the folder appears when it is finished.

    Raises `SandboxError` where the episode cannot start; a sandbox that is lost on the way gives an
    episode that ended by `environment_lost` and has no end state. Whatever else the agent raises is passed
    on, and nothing is left of the episode. The agent is closed in each case.
    """
    partial = folder.with_name(f".{folder.name}.{os.getpid()}{PARTIAL}")
    try:
        return _record(backend, task, agent, order, folder, partial)
    except Exception:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        close = getattr(agent, "close", None)
        if close is not None:
            close()


def _record(backend: Backend, task: Task, agent: Agent, order: Order, folder: Path, partial: Path) -> Meta:
    partial.mkdir(parents=True)
    paths = EpisodePaths(partial)
    with scratch("record") as folder_of_states:
        home = build_initial(task, folder_of_states)
        dated = task.spec.clock_within_s is not None
        spec = SessionSpec(open=task.spec.initial.open, read_clock=dated)
        with backend.start(home, spec) as session:
            film = _Film(paths, session, agent, order, task.spec.act)
            ended_by = film.roll(task.spec.instruction)
            meta = _meta(task, agent, order, session, film, ended_by)
    write_record(paths.meta, meta)
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    return meta


def build_initial(task: Task, into: Path) -> Path:
    """Build a task's initial home below `into`. Raises `RunError` where its set-up fails."""
    out = into / "states"
    out.mkdir()
    built = confine.run(task.builder(out, [INITIAL]), writes=[out], limits=BUILD_LIMITS)
    if built.returncode != 0:
        said = built.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise RunError(
            f"the initial home of task {task.spec.task_id} cannot be built: {said[-1]}",
            expected="setup and recipe that run to their end in an empty home",
        )
    return out / INITIAL


class _Film:
    """The growing episode folder of one session."""

    def __init__(
        self, paths: EpisodePaths, session: Session, agent: Agent, order: Order, act: Sequence[Step] = ()
    ) -> None:
        self._paths = paths
        self._steps = act
        self._session = session
        self._agent = agent
        self._order = order
        own = getattr(agent, "step_limit", None)
        self._step_limit = order.step_limit if own is None else min(order.step_limit, own)
        self._loops = Loops() if order.source in {"natural", "weakened"} else None
        self._stored: dict[str, str] = {}
        self.steps = 0
        self.lost: str | None = None
        """Why the sandbox was lost, if it was."""
        self.stopped: str | None = None
        """Why the agent ended without an action of its own, if it did."""
        self.size: tuple[int, int] = (0, 0)

    def roll(self, instruction: str) -> EndedBy:
        """Act until the agent ends, a limit is reached, or the sandbox is lost."""
        try:
            screen = self._session.screenshot().screen
            self._keep(screen, 0)
            self.size = screen.size
            ended_by = self._act(instruction, screen)
            if ended_by == "environment_lost":
                self.lost, self.stopped = self.stopped, None
                return ended_by
            facts = self._finish().facts
            write_record(self._paths.facts, facts)
        except SandboxError as exc:
            for path in (self._paths.final_state, self._paths.facts):
                path.unlink(missing_ok=True)
            for path in (self._paths.acts, self._paths.acted_state):
                path.unlink(missing_ok=True)
            self.lost = exc.what
            return "environment_lost"
        return ended_by

    def _finish(self) -> EndState:
        """Take the end state; for a verifier that acts, then act, without another screen: judges see none."""
        if not self._steps:
            return self._session.finish(self._paths.final_state)
        self._paths.acts.touch()

        def note(line: ActLine) -> None:
            append_lines(self._paths.acts, [line], sparse=True)

        act = Act(self._steps, self._paths.acted_state, note)
        return self._session.finish(self._paths.final_state, act)

    def _act(self, instruction: str, screen: Image.Image) -> EndedBy:
        deadline = time.monotonic() + self._order.time_limit_s
        error: str | None = None
        while True:
            if self.steps >= self._step_limit:
                return "step_limit"
            try:
                action = self._agent.act(instruction, Observation(screen, self.steps, error))
            except Stopped as exc:
                self.stopped = exc.why
                return exc.ended_by
            ends = action.action in {"done", "fail"}
            if ends:
                screen, error = self._session.screenshot().screen, None
            elif action.action == NOT_PERFORMED:
                screen, error = (
                    self._session.screenshot().screen,
                    str((action.model_extra or {}).get("why", "")),
                )
            else:
                observed = self._session.act(action, settle=self._agent.waits)
                screen, error = observed.screen, observed.error
            self.steps += 1
            key = self._write(action, screen, error)
            if ends:
                return "done" if action.action == "done" else "fail"
            if self._loops is not None and self._loops.seen(action, key):
                self.stopped = "the same actions again and again on the same screens"
                return "loop"
            if time.monotonic() >= deadline:
                return "time_limit"

    def _write(self, action: Action, screen: Image.Image, error: str | None) -> str:
        """Append one line; returns where its screen is kept, the same for equal screens."""
        kept = self._keep(screen, self.steps)
        line = ActionLine(
            **action.model_dump(exclude_none=True),
            step=self.steps,
            screen=kept,
            at=now(),
            error=error,
        )
        append_lines(self._paths.actions, [line], sparse=True)
        return kept

    def _keep(self, screen: Image.Image, step: int) -> str:
        """Store a frame unless an equal one is there already; returns its path in the episode."""
        key = pixels_sha256(screen)
        if key not in self._stored:
            self._stored[key] = f"screens/{step:03d}.webp"
            save_webp(screen, self._paths.root / self._stored[key])
        return self._stored[key]


def _meta(task: Task, agent: Agent, order: Order, session: Session, film: _Film, ended_by: EndedBy) -> Meta:
    kind = order.message_kind or getattr(agent, "message_kind", None)
    return Meta(
        schema_version=SCHEMA_VERSION,
        episode_id=order.episode_id,
        task_id=task.spec.task_id,
        source=order.source,
        agent=_agent_record(agent, order.seed),
        n_steps=film.steps,
        created_at=now(),
        final_message=agent.final_message() if ended_by in _SPEAKS else None,
        sandbox_image=session.image,
        ended_by=ended_by,
        family=task.spec.family or None,
        domain=task.spec.domain or None,
        task_digest=order.task_digest,
        benchmark=task.spec.benchmark,
        parent=order.parent,
        perturbation=order.perturbation,
        screen=Screen(width=film.size[0], height=film.size[1]),
        enforced=session.enforced,
        lost=film.lost,
        weakened=order.weakened,
        message_kind=kind if ended_by in _SPEAKS else None,
        stopped=film.stopped,
    )


def _agent_record(agent: Agent, seed: int) -> AgentRecord:
    """Who acted; of an agent under test also its settings, and what it used."""
    told: dict[str, object] = {**getattr(agent, "settings", {})}
    used = getattr(agent, "usage", None)
    if used:
        told["usage"] = dict(used)
    return AgentRecord.model_validate({**told, "name": agent.name, "version": agent.version, "seed": seed})
