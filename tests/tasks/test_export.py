"""Exported tasks: plain folders whose verifier needs nothing of pyrite, and Harbor folders."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.sampling import one_a_family

from pyrite import flow
from pyrite.cli import run
from pyrite.errors import InputError, UsageError
from pyrite.sandbox import confine
from pyrite.suites.export import export
from pyrite.suites.lookup import open_origin
from pyrite.suites.suite import FamilyTask, load_suite
from pyrite.tasks.export import carried, is_recipe, put, verifier_of_family
from pyrite.tasks.folder import load_folder
from pyrite.tasks.harbor import is_harbor, load_harbor
from pyrite.tasks.starter import start
from pyrite.tasks.task import BUILD_LIMITS
from pyrite.truth.replay import replay

TASK = "calc-set-cell-q3-budget-d14"
SERVE = """
import pathlib, sys
from kontor.server import serve
server = serve(pathlib.Path(sys.argv[1]), 0)
print(server.server_address[1], flush=True)
server.serve_forever()
"""
WITHOUT = """
import sys, runpy
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name == "pyrite" or name.startswith("pyrite."):
            raise ImportError(f"{name} is not to be had here")
sys.meta_path.insert(0, Refuse())
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def verdict(folder: Path, home: Path) -> Any:
    """What verify.py of an exported folder prints where pyrite cannot be imported."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", WITHOUT, str(folder / "verify.py"), str(home)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "folders"
    export("desk", out, form="folders", only=TASK)
    return out


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "harbor"
    export("desk", out, form="harbor", only=TASK)
    return out


@pytest.mark.parametrize("task", one_a_family(load_suite("desk").tasks()))
def test_the_verifier_of_every_task_runs_without_pyrite(task: FamilyTask, tmp_path: Path) -> None:
    runs_alone(task, tmp_path)


def test_what_a_verifier_compares_with_is_exported_too(tmp_path: Path) -> None:
    runs_alone(load_suite("desk").task("git-stash-push-print"), tmp_path)


def runs_alone(task: FamilyTask, tmp_path: Path) -> None:
    family, params = task.family, task.family.params[task.task_id]
    verifier = verifier_of_family(
        task.module, task.task_id, family.files, family.initial(params), family.compared(params)
    )
    folder, out = tmp_path / "task", tmp_path / "homes"
    for name, content in verifier.files.items():
        put(folder / name, content)
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name == "pyrite" or name.startswith("pyrite.") for name in names), path
    good = next(state.name for state in task.spec.states if state.kind == "good")
    bad = next(state.name for state in task.spec.states if state.kind == "bad")
    out.mkdir()
    built = confine.run(task.builder(out, [good, bad]), writes=[out], limits=BUILD_LIMITS)
    assert built.returncode == 0, built.stderr
    assert verdict(folder, out / good)["pass"] is True
    assert verdict(folder, out / bad)["pass"] is False
    assert not list(folder.rglob("__pycache__"))


def test_check_says_the_same_of_the_folder_as_of_the_suite(folders: Path) -> None:
    suite = flow.check(["desk"], only=TASK)["tasks"][0]
    folder = flow.check([str(folders)])["tasks"][0]
    assert folder["ok"] is True
    for part in ("states", "mutants", "findings"):
        assert folder[part] == suite[part]
    assert len(folder["states"]) >= 25
    assert folder["mutants"]["killed"] >= 25


def test_the_folder_says_what_the_suite_says(folders: Path) -> None:
    task, ours = load_folder(folders / TASK), load_suite("desk").task(TASK)
    same = (
        "instruction",
        "states",
        "reads",
        "family",
        "limits",
        "equivalent_mutants",
        "licence",
        "benchmark",
    )
    for name in same:
        assert getattr(task.spec, name) == getattr(ours.spec, name)
    assert [file.path for file in task.spec.initial.files] == [file.path for file in ours.spec.initial.files]
    assert task.spec.initial.open == ours.spec.initial.open
    assert not (folders / TASK / "setup.py").exists()
    origin = open_origin(str(folders))
    assert origin.script(TASK) == (
        tuple(load_suite("desk").script(TASK)),
        load_suite("desk").claim(TASK),
    )


def test_what_is_there_is_never_written_to(folders: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folders.rglob("*")}
    with pytest.raises(UsageError, match="there already"):
        export("desk", folders, form="folders", only=TASK)
    assert {path: path.stat().st_mtime_ns for path in folders.rglob("*")} == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="not a folder"):
        export("desk", tmp_path / "file", form="folders", only=TASK)


def test_an_export_is_the_same_bytes_each_time(folders: Path, tmp_path: Path) -> None:
    export("desk", tmp_path, form="folders", only=TASK)
    ours = {p.relative_to(folders): p.read_bytes() for p in folders.rglob("*") if p.is_file()}
    again = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert again.keys() == ours.keys()
    differ = [str(name) for name in ours if ours[name] != again[name] and "states" not in name.parts]
    assert differ == []


def test_imports_are_carried_over_and_nothing_else_is() -> None:
    source = (
        '"""Of pyrite."""\nfrom pyrite.checks import ods\nfrom pyrite.checks.cells import (\n    Cell,\n)\n'
        "import pyrite.checks.homes as homes\nimport pyritex\nNAME = 'pyrite.checks'\n"
        "def f():\n    from pyrite.suites.desk import edits\n"
    )
    assert carried(source, "m") == (
        '"""Of pyrite."""\nfrom verifier.checks import ods\nfrom verifier.checks.cells import (\n'
        "    Cell,\n)\n"
        "import verifier.checks.homes as homes\nimport pyritex\nNAME = 'pyrite.checks'\n"
        "def f():\n    from verifier.suites.desk import edits\n"
    )
    with pytest.raises(UsageError, match="dotted name"):
        carried("import pyrite.checks.homes\n", "m")


def test_what_a_recipe_cannot_say_is_a_setup(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    for place in (home, folder):
        place.mkdir()
        (place / "a").write_text("x")
    assert is_recipe(home, folder, {"a": "a"})
    assert not is_recipe(home, folder, {})
    (home / "a").chmod(0o755)
    assert not is_recipe(home, folder, {"a": "a"})
    (home / "a").chmod(0o644)
    (home / "empty").mkdir()
    assert not is_recipe(home, folder, {"a": "a"})
    (home / "empty").rmdir()
    (home / "b").symlink_to("a")
    assert not is_recipe(home, folder, {"a": "a"})


# --- Harbor


def test_a_harbor_folder_has_harbors_parts(harbor: Path) -> None:
    folder = harbor / TASK
    config = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
    assert config["metadata"]["pyrite_open"] == ["calc", "Documents/q3_budget.ods"]
    assert {"verifier", "agent", "environment"} <= config.keys()
    assert "set cell D14 to 4500" in (folder / "instruction.md").read_text(encoding="utf-8")
    for name in ("environment/Dockerfile", "environment/home.tar", "solution/solve.sh", "tests/test.sh"):
        assert (folder / name).is_file()
    assert "pyrite" not in (folder / "environment" / "Dockerfile").read_text()


def test_a_harbor_folder_is_read_as_a_suite_and_checked(harbor: Path) -> None:
    assert is_harbor(harbor / TASK)
    origin = open_origin(str(harbor))
    assert origin.task_ids() == [TASK]
    spec = origin.task(TASK).spec
    assert spec.initial.open is not None
    assert spec.initial.open.app == "calc"
    assert spec.family == "calc_set_cell"
    found = flow.check([str(harbor)])["tasks"][0]
    assert found["ok"] is True, found["faults"]
    said = {state["name"]: (state["observed"], state["category"]) for state in found["states"]}
    assert said["solution"][0] == "pass"
    assert said["nop"] == ("fail", ["F-ABORT", "F-CLAIM", "F-UNCOMMITTED"])
    assert found["mutants"]["killed"] >= 25
    assert found["mutants"]["survived"] == 0


def test_a_harbor_image_has_what_the_task_needs(tmp_path: Path) -> None:
    export("desk", tmp_path / "git", form="harbor", only="git-commit-contact")
    assert "git xterm" in (tmp_path / "git/git-commit-contact/environment/Dockerfile").read_text()
    name = "web-order-create-weber-lamps"
    export("desk", tmp_path / "web", form="harbor", only=name)
    folder = tmp_path / "web" / name
    assert "COPY kontor.pyz /var/lib/kontor.pyz" in (folder / "environment/Dockerfile").read_text()
    instruction = (folder / "instruction.md").read_text()
    assert "python3 /var/lib/kontor.pyz Kontor/kontor.db" in instruction
    assert "http://127.0.0.1:8000/orders/new" in instruction
    assert load_harbor(folder).spec.instruction.startswith(load_suite("desk").task(name).spec.instruction)


def test_the_application_of_a_harbor_image_serves_the_database_of_its_home(tmp_path: Path) -> None:
    name = "web-order-create-weber-lamps"
    export("desk", tmp_path / "web", form="harbor", only=name)
    environment = tmp_path / "web" / name / "environment"
    with tarfile.open(environment / "home.tar") as archive:
        archive.extractall(tmp_path / "home", filter="data")
    with zipfile.ZipFile(environment / "kontor.pyz") as program:
        assert {"__main__.py", "kontor/start.py", "kontor/server.py"} <= set(program.namelist())
    argv = [sys.executable, "-c", SERVE, str(tmp_path / "home/Kontor/kontor.db")]
    environ = {**os.environ, "PYTHONPATH": str(environment / "kontor.pyz")}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/orders/new", timeout=20) as page:
                assert b"Anna Weber" in page.read()
        finally:
            process.kill()


def test_what_is_right_after_all_stays_so_in_a_harbor_folder(tmp_path: Path) -> None:
    task = load_suite("desk").task("browser-bookmark-add-minutes")
    assert task.spec.equivalent_mutants
    export("desk", tmp_path, form="harbor", only=task.task_id)
    assert load_harbor(tmp_path / task.task_id).spec.equivalent_mutants == task.spec.equivalent_mutants


def test_a_folder_of_ours_becomes_a_harbor_folder(tmp_path: Path) -> None:
    start("set-price", tmp_path / "mine")
    export(str(tmp_path / "mine"), tmp_path / "out", form="harbor")
    found = flow.check([str(tmp_path / "out")])["tasks"][0]
    assert found["ok"] is True, found["faults"]
    export(str(tmp_path / "mine"), tmp_path / "copy", form="folders")
    assert flow.check([str(tmp_path / "copy")])["tasks"][0]["ok"] is True


def written(folder: Path, dockerfile: str, test: str, solve: str = "echo 4 > /app/answer.txt\n") -> Path:
    """A Harbor folder as others write them."""
    for name, text in {
        "instruction.md": "Write 4 into answer.txt.",
        "task.toml": 'version = "1.0"\n[verifier]\ntimeout_sec = 60.0\n',
        "environment/Dockerfile": dockerfile,
        "environment/notes.txt": "hello\n",
        "solution/solve.sh": f"#!/bin/bash\n{solve}",
        "tests/test.sh": f"#!/bin/bash\n{test}",
        "tests/want.txt": "4\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


DOCKERFILE = (
    "FROM ubuntu:24.04\n# a comment\nRUN apt-get update && \\\n    apt-get install -y jq\n"
    "WORKDIR /app\nCOPY notes.txt ./\n"
)
TEST = (
    "if cmp -s /app/answer.txt /tests/want.txt\nthen echo 1 > /logs/verifier/reward.txt\n"
    "else echo 0 > /logs/verifier/reward.txt\nfi\n"
)


def test_somebody_elses_harbor_folder(tmp_path: Path) -> None:
    written(tmp_path / "tasks" / "four", DOCKERFILE, TEST)
    found = flow.check([str(tmp_path / "tasks")])["tasks"][0]
    said = {state["name"]: state["observed"] for state in found["states"]}
    assert said == {"initial": "fail", "solution": "pass", "nop": "fail"}
    assert all(state["ok"] for state in found["states"])


@pytest.mark.parametrize(
    ("test", "solution", "cause"),
    [
        ("echo '{\"reward\": 1.0}' > /logs/verifier/reward.json", "pass", None),
        ('echo \'{"reward": 0.5, "x": 1}\' > /logs/verifier/reward.json', "fail", None),
        ("echo nan > /logs/verifier/reward.txt", "indeterminate", "verifier_says_unknown"),
        ('echo \'{"a": 1, "b": 1}\' > /logs/verifier/reward.json', "indeterminate", "verifier_says_unknown"),
        ("exit 1", "indeterminate", "verifier_says_unknown"),
        ("echo 1 > /app/x; true", "indeterminate", "verifier_says_unknown"),
    ],
)
def test_no_reward_is_no_answer(test: str, solution: str, cause: str | None, tmp_path: Path) -> None:
    found = replay(load_harbor(written(tmp_path / "four", DOCKERFILE, test)), image="here")
    answer = next(check.answer for check in found.checks if check.name == "solution")
    assert (answer.outcome, answer.cause) == (solution, cause)


@pytest.mark.parametrize(
    "dockerfile",
    [
        "FROM x\nCOPY notes.txt /app/\n",
        "FROM x\nWORKDIR /app\nRUN python make_data.py\n",
        "FROM x\nWORKDIR /app\nRUN apt-get update && ./configure\n",
        "FROM x\nWORKDIR /app\nCOPY notes.txt /etc/\n",
        "FROM x\nWORKDIR /app\nCOPY ../../secret ./\n",
        "FROM x\nWORKDIR /app\nCOPY /etc/passwd ./\n",
        "FROM x\nWORKDIR /app\nCOPY missing ./\n",
        "FROM x\nWORKDIR /app\nCOPY\n",
        "FROM x\nWORKDIR /app\nVOLUME /data\n",
    ],
)
def test_a_home_that_is_not_known_is_refused(dockerfile: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "four", dockerfile, TEST)
    with pytest.raises(InputError) as caught:
        load_harbor(folder)
    assert "Dockerfile" in str(caught.value)


@pytest.mark.parametrize("name", ["tests/test.sh", "environment/Dockerfile"])
def test_a_part_that_is_missing_is_named(name: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "four", DOCKERFILE, TEST)
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        load_harbor(folder)


@pytest.mark.parametrize(
    "text", ["[verifier", '[verifier]\ntimeout_sec = "x"\n', "[verifier]\ntimeout_sec = -1\n"]
)
def test_a_task_toml_that_cannot_be_read_is_named(text: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "four", DOCKERFILE, TEST)
    (folder / "task.toml").write_text(text)
    with pytest.raises(InputError, match=r"task\.toml"):
        load_harbor(folder)


# --- the command


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = ["export", "desk", "--to", "folders", "--only", TASK, "-o", str(out), "-q"]
    assert run([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tasks"] == [TASK]
    assert run(arguments) == 2
    assert "there already" in capsys.readouterr().err
    shutil.rmtree(out)
    assert run(["export", "desk", "--to", "folders", "--only", "none*", "-o", str(out)]) == 2
    assert run(["export", "dusk", "--to", "folders", "-o", str(out)]) == 2
    assert run(["export", "desk", "--to", "zip", "-o", str(out)]) == 2
    assert not out.exists()
