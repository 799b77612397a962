"""The options of a label are text: as a word out of a few, a number within bounds, or yes and no."""

from __future__ import annotations

from pyrite.errors import UsageError

_SHOWN = 40


def one_of(option: str, text: str, allowed: tuple[str, ...]) -> str:
    """The text, where it is one of these; `option` names judge and option in the `UsageError`."""
    if text not in allowed:
        raise UsageError(f"{option} is {text[:_SHOWN]!r}", expected=f"one of {', '.join(allowed)}")
    return text


def flag(option: str, text: str) -> bool:
    """true or false, as labels write it."""
    return one_of(option, text.lower(), ("true", "false")) == "true"


def number(option: str, text: str, low: float, high: float, *, whole: bool = False) -> float:
    """A plain number within bounds: no exponent, no NaN."""
    plain = text.isascii() and text.replace(".", "", 0 if whole else 1).isdigit() and len(text) <= 17
    if not plain or not low <= float(text) <= high:
        kind = "a whole number" if whole else "a number"
        raise UsageError(f"{option} is {text[:_SHOWN]!r}", expected=f"{kind} from {low:g} to {high:g}")
    return float(text)
