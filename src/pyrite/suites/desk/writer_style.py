"""Family writer_style: give one paragraph of a text document another look or style, and save.

What counts is how the paragraph looks once all styles are applied, or the name of its style where the task
names one; all other paragraphs keep their text and look.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.package import Spent
from pyrite.checks.paragraphs import Paragraph, Table, describe
from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk import writer_common as writer
from pyrite.suites.desk.calc_common import click, key, typed
from pyrite.suites.desk.watch import ELSE, READS, Compared, Watched, judge
from pyrite.suites.desk.writer_common import FILES, SIBLINGS, TEXTS
from pyrite.suites.family import Family, KnownState

_SIZE_BOX = (553, 101)
"""Font Size in the toolbar, at 1024x768."""


class Params(NamedTuple):
    """One task; exactly one of size, style, bold and align is asked for."""

    file: str
    text: str
    """The paragraph, whole."""
    other: str
    """Another paragraph of the same kind."""
    size: float = 0
    style: str = ""
    bold: bool = False
    align: str = ""

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"

    @property
    def wanted(self) -> str:
        if self.size:
            return f"{self.size:g} pt"
        if self.style:
            return self.style
        return "bold" if self.bold else self.align


PARAMS = {
    "writer-style-harbour-title-size": Params("harbour.odt", "Harbour Report 2023", "Traffic", size=18),
    "writer-style-lease-title-size": Params("lease.docx", "Storage Lease", "Parties", size=32),
    "writer-style-garden-duties": Params("garden.docx", "Duties", "Decisions", style="Heading 2"),
    "writer-style-harbour-repairs": Params("harbour.odt", "Repairs", "Outlook", style="Heading 2"),
    "writer-style-workshop-lunch": Params(
        "workshop.odt",
        "Lunch is served at noon in the yard.",
        "Write to the workshop office. The Kiln House is behind the mill.",
        bold=True,
    ),
    "writer-style-lease-deposit": Params("lease.docx", "Deposit", "Terms", align="center"),
}


def instruction(params: Params) -> str:
    what = f'the paragraph "{params.text}"'
    if params.size:
        how = f"set the font size of {what} to {params.size:g} pt"
    elif params.style:
        how = f'give {what} the paragraph style "{params.style}"'
    elif params.bold:
        how = f"make {what} bold"
    else:
        how = f"centre {what} (align it {params.align})"
    return f"In {params.path}, {how} and save the file.{ELSE}"


def claim(params: Params) -> str:
    return f'"{params.text}" in {params.path} now has {params.wanted} and the file is saved.'


def script(params: Params) -> list[dict[str, Any]]:
    steps = [*writer.find(params.text), key("Home"), key("shift+End")]
    if params.size:
        steps += [click(*_SIZE_BOX), key("ctrl+a"), typed(f"{params.size:g}"), key("Return")]
    elif params.style:
        steps.append(key(f"ctrl+{params.style[-1]}"))
    else:
        steps.append(key("ctrl+b" if params.bold else "ctrl+e"))
    return [*steps, *calc.save(params.file)]


def _has(params: Params, paragraph: Paragraph) -> bool:
    looks = paragraph.looks
    if params.size:
        return bool(looks) and all(look.size == params.size for look in looks)
    if params.style:
        return paragraph.style == params.style.lower()
    if params.bold:
        return bool(looks) and all(look.bold for look in looks)
    return paragraph.align == params.align


def _rest(params: Params, paragraph: Paragraph) -> Any:
    """What must stay, of a paragraph that has what is asked for."""
    if params.style:
        return paragraph.text, paragraph.align, {look.marks for look in paragraph.looks}
    runs = [
        (
            run.text,
            run.look._replace(size=None if params.size else run.look.size, bold=params.bold or run.look.bold),
        )
        for run in paragraph.runs
    ]
    merged: list[tuple[str, Any]] = []
    for text, look in runs:
        if merged and merged[-1][1] == look:
            merged[-1] = (merged[-1][0] + text, look)
        else:
            merged.append((text, look))
    return merged, paragraph.style, "" if params.align else paragraph.align


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    assert before is not None
    old, new = writer.both(before, after, spent)
    target, found, elsewhere = "unchanged", "no such paragraph", False
    damage: list[str] = []
    for was, now in writer.pairs(writer.blocks(old), writer.blocks(new)):
        if isinstance(was, Paragraph) and was.text == params.text:
            found = describe(now)
            target, fault = _of_target(params, was, now)
            damage += [fault] if fault else []
        elif not writer.same(was, now):
            damage.append(writer.told(was, now))
            if isinstance(now, Paragraph) and isinstance(was, Paragraph):
                elsewhere = elsewhere or (_has(params, now) and not _has(params, was))
    return Compared(target, found, elsewhere, tuple(damage))


def _of_target(params: Params, was: Paragraph, now: Paragraph | Table | None) -> tuple[str, str]:
    """What became of the paragraph itself, and what else is wrong with it."""
    if not isinstance(now, Paragraph):
        return "unchanged", f"the paragraph is {describe(now)[:80]}"
    if _has(params, now) and _rest(params, now) == _rest(params, was):
        return "right", ""
    if _has(params, now) and now.text == was.text:
        return "right", writer.told(was, now)
    return ("unchanged" if now == was else "wrong"), ""


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        writer.initial(params.file),
        FILES,
        params.path,
        params.wanted,
        lambda before, after, spent: compare(params, before, after, spent),
        TEXTS,
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


def _apply(params: Params, text: str = "", **how: Any) -> Any:
    """The change on a paragraph, its own by default."""

    def change(document: Any) -> None:
        place = text or params.text
        if not how and params.style:
            document.style(place, params.style)
        elif "style" in how:
            document.style(place, how["style"])
        else:
            document.look(place, **(how or {"size": params.size, "bold": params.bold, "align": params.align}))

    return change


def _near(params: Params) -> list[tuple[str, Any]]:
    """Nearly what is asked for."""
    if params.size:
        return [
            ("one_point_less", _apply(params, size=params.size - 1)),
            ("half_the_title", _apply(params, size=params.size, part=5)),
        ]
    if params.style:
        return [
            ("style_title", _apply(params, style="Title")),
            ("looks_like_it", _apply(params, size=16.1 if params.file.endswith(".odt") else 16, bold=True)),
        ]
    if params.bold:
        return [
            ("half_of_it", _apply(params, bold=True, part=12)),
            ("larger_instead", _apply(params, size=14)),
        ]
    return [("to_the_right", _apply(params, align="right")), ("bold_instead", _apply(params, size=20))]


def _marks(params: Params) -> list[tuple[str, str]]:
    """Looks besides the one that is asked for."""
    of_target = [(params.text, mark) for mark in ("struck", "red", "hidden")]
    return [*of_target, *((params.other, mark) for mark in ("hidden", "red", "marked", "underlined"))]


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", writer.edited(params.path, _apply(params))),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = writer.edited(params.path, _apply(params))
    return (KnownState("leftovers", calc.leftovers(params.path, make)),)


def bad(params: Params) -> tuple[KnownState, ...]:
    right = writer.edited(params.path, _apply(params))
    sibling = SIBLINGS[params.file]
    twin = params.text.replace("2023", "2022")
    partial, elsewhere, beside = ("F-PARTIAL",), ("F-WRONGTARGET",), ("F-SIDEEFFECT",)
    both = writer.edited(params.path, _apply(params), _apply(params, params.other))
    retyped = writer.edited(params.path, _apply(params), lambda d: d.replace(params.other, "Something else"))
    removed = writer.edited(params.path, _apply(params), lambda d: d.remove(params.other))
    return (
        *calc.beside(params.path, sibling, right),
        *(KnownState(name, writer.edited(params.path, change), partial) for name, change in _near(params)),
        KnownState("other_paragraph", writer.edited(params.path, _apply(params, params.other)), elsewhere),
        KnownState("sibling", writer.edited(f"Documents/{sibling}", _apply(params, twin)), ("F-WRONGAPP",)),
        KnownState("other_paragraph_too", both, beside),
        *(
            KnownState(
                f"{'target' if place == params.text else 'other'}_{mark}",
                writer.edited(params.path, _apply(params), _apply(params, place, mark=mark)),
                beside,
            )
            for place, mark in _marks(params)
        ),
        KnownState("text_changed", retyped, beside),
        KnownState("paragraph_removed", removed, beside),
    )


FAMILY = Family(
    name="writer_style",
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
