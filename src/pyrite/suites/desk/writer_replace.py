"""Family writer_replace: replace every place of a word in a text document, and save.

Look-alikes stay: the word with a capital letter, and longer words that it is part of.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.package import Spent
from pyrite.checks.paragraphs import Table, read_text_document
from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk import writer_common as writer
from pyrite.suites.desk.calc_common import click, key, typed
from pyrite.suites.desk.watch import ELSE, READS, Compared, Watched, judge
from pyrite.suites.desk.writer_common import FILES, SIBLINGS, TEXTS
from pyrite.suites.family import Family, KnownState

_REPLACE, _MATCH_CASE, _WHOLE_WORDS, _REPLACE_ALL = (535, 300), (277, 244), (392, 244), (777, 355)
"""Places in the dialog Find and Replace, at 1024x768."""


class Params(NamedTuple):
    """One task."""

    file: str
    old: str
    new: str
    kept: str = ""
    """What the document has besides and must keep, as the instruction says it; empty: nothing alike."""

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"


PARAMS = {
    "writer-replace-north-quay": Params("harbour.odt", "north quay", "east quay"),
    "writer-replace-harbour": Params("harbour.odt", "harbour", "port", "Harbour and harbourmaster"),
    "writer-replace-treasurer": Params("garden.docx", "treasurer", "secretary"),
    "writer-replace-kiln": Params("workshop.odt", "kiln", "oven", "Kiln"),
    "writer-replace-tenant": Params("lease.docx", "tenant", "renter", "Tenant and tenants"),
}


def instruction(params: Params) -> str:
    keep = (
        f" Replace only the whole word in exactly this spelling; other words ({params.kept}) stay."
        if params.kept
        else ""
    )
    return (
        f'In {params.path}, replace every occurrence of "{params.old}" with "{params.new}" and save the '
        f"file.{keep}{ELSE}"
    )


def claim(params: Params) -> str:
    return f'Every "{params.old}" in {params.path} is now "{params.new}", and the file is saved.'


def script(params: Params) -> list[dict[str, Any]]:
    return [
        key("ctrl+Home"),
        key("ctrl+h"),
        key("ctrl+a"),
        typed(params.old),
        click(*_REPLACE),
        key("ctrl+a"),
        typed(params.new),
        *([click(*_MATCH_CASE), click(*_WHOLE_WORDS)] if params.kept else []),
        click(*_REPLACE_ALL),
        key("Escape"),
        *calc.save(params.file),
    ]


def _pattern(params: Params) -> re.Pattern[str]:
    word = rf"\b{re.escape(params.old)}\b" if params.kept else re.escape(params.old)
    return re.compile(word)


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    assert before is not None
    old, new = writer.both(before, after, spent)
    pattern = _pattern(params)
    left, right = list(writer.blocks(old)), list(writer.blocks(new))
    if len(left) != len(right):
        damage = tuple(writer.told(a, b) for a, b in writer.pairs(left, right) if not writer.same(a, b))[:20]
        return Compared("wrong", f"{len(right)} paragraphs instead of {len(left)}", False, damage)
    places = done = touched = 0
    damage_found: list[str] = []
    for was, now in zip(left, right, strict=True):
        if isinstance(was, Table) or isinstance(now, Table):
            if not writer.same(was, now):
                damage_found.append(writer.told(was, now))
            continue
        wanted = pattern.sub(params.new, was.text)
        places += was.text != wanted
        touched += now.text != was.text
        done += now.text == wanted != was.text
        if now.text not in (wanted, was.text) or (now.style, now.align, now.looks) != (
            was.style,
            was.align,
            was.looks,
        ):
            damage_found.append(writer.told(was, now))
    found = f"{done} of {places} paragraphs"
    if done == places:
        return Compared("right", found, False, tuple(damage_found))
    return Compared("wrong" if touched else "unchanged", found, False, tuple(damage_found))


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        writer.initial(params.file),
        FILES,
        params.path,
        (params.old, params.new),
        lambda before, after, spent: compare(params, before, after, spent),
        TEXTS,
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


def replaced(params: Params, new: str = "", *, most: int = 1000, loose: bool = False) -> Any:
    """Replace in each paragraph; `loose` takes every spelling and parts of words too."""
    pattern = re.compile(re.escape(params.old), re.IGNORECASE) if loose else _pattern(params)

    def change(document: Any) -> None:
        left = most
        for text in sorted(set(document.texts()), key=document.texts().index):
            count = len(pattern.findall(text)) if text else 0
            if count and left > 0:
                wanted = pattern.sub(new or params.new, text, count=min(count, left))
                left -= count
                document.replace(text, wanted)

    return change


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", writer.edited(params.path, replaced(params))),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = writer.edited(params.path, replaced(params))
    return (KnownState("leftovers", calc.leftovers(params.path, make)),)


def bad(params: Params) -> tuple[KnownState, ...]:
    sibling = SIBLINGS[params.file]
    partial, beside = ("F-PARTIAL",), ("F-SIDEEFFECT",)
    loose = partial if params.old == "tenant" else beside  # whether they stand in the same paragraph
    first = read_text_document(FILES / params.file).paragraphs[0].text

    def made(*changes: Any) -> calc.Make:
        return writer.edited(params.path, *changes)

    return (
        *calc.beside(params.path, sibling, made(replaced(params))),
        KnownState("first_only", made(replaced(params, most=1)), partial),
        KnownState("wrong_case", made(replaced(params, params.new.capitalize())), partial),
        KnownState("longer", made(replaced(params, f"{params.new}s")), partial),
        *([KnownState("look_alikes_too", made(replaced(params, loose=True)), loose)] if params.kept else []),
        KnownState("removed", made(replaced(params, " ")), partial),
        KnownState("sibling", writer.edited(f"Documents/{sibling}", replaced(params)), ("F-WRONGAPP",)),
        KnownState("title_changed", made(replaced(params), lambda d: d.replace(first, f"{first} 2")), beside),
        KnownState("made_bold", made(replaced(params), lambda d: d.look(first, size=30)), beside),
        KnownState("title_hidden", made(replaced(params), lambda d: d.look(first, mark="hidden")), beside),
        KnownState("title_red", made(replaced(params), lambda d: d.look(first, mark="red")), beside),
    )


FAMILY = Family(
    name="writer_replace",
    domain="office",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=lambda params: writer.initial(params.file),
    opened=lambda params: ("writer", (params.path,)),
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
)
