"""compare of two benches on the command line, with a gold that passes on one image and not on another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

import pyrite
from pyrite.cli import run
from pyrite.records import Truth
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_json, write_json, write_record
from pyrite.tasks import archive

VERIFY = """
import json, pathlib, sys
note = (pathlib.Path(sys.argv[1]) / "note.txt").read_text()
print(json.dumps({"pass": note == WANTED, "category": ["F-PARTIAL"], "diagnostics": {"found": note}}))
"""
PRICED = VERIFY.replace("import json", "import json, pricelib").replace("WANTED", "pricelib.written('4500')")
STATES = [
    {"name": "good", "kind": "good", "outcome": "pass"},
    {"name": "wrong", "kind": "bad", "outcome": "fail", "category": ["F-PARTIAL"]},
]


def image(root: Path, version: str, written: str) -> Path:
    """A Python of its own that sees this one's packages and a pricelib of its own; its interpreter."""
    venv.create(root, symlinks=True, with_pip=False)
    packages = next(root.glob("lib/python*/site-packages"))
    ours = [path for path in sys.path if Path(path).name in {"site-packages", "dist-packages"}]
    seen = [*ours, str(Path(pyrite.__file__).parent.parent)]
    (packages / "base.pth").write_text("\n".join(seen))
    (packages / "pricelib.py").write_text(f"def written(text):\n    return {written}\n")
    about = packages / f"pricelib-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pricelib\nVersion: {version}\n")
    return root / "bin" / "python"


def task(tasks: Path, name: str, verify: str) -> None:
    folder = tasks / name
    (folder / "states").mkdir(parents=True)
    (folder / "setup.sh").write_text("printf old > note.txt\n")
    (folder / "states" / "good.sh").write_text("printf 4500 > note.txt\n")
    (folder / "states" / "wrong.sh").write_text("printf 4501 > note.txt\n")
    (folder / "verify.py").write_text(verify)
    body = {"instruction": "Write 4500 into note.txt.", "states": STATES}
    (folder / "task.json").write_text(json.dumps(body))


def bench(root: Path, agent: str, passed: int) -> Bench:
    """Three plain tasks and one that asks a library, each tried once; the first `passed` are right."""
    made = Bench.create(root)
    names = ["plain-0", "plain-1", "plain-2", "priced"]
    for name in names:
        task(made.paths.tasks, name, PRICED if name == "priced" else VERIFY.replace("WANTED", "'4500'"))
    for number, name in enumerate(names):
        paths = made.paths.episode(f"ep-{number}")
        paths.root.mkdir(parents=True)
        home = root.parent / f"home-{root.name}-{number}"
        home.mkdir()
        right = number < passed or name == "priced"
        (home / "note.txt").write_text("4500" if right else "4501")
        archive.write(home, paths.final_state)
        paths.actions.write_text('{"step": 1, "action": "done"}\n')
        write_json(
            paths.meta,
            {
                "schema_version": "1",
                "episode_id": f"ep-{number}",
                "task_id": name,
                "source": "natural",
                "agent": {"name": agent},
                "n_steps": 1,
                "created_at": "2026-01-01T00:00:00Z",
                "ended_by": "done",
            },
        )
    return made


def verify(python: Path, made: Bench) -> dict[str, Any]:
    command = [str(python), "-m", "pyrite", "verify", str(made.root), "-j", "1", "--quiet", "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]}
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Bench, Bench, dict[str, Any], dict[str, Any]]:
    root = tmp_path_factory.mktemp("images")
    one = image(root / "image-1", "1.0", "text")
    two = image(root / "image-2", "2.0", "text + ' EUR'")
    a, b = bench(root / "first", "old", 1), bench(root / "second", "new", 3)
    return a, b, verify(one, a), verify(two, b)


def test_a_gold_that_passes_on_one_image_and_fails_on_another(both: Any, record_property: Any) -> None:
    a, b, first, second = both
    assert first["outcomes"] == {"pass": 2, "fail": 2, "indeterminate": 0}
    assert second["outcomes"] == {"pass": 3, "fail": 0, "indeterminate": 1}
    assert second["causes"] == {"gold_failed": {"n": 1, "blame": "verifier"}}
    here, there = (one.truth("ep-3") for one in (a, b))
    assert here is not None
    assert there is not None
    assert here.replay is not None
    assert there.replay is not None
    assert here.verifier_sha256 == there.verifier_sha256
    assert (here.outcome, there.outcome) == ("pass", "indeterminate")
    assert here.replay.image != there.replay.image
    [bug] = second["suite_bugs"]
    assert (bug["task_id"], bug["state"], bug["expected"], bug["cause"]) == (
        "priced",
        "good",
        "pass",
        "gold_failed",
    )
    assert bug["reproduce"] == "pyrite check tasks/priced"
    assert not a.paths.suite_bugs.exists()
    record_property(
        "figure", "one verifier, two images: pass on the one, gold_failed on the other; 3 of 4 tasks compared"
    )


def test_two_benches_are_compared_on_the_rest(both: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, *_ = both
    assert run(["compare", str(a.root), str(b.root), "--json"]) == 0
    [pair] = json.loads(capsys.readouterr().out)["pairs"]
    assert (pair["a"], pair["b"], pair["tasks"]["compared"]) == ("old", "new", 3)
    assert pair["tasks"]["left_out"] == [
        {"task_id": "priced", "why": "indeterminate: gold_failed in the second bench"}
    ]
    assert pair["difference"]["value"] == pytest.approx(2 / 3)
    assert pair["p_signflip"] == 0.5
    assert pair["grader"]["worst_case"] == pytest.approx([3 / 4 - 2 / 4, 1 - 2 / 4])
    assert pair["grader"]["two_outcome"] == pytest.approx(1 / 4)
    assert pair["grader"]["sign_holds"] is True
    assert run(["compare", str(a.root), str(b.root)]) == 0
    text = capsys.readouterr().out.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert max(map(len, text.splitlines())) <= 100 + len(str(a.root))
    assert "new (B) less old (A), natural: +66.7 pp [" in text
    assert "left out priced: indeterminate: gold_failed in the second bench" in text
    assert "note     replayed on other images: host-" in text


def test_the_fault_is_entered_once_and_marked_when_mended(both: Any, tmp_path: Path) -> None:
    _, b, *_ = both
    before = b.paths.suite_bugs_text.read_bytes()
    again = verify(Path(b.root.parent / "image-2" / "bin" / "python"), b)
    assert (again["kept_replays"], again["written"]) == (4, 0)
    assert b.paths.suite_bugs_text.read_bytes() == before
    assert before.count(b"### S") == 1
    assert b"## Open: 1" in before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["A", "A"], "the same bench twice"),
        (["A", "A", "--agent", "old,nobody"], "no --agent nobody"),
        (["A", "B", "--agent", "old"], "no --agent old"),
        (["A", "B", "--agent", "a,b,c"], "3 agents in --agent"),
        (["A", "B", "--judge", "x"], "--agent, --stratum and --seed alone"),
        (["A", "B", "--stratum", "scripted"], "stratum scripted is not in both benches"),
        (["A", "--agent", "old"], "--agent goes with two benches"),
        (["A", "nowhere"], "no such folder"),
    ],
)
def test_what_cannot_be_compared_says_why(
    both: Any, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, *_ = both
    places = {"A": str(a.root), "B": str(b.root)}
    assert run(["compare", *(places.get(one, one) for one in arguments)]) == 2
    assert said in capsys.readouterr().err


def test_another_verifier_is_not_compared(
    both: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, *_ = both
    other = bench(tmp_path / "other", "new", 2)
    for number in range(4):
        path = other.paths.episode(f"ep-{number}").truth
        body = {**read_json(a.paths.episode(f"ep-{number}").truth), "verifier_sha256": "cd" * 32}
        write_record(path, Truth.model_validate(body))
    assert run(["compare", str(a.root), str(other.root)]) == 2
    seen = capsys.readouterr().err
    assert "another verifier" in seen
    assert "next: pyrite verify" in seen
