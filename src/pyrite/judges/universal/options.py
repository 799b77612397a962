"""The options of `universal`, out of a label: what they may be and what they are by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pyrite.errors import UsageError

Pruning = Literal["released", "paper"]
Frames = Literal["all", "pre-action"]
Mode = Literal["strict", "economical"]
Success = Literal["outcome", "process", "both"]

_WORDS: Mapping[str, tuple[str, ...]] = {
    "mode": ("strict", "economical"),
    "frames": ("all", "pre-action"),
    "pruning": ("released", "paper"),
    "eyes": ("pixels", "ocr"),
    "success": ("outcome", "process", "both"),
    "same": ("once", "each"),
    "rubric": ("shared", "per-run"),
    "diagnosis": ("on", "off"),
    "schema": ("on", "off"),
    "relevance": ("large", "small"),
    "left_out": ("null", "told"),
}
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "k": (1, 50),
    "votes": (1, 31),
    "attempts": (1, 10),
    "redo": (0, 10**6),
    "near": (0, 1000),
    "relevance_side": (0, 10_000),
    "quality": (1, 95),
    "jpeg_above": (0, 1 << 30),
    "max_tokens": (64, 1 << 17),
    "max_chars": (0, 1 << 17),
}
_BY_MODE: Mapping[str, Mapping[str, str]] = {
    "strict": {"same": "each", "relevance": "large", "relevance_side": "0", "near": "1000"},
    "economical": {"same": "once", "relevance": "small", "relevance_side": "768", "near": "2"},
}
"""What a mode stands for; an option that is given wins."""
_DEFAULTS: Mapping[str, str] = {
    "k": "5",
    "votes": "1",
    "attempts": "5",
    "redo": "0",
    "quality": "75",
    "jpeg_above": "200000",
    "max_tokens": "4096",
    "max_chars": "0",
    "frames": "all",
    "pruning": "released",
    "eyes": "pixels",
    "success": "outcome",
    "rubric": "shared",
    "diagnosis": "on",
    "schema": "on",
    "left_out": "null",
    "threshold": "0.8",
    "temperature": "none",
}


@dataclass(frozen=True)
class Settings:
    """How one verification is done."""

    mode: Mode
    frames: Frames
    """all: every screen of the package; pre-action: the one before each action, as released."""
    pruning: Pruning
    eyes: Literal["pixels", "ocr"]
    success: Success
    """What the verdict says: the outcome, the process score held against the threshold, or both."""
    once: bool
    """Whether a frame that is shown again is looked at once."""
    shared_rubric: bool
    """Whether all agents and runs of a task are graded by one rubric; else each run draws its own."""
    diagnosis: bool
    schema: bool
    small_relevance: bool
    """Whether the small model looks for relevance."""
    blind: bool
    """Whether an outcome is given where a budget has left screens or actions out; else it is null."""
    k: int
    votes: int
    attempts: int
    redo: int
    """Which drawing of a shared rubric: 0 is the first, another number draws anew."""
    near: int
    """Actions before and after a screen that its evidence prompt shows; the others are counted."""
    relevance_side: int
    """Longest side of the pictures for relevance; 0: as they are."""
    quality: int
    """Of JPEG."""
    jpeg_above: int
    """Bytes above which a PNG is sent as JPEG; scaled pictures always are."""
    max_tokens: int
    max_chars: int
    """Of each text in an answer, and points whole, held by the schema: for small models. 0 is no bound."""
    threshold: float
    temperature: float | None

    def as_json(self) -> dict[str, Any]:
        """For the judge's config."""
        return dict(vars(self))


def settings(options: Mapping[str, str]) -> Settings:
    """Read the options of a label; "" is the default. Raises `UsageError`."""
    mode = _word("mode", options.get("mode") or "strict")
    given = {key: value for key, value in options.items() if value}
    whole = {**_DEFAULTS, **_BY_MODE[mode], **given, "mode": mode}
    words = {key: _word(key, whole[key]) for key in _WORDS}
    numbers = {key: _number(key, whole[key]) for key in _BOUNDS}
    if numbers["votes"] % 2 == 0:
        raise UsageError(f"universal: votes is {numbers['votes']}", expected="an odd number: 1, 3, 5, …")
    return Settings(
        mode=words["mode"],  # type: ignore[arg-type]
        frames=words["frames"],  # type: ignore[arg-type]
        pruning=words["pruning"],  # type: ignore[arg-type]
        eyes=words["eyes"],  # type: ignore[arg-type]
        success=words["success"],  # type: ignore[arg-type]
        once=words["same"] == "once",
        shared_rubric=words["rubric"] == "shared",
        diagnosis=words["diagnosis"] == "on",
        schema=words["schema"] == "on",
        blind=words["left_out"] == "told",
        small_relevance=words["relevance"] == "small",
        **numbers,
        threshold=_real("threshold", whole["threshold"], 0, 1),
        temperature=None
        if whole["temperature"] == "none"
        else _real("temperature", whole["temperature"], 0, 2),
    )


def texts() -> dict[str, str]:
    """Option -> its default and what it may be, for people.

    >>> texts()["pruning"], texts()["relevance_side"]
    ('released (or paper)', '0 (economical: 768)')
    """
    found = {}
    for key in ("mode", *_BY_MODE["strict"], *_DEFAULTS):
        default = "strict" if key == "mode" else _DEFAULTS.get(key, _BY_MODE["strict"].get(key, ""))
        others = " or ".join(one for one in _WORDS.get(key, ()) if one != default)
        economical = _BY_MODE["economical"].get(key)
        more = f"economical: {economical}" if economical else f"or {others}" if others else ""
        found[key] = f"{default} ({more})" if more else default
    return found


def _word(option: str, text: str) -> str:
    if text not in _WORDS[option]:
        raise UsageError(
            f"universal: {option} is {text[:40]!r}", expected=f"one of {', '.join(_WORDS[option])}"
        )
    return text


def _number(option: str, text: str) -> int:
    low, high = _BOUNDS[option]
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and low <= int(text) <= high):
        raise UsageError(
            f"universal: {option} is {text[:40]!r}", expected=f"a whole number from {low:g} to {high:g}"
        )
    return int(text)


def _real(option: str, text: str, low: float, high: float) -> float:
    plain = text.isascii() and text.replace(".", "", 1).isdigit() and len(text) <= 17
    if not plain or not low <= float(text) <= high:
        raise UsageError(
            f"universal: {option} is {text[:40]!r}", expected=f"a number from {low:g} to {high:g}"
        )
    return float(text)
