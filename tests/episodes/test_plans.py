"""Which episodes the plan `full` asks for, and what happens to those of a task that was changed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pyrite import flow
from pyrite.episodes import jobs, labels, plans
from pyrite.episodes.shipped import unpack
from pyrite.errors import StartError, UsageError
from pyrite.records import Action, Meta
from pyrite.store.bench import Bench
from pyrite.suites.lookup import Lookup, Origin, matching, open_origin

DESK = open_origin("desk")


def asked(per_family: int = plans.PER_FAMILY, seed: int = 0) -> dict[tuple[Origin, str], list[str]]:
    return plans.recorded(plans.sampled(matching(DESK, "*"), per_family, seed), seed)


def test_the_plan_is_large_enough_and_the_same_again() -> None:
    found = asked()
    assert found == asked()
    assert len(found) >= 96
    families = Counter(origin.task(task_id).spec.family for origin, task_id in found)
    assert set(families.values()) == {plans.PER_FAMILY}
    assert len(families) >= 20
    domains = {origin.task(task_id).spec.domain for origin, task_id in found}
    assert domains == {"files", "office", "settings", "web", "browser", "terminal"}


def test_who_acts_on_each_task() -> None:
    found = asked()
    resting = Counter(name for names in found.values() for name in names if name in {"idle", "quitter"})
    assert sum(resting.values()) == -(-len(found) // 3)
    assert abs(resting["idle"] - resting["quitter"]) <= 1
    for names in found.values():
        assert names[:2] == ["scripted", "hasty"]
        assert labels.parse(names[2]).source == "weakened"
    weakened = Counter(labels.parse(names[2]).weakening.kind for names in found.values())  # type: ignore[union-attr]
    assert set(weakened) == {"budget", "without", "unready"}
    assert min(weakened.values()) >= len(found) / 6


def test_who_acts_on_a_task_does_not_hang_on_which_others_are_chosen() -> None:
    whole = asked()
    for pattern in ("git-s*", "web-*", "calc-set-cell-headcount-c7"):
        tasks = plans.sampled(matching(DESK, pattern), plans.PER_FAMILY, 0)
        some = plans.recorded(tasks, 0, list(whole))
        assert some
        assert {task: some[task] for task in some if task in whole} == {
            task: whole[task] for task in some if task in whole
        }


def test_a_dry_run_refuses_what_the_run_refuses(tmp_path: Path) -> None:
    bench = unpack(tmp_path / "demo")
    for record in (flow.record, flow.record_plan):
        with pytest.raises(UsageError, match="recorded with seed 0, now seed is 1"):
            record("desk", bench.root, seed=1, dry_run=True, only="git-settings-*")


def test_another_seed_takes_other_tasks() -> None:
    assert set(asked(seed=1)) != set(asked())


def test_a_script_of_one_action_is_weakened_too() -> None:
    for drawn in range(6):
        name = plans.weakened([Action(action="type", text="x"), Action(action="done")], drawn)
        assert labels.parse(name).weakening is not None


def test_four_defects_of_a_task_and_of_no_other(tmp_path: Path) -> None:
    demo = unpack(tmp_path / "demo")
    found, _ = jobs.plan_perturbed(demo, Lookup(demo), "all")
    apply = Counter(job.task_id for job in found)
    tasks = sorted(task for task, n in apply.items() if n >= plans.DEFECTS_EACH)[:2]
    chosen = plans.chosen_defects(found, set(tasks))
    assert Counter(job.task_id for job in chosen) == dict.fromkeys(tasks, plans.DEFECTS_EACH)
    assert chosen == plans.chosen_defects(reversed(found), set(tasks))


def test_what_looks_like_success_is_drawn_more_often(tmp_path: Path) -> None:
    demo = unpack(tmp_path / "demo")
    found, _ = jobs.plan_perturbed(demo, Lookup(demo), "all")
    parents = [
        replace(job, order=replace(job.order, parent=f"{job.order.parent}-{n}"))
        for n in range(40)
        for job in found
    ]
    chosen = plans.chosen_defects(parents, {job.task_id for job in found}, each=1)
    assert len(chosen) == 40 * len({job.order.parent for job in found})
    unsaved = {job.task_id for job in found if job.order.perturbation == "drop-save"}
    drawn = Counter(job.order.perturbation for job in chosen if job.task_id in unsaved)
    assert len(unsaved) > 3
    assert drawn["drop-save"] > 4 * drawn["claim-only"] > 0


def changed(bench: Bench, name: str, digest: str) -> None:
    path = bench.paths.episode(name).meta
    path.write_text(json.dumps({**json.loads(path.read_text()), "task_digest": digest}))


def test_episodes_of_a_changed_task_are_set_aside_and_only_those(tmp_path: Path) -> None:
    bench = unpack(tmp_path / "demo")
    metas = [bench.meta(name) for name in bench.episode_ids()]
    task_id = metas[0].task_id
    own = [meta for meta in metas if meta.task_id == task_id]
    planned = jobs.plan(bench.root, [(DESK, task_id)], ["scripted"], seed=0, repeats=1)
    current = DESK.digest(task_id)
    assert planned[0].order.task_digest == current
    for meta in own[:-1]:
        changed(bench, meta.episode_id, "0" * 64)
    changed(bench, own[-1].episode_id, current)
    kept = (bench.paths.episode(own[0].episode_id).final_state).read_bytes()
    assert set(jobs.set_aside(bench, planned)) == {meta.episode_id for meta in own[:-1]}
    aside = bench.paths.superseded / f"{own[0].episode_id}.00000000"
    assert (aside / "final_state.tar.zst").read_bytes() == kept
    assert len(bench.episode_ids()) == len(metas) - len(own) + 1
    assert jobs.set_aside(bench, planned) == []


def test_a_changed_task_is_recorded_anew_and_others_are_kept(tmp_path: Path) -> None:
    bench = unpack(tmp_path / "demo")
    scripted = next(
        meta
        for meta in map(bench.meta, bench.episode_ids())
        if (meta.agent.name, meta.source) == ("scripted", "scripted")
    )
    (job,) = jobs.plan(bench.root, [(DESK, scripted.task_id)], ["scripted"], seed=0, repeats=1)
    assert job.folder == bench.paths.episode(scripted.episode_id).root
    assert jobs.dry(bench.root, [job]).kept == 1, "nobody wrote down what it was recorded from"
    changed(bench, job.folder.name, "f" * 64)
    assert jobs.dry(bench.root, [job]).kept == 0
    changed(bench, job.folder.name, str(job.order.task_digest))
    assert jobs.dry(bench.root, [job]).kept == 1


@pytest.mark.parametrize(("failures", "ended"), [(0, True), (2, True), (3, False)])
def test_a_desktop_that_does_not_come_up_is_started_anew(
    failures: int, ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = unpack(tmp_path / "demo")
    meta = bench.meta(bench.episode_ids()[0])
    (job,) = jobs.plan(bench.root, [(DESK, meta.task_id)], ["scripted"], seed=5, repeats=1)
    tried: list[object] = []

    def record(backend: object, task: object, agent: object, *order: object) -> Meta:
        tried.append(agent)
        if len(tried) <= failures:
            raise StartError("the display does not answer")
        return meta

    monkeypatch.setattr(jobs, "record_episode", record)
    monkeypatch.setattr("pyrite.sandbox.backends.make", lambda name: None)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    if ended:
        assert jobs.record_job(job)[0] == meta
    else:
        with pytest.raises(StartError):
            jobs.record_job(job)
    assert len(tried) == min(failures + 1, jobs.STARTS)
    assert len({id(agent) for agent in tried}) == len(tried), "an agent of its own for each try"
