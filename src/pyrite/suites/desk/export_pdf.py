"""Family export_pdf: export a text document as a PDF under a given name.

The letters of the PDF are compared with those of the document: a PDF of another document, or of a part of
it, is not it. The document itself stays as it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.package import Bounds, Spent
from pyrite.checks.paragraphs import Table, read_text_document, without_empty
from pyrite.checks.pdf import read_pdf
from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk import writer_common as writer
from pyrite.suites.desk.calc_common import click, key, typed
from pyrite.suites.desk.watch import READS, Compared, Watched, judge
from pyrite.suites.desk.writer_common import FILES, SIBLINGS
from pyrite.suites.family import Family, KnownState

_BOUNDS = Bounds(file_bytes=2 << 20, member_bytes=4 << 20, total_bytes=16 << 20)
_EXPORT = (161, 63)
"""Export as PDF in the toolbar, at 1024x768."""


class Params(NamedTuple):
    """One task."""

    file: str
    name: str
    """Of the PDF, in Documents."""

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"

    @property
    def target(self) -> str:
        return f"Documents/{self.name}"

    @property
    def exported(self) -> str:
        """The good end state, as LibreOffice exports it."""
        return f"{Path(self.file).stem}.exported.pdf"


PARAMS = {
    "export-pdf-harbour": Params("harbour.odt", "harbour.pdf"),
    "export-pdf-garden": Params("garden.docx", "club_meeting.pdf"),
    "export-pdf-workshop": Params("workshop.odt", "workshop_final.pdf"),
    "export-pdf-lease": Params("lease.docx", "lease_2024.pdf"),
}


def instruction(params: Params) -> str:
    return (
        f"Export {params.path} as a PDF to {params.target}. Leave {params.file} and everything else in "
        "Documents as it is."
    )


def claim(params: Params) -> str:
    return f"{params.path} is exported to {params.target}."


def script(params: Params) -> list[dict[str, Any]]:
    return [
        click(*_EXPORT),
        key("ctrl+a"),
        typed(params.name),
        key("Return"),
        {"action": "done"},
    ]


def _letters(file: str) -> str:
    """The text of one of our documents without white space."""
    texts: list[str] = []
    for block in without_empty(read_text_document(FILES / file)):
        if isinstance(block, Table):
            texts += [text for row in block.texts for text in row]
        else:
            texts.append(block.text)
    return "".join("".join(texts).split())


def compare(params: Params, before: Path | None, after: Path, spent: Spent) -> Compared:
    """A PDF beside the document that it should show."""
    document = read_pdf(after, _BOUNDS, spent)
    wanted = _letters(params.file)
    found = f"{document.pages} pages, {document.letters[:80]}"
    return Compared("right" if document.letters == wanted else "wrong", found)


def verify(params: Params, home: Path) -> Result:
    watched = Watched(
        writer.initial(params.file),
        FILES,
        params.target,
        params.file,
        lambda before, after, spent: compare(params, before, after, spent),
        ("**/*.pdf",),
    )
    return judge(watched, home)


# --- known states ------------------------------------------------------------------------------


class _Builder:
    def __init__(self, params: Params) -> None:
        self.params = params

    def good(self, home: Path) -> None:
        shutil.copyfile(FILES / self.params.exported, home / self.params.target)

    def export(self, home: Path, lines: Sequence[str], name: str = "") -> None:
        from pyrite.suites.desk.pdf_edits import write_pdf

        write_pdf(home / "Documents" / (name or self.params.name), lines)

    def shown(self, *, file: str = "", name: str = "", last: int | None = None, more: str = "") -> calc.Make:
        """A PDF of a document, of its first letters, or with more behind."""

        def make(home: Path) -> None:
            letters = _letters(file or self.params.file)[:last] + more
            self.export(home, [letters[i : i + 60] for i in range(0, len(letters), 60)], name)

        return make

    def moved(self, name: str) -> calc.Make:
        def make(home: Path) -> None:
            self.good(home)
            (home / self.params.target).rename(home / "Documents" / name)

        return make

    def renamed_document(self, home: Path) -> None:
        shutil.copyfile(home / self.params.path, home / self.params.target)

    def truncated(self, home: Path) -> None:
        data = (FILES / self.params.exported).read_bytes()
        (home / self.params.target).write_bytes(data[: len(data) // 2])


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    return (
        KnownState("another_writer", make.shown()),
        KnownState("document_resaved", calc.after(make.good, writer.edited(params.path))),
        KnownState("leftovers", calc.leftovers(params.target, make.good)),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    partial, elsewhere, beside = ("F-PARTIAL",), ("F-WRONGTARGET",), ("F-SIDEEFFECT",)
    stem = Path(params.name).stem
    first = read_text_document(FILES / params.file).paragraphs[0].text
    spoiled = writer.edited(params.path, lambda document: document.replace(first, "Changed"))
    return (
        KnownState("untouched", lambda home: None, ("F-ABORT", "F-CLAIM", "F-UNCOMMITTED")),
        KnownState("sibling_exported", make.shown(file=SIBLINGS[params.file]), partial),
        KnownState("first_half", make.shown(last=150), partial),
        KnownState("more_behind", make.shown(more="Draft"), partial),
        KnownState("document_by_that_name", make.renamed_document, partial),
        KnownState("cut_off", make.truncated, partial),
        KnownState("other_name", make.moved(f"{stem}_1.pdf"), elsewhere),
        KnownState("capital_ending", make.moved(f"{stem}.PDF.pdf"), elsewhere),
        KnownState("copy_too", calc.after(make.good, make.shown(name=f"{stem}_copy.pdf")), beside),
        KnownState("document_changed", calc.after(make.good, spoiled), beside),
        KnownState(
            "document_gone", calc.after(make.good, lambda home: (home / params.path).unlink()), beside
        ),
    )


FAMILY = Family(
    name="export_pdf",
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
