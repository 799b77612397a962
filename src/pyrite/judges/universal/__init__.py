"""`universal`: rubric, all the screens, process and outcome, side effects, diagnosis.

    universal@model=gpt-5                           as published: a call a screen, then one a selected screen
    universal@model=gpt-5,small=o4-mini,mode=economical             fewer and smaller calls
    universal@model=gpt-5,votes=3,k=5,pruning=paper,frames=pre-action
    universal@model=gpt-5,rubrics=webtailbench.jsonl.gz     rubrics that were written before

After "The Art of Building Verifiers for Computer Use Agents" (arXiv 2604.06240), with prompts of our own.
The verdict is the outcome, the score that of the process; the line's `process` block says the rest.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyrite.errors import UsageError
from pyrite.judges import eyes as own_eyes
from pyrite.judges.base import Package, Reply
from pyrite.judges.client.base import Request, Text
from pyrite.judges.client.calls import Calls
from pyrite.judges.universal import baseline, diagnosis, given, prompts, result, rubric, table
from pyrite.judges.universal.asking import Asker
from pyrite.judges.universal.options import Settings, settings, texts
from pyrite.judges.universal.pipeline import Verification
from pyrite.judges.universal.records import Rubric, StepFailed
from pyrite.judges.universal.words import Words
from pyrite.records import Evidence

NOT_GIVEN = "the file of rubrics has none for this task: the model wrote it"


@dataclass
class _Here:
    """What belongs to one event loop: how many calls at once, and who is making what is made once."""

    gate: asyncio.Semaphore
    making: dict[str, asyncio.Lock] = field(default_factory=dict)


class Universal:
    """Grades what an agent did by a rubric, with all its screens, and says whether the user got it."""

    name = "universal"
    inputs = "task, actions, every screen"
    calls_per_episode = "M + S + 8"
    source = "the Universal Verifier (arXiv 2604.06240)"
    deterministic = False

    def __init__(
        self,
        model: str = "",
        small: str = "",
        base_url: str = "",
        api_key_env: str = "",
        mode: str = "",
        frames: str = "",
        pruning: str = "",
        k: str = "",
        votes: str = "",
        threshold: str = "",
        success: str = "",
        eyes: str = "",
        attempts: str = "",
        same: str = "",
        near: str = "",
        relevance: str = "",
        relevance_side: str = "",
        quality: str = "",
        jpeg_above: str = "",
        rubric: str = "",
        rubrics: str = "",
        redo: str = "",
        diagnosis: str = "",
        schema: str = "",
        temperature: str = "",
        max_tokens: str = "",
        max_chars: str = "",
        left_out: str = "",
        cache: bool = True,
        *,
        calls: Calls,
    ) -> None:
        """`small`: the model of the lesser steps; `rubrics`: a file of rubrics that were written before."""
        given_options = {
            key: value
            for key, value in locals().items()
            if key not in {"self", "model", "small", "base_url", "api_key_env", "rubrics", "cache", "calls"}
        }
        self.settings = settings(given_options)
        self._calls, self._cache = calls, cache
        self.endpoint = calls.endpoint(model=model, base_url=base_url, api_key_env=api_key_env)
        self.small = (
            calls.endpoint(model=small, base_url=base_url, api_key_env=api_key_env)
            if small
            else self.endpoint
        )
        if self.settings.eyes == "pixels" and (self.endpoint.blind or self.small.blind):
            raise UsageError(
                f"{self.endpoint.model} takes no images",
                expected="universal@eyes=ocr, or --mmproj with the file that gives this model eyes",
            )
        self._given = given.load(Path(rubrics)) if rubrics else {}
        self._given_sha256 = hashlib.sha256(Path(rubrics).read_bytes()).hexdigest() if rubrics else None
        self._made: dict[str, Any] = {}
        self._here: WeakKeyDictionary[asyncio.AbstractEventLoop, _Here] = WeakKeyDictionary()

    @classmethod
    def option_texts(cls) -> dict[str, str]:
        """Option -> its default, and what else it may be."""
        return {**texts(), "rubrics": "", "small": "(the model)"}

    def supports(self, condition: str) -> bool:
        """All screens are looked at: nothing less is taken."""
        return condition.startswith("E3-")

    def config(self) -> dict[str, Any]:
        """Models, options, the digest of each step's prompt, and of the rubrics that were given."""
        return {
            **self.endpoint.as_json(),
            "small": self.small.as_json(),
            "settings": self.settings.as_json(),
            "prompts": prompts.digests(),
            "prompt_sha256": prompts.digest(),
            "rubrics_sha256": self._given_sha256,
            **(own_eyes.reader() if self.settings.eyes == "ocr" else {}),
        }

    async def judge(self, package: Package, run: int) -> Reply:
        """Raises `CallError` where an endpoint gives no answers: no verdict, and nothing answered is lost."""
        ocr = self.settings.eyes == "ocr"
        read = await own_eyes.texts(package, cache=self._cache) if ocr else None
        asker = self._asker(package, run)
        made = Verification(package, asker, self.settings, _Shared(self, run), read)
        found = await made.run()
        return result.reply(found, asker.log, self.settings)

    async def request(self, package: Package, run: int) -> Request:
        """The first request about a package: for a rubric, or where one was given about the actions alone."""
        asker, words = self._asker(package, run), Words(package.evidence, 0)
        known = self._rubric_given(package.evidence)
        if known is not None:
            parts, form = baseline.parts(words, known), baseline.schema(known)
            return asker.first("actions_only", parts, schema=form, small=True)
        task = [Text(words.of_task().task())]
        return asker.first("rubric", task, schema=rubric.SCHEMA, of_task=_drawing(self.settings, run))

    def _asker(self, package: Package, run: int) -> Asker:
        return Asker(
            self._calls,
            self.endpoint,
            self.small,
            self.settings,
            self._loop().gate,
            run=run,
            condition=package.evidence.condition,
        )

    def calls_for(self, evidence: Evidence) -> tuple[int, int]:
        """The fewest and the most calls about one package, when every answer can be used."""
        known = self._rubric_given(evidence)
        return table.bounds(evidence, self.settings, known)

    def calls_table(self, packages: Sequence[tuple[Evidence, int]]) -> list[str]:
        """The published count of calls by step, and what will be sent about these packages and runs."""
        return table.text(packages, self.settings, self._rubric_given)

    def calls_in_all(self, packages: Sequence[tuple[Evidence, int]]) -> tuple[int, int]:
        """The fewest and the most calls about these packages and runs, what is shared counted once."""
        listed = table.totals(packages, self.settings, self._rubric_given)
        return sum(one.fewest for one in listed), sum(one.most for one in listed)

    def _rubric_given(self, evidence: Evidence) -> Rubric | None:
        found = self.given(evidence.instruction)
        return found if isinstance(found, Rubric) else None

    def _loop(self) -> _Here:
        loop = asyncio.get_running_loop()
        if loop not in self._here:
            self._here[loop] = _Here(asyncio.Semaphore(self._calls.options.limits.in_flight))
        return self._here[loop]

    async def once(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """What is made once: who comes second waits for the first. A step that failed has failed for all."""
        lock = self._loop().making.setdefault(key, asyncio.Lock())
        async with lock:
            if key not in self._made:
                try:
                    self._made[key] = await make()
                except StepFailed as exc:
                    self._made[key] = exc
        found = self._made[key]
        if isinstance(found, StepFailed):
            raise found
        return found

    @property
    def has_rubrics(self) -> bool:
        """Whether rubrics were given, for this task or another."""
        return bool(self._given)

    def given(self, instruction: str) -> Rubric | str:
        """The rubric that was given for a task; what is wrong with it, or ""."""
        return given.rubric_of(self._given, instruction)


def _drawing(settings: Settings, run: int) -> int:
    """Which rubric of the task is drawn in a run."""
    return settings.redo if settings.shared_rubric else 1000 * settings.redo + run


@dataclass(frozen=True)
class _Shared:
    """What the packages of a task share in one run."""

    judge: Universal
    run: int

    async def rubric(self, asker: Asker, words: Words) -> Rubric:
        known = self.judge.given(words.evidence.instruction)
        if isinstance(known, Rubric):
            return known
        drawing = _drawing(self.judge.settings, self.run)
        key = f"rubric {drawing}\0{words.evidence.instruction}"
        made: Rubric = await self.judge.once(key, lambda: rubric.write(asker, words, drawing))
        if known:
            return replace(made, note=f"the rubric that was given was not used: {known}")
        return replace(made, note=NOT_GIVEN) if self.judge.has_rubrics else made

    async def task_alone(self, asker: Asker, words: Words) -> dict[str, Any]:
        key = f"task\0{words.evidence.instruction}"
        found: dict[str, Any] = await self.judge.once(key, lambda: diagnosis.task_alone(asker, words))
        return found
