"""Episodes out as folders of fara and in again: the same actions, screens and end; nothing changes kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.formats.folders import fara
from tests.formats.test_fara import shared

from pyrite.cli import run
from pyrite.formats.fara import read
from pyrite.formats.fara_bench import episode_id, import_runs, page
from pyrite.formats.fara_runs import write_runs
from pyrite.records import SCHEMA_VERSION, ActionLine, Agent, Meta
from pyrite.store.bench import Bench
from pyrite.store.images import open_image, pixels_sha256
from pyrite.store.jsonl import append_lines, write_json, write_record


def again(bench: Path, folder: Path) -> Bench:
    """Out, and in again."""
    done = write_runs(Bench(bench), folder / "out")
    assert done.broken == {}
    import_runs(folder / "out", folder / "again")
    return Bench(folder / "again")


def files(bench: Bench) -> dict[str, bytes]:
    root = bench.paths.episodes
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_recorded_run_comes_back_byte_by_byte(tmp_path: Path) -> None:
    example = shared("fara-universal-verifier-example")
    import_runs(example, tmp_path / "bench")
    assert files(again(tmp_path / "bench", tmp_path)) == files(Bench(tmp_path / "bench"))
    (folder,) = (tmp_path / "out").iterdir()
    for number in range(1, 5):
        name = f"screenshot_{number}.png"
        assert (folder / name).read_bytes() == (example / name).read_bytes()
    wrote, found = read(folder), read(example)
    assert (wrote.actions[1].name, wrote.task) == (found.actions[1].name, found.task)
    assert [one.thought for one in wrote.actions] == [one.thought for one in found.actions]
    assert [dict(one.arguments) for one in wrote.actions] == [dict(one.arguments) for one in found.actions]
    assert (wrote.end, wrote.final_answer) == ("terminated", found.final_answer)
    assert "pyrite" not in (folder / "web_surfer.log").read_text("utf-8"), "its own words are enough"


@pytest.mark.parametrize("text_log", [False, True])
def test_three_ends_and_what_does_not_fit_come_back(tmp_path: Path, text_log: bool) -> None:
    runs = tmp_path / "runs"
    fara(runs, "done", text_log=text_log)
    fara(runs / "deep", "er", text_log=text_log)
    fara(runs, "over", answer=None, text_log=text_log)
    fara(runs, "lost", answer=None, aborted=True, text_log=text_log)
    fara(runs, "mute", answer="", final_answer="", text_log=text_log)
    fara(runs, "surplus", (1, 2, 3, 4, 5), actions=2, text_log=text_log)
    gone = fara(runs, "gone", (1, 2, 3, 4), text_log=text_log)
    (gone / "screenshot_3.png").unlink()
    import_runs(runs, tmp_path / "bench")
    before, after = Bench(tmp_path / "bench"), again(tmp_path / "bench", tmp_path)
    assert before.episode_ids() == after.episode_ids()
    told = ("ended_by", "final_message", "screen_files", "origin_id", "created_at", "source", "task_id")
    for name in before.episode_ids():
        assert before.actions(name) == after.actions(name)
        one, other = before.meta(name), after.meta(name)
        assert [getattr(one, key) for key in told] == [getattr(other, key) for key in told]
    only = {name: data for name, data in files(before).items() if not name.endswith("meta.json")}
    assert only == {name: data for name, data in files(after).items() if not name.endswith("meta.json")}
    ends = {name: read(tmp_path / "out" / name).end for name in ("done", "over", "lost", "mute")}
    assert ends == {"done": "terminated", "over": "over budget", "lost": "aborted", "mute": "terminated"}


def test_screenshots_that_were_added_since_are_counted(tmp_path: Path) -> None:
    fara(tmp_path / "runs", "surplus", (1, 2, 3, 4), actions=2)
    import_runs(tmp_path / "runs", tmp_path / "bench")
    write_runs(Bench(tmp_path / "bench"), tmp_path / "out")
    for number in (8, 9):
        path = tmp_path / "out" / "surplus" / f"screenshot_{number}.png"
        Image.new("RGB", (64, 48), (0, 9 * number, 0)).save(path)
    import_runs(tmp_path / "out", tmp_path / "again")
    files = Bench(tmp_path / "again").meta(episode_id("surplus")).screen_files
    assert files is not None
    assert (files.files, files.unseen) == (5, 2)


def test_an_address_without_what_is_private() -> None:
    for given in ("https://ana:p@ss@shop.example/a@b", "https://ana@shop.example/a@b?x=1"):
        assert page(given) == "https://shop.example/a@b"
    assert page("view-source:ftp://u:p@host:21/") == "view-source:ftp://host:21/"
    for plain in ("https://shop.example/@ana", "mailto:ana@shop.example", "about:blank", ""):
        assert page(plain) == plain


ACTIONS: list[dict[str, Any]] = [
    {"action": "click", "x": 10.0, "y": 5.0},
    {"action": "double_click", "x": 10.5, "y": 5.0, "thought": "twice"},
    {"action": "drag", "x": 1.0, "y": 2.0, "to_x": 3.0, "to_y": 4.0},
    {"action": "scroll", "x": 1.0, "y": 2.0, "dx": 0.0, "dy": -3.0, "at": "2026-01-01T00:00:00Z"},
    {"action": "type", "text": "4500\nand \u2028 \x00", "error": "no field"},
    {"action": "key", "keys": "ctrl+s"},
    {"action": "wait", "seconds": 2.0},
    {"action": "launch", "app": "calc", "args": ["a.ods"]},
    {"action": "goto", "url": "https://shop.example/"},
    {"action": "raw", "text": "no words of fara"},
    {"action": "raw", "text": 'odd {"action": "inner", "thoughts": "x", "n": NaN}'},
    {"action": "raw", "text": 'odd {"action": "inner", "thoughts": "x"}', "of another harness": [1]},
    {"action": "answer", "text": "39"},
    {"action": "done"},
]


def desktop(root: Path, ended_by: Any, message: str | None, source: Any = "natural") -> Bench:
    """One episode as a harness of ours writes it: a frame that is shown again is there once, as WebP."""
    bench = Bench.create(root)
    paths = bench.paths.episode("ep_1")
    paths.screens.mkdir(parents=True)
    for number in (0, 1):
        Image.new("RGB", (64, 48), (9 * number, 0, 0)).save(
            paths.screens / f"{number:03d}.webp", lossless=True
        )
    lines = [
        ActionLine.model_validate({**one, "step": step, "screen": "screens/001.webp"})
        for step, one in enumerate(ACTIONS, 1)
    ]
    append_lines(paths.actions, lines)
    write_json(bench.paths.tasks / "t" / "task.json", {"instruction": "Set D14.\n\nStart page: one\ntwo"})
    (bench.paths.tasks / "t" / "verify.py").write_text("")
    meta = Meta(
        schema_version=SCHEMA_VERSION,
        episode_id="ep_1",
        task_id="t",
        source=source,
        agent=Agent(name="a"),
        n_steps=len(lines),
        created_at="2026-01-01T00:00:00Z",
        ended_by=ended_by,
        final_message=message,
    )
    write_record(paths.meta, meta)
    return bench


@pytest.mark.parametrize(
    ("ended_by", "message", "end"),
    [
        ("done", "It is set.", "terminated"),
        ("done", None, "terminated"),
        ("fail", "I could not.", "terminated"),
        ("step_limit", None, "over budget"),
        ("time_limit", "still at it", "over budget"),
        ("loop", None, "over budget"),
        ("environment_lost", None, "aborted"),
        (None, None, "terminated"),
    ],
)
def test_an_episode_of_the_desktop_comes_back_with_every_action_and_its_end(
    tmp_path: Path, ended_by: Any, message: str | None, end: str
) -> None:
    bench = desktop(tmp_path / "bench", ended_by, message, "perturbed")
    after = again(tmp_path / "bench", tmp_path)
    assert read(tmp_path / "out" / "ep_1").end == end
    (name,) = after.episode_ids()
    assert name == episode_id("ep_1")
    meta = after.meta(name)
    assert (meta.ended_by, meta.final_message, meta.source) == (ended_by, message, "perturbed")
    bare = {"screen"}
    assert [one.model_dump(exclude=bare) for one in after.actions(name)] == [
        one.model_dump(exclude=bare) for one in bench.actions("ep_1")
    ]
    shown = [pixels_sha256(open_image(after.inside(name, str(one.screen)))) for one in after.actions(name)]
    assert set(shown) == {pixels_sha256(open_image(bench.inside("ep_1", "screens/001.webp")))}
    task = json.loads(next(after.paths.tasks.glob("*/task.json")).read_text())
    assert task["instruction"] == "Set D14.\n\nStart page: one\ntwo"


def test_what_stands_beside_is_taken_only_where_it_fits(tmp_path: Path) -> None:
    """A folder is anybody's: what is no action, no source, or contradicts the answer is passed over."""
    folder = fara(tmp_path / "runs", "t1", pyrite={"ended_by": "environment_lost", "source": "scripted"})
    import_runs(tmp_path / "runs", tmp_path / "one")
    meta = Bench(tmp_path / "one").meta(episode_id("t1"))
    assert (meta.ended_by, meta.source) == ("done", "natural")
    answer = folder / "t1_final_answer.json"
    body = json.loads(answer.read_text())
    for number, wrong in enumerate(({"source": "gold"}, {"screen_files": [1]}, [], {"agent": {"name": "x"}})):
        answer.write_text(json.dumps({**body, "pyrite": wrong}))
        import_runs(tmp_path / "runs", tmp_path / f"two{number}")
        meta = Bench(tmp_path / f"two{number}").meta(episode_id("t1"))
        assert (meta.ended_by, meta.source, meta.agent.name) == ("done", "natural", "fara")
    log = folder / "web_surfer.log"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line, beside in zip(
        lines[1::2], ({"x": "far"}, {"action": "key", "step": 9, "screen": "../x"}, 3), strict=True
    ):
        line["pyrite"] = beside
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_runs(tmp_path / "runs", tmp_path / "three")
    found = Bench(tmp_path / "three").actions(episode_id("t1"))
    assert [(one.action, one.step, one.screen) for one in found] == [
        ("click", 1, "screens/001.png"),
        ("key", 2, "screens/002.png"),
        ("raw", 3, None),
    ]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, bench, out = tmp_path / "runs", tmp_path / "bench", tmp_path / "out"
    fara(runs, "t1")
    fara(runs, "t2")
    import_runs(runs, bench)
    asked = ["export", str(bench), "--to", "fara", "-o", str(out)]
    assert run(asked) == 0
    assert f"exported 2 folders to {out}, 0 were there" in capsys.readouterr().out
    answer = out / "t1" / "t1_final_answer.json"
    answer.unlink()  # as a killed export leaves it
    kept = (out / "t2" / "web_surfer.log").stat().st_mtime_ns
    assert run(asked) == 0
    assert "exported 1 folder" in capsys.readouterr().out
    assert answer.is_file()
    assert (out / "t2" / "web_surfer.log").stat().st_mtime_ns == kept
    meta = bench / "episodes" / episode_id("t2") / "meta.json"
    body = json.loads(meta.read_text())
    meta.write_text(json.dumps({**body, "origin_id": "../../outside"}))
    (bench / "episodes" / episode_id("t1") / "screens" / "000.png").unlink()
    assert run([*asked[:-1], str(tmp_path / "other"), "--json"]) == 3
    done = json.loads(capsys.readouterr().out)
    assert "leaves" in done["broken"][episode_id("t2")]
    assert "no screen before the first action" in done["broken"][episode_id("t1")]
    assert not (tmp_path / "outside").exists()


def test_verify_blames_no_task_of_an_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fara(tmp_path / "runs", "t1")
    bench = tmp_path / "bench"
    import_runs(tmp_path / "runs", bench)
    assert run(["verify", str(bench)]) == 3
    said = capsys.readouterr().out
    assert "1 imported: no end state was recorded and there is no verifier" in said
    assert "indeterminate: 1 state_missing (blame: environment)" in said
    assert f"pyrite diagnose {bench}" in said
    assert f"pyrite measure {bench} --truth labels" in said
    assert not list(bench.glob("suite_bugs*"))
    truth = json.loads((bench / "episodes" / episode_id("t1") / "gt.json").read_text())
    assert (truth["outcome"], truth["blame"]) == ("indeterminate", "environment")
    assert run(["verify", str(bench), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["without_truth"] == 1
    label = ["label", f"{bench}/episodes/{episode_id('t1')}", "--outcome", "pass", "--annotator", "ana"]
    assert run(label) == 0
    assert run(["judge", str(bench), "--judge", "accept-all", "--condition", "E3-full+claim"]) == 0
    assert run(["measure", str(bench), "--truth", "labels"]) == 0
