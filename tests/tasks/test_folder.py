"""Task folders: loaded, built and verified for real, and refused with a message that helps."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import InputError, UsageError
from pyrite.sandbox import confine
from pyrite.tasks.archive import write
from pyrite.tasks.folder import FolderTask, digest_folder, load_folder, load_folders
from pyrite.tasks.task import INITIAL

VERIFY = """
import json, os, pathlib, sys
note = pathlib.Path(sys.argv[1]) / "Documents" / "note.txt"
text = note.read_text() if note.is_file() else ""
ok = text == "ping\\npong\\n"
print("looking at", len(text), "characters in", os.getcwd())
print(json.dumps({"pass": ok, "category": None if ok else "F-PARTIAL", "diagnostics": {}}))
"""

SPEC: dict[str, Any] = {
    "instruction": "Add the line pong to Documents/note.txt.",
    "initial": {"files": [{"path": "Documents/note.txt", "from": "files/note.txt"}]},
    "reads": ["Documents/*.txt"],
    "states": [
        {"name": "good", "kind": "good", "outcome": "pass"},
        {"name": "by_python", "kind": "harmless", "outcome": "pass"},
        {"name": "packed", "kind": "bad", "outcome": "fail", "category": ["F-PARTIAL"]},
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tasks" / "add-pong"
    (root / "files").mkdir(parents=True)
    (root / "states").mkdir()
    (root / "task.json").write_text(json.dumps(SPEC))
    (root / "verify.py").write_text(VERIFY)
    (root / "files/note.txt").write_text("ping\n")
    (root / "setup.sh").write_text('test -z "$(ls -A)"\ntest "$HOME" = "$PWD"\necho made > made-by-setup\n')
    (root / "states/good.sh").write_text(
        'cat "$TASK/files/note.txt"\necho pong >> "$HOME/Documents/note.txt"\n'
    )
    (root / "states/by_python.py").write_text(
        "import pathlib\nwith open('Documents/note.txt', 'a') as note:\n    note.write('pong\\n')\n"
        "assert pathlib.Path('made-by-setup').read_text() == 'made\\n'\n"
    )
    home = tmp_path / "packed"
    (home / "Documents").mkdir(parents=True)
    (home / "Documents/note.txt").write_text("pong\n")
    write(home, root / "states/packed.tar.zst")
    return root


def build(task: FolderTask, out: Path, *names: str) -> confine.Finished:
    out.mkdir()
    return confine.run(task.builder(out, names), writes=[out])


def test_round_trip_through_real_processes(folder: Path, tmp_path: Path) -> None:
    task: FolderTask = pickle.loads(pickle.dumps(load_folder(folder)))
    assert task.spec.task_id == "add-pong"
    out = tmp_path / "out"
    finished = build(task, out, INITIAL, "good", "by_python", "packed")
    assert finished.returncode == 0, finished.stderr
    assert sorted(path.name for path in out.iterdir()) == ["by_python", "good", INITIAL, "packed"]
    assert not (out / "packed/made-by-setup").exists()
    for name, expected in ((INITIAL, False), ("good", True), ("by_python", True), ("packed", False)):
        verified = confine.run(task.verifier(out / name))
        assert verified.returncode == 0, verified.stderr
        first, answer = verified.stdout.decode().splitlines()
        assert first.endswith(str(folder))
        assert json.loads(answer)["pass"] is expected


def test_only_what_is_asked_for_is_built(folder: Path, tmp_path: Path) -> None:
    assert build(load_folder(folder), tmp_path / "out", "good").returncode == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good"]


@pytest.mark.parametrize(
    ("path", "script", "said"),
    [
        ("setup.sh", "echo no disk >&2\nexit 3\n", "exit code 3: no disk"),
        ("setup.sh", "cat $undefined_name\n", "undefined_name"),
        ("states/good.sh", "false\necho never\n", "good.sh"),
        ("states/by_python.py", "raise RuntimeError('boom')\n", "boom"),
        ("states/packed.tar.zst", "not an archive", "tar.zst"),
        ("setup.sh", "ln -s /etc Documents\n", "link"),
    ],
)
def test_a_script_that_fails_fails_the_build_with_its_words(
    folder: Path, tmp_path: Path, path: str, script: str, said: str
) -> None:
    (folder / path).write_text(script)
    finished = build(load_folder(folder), tmp_path / "out", "good", "by_python", "packed")
    assert finished.returncode not in (0, None)
    assert said in finished.stderr.decode()


def test_the_digest_covers_every_byte_and_no_cache(folder: Path) -> None:
    first = load_folder(folder).verifier_sha256()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/verify.pyc").write_bytes(b"x")
    assert digest_folder(folder) == first
    for path in ("verify.py", "files/note.txt", "states/good.sh", "task.json"):
        before = (folder / path).read_bytes()
        (folder / path).write_bytes(before + b" ")
        assert digest_folder(folder) != first
        (folder / path).write_bytes(before)
    (folder / "files/more").symlink_to("note.txt")
    assert digest_folder(folder) != first


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "field", "expected"),
    [
        (lambda s: s.update(task_id="other"), "task_id", "folder's name"),
        (lambda s: s.update(instruction=3), "instruction", "string"),
        (lambda s: s.update(instruction="  "), "instruction", "asked to do"),
        (lambda s: s.update(network="all"), "network", "loopback"),
        (lambda s: s.update(limits={"timeout_s": -1}), "limits.timeout_s", "greater than 0"),
        (lambda s: s.update(limits={"seconds": 5}), "limits.seconds", "one of timeout_s, memory_mb"),
        (lambda s: s.update(reads=["../x"]), "reads.0", "without .."),
        (lambda s: s.update(reads=["/etc/*"]), "reads.0", "relative"),
        (lambda s: s["initial"]["files"][0].update(path="/etc/x"), "initial.files.0.path", "relative"),
        (lambda s: s["initial"]["files"][0].update(path="a/../../x"), "initial.files.0.path", "without .."),
        (
            lambda s: s["initial"]["files"].append(s["initial"]["files"][0]),
            "initial.files.1.path",
            "no other",
        ),
        (
            lambda s: s["initial"]["files"][0].update({"from": "../../x"}),
            "initial.files.0.from",
            "task folder",
        ),
        (
            lambda s: s["initial"]["files"][0].update({"from": "files/none"}),
            "initial.files.0.from",
            "is there",
        ),
        (lambda s: s["states"][0].update(outcome="fail"), "states.0.outcome", "pass for a good state"),
        (lambda s: s["states"][2].update(outcome="indeterminate"), "states.2.outcome", "fail for a bad"),
        (lambda s: s["states"][0].update(category=["F-CLAIM"]), "states.0.category", "no category"),
        (lambda s: s["states"][2].update(category=["F-ODD"]), "states.2.category", "F-ABORT"),
        (lambda s: s["states"][1].update(name="good"), "states.1.name", "no other state"),
        (lambda s: s["states"][0].update(name="initial"), "states.0.name", "initial"),
        (lambda s: s["states"][0].update(name="../x"), "states.0.name", "letters"),
        (lambda s: s["states"][0].update(name="none"), "states.0.name", "found nothing"),
        (lambda s: s["states"][0].update(kind="fine"), "states.0.kind", "good"),
        (lambda s: s["states"].pop(), "field states", "every state"),
    ],
)
def test_what_cannot_be_used_is_named(folder: Path, change: Change, field: str, expected: str) -> None:
    spec = json.loads(json.dumps(SPEC))
    change(spec)
    (folder / "task.json").write_text(json.dumps(spec))
    with pytest.raises(InputError) as caught:
        load_folder(folder)
    assert str(folder / "task.json") in caught.value.where
    assert field in caught.value.where
    assert expected in caught.value.expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "Expecting value"),
        ("{", "property name"),
        ("[]", "holds a list"),
        ('{"limits": {"timeout_s": NaN}}', "NaN is not JSON"),
        ('{"instruction": "a", "instruction": "b"}', "twice"),
        ("[" * 100_000, "recursion"),
        ('{"instruction": "' + "x" * (1 << 20) + '"}', "larger than 1 MB"),
    ],
)
def test_a_task_json_that_is_none(folder: Path, text: str, found: str) -> None:
    (folder / "task.json").write_text(text)
    with pytest.raises(InputError, match=found) as caught:
        load_folder(folder)
    assert "task.json" in caught.value.where


def test_the_instruction_may_stand_beside_but_not_twice(folder: Path) -> None:
    (folder / "instruction.md").write_text("Add pong.\n")
    with pytest.raises(InputError, match="twice"):
        load_folder(folder)
    spec = {key: value for key, value in SPEC.items() if key != "instruction"}
    (folder / "task.json").write_text(json.dumps(spec))
    assert load_folder(folder).spec.instruction == "Add pong."
    (folder / "instruction.md").unlink()
    with pytest.raises(InputError, match="no instruction"):
        load_folder(folder)


def test_missing_and_doubled_files(folder: Path) -> None:
    (folder / "setup.py").write_text("")
    with pytest.raises(InputError, match="both"):
        load_folder(folder)
    (folder / "setup.py").unlink()
    (folder / "states/good.py").write_text("")
    with pytest.raises(InputError, match="good"):
        load_folder(folder)
    (folder / "states/good.py").unlink()
    (folder / "verify.py").unlink()
    with pytest.raises(InputError, match=r"verify\.py is missing"):
        load_folder(folder)
    with pytest.raises(InputError, match="no such task folder"):
        load_folder(folder / "none")


def test_a_source_behind_a_link_that_leads_out_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (folder / "files/note.txt").unlink()
    (folder / "files/note.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="cannot be used"):
        load_folder(folder)


def test_folders_are_loaded_sorted_and_an_empty_place_says_what_is_there(
    folder: Path, tmp_path: Path
) -> None:
    assert [task.spec.task_id for task in load_folders(folder.parent)] == ["add-pong"]
    with pytest.raises(UsageError, match="no task folder") as caught:
        load_folders(tmp_path / "packed")
    assert "Documents" in caught.value.expected
    with pytest.raises(UsageError, match="no such folder"):
        load_folders(tmp_path / "none")
