"""The card of orm-lite as text for a terminal: data, split, and figures on the families it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from pyrite.cli.scores_text import score_lines
from pyrite.cli.screen import printable
from pyrite.report.numbers import count, rate


def summary(card: Mapping[str, Any]) -> str:
    """One line for the end of the stage."""
    train, held = card["split"]["train"], card["split"]["held_out"]
    trained = f"{count(train['episodes'], 'episode')} of {len(train['families'])} families"
    return f"{trained}, tried on {count(held['episodes'], 'episode')} of {len(held['families'])} others"


def text(card: Mapping[str, Any], out: Path, bench: Path) -> str:
    """The whole card, and how to use the weights."""
    cut = next(iter(card["conditions"].values()))["held_out"]["cut"]
    return "\n".join(
        [
            *_data(card),
            *(line for name, block in card["conditions"].items() for line in _condition(name, block)),
            "",
            f"FPR and TPR count scores from {cut:.3f} on, the share that passed in training; nothing is",
            "promised there. AUC and threshold mix strata.",
            "",
            f"weights  {printable(str(out))}",
            f"next     pyrite judge {quote(str(bench))} --judge orm-lite@weights={quote(str(out))}",
        ]
    )


def _data(card: Mapping[str, Any]) -> Iterator[str]:
    data, split = card["data"], card["split"]
    yield (
        f"{count(data['episodes'], 'episode')}: {data['passed']:,} passed, {data['failed']:,} failed, "
        f"{data['hard_negatives']:,} of those hard; read by {card['ocr'] or 'nobody'}"
    )
    for reason, number in data["left_out"].items():
        yield f"  left out: {number:,} {printable(reason)}"
    for name in ("train", "held_out"):
        part = split[name]
        yield (
            f"{name.replace('_', ' ')}: {len(part['families'])} families, {count(part['tasks'], 'task')}, "
            f"{part['passed']:,} passed, {part['failed']:,} failed"
        )
    yield f"  held out ({split['rule']}): {', '.join(map(printable, split['held_out']['families']))}"


def _condition(name: str, block: Mapping[str, Any]) -> Iterator[str]:
    held = block["held_out"]
    told = block["log_loss_on_unseen_families"]
    yield ""
    yield (
        f"{name}: {block['model']}, {count(len(block['features']), 'feature')}; log loss on unseen families "
        f"{told['tried'][block['model']]:.3f}, of saying the share {told['saying_the_share']:.3f}"
    )
    yield (
        f"  held out: FPR {rate(held['fpr'])}, hard negatives {rate(held['hard_fpr'])}, "
        f"TPR {rate(held['tpr'])}"
    )
    for stratum, rates in held["by_stratum"].items():
        yield f"    {stratum}: FPR {rate(rates['fpr'])}, TPR {rate(rates['tpr'])}"
    whole = {"missing": 0, "unreadable": 0, "infinite": 0, "low": None, "high": None}
    yield from list(score_lines(name, {**whole, "n": held["failed"] + held["passed"], **held}))[1:]
