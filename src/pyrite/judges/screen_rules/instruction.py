"""What a spreadsheet instruction asks for: one value in one cell of one file.

    In Documents/q3_budget.ods, sheet Q3, set cell D14 to 4500 and save the file.
    In budget.ods put 1950 into cell D14 of sheet Q3 and save
    Open people.xlsx and set B9 on sheet Staff to the text "Amsterdam".

What is not of this kind (several cells or files, a range, a formula) is not understood: `parse` gives
None, and the judge stays undecided.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

MAX_LENGTH = 4000

_FILE = re.compile(r"\.(?:ods|xlsx|fods|xlsm|xls|csv|ots)\b", re.IGNORECASE)
_BEFORE_FILE = re.compile(
    r"^.*(?:[\"'“”‘’`,;:(]|\b(?:in|of|open|file|edit|workbook|spreadsheet|document|to|from|inside|using|with)\s)",
    re.IGNORECASE | re.DOTALL,
)
_QUOTES = {'"': '"', "“": "”", "'": "'", "‘": "’", "`": "`"}
_CELL = r"\$?(?P<column>[A-Z]{1,3})\$?(?P<row>[1-9]\d{0,6})"
_SHEET_WORDS = (
    r"(?:set|put|enter|type|write|change|update|make|and|then|to|in|into|cell|is|of|for|save|has|please)"
)
_SHEETS = (
    re.compile(
        r"(?:sheet|tab)\s+(?:named|called)?\s*(?:\"([^\"]{1,64})\"|“([^”]{1,64})”|'([^']{1,64})')",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:sheet|tab)\s+(?:(?:named|called)\s+)?(?!{_SHEET_WORDS}\b)([^\s,;:.\"“'](?:[^,;:\"“\n]{{0,40}}?))"
        rf"(?=[,;:]|\.\s|\.?$|\s+{_SHEET_WORDS}\b)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:in|on|of)\s+(?:the\s+)?(?:\"([^\"]{1,64})\"|“([^”]{1,64})”|'([^']{1,64})'|"
        r"(?!the\b|this\b|that\b|active\b|first\b|second\b|last\b|current\b|a\b)(\w{1,40}))\s+(?:sheet|tab)\b",
        re.IGNORECASE,
    ),
)
_ADDRESS = re.compile(rf"(?:'([^']{{1,64}})'|\b(\w{{1,40}}))[!.]{_CELL}\b")
_END = r"(?=\s*(?:,?\s+(?:and|then)\s|,\s|;|\.\s|\.?$))"
_VALUE = (
    r"(?:the\s+)?(?:(?P<kind>text|string|word|words|number|value|amount)\b)?\s*"
    r"(?P<value>\x00\d+\x00|[^\x00]{1,200}?)"
)
_FORMS = (
    re.compile(
        rf"\b(?:set|change|update|make|edit|correct|fix)\b[^\x00]{{0,40}}?{_CELL}\b[^\x00]{{0,60}}?"
        rf"(?:\bto\s+(?:be\s+)?|=\s*|\bas\s+){_VALUE}{_END}"
    ),
    re.compile(
        rf"\b(?:put|enter|type|write|insert|place|input)\s+{_VALUE}\s+(?:in|into|to|at)\s+"
        rf"(?:the\s+)?(?:cell\s+)?{_CELL}\b"
    ),
    re.compile(
        rf"\bcell\s+{_CELL}\s+(?:should|must|shall)\s+(?:be|hold|contain|read|show|say)\s+{_VALUE}{_END}"
    ),
    re.compile(rf"{_CELL}\s*=\s*{_VALUE}{_END}"),
)
_NUMBER = re.compile(r"^[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?%?$|^[-+−]?\.\d+%?$")


@dataclass(frozen=True)
class Wanted:
    """What the task asks for."""

    file: str
    """File name without folders."""
    sheet: str | None
    column: int
    """1 is A."""
    row: int
    value: str
    kind: Literal["number", "text"]

    @property
    def cell(self) -> str:
        return f"{column_letters(self.column)}{self.row}"


def column_number(letters: str) -> int:
    """A -> 1, Z -> 26, AA -> 27."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def column_letters(number: int) -> str:
    """1 -> A, 26 -> Z, 27 -> AA."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def parse(instruction: str) -> Wanted | None:
    """Read file, sheet, cell and value; None where the instruction is not of this kind or is ambiguous."""
    if len(instruction) > MAX_LENGTH or "\x00" in instruction:
        return None
    found = _file(" ".join(instruction.split()))
    if found is None:
        return None
    file, rest = found
    sheet, rest = _sheet(rest)
    rest, quoted = _without_quotes(rest)
    for form in _FORMS:
        if match := _match(form, rest):
            value, kind = _value(match, quoted)
            if value is None or not _only_one_cell(rest, match):
                return None
            return Wanted(file, sheet, column_number(match["column"]), int(match["row"]), value, kind)
    return None


def _match(form: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Match without regard to case, save for the cell's own letters, which are capitals."""
    return re.compile(form.pattern.replace("[A-Z]", "(?-i:[A-Z])"), re.IGNORECASE).search(text)


def _file(text: str) -> tuple[str, str] | None:
    """The one file that is named, and the text with every mention of it cut out."""
    names: list[str] = []
    rest = ""
    position = 0
    for match in _FILE.finditer(text):
        before = text[position : match.start()]
        lead = _BEFORE_FILE.match(before)
        start = lead.end() if lead else 0
        path = before[start:] + match.group()
        names.append(path.replace("\\", "/").rsplit("/", 1)[-1].strip())
        rest += before[:start].rstrip("\"'“”‘’`") + " "
        position = match.end()
        if text[position : position + 1] in {'"', "'", "”", "’", "`"}:
            position += 1
    if len(set(names)) != 1 or len(names[0]) <= 4:
        return None
    return names[0], rest + text[position:]


def _sheet(text: str) -> tuple[str | None, str]:
    """The sheet that is named, if any, and the text without its mention (it may look like a cell: Q3)."""
    if match := _ADDRESS.search(text):
        name = match[1] or match[2]
        address = match.group()[-len(match["column"]) - len(match["row"]) :]
        return name, text[: match.start()] + address + text[match.end() :]
    for pattern in _SHEETS:
        if match := pattern.search(text):
            name = next(group for group in match.groups() if group is not None).strip()
            return name, f"{text[: match.start()]} {text[match.end() :]}"
    return None, text


def _without_quotes(text: str) -> tuple[str, list[str]]:
    """Replace each quoted string by a mark, so that nothing inside it is read as instruction."""
    quoted: list[str] = []

    def mark(match: re.Match[str]) -> str:
        quoted.append(match.group()[1:-1])
        return f"\x00{len(quoted) - 1}\x00"

    return re.sub(r"\"[^\"]*\"|“[^”]*”|‘[^’]*’|`[^`]*`|(?<!\w)'[^']*'(?!\w)", mark, text), quoted


def _value(match: re.Match[str], quoted: list[str]) -> tuple[str | None, Literal["number", "text"]]:
    raw = match["value"].strip()
    said = (match["kind"] or "").lower()
    is_quoted = raw.startswith("\x00")
    value = quoted[int(raw.strip("\x00"))].strip() if is_quoted else raw
    if not value or (value.startswith("=") and not is_quoted):
        return None, "text"
    as_text = said in {"text", "string", "word", "words"}
    if not as_text and _NUMBER.match(value):
        return value, "number"
    return value, "text"


def _only_one_cell(text: str, match: re.Match[str]) -> bool:
    """True unless another cell or a range is named outside of the value."""
    start, end = match.span("value")
    outside = f"{text[:start]} {text[end:]}"
    named = {(m["column"], m["row"]) for m in re.finditer(rf"\b{_CELL}\b", outside)}
    return named <= {(match["column"], match["row"])}
