"""What a judge is: an object with a label, the conditions it takes, and one coroutine.

    class Mine:
        name = "mine"
        deterministic = True
        def supports(self, condition): return True
        def config(self): return {"threshold": 0.5}
        async def judge(self, package, run): return Reply(verdict=Verdict.FAILURE, reason="…")

`pyrite judge BENCH --judge mymodule:Mine` runs it. A judge gets a `Package` and nothing else: no
episode id, no source, no agent, no truth. What it raises as `Unavailable` is an infrastructure
problem: no verdict line is written and the episode counts as missing for this judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

from PIL import Image

from pyrite.errors import RunError
from pyrite.judges.client import base as client
from pyrite.records import Evidence, Status, Verdict
from pyrite.store.images import open_image, read_image


class Unavailable(RunError):
    """No verdict could be obtained: an engine or endpoint is not there."""

    code = "judge_unavailable"


class Declined(Unavailable):
    """By its own rule the judge says nothing of this episode: no verdict, and nothing to be tried again."""

    code = "judge_declined"


@dataclass(frozen=True)
class Reply:
    """What a judge answers about one package."""

    verdict: Verdict | None
    reason: str = ""
    score: float | None = None
    confidence: float | None = None
    status: Status = "ok"
    usage: dict[str, Any] = field(default_factory=dict)
    raw: Any = None
    """What the judge's model answered, as JSON; the runner keeps it as raw/<sha256>.json."""
    model: str | None = None
    prompt_sha256: str | None = None
    process: dict[str, Any] | None = None
    """How it came to its verdict, as JSON, where a judge grades the way there too: the line's `process`."""


@dataclass(frozen=True)
class Package:
    """An evidence package with access to its images."""

    evidence: Evidence
    locate: Callable[[str], Path]
    """Path of an image file from the sha256 of its pixels."""

    def image(self, index: int) -> Image.Image:
        """The index-th image, decoded to RGB; -1 is the final screen."""
        return open_image(self.locate(self.evidence.images[index]))

    @cached_property
    def pictures(self) -> tuple[client.Image, ...]:
        """The images as parts of requests: read and encoded once, whoever sends them how often."""
        return tuple(
            client.Image(key, "image/png", partial(read_image, self.locate(key)))
            for key in self.evidence.images
        )


class Judge(Protocol):
    """The one interface of arm V (prompted), arm R (reward models) and the shortcuts.

    A judge that asks a model several times about a package may also have
    `calls_for(evidence) -> (fewest, most)`, so that a dry run can count its calls, and where packages share
    some, `calls_in_all([(evidence, run), …]) -> (fewest, most)`. What it says of itself
    as `inputs`, `calls_per_episode` and `source` (all of them text) is shown by `pyrite list judges`. One
    that was published has a `published_condition`, and `as_published_in(condition)`: whether it is shown
    there what the original was shown; where it is not, the run says so.
    """

    name: str
    deterministic: bool
    """Runs once, whatever `--runs` says; self-consistency is null."""

    def supports(self, condition: str) -> bool: ...

    def config(self) -> dict[str, Any]:
        """Everything that can change its answers: model, parameters, prompt digests."""
        ...

    async def judge(self, package: Package, run: int) -> Reply: ...
