"""How the shipped demo is drawn from a recorded set."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pyrite.records import Agent, Category, Meta, Outcome, Truth

TOOL = Path(__file__).resolve().parents[1] / "tools" / "ship_demo.py"
DOMAINS = ("files", "office", "settings", "web", "browser", "terminal")
CODES = tuple(Category)


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("ship_demo", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ship_demo"] = module
    spec.loader.exec_module(module)
    return module


def row(tool: Any, name: str, task: str, family: str, domain: str, code: Category | None, **more: Any) -> Any:
    passed = code is None
    outcome = Outcome.PASS if passed else Outcome.FAIL
    meta = Meta(
        schema_version="1",
        episode_id=name,
        task_id=task,
        source="perturbed" if more.get("parent") else "scripted",
        agent=Agent(name=more.pop("agent", "scripted")),
        n_steps=3,
        created_at="2026-01-01T00:00:00Z",
        family=family,
        domain=domain,
        **more,
    )
    truth = Truth.model_validate({"episode_id": name, "outcome": outcome, "pass": passed, "category": code})
    return tool.Row(meta, truth, 1000 + len(name))


def recorded(tool: Any) -> list[Any]:
    """Twelve families of three tasks, each with a pass, two defects of it, an idle and a weakened agent."""
    rows = []
    for f in range(12):
        for t in range(3):
            task, family, domain = f"task-{f}-{t}", f"family-{f}", DOMAINS[f % 6]
            rows.append(row(tool, f"ep-{f}-{t}", task, family, domain, None))
            for d in range(2):
                code = CODES[(f + t + d) % len(CODES)]
                more = {"parent": f"ep-{f}-{t}", "perturbation": f"defect-{code}"}
                rows.append(row(tool, f"ep-{f}-{t}-{d}", task, family, domain, code, **more))
            rows.append(row(tool, f"ep-{f}-{t}-i", task, family, domain, Category.CLAIM, agent="idle"))
            weak = {"weakened": ("budget=3", "stale", "without=key")[t]}
            rows.append(row(tool, f"ep-{f}-{t}-w", task, family, domain, CODES[f % len(CODES)], **weak))
    return rows


def test_a_sample_holds_all_domains_and_categories_and_each_defect_beside_its_parent(tool: Any) -> None:
    rows = recorded(tool)
    found = tool.choose(rows)
    assert found == tool.choose(rows)
    assert len(found) == tool.COUNT
    names = {one.meta.episode_id for one in found}
    assert len(names) == len(found)
    assert len({one.meta.task_id for one in found}) >= 30
    assert Counter(one.meta.domain for one in found).keys() == set(DOMAINS)
    assert {one.truth.category for one in found} == {None, *Category}
    defects = [one for one in found if one.meta.parent]
    assert len(defects) == len({one.meta.task_id for one in defects}) == tool.PAIRS
    assert all(one.meta.parent in names for one in defects)
    weakened = [one for one in found if one.meta.weakened]
    assert len(weakened) == len({one.meta.task_id for one in weakened}) == tool.WEAKENED


def test_of_a_small_set_all_that_fits_is_taken(tool: Any) -> None:
    assert tool.choose([]) == []
    rows = recorded(tool)[:5]
    found = [one.meta.episode_id for one in tool.choose(rows)]
    assert found == ["ep-0-0", "ep-0-0-0", "ep-0-0-w", "ep-0-0-i"]
    assert [one.meta.episode_id for one in tool.choose(rows, count=3)] == found[:3]
