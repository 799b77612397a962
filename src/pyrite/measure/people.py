"""Human labels: what people say of episodes, how far they agree, and judges and verifiers against them.

The outcome that people give an episode is an adjudication, else the majority of its blind labels, else
of its informed ones; a tie is indeterminate, and so is a run that its environment broke off. The last
line of an annotator at a stage counts, practice never. The process of an episode is correct if the
median of its process scores is at least 0.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrite.measure.blocks import Settings, figure, judge_block
from pyrite.measure.table import FAIL, INDETERMINATE, MISSING, PASS, Codes8, Flags, Table
from pyrite.measure.vote import votes_of
from pyrite.metrics import labels as people
from pyrite.metrics.agreement import krippendorff_alpha
from pyrite.metrics.correlation import pearson, spearman
from pyrite.metrics.labels import Agreement
from pyrite.records import Label, Outcome

STAGES = ("blind", "informed", "adjudication")
FEW = 10
MAX_ANNOTATORS = 50
"""Annotators above which pairs are not listed."""
_CODE = {Outcome.PASS: PASS, Outcome.FAIL: FAIL, Outcome.INDETERMINATE: INDETERMINATE}


@dataclass(frozen=True)
class Labelled:
    """Labels as arrays over the episodes of a table and the annotators in order of name."""

    annotators: tuple[str, ...]
    outcome: dict[str, Codes8]
    """Stage -> (episodes, annotators): PASS, FAIL, INDETERMINATE or MISSING."""
    process: NDArray[np.float64]
    """(episodes, annotators): blind process scores, else informed ones; NaN for none."""
    strangers: int
    """Lines of episodes that are not in the table."""
    aborted: Flags | None = None
    """Episodes that their environment broke off; None for none."""

    def truth(self) -> Codes8:
        """What people say of each episode; MISSING where nobody said anything.

        INDETERMINATE for a tie, and whatever they say of an aborted one.
        """
        found = np.full(len(self.process), MISSING, dtype=np.int8)
        for stage in reversed(STAGES[:2]):
            found = _voted(self.outcome[stage], found)
        found = _voted(self.outcome["adjudication"], found)
        if self.aborted is not None:
            found[self.aborted & (found != MISSING)] = INDETERMINATE
        return found


def read(lines: Iterable[Label], ids: tuple[str, ...]) -> Labelled:
    """Labels of the episodes `ids`, in their order."""
    row = {name: at for at, name in enumerate(ids)}
    outcomes: dict[tuple[str, str, int], int] = {}
    scores: dict[tuple[str, int], dict[str, float]] = {}
    strangers, names = 0, set()
    for one in lines:
        at = row.get(one.episode_id)
        if at is None or one.stage not in STAGES:
            strangers += at is None
            continue
        if one.outcome is not None:
            names.add(one.annotator)
            outcomes[one.stage, one.annotator, at] = _CODE[one.outcome]
        if one.process_score is not None and np.isfinite(one.process_score):
            names.add(one.annotator)
            scores.setdefault((one.annotator, at), {})[one.stage] = one.process_score
    order = {name: at for at, name in enumerate(sorted(names))}
    shape = (len(ids), len(order))
    outcome = {stage: np.full(shape, MISSING, dtype=np.int8) for stage in STAGES}
    for (stage, name, at), code in outcomes.items():
        outcome[stage][at, order[name]] = code
    process = np.full(shape, np.nan)
    for (name, at), said in scores.items():
        process[at, order[name]] = next(said[stage] for stage in STAGES if stage in said)
    return Labelled(tuple(order), outcome, process, strangers)


def with_truth(table: Table, truth: Codes8) -> Table:
    """The same table with another truth; categories and causes of the old one stay beside the new."""
    return replace(table, episodes=replace(table.episodes, truth=truth))


def labels_block(table: Table, said: Labelled, settings: Settings) -> dict[str, Any] | None:
    """Agreement of people with each other, with the verifier and with every judge; None without labels."""
    if not said.annotators:
        return None
    truth = said.truth()
    judged = with_truth(table, truth)
    rows: Flags = truth != MISSING
    blind = _pass_fail(said.outcome["blind"])
    cluster = table.episodes.cluster.codes
    judges: dict[str, dict[str, Any]] = {}
    for judge, condition in table.asked():
        cast = votes_of(table, judge, condition)
        block = judge_block(judged.episodes, rows, cast.verdict, settings)
        judges.setdefault(condition, {})[judge] = block
    counts = {name: int((truth == code).sum()) for name, code in (("pass", PASS), ("fail", FAIL))}
    return {
        "episodes": int(rows.sum()),
        "annotators": _given(said),
        **counts,
        "indeterminate": int((truth == INDETERMINATE).sum()),
        "adjudicated": int((said.outcome["adjudication"] != MISSING).any(axis=1).sum()),
        "strangers": said.strangers,
        "agreement": {
            "pairwise": figure(people.pairwise_agreement(blind, cluster, level=settings.level)),
            "alpha": krippendorff_alpha(blind),
            "pairs": _pairs(said, blind, cluster, settings),
        },
        "ceiling": _ceilings(said, blind, cluster, settings),
        "flips": _flips(said, cluster, settings),
        "process": _process(said, settings),
        "verifier": _agreed(
            people.agreement(
                _pass_fail(table.episodes.truth), _pass_fail(truth), cluster, **_options(settings)
            ),
            "verifier_pass_only",
            "people_pass_only",
        ),
        "judges": judges,
    }


def _voted(labels: Codes8, otherwise: Codes8) -> Codes8:
    """The majority of one stage where anybody said anything at it."""
    said = (labels != MISSING).any(axis=1)
    counts = np.stack([(labels == code).sum(axis=1) for code in (FAIL, PASS, INDETERMINATE)], axis=1)
    best = counts.max(axis=1, initial=0)
    alone = (counts == best[:, None]).sum(axis=1) == 1
    winner = np.where(alone, np.array([FAIL, PASS, INDETERMINATE])[counts.argmax(axis=1)], INDETERMINATE)
    return np.where(said, winner, otherwise).astype(np.int8)


def _pass_fail(codes: Codes8) -> Codes8:
    return np.where((codes == PASS) | (codes == FAIL), codes, people.NONE).astype(np.int8)


def _given(said: Labelled) -> dict[str, Any]:
    """Annotator -> how many outcomes at each stage, and process scores."""
    return {
        name: {
            **{stage: int((said.outcome[stage][:, at] != MISSING).sum()) for stage in STAGES},
            "process": int(np.isfinite(said.process[:, at]).sum()),
        }
        for at, name in enumerate(said.annotators)
    }


def _pairs(
    said: Labelled, blind: Codes8, cluster: NDArray[np.int32], settings: Settings
) -> list[dict[str, Any]]:
    found = []
    if len(said.annotators) > MAX_ANNOTATORS:
        return []
    for i, j in combinations(range(len(said.annotators)), 2):
        if bool(((blind[:, i] >= 0) & (blind[:, j] >= 0)).any()):
            one = people.agreement(blind[:, i], blind[:, j], cluster, **_options(settings))
            block = _agreed(one, "a_pass_only", "b_pass_only")
            found.append({"a": said.annotators[i], "b": said.annotators[j], **block})
    return found


def _ceilings(
    said: Labelled, blind: Codes8, cluster: NDArray[np.int32], settings: Settings
) -> list[dict[str, Any]]:
    """Each annotator against the majority of the others: no judge can be shown to be better than that."""
    found = []
    for at, name in enumerate(said.annotators[:MAX_ANNOTATORS]):
        if not bool((blind[:, at] >= 0).any()):
            continue
        one = people.ceiling(blind, at, cluster, **_options(settings))
        if one.agreement.n:
            found.append({"annotator": name, **_agreed(one, "alone_pass", "others_pass")})
    return found


def _flips(said: Labelled, cluster: NDArray[np.int32], settings: Settings) -> dict[str, Any]:
    before, after = (_pass_fail(said.outcome[stage]) for stage in STAGES[:2])
    repeated = np.repeat(cluster, len(said.annotators))
    changed, to_pass, to_fail = people.flips(before.ravel(), after.ravel(), repeated, level=settings.level)
    return {"changed": figure(changed), "to_pass": to_pass, "to_fail": to_fail}


def _process(said: Labelled, settings: Settings) -> dict[str, Any]:
    median = people.medians(said.process)
    outcome = people.process_outcome(median)
    pairs = []
    names = said.annotators if len(said.annotators) <= MAX_ANNOTATORS else ()
    for i, j in combinations(range(len(names)), 2):
        one = pearson(said.process[:, i], said.process[:, j], level=settings.level)
        if one.n:
            two = spearman(said.process[:, i], said.process[:, j], level=settings.level)
            pairs.append({"a": names[i], "b": names[j], "pearson": figure(one), "spearman": figure(two)})
    there = median[np.isfinite(median)]
    return {
        "n": len(there),
        "threshold": people.PROCESS_CORRECT,
        "correct": int((outcome == people.PASS).sum()),
        "wrong": int((outcome == people.FAIL).sum()),
        "median": float(np.median(there)) if len(there) else None,
        "pairs": pairs,
    }


def _agreed(found: Agreement, first_only: str, second_only: str) -> dict[str, Any]:
    return {
        "n": found.agreement.n,
        "agreement": figure(found.agreement),
        "kappa": figure(found.kappa),
        "both_pass": found.both_pass,
        first_only: found.first_only,
        second_only: found.second_only,
        "both_fail": found.both_fail,
    }


def _options(settings: Settings) -> dict[str, Any]:
    return {"level": settings.level, "resamples": settings.resamples, "seed": settings.seed}
