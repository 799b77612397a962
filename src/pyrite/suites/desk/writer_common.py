"""What the families on text documents share: blocks side by side, and known states beside the good one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from pyrite.checks.package import Spent
from pyrite.checks.paragraphs import (
    Paragraph,
    Table,
    TextDocument,
    describe,
    read_text_document,
    without_empty,
)
from pyrite.suites.desk.calc_common import NOTES, Make, key, typed
from pyrite.suites.desk.watch import BOUNDS

FILES = Path(__file__).with_name("files")
TEXTS = ("**/*.odt", "**/*.docx")
SIBLINGS = {
    "harbour.odt": "harbour_2022.odt",
    "garden.docx": "garden_draft.docx",
    "workshop.odt": "workshop_2023.odt",
    "lease.docx": "lease_old.docx",
}
Blocks = Sequence[Paragraph | Table]
MAX_BLOCKS = 2000


def initial(file: str) -> dict[str, str]:
    """The document, its sibling and a note."""
    sibling = SIBLINGS[file]
    return {f"Documents/{file}": file, f"Documents/{sibling}": sibling, NOTES: "notes.txt"}


def find(text: str) -> list[dict[str, Any]]:
    """Select the next place of a text by the find bar."""
    return [key("ctrl+Home"), key("ctrl+f"), key("ctrl+a"), typed(text), key("Return"), key("Escape")]


def both(before: Path, after: Path, spent: Spent) -> tuple[TextDocument, TextDocument]:
    """Two documents: ours, and the agent's within bounds; raises `Unreadable`."""
    return read_text_document(before), read_text_document(after, BOUNDS, spent)


def blocks(document: TextDocument) -> Blocks:
    """What is there to see, the first two thousand blocks."""
    return without_empty(document)[:MAX_BLOCKS]


def text_of(block: Paragraph | Table) -> str:
    return str(block.texts) if isinstance(block, Table) else block.text


def pairs(old: Blocks, new: Blocks) -> list[tuple[Paragraph | Table | None, Paragraph | Table | None]]:
    """Blocks side by side, matched by their text."""
    found: list[tuple[Paragraph | Table | None, Paragraph | Table | None]] = []
    matcher = SequenceMatcher(None, [text_of(b) for b in old], [text_of(b) for b in new], autojunk=False)
    for _, i, j, k, m in matcher.get_opcodes():
        length = max(j - i, m - k)
        left = [*old[i:j], *[None] * (length - (j - i))]
        right = [*new[k:m], *[None] * (length - (m - k))]
        found += zip(left, right, strict=True)
    return found


def same(one: Paragraph | Table | None, other: Paragraph | Table | None) -> bool:
    """Equal in text and look, the cells of tables too."""
    return type(one) is type(other) and one == other


def told(old: Paragraph | Table | None, new: Paragraph | Table | None) -> str:
    return f"{describe(old)[:80]} -> {describe(new)[:80]}"


# --- known states ------------------------------------------------------------------------------


def edited(path: str, *changes: Callable[[Any], None]) -> Make:
    """A state in which a document has been changed and saved."""

    def make(home: Path) -> None:
        from pyrite.suites.desk.text_edits import open_text

        document = open_text(home / path)
        for change in changes:
            change(document)
        document.save(home / path)

    return make
