"""Drift: a replay that leaves the recorded course before its defect is dropped, and counted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pyrite.episodes import jobs
from pyrite.episodes.course import TOLERANCE, Course, Drifted, difference, marks
from pyrite.episodes.shipped import unpack
from pyrite.records import Action, Truth
from pyrite.stages.secrecy import secrets
from pyrite.store.bench import Bench
from pyrite.store.images import save_webp
from pyrite.store.jsonl import write_record
from pyrite.suites.lookup import Lookup

RECORDED = [Action(action="type", text=word) for word in "abc"]


def recorded(recorder: Callable[..., Any], tmp_path: Path) -> Any:
    """A recording of three words, out of the way of what is replayed next."""
    made = recorder(Course("scripted", RECORDED, None), source="scripted")
    goal = tmp_path / "recorded"
    shutil.move(made.folder, goal)
    made.folder = goal
    return made


def replayed(recorder: Callable[..., Any], first: Any, actions: list[Action]) -> Any:
    found = marks(first.folder, first.lines, actions)
    return recorder(Course("scripted", actions, None, marks=found), source="perturbed"), found


def test_a_replay_on_its_course_goes_on(recorder: Any, tmp_path: Path) -> None:
    first = recorded(recorder, tmp_path)
    made, found = replayed(recorder, first, [*RECORDED[:2], Action(action="type", text="z")])
    assert len(found) == 3
    assert made.meta.ended_by == "done"


def test_another_screen_before_the_defect_is_drift_and_leaves_nothing(recorder: Any, tmp_path: Path) -> None:
    first = recorded(recorder, tmp_path)
    save_webp(Image.new("RGB", (80, 60), (99, 0, 0)), first.folder / "screens" / "002.webp")
    with pytest.raises(Drifted, match="after action 2: 100"):
        replayed(recorder, first, RECORDED[:2])
    assert list((tmp_path / "episodes").iterdir()) == []


def test_another_screen_after_the_defect_is_none(recorder: Any, tmp_path: Path) -> None:
    first = recorded(recorder, tmp_path)
    save_webp(Image.new("RGB", (80, 60), (99, 0, 0)), first.folder / "screens" / "003.webp")
    made, _ = replayed(recorder, first, RECORDED[:2])
    assert made.meta.ended_by == "done"


def test_an_action_that_could_be_carried_out_then_and_now_not_is_drift(recorder: Any, tmp_path: Path) -> None:
    first = recorded(recorder, tmp_path)
    far = Action(action="click", x=500, y=1)
    first.lines[0] = first.lines[0].model_copy(update={"action": "click", "x": 500.0, "y": 1.0, "text": None})
    with pytest.raises(Drifted, match="after action 1"):
        replayed(recorder, first, [far, *RECORDED[1:]])


def test_a_screen_outside_of_the_episode_is_not_opened(recorder: Any, tmp_path: Path) -> None:
    first = recorded(recorder, tmp_path)
    first.lines[1] = first.lines[1].model_copy(update={"screen": "../../etc/passwd"})
    assert len(marks(first.folder, first.lines, RECORDED)) == 2


def test_the_difference_is_a_share_of_pixels() -> None:
    one = Image.new("RGB", (100, 100))
    other = one.copy()
    other.putpixel((3, 3), (0, 0, 1))
    assert difference(one, one) == 0
    assert difference(one, other) == pytest.approx(1e-4)
    assert difference(one, one.resize((100, 99))) == 1
    assert difference(one, other) < TOLERANCE


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return unpack(tmp_path_factory.mktemp("shipped") / "demo")


def test_in_the_shipped_episodes_no_replay_would_have_been_dropped(
    demo: Bench, record_property: Callable[[str, object], None]
) -> None:
    compared = 0
    for name in demo.episode_ids():
        meta = demo.meta(name)
        if meta.parent is None:
            continue
        parent, own = list(demo.actions(meta.parent)), list(demo.actions(name))
        found = marks(demo.paths.episode(meta.parent).root, parent, own)
        for line, mark in zip(own, found[1:], strict=False):
            assert line.screen is not None
            screen = Image.open(demo.paths.episode(name).root / line.screen)
            assert difference(Image.open(mark.screen), screen) <= TOLERANCE
            compared += 1
    assert compared >= 50
    record_property(
        "figure", f"replayed screens before the defect: 0 of {compared} drifted (shipped episodes)"
    )


def test_every_operator_is_planned_or_says_what_it_needs(demo: Bench) -> None:
    planned, skipped = jobs.plan_perturbed(demo, Lookup(demo), "all")
    assert {job.order.perturbation for job in planned} >= {
        "drop-save",
        "side-effect",
        "claim-only",
    }
    assert all(job.marks for job in planned)
    assert all(job.order.message_kind for job in planned)
    only = [job for job in planned if job.order.perturbation == "claim-only"]
    assert {job.order.message_kind for job in only} == {"asserts"}
    assert all("it needs:" in one.reason for one in skipped)


def truth(bench: Bench, name: str, outcome: str) -> None:
    passed = {"pass": True, "fail": False}[outcome]
    found = Truth.model_validate({"episode_id": name, "outcome": outcome, "pass": passed})
    write_record(bench.paths.episode(name).truth, found)


def test_what_passes_is_perturbed_and_what_fails_is_not(demo: Bench, tmp_path: Path) -> None:
    bench = unpack(tmp_path / "demo")
    metas = [bench.meta(name) for name in bench.episode_ids()]
    scripted = [meta for meta in metas if (meta.agent.name, meta.source) == ("scripted", "scripted")]
    hasty = next(meta for meta in metas if meta.agent.name == "hasty")
    truth(bench, scripted[0].episode_id, "fail")
    truth(bench, hasty.episode_id, "pass")
    planned, _ = jobs.plan_perturbed(bench, Lookup(bench), "claim-only")
    parents = {job.order.parent for job in planned}
    assert parents == {hasty.episode_id, *(meta.episode_id for meta in scripted[1:])}


def test_an_episode_of_a_changed_task_is_not_perturbed_and_stays(demo: Bench, tmp_path: Path) -> None:
    bench = unpack(tmp_path / "demo")
    planned, _ = jobs.plan_perturbed(bench, Lookup(bench), "drop-save")
    parent = planned[0].order.parent
    assert parent is not None
    meta = bench.meta(parent)
    write_record(bench.paths.episode(parent).meta, meta.model_copy(update={"task_digest": "0" * 64}))
    again, skipped = jobs.plan_perturbed(bench, Lookup(bench), "drop-save")
    assert parent not in {job.order.parent for job in again}
    assert [one.reason for one in skipped if one.episode_id == parent] == [
        f"task {meta.task_id} was changed since it was recorded: record it anew"
    ]
    assert jobs.set_aside(bench, again) == []


def test_what_was_taken_away_and_the_kind_of_message_are_looked_for_in_packages(demo: Bench) -> None:
    meta = demo.meta(demo.episode_ids()[0])
    marked = meta.model_copy(update={"weakened": "budget=4", "message_kind": "hedged"})
    assert {"budget=4", "hedged"} <= set(secrets(demo, marked).names)
    assert "hedged" not in secrets(demo, meta).names
