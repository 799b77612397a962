"""Decide one episode: its archived end state, unpacked, verified confined, and categorised.

Reads an episode folder, which is hostile data throughout, and returns a `Truth`; writes nothing.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import stat
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pyrite.errors import InputError
from pyrite.records import BLAME, Facts, Meta, Outcome, TaskSpec, Truth
from pyrite.sandbox import forkserver
from pyrite.sandbox import image as system
from pyrite.store.bench import Bench, now
from pyrite.store.paths import EpisodePaths
from pyrite.store.scratch import require_room
from pyrite.tasks import archive
from pyrite.tasks.task import Task
from pyrite.truth import active, categories
from pyrite.truth.replay import ReplayResult
from pyrite.truth.verifier import ask, confinement
from pyrite.truth.verifier_output import Answer, bounded

FACTS_LIMIT = 16 << 20

DECIDING_LIBRARIES = ("pyrite", "defusedxml", "zstandard")
"""Packages whose version can move an outcome; the interpreter and its libraries are added."""


@dataclass(frozen=True)
class Job:
    """What is needed to decide one episode, in this process or another."""

    bench: Path
    episode_id: str
    task: Task
    verifier_sha256: str
    state_sha256: str | None
    replay: ReplayResult
    runs: int = 1
    """How often each end state is verified; two answers are one cause."""
    acted_sha256: str | None = None
    """Of act.jsonl and the state after it, for tasks whose verifier acts (`active.digest`)."""


@dataclass(frozen=True)
class Decided:
    """An outcome, and what was wrong with the episode on the way that did not change it."""

    truth: Truth
    problems: tuple[str, ...] = ()
    log: str = ""
    """What the verifier printed besides its answer."""


def state_sha256(path: Path) -> str | None:
    """Digest of an archive's bytes; None where it is missing or not a plain file."""
    if not _is_plain_file(path):
        return None
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _is_plain_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


@lru_cache(maxsize=1)
def libraries() -> dict[str, str]:
    """Versions of what decides an outcome here."""
    import zlib
    from xml.parsers import expat

    found = {"python": platform.python_version(), "expat": expat.EXPAT_VERSION.removeprefix("expat_")}
    found["zlib"] = zlib.ZLIB_RUNTIME_VERSION
    for name in DECIDING_LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found


@lru_cache(maxsize=1)
def host_image() -> str:
    """A name for what verifiers run on here: platform, the deciding libraries, and whatever else a verifier
    may import or start, which is every installed distribution of this Python and package of the system."""
    known = {f"{k}={v}" for k, v in libraries().items()}
    known |= {f"{one.name}=={one.version}" for one in metadata.distributions()}
    text = "\n".join([*sorted(known), system.name()])
    digest = hashlib.sha256(f"{sys.platform}\n{platform.machine()}\n{text}".encode()).hexdigest()
    return f"host-{digest[:12]}"


def broken(bench: Bench, episode_id: str, problem: str) -> Truth:
    """The outcome of an episode that cannot be read: it stays in the denominator."""
    path = bench.paths.episode(episode_id).final_state
    return _indeterminate(episode_id, "state_unreadable", problem, state_sha256=state_sha256(path))


def without_truth(episode_id: str, problem: str) -> Truth:
    """The outcome of an imported episode, whose end state nobody recorded."""
    return _indeterminate(episode_id, "state_missing", problem)


def decide(job: Job) -> Decided:
    """The outcome of one episode of a task that was replayed."""
    bench = Bench(job.bench)
    meta = bench.meta(job.episode_id)
    common: dict[str, Any] = {
        "verifier_sha256": job.verifier_sha256,
        "state_sha256": job.state_sha256,
        "replay": job.replay.record,
        "acted_sha256": job.acted_sha256,
    }

    def no_outcome(cause: str, problem: str) -> Decided:
        return Decided(_indeterminate(job.episode_id, cause, problem, **common))

    if job.replay.cause is not None:
        return no_outcome(job.replay.cause, job.replay.detail)
    if meta.ended_by == "environment_lost":
        return no_outcome("environment_lost", "the sandbox was lost during the episode")
    paths = bench.paths.episode(job.episode_id)
    facts = _facts(bench, job.episode_id)
    off = _clock_problem(job.task.spec, facts)
    if off:
        return no_outcome("setup_failed", off)
    if job.state_sha256 is None:
        odd = paths.final_state.exists() or paths.final_state.is_symlink()
        what = "final_state.tar.zst is not a plain file" if odd else "there is no final_state.tar.zst"
        return no_outcome("state_unreadable" if odd else "state_missing", what)
    try:
        answer, skipped = _verify(job, paths.final_state, paths.facts)
    except archive.StateUnreadable as exc:
        return no_outcome("state_unreadable", exc.what)
    noticed: tuple[str, ...] = ()
    if job.task.spec.act:
        answer, common["act"], noticed = _active(job, paths, answer, facts)
        skipped = (*skipped, *noticed)
    if answer.cause is not None:
        truth = _indeterminate(job.episode_id, answer.cause, answer.problem, answer, **common)
        noted = {**answer.diagnostics, **truth.diagnostics, **({"log": answer.log} if answer.log else {})}
        return Decided(truth.model_copy(update={"diagnostics": bounded(noted)}), skipped, answer.log)
    truth, problems = _determinate(bench, meta, answer, common)
    return Decided(truth, (*skipped, *problems), answer.log)


def _active(
    job: Job, paths: EpisodePaths, final: Answer, facts: Facts | None
) -> tuple[Answer, dict[str, Any], tuple[str, ...]]:
    """The answer that decides an episode whose verifier acts, what gt.json keeps of it, and what is odd."""
    spec = job.task.spec
    act = active.read(paths.acts, spec.act)
    if not act.done:
        act = replace(act, by_agent=active.agents_doing(spec.initial.open, facts))
    acted: Answer | active.State
    skipped: tuple[str, ...] = ()
    if not _is_plain_file(paths.acted_state):
        odd = paths.acted_state.exists() or paths.acted_state.is_symlink()
        acted = "unreadable" if odd else "missing"
    else:
        try:
            acted, skipped = _verify(job, paths.acted_state, paths.facts)
        except archive.StateUnreadable:
            acted = "unreadable"
    after = acted if isinstance(acted, str) else _state(acted)
    acted_cause = None if isinstance(acted, str) else acted.cause
    ruling = active.rule(
        spec.truth_from, final.outcome, act, after, final_cause=final.cause, acted_cause=acted_cause
    )
    note = active.noted(spec.truth_from, act, final, acted, ruling)
    if ruling.decided_by == "final":
        return final, note, (*skipped, *_disagreement(final, act, after))
    if ruling.decided_by == "acted" and not isinstance(acted, str):
        return acted, note, skipped
    problem = act.said() if ruling.decided_by == "act" else f"active part: the acted state is {after}"
    undecided = replace(
        final, outcome=Outcome.INDETERMINATE, candidates=(), cause=ruling.cause, problem=problem
    )
    return undecided, note, skipped


def _state(answer: Answer) -> active.State:
    states: dict[Outcome, active.State] = {
        Outcome.PASS: "pass",
        Outcome.FAIL: "fail",
        Outcome.INDETERMINATE: "indeterminate",
    }
    return states[answer.outcome]


def _disagreement(final: Answer, act: active.Acted, after: active.State) -> list[str]:
    """What a reader should look into although the untouched state decides."""
    if final.outcome is Outcome.PASS and act.done and after == "fail":
        return ["active part: the state passes before the act and fails after it"]
    if not act.done and act.by_agent:
        return [f"{act.said()} ({act.by_agent}): the untouched state decides"]
    return []


def _clock_problem(spec: TaskSpec, facts: Facts | None) -> str:
    """Why an episode of a task that depends on the date has no outcome; empty where it may have one."""
    allowed = spec.clock_within_s
    if allowed is None:
        return ""
    if facts is None or facts.clock is None:
        return "the task depends on the date, and what the sandbox's clock said is not known"
    off = facts.clock.sandbox - facts.clock.host
    if abs(off) <= allowed:
        return ""
    way = "ahead of" if off > 0 else "behind"
    return (
        f"the sandbox's clock was {abs(off):.0f} s {way} this machine's before the first action; "
        f"the task allows {allowed:g} s"
    )


def _verify(job: Job, state: Path, facts: Path) -> tuple[Answer, tuple[str, ...]]:
    """Unpack the end state and ask the verifier; also what of the archive could not be laid out."""
    with forkserver.scratch() as root:
        home = root / "home"
        home.mkdir()
        try:
            extracted = archive.extract(state, home, reads=job.task.spec.reads)
        except archive.StateUnreadable:
            require_room(root)
            raise
        given = _copy_facts(facts, root / "final_facts.json")
        answer = ask(job.task, home, given)
        for _ in range(job.runs - 1 if answer.cause is None else 0):
            again = ask(job.task, home, given)
            if again.said != answer.said and again.cause != "verifier_timeout":  # a busy machine, no answer
                problem = f"first {_said(answer)}, then {_said(again)} on the same state"
                answer = replace(
                    answer, outcome=Outcome.INDETERMINATE, cause="verifier_not_deterministic", problem=problem
                )
                break
    skipped = tuple(f"{path!r:.120} in the end state: {why:.120}" for path, why in extracted.skipped[:5])
    return answer, skipped


def _said(answer: Answer) -> str:
    codes = " ".join(answer.candidates)
    return answer.cause or f"{answer.outcome}{f' ({codes})' if codes else ''}"


def _copy_facts(facts: Path, into: Path) -> Path | None:
    """A copy that holds nothing but the facts, so that the episode folder stays out of sight."""
    if not _is_plain_file(facts) or facts.stat().st_size > FACTS_LIMIT:
        return None
    shutil.copyfile(facts, into)
    into.chmod(0o444)
    return into


def _determinate(bench: Bench, meta: Meta, answer: Answer, common: dict[str, Any]) -> tuple[Truth, list[str]]:
    problems: list[str] = []
    narrowed = categories.Narrowed(None)
    diagnostics = dict(answer.diagnostics)
    if answer.outcome is Outcome.FAIL:
        narrowed = categories.narrow(answer.candidates, diagnostics, _observe(bench, meta, problems))
        if narrowed.category is None:
            diagnostics["unclassified"] = narrowed.reason
    truth = Truth(
        episode_id=meta.episode_id,
        outcome=answer.outcome,
        passed=answer.outcome is Outcome.PASS,
        category=narrowed.category,
        category_source=narrowed.source,
        candidates=answer.candidates,
        diagnostics=diagnostics,
        confinement=confinement(answer),
        libraries=libraries(),
        verified_at=now(),
        **common,
    )
    return truth, problems


def _facts(bench: Bench, episode_id: str) -> Facts | None:
    """The facts, or None where there are none that can be read."""
    try:
        return bench.facts(episode_id)
    except InputError:
        return None


def _observe(bench: Bench, meta: Meta, problems: list[str]) -> categories.Observed:
    facts: Facts | None = None
    actions = None
    try:
        facts = bench.facts(meta.episode_id)
    except InputError as exc:
        problems.append(f"final_facts.json: {exc.what}")
    try:
        if not _is_plain_file(bench.paths.episode(meta.episode_id).actions):
            raise InputError("it is not there as a plain file")
        actions = bench.actions(meta.episode_id)
    except InputError as exc:
        problems.append(f"actions.jsonl: {exc.what}")
    return categories.observe(facts, meta.ended_by, meta.final_message, actions)


def _indeterminate(
    episode_id: str, cause: str, problem: str, answer: Answer | None = None, **common: Any
) -> Truth:
    return Truth(
        episode_id=episode_id,
        outcome=Outcome.INDETERMINATE,
        passed=None,
        cause=cause,
        blame=BLAME[cause],
        diagnostics=bounded({"problem": problem} if problem else {}),
        confinement=confinement(answer),
        libraries=libraries(),
        verified_at=now(),
        **common,
    )
