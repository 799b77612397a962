"""Scores, repeated runs, claims and corrected rates as text for a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyrite.cli import screen
from pyrite.measure.finding import is_shortcut
from pyrite.report import numbers
from pyrite.report.numbers import THIN, count, percent

WIDTH = 100
RARE = 0.2
"""Share of passed or of failed episodes below which kappa falls for that reason alone."""


def print_scores(scores: Mapping[str, Any]) -> None:
    """A paragraph a score: how it ranks, which threshold is certified, what it does elsewhere."""
    for name, block in scores.items():
        screen.result("\n" + _folded(score_lines(name, block)))


def print_beside(judges: Mapping[str, Any]) -> None:
    """What stands beside the figures of judges: repeated runs, scores, corrected rates."""
    lines: list[str] = []
    for name, block in judges.items():
        lines += uncertain_lines(name, block)
        lines += reward_lines(name, block)
        lines += agreement_lines(name, block)
        lines += consistency_lines(name, block.get("consistency"))
        lines += score_lines(name, block["scores"]) if block.get("scores") else ()
        lines += corrected_lines(name, block.get("corrected"))
    if lines:
        screen.result("\n" + _folded(lines))


def print_claims(effects: Sequence[Mapping[str, Any]]) -> None:
    """What the agent's words add to the FPR of judges that do not go by the words alone."""
    lines = [line for one in effects if not is_shortcut(one["judge"]) for line in claim_lines(one)]
    if lines:
        lines.append(
            "p: sign flips by task, which decides: an interval that would exclude 0 where it does not is"
            " widened by the test"
        )
        screen.result("\n" + _folded(lines))


def score_lines(name: str, block: Mapping[str, Any]) -> Iterator[str]:
    """One score: counts, AUC, threshold with its promise, held-out rates, calibration."""
    ends = f", {block['low']:g} to {block['high']:g}" if block["low"] is not None else ""
    yield f"score {screen.printable(name)}: {count(block['n'], 'score')}{ends}{_gone(block)}"
    yield f"  AUC {_coefficient(block['auc'])}"
    yield from _certificate(block["certificate"])
    yield from _calibration(block["calibration"])


def uncertain_lines(name: str, block: Mapping[str, Any]) -> Iterator[str]:
    """The FPR by what uncertain counts as; nothing where no failed episode got that answer."""
    found = block["envelope"]
    if found["uncertain"]:
        low, drop, high = (percent(found[key], reason="no_negatives") for key in ("low", "drop", "high"))
        yield (
            f"{screen.printable(name)}: FPR {low} if uncertain counts as failure, {drop} if it is left out, "
            f"{high} if it counts as success ({found['uncertain']:,} such answers to failed episodes)"
        )


def reward_lines(name: str, block: Mapping[str, Any]) -> Iterator[str]:
    """What a trainer gets: Youden's J, the FDR at other success rates and with one episode a task."""
    found = block["training"]
    if is_shortcut(name.split(", ")[0]) or found["youden"] is None or found["youden"] >= 1:
        return
    at = [
        f"{percent(one['value'], reason=one['reason'])} at {100 * float(rate):g}{THIN}%"
        for rate, one in found["fdr_at"].items()
    ]
    one_each = found["fdr_one_per_task"]
    each = percent(one_each["value"], reason=one_each["reason"])
    gain = numbers.coefficient(found["youden"])
    yield (
        f"{screen.printable(name)} as a reward: J {gain}; FDR by success rate {', '.join(at)}; with one "
        f"accepted episode a task {each}"
    )


def agreement_lines(name: str, block: Mapping[str, Any]) -> Iterator[str]:
    """AC1 and the Matthews correlation beside kappa where one outcome is rare: kappa alone misleads there."""
    counts = block["counts"]
    passed = counts["tp"] + counts["fn"]
    total = passed + counts["fp"] + counts["tn"]
    if not total or RARE <= passed / total <= 1 - RARE or block["kappa"]["value"] is None:
        return
    kappa, ac1 = _coefficient(block["kappa"]), _coefficient(block["agreement"]["ac1"])
    mcc = _mean(block["agreement"]["mcc"])
    yield (
        f"{screen.printable(name)}: {percent(passed / total)} of the episodes passed, so kappa {kappa} alone "
        f"misleads; AC1 {ac1}, Matthews correlation {mcc}"
    )


def consistency_lines(name: str, block: Mapping[str, Any] | None) -> Iterator[str]:
    """How often runs of one episode agree; nothing where there is one run."""
    if block is None:
        return
    raw, failed = block["raw"], block["failed"]
    kappa = numbers.coefficient(raw["fleiss"], reason=raw["fleiss_reason"])
    yield (
        f"{screen.printable(name)}, {block['runs']} runs: pairs of runs agree on {_rate(raw['pairwise'])}, "
        f"all runs on {_rate(raw['all_agree'])}, Fleiss' kappa {kappa}"
    )
    yield (
        f"  of failed episodes: pairs agree on {_rate(failed['pairwise'])}; accepted by at least one run "
        f"{_rate(block['any_run_fpr'])}"
    )


def corrected_lines(name: str, block: Mapping[str, Any] | None) -> Iterator[str]:
    """The success rate of episodes that only the judge saw; nothing where there are none."""
    if block is None:
        return
    yield (
        f"{screen.printable(name)}, {count(block['unscored'], 'episode')} without a truth: judged "
        f"{percent(block['judged_rate'])} successful"
    )
    for key, label in (("rogan_gladen", "Rogan-Gladen"), ("ppi", "PPI++")):
        found = block[key]
        yield f"  {label}: {_rate(found)}; {found['when']}"
        yield from (f"  {label}: {warning}" for warning in found["warnings"])


def claim_lines(effect: Mapping[str, Any]) -> Iterator[str]:
    """What the agent's words add to a judge's FPR, and whether it is leniency."""
    fpr = effect["fpr"]
    told = f" ({fpr['flip_in']} in, {fpr['flip_out']} out, of {fpr['n']}, p {_p(fpr)})" if fpr["n"] else ""
    yield (
        f"{screen.printable(effect['judge'])}, {effect['condition']} minus {effect['base']}: FPR "
        f"{_points(fpr)}{told}; among {effect['among']}"
    )
    if effect["tpr"]["value"] is not None:
        yield f"  TPR {_points(effect['tpr'])}"
    for key, label in (("placebo", "without a claim"), ("noise", "between runs")):
        if effect[key] is not None and effect[key]["value"] is not None:
            yield f"  noise, {label}: {_points(effect[key])}"
    before, after = effect["without"], effect["with_words"]
    if before["d_prime"] is not None and after["d_prime"] is not None:
        moved = [numbers.coefficient(one[key]) for key in ("d_prime", "criterion") for one in (before, after)]
        yield f"  d' {moved[0]} to {moved[1]}, criterion {moved[2]} to {moved[3]} (lower is more lenient)"


def _certificate(found: Mapping[str, Any]) -> Iterator[str]:
    target = percent(found["target"])
    if found["threshold"] is None:
        yield f"  no threshold certifies FPR <= {target}: {numbers.refusal(found)}"
        return
    sure = "" if found["delta"] is None else f" with {100 * (1 - found['delta']):.4g}{THIN}% confidence"
    average = " on average only" if found["delta"] is None else ""
    at = "at least" if found["accept"] == ">=" else "above"
    bound = "" if found["upper"] is None else f", bound {percent(found['upper'])}"
    yield (
        f"  threshold: {at} {found['threshold']!r} promises FPR <= {target}{sure}{average} "
        f"({found['false_positives']} accepted of {found['n']:g} negatives{bound}; "
        f"{found['policy'].replace('_', ' ')}, {found['sampling'].replace('_', ' ')})"
    )
    elsewhere = found["fpr"] or {"value": None, "reason": found["fpr_reason"]}
    hard = f", hard negatives {numbers.rate(found['hard_fpr'])}" if found["hard_fpr"] else ""
    weighed = " (the promise is of tasks, this rate of episodes)" if _by_task(found) else ""
    yield (
        f"  on {count(found['held_out_tasks'], 'other task')}: FPR {numbers.rate(elsewhere)}{hard}, "
        f"TPR {numbers.rate(found['tpr'])}{weighed}"
    )


def _by_task(found: Mapping[str, Any]) -> bool:
    """Whether one number a task chose the threshold, where tasks have several failed episodes."""
    several: bool = found["calibration_negatives"] > found["calibration_tasks"]
    return several and found["sampling"] != "effective_size"


def _calibration(found: Mapping[str, Any]) -> Iterator[str]:
    if found["reason"]:
        yield f"  calibration null: {numbers.words(found['reason'])}"
        return
    mean = _mean(found["mean_on_failures"])
    skill = "" if found["skill"] is None else f", skill {numbers.coefficient(found['skill'])}"
    yield (
        f"  as a probability: Brier {found['brier']['value']:.3f}{skill}, ECE {found['ece']:.3f} over "
        f"{found['binning']}; failed episodes get {mean} on average"
    )


def _gone(block: Mapping[str, Any]) -> str:
    parts = [f"{block[key]:,} {key}" for key in ("missing", "unreadable", "infinite") if block[key]]
    return f" ({', '.join(parts)})" if parts else ""


def _mean(found: Mapping[str, Any]) -> str:
    return numbers.coefficient(found["value"], reason=found["reason"])


def _coefficient(found: Mapping[str, Any]) -> str:
    ends = numbers.coefficient_interval(found["low"], found["high"])
    return f"{numbers.coefficient(found['value'], reason=found['reason'])} {ends}".rstrip()


def _rate(found: Mapping[str, Any]) -> str:
    return numbers.rate(found)


def _points(found: Mapping[str, Any]) -> str:
    ends = numbers.points_interval(found["low"], found["high"])
    return f"{numbers.points(found['value'], reason=found['reason'])} {ends}".rstrip()


def _p(found: Mapping[str, Any]) -> str:
    return numbers.p_value(found["p_signflip"])


def _folded(lines: Iterator[str] | list[str]) -> str:
    """Lines of the terminal's width, a folded one indented below its start."""
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for line in lines
    )
