"""The real desktop, or the reason why it is not there; with PYRITE_REQUIRE_DESKTOP=1 that fails."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

from pyrite.errors import SandboxError
from pyrite.records import Launch
from pyrite.sandbox import apps
from pyrite.sandbox.local import LocalBackend


@pytest.fixture(scope="session")
def backend() -> LocalBackend:
    try:
        for name in ("calc", "xterm"):
            wrong = apps.command(Launch(app=name))
            if isinstance(wrong, str):
                raise SandboxError(wrong, next="make desktop")
        return LocalBackend()
    except SandboxError as exc:
        if os.environ.get("PYRITE_REQUIRE_DESKTOP") == "1":
            raise
        pytest.skip(f"no desktop here: {exc.what} (next: {exc.next})")


@pytest.fixture(scope="session")
def calc_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with Documents/budget.ods: a sheet named Q3, five rows of three numbers."""
    home = tmp_path_factory.mktemp("home")
    (home / "Documents").mkdir()
    document = OpenDocumentSpreadsheet()
    table = Table(name="Q3")
    for row_number in range(5):
        row = TableRow()
        for column in range(3):
            cell = TableCell(valuetype="float", value=str(row_number * column))
            cell.addElement(P(text=str(row_number * column)))
            row.addElement(cell)
        table.addElement(row)
    document.spreadsheet.addElement(table)
    document.save(str(home / "Documents" / "budget.ods"))
    return home


@pytest.fixture(scope="session")
def eventually() -> Callable[[Callable[[], bool], float], bool]:
    """Wait for a condition, at most so many seconds."""

    def wait(condition: Callable[[], bool], limit_s: float) -> bool:
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    return wait
