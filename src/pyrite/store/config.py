"""`pyrite.yaml`: what is asked of a bench. One schema; the judge article's config/bench.yaml fits it.

    suite: desk                      # what to record; without it the episodes that are there are taken
    only: "*q3*"                     # tasks whose id matches
    agents: [scripted, hasty]
    episodes_per_task: 4
    seed: 42
    perturb: [drop-save, save-copy]  # or all
    tasks: [my-tasks]                # more folders of folder tasks
    conditions: [E1-final, E2-lastk, E2+claim, E3-full]
    evidence: {last_k: 4, max_image_side: 1280, max_tokens: 100000, max_bytes: 20000000}
    judges: [screen-rules, "mypackage.judge:Mine"]    # or a mapping: label -> {runs: 3}
    runs: 3
    metrics: {ci: wilson, alpha: 0.05, bootstrap_resamples: 2000, cluster_by: task_id}
    gate: {fpr: 0.05, fdr: 0.30, tpr: 0.60, looks: 1}    # limits of `pyrite gate`; the rest below
    outcomes: {indeterminate: 0.05}  # share without an outcome above which `pyrite outcomes` alerts

The shortcut baselines are asked whatever `judges` says. Keys of endpoints never stand here: a judge
names the environment variable.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    ValidationError,
    field_validator,
)

from pyrite.errors import InputError
from pyrite.records import Category
from pyrite.store.yamlfile import Key, YamlFile, dotted, read_yaml

Model = TypeVar("Model", bound=BaseModel)
Uncertain = Literal["failure"]
Policy = Literal["failure", "drop", "success"]
"""How an uncertain verdict counts; the envelope beside each figure shows the other readings."""


def _names(value: object) -> object:
    """A list of names; one text is split at its commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError("a list of names, such as [one, two]")
    return tuple(part.strip() for part in parts if part.strip())


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
Runs = Annotated[int, Field(ge=1, le=1000)]


class Part(BaseModel):
    """A section: unknown keys are errors, and a text is not taken for a number."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Shown(Part):
    """How much of an episode is shown."""

    last_k: int = Field(default=4, ge=1, le=9999)
    """Screens in E2."""
    max_image_side: int = Field(default=1280, ge=64, le=16384)
    """Pixels of the longer side above which E3-full is scaled down."""
    max_tokens: int = Field(default=100_000, ge=1000, le=100_000_000)
    """Estimated tokens of one package; what does not fit is left out, and the package says so."""
    max_bytes: int = Field(default=20_000_000, ge=10_000, le=10_000_000_000)
    """Of the image files of one package, each frame once."""


class Metrics(Part):
    """How figures are made."""

    ci: Literal["wilson"] = "wilson"
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """1 - confidence level of every interval."""
    bootstrap_resamples: int = Field(default=2000, ge=100, le=1_000_000)
    cluster_by: Literal["task_id"] = "task_id"
    uncertain_policy: Policy = "failure"
    """What an uncertain verdict counts as in figures; the gate and comparisons take failure always."""
    category_weights: dict[str, float] | None = None
    """Share of each failure category in a standardised FPR, to compare agents or releases."""

    @field_validator("category_weights")
    @classmethod
    def _of_categories(cls, found: dict[str, float] | None) -> dict[str, float] | None:
        codes = [code.value for code in Category]
        if found is not None and (
            set(found) - set(codes) or min(found.values(), default=0) < 0 or sum(found.values()) <= 0
        ):
            raise ValueError(f"weights of at least 0, not all of them 0, of {', '.join(codes)}")
        return found

    @property
    def level(self) -> float:
        return round(1 - self.alpha, 12)


class Gate(Part):
    """The limits of `pyrite gate`; they change no episode and no verdict."""

    fpr: float = Field(default=0.05, gt=0, lt=1)
    """Most accepted of failed episodes: of all natural ones, and of the hard ones."""
    fdr: float = Field(default=0.30, gt=0, lt=1)
    """Most failed of accepted episodes, where the agent succeeds least."""
    tpr: float = Field(default=0.60, gt=0, lt=1)
    """Least accepted of passed episodes."""
    unusable: float = Field(default=0.02, gt=0, lt=1)
    """Most answers that are uncertain or cannot be parsed."""
    claim_effect: float = Field(default=0.05, gt=0, lt=1)
    """Most that the agent's claim may add to the FPR, beyond the noise floor."""
    consistency: float = Field(default=0.90, gt=0, lt=1)
    """Least agreement of two runs on one episode."""
    leaky_cell: float = Field(default=0.10, gt=0, lt=1)
    """Most accepted of failed episodes in any category or group."""
    indeterminate: float = Field(default=0.05, gt=0, lt=1)
    """Most episodes without a determinate outcome."""
    confidence: float = Field(default=0.95, ge=0.5, lt=1)
    """Of each one-sided bound, at one look."""
    looks: int = Field(default=1, ge=1, le=1000)
    """How often this gate has looked at these held-out tasks, this time included."""
    min_cell: int = Field(default=10, ge=1, le=1_000_000)
    """Failed episodes below which a category or group cannot be rated."""
    success_rate: float | None = Field(default=None, ge=0, le=1)
    """Lowest success rate that is expected of the agent; without it the lowest that was measured."""
    sampling: Literal["pooled", "one-per-task"] = "pooled"
    """What a trainer takes: all accepted episodes, or one a task (best of n, first accept)."""


class Outcomes(Part):
    """When `pyrite outcomes` alerts; it changes no episode and no verdict."""

    indeterminate: float = Field(default=0.05, ge=0, lt=1)
    """Most episodes of a stratum without an outcome."""


class Judged(Part):
    """Options of any judge, under its label."""

    runs: Runs | None = None


class Prompted(Judged):
    """judges.vlm: a prompted judge."""

    model: str | None = None
    temperature: float | None = Field(default=None, ge=0)
    base_url: str | None = None
    """Of an OpenAI-compatible endpoint; without it OpenAI's."""
    api_key_env: str | None = None
    """The environment variable that holds its key."""
    prompt: str | None = None
    """strict, lenient, no-claim-line, verdict-first, or the path of a .md file."""
    eyes: Literal["pixels", "ocr"] | None = None
    max_tokens: int | None = Field(default=None, ge=16)
    uncertain_policy: Uncertain = "failure"


class Reward(Judged):
    """judges.rm: a reward model."""

    path: str | None = None
    threshold_policy: Literal["fpr_target"] = "fpr_target"
    fpr_target: float | None = Field(default=None, gt=0, lt=1)
    delta: float | None = Field(default=None, gt=0, lt=1)
    """Chance that a threshold breaks its promise."""
    sampling: Literal["one_per_task", "max_per_task", "effective_size"] | None = None
    """What of each calibration task goes into a threshold."""


_LIMITS = ("gate", "outcomes")
"""Sections of limits."""

FIXED: dict[str, type[Judged]] = {"vlm": Prompted, "rm": Reward}
"""The judges with a section of their own; any other key below `judges` is a judge's label."""


class Asked(Part):
    """What is asked, with defaults for what was not said."""

    suite: str | None = Field(default=None, min_length=1)
    only: str = Field(default="*", min_length=1)
    agents: Names = ()
    episodes_per_task: int = Field(default=1, ge=1, le=100_000)
    seed: int = Field(default=0, ge=0, lt=1 << 63)
    perturb: Names = ()
    tasks: Names = ()
    conditions: Names = ()
    evidence: Shown = Shown()
    judges: dict[str, InstanceOf[Judged]] | None = None
    """None: nothing was said, so the default ones."""
    runs: Runs = 1
    metrics: Metrics = Metrics()
    gate: Gate = Gate()
    outcomes: Outcomes = Outcomes()


@dataclass(frozen=True)
class Config:
    """What is asked, where it was said, and what it was said in."""

    asked: Asked
    file: YamlFile | None = None
    """None where there was no file: the defaults are asked."""
    unset: Mapping[Key, str] = field(default_factory=dict)
    """Variables that are not set, in parts that this version does not use."""

    def where(self, *key: str | int) -> str:
        """file:line of a key; empty where there is no file."""
        if self.file is None:
            return ""
        return self.file.where(tuple(self.label(one) if isinstance(one, str) else one for one in key))

    def label(self, label: str) -> str:
        """A label as it stands in the file."""
        return self.file.names.get(label, label) if self.file is not None else label

    def _written(self, label: str, *, resolved: bool) -> str:
        written = self.label(label)
        return f"{written} ({_digest(label)})" if resolved and "${" in written else written

    def flat(self, *, resolved: bool = False) -> dict[str, Any]:
        """Dotted key -> value, as written; `resolved` shows what variables became, by a digest only.

        Without the limits of gate and outcomes: a bench is not another one because they change.
        """
        body = self.asked.model_dump(mode="json", exclude_none=True, exclude={"judges", *_LIMITS})
        if self.asked.judges is not None:
            body["judges"] = {
                self._written(label, resolved=resolved): options.model_dump(mode="json", exclude_none=True)
                for label, options in self.asked.judges.items()
            }
        found = _flatten(body)
        written: Any = self.file.written if self.file is not None and self.file.written else {}
        for key, text in _flatten(written).items():
            if "${" in str(text) and key.partition(".")[0] not in _LIMITS:
                value = found.get(key)
                found[key] = f"{text} ({_digest(value)})" if resolved and value is not None else text
        return found


def load_config(
    path: Path, *, environment: Mapping[str, str] | None = None, spare: tuple[str, ...] = ()
) -> Config:
    """Read and validate one file.

    `environment` fills in `${VAR}` (default: this process's); a variable that is not set is an error
    unless it stands under a judge named in `spare`. Raises `InputError` with file:line, key, value and
    what is accepted.
    """
    file = read_yaml(path, os.environ if environment is None else environment)
    data = {} if file.data is None else file.data
    if not isinstance(data, dict):
        raise InputError(
            f"the file holds a {type(data).__name__}",
            where=f"{path}:1",
            expected="keys: " + ", ".join(Asked.model_fields),
        )
    unset = {
        key: name
        for key, name in file.undefined.items()
        if key[0] == "judges" and key[1:2] and key[1] in spare
    }
    for key, name in file.undefined.items():
        if key not in unset:
            raise InputError(
                f"{dotted(key)}: the environment variable {name} is not set",
                where=file.where(key),
                expected=f"{name} in the environment, or a default: ${{{name}:-…}}",
                next=f"export {name}=…",
            )
    _refuse_unknown(Asked, data, (), file)
    given = {key: value for key, value in data.items() if value is not None}
    if "judges" in given:
        given["judges"] = _judges(given["judges"], file, unset)
    return Config(_validated(Asked, given, (), file), file, unset)


def defaults() -> Config:
    """What is asked where no file says anything."""
    return Config(Asked())


def differences(before: Mapping[str, Any], now: Mapping[str, Any], *, there: str) -> list[str]:
    """What two flat configurations differ in, a text a key."""
    keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    return [f"{key}: {_shown(before, key)} in {there}, {_shown(now, key)} asked" for key in keys]


def _flatten(body: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in body.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and value:
            found |= _flatten(value, f"{key}.")
        else:
            found[key] = value
    return found


def _digest(value: Any) -> str:
    """A value from the environment may be anything: only its digest is kept."""
    return "sha256 " + hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def _shown(flat: Mapping[str, Any], key: str) -> str:
    return json.dumps(flat[key], ensure_ascii=False) if key in flat else "nothing"


def _judges(value: Any, file: YamlFile, unset: Mapping[Key, str]) -> dict[str, Judged]:
    """Label -> options, from a list of labels or a mapping."""
    if isinstance(value, list) and all(isinstance(label, str) for label in value):
        value = dict.fromkeys(value)
    if not isinstance(value, dict):
        raise InputError(
            f"judges: {_seen(file, ('judges',))} cannot be used",
            where=file.where(("judges",)),
            expected="a list of labels, or a mapping: label -> options",
        )
    found: dict[str, Judged] = {}
    for label, options in value.items():
        key: Key = ("judges", file.names.get(label) or label)
        model = FIXED.get(label, Judged)
        options = {} if options is None else options
        if not isinstance(options, dict):
            raise InputError(
                f"{dotted(key)}: {_seen(file, key)} cannot be used",
                where=file.where(key),
                expected="options: " + ", ".join(model.model_fields),
            )
        _refuse_unknown(model, options, key, file)
        said = {name: one for name, one in options.items() if (*key, name) not in unset}
        found[label] = _validated(model, said, key, file)
    return found


def _validated(model: type[Model], data: Mapping[str, Any], at: Key, file: YamlFile) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        key = (*at, *first["loc"])
        accepted = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        raise InputError(
            f"{dotted(key)}: {_seen(file, key)} cannot be used", where=file.where(key), expected=accepted
        ) from None


def _refuse_unknown(model: type[BaseModel], data: Mapping[str, Any], at: Key, file: YamlFile) -> None:
    """An unknown key of a section or of one below it, with the nearest known one."""
    fields = model.model_fields
    for name, value in data.items():
        key = (*at, name)
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1)
            raise InputError(
                f"unknown key {dotted(key)!r}",
                where=file.where(key),
                expected=", ".join(fields),
                next=f"did you mean {dotted((*at, near[0]))!r}?" if near else "",
            )
        section = _section(fields[name].annotation)
        if section is not None and isinstance(value, dict):
            _refuse_unknown(section, value, key, file)


def _section(annotation: Any) -> type[BaseModel] | None:
    choices = get_args(annotation) or (annotation,)
    return next((one for one in choices if isinstance(one, type) and issubclass(one, Part)), None)


def _seen(file: YamlFile, key: Key) -> str:
    """A value as it stands in the file, never what a variable became."""
    text = repr(file.as_written(key))
    return text if len(text) <= 80 else text[:79] + "…"
