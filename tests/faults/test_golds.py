"""Public reports of wrong, missing and unstable references: nobody is failed by one.

Every report has a task of its own; all are verified together, and each has an episode that did what the
instruction says, which must not be a fail.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.conftest import GOOD, Ground

from pyrite.errors import InputError
from pyrite.records import Truth
from pyrite.store.jsonl import read_record
from pyrite.tasks.folder import load_folder
from pyrite.truth.faults import of_replay

PAGE = """
from pyrite.checks.compare import Url, compare
from pyrite.checks.verdict import main

def check(home):
    page = home / "page.txt"
    return compare(page.read_text() if page.is_file() else "", "https://shop.example/item/41", Url()).result()

main(check)
"""
RIGHT_PAGE = {"page.txt": "https://shop.example/item/41"}
SCRIPT = "import pathlib\npathlib.Path('note.txt').write_text('12 kg')\n"
WITH_LOG = """
import json, pathlib, sys
home = pathlib.Path(sys.argv[1])
both = [(home / name).read_text() if (home / name).is_file() else "" for name in ("note.txt", "log.txt")]
print(json.dumps({"pass": both == ["12 kg", "note changed"]}))
"""
ANYTHING = """
import json, pathlib, sys
print(json.dumps({"pass": (pathlib.Path(sys.argv[1]) / "note.txt").is_file()}))
"""
DOWNLOAD = "import urllib.request\nurllib.request.urlopen('http://files.example/gold.xlsx', timeout=5)\n"
SAY = 'import json; print(json.dumps({"pass": %s}))\n'
FLAKY = """
import json, pathlib, sys, time
note = pathlib.Path(sys.argv[1]) / "note.txt"
fresh = time.time() - note.stat().st_mtime < 3600
print(json.dumps({"pass": note.read_text() == "12 kg" and fresh}))
"""


@pytest.fixture(scope="module")
def ground(make_ground: Callable[[], Ground]) -> Ground:
    made = make_ground()
    made.task("wrong-item", PAGE, initial={"page.txt": ""}, good={"page.txt": "https://shop.example/item/42"})
    made.task("raising", good=SCRIPT + "raise RuntimeError('the element is not there')\n")
    made.task("no-change-needed", ANYTHING)
    made.task("half-a-gold", WITH_LOG)
    made.task("idle-oracle", good="pass\n")
    made.task("gone-gold", good=DOWNLOAD + SCRIPT)
    made.task("gone-input", setup=f"{sys.executable} -c {json.dumps(DOWNLOAD)} || exit 1\n")
    made.task("no-setup-file", setup="cp /no/such/file.ods .\n")
    made.task("always-zero", SAY % "False")
    made.task("flaky", FLAKY)
    whole = made.packed(GOOD)
    made.task("packed-gold", good=whole)
    made.task("cut-gold", good=whole[:-10])
    made.task("sound")
    for task_id in made.tasks:
        files = {**GOOD, **RIGHT_PAGE, "log.txt": "note changed"}
        made.episode(f"of-{task_id}", task_id, files if task_id in {"wrong-item", "half-a-gold"} else GOOD)
    made.episode("wrong", "sound", {"note.txt": "12 g"})
    return made


def test_a_sound_task_tells_right_from_wrong(ground: Ground) -> None:
    """The yardstick: nothing else here is indeterminate for a reason of its own."""
    assert (ground.outcome("of-sound"), ground.outcome("wrong")) == ("pass", "fail")


def test_a_gold_that_names_the_wrong_item(ground: Ground) -> None:
    """github.com/web-arena-x/webarena/issues/246: three reference URLs point to another item."""
    assert ground.outcome("of-wrong-item") == "gold_failed, verifier"
    assert "good state good: fail" in ground.replayed("wrong-item").detail


def test_an_oracle_that_raises(ground: Ground) -> None:
    """github.com/ServiceNow/WorkArena/issues/28: the task is held back, and no agent failed it."""
    assert ground.outcome("of-raising") == "task_invalid, task"
    assert "the element is not there" in ground.replayed("raising").detail


def test_a_check_that_passes_before_anything_was_done(ground: Ground) -> None:
    """github.com/SWE-bench/SWE-bench/issues/24: tests that should fail before the fix already pass."""
    assert ground.outcome("of-no-change-needed") == "task_invalid, task"
    assert ground.replayed("no-change-needed").detail == "untouched initial state: pass"


def test_a_grader_that_passes_on_untouched_fixtures(ground: Ground) -> None:
    """github.com/addyosmani/agent-skills/pull/51: which state passes, and why it must not."""
    found = [fault for fault in of_replay(ground.replayed("no-change-needed")) if fault.about == "initial"]
    assert [(fault.observed, fault.why) for fault in found] == [
        ("untouched state: passes", "nobody has done anything yet")
    ]


def test_a_gold_without_a_side_effect_that_the_check_requires(ground: Ground) -> None:
    """github.com/sierra-research/tau2-bench/issues/316: replayed from a list of actions that is not whole."""
    assert ground.outcome("of-half-a-gold") == "gold_failed, verifier"


def test_an_oracle_that_finishes_and_leaves_nothing(ground: Ground) -> None:
    """github.com/a-green-hand-jack/paperbench-harbor/issues/13: exit 0, no files."""
    assert ground.outcome("of-idle-oracle") == "gold_failed, verifier"
    assert ground.replayed("idle-oracle").detail.endswith(
        "it is the untouched initial state: what builds it produced nothing"
    )
    assert "produced nothing" not in ground.replayed("half-a-gold").detail


def test_a_gold_or_an_input_that_was_deleted_from_its_host(ground: Ground) -> None:
    """github.com/karakuri-ai/OSWorld-JP/commit/1c9c5fd2ad8fdbe5d124b2a12818ff8770ef0cb4."""
    assert ground.outcome("of-gone-gold") == "task_invalid, task"
    assert ground.outcome("of-gone-input") == "setup_failed, environment"


def test_a_required_file_that_is_missing_at_setup(ground: Ground, tmp_path: Path) -> None:
    """github.com/google-research/android_world/issues/289: told before an agent starts."""
    assert ground.outcome("of-no-setup-file") == "setup_failed, environment"
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "verify.py").write_text(SAY % "True")
    laid_in = {"files": [{"path": "a.ods", "from": "files/a.ods"}]}
    (folder / "task.json").write_text(json.dumps({"instruction": "x", "initial": laid_in}))
    with pytest.raises(InputError, match=r"'files/a\.ods' cannot be used"):
        load_folder(folder)


def test_a_check_that_always_says_zero(ground: Ground) -> None:
    """github.com/hud-evals/hud-python/pull/145: a constant answer is found before it is believed."""
    assert ground.outcome("of-always-zero") == "gold_failed, verifier"
    kinds = {fault.kind: fault.observed for fault in of_replay(ground.replayed("always-zero"))}
    assert kinds["constant"] == "it always says fail"


def test_a_gold_whose_answer_hangs_on_a_timestamp(ground: Ground) -> None:
    """github.com/benchflow-ai/benchflow/issues/137, its second half: the same content, another time."""
    assert ground.outcome("of-flaky") == "gold_unstable, verifier"


def test_a_gold_that_was_cut_off_on_the_way(ground: Ground) -> None:
    """A download that broke off is not taken for the whole file, and not for the agent's failure."""
    assert ground.outcome("of-packed-gold") == "pass"
    assert ground.outcome("of-cut-gold") == "task_invalid, task"


UNITS = """
import json, pathlib, sys
import unitlib
found = (pathlib.Path(sys.argv[1]) / "note.txt").read_text()
print(json.dumps({"pass": unitlib.bare(found) == "12"}))
"""
LIBRARY = {
    "1.0": "def bare(text):\n    return text.removesuffix(' kg')\n",
    "2.0": "def bare(text):\n    return text.removesuffix(' g')\n",
}


def image(root: Path, version: str) -> Path:
    """A Python of its own, with everything that this one has and one more library."""
    venv.create(root, symlinks=True)
    site = next((root / "lib").glob("python*/site-packages"))
    paths = [path for path in sys.path if path.endswith("-packages") or (Path(path) / "pyrite").is_dir()]
    (site / "this.pth").write_text("".join(f"{path}\n" for path in paths))
    (site / "unitlib.py").write_text(LIBRARY[version])
    about = site / f"unitlib-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: unitlib\nVersion: {version}\n")
    return root / "bin" / "python"


def test_a_gold_that_fails_on_one_image_only(tmp_path: Path) -> None:
    """github.com/SWE-bench/SWE-bench/issues/294: 14 of 500 gold patches failed, later all were repaired.

    Another library is installed: the same episode of the same task is decided on one image and not on
    the other, and is no fail on either.
    """
    ground = Ground(tmp_path)
    ground.task("depends", UNITS)
    ground.task("independent")
    folder = ground.episode("here", "depends")
    ground.episode("there", "independent")
    found: dict[str, Truth] = {}
    for version in LIBRARY:
        python = image(tmp_path / version, version)
        command = [python, "-P", "-m", "pyrite", "verify", ground.bench.root, "--tasks", tmp_path / "tasks"]
        done = subprocess.run([*map(str, command), "-j", "1"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found[version] = read_record(folder / "gt.json", Truth)
        assert ground.bench.truth("there").outcome == "pass"  # type: ignore[union-attr]
    assert (found["1.0"].outcome, found["1.0"].cause) == ("pass", None)
    assert (found["2.0"].outcome, found["2.0"].cause) == ("indeterminate", "gold_failed")
    images = {truth.replay.image for truth in found.values() if truth.replay is not None}
    assert len(images) == 2
