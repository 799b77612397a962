"""File manager, sqlite3 and git on the real desktop: what looks done and is not, beside what is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.errors import SandboxError
from pyrite.records import Action, Launch
from pyrite.sandbox import apps
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.local import LocalBackend
from pyrite.suites.desk import files_mode, files_rename, sqlite_change
from pyrite.suites.family import Family
from pyrite.suites.run import build
from pyrite.tasks import archive

pytestmark = pytest.mark.desktop


def ended(
    backend: LocalBackend, family: Family, task_id: str, actions: list[dict[str, Any]], folder: Path
) -> tuple[Result, bool | None]:
    """What the verifier says of the end state after these actions, and whether work was unsaved."""
    params = family.params[task_id]
    build(family, task_id, folder, ["initial"])
    app, args = family.opened(params)
    wrong = apps.command(Launch(app=app, args=args))
    if isinstance(wrong, str):
        pytest.skip(SandboxError(wrong).what)
    spec = SessionSpec(open=Launch(app=app, args=args))
    with backend.start(folder / "initial", spec) as session:
        for number, action in enumerate(actions):
            if action["action"] != "done":
                seen = session.act(Action.model_validate(action))
                assert seen.error is None
                seen.screen.save(folder / f"{number:03}.png")
        facts = session.finish(folder / "end.tar.zst").facts
    (folder / "out").mkdir()
    archive.extract(folder / "end.tar.zst", folder / "out", reads=family.reads)
    return family.verify(params, folder / "out"), facts.unsaved


def test_a_rename_whose_dialog_is_open_has_not_happened(backend: LocalBackend, tmp_path: Path) -> None:
    task_id = "files-rename-report-draft"
    script = files_rename.FAMILY.script(files_rename.PARAMS[task_id])
    answered = next(at for at, action in enumerate(script) if action.get("keys") == "Return")
    found, unsaved = ended(backend, files_rename.FAMILY, task_id, script[:answered], tmp_path)
    assert found.category == NOTHING_PERSISTED
    assert unsaved is not False, "a file manager that closes at once has saved nothing by that"


def test_an_open_transaction_shows_the_new_row_and_has_not_written_it(
    backend: LocalBackend, tmp_path: Path
) -> None:
    task_id = "sqlite-change-two-fees"
    family, params = sqlite_change.FAMILY, sqlite_change.PARAMS[task_id]
    typed = [f"sqlite3 {params.path}\n", *(f"{one}\n" for one in params.statements if one != "COMMIT;")]
    typed.append("SELECT * FROM members;\n")
    actions = [{"action": "type", "text": one} for one in typed]
    found, unsaved = ended(backend, family, task_id, actions, tmp_path)
    assert found.category == ("F-UNCOMMITTED",)
    assert found.diagnostics["open_transaction"] is True
    assert unsaved is not False


def test_whether_a_file_may_be_run_reaches_the_verifier(backend: LocalBackend, tmp_path: Path) -> None:
    task_id = "files-mode-weekly-backup"
    family, params = files_mode.FAMILY, files_mode.PARAMS[task_id]
    found, _ = ended(backend, family, task_id, family.script(params), tmp_path)
    assert found.passed is True
