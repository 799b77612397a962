"""Whether words are English: of no other language are quotations, conditions and denials known here."""

from __future__ import annotations

import re
import unicodedata

_COMMON = """
a about above after again against agent all already also although an and another answer any appears are as
assessment at based be because been before being below best but button by can case cell certainly clear
clearly complete completed conclude conclusion confidence confirmed contains correct correctly could
criteria current data dialog did display displays do document does done each end evaluation evidence exactly
expected fail failed failure field file final finally first folder following for found from given had has
have he here hmm how however i if in indicates into is it its json judge judgement judgment just last line
looks made me menu message missing must my name new no not nothing now of ok okay on one only or other our
out output overall page present provided question reason reasoning response result row saved says screen
screens screenshot screenshots see seems set sheet should show showing shown shows so state status still
success successful successfully summary sure task than that the their them then there therefore these they
think this those thus title to true uncertain unsaved up value verdict verify was we well were what when
where which while will window with would yes you your
asterisk bare closed contain entered exist exists held holds opened typed
"""
_KNOWN = frozenset(_COMMON.split())
"""Words of English as it stands beside a verdict."""
_NAMES = frozenset(
    (
        "soffice",
        "libreoffice",
        "calc",
        "writer",
        "impress",
        "firefox",
        "chromium",
        "mousepad",
        "thunar",
        "gimp",
    )
)
"""Of programs, the same in all languages: they say nothing of one."""
_INSIDE = re.compile(r"\d|[^\W_][_=./\\@][^\W_]")
"""What stands in cells, files, paths and values, and in no word: `D14=4500`, `q3_budget.ods`."""
_WORD = re.compile(r"[^\W\d_]{2,}|(?<![^\W_])[ai](?![^\W_])", re.IGNORECASE)


def foreign(text: str) -> bool:
    """Whether words are in no language whose quotations and conditions are known: English alone is.

    >>> foreign("Das Terminal zeigt"), foreign("The terminal shows"), foreign("\\u7ec8\\u7aef")
    (True, False, True)
    """
    words = [found[0].casefold() for found in _WORD.finditer(text)]
    if any(not (char.isascii() or "LATIN" in unicodedata.name(char, "")) for one in words for char in one):
        return True
    prose = " ".join(token for token in text.split() if _INSIDE.search(token) is None)
    plain = [one for found in _WORD.finditer(prose) if (one := found[0].casefold()) not in _NAMES]
    return bool(plain) and sum(one in _KNOWN for one in plain) * 4 < len(plain)
