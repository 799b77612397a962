"""`orm-lite`: a small outcome reward model of our own, trained by `pyrite train-orm`. It gives a raw score.

It sees what its package shows: the reading of the last screen beside the task's text, the actions and the
change between screens where they are shown, the claim only in conditions with one. A threshold is not part
of it: `pyrite measure --certificates` certifies one.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pyrite.errors import InputError, UsageError
from pyrite.judges.base import Declined, Package, Reply
from pyrite.judges.ocr import Reader, Reading, named
from pyrite.judges.orm.features import FEATURES_VERSION, Features, features
from pyrite.judges.orm.weights import TRAIN, Model, Weights, read_weights, task_mark
from pyrite.records import Evidence, Verdict

__all__ = ["SHIPPED_WEIGHTS", "OrmLite", "read_features"]

SHIPPED_WEIGHTS = Path(str(files("pyrite"))) / "judges" / "orm" / "weights.json"
"""The weights that travel with the package, used where the label names none."""


PRIOR = "prior"


class OrmLite:
    """Scores P(success) with trained weights: `orm-lite`, `orm-lite@weights=FILE`.

    Of a task whose very text it was trained on it says nothing: that would not show what it knows of
    others. `seen=answer` makes it answer all the same. `cut=T` adds a verdict, success from a score of T on;
    `cut=prior` takes the share that passed of the episodes it was trained on, and promises nothing.
    `ocr` names another engine than the one that it was trained with. `cache=False` reads screens anew.
    """

    name = "orm-lite"
    inputs = "task, actions, text of screens"
    calls_per_episode = "0"
    source = "pyrite"
    deterministic = True

    def __init__(
        self, weights: str = "", seen: str = "refuse", cut: str = "", ocr: str = "", *, cache: bool = True
    ) -> None:
        if seen not in {"refuse", "answer"}:
            raise UsageError(f"orm-lite: seen is {seen[:80]!r}", expected="refuse or answer")
        self._weights = _load(weights)
        self._cut = self._weights.prior if cut == PRIOR else _cut(cut) if cut else None
        self._refused = frozenset(self._weights.seen) if seen == "refuse" else frozenset()
        self.reader = Reader(named(ocr or self._weights.ocr.name), cache)

    def supports(self, condition: str) -> bool:
        return condition in self._weights.conditions

    def config(self) -> dict[str, Any]:
        """The weights and the engine that reads; beside it the one that they were trained with."""
        trained = self._weights.ocr.model_dump()
        return {
            "weights_sha256": self._weights.answers_sha256,
            "trained_with": trained,
            **self.reader.config(),
        }

    def screens(self, evidence: Evidence) -> Sequence[str]:
        """Keys of the images that it will read: the last one, where it answers at all."""
        wanted = self.supports(evidence.condition) and not self._seen(evidence)
        return evidence.images[-1:] if wanted else ()

    async def judge(self, package: Package, run: int) -> Reply:
        evidence = package.evidence
        if self._seen(evidence):
            raise Declined(
                "orm-lite was trained on this task and says nothing of it",
                next="for its answer all the same: orm-lite@seen=answer",
            )
        model = self._weights.conditions[evidence.condition]
        found, reading = await asyncio.to_thread(lambda: read_features(package, self.reader))
        usage = {"ocr": reading.provenance()} if reading else {}
        score = round(model.score(found), 6)
        return Reply(self._verdict(score), _said(model, found), score=score, usage=usage)

    def _verdict(self, score: float) -> Verdict | None:
        """None without a cut: a score is all there is to say."""
        if self._cut is None:
            return None
        return Verdict.SUCCESS if score >= self._cut else Verdict.FAILURE

    def _seen(self, evidence: Evidence) -> bool:
        return task_mark(evidence.instruction) in self._refused


def read_features(package: Package, reader: Reader) -> tuple[Features, Reading | None]:
    """Read the last screen and make the features. Raises `Unavailable` where there is no reading."""
    reading = reader.screen(package.image(-1)) if package.evidence.images else None
    return features(package, reading.boxes if reading else ()), reading


def _cut(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise UsageError(f"orm-lite: cut is {text[:80]!r}", expected="a number from 0 to 1, or prior")
    return value


def _load(weights: str) -> Weights:
    """The weights of a label, else those that ship; refused where their features are not ours."""
    path = Path(weights) if weights else SHIPPED_WEIGHTS
    if not path.is_file():
        what = "no such file" if weights else "no weights ship with this version of pyrite"
        raise UsageError(
            f"orm-lite: {what}",
            where=str(path),
            expected="orm-lite@weights=FILE, with weights that train-orm wrote",
            next=TRAIN,
        )
    found = read_weights(path)
    if found.features_version != FEATURES_VERSION:
        raise InputError(
            "these weights were trained with other features than this version of pyrite makes",
            where=str(path),
            expected=f"features version {FEATURES_VERSION}, not {found.features_version}",
            next=TRAIN,
        )
    return found


def _said(model: Model, found: Features) -> str:
    parts = [f"{name} {value:.3g} ({change:+.2f})" for name, value, change in model.reasons(found)]
    return "; ".join(parts) or "no feature is there"
