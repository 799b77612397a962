"""Move the relative references of a spreadsheet formula, as a shared formula of .xlsx needs it."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"]|"")*")          # a text
      |(?P<quoted>'(?:[^']|'')*'!)          # a quoted sheet name
      |(?P<word>[A-Za-z_\\][\w.\\]*[(!])    # a function, or a plain sheet name
      |(?P<cell>(?<![\w.$])(\$?)([A-Za-z]{1,3})(\$?)([1-9]\d{0,6})(?![\w.(]))
      |(?P<columns>(?<![\w.$])(\$?)([A-Za-z]{1,3}):(\$?)([A-Za-z]{1,3})(?![\w.(]))
      |(?P<rows>(?<![\w.$])(\$?)([1-9]\d{0,6}):(\$?)([1-9]\d{0,6})(?![\w.(]))
      |(?P<name>[\w.\\]+)""",
    re.VERBOSE,
)


def translate(formula: str, down: int, across: int) -> str:
    """The formula as it reads `down` rows below and `across` columns right of where it stands.

    >>> translate('SUM(B2:$B$9)*A1&"A1"', 1, 2)
    'SUM(D3:$B$9)*C2&"A1"'
    """

    def moved(match: re.Match[str]) -> str:
        group = match.lastgroup
        if match["cell"] is not None:
            fixed_column, letters, fixed_row, digits = match.group(5, 6, 7, 8)
            return _letters(fixed_column, letters, across) + _digits(fixed_row, digits, down)
        if match["columns"] is not None:
            one, two = match.group(10, 11), match.group(12, 13)
            return f"{_letters(one[0], one[1], across)}:{_letters(two[0], two[1], across)}"
        if match["rows"] is not None:
            one, two = match.group(15, 16), match.group(17, 18)
            return f"{_digits(one[0], one[1], down)}:{_digits(two[0], two[1], down)}"
        assert group is not None
        return match[0]

    return _TOKEN.sub(moved, formula)


def _letters(fixed: str, letters: str, across: int) -> str:
    if fixed:
        return fixed + letters
    column = 0
    for letter in letters.upper():
        column = column * 26 + ord(letter) - 64
    column += across
    if column < 1:
        return "#REF!"
    moved = ""
    while column:
        column, rest = divmod(column - 1, 26)
        moved = chr(65 + rest) + moved
    return moved


def _digits(fixed: str, digits: str, down: int) -> str:
    row = int(digits) + (0 if fixed else down)
    return fixed + str(row) if row >= 1 else "#REF!"
