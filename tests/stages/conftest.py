"""A judge-bench folder as another harness leaves it: folder tasks, episodes, verdicts, config/bench.yaml."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P
from PIL import Image

from pyrite.tasks import archive

VERIFY = '''
"""Is the amount in the cell that was asked for, and saved?"""
import argparse
import json
import pathlib

from odf.opendocument import load
from odf.table import Table, TableCell, TableRow

parser = argparse.ArgumentParser()
parser.add_argument("root", type=pathlib.Path)
root = parser.parse_args().root
print("checking", root.name)
book = root / "Documents" / "FILE"
rows = [
    [cell.getAttribute("value") for cell in row.getElementsByType(TableCell)]
    for row in load(str(book)).spreadsheet.getElementsByType(Table)[0].getElementsByType(TableRow)
] if book.is_file() else []
value = rows[ROW][1] if len(rows) > ROW and len(rows[ROW]) > 1 else None
passed = value is not None and float(value) == AMOUNT
print(json.dumps({
    "pass": passed,
    "category": None if passed else "F-UNCOMMITTED_OR_WRONGTARGET",
    "diagnostics": {"text": value, "expected": "AMOUNT"},
}))
'''

MAKE = """
import pathlib, sys
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

book, table = OpenDocumentSpreadsheet(), Table(name="Plan")
for label, amount in VALUES:
    row = TableRow()
    for cell in (TableCell(valuetype="string"), TableCell(valuetype="float", value=str(amount))):
        cell.addElement(P(text=str(label)))
        row.addElement(cell)
    table.addElement(row)
book.spreadsheet.addElement(table)
pathlib.Path("Documents").mkdir(exist_ok=True)
book.save("Documents/FILE")
"""

CONFIG = """\
seed: 42
episodes_per_task: 3
evidence:
  last_k: 2
  max_image_side: 64
judges:
  vlm:
    model: ${VLM_MODEL}
    temperature: 0.0
    runs: 3
    uncertain_policy: failure
  rm:
    path: models/rm
    runs: 1
    threshold_policy: fpr_target
    fpr_target: 0.05
metrics:
  ci: wilson
  alpha: 0.1
  bootstrap_resamples: 500
  cluster_by: task_id
"""

TASKS: dict[str, tuple[str, int, int, tuple[tuple[str, int], ...]]] = {
    "rent-row": ("household.ods", 1, 912, (("food", 340), ("rent", 880), ("phone", 25))),
    "seed-row": ("garden.ods", 0, 77, (("seeds", 60), ("tools", 15))),
}
ENDINGS = ("saved", "unsaved", "wrong")
"""What became of the three episodes of each task; it stands nowhere in the folder."""


@dataclass(frozen=True)
class JudgeBench:
    """The folder, and what is true of its episodes."""

    root: Path
    truth: dict[str, bool]

    def config(self, text: str) -> Path:
        path = self.root / "config" / "bench.yaml"
        path.write_text(text, encoding="utf-8")
        return path


def make_judge_bench(root: Path) -> JudgeBench:
    """Two tasks with three episodes each: real spreadsheets, small screens, verdicts of two judges."""
    truth: dict[str, bool] = {}
    for task_id, (file, row, amount, values) in TASKS.items():
        _task(root / "tasks" / task_id, file, row, amount, values)
        for number, ending in enumerate(ENDINGS, 1):
            episode_id = f"{task_id}-{number}"
            changed = list(values)
            if ending != "unsaved":
                at = row if ending == "saved" else row + 1
                changed[at] = (changed[at][0], amount)
            _episode(root / "episodes" / episode_id, episode_id, task_id, file, tuple(changed), number)
            truth[episode_id] = ending == "saved"
    (root / "config").mkdir()
    (root / "config" / "bench.yaml").write_text(CONFIG, encoding="utf-8")
    _verdicts(root / "verdicts", truth)
    return JudgeBench(root, truth)


def _task(folder: Path, file: str, row: int, amount: int, values: tuple[tuple[str, int], ...]) -> None:
    (folder / "states").mkdir(parents=True)
    good, shifted = list(values), list(values)
    good[row] = (values[row][0], amount)
    shifted[row + 1] = (values[row + 1][0], amount)
    body = {
        "instruction": f"In Documents/{file} set the amount of {values[row][0]} to {amount} and save it.",
        "family": "budget_row",
        "initial": {"open": {"app": "calc", "args": [f"Documents/{file}"]}},
        "reads": ["Documents/*.ods"],
        "network": "none",
        "states": [
            {"name": "good", "kind": "good", "outcome": "pass"},
            {"name": "row_below", "kind": "bad", "outcome": "fail"},
        ],
    }
    (folder / "task.json").write_text(json.dumps(body), encoding="utf-8")
    verify = VERIFY.replace("FILE", file).replace("ROW", str(row)).replace("AMOUNT", str(amount))
    (folder / "verify.py").write_text(verify, encoding="utf-8")
    for name, content in (("setup.py", values), ("states/good.py", good), ("states/row_below.py", shifted)):
        script = MAKE.replace("VALUES", repr(list(content))).replace("FILE", file)
        (folder / name).write_text(script, encoding="utf-8")


def spreadsheet(path: Path, values: tuple[tuple[str, int], ...]) -> None:
    book, table = OpenDocumentSpreadsheet(), Table(name="Plan")
    for label, amount in values:
        row = TableRow()
        for cell in (TableCell(valuetype="string"), TableCell(valuetype="float", value=str(amount))):
            cell.addElement(P(text=label))
            row.addElement(cell)
        table.addElement(row)
    book.spreadsheet.addElement(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(str(path))


def _episode(
    folder: Path, name: str, task_id: str, file: str, values: tuple[tuple[str, int], ...], shade: int
) -> None:
    (folder / "screens").mkdir(parents=True)
    home = folder / "home"
    spreadsheet(home / "Documents" / file, values)
    archive.write(home, folder / "final_state.tar.zst")
    shutil.rmtree(home)
    actions: list[dict[str, Any]] = [
        {"action": "click", "x": 40, "y": 20},
        {"action": "type", "text": str(values[0][1])},
        {"action": "key", "keys": "ctrl+s"},
        {"action": "done"},
    ]
    Image.new("RGB", (96, 72), (0, shade, 0)).save(folder / "screens" / "000.png")
    lines = []
    for step, action in enumerate(actions, 1):
        Image.new("RGB", (96, 72), (step, shade, len(task_id))).save(folder / "screens" / f"{step:03d}.png")
        lines.append({"step": step, **action, "screen": f"screens/{step:03d}.png", "thought": "next"})
    (folder / "actions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    meta = {
        "schema_version": "1",
        "episode_id": name,
        "task_id": task_id,
        "source": "natural",
        "agent": {"name": "policy-a", "version": "7", "seed": shade, "checkpoint": "step-900"},
        "n_steps": len(actions),
        "created_at": "2026-02-03T10:00:00Z",
        "final_message": "I changed the amount and saved the file.",
        "harness": "elsewhere",
    }
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")


def _verdicts(folder: Path, truth: dict[str, bool]) -> None:
    """Three runs of a prompted judge that accepts everything, one of a reward model; other file names."""
    folder.mkdir()
    prompted = [
        {
            "episode_id": name,
            "judge": "vlm:model-x",
            "condition": "E2-lastk",
            "run": run,
            "verdict": "success",
            "confidence": 0.9,
            "reason": "the amount is there",
        }
        for name in truth
        for run in (1, 2, 3)
    ]
    reward = [
        {
            "episode_id": name,
            "judge": "rm",
            "condition": "final",
            "run": 1,
            "verdict": "success" if passed else "failure",
            "score": 0.8 if passed else 0.1,
            "confidence": None,
            "reason": None,
            "usage": None,
        }
        for name, passed in truth.items()
    ]
    for file, lines in (("arm_v.jsonl", prompted), ("arm_r.jsonl", reward)):
        (folder / file).write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")


@pytest.fixture
def judge_bench(tmp_path: Path) -> JudgeBench:
    return make_judge_bench(tmp_path / "fresh" / "judge-bench")


@pytest.fixture(scope="session")
def verified_bench(tmp_path_factory: pytest.TempPathFactory) -> JudgeBench:
    """The same, verified once; copy it before changing it."""
    from pyrite import flow

    made = make_judge_bench(tmp_path_factory.mktemp("made") / "judge-bench")
    flow.verify(made.root, workers=1)
    return made


@pytest.fixture
def verified(verified_bench: JudgeBench, tmp_path: Path) -> JudgeBench:
    root = tmp_path / "judge-bench"
    shutil.copytree(verified_bench.root, root)
    return JudgeBench(root, verified_bench.truth)
