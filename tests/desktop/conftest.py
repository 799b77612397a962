"""The real desktop, or the reason why it is not there; with PYRITE_REQUIRE_DESKTOP=1 that fails."""

from __future__ import annotations

import os
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import zstandard
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

from pyrite.errors import SandboxError
from pyrite.records import Action, Launch
from pyrite.sandbox import apps
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.local import LocalBackend, LocalSession


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


@pytest.fixture
def shell(backend: LocalBackend, tmp_path: Path) -> Callable[..., AbstractContextManager[LocalSession]]:
    """A session in which an xterm runs a script, in a home that holds `files` as well."""

    @contextmanager
    def start(script: str, files: dict[str, str] | None = None, **limits: float) -> Iterator[LocalSession]:
        home = tmp_path / "home"
        home.mkdir()
        for name, text in {**(files or {}), "script.sh": script}.items():
            (home / name).write_text(text)
        with backend.start(home, SessionSpec(**limits)) as session:  # type: ignore[arg-type]
            command = ("-e", "sh", "script.sh")
            assert session.act(Action(action="launch", app="xterm", args=command), settle=False).error is None
            yield session

    return start


@pytest.fixture(scope="session")
def members() -> Callable[[Path], dict[str, bytes]]:
    """Name -> content of what an archive holds; empty for all that is no file."""

    def read(archive: Path) -> dict[str, bytes]:
        out = {}
        with zstandard.open(archive, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() else None
                out[member.name] = content.read() if content else b""
        return out

    return read


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
