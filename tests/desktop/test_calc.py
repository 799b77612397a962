"""Real LibreOffice Calc: what the screen, the facts and the archive say of saved and unsaved work."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from odf.opendocument import load
from odf.table import TableCell, TableRow
from PIL import Image

from pyrite.records import Action, Launch
from pyrite.sandbox.backend import EndState, SessionSpec
from pyrite.sandbox.local import LocalBackend

pytestmark = pytest.mark.desktop

STATUS_BAR_ICON = (605, 748, 626, 767)
"""Where LibreOffice shows whether the document has unsaved changes, at 1024x768."""
NAME_BOX = (67, 141)


@dataclass
class Ending:
    screen: Image.Image
    end: EndState
    before: bytes
    timed_out: bool


def record(backend: LocalBackend, home: Path, archive: Path, *, save: bool) -> Ending:
    """Type 4500 into D14 of Documents/budget.ods, with or without saving."""
    before = (home / "Documents" / "budget.ods").read_bytes()
    spec = SessionSpec(open=Launch(app="calc", args=("Documents/budget.ods",)))
    with backend.start(home, spec) as session:
        timed_out = session.screenshot().timed_out
        actions = [
            Action(action="click", x=NAME_BOX[0], y=NAME_BOX[1]),
            Action(action="type", text="D14\n"),
            Action(action="type", text="4500\n"),
            Action(action="move", x=700, y=500),
        ]
        if save:
            actions.append(Action(action="key", keys="ctrl+s"))
        for action in actions:
            seen = session.act(action)
            assert seen.error is None
            timed_out = timed_out or seen.timed_out
        end = session.finish(archive)
    return Ending(seen.screen, end, before, timed_out)


@pytest.fixture(scope="module")
def endings(
    backend: LocalBackend, calc_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Ending]:
    folder = tmp_path_factory.mktemp("endings")
    return {
        name: record(backend, calc_home, folder / f"{name}.tar.zst", save=name == "saved")
        for name in ("saved", "unsaved")
    }


def reddish(screen: Image.Image) -> int:
    """Pixels of the status bar's icon that are clearly red."""
    pixels = np.asarray(screen.crop(STATUS_BAR_ICON)).astype(int)
    return int(((pixels[..., 0] - pixels[..., 1:].max(axis=-1)) > 80).sum())


def cell(archive: Path, row: int, column: int) -> str | None:
    """Value of a cell of Documents/budget.ods in an archive, read by odfpy; rows and columns from 0."""
    with zstandard.open(archive, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            if member.name == "Documents/budget.ods":
                content = tar.extractfile(member)
                assert content is not None
                document = load(io.BytesIO(content.read()))
                break
    rows = repeated(document.getElementsByType(TableRow), "numberrowsrepeated")
    if row >= len(rows):
        return None
    cells = repeated(rows[row].getElementsByType(TableCell), "numbercolumnsrepeated")
    return cells[column].getAttribute("value") if column < len(cells) else None


def repeated(elements: list[Any], attribute: str) -> list[Any]:
    """Elements as often as they say that they stand for."""
    return [e for e in elements for _ in range(int(e.getAttribute(attribute) or 1))]


def test_save_icon_is_red_only_without_saving(endings: dict[str, Ending]) -> None:
    assert reddish(endings["saved"].screen) == 0
    assert reddish(endings["unsaved"].screen) > 20


def test_saved_and_unsaved_look_almost_the_same(endings: dict[str, Ending]) -> None:
    saved, unsaved = (np.asarray(endings[n].screen) for n in ("saved", "unsaved"))
    differing = int((saved != unsaved).any(axis=-1).sum())
    assert 0 < differing < 1000


def test_facts_tell_unsaved_work(endings: dict[str, Ending]) -> None:
    assert endings["saved"].end.facts.unsaved is False
    assert endings["unsaved"].end.facts.unsaved is True


def test_facts_name_windows_and_processes(endings: dict[str, Ending]) -> None:
    facts = endings["unsaved"].end.facts
    assert [w.title for w in facts.windows] == ["budget.ods - LibreOffice Calc"]
    assert "soffice.bin" in {Path(p.exe).name for p in facts.processes}
    assert facts.ports == ()


def test_archive_holds_what_was_persisted(endings: dict[str, Ending]) -> None:
    assert cell(endings["saved"].end.archive, 13, 3) == "4500"
    assert cell(endings["unsaved"].end.archive, 13, 3) is None
    assert not any(e.timed_out for e in endings.values())


def test_given_home_is_not_written_to(endings: dict[str, Ending], calc_home: Path) -> None:
    assert (calc_home / "Documents" / "budget.ods").read_bytes() == endings["saved"].before
    assert sorted(p.name for p in calc_home.rglob("*")) == ["Documents", "budget.ods"]
