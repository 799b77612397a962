"""Family writer_left_open: replace a word in a text document and leave it open; the verifier exports it.

The same documents and the same reading as writer_replace, but the work may be in the application only. The
verifier saves what is open under a name of its own and reads that, so the agent's file stays as it was left:
whatever is on disk under its name is superseded, and need only be a document. Where there is no export (the
state that the agent left, or steps that could not be done) the document on disk is read as in writer_replace.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from pyrite.checks.package import Spent
from pyrite.checks.paragraphs import read_text_document
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.desk import calc_common as calc
from pyrite.suites.desk import writer_common as writer
from pyrite.suites.desk import writer_replace as base
from pyrite.suites.desk.watch import BOUNDS, READS, Compared, Watched, judge
from pyrite.suites.desk.writer_common import FILES, SIBLINGS, TEXTS
from pyrite.suites.desk.writer_replace import Params
from pyrite.suites.family import Family, KnownState

PARAMS = {
    "writer-left-open-ships": Params("harbour.odt", "ships", "vessels"),
    "writer-left-open-workshop": Params("workshop.odt", "workshop", "course", "Workshop"),
    "writer-left-open-lease": Params("lease.docx", "lease", "contract", "Lease"),
}
STEM = "checked"
"""Of the verifier's own file: no agent is told of it, and no initial file starts like it."""
SAVE_LIMIT_S = 30.0
"""Longest wait for the export: it takes a second or two, a busy machine many times that."""


def exported(params: Params) -> str:
    """Path of the verifier's own file."""
    return f"Documents/{STEM}{Path(params.file).suffix}"


def instruction(params: Params) -> str:
    saved = base.instruction(params)
    return saved.replace(" and save the file.", ".") + " Leave the document open; you need not save it."


def claim(params: Params) -> str:
    return f'Every "{params.old}" in {params.path} is now "{params.new}"; the document is open.'


def script(params: Params) -> list[dict[str, Any]]:
    """As in writer_replace, without saving."""
    saving = len(calc.save(params.file))
    return [*base.script(params)[:-saving], {"action": "done"}]


def act(params: Params) -> tuple[dict[str, Any], ...]:
    """Save as another file, letter by letter in the dialog.

    A file of that name is removed before, so that nothing is asked about it and none is taken for the export.
    Word's format is asked about, and kept, unless the agent has saved: then the export is done by now, and
    Return goes into the open document, where it is never read.
    """
    own = exported(params)
    title = f"{Path(own).name} - LibreOffice Writer"
    dialog = {"title": "Save", "match": "exact"}
    named = [
        {"step": "key", "keys": keys, **dialog, "timeout_s": 5.0} for keys in ("ctrl+a", *STEM, "Delete")
    ]
    keeping: list[dict[str, Any]] = []
    if params.file.endswith(".docx"):
        asked = {"title": rf"^(Confirm File Format|{re.escape(title)})$", "match": "regex"}
        keeping = [
            {"step": "wait_for", **asked, "timeout_s": SAVE_LIMIT_S},
            {"step": "key", "keys": "Return", **asked},
        ]
    return (
        {"step": "activate_window", "title": f"{params.file} - LibreOffice Writer", "match": "exact"},
        {"step": "execute", "argv": ("/usr/bin/rm", "-rf", "--", own), "timeout_s": 10.0},
        {"step": "key", "keys": "ctrl+shift+s"},
        {"step": "wait_for", **dialog, "timeout_s": 20.0},
        *named,
        {"step": "key", "keys": "Return", **dialog},
        *keeping,
        {"step": "wait_for", "file": own, "timeout_s": SAVE_LIMIT_S},
        {"step": "wait_for", "title": title, "match": "exact", "timeout_s": SAVE_LIMIT_S},
    )


# --- the verifier ------------------------------------------------------------------------------


def verify(params: Params, home: Path) -> Result:
    """What the export shows; without one, what writer_replace makes of the home."""
    place = home / exported(params)
    if not place.is_symlink() and not place.exists():
        return base.verify(params, home)
    document = FILES / params.file

    def compare(before: Path | None, after: Path, spent: Spent) -> Compared:
        return base.compare(params, document, after, spent)

    def others(before: Path, after: Path, spent: Spent) -> Compared:
        if before.name != params.file:
            return base.compare(params, before, after, spent)
        read_text_document(after, BOUNDS, spent)
        return Compared()

    watched = Watched(
        writer.initial(params.file),
        FILES,
        exported(params),
        (params.old, params.new),
        compare,
        TEXTS,
        like=params.path,
        others=others,
    )
    found = judge(watched, home)
    return found._replace(diagnostics={**found.diagnostics, "file": params.path, "read": watched.target})


# --- known states ------------------------------------------------------------------------------


class _Builder:
    """Makes known states of one task."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.own = exported(params)
        self.sibling = f"Documents/{SIBLINGS[params.file]}"
        self.good = self.export(base.replaced(params))
        self.saved = writer.edited(params.path, base.replaced(params))

    def export(self, *changes: Any, of: str = "") -> calc.Make:
        """The document that was open, changed, as the verifier exports it."""

        def make(home: Path) -> None:
            from pyrite.suites.desk.text_edits import open_text

            document = open_text(home / (of or self.params.path))
            for change in changes:
                change(document)
            document.save(home / self.own)

        return make

    def also(self, *changes: calc.Make) -> calc.Make:
        return calc.after(self.good, *changes)

    def truncated(self, home: Path) -> None:
        self.good(home)
        data = (home / self.own).read_bytes()
        (home / self.own).write_bytes(data[: len(data) // 2])

    def note(self, home: Path) -> None:
        with (home / calc.NOTES).open("a", encoding="utf-8") as text:
            text.write("done\n")

    def copy(self, home: Path) -> None:
        """Saved by the agent under another name besides."""
        place = Path(self.params.path)
        shutil.copyfile(home / self.own, home / place.with_name(f"{place.stem}_new{place.suffix}"))


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    first = base.replaced(params, most=1)
    return (
        KnownState("saved_too", calc.after(make.saved, make.export())),
        KnownState("saved_only", make.saved),
        KnownState("saved_half_way", make.also(writer.edited(params.path, first))),
        KnownState("leftovers", calc.leftovers(make.own, make.good)),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    partial, beside = ("F-PARTIAL",), ("F-SIDEEFFECT",)
    first = read_text_document(FILES / params.file).paragraphs[0].text
    right = base.replaced(params)
    loose = base.replaced(params, loose=True)
    in_sibling = writer.edited(make.sibling, right)
    return (
        KnownState("untouched", lambda home: None, NOTHING_PERSISTED),
        KnownState("nothing_replaced", make.export(), NOTHING_PERSISTED),
        KnownState("first_only", make.export(base.replaced(params, most=1)), partial),
        KnownState("wrong_case", make.export(base.replaced(params, params.new.capitalize())), partial),
        KnownState("longer", make.export(base.replaced(params, f"{params.new}s")), partial),
        *([KnownState("look_alikes_too", make.export(loose), beside)] if params.kept else []),
        KnownState("removed", make.export(base.replaced(params, " ")), partial),
        KnownState("title_changed", make.export(right, lambda d: d.replace(first, f"{first} 2")), beside),
        KnownState("made_large", make.export(right, lambda d: d.look(first, size=30)), beside),
        KnownState("sibling", calc.after(make.export(), in_sibling), ("F-WRONGAPP",)),
        KnownState("sibling_exported", make.export(right, of=make.sibling), partial),
        KnownState("sibling_too", make.also(in_sibling), beside),
        KnownState("sibling_gone", make.also(lambda home: (home / make.sibling).unlink()), beside),
        KnownState("notes_changed", make.also(make.note), beside),
        KnownState("copy_too", make.also(make.copy), beside),
        KnownState("document_gone", make.also(lambda home: (home / params.path).unlink()), beside),
        KnownState("document_broken", make.also(lambda home: _scribble(home / params.path)), beside),
        KnownState("cut_off", make.truncated, partial),
    )


def _scribble(path: Path) -> None:
    path.write_text("done\n")


FAMILY = Family(
    name="writer_left_open",
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
    act=act,
    truth_from="acted",
)
