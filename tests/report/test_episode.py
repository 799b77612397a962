"""The page of one episode: whole, bounded, escaped, and what it says where something is missing."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pyrite import flow
from pyrite.cli import run
from pyrite.errors import InputError, UsageError
from pyrite.records import ActionLine, Facts, Label, Process, Verdict, Window
from pyrite.report import episode, episode_data, frames
from pyrite.report.episode import Viewed
from pyrite.store.bench import Bench
from pyrite.store.images import save_png, save_webp
from pyrite.store.jsonl import append_lines, write_json, write_record

SCRIPT = "<script>alert(1)</script>"
YES, NO = Verdict.SUCCESS, Verdict.FAILURE


def folder(bench: Bench, episode_id: str) -> Path:
    return bench.paths.episode(episode_id).root


def look(lab: Any, viewed: Viewed) -> Any:
    """The page, parsed and checked: balanced, nothing runs, nothing is fetched."""
    page = lab.page(viewed.html.read_text(encoding="utf-8"))
    lab.safe(page)
    for tag, attributes in page.tags:
        if tag == "image":
            assert str(attributes["href"]).startswith("data:image/webp;base64,")
    assert not re.search(r"(?<!\\)\b(NaN|nan|None|inf)\b", page.text)
    return page


def acted(bench: Bench, episode_id: str, actions: list[dict[str, Any]], **meta: Any) -> Path:
    """Give an episode these actions, a new picture after each unless it names its own."""
    paths = bench.paths.episode(episode_id)
    save_webp(Image.new("RGB", (64, 48), (9, 9, 9)), paths.screens / "000.webp")
    lines = []
    for step, action in enumerate(actions, 1):
        given = {"screen": f"screens/{step:03d}.webp", **action}
        if given["screen"] == f"screens/{step:03d}.webp":
            save_webp(Image.new("RGB", (64, 48), (step, 40, 90)), paths.root / given["screen"])
        lines.append(ActionLine(step=step, **given))
    paths.actions.unlink()
    append_lines(paths.actions, lines)
    return paths.root


def test_the_page_of_an_unsaved_episode(lab: Any) -> None:
    bench = lab.four()
    before = {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}
    viewed = flow.view(folder(bench, "e2"))
    assert viewed.html == bench.root / "view" / "e2.html"
    assert (viewed.outcome, viewed.category, viewed.steps) == ("fail", "F-UNCOMMITTED", 1)
    assert (viewed.accepts, viewed.verdicts) == (1, 1)
    page = look(lab, viewed)
    assert "1 of 1 verdicts of judges accept it" in page.text
    assert "In Documents/budget.ods set D14 to 1950" in page.text
    assert "100 of 76,800 pixels differ from the last screen of e1" in " ".join(page.text.split())
    assert "“Done, the file has been saved.”" in page.text
    assert "D14 reads 1950" in page.text
    assert "null: no final_facts.json" in page.text
    assert page.text.count("success") >= 2
    after = {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}
    assert after.keys() - before.keys() == {viewed.html}
    assert all(after[path] == data for path, data in before.items())
    assert flow.view(folder(bench, "e2")).html.read_bytes() == after[viewed.html]


def test_a_passed_and_an_indeterminate_one(lab: Any) -> None:
    bench = lab.bench([lab.made("a"), lab.made("b", outcome="indeterminate", cause="gold_failed")])
    lab.judge(bench, "vlm", {"a": NO, "b": YES})
    assert "1 of 1 verdicts of judges reject it" in look(lab, flow.view(folder(bench, "a"))).text
    page = look(lab, flow.view(folder(bench, "b")))
    assert "indeterminate (gold_failed, blame verifier): no verdict on it is right or wrong" in page.text
    assert "neither right nor wrong: the truth is not known" in page.text


def test_an_episode_that_is_not_verified_still_shows_its_verdicts(lab: Any) -> None:
    bench = lab.bench([lab.made("a"), lab.made("b")])
    lab.judge(bench, "vlm", {"a": NO})
    bench.paths.episode("a").truth.unlink()
    viewed = flow.view(folder(bench, "a"))
    page = look(lab, viewed)
    assert viewed.outcome is None
    assert "This episode is not verified" in page.text
    assert "null: not verified yet, no gt.json" in page.text
    assert "failure" in page.text


def test_a_category_of_a_person_is_shown_as_such(lab: Any) -> None:
    bench = lab.bench([lab.made("a", outcome="fail")])
    append_lines(bench.paths.labels, [Label(episode_id="a", annotator="p", category="F-PARTIAL")])
    viewed = flow.view(folder(bench, "a"))
    assert viewed.category == "F-PARTIAL"
    assert "its category by a person" in look(lab, viewed).text


def test_shortcuts_are_shown_and_not_counted(lab: Any) -> None:
    bench = lab.bench([lab.made("a", outcome="fail", category="F-CLAIM")])
    lab.judge(bench, "accept-all", {"a": YES})
    viewed = flow.view(folder(bench, "a"))
    assert (viewed.accepts, viewed.verdicts) == (0, 0)
    page = look(lab, viewed)
    assert "no judge was asked" in page.text
    assert "accept-all" in page.text


def test_the_action_is_drawn_on_the_screen_before_it(lab: Any) -> None:
    bench = lab.bench([lab.made("a")])
    root = acted(
        bench,
        "a",
        [
            {"action": "click", "x": 12, "y": 30},
            {"action": "drag", "x": 1, "y": 2, "to_x": 60, "to_y": 40},
            {"action": "type", "text": "4500"},
            {"action": "wait", "seconds": 1},
            {"action": "done"},
        ],
    )
    page = look(lab, flow.view(root))
    assert "Step 3, the action on the screen it was taken from" in page.text
    assert "the last action before the end" in page.text
    first = flow.view(root, step=1)
    assert first.html.name == "a.step1.html"
    page = look(lab, first)
    assert "Step 1, the action on the screen it was taken from" in page.text
    circles = [
        (a["cx"], a["cy"]) for tag, a in page.tags if tag == "circle" and "halo" in str(a.get("class"))
    ]
    assert circles == [("12", "30")]
    with pytest.raises(UsageError, match="no step 9") as caught:
        flow.view(root, step=9)
    assert caught.value.expected == "a step from 1 to 5"


def test_equal_frames_are_embedded_once_and_said_to_be_unchanged(lab: Any) -> None:
    bench = lab.bench([lab.made("a")])
    root = acted(bench, "a", [{"action": "key", "keys": "a", "screen": "screens/000.webp"}] * 30)
    save_png(Image.new("RGB", (64, 48), (9, 9, 9)), root / "screens" / "same.png")
    append_lines(root / "actions.jsonl", [ActionLine(step=31, action="done", screen="screens/same.png")])
    page = look(lab, flow.view(root))
    assert sum(tag == "image" for tag, _ in page.tags) == 2
    assert page.text.count("screen unchanged") == 31
    assert "The same picture as above" in page.text


def test_missing_and_broken_screens_say_why(lab: Any, tmp_path: Path) -> None:
    bench = lab.bench([lab.made("a")])
    outside = tmp_path / "secret.png"
    save_png(Image.new("RGB", (8, 8)), outside)
    wide = Image.new("L", (9000, 5000))
    names = ["none.webp", "broken.webp", "link.png", "../../../secret.png", "huge.png", "fifo", "nul\0.png"]
    root = acted(bench, "a", [{"action": "wait", "screen": f"screens/{name}"} for name in names])
    (root / "screens" / "broken.webp").write_bytes(b"RIFF....WEBPVP8 nonsense")
    (root / "screens" / "link.png").symlink_to(outside)
    wide.save(root / "screens" / "huge.png")
    os.mkfifo(root / "screens" / "fifo")
    append_lines(root / "actions.jsonl", [ActionLine(step=8, action="done")])
    page = look(lab, flow.view(root))
    for reason in ("no such file", "not an image", "leaves the episode", "9000 x 5000 pixels", "no screen"):
        assert f"null: {reason}" in page.text or reason in page.text
    assert "0x" not in page.text
    assert sum(tag == "image" for tag, _ in page.tags) == 2, "the start, small and in full"


@pytest.mark.parametrize("size", [(1, 16000), (16000, 1), (1, 1), (3840, 2160)])
def test_screens_of_any_shape(lab: Any, size: tuple[int, int]) -> None:
    bench = lab.bench([lab.made("a", screen=Image.new("RGB", size, (20, 30, 40)))])
    page = look(lab, flow.view(folder(bench, "a")))
    assert f"0 0 {size[0]} {size[1]}" in [attributes.get("viewbox") for _, attributes in page.tags]


def test_many_steps_are_bounded_and_counted(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_data, "FIRST_STEPS", 60)
    bench = lab.bench([lab.made("a")])
    root = acted(bench, "a", [])
    lines = [
        ActionLine(step=i, action="key", keys=f"k{i}x", screen="screens/000.webp") for i in range(1, 401)
    ]
    append_lines(root / "actions.jsonl", lines)
    viewed = flow.view(root)
    page = look(lab, viewed)
    assert viewed.steps == 400
    assert "240 steps are not shown here" in page.text
    for number, shown in ((1, True), (60, True), (61, False), (300, False), (301, True), (400, True)):
        assert (f"k{number}x" in page.text) is shown
    assert "Step 400, the action" in page.text
    assert "Step 200, the action" in look(lab, flow.view(root, step=200)).text


def test_the_bytes_and_pixels_of_a_page_are_bounded(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = lab.bench([lab.made("a")])
    root = acted(bench, "a", [{"action": "wait"} for _ in range(20)])
    monkeypatch.setattr(frames, "PAGE_BYTES", 1000)
    assert "not shown: the page is full" in look(lab, flow.view(root)).text
    monkeypatch.setattr(frames, "PIXEL_BUDGET", 5 * 64 * 48)
    page = look(lab, flow.view(root))
    assert "too many pixels for one page" in page.text


def hostile_bench(lab: Any, text: str) -> Path:
    bench = lab.bench(
        [
            lab.made(
                "a",
                agent=text,
                message=text,
                perturbation=text,
                parent=text,
                outcome="fail",
                category="F-CLAIM",
                diagnostics={"file": text, "expected": text, "found": text, text: [text], "damage": [text]},
                screen=lab.screen(),
            )
        ],
        instruction=text,
        name="a <b> 'bench'",
    )
    lab.judge(bench, text, {"a": YES}, reason=text, condition=text)
    root: Path = acted(
        bench,
        "a",
        [
            {"action": text, "text": text, "keys": text, "thought": text, "error": text, "screen": text},
            {"action": "click", "x": 1, "y": 1, "text": text},
        ],
    )
    facts = Facts(
        windows=(Window(title=text, wm_class=text),),
        processes=(Process(exe=text, argv=(text,)),),
        unsaved=None,
    )
    write_record(root / "final_facts.json", facts)
    return root


@pytest.mark.parametrize(
    "hostile",
    [
        SCRIPT,
        "\"><img src=x onerror='alert(1)'>",
        "name with 'quotes' and \"more\"\nand a line\u202eexe.txt\x1b[31m",
        "{{ 7 * 7 }}{% raw %}</style></title></svg>",
        "&lt;b&gt; &amp; ]]> --> <!--",
    ],
)
def test_hostile_text_is_text(lab: Any, hostile: str) -> None:
    page = look(lab, flow.view(hostile_bench(lab, hostile)))
    assert page.text.count(hostile.split("\n")[0][:12]) >= 12


def test_huge_text_is_cut(lab: Any) -> None:
    root = hostile_bench(lab, "x" * 3000)
    viewed = flow.view(root)
    assert "x" * 601 not in look(lab, viewed).text
    assert viewed.html_bytes < 120_000


@pytest.mark.parametrize(
    ("name", "data", "part"),
    [
        ("actions.jsonl", '{"step": 1, "action": "done"}\n{"step": "x"}\n', "actions"),
        ("actions.jsonl", None, "actions"),
        ("final_facts.json", "[1", "facts"),
        ("gt.json", '{"outcome": "maybe"}', "truth"),
    ],
)
def test_a_broken_part_is_a_reason_and_the_rest_is_shown(
    lab: Any, name: str, data: str | None, part: str
) -> None:
    bench = lab.four()
    path = folder(bench, "e2") / name
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_text(data, encoding="utf-8")
    viewed = flow.view(folder(bench, "e2"))
    assert set(viewed.problems) >= {part}
    page = look(lab, viewed)
    assert viewed.problems[part].split(":")[-1].strip()[:20] in page.text
    assert "“Done, the file has been saved.”" in page.text


def test_verdicts_that_contradict_each_other_are_a_reason(lab: Any) -> None:
    bench = lab.four()
    path = bench.paths.verdict_file("accept-all", "E1-final")
    path.write_bytes(path.read_bytes() * 2)
    viewed = flow.view(folder(bench, "e2"))
    assert "stands already" in viewed.problems["verdicts"]
    assert "null: no verdicts" in look(lab, viewed).text


def test_a_link_in_the_place_of_a_file_is_not_followed_out(lab: Any, tmp_path: Path) -> None:
    bench = lab.four()
    secret = tmp_path / "secret.json"
    write_json(secret, {"unsaved": True, "windows": [{"title": "the secret title"}]})
    (folder(bench, "e2") / "final_facts.json").symlink_to(secret)
    viewed = flow.view(folder(bench, "e2"))
    assert "leaves the episode" in viewed.problems["facts"]
    assert "the secret title" not in look(lab, viewed).text


def test_an_episode_outside_a_bench(lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = lab.four()
    alone = tmp_path / "elsewhere" / "renamed"
    folder(bench, "e2").parent.mkdir(exist_ok=True)
    alone.parent.mkdir()
    folder(bench, "e2").rename(alone)
    monkeypatch.chdir(tmp_path)
    viewed = flow.view(alone)
    assert viewed.html == Path("e2.html")
    page = look(lab, viewed)
    assert "null: the folder does not lie in a bench" in page.text
    assert "F-UNCOMMITTED" in page.text
    assert (viewed.accepts, viewed.verdicts) == (0, 0)


def test_nothing_is_written_among_episodes_or_over_another_file(lab: Any, tmp_path: Path) -> None:
    bench = lab.four()
    root = folder(bench, "e2")
    for out in (root / "x.html", root, root.parent / "y.html"):
        with pytest.raises(UsageError, match="not written where episodes are"):
            flow.view(root, out=out)
    with pytest.raises(UsageError, match="not the name of a page"):
        flow.view(root, out=bench.paths.lock, force=True)
    mine = tmp_path / "mine.html"
    mine.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="not this page"):
        flow.view(root, out=mine)
    assert mine.read_text(encoding="utf-8") == "mine"
    assert flow.view(root, out=mine, force=True).html == mine
    flow.view(root, out=mine)
    with pytest.raises(UsageError, match="not this page"):
        flow.view(root, out=mine, step=1)
    with pytest.raises(UsageError, match="not this page"):
        flow.view(folder(bench, "e3"), out=mine)
    assert flow.view(root, out=tmp_path).html == tmp_path / "e2.html"


def test_a_meta_of_another_episode_is_an_error(lab: Any) -> None:
    bench = lab.four()
    folder(bench, "e2").rename(bench.paths.episodes / "e9")
    with pytest.raises(InputError, match="episode_id is 'e2'"):
        flow.view(bench.paths.episodes / "e9")


def test_the_verb(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bench = lab.four()
    assert run(["view", str(folder(bench, "e2")), "-q"]) == 0
    assert str(bench.root / "view" / "e2.html") in capsys.readouterr().out
    assert run(["view", str(folder(bench, "e2")), "--json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["outcome"], document["schema_version"]) == ("fail", "1")
    for path, said in ((bench.root, "this is a bench"), (bench.root / "no", "no such folder")):
        assert run(["view", str(path)]) == 2
        seen = capsys.readouterr()
        assert said in seen.err
        assert "next: pyrite" in seen.err
        assert seen.out == ""
    assert f"{bench.root}/episodes/e1" in _error(bench.root, capsys)


def _error(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    run(["view", str(path)])
    return capsys.readouterr().err


def test_reasons_that_are_equal_are_given_once(lab: Any) -> None:
    bench = lab.four()
    lab.judge(bench, "screen-rules", {"e2": YES}, reason="D14 reads 1950", condition="E3-full")
    found = episode.reasons(episode_data.read_episode(episode.locate(folder(bench, "e2"))).verdicts)
    assert found == [("screen-rules", "E1-final, E3-full", "D14 reads 1950")]
