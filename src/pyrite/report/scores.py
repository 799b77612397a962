"""The section of judges that give scores or a confidence: what is drawn, and the table of thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from pyrite.measure.finding import FIRST_CONDITION
from pyrite.report import numbers
from pyrite.report.numbers import THIN
from pyrite.report.scores_plots import MOST_CURVES, Curve, det, reliability, roc
from pyrite.report.sections import above_target

MOST_CHARTS = 4
"""Reliability diagrams on the page; all bins are in report.json."""
ACCEPT_OR_REJECT = "the source has accept or reject only"
NO_DET = "null: no two points have both error rates between 0.5 and 99 %"
RULES = {
    "fixed_sequence": "fixed-sequence Clopper-Pearson",
    "neyman_pearson": "Neyman-Pearson",
    "conformal": "conformal risk control, on average only",
}
SAMPLINGS = {
    "one_per_task": "one failed episode a task",
    "max_per_task": "the highest score of each task",
    "effective_size": "effective size, approximate",
}
WHY_SAMPLED = {
    "one_per_task": "One failed episode a task, drawn by seed, because episodes of one task are alike.",
    "max_per_task": "The highest score of each task, because episodes of one task are alike.",
    "effective_size": "Effective size: so many independent episodes would say as much, since those of one "
    "task are alike.",
}


@dataclass(frozen=True)
class Scored:
    """One judge with scores in one condition."""

    judge: str
    condition: str
    block: Mapping[str, Any]

    @property
    def certificate(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.block["certificate"]
        return found

    @property
    def rule(self) -> str:
        """How the threshold is promised: rule, target and confidence, on what."""
        found = self.certificate
        target = f"FPR at most {numbers.limit(found['target'])}"
        sure = "" if found["delta"] is None else f" at {numbers.confidence(found['delta'])} confidence"
        return f"{RULES[found['policy']]}: {target}{sure}; {SAMPLINGS[found['sampling']]}"

    @property
    def threshold(self) -> str:
        """The cut as it is applied; empty where nothing is certified."""
        found = self.certificate
        if found["threshold"] is None:
            return ""
        return f"{'≥' if found['accept'] == '>=' else '>'} {found['threshold']:.6g}"

    def above(self, found: Mapping[str, Any]) -> bool:
        """Whether an FPR on held-out tasks is clearly above the target that was asked for."""
        return above_target(found, self.certificate["target"])

    @property
    def refused(self) -> str:
        """Why no threshold is certified, with the number that would be needed."""
        return f"null: {numbers.refusal(self.certificate)}"

    @property
    def gone(self) -> str:
        """Scores that are in no figure, and answers that no threshold accepts."""
        parts = [f"{self.block[key]:,} {key}" for key in ("missing", "unreadable") if self.block[key]]
        return ", ".join(parts)


@dataclass(frozen=True)
class Reliability:
    """One reliability diagram, or the reason why there is none."""

    judge: str
    condition: str
    of: str
    """score or confidence"""
    block: Mapping[str, Any]
    drawing: Markup | None

    @property
    def summary(self) -> str:
        """How far stated and real are apart; empty where nothing is known."""
        ece, brier = self.block["ece"], self.block["brier"]
        if ece is None or brier is None or brier["value"] is None or numbers.few(self.block["n"]):
            return ""
        return f"ECE {ece:.3f}, Brier score {brier['value']:.3f}."

    @property
    def sure(self) -> str:
        """How sure the judge is of episodes that failed."""
        found = self.block["sure_of_failures"]
        if found["value"] is None:
            return f"of failed episodes {numbers.null(found['reason'])}"
        if numbers.few(found["n"]):
            return f"{numbers.count(found['n'], 'failed episode')}: n < 10, no rate"
        return (
            f"On failures it states 90{THIN}% or more in {numbers.rate(found)} of cases (n = {found['n']:,})."
        )


@dataclass(frozen=True)
class Section:
    """What the page shows of scores, of one stratum."""

    stratum: str
    rows: tuple[Scored, ...]
    failed: int
    passed: int
    roc: Markup | None
    det: Markup | None
    no_curves: str
    """Why there is no ROC; empty where there is one."""
    no_det: str
    curves_left_out: int
    reliability: tuple[Reliability, ...]
    charts_left_out: int

    @property
    def certified(self) -> bool:
        """Whether a plot has the mark of a threshold."""
        return self.roc is not None and 'class="certified' in self.roc

    @property
    def promise(self) -> str:
        """What a threshold that is chosen so is worth."""
        found = self.rows[0].certificate
        target = f"the FPR on tasks like these is at most {numbers.limit(found['target'])}"
        if found["delta"] is None:
            return f"{target} on average over many such choices, not in each."
        return f"{target}, and such a choice breaks this at most {numbers.limit(found['delta'])} of the time."

    @property
    def sampled(self) -> str:
        """Why not every failed episode counts in the choice."""
        return WHY_SAMPLED[self.rows[0].certificate["sampling"]]

    @property
    def none(self) -> bool:
        """Nothing here gives a score or a confidence."""
        return not self.rows and not self.reliability


def section(result: Mapping[str, Any]) -> Section | None:
    """Score judges of the leading stratum; None where none leads."""
    lead = result["lead"]
    if lead is None:
        return None
    block = result["strata"][lead]
    found = list(_judges(block))
    rows = [Scored(judge, where, one["scores"]) for judge, where, one in found if one["scores"] is not None]
    rows.sort(key=lambda row: (-(row.block["auc"]["value"] or 0.0), row.judge, row.condition))
    curves = [_curve(row, rows) for row in rows if row.block["det"]]
    shown = curves[:MOST_CURVES]
    charts = sorted(_reliability(found), key=lambda one: one.of != "confidence")
    target = rows[0].certificate["target"] if rows else 0.0
    deviates = det(shown, target, title="DET: missed successes against false accepts") if shown else None
    return Section(
        stratum=lead,
        rows=tuple(rows),
        failed=block["truth"]["fail"],
        passed=block["truth"]["pass"],
        roc=roc(shown, target, title=f"ROC of {', '.join(one.name for one in shown)}") if shown else None,
        det=deviates,
        no_curves="" if shown or not rows else numbers.null(rows[0].block["auc"]["reason"]),
        no_det="" if deviates is not None or not shown else NO_DET,
        curves_left_out=len(curves) - len(shown),
        reliability=tuple(charts[:MOST_CHARTS]),
        charts_left_out=max(0, len(charts) - MOST_CHARTS),
    )


def _judges(block: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(judge, condition, block), the condition of the finding first."""
    order = sorted(block["conditions"], key=lambda name: (name != FIRST_CONDITION, name))
    for condition in order:
        for judge, one in block["conditions"][condition]["judges"].items():
            yield judge, condition, one


def _curve(row: Scored, rows: list[Scored]) -> Curve:
    """The curve of a judge, named by its condition too where it has several."""
    twice = sum(other.judge == row.judge for other in rows) > 1
    name = f"{row.judge}, {row.condition}" if twice else row.judge
    points = [(point["fpr"], point["fnr"]) for point in row.block["det"]]
    held = row.certificate["fpr"]
    certified = (
        None if held is None or row.certificate["tpr"]["value"] is None else (held, row.certificate["tpr"])
    )
    return Curve(name, tuple(points), certified)


def _reliability(found: list[tuple[str, str, Mapping[str, Any]]]) -> Iterator[Reliability]:
    """A diagram for each confidence and for each score that can be read as a probability."""
    for judge, condition, one in found:
        blocks = [("confidence", one["confidence"])]
        if one["scores"] is not None:
            blocks.append(("score", one["scores"]["calibration"]))
        for of, block in blocks:
            if block is None:
                continue
            title = f"Reliability of the {of} of {judge}, {condition}"
            drawing = None if block["reason"] else reliability(block["bins"], title=title)
            yield Reliability(judge, condition, of, block, drawing)
