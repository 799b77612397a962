"""One verification, step after step: what does not depend on each other is asked at the same time.

rubric ─┬─ actions alone ──────────────┐
        └─ relevance ─ evidence ─┬─ conditions ─┬─ rescoring ─ side effects ─ outcome ─ failures
                                 └─ reality ────┘
task alone, task with record: beside all of it

A step that fails after its attempts is a fault. Where the outcome could be another one without it, the
outcome is null, and what would be paid for nothing is not asked any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pyrite.judges.base import Package
from pyrite.judges.universal import (
    baseline,
    conditions,
    diagnosis,
    evidence,
    outcome,
    reality,
    relevance,
    rescoring,
    rounds,
    scoring,
    side_effects,
)
from pyrite.judges.universal.asking import Asker
from pyrite.judges.universal.frames import Frame, Shots, frames, open_end
from pyrite.judges.universal.known import Known
from pyrite.judges.universal.options import Settings
from pyrite.judges.universal.records import (
    Baseline,
    Conditions,
    Diagnosis,
    Fault,
    Instance,
    Rubric,
    Seen,
    StepFailed,
    Vote,
)
from pyrite.judges.universal.scoring import NOTHING, Score
from pyrite.judges.universal.words import Words


class Shared(Protocol):
    """What all packages of a task have in common: made once, whoever comes first."""

    async def rubric(self, asker: Asker, words: Words) -> Rubric: ...

    async def task_alone(self, asker: Asker, words: Words) -> dict[str, Any]: ...


@dataclass
class Finding:
    """All that is known at the end; what was not reached is None or empty."""

    frames: list[Frame]
    faults: list[Fault] = field(default_factory=list)
    halted: str | None = None
    """The step after which nothing more was asked."""
    rubric: Rubric | None = None
    baseline: list[Baseline] | None = None
    matrix: dict[int, list[int]] = field(default_factory=dict)
    grouped: list[list[int]] = field(default_factory=list)
    """Before the irrelevant ones were taken out, as the released record has it."""
    seen: list[list[Seen]] = field(default_factory=list)
    conditions: Conditions | None = None
    notes: list[str] | None = None
    ungraded: set[int] = field(default_factory=set)
    instances: list[Instance] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    chosen: int | None = None
    """The instance at the median, kept whole."""
    votes: list[Vote | None] = field(default_factory=list)
    voted: bool | None = None
    """What the votes say, before the rule on penalties."""
    outcome: bool | None = None
    diagnosis: Diagnosis = field(default_factory=Diagnosis)

    @property
    def median(self) -> Instance | None:
        return None if self.chosen is None else self.instances[self.chosen]

    @property
    def score(self) -> Score:
        return NOTHING if self.chosen is None else self.scores[self.chosen]


class _Halt(Exception):
    """Nothing more is worth asking."""


class Verification:
    """One package in one run."""

    def __init__(
        self,
        package: Package,
        asker: Asker,
        settings: Settings,
        shared: Shared,
        texts: Sequence[str] | None,
    ) -> None:
        """`texts`: what was read off each image of the package, where that stands in for the pixels."""
        self._asker, self._settings, self._shared = asker, settings, shared
        self._shots = Shots(package, settings)
        self._texts = texts
        shown, missing = frames(package.evidence, settings)
        self.found = Finding(shown, missing)
        self._words = Words(package.evidence, len(shown), open_end(package.evidence, settings))

    async def run(self) -> Finding:
        """Raises `CallError` where an endpoint gives no answers; all else is in what is found."""
        found = self.found
        if self._texts is None:
            for number, why in self._shots.unreadable(found.frames).items():
                found.faults.append(
                    Fault("frames", f"screen {number + 1} is unreadable: {why}", decisive=True)
                )
        if not found.frames:
            found.faults.append(Fault("frames", "there is no screen to look at", decisive=True))
        if any(one.decisive for one in found.faults):
            found.halted = "frames"
            return found
        await _all(self._main(), *(self._of_task() if self._settings.diagnosis else ()))
        return found

    async def _main(self) -> None:
        try:
            await self._rubric()
            await self._look()
            await self._grade()
            await self._decide()
        except _Halt as exc:
            self.found.halted = str(exc)

    def _fail(self, exc: StepFailed, *, halt: bool = True, **more: Any) -> None:
        fault = Fault(exc.step, exc.why, exc.status, exc.attempts, **{"decisive": True, **more})
        self.found.faults.append(fault)
        if halt:
            raise _Halt(exc.step)

    async def _rubric(self) -> None:
        """0a and 0b; while they are waited for, pictures are made ready."""
        alone = iter([] if self._texts is not None else self._alone())
        side = self._settings.relevance_side
        ready = [asyncio.create_task(self._shots.ahead(alone, side)) for _ in range(2)]
        try:
            self.found.rubric = await self._shared.rubric(self._asker, self._words.of_task())
        except StepFailed as exc:
            self._fail(exc)
        finally:
            for task in ready:
                task.cancel()
            await asyncio.gather(*ready, return_exceptions=True)

    @property
    def _known(self) -> tuple[Asker, Words, Rubric]:
        assert self.found.rubric is not None
        return self._asker, self._words, self.found.rubric

    def _alone(self) -> list[Frame]:
        """The screens that are looked at, each of the same pixels once."""
        return [frame for frame in self.found.frames if frame.first == frame.number]

    def _text(self, frame: Frame) -> str | None:
        return None if self._texts is None else self._texts[frame.image]

    async def _look(self) -> None:
        """0c, 2, 3 and 4."""
        found, (asker, words, rubric) = self.found, self._known
        alone = self._alone()
        asked = [
            relevance.question(words, rubric, one, self._shots, self._text(one), self._settings)
            for one in alone
        ]
        graded, scores = await _all(baseline.grade(asker, words, rubric), rounds.ask(asker, asked))
        if isinstance(graded, StepFailed):
            self._fail(graded)
        found.baseline = graded
        by_first = dict(zip((one.number for one in alone), scores, strict=True))
        unknown = self._relevant(by_first)
        found.grouped = relevance.grouped(found.matrix, len(rubric.criteria), self._settings.k)
        groups = relevance.pruned(found.matrix, found.grouped, self._settings.pruning)
        await self._evidence(evidence.wanted([[*group, *unknown] for group in groups]))

    def _relevant(self, by_first: dict[int, list[int] | StepFailed]) -> list[int]:
        """Fill the matrix; screens of unknown relevance, which are then looked at for every criterion.

        That is done for at most k of them, and not for all there are: nothing would have been chosen.
        """
        found, unknown = self.found, []
        for frame in found.frames:
            scores = by_first[frame.first]
            if isinstance(scores, StepFailed):
                unknown.append(frame)
            else:
                found.matrix[frame.number] = scores
        lost = [one for one in unknown if one.first == one.number]
        blind = len(lost) > self._settings.k or not found.matrix
        for frame in lost:
            failed = by_first[frame.number]
            if isinstance(failed, StepFailed):
                self._fail(failed, halt=False, decisive=blind)
        if blind:
            raise _Halt("relevance")
        return [one.number for one in lost]

    async def _evidence(self, asked: dict[int, list[int]]) -> None:
        found, (asker, words, rubric) = self.found, self._known
        looking = evidence.Looking(words, rubric, self._shots, self._settings)
        shown = evidence.together(asked, found.frames)
        noted = await evidence.look(asker, looking, [(one, self._text(one[0].frame)) for one in shown])
        found.seen = evidence.spread(asked, noted, len(rubric.criteria))
        for (_, index), one in noted.items():
            if isinstance(one, StepFailed):
                found.ungraded.add(index)
                self._fail(one, halt=False, criteria=(index,))
        if len(found.ungraded) == len(rubric.criteria):
            raise _Halt("evidence")  # nothing that follows could have a grade

    async def _grade(self) -> None:
        """4.5, 5, 6 and 7."""
        found, (asker, words, rubric) = self.found, self._known
        assert found.baseline is not None
        decided, notes = await _all(
            conditions.decide(asker, words, rubric, found.baseline, found.seen, found.ungraded),
            reality.check(asker, words, rubric, found.seen),
        )
        if isinstance(decided, StepFailed):
            self._fail(decided, halt=False, criteria=tuple(rubric.conditional))
            decided = Conditions([True if one.condition is None else None for one in rubric.criteria])
        found.conditions = decided
        found.ungraded |= {index for index, met in enumerate(decided.met) if met is None}
        found.ungraded -= {index for index, met in enumerate(decided.met) if met is False}
        if isinstance(notes, StepFailed):
            self._fail(notes)
        found.notes = notes
        for index in sorted(found.ungraded - {i for one in found.faults for i in one.criteria or ()}):
            what = "it cannot be told whether its condition holds"
            found.faults.append(Fault("conditions", what, criteria=(index,), decisive=True))
        if found.ungraded and all(
            index in found.ungraded or met is False for index, met in enumerate(decided.met)
        ):
            raise _Halt("conditions")  # no criterion is left that could have a grade
        found.instances = list(await _all(*(self._instance(i) for i in range(self._settings.votes))))
        found.scores = [
            scoring.instance_score(one, rubric, decided.met, found.ungraded) for one in found.instances
        ]
        found.chosen = self._median()

    def _median(self) -> int | None:
        """The instance to go on with; where no score is known but grades are, the first that has them."""
        found = self.found
        chosen = scoring.median([one.value for one in found.scores])
        if chosen is not None:
            return chosen
        graded = [i for i, one in enumerate(found.instances) if one.grades is not None]
        if len(graded) < self._settings.votes // 2 + 1:
            raise _Halt("rescoring")
        return graded[0]

    @property
    def _so_far(self) -> Known:
        found = self.found
        assert found.baseline is not None
        assert found.conditions is not None
        assert found.notes is not None
        return Known(*self._known, found.baseline, found.conditions.met, found.notes, found.seen)

    async def _instance(self, number: int) -> Instance:
        known, made = self._so_far, Instance()
        few = self._settings.votes == 1
        try:
            made.grades = await rescoring.grade(known, number)
            made.penalties, made.reasoning = await side_effects.look(known, made, number)
        except StepFailed as exc:
            self._fail(exc, halt=False, decisive=few and made.grades is None)
        return made

    async def _decide(self) -> None:
        """8 and 9a."""
        found = self.found
        graded = found.median
        assert graded is not None
        if not self._matters():
            votes = await _all(*(self._vote(graded, i) for i in range(self._settings.votes)))
            found.votes = list(votes)
            found.voted = scoring.majority([None if one is None else one.said for one in votes])
            if found.voted is None and any(one is not None and one.open for one in votes):
                what = f"what step {self._words.open_end}, the last one, led to could decide it"
                found.faults.append(Fault("outcome", what, decisive=True))
            found.outcome = found.voted
            if found.voted and graded.penalties is None:
                found.outcome = None  # a side effect would make it a failure
                found.faults = [
                    replace(one, decisive=True) if one.step.startswith("side_effects") else one
                    for one in found.faults
                ]
            if found.voted and graded.penalties:
                found.outcome = False
        if self._settings.diagnosis:
            try:
                found.diagnosis.failures = await diagnosis.failures(self._so_far, graded, found.outcome)
            except StepFailed as exc:
                self._fail(exc, halt=False, decisive=False)

    def _matters(self) -> bool:
        """Whether a fault leaves the outcome open, whatever the votes would say."""
        met = self.found.conditions.met if self.found.conditions is not None else []
        for one in self.found.faults:
            if one.decisive and (one.criteria is None or any(met[i] is not False for i in one.criteria)):
                return True
        return False

    async def _vote(self, graded: Instance, number: int) -> Vote | None:
        try:
            return await outcome.decide(self._so_far, graded, number)
        except StepFailed as exc:
            self._fail(exc, halt=False, decisive=self._settings.votes == 1)
            return None

    def _of_task(self) -> list[Awaitable[None]]:
        async def alone() -> None:
            words = self._words.of_task()
            self.found.diagnosis.task_alone = await self._shared.task_alone(self._asker, words)

        async def with_record() -> None:
            self.found.diagnosis.task_with_record = await diagnosis.task_with_record(self._asker, self._words)

        return [self._beside(alone()), self._beside(with_record())]

    async def _beside(self, work: Awaitable[None]) -> None:
        try:
            await work
        except StepFailed as exc:
            self._fail(exc, halt=False, decisive=False)


async def _all(*work: Awaitable[Any]) -> list[Any]:
    return await rounds.together(work)
