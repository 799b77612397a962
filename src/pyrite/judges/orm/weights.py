"""The weights of orm-lite: one plain JSON file, read within bounds, and what a package scores with it.

    weights = read_weights(path)
    weights.conditions["E1-final"].score(features)         # P(passed), a raw score

Prediction is numpy and nothing else. The file has a card beside the numbers: data, split, held-out figures.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from pyrite.errors import InputError, UsageError
from pyrite.judges.orm.features import Features
from pyrite.records import Record
from pyrite.store.jsonl import read_json, read_record, write_bytes

Floats = NDArray[np.float64]

MAX_BYTES = 16 << 20
MOST_TREES, MOST_NODES, MOST_FEATURES = 500, 127, 200
LARGEST = 1e9
"""No number of a model that was trained comes near it; larger ones only make answers of 0 and 1."""
KIND = "orm-lite weights"
TRAIN = "pyrite train-orm BENCH -o weights.json"

Numbers = Annotated[tuple[float, ...], Field(max_length=MOST_FEATURES)]
Mark = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Logistic(Record):
    """A logit that is linear in standardised features."""

    kind: Literal["logistic"] = "logistic"
    mean: Numbers
    scale: Numbers
    weight: Numbers
    intercept: float

    def logit(self, x: Floats) -> float:
        z = (x - np.array(self.mean)) / np.array(self.scale)
        return float(z @ np.array(self.weight)) + self.intercept


class Tree(Record):
    """A small tree: node 0 is the root; a child has a higher number than its parent; feature -1 is a leaf."""

    feature: Annotated[tuple[int, ...], Field(min_length=1, max_length=MOST_NODES)]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]

    @model_validator(mode="after")
    def _is_a_tree(self) -> Self:
        size = len(self.feature)
        if any(len(part) != size for part in (self.threshold, self.left, self.right, self.value)):
            raise ValueError("the parts of a tree differ in length")
        for node, feature in enumerate(self.feature):
            children = (self.left[node], self.right[node])
            if feature >= 0 and not all(node < child < size for child in children):
                raise ValueError(f"node {node} has children {children} of {size} nodes")
        return self

    def at(self, x: Floats) -> float:
        """The value of the leaf that x falls into; x at a threshold goes left."""
        node = 0
        while self.feature[node] >= 0:
            goes_left = x[self.feature[node]] <= self.threshold[node]
            node = self.left[node] if goes_left else self.right[node]
        return self.value[node]


class Boosted(Record):
    """A logit that is a sum over small trees."""

    kind: Literal["boosted"] = "boosted"
    base: float
    trees: Annotated[tuple[Tree, ...], Field(max_length=MOST_TREES)]
    """Their values hold the learning rate already."""

    def logit(self, x: Floats) -> float:
        return self.base + math.fsum(tree.at(x) for tree in self.trees)


class Model(Record):
    """What one condition's features come to."""

    features: Annotated[tuple[str, ...], Field(min_length=1, max_length=MOST_FEATURES)]
    fill: Numbers
    """What stands for a feature that is not there: its mean in training."""
    model: Annotated[Logistic | Boosted, Field(discriminator="kind")]
    slope: float = Field(gt=0)
    """Of the calibration on families that a model had not seen: logit' = slope logit + offset."""
    offset: float

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        size = len(self.features)
        parts = [self.fill]
        if isinstance(self.model, Logistic):
            parts += [self.model.mean, self.model.scale, self.model.weight]
            if any(scale < 1 / LARGEST for scale in self.model.scale):
                raise ValueError("a scale is not above 0")
            numbers = [*self.model.mean, *self.model.scale, *self.model.weight, self.model.intercept]
        else:
            if any(feature >= size for tree in self.model.trees for feature in tree.feature):
                raise ValueError("a tree asks for a feature that is not listed")
            numbers = [
                self.model.base,
                *(n for tree in self.model.trees for n in (*tree.threshold, *tree.value)),
            ]
        if any(abs(number) > LARGEST for number in (*numbers, *self.fill, self.slope, self.offset)):
            raise ValueError(f"a number is larger than {LARGEST:g}")
        if len(set(self.features)) < size:
            raise ValueError("a feature is named twice")
        if any(len(part) != size for part in parts):
            raise ValueError(f"{size} features, but a list of numbers of another length")
        return self

    def filled(self, found: Mapping[str, float | None]) -> Floats:
        """The features in their order, with what stands for those that are not there."""
        values = [found.get(name) for name in self.features]
        filled = [fill if value is None else value for value, fill in zip(values, self.fill, strict=True)]
        return np.array(filled, dtype=np.float64)

    def score(self, found: Features) -> float:
        """P(passed) by this model, 0 to 1."""
        return self._score(self.filled(found))

    def _score(self, x: Floats) -> float:
        logit = self.slope * self.model.logit(x) + self.offset
        return 1 / (1 + math.exp(-max(-40.0, min(40.0, logit))))

    def reasons(self, found: Features, *, count: int = 3) -> list[tuple[str, float, float]]:
        """(feature, value, change of the score against its mean), the largest changes first."""
        x = self.filled(found)
        whole, parts = self._score(x), []
        for place, name in enumerate(self.features):
            if found.get(name) is None:
                continue
            other = x.copy()
            other[place] = self.fill[place]
            parts.append((name, float(x[place]), whole - self._score(other)))
        return sorted(parts, key=lambda part: (-abs(part[2]), part[0]))[:count]


class Read(Record):
    """Who read the screens that were trained on."""

    name: Annotated[str, Field(max_length=40)]
    version: Annotated[str, Field(max_length=100)]
    """Of all readings; of several versions the first by name, the others behind it."""


class Weights(Record):
    """The whole file."""

    schema_version: Literal["1"]
    kind: Literal["orm-lite weights"]
    features_version: int
    ocr: Read
    conditions: Annotated[dict[str, Model], Field(min_length=1, max_length=40)]
    seen: Annotated[tuple[Mark, ...], Field(max_length=100_000)]
    """Marks of the task texts that were trained on; see `task_mark`."""
    prior: Annotated[float, Field(gt=0, lt=1)]
    """Share that passed of those that were trained on: a higher score says more than nothing."""
    card: dict[str, Any]
    """How it was made and what it does on families that it has not seen; for people."""
    sha256: Digest
    """Of everything else in the file."""

    @property
    def answers_sha256(self) -> str:
        """Digest of what can change an answer: the same however often, and whenever, it was trained."""
        return str(sealed(self.model_dump(mode="json", exclude={"card", "sha256"}))["sha256"])


def task_mark(instruction: str) -> str:
    """What stands for a task's text in the weights: 16 hex digits, the same whatever its white space.

    >>> task_mark("Set  D14 to 4500.") == task_mark("Set D14 to 4500.")
    True
    """
    return hashlib.sha256(" ".join(instruction.split()).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the digest of what stands in it."""
    bare = {name: value for name, value in document.items() if name != "sha256"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**bare, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def require_place(path: Path, *, force: bool = False) -> None:
    """Raise `UsageError` where weights cannot be written: a folder, or another file unless `force`."""
    if path.is_dir():
        raise UsageError("a folder", where=str(path), expected="the name of a file")
    if path.exists() and not force:
        raise UsageError(
            "a file is here already", where=str(path), expected="another name, or --force", next=TRAIN
        )


def write_weights(path: Path, document: Mapping[str, Any], *, force: bool = False) -> None:
    """Write weights with their digest; `UsageError` as by `require_place`."""
    require_place(path, force=force)
    text = json.dumps(sealed(document), indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path, text.encode() + b"\n")


def read_weights(path: Path) -> Weights:
    """Read weights; `InputError` where the file is none, is damaged, or was changed since."""
    expected = f"the file that `{TRAIN}` writes"
    document = read_json(path, limit_bytes=MAX_BYTES)
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise InputError("no weights of orm-lite", where=str(path), expected=expected)
    found = read_record(path, Weights, limit_bytes=MAX_BYTES)
    try:
        same = sealed(document)["sha256"] == found.sha256
    except ValueError:
        same = False
    if not same:
        raise InputError(
            "changed since they were written: the sha256 differs", where=str(path), expected=expected
        )
    return found
