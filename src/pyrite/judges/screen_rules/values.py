"""When what a cell shows is what was asked for: numbers as numbers, text as text.

OCR confusions (O for 0, l or I for 1) are forgiven in numbers alone.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation

_MINUS = str.maketrans({"−": "-", "–": "-", "—": "-"})
_CURRENCY = re.compile(r"^(?:[$€£¥]|EUR|USD|GBP)\s*|\s*(?:[$€£¥]|EUR|USD|GBP)$")
_OCR_DIGITS = str.maketrans({"O": "0", "o": "0", "l": "1", "I": "1", "|": "1", "i": "1"})
_SPACES = re.compile(r"[\s\u00a0\u2009\u202f'’]+")
_SHAPES = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l"})


def readings(shown: str, *, english: bool) -> set[Decimal]:
    """Every number that a displayed text can stand for; empty if it is no number.

    `english`: the document's language is known to write 4,500.00. Otherwise "4.500" may be either.

    >>> sorted(readings("4.500", english=False))
    [Decimal('4.500'), Decimal('4500')]
    >>> readings("45OO", english=True), readings("2024-01-05", english=True)
    ({Decimal('4500')}, set())
    """
    text = unicodedata.normalize("NFKC", shown).translate(_MINUS).strip()
    if len(text) > 60 or not any(character.isdigit() for character in text):
        return set()
    text = _CURRENCY.sub("", text.removeprefix("-").strip() if text.startswith("-") else text)
    negative = shown.translate(_MINUS).strip().startswith("-") or text.startswith("-")
    text = text.removeprefix("-").strip()
    if text.startswith("(") and text.endswith(")"):
        negative, text = True, text[1:-1]
    text = _CURRENCY.sub("", text)
    percent = text.endswith("%")
    text = _SPACES.sub("", text.removesuffix("%")).translate(_OCR_DIGITS).removeprefix("+")
    scale = Decimal("0.01") if percent else Decimal(1)
    return {(-number if negative else number) * scale for number in _magnitudes(text, english=english)}


def _magnitudes(text: str, *, english: bool) -> set[Decimal]:
    """Numbers without sign: 4,500.00 always, 4.500,00 where the language is not known to be English."""
    found: set[Decimal] = set()
    separators = [(",", ".")] if english else [(",", "."), (".", ",")]
    for thousands, point in separators:
        grouped = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|\d+|(?={re.escape(point)}\d)"
        if re.fullmatch(rf"(?:{grouped})(?:{re.escape(point)}\d*)?(?:[eE][+-]?\d{{1,3}})?", text):
            try:
                found.add(Decimal(text.replace(thousands, "").replace(point, ".")))
            except InvalidOperation:
                continue
    return found


def same_number(shown: str, wanted: str, *, english: bool) -> bool:
    """True if the displayed text can stand for the wanted number (itself written as in English)."""
    return bool(readings(wanted, english=True) & readings(shown, english=english))


def rounded_number(shown: str, wanted: str, *, english: bool) -> bool:
    """True if the displayed text is the wanted number rounded: then the cell may well hold it."""
    for target in readings(wanted, english=True):
        for number in readings(shown, english=english):
            exponent = number.as_tuple().exponent
            if isinstance(exponent, int) and abs(exponent) <= 60 and number != target:
                step = Decimal(1).scaleb(exponent)
                if abs(target) < Decimal(10) ** 20 and abs(target - number) * 2 <= step:
                    return True
    return False


def trimmed(text: str) -> str:
    """Text as compared: composed, outer space off, inner runs of space as one."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def shapes(text: str) -> str:
    """Text with look-alikes made equal (0 O, 1 l I, case, spaces, underscores): equal shapes may be equal."""
    folded = unicodedata.normalize("NFC", text).casefold().translate(_SHAPES)
    return re.sub(r"[\s_]+", "", folded).replace("rn", "m")
