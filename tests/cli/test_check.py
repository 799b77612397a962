"""`pyrite check` as people and scripts see it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pyrite.cli import run
from pyrite.tasks.starter import start

SOUND = Path(__file__).resolve().parents[1] / "truth" / "broken" / "answer"
BROKEN = ('answer == "42.50" and', "total.is_file() and")
PYRITE = [sys.executable, "-m", "pyrite"]


def lay(root: Path, name: str, *, broken: bool = False) -> Path:
    folder = root / name
    shutil.copytree(SOUND, folder)
    if broken:
        script = folder / "verify.py"
        script.write_text(script.read_text().replace(*BROKEN))
    return folder


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(["check", *arguments, "--json", "--quiet", "-j", "1"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, found


def test_a_fit_task_is_exit_0_with_the_promised_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = document(capsys, str(lay(tmp_path, "sum")))
    assert code == 0
    assert found["schema_version"] == "1"
    task = found["tasks"][0]
    assert task.keys() >= {"id", "family", "ok", "states", "mutants"}
    assert (task["id"], task["family"], task["ok"]) == ("sum", "answer", True)
    assert task["states"][0].keys() >= {"name", "expected", "observed", "category"}
    near = task["mutants"]
    assert near["killed"] >= 10
    assert (near["survived"], near["equivalent"], near["no_answer"]) == (0, 0, 0)
    assert near["not_applicable"] > 0
    states = 3 + near["killed"]
    assert found["false_accept"]["n"] == states
    assert found["false_accept"]["value"] == 0
    assert found["false_accept"]["low"] == 0
    assert found["false_accept"]["high"] == pytest.approx(1 - 0.025 ** (1 / states))
    assert found["false_accept"]["at_most"] == pytest.approx(1 - 0.05 ** (1 / states))
    assert found["false_accept"]["method"].startswith("Clopper-Pearson")
    assert (found["false_reject"]["n"], found["false_reject"]["value"]) == (1, 0)


def test_an_unfit_task_is_exit_1_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(tmp_path, "good")
    lay(tmp_path, "lax", broken=True)
    lay(tmp_path, "unreadable").joinpath("task.json").write_text("{}")
    code, found = document(capsys, str(tmp_path))
    assert code == 1
    assert {task["id"]: task["ok"] for task in found["tasks"]} == {
        "good": True,
        "lax": False,
        "unreadable": False,
    }
    assert found["counts"]["held"] == 2
    lax = found["tasks"][1]
    survived = [near["name"] for near in lax["mutants"]["each"] if near["found"] == "survived"]
    assert "emptied-file@Documents/total.txt" in survived
    assert found["false_accept"]["errors"] == len(survived) == lax["mutants"]["survived"]
    assert found["false_accept"]["clusters"] == 2
    assert found["false_accept"]["iid"]["high"] < found["false_accept"]["high"]
    assert "unreadable" in found["tasks"][2]["reproduce"]
    assert "instruction" in found["tasks"][2]["faults"][0]["why"]


def test_the_matrix_fits_and_says_what_to_mend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(tmp_path, "good")
    lay(tmp_path, "lax-with-a-name-that-is-longer-than-any-terminal-has-room-for-in-a-table", broken=True)
    page = tmp_path / "check.html"
    assert run(["check", str(tmp_path), "-q", "-j", "1", "--html", str(page)]) == 1
    lines = capsys.readouterr().out.splitlines()
    table = next(at for at, line in enumerate(lines) if " task " in line)
    assert "must pass" in lines[table - 1]
    assert "must fail" in lines[table - 1]
    assert lines[table + 1].startswith(" lax-with-a-name"), "what is wrong stands first"
    assert "pass" in lines[table + 1]
    assert lines[table + 1].endswith("no")
    assert lines[table + 2].split()[0] == "good"
    assert lines[table + 2].endswith("yes")
    reproduce = next(line for line in lines if "pyrite check" in line)
    assert max(len(line) for line in lines if line != reproduce and "page " not in line) <= 100
    assert any("change  check this too, or declare it equivalent" in line for line in lines)
    assert lines[-1] == "held back: 1 of 2 tasks"
    html = page.read_text(encoding="utf-8")
    assert "held back" in html
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")


def test_names_from_a_home_cannot_write_into_terminal_or_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lay(tmp_path, "odd", broken=True)
    hostile = "Documents/<script>alert(1)</script>\x1b[2J\u202e.txt"
    (folder / "states" / "good.sh").write_text(
        f"printf 42.50 > Documents/total.txt\nmkdir -p '{os.path.dirname(hostile)}'\nprintf x > '{hostile}'\n"
    )
    page = tmp_path / "check.html"
    assert run(["check", str(folder), "-q", "-j", "1", "--html", str(page)]) == 1
    seen = capsys.readouterr().out
    assert "\x1b" not in seen
    assert "\u202e" not in seen
    assert "alert(1)" in seen
    html = page.read_text(encoding="utf-8")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "\u202e" not in html


def test_near_misses_that_pass_can_be_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = lay(tmp_path / "tasks", "lax", broken=True)
    kept = tmp_path / "kept"
    code, found = document(capsys, str(folder), "--keep", str(kept))
    assert code == 1
    homes = sorted((kept / "lax").iterdir())
    assert len(homes) == found["counts"]["survived"]
    done = subprocess.run(
        [sys.executable, "verify.py", str(homes[0])], cwd=folder, capture_output=True, check=True
    )
    assert json.loads(done.stdout)["pass"] is True
    assert run(["check", str(folder), "--keep", str(kept)]) == 2
    assert "a new or empty folder" in capsys.readouterr().err


def test_an_active_task_without_a_desktop_is_exit_4_and_its_states_alone_exit_0(tmp_path: Path) -> None:
    """In processes of their own: what this one has found on its path is remembered."""
    folder = lay(tmp_path, "acts")
    body = json.loads((folder / "task.json").read_text())
    body |= {
        "truth_from": "final",
        "act": [{"step": "activate_window", "title": "x"}, {"step": "key", "keys": "ctrl+s"}],
    }
    body["initial"]["open"] = {"app": "mousepad", "args": ["Documents/prices.csv"]}
    (folder / "task.json").write_text(json.dumps(body))

    def check(*more: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pyrite", "check", str(folder), "-q", "-j", "1", *more],
            env={**os.environ, "PATH": "/nowhere"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    code, text = check("--states-only", "--json")
    found = json.loads(text)
    assert (code, found["ok"], found["tasks"][0]["live"]["run"]) == (0, True, "skipped")
    code, text = check("--json")
    found = json.loads(text)
    assert (code, found["ok"], found["tasks"][0]["ok"]) == (4, None, None)
    assert found["tasks"][0]["live"]["run"] == "not run"
    assert found["tasks"][0]["live"]["why"]
    code, text = check()
    assert code == 4
    assert text.splitlines()[-1].startswith("not decided: 1 active task")


@pytest.mark.parametrize("kind", ["missing", "empty", "a file"])
def test_where_there_is_no_task_is_exit_2(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tasks"
    if kind == "empty":
        path.mkdir()
    elif kind == "a file":
        path.write_text("x")
    assert run(["check", str(path)]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert str(path) in seen.err
    assert "expected: desk" in seen.err
    assert run(["check", "desk", "--only", "nothing*", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)["error"]
    assert "no task matches" in said["what"]
    assert run(["check", "desk", "--only", "git-stsh*", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)["error"]
    assert "git-stash-pop-may" in said["expected"]
    assert said["expected"].count(", ") <= 10, "the nearest, not all"


def test_a_page_is_not_written_over_another_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, page = lay(tmp_path / "tasks", "sum"), tmp_path / "mine.html"
    page.write_text("mine")
    for name in (str(page), str(tmp_path), str(tmp_path / "x.txt"), str(tmp_path / "no" / "x.html")):
        assert run(["check", str(folder), "--html", name]) == 2
    assert page.read_text() == "mine"
    capsys.readouterr()
    for _ in range(2):
        assert run(["check", str(folder), "-q", "-j", "1", "--html", str(page), "--force"]) == 0
    assert run(["check", str(folder), "-q", "-j", "1", "--html", str(page)]) == 0


def test_equal_runs_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = start("mine", tmp_path).folder
    first, second = (document(capsys, str(folder))[1] for _ in range(2))
    for found in (first, second):
        found.pop("at")
    assert first == second


def test_a_suite_named_twice_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(tmp_path, "one")
    _, found = document(capsys, str(tmp_path), str(tmp_path / "one"), str(tmp_path))
    assert [task["id"] for task in found["tasks"]] == ["one"]


def test_two_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        lay(tmp_path, name)
    command = [*PYRITE, "check", str(tmp_path), "--json", "-q", "-j", "2"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    said = [json.loads(one.communicate(timeout=120)[0]) for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert said[0]["tasks"] == said[1]["tasks"]


def test_ctrl_c_is_130_and_leaves_nothing(tmp_path: Path) -> None:
    tasks, scratch = tmp_path / "tasks", tmp_path / "tmp"
    scratch.mkdir()
    for number in range(12):
        lay(tasks, f"task-{number:02}")
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from pyrite.cli import run\n"
            f"sys.exit(run(['check', {str(tasks)!r}, '-j', '1']))",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    assert child.stderr is not None
    for line in child.stderr:
        if "1/12" in line:
            break
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "go on: pyrite check" in err
    assert "Traceback" not in err
    assert [path for path in scratch.iterdir() if path.name.startswith("pyrite-verify")] == []
