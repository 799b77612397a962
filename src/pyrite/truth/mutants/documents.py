"""Near-misses of a text document (.odt, .docx): its paragraphs beside what they were before."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from defusedxml.minidom import parseString

from pyrite.checks.package import Bounds, Package, Unreadable
from pyrite.truth.mutants.lines import near_lines

ENDINGS = (".odt", ".docx")
BOUNDS = Bounds(file_bytes=8 << 20, member_bytes=16 << 20, total_bytes=64 << 20)
_PARTS = {
    ".odt": ("content.xml", ("text:p", "text:h"), "text:p"),
    ".docx": ("word/document.xml", ("w:p",), "w:p"),
}
Node: TypeAlias = Any


class Document:
    """A text document whose paragraphs can be replaced; raises `Unreadable`."""

    def __init__(self, ending: str, data: bytes) -> None:
        self._package = Package(data, BOUNDS)
        self._data = data
        self._part, tags, self._tag = _PARTS[ending]
        self._is_odt = ending == ".odt"
        self._xml = self._package.read(self._part).decode("utf-8")
        dom: Node = parseString(self._xml)
        body = dom.getElementsByTagName("office:text" if self._is_odt else "w:body")
        if not body:
            raise Unreadable("wrong_format", "it has no text")
        self._dom: Node = dom
        self._tags = tags
        self.texts = [_text(node) for node in self._paragraphs()]

    def _paragraphs(self) -> list[Node]:
        """Paragraphs in reading order; none that is inside of another."""
        found: list[Node] = []
        waiting = [self._dom.documentElement]
        while waiting:
            node = waiting.pop()
            if node.nodeName in self._tags:
                found.append(node)
            else:
                waiting.extend(reversed(node.childNodes))
        return found

    def with_texts(self, texts: Sequence[str]) -> bytes:
        """The document's bytes with other paragraphs; where a text stays, its paragraph does."""
        document = Document(".odt" if self._is_odt else ".docx", self._data)
        nodes = document._paragraphs()
        for kind, i, j, k, m in reversed(
            SequenceMatcher(None, self.texts, texts, autojunk=False).get_opcodes()
        ):
            if kind == "equal":
                continue
            for at in range(i, j):
                if at - i < m - k:
                    document._say(nodes[at], texts[k + at - i])
                else:
                    nodes[at].parentNode.removeChild(nodes[at])
            if m - k > j - i:
                document._insert(nodes, j, texts[k + j - i : m])
        return document._packed()

    def _insert(self, nodes: list[Node], at: int, texts: Sequence[str]) -> None:
        like = nodes[at - 1] if at else nodes[0]
        place = like.nextSibling if at else like
        for text in texts:
            copy = like.cloneNode(True)
            self._say(copy, text)
            like.parentNode.insertBefore(copy, place)

    def _say(self, node: Node, text: str) -> None:
        for child in list(node.childNodes):
            if child.nodeName != "w:pPr":
                node.removeChild(child)
        holder = node
        if not self._is_odt:
            run, holder = self._dom.createElement("w:r"), self._dom.createElement("w:t")
            run.appendChild(holder)
            node.appendChild(run)
        holder.appendChild(self._dom.createTextNode(text))

    def _packed(self) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(self._data)) as source, zipfile.ZipFile(out, "w") as target:
            for info in source.infolist():
                own = info.filename == self._part
                data = self._dom.toxml(encoding="utf-8") if own else self._package.read(info.filename)
                method = zipfile.ZIP_STORED if info.filename == "mimetype" else zipfile.ZIP_DEFLATED
                target.writestr(zipfile.ZipInfo(info.filename, (2024, 1, 1, 0, 0, 0)), data, method)
        return out.getvalue()


def near_documents(
    ending: str, before: bytes | None, after: bytes
) -> Iterator[tuple[str, str, str, Document, list[str]]]:
    """(operator, where, what, the good document, other paragraphs) of every near-miss."""
    good = Document(ending, after)
    old = Document(ending, before).texts if before is not None else []
    for edited in near_lines(old, good.texts):
        yield edited.operator, f"paragraph {edited.at}", edited.what, good, edited.lines


def _text(node: Node) -> str:
    """The text of a paragraph."""
    parts: list[str] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.nodeType == one.TEXT_NODE:
            parts.append(one.data)
        elif one.nodeName == "text:s":
            parts.append(" ")
        else:
            waiting.extend(reversed(one.childNodes))
    return "".join(parts)
