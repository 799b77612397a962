"""The replay client: answers out of a recorded transcript, so that any judge runs without a model.

    pyrite judge BENCH --judge webjudge@model=replay:log.jsonl,compat=true

A line of the recording is one answer, found by what it is about (the episode and condition, or the id of
the package), the run, and the step and position of the call. The words of the request are not compared:
this is how a judge of ours is held against the log of another program, whose prompts are its own.

    {"episode_id": "ep_1", "condition": "E3-full", "step": "image", "position": 2, "text": "### Score: 4"}

What is not in the recording has no answer: the call is refused and the episode counts as missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, model_validator

from pyrite.errors import InputError
from pyrite.evidence.packing import package_id
from pyrite.judges.client.base import Answer, CallError, Request, Usage
from pyrite.judges.client.budget import Spent
from pyrite.records import Record
from pyrite.store.conditions import ACCEPTED, canonical
from pyrite.store.jsonl import read_lines

Place = tuple[str, int, str, int]
"""Package, run, step, position."""
MAX_NAMED = 5
"""Answers that nobody asked for of which each is named."""


class Recorded(Record):
    """One recorded answer, and where it belongs."""

    package_id: str | None = None
    episode_id: str | None = None
    condition: str | None = None
    run: int = Field(default=1, ge=1)
    step: str = ""
    position: int = Field(default=0, ge=0)
    text: str | None = None
    """null where the model gave no text."""
    finish: str | None = None
    refusal: str | None = None
    model: str | None = None
    usage: Usage = Usage()

    @model_validator(mode="after")
    def _named(self) -> Recorded:
        named = self.episode_id is not None and self.condition is not None
        if named == (self.package_id is not None):
            raise ValueError("either package_id, or episode_id and condition")
        if self.condition is not None and canonical(self.condition) is None:
            raise ValueError(f"no condition {self.condition[:80]!r}: {ACCEPTED}")
        return self

    @property
    def place(self) -> Place:
        package = self.package_id
        if package is None:
            package = package_id(self.episode_id or "", canonical(self.condition or "") or "")
        return package, self.run, self.step, self.position

    def answer(self) -> Answer:
        return Answer(
            text=self.text,
            finish=self.finish,
            refusal=self.refusal,
            model=self.model,
            usage=self.usage,
            requests=0,
            cost=0.0,
        )


@dataclass(frozen=True)
class Recording:
    """The answers of a file, and its digest, which stands for it in a judge's config."""

    answers: dict[Place, Answer]
    sha256: str
    name: str = ""
    about: dict[str, str] = field(default_factory=dict)
    """Package -> what the recording calls it."""

    @classmethod
    def of(cls, lines: Iterable[Recorded], *, name: str = "") -> Recording:
        """Raises `InputError` for two answers of one place that differ."""
        answers: dict[Place, Answer] = {}
        about: dict[str, str] = {}
        digest = hashlib.sha256()
        for line in lines:
            if answers.setdefault(line.place, line.answer()) != line.answer():
                package, run, step, position = line.place
                raise InputError(
                    f"two answers to step {step!r}, position {position} of {package}, run {run}",
                    where=name,
                    expected="one answer a package, run, step and position",
                )
            digest.update(line.model_dump_json().encode())
            named = f"{line.episode_id} {line.condition}" if line.episode_id else line.package_id
            about.setdefault(line.place[0], named or "")
        return cls(answers, digest.hexdigest(), name, about)

    def says(self, place: Place) -> str:
        """An answer by its place, in the words of the recording."""
        package, run, step, position = place
        called = self.about.get(package, package)
        return f"{called}, run {run}" + (f", {step} {position}" if step else "")

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Read a file, plain or .gz. Raises `InputError` for a line that is none, and for one without any."""
        if not path.is_file():
            raise InputError("no such recording", where=str(path), expected="JSON lines, one answer each")
        found = cls.of(read_lines(path, Recorded, foreign=True), name=str(path))
        if not found.answers:
            raise InputError("it holds no answer", where=str(path), expected="JSON lines, one answer each")
        return found


@dataclass
class ReplayClient:
    """Answers out of a recording; `asked` are the places that were asked for."""

    recording: Recording
    spent: Spent = field(default_factory=Spent)
    asked: set[Place] = field(default_factory=set)

    async def ask(self, request: Request) -> Answer:
        place = (request.package, request.run, request.step, request.position)
        self.asked.add(place)
        found = self.recording.answers.get(place)
        if found is None:
            step = f"step {request.step!r}, position {request.position}" if request.step else "this call"
            raise CallError(
                "rejected",
                f"the recording has no answer to {step}, run {request.run}",
                where=self.recording.name,
                expected="a line of this package, run, step and position",
            )
        self.spent.cached += 1
        return found

    @property
    def unasked(self) -> set[Place]:
        """Answers that nobody asked for: the judge went another way than the recorded one."""
        return set(self.recording.answers) - self.asked

    def left_over(self) -> str:
        """What nobody asked for, in a line; "" where all of it was used, or nobody asked at all."""
        packages = {package for package, *_ in self.asked}
        here = sorted(place for place in self.unasked if place[0] in packages)
        elsewhere = sorted(place for place in self.unasked if place[0] not in packages)
        parts = [
            f"{len(places)} {what} ({self._named(places)})"
            for places, what in (
                (here, "of evidence that was judged: the recorded judge went another way"),
                (elsewhere, "of evidence that was not asked about"),
            )
            if places
        ]
        told = f"{self.recording.name}: answers that nobody asked for: {'; '.join(parts)}"
        return told if packages and parts else ""

    def _named(self, places: Sequence[Place]) -> str:
        shown = "; ".join(map(self.recording.says, places[:MAX_NAMED]))
        return shown + (f"; and {len(places) - MAX_NAMED} more" if len(places) > MAX_NAMED else "")

    async def aclose(self) -> None: ...
