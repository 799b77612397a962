"""Line 7 of the gate: a threshold was chosen on other tasks, and a certificate says so.

A certificate names the tasks that chose its threshold (by digest). Where the gate's own episodes hold
some of them, those are counted in no line: what chose a threshold cannot show that it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pyrite.errors import InputError
from pyrite.measure.gate_lines import Part, fact, unknown
from pyrite.measure.scores import Scores, at_least, scores_of, task_mark
from pyrite.measure.table import FAILURE, MISSING, PARSE_ERROR, SUCCESS, Codes8, Episodes, Flags, Table
from pyrite.measure.values import column_spec
from pyrite.measure.vote import votes_of
from pyrite.metrics.gate import Answer
from pyrite.metrics.thresholds import Policy
from pyrite.records import ForeignRecord
from pyrite.store.config import Gate
from pyrite.store.jsonl import read_json, read_record

NAME = "threshold certificate"
OF_A_BENCH: dict[str, str | None] = {"truth": "verifier"}
MAX_CERTIFICATE_BYTES = 64 << 20
HALF = 0.5
"""Of the scores that chose a threshold: above it they are the same data, below it other scores."""
Share = Annotated[float, Field(gt=0, lt=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class HeldOut(ForeignRecord):
    """A rate on the tasks that did not choose the threshold."""

    value: float
    low: float | None = None
    high: float | None = None


class Promised(ForeignRecord):
    """What the gate reads of a threshold certificate; the rest of it is for people."""

    kind: Literal["threshold"]
    judge: str
    """Name of the score, with its threshold: `score>=0.62`."""
    score: str
    threshold: float | None
    accept: Literal[">=", ">"]
    policy: Policy
    target: Share
    delta: Share | None
    split_seed: int
    data_sha256: Digest
    calibration: tuple[str, ...]
    """Digests of the tasks that chose the threshold."""
    score_marks: tuple[str, ...]
    """Digests of some of the scores that did; empty where scores repeat too much to tell."""
    made_of: dict[str, str | None]
    """What told the truth and the tasks apart: of a table the options, of a bench whose word it was."""
    fpr: HeldOut | None
    condition: str | None = None
    stratum: str | None = None
    sha256: Digest
    """Of everything else in the file."""

    @property
    def cut(self) -> float | None:
        """The threshold as one that accepts scores at or above it."""
        return None if self.threshold is None else at_least(self.threshold, self.accept)


@dataclass(frozen=True)
class Told:
    """What line 7 says, which episodes the other lines may count, and the cut that makes verdicts."""

    part: Part
    counted: Flags
    cut: float | None = None


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate with the digest of what stands in it, so that a changed one is noticed."""
    bare = {name: value for name, value in document.items() if name != "sha256"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**bare, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def read_certificate(path: Path) -> Promised:
    """A threshold certificate; `InputError` where the file is none, or was changed since it was written."""
    expected = "the certificate that `pyrite measure --certificates FOLDER` writes"
    if path.is_dir():
        raise InputError("a folder", where=str(path), expected=f"{expected}: a file in that folder")
    document = read_json(path, limit_bytes=MAX_CERTIFICATE_BYTES)
    if not isinstance(document, dict) or document.get("kind") != "threshold":
        raise InputError("no certificate of a threshold", where=str(path), expected=expected)
    found = read_record(path, Promised, limit_bytes=MAX_CERTIFICATE_BYTES)
    try:
        same = sealed(document)["sha256"] == found.sha256
    except ValueError:
        same = False
    if not same:
        raise InputError(
            "changed since it was written: its sha256 differs", where=str(path), expected=expected
        )
    return found


def of_table(
    promise: Promised | None,
    episodes: Episodes,
    judge: str,
    scores: Scores | None,
    limits: Gate,
    made_of: Mapping[str, str | None],
) -> Told:
    """Line 7 for a column of verdicts, or a score cut at `COL>=T`.

    `scores` are those that the certificate is of, `made_of` the options that name truth and tasks here.
    """
    everything: Flags = np.ones(len(episodes), dtype=np.bool_)
    spec = column_spec(judge)
    if promise is None:
        if spec.threshold is None:
            reason = (
                "a column from elsewhere does not tell whether a threshold was chosen, and on which tasks"
            )
            return Told(unknown(NAME, reason), everything)
        return Told(_uncertified(), everything)
    ours = column_spec(promise.judge)
    if spec.column != promise.score or (promise.cut is not None and spec.threshold != ours.threshold):
        return Told(_of_another(promise), everything)
    return _kept(promise, episodes, everything, scores, limits, made_of)


def of_bench(promise: Promised | None, table: Table, judge: str, condition: str, limits: Gate) -> Told:
    """Line 7 for a judge of a bench, on its natural episodes; verdicts beside scores must be of the cut."""
    episodes = table.episodes
    everything: Flags = np.ones(len(episodes), dtype=np.bool_)
    scores = scores_of(table, judge, condition)
    if scores is None:
        if promise is not None and promise.score == judge:
            reason = "the certificate is of scores, and this judge has none here"
            return Told(unknown(NAME, reason), everything)
        if any(scores_of(table, *pair) is not None for pair in table.asked() if pair[0] == judge):
            reason = "scores in another condition only: nobody knows how these verdicts were cut"
            return Told(unknown(NAME, reason), everything)
        reason = "no threshold: this judge gives verdicts, not scores"
        return Told(fact(NAME, Answer.PASS, reason), everything)
    if promise is None:
        return Told(_uncertified(), everything)
    if (promise.score, promise.condition) != (judge, condition) or promise.stratum not in {None, "natural"}:
        return Told(_of_another(promise), everything)
    told = _kept(promise, episodes, everything, scores, limits, OF_A_BENCH)
    if told.cut is None:
        return told
    differ, both = _of_another_cut(table, judge, condition, told.cut)
    if differ:
        reason = f"{differ:,} of {both:,} verdicts are not those of this threshold"
        return replace(told, part=unknown(NAME, reason, **_tail(promise)))
    return told


def cut_table(table: Table, judge: str, cut: float | None) -> Table:
    """The table with a verdict for each score of a judge that gave no verdict beside it."""
    found = table.verdicts
    if cut is None or found.score is None:
        return table
    bare = (found.judge.codes == found.judge.names.index(judge)) & (found.verdict == MISSING)
    bare &= ~np.isnan(found.score)
    accepted = np.where(found.score >= cut, SUCCESS, FAILURE).astype(np.int8)
    return replace(table, verdicts=replace(found, verdict=np.where(bare, accepted, found.verdict)))


def voted(table: Table, judge: str, condition: str, cut: float | None = None) -> Codes8:
    """What a judge says of each episode: its vote, or its mean score cut where it gives scores only.

    Scores are averaged before they are cut, never after.
    """
    said = votes_of(table, judge, condition).verdict
    scores = None if cut is None else scores_of(table, judge, condition)
    if cut is None or scores is None or (said >= 0).any():
        return said
    return cut_scores(scores, cut)


def cut_scores(scores: Scores, cut: float) -> Codes8:
    """Verdicts of mean scores: one that cannot be read is a parse error, one that is not there missing."""
    accepted = np.where(scores.values >= cut, SUCCESS, FAILURE)
    read = np.where(np.isnan(scores.values), PARSE_ERROR, accepted)
    return np.where(scores.present, read, MISSING).astype(np.int8)


def _kept(
    promise: Promised,
    episodes: Episodes,
    everything: Flags,
    scores: Scores | None,
    limits: Gate,
    made_of: Mapping[str, str | None],
) -> Told:
    """Whether a certificate of this judge and threshold holds here, and what is left to count."""
    marks = np.array([task_mark(name) for name in episodes.cluster.names], dtype=np.str_)
    chose: NDArray[np.bool_] = np.isin(marks, np.array(promise.calibration, dtype=np.str_))
    codes = episodes.cluster.codes
    left_out: Flags = (codes >= 0) & np.append(chose, False)[codes]
    here = int(chose.sum())
    problem = (
        _broken(promise, limits) or _made_otherwise(promise, made_of) or _other_data(promise, scores, here)
    )
    if problem is not None:
        return Told(problem, ~left_out, promise.cut)
    n = len(promise.calibration)
    there = "none of them here" if not here else f"the {here:,} of them here are counted in no line"
    more = _tail(promise) | {"calibration_tasks_here": here, "left_out": int(left_out.sum())}
    return Told(fact(NAME, Answer.PASS, f"chosen on {n:,} tasks, {there}", **more), ~left_out, promise.cut)


def _broken(promise: Promised, limits: Gate) -> Part | None:
    """What in the certificate itself keeps it from being enough; None where nothing does."""
    tail = _tail(promise)
    if promise.threshold is None:
        return fact(NAME, Answer.FAIL, "the certificate certifies no threshold", **tail)
    if promise.fpr is None:
        return unknown(NAME, "the certificate has no FPR on held-out tasks", **tail)
    if promise.fpr.low is not None and promise.fpr.low > limits.fpr:
        reason = "on held-out tasks even the lower bound of the FPR is beyond the limit"
        return fact(NAME, Answer.FAIL, reason, **tail)
    if promise.target > limits.fpr:
        return unknown(NAME, "the certificate's target is above the limit of the FPR", **tail)
    if promise.delta is None:
        return unknown(NAME, "the certificate holds on average only, not for this threshold", **tail)
    if promise.delta > 1 - limits.confidence + 1e-9:
        sure = f"{100 * (1 - promise.delta):.4g} %, less than the gate's {100 * limits.confidence:.4g} %"
        return unknown(NAME, f"the certificate's confidence is {sure}", **tail)
    return None


def _made_otherwise(promise: Promised, made_of: Mapping[str, str | None]) -> Part | None:
    """Truth or tasks of the certificate were told in another way than here: its tasks cannot be known."""
    for name in ("truth", "cluster", "cluster_strip"):
        before, now = promise.made_of.get(name), made_of.get(name)
        if before != now:
            option = f"--{name.replace('_', '-')}"
            said = [(one or "nothing")[:60] for one in (before, now)]
            reason = f"the certificate was made with {option} {said[0]}, this gate with {said[1]}"
            return unknown(NAME, reason, **_tail(promise))
    return None


def _other_data(promise: Promised, scores: Scores | None, here: int) -> Part | None:
    """Its scores are here under other task names, or its tasks are here with other scores."""
    if scores is None or not promise.score_marks:
        return None
    found = np.unique(scores.values[scores.present & ~np.isnan(scores.values)].astype("<f8"))
    there = {hashlib.sha256(one.tobytes()).hexdigest()[:16] for one in found}
    share = len(there & set(promise.score_marks)) / len(promise.score_marks)
    if not here and share > HALF:
        reason = "these are the scores that chose it, under other task names"
        return unknown(NAME, reason, **_tail(promise))
    if here == len(promise.calibration) and share < HALF:
        reason = "the tasks that chose it are here, but with other scores: made of another judge or version"
        return unknown(NAME, reason, **_tail(promise))
    return None


def _of_another_cut(table: Table, judge: str, condition: str, cut: float) -> tuple[int, int]:
    """(verdicts that contradict the cut, verdicts beside a score)."""
    found = table.verdicts
    if found.score is None:
        return 0, 0
    chosen = (found.judge.codes == found.judge.names.index(judge)) & (
        found.condition.codes == found.condition.names.index(condition)
    )
    both = chosen & ~np.isnan(found.score) & ((found.verdict == SUCCESS) | (found.verdict == FAILURE))
    differ = both & ((found.score >= cut) != (found.verdict == SUCCESS))
    return int(differ.sum()), int(both.sum())


def _uncertified() -> Part:
    return unknown(NAME, "no certificate: nobody knows on which tasks the cut was chosen")


def _of_another(promise: Promised) -> Part:
    where = "".join(f", {one}" for one in (promise.condition, promise.stratum) if one)
    reason = f"the certificate is of another judge or threshold: {promise.judge[:80]}{where}"
    return unknown(NAME, reason, **_tail(promise))


def _tail(promise: Promised) -> dict[str, Any]:
    held = promise.fpr.model_dump(include={"value", "low", "high"}) if promise.fpr else None
    return {
        "threshold": promise.threshold,
        "judge": promise.judge,
        "target": promise.target,
        "delta": promise.delta,
        "held_out_fpr": held,
    }
