"""list, show, init, label, manifest, schema: what they print, refuse and escape."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyrite import catalog
from pyrite.cli import run
from pyrite.cli.shown import judges_text
from pyrite.judges.orm import SHIPPED_WEIGHTS
from pyrite.records import Truth
from pyrite.store.bench import Bench
from pyrite.store.jsonl import append_lines, write_record
from pyrite.tasks import archive, starter

if TYPE_CHECKING:
    from tests.conftest import Episodes

HOSTILE = "\x1b]0;owned\x07 \x1b[2J \u202egnp.exe <script> \x00"
Out = pytest.CaptureFixture[str]


def document(arguments: list[str], capsys: Out, code: int = 0) -> Any:
    assert run([*arguments, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert found["schema_version"] == "1"
    return found


def printed(arguments: list[str], capsys: Out, code: int = 0) -> str:
    assert run(arguments) == code
    seen = capsys.readouterr()
    text = seen.out if code == 0 else seen.err
    shown = text.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert all(line.isprintable() for line in shown.split("\n")), "nothing moves the cursor"
    if arguments[:2] != ["list", "judges"]:  # a row a judge, whole
        assert max((len(line) for line in seen.out.splitlines()), default=0) <= 100
    return text


@pytest.fixture
def bench(episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A task of a folder, and a failed, hostile episode of it that nobody has classified."""
    monkeypatch.chdir(episodes.bench.root.parent)
    found = Bench(Path(episodes.bench.root.name))
    starter.start("set-price", found.paths.tasks)
    actions: list[dict[str, Any]] = [
        {"action": "type", "text": HOSTILE},
        {"action": "click", "x": 3, "y": 4},
        {"action": "done"},
    ]
    said = f"Done.\n{HOSTILE}"
    episodes.add("ep_1", actions, task_id="set-price", agent=HOSTILE, final_message=said, ended_by="done")
    episodes.add("ep_2", [{"action": "done"}], task_id="set-price", colours=[7, 7])
    truth = {
        "episode_id": "ep_1",
        "outcome": "fail",
        "pass": False,
        "candidates": ["F-PARTIAL", HOSTILE],
        "diagnostics": {"expected": "4.50", "found": HOSTILE, HOSTILE: [HOSTILE]},
    }
    write_record(found.paths.episode("ep_1").truth, Truth.model_validate(truth))
    return found


# --- list


@pytest.mark.parametrize("kind", ["suites", "tasks", "judges", "agents"])
def test_every_kind_is_listed_under_its_name(kind: str, capsys: Out) -> None:
    found = document(["list", kind], capsys)
    assert found["kind"] == kind
    assert len(found[kind]) >= 1
    names = [row.get("name") or row["task_id"] for row in found[kind]]
    text = printed(["list", kind], capsys)
    assert all(name in text for name in names)
    assert all(row["problem"] is None for row in found[kind])


def test_judges_are_listed_with_what_they_are_shown_and_cost(capsys: Out) -> None:
    found = {row["name"]: row for row in document(["list", "judges"], capsys)["judges"]}
    told = {name: [row["inputs"], row["calls"], row["source"]] for name, row in found.items()}
    assert all(all(one) for one in told.values())
    assert (found["webjudge"]["calls"], found["webjudge"]["conditions"]) == ("M + 2", ["E2-last4", "E3-full"])
    text = printed(["list", "judges"], capsys)
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[1:-2]] == list(found), "a row a judge"
    for line, row in zip(lines[1:-2], found.values(), strict=True):
        assert all(row[key] in line for key in ("name", "calls", "inputs", "source"))
    assert all(word in text for word in ("M + 2", "E2 E3", "every screen", "Xue et al. 2025"))


@pytest.mark.parametrize("width", [30, 60, 80, 100, 120, 200])
def test_no_cell_of_the_judges_is_cut_at_any_width(width: int) -> None:
    found = catalog.listing("judges")
    text = judges_text(found, width)
    body = text.split("\ncalls an episode")[0]
    assert max(map(len, body.splitlines())) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    words = set(body.split())
    for row in found["judges"]:
        assert {row["name"], *row["inputs"].split(), *row["source"].split()} <= words


def test_a_judge_without_what_it_is_made_of_says_what_it_needs(capsys: Out) -> None:
    needed = document(["show", "orm-lite"], capsys)["needs"]
    assert needed is None if SHIPPED_WEIGHTS.is_file() else "no weights ship" in needed


def test_tasks_are_those_of_the_place(bench: Bench, tmp_path: Path, capsys: Out) -> None:
    assert [row["task_id"] for row in document(["list", "tasks", str(bench.root)], capsys)["tasks"]] == [
        "set-price"
    ]
    assert len(document(["list", "tasks", "desk"], capsys)["tasks"]) >= 6
    (bench.paths.tasks / "set-price" / "task.json").write_text("{", encoding="utf-8")
    broken = document(["list", "tasks", str(bench.paths.tasks)], capsys)["tasks"]
    assert "task.json" in broken[0]["problem"]
    assert "set-price" in printed(["list", "tasks", str(bench.paths.tasks)], capsys)
    assert "no suite" in printed(["list", "tasks", str(tmp_path / "none")], capsys, 2)
    starter.start("other", bench.paths.tasks)
    only = document(["list", "tasks", str(bench.paths.tasks / "other")], capsys)["tasks"]
    assert [row["task_id"] for row in only] == ["other"]


def test_episodes_and_the_queue(bench: Bench, capsys: Out) -> None:
    text = printed(["list", "episodes", str(bench.root)], capsys)
    assert "unclassified" in text
    assert "not verified" in text
    assert "1 of 2 episodes verified" in text
    queue = document(["list", "episodes", str(bench.root), "--needs", "category"], capsys)
    assert [row["episode_id"] for row in queue["episodes"]] == ["ep_1"]
    text = printed(["list", "episodes", str(bench.root), "--needs", "category"], capsys)
    assert "1 of 1 failed episode without a category" in text
    assert f"pyrite label {bench.root}/episodes/EPISODE" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "judgs"], "next: pyrite list judges"),
        (["list", "episodes"], "which bench?"),
        (["list", "agents", "desk"], "are not of a place"),
        (["list", "tasks", "--needs", "category"], "--needs category, for episodes"),
        (["list", "episodes", "x", "--needs", "sleep"], "--needs category, for episodes"),
        (["show", "screen-rulez"], "next: pyrite show screen-rules"),
        (["show", "nothing-like-it"], "next: pyrite list tasks"),
        (["show", "calc-set-cell-x", "desk"], "has no task"),
        (["schema", "metta"], "next: pyrite schema meta"),
        (["init", "judge", "x"], "pyrite init --help"),
        (["init", "task", "../x"], "not a task's name"),
        (["label", "nowhere", "--category", "F-CLAIM", "--annotator", "a"], "no such folder"),
        (["label", "nowhere", "--category", "F-CLAIM"], "--annotator"),
        (["label", "nowhere", "--category", "F-X", "--annotator", "a"], "F-UNCOMMITTED"),
    ],
)
def test_wrong_arguments_are_exit_2_and_say_what_to_type(
    arguments: list[str], message: str, capsys: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYRITE_ANNOTATOR", raising=False)
    assert message in printed(arguments, capsys, 2)
    assert document(arguments, capsys, 2)["error"]["what"]
    assert list(tmp_path.iterdir()) == []


# --- show


def test_an_episode_is_shown_whole_and_escaped(bench: Bench, capsys: Out) -> None:
    append_lines(
        bench.paths.labels,
        [_label("ep_1", "ana", comment=HOSTILE), _label("ep_1", "ben", category="F-CLAIM")],
    )
    folder = str(bench.paths.episode("ep_1").root)
    text = printed(["show", "ep_1", str(bench.root)], capsys)
    assert text == printed(["show", folder], capsys)
    for part in (
        "set the price of pears",
        "x=3 y=4",
        "labels conflict",
        "ana",
        "4.50",
        "\\x1b[2J",
        "\\u202e",
    ):
        assert part in text
    found = document(["show", folder], capsys)
    assert [one["step"] for one in found["actions"]] == [1, 2, 3]
    assert found["conflicting"] == ["F-CLAIM", "F-PARTIAL"]
    assert (found["truth"]["pass"], found["truth"]["category"], found["problems"]) == (False, None, [])
    assert document(["show", "ep_2", str(bench.root)], capsys)["truth"] is None
    assert "not verified" in printed(["show", "ep_2", str(bench.root)], capsys)


def _label(episode_id: str, who: str, **more: Any) -> Any:
    from pyrite.records import Label

    return Label.model_validate({"episode_id": episode_id, "annotator": who, "category": "F-PARTIAL", **more})


def test_what_cannot_be_read_is_a_problem_not_the_end(bench: Bench, capsys: Out) -> None:
    paths = bench.paths.episode("ep_1")
    paths.truth.write_text("{", encoding="utf-8")
    paths.actions.unlink()
    (bench.root / "labels.jsonl").write_text("nonsense\n", encoding="utf-8")
    bench.paths.verdicts.mkdir()
    (bench.paths.verdicts / "x__y.jsonl").write_text("nonsense\n", encoding="utf-8")
    shutil.rmtree(bench.paths.tasks)
    found = document(["show", str(paths.root)], capsys)
    assert [found[part] for part in ("truth", "actions", "instruction", "verdicts")] == [None, None, None, []]
    told = " ".join(found["problems"])
    assert all(name in told for name in ("gt.json", "actions.jsonl", "labels.jsonl", "x__y.jsonl"))
    assert "null: actions.jsonl cannot be read" in printed(["show", str(paths.root)], capsys)


def test_a_long_episode_is_shown_from_both_ends(episodes: Episodes, capsys: Out) -> None:
    episodes.add("ep_1", [{"action": "wait", "seconds": n} for n in range(300)], colours=[0] * 301)
    text = printed(["show", "ep_1", str(episodes.bench.root)], capsys)
    assert "250 steps left out" in text
    assert "seconds=299" in text
    assert text.count("\n") < 80


def test_a_task_by_path_by_place_and_by_suite(bench: Bench, capsys: Out) -> None:
    folder = bench.paths.tasks / "set-price"
    by_path = document(["show", str(folder)], capsys)
    assert by_path == document(["show", "set-price", str(bench.root)], capsys)
    assert by_path == document(["show", "set-price", str(bench.paths.tasks)], capsys)
    text = printed(["show", str(folder)], capsys)
    assert by_path["verifier_sha256"] in text
    assert "F-ABORT F-CLAIM F-UNCOMMITTED" in text
    assert "set cell D14" in printed(["show", "calc-set-cell-q3-budget-d14"], capsys)
    assert "no task" in printed(["show", "other", str(bench.paths.tasks)], capsys, 2)
    assert "pyrite list episodes bench" in printed(["show", str(bench.root)], capsys, 2)
    assert "no episode and no task" in printed(["show", "../ep_1", str(bench.root)], capsys, 2)


def test_a_judge_with_everything_that_can_change_its_answers(capsys: Out) -> None:
    found = document(["show", "claim"], capsys)
    assert (found["deterministic"], found["conditions"]) == (True, ["E2+claim"])
    assert found["settings"]["judge"] == "claim"
    assert found["config"] in printed(["show", "claim"], capsys)
    assert "cannot be loaded" in printed(["show", "no_such_module:Judge"], capsys, 2)


# --- init


def test_init_writes_names_and_goes_on(tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = printed(["init", "task", "mine"], capsys)
    assert "pyrite show tasks/mine" in text
    assert "pyrite record tasks --only mine" in text
    assert (tmp_path / "tasks" / "mine" / "states" / "good.sh").is_file()
    assert "there already" in printed(["init", "task", "mine"], capsys, 2)
    found = document(["init", "task", "mine", "-o", "other"], capsys)
    assert "verify.py" in found["files"]
    assert run(["record", "tasks", "--only", "mine", "--agent", "idle,quitter", "--dry-run"]) == 0
    assert "2 episodes" in capsys.readouterr().out


# --- label


def test_a_label_changes_the_list_the_outcomes_and_no_file_but_its_own(bench: Bench, capsys: Out) -> None:
    folder = bench.paths.episode("ep_1").root
    before = {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}
    text = printed(["label", str(folder), "--category", "F-PARTIAL", "--annotator", "ana"], capsys)
    assert "counts   fail, category F-PARTIAL, from the person" in text
    assert {path for path in bench.root.rglob("*") if path.is_file()} - before.keys() == {bench.paths.labels}
    assert all(path.read_bytes() == data for path, data in before.items())
    assert "F-PARTIAL, person" in printed(["list", "episodes", str(bench.root)], capsys)
    assert document(["outcomes", str(bench.root)], capsys)["labels"]["classified"] == {"ep_1": "F-PARTIAL"}
    assert "0 of 1 failed" in printed(["list", "episodes", str(bench.root), "--needs", "category"], capsys)
    added = document(["label", str(folder), "--category", "F-ABORT", "--annotator", HOSTILE[:20]], capsys)
    assert (added["category"], added["conflicting"]) == (None, ["F-ABORT", "F-PARTIAL"])
    assert "nothing yet" in printed(["label", str(folder), "--outcome", "fail", "--annotator", "x"], capsys)


def test_the_annotator_may_stand_in_the_environment(
    bench: Bench, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYRITE_ANNOTATOR", "ana")
    added = document(["label", str(bench.paths.episode("ep_2").root), "--outcome", "pass"], capsys)
    assert (added["label"]["annotator"], added["outcome"]) == ("ana", None)


# --- manifest, schema


def test_manifest_writes_checks_and_fails_with_exit_1(bench: Bench, capsys: Out) -> None:
    assert "--check" in printed(["manifest", str(bench.root), "--quiet"], capsys)
    assert document(["manifest", str(bench.root), "--check", "--quiet"], capsys)["ok"] is True
    assert "as listed" in printed(["manifest", str(bench.root), "--check", "--quiet"], capsys)
    path = bench.paths.episode("ep_1").meta
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    (bench.root / "a\x1b[2Jb").write_text("x", encoding="utf-8")
    assert run(["manifest", str(bench.root), "--check", "--quiet"]) == 1
    text = capsys.readouterr().out
    assert "changed  episodes/ep_1/meta.json" in text
    assert "extra    a\\x1b[2Jb" in text
    assert "1 changed, 1 extra" in text
    found = document(["manifest", str(bench.root), "--check", "--quiet"], capsys, 1)
    assert (found["ok"], list(found["changed"])) == (False, ["episodes/ep_1/meta.json"])


def test_a_schema_is_printed_bare_or_with_its_file(capsys: Out) -> None:
    assert run(["schema", "truth"]) == 0
    bare = json.loads(capsys.readouterr().out)
    assert bare["properties"]["pass"]
    wrapped = document(["schema", "truth"], capsys)
    assert (wrapped["schema"], wrapped["form"]) == (bare, "document")
    names = [one["name"] for one in document(["schema"], capsys)["schemas"]]
    text = printed(["schema"], capsys)
    assert {"task", "meta", "truth", "label", "verdict", "config", "report"} <= set(names)
    assert all(name in text for name in names)


def test_from_a_new_task_over_verify_to_a_label(
    episodes: Episodes, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deleted file fits no code: verify leaves the failure open, a person classifies it, and it stays."""
    monkeypatch.chdir(episodes.bench.root.parent)
    assert run(["init", "task", "set-price", "-o", "bench/tasks"]) == 0
    episodes.add("ep_1", [{"action": "done"}], task_id="set-price", ended_by="done")
    home = Path("home")
    (home / "Documents").mkdir(parents=True)
    archive.write(home, episodes.bench.paths.episode("ep_1").final_state)
    assert run(["verify", "bench", "--quiet", "-j", "1"]) == 0
    written = episodes.bench.paths.episode("ep_1").truth.read_bytes()
    capsys.readouterr()
    assert "1 of 1 failed" in printed(["list", "episodes", "bench", "--needs", "category"], capsys)
    assert run(["label", "bench/episodes/ep_1", "--category", "F-SIDEEFFECT", "--annotator", "ana"]) == 0
    assert run(["verify", "bench", "--quiet", "-j", "1", "--force"]) == 0
    assert episodes.bench.paths.episode("ep_1").truth.read_bytes() == written
    capsys.readouterr()
    assert "1 F-SIDEEFFECT" in printed(["outcomes", "bench"], capsys)
    assert run(["measure", "bench", "--json"]) in {0, 3}
    measured = json.loads(capsys.readouterr().out)
    assert measured["strata"]["scripted"]["categories"] == {"F-SIDEEFFECT": 1}
    assert measured["labels"]["classified"] == {"ep_1": "F-SIDEEFFECT"}


def test_a_folder_that_is_nothing_of_ours_is_said_to_be_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    assert "photos: this is no episode, task or bench" in printed(["show", "photos"], capsys, code=2)


def test_a_suite_that_is_not_there_names_no_new_bench(capsys: Out) -> None:
    text = printed(["record", "nosuite"], capsys, code=2)
    assert text.startswith("error: no suite and no folder of tasks: 'nosuite'")
