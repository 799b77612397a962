"""Features of an evidence package: numbers from what the package shows, and None for what it does not.

Blocks by condition: `screen` always; `frames` and `actions` where actions are shown (E2, E3), with the
number of steps only where all are (E3); `claim` in conditions with the agent's final message. A package
holds no episode id, source, agent or truth, so no feature can.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyrite.episodes.claims import claim
from pyrite.evidence.conditions import parse
from pyrite.judges.base import Package
from pyrite.judges.ocr import Box
from pyrite.judges.orm.wanted import MAX_TEXT, Asked, Text, asked
from pyrite.records import Evidence, ViewAction
from pyrite.store.images import open_image

Features = dict[str, float | None]

FEATURES_VERSION = 1
"""Weights go with the features that they were trained on: raise it with any change of what comes out."""
MAX_FRAMES = 64
"""Of an episode with more, the last ones are compared."""
TITLE_HEIGHT = 40
"""Pixels from the top of the screen within which a line is a title or the first menu."""

_BUTTONS = frozenset(
    {
        "ok",
        "cancel",
        "save",
        "discard",
        "replace",
        "apply",
        "yes",
        "no",
        "retry",
        "keep",
        "overwrite",
        "close",
    }
    | {"don'tsave", "dontsave", "don’tsave", "saveas", "continue", "delete", "skip", "rename"}
)
_ASKS = re.compile(
    r"already exists|save changes|changes will be lost|before closing|keep current format|are you sure|"
    r"do you want|confirm|overwrite|replace it|unsaved",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\b(?:error|failed|failure|fatal|cannot|can't|could not|not found|no such|denied|invalid|unable|usage:|"
    r"unknown|not a |refused|warning|missing)",
    re.IGNORECASE,
)
_CONFIRMS = re.compile(
    r"\b(?:saved|placed|sent|updated|created|cancell?ed|submitted|success\w*|committed|completed?|stored|booked)\b",
    re.IGNORECASE,
)
_DRAFT = re.compile(r"\b(?:drafts?|not saved|modified|pending|untitled)\b|^\s*[*•]", re.IGNORECASE)
_TITLE = re.compile(r"\s[-–—]\s*[A-Z]\w+")
_MARKED = re.compile(r"^\s*[*•]|\(modified\)|\bunsaved\b|\buntitled\b", re.IGNORECASE)
_SAVE = re.compile(r"\bctrl\+(?:shift\+)?s\b", re.IGNORECASE)
_UNDO = re.compile(r"\bescape\b|\bctrl\+z\b", re.IGNORECASE)


def features(package: Package, boxes: Sequence[Box]) -> Features:
    """Everything that a package tells; `boxes` is the reading of its last screen."""
    evidence = package.evidence
    condition = parse(evidence.condition)
    wanted = asked(evidence.instruction)
    found = _screen(wanted, boxes)
    if condition.with_actions:
        found |= _frames(package)
        found |= _actions(wanted, evidence.actions, everything=condition.last_screens is None)
    if condition.with_claim:
        found |= _claim(wanted, evidence)
    return found


def _screen(wanted: Asked, boxes: Sequence[Box]) -> Features:
    """What the last screen shows of what is asked for, and what else stands on it."""
    text = Text.of_screen(boxes)
    titles = [box.text for box in boxes if box.cy <= TITLE_HEIGHT or _TITLE.search(box.text)]
    lines = [box.text for box in boxes]
    stems = [name.rsplit(".", 1)[0] for name in wanted.files]
    return {
        "screen.words": text.share(wanted.words),
        "screen.quoted": text.share(wanted.quoted),
        "screen.numbers": text.share(wanted.numbers),
        "screen.files": text.share(stems),
        "screen.values": text.share(wanted.values),
        "screen.title_file": Text(titles).share(stems),
        "screen.title_marked": float(any(_MARKED.search(title) for title in titles)),
        "screen.buttons": float(_buttons(boxes)),
        "screen.asks": _count(_ASKS, lines),
        "screen.errors": _count(_ERROR, lines),
        "screen.confirms": _count(_CONFIRMS, lines),
        "screen.drafts": _count(_DRAFT, lines),
        "screen.amount": math.log1p(len(text.words)),
    }


def _buttons(boxes: Sequence[Box]) -> bool:
    """Two or more words of dialog buttons on one line."""
    found = [box for box in boxes if re.sub(r"[\s._!&]+", "", box.text.lower()) in _BUTTONS]
    return any(
        sum(abs(one.cy - other.cy) <= 8 and one.text != other.text for other in found) >= 1 for one in found
    )


def _count(pattern: re.Pattern[str], lines: Sequence[str]) -> float:
    return math.log1p(sum(bool(pattern.search(line)) for line in lines))


def _frames(package: Package) -> Features:
    """How much of the screen changed from frame to frame, as log10 of the share (-6 for nothing)."""
    keys = package.evidence.images
    first = max(0, len(keys) - MAX_FRAMES)
    if len(keys) < 2:
        return dict.fromkeys(("frames.last", "frames.most", "frames.all", "frames.still"))
    shares = [_changed(package, place - 1, place) for place in range(first + 1, len(keys))]
    return {
        "frames.last": _log(shares[-1]),
        "frames.most": _log(max(shares)),
        "frames.all": _log(_changed(package, first, len(keys) - 1)),
        "frames.still": sum(share == 0 for share in shares) / len(shares),
    }


def _changed(package: Package, one: int, other: int) -> float:
    """Share of pixels that differ; 1 for images of different sizes."""
    keys = package.evidence.images
    if keys[one] == keys[other]:
        return 0.0
    return _share(package.locate(keys[one]), package.locate(keys[other]))


@lru_cache(maxsize=10_000)
def _share(one: Path, other: Path) -> float:
    """The same of two files that are named by their pixels: the same pair is in several conditions."""
    first, second = _pixels(one), _pixels(other)
    if first.shape != second.shape:
        return 1.0
    differ = first != second
    return float((differ[..., 0] | differ[..., 1] | differ[..., 2]).mean())


@lru_cache(maxsize=8)
def _pixels(path: Path) -> NDArray[np.uint8]:
    return np.asarray(open_image(path))


def _log(share: float) -> float:
    return math.log10(share + 1e-6)


def _actions(wanted: Asked, actions: Sequence[ViewAction], *, everything: bool) -> Features:
    """How it ended, what was typed of what is asked for, and what came after the last typing."""
    kinds = [action.action for action in actions]
    ended = kinds[-1] if kinds and kinds[-1] in {"done", "fail"} else ""
    acts = [action for action in actions if action.action not in {"done", "fail"}]
    typed = [str(a.parameters.get("text", "")) for a in acts if a.action in {"type", "answer"}]
    last = max((place for place, act in enumerate(acts) if act.action == "type"), default=None)
    after = acts[last + 1 :] if last is not None else acts
    text = Text(typed)
    told = Text([*wanted.words, *wanted.quoted, *wanted.numbers, *wanted.files, *wanted.values])
    found: Features = {
        "actions.done": float(ended == "done"),
        "actions.fail": float(ended == "fail"),
        "actions.none": float(not acts),
        "actions.typed_words": text.share(wanted.words) if typed else None,
        "actions.typed_quoted": text.share(wanted.quoted) if typed else None,
        "actions.typed_values": text.share(wanted.values) if typed else None,
        "actions.typed_other": _other(text, told),
        "actions.saves": math.log1p(sum(bool(_SAVE.search(_keys(act))) for act in acts)),
        "actions.saved_after": float(any(_SAVE.search(_keys(act)) for act in after)),
        "actions.return_after": float(any("Return" in _keys(act) for act in after)),
        "actions.undo_after": float(any(_UNDO.search(_keys(act)) for act in after)),
        "actions.after": math.log1p(len(after)),
    }
    for kind in ("click", "key", "type", "wait", "goto"):
        found[f"actions.last_{kind}"] = float(bool(acts) and acts[-1].action == kind)
    if everything:
        found["actions.steps"] = math.log1p(len(acts))
        found["actions.typings"] = math.log1p(len(typed))
        found["actions.clicks"] = math.log1p(sum("click" in act.action for act in acts))
    return found


def _keys(action: ViewAction) -> str:
    return str(action.parameters.get("keys", ""))[:200] if action.action == "key" else ""


def _other(typed: Text, told: Text) -> float | None:
    """Share of typed words that the instruction does not hold; None where nothing was typed."""
    if not typed.words:
        return None
    return sum(word not in told.joined for word in typed.words) / len(typed.words)


def _claim(wanted: Asked, evidence: Evidence) -> Features:
    """What the agent says of it. A claim, not evidence: in conditions that show it, and nowhere else."""
    message = evidence.final_message
    said = claim(message)
    told = Text([(message or "")[:MAX_TEXT]])
    return {
        "claim.asserted": float(said == "asserted"),
        "claim.denied": float(said == "denied"),
        "claim.silent": float(not message),
        "claim.values": told.share(wanted.values) if message else None,
    }
