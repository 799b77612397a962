"""Which public fault reports have a test, counted: a test names its report in its docstring.

Those that concern what is seen before anything runs stand with the audit's tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PLACES = (*sorted((TESTS / "faults").glob("test_*.py")), TESTS / "audit" / "test_faults.py")

REPORTS = (
    "web-arena-x/visualwebarena/issues/71",
    "web-arena-x/visualwebarena/issues/84",
    "web-arena-x/webarena/pull/77",
    "web-arena-x/webarena/issues/134",
    "web-arena-x/webarena/issues/139",
    "web-arena-x/webarena/issues/246",
    "web-arena-x/webarena/issues/53",
    "web-arena-x/webarena/pull/51",
    "web-arena-x/visualwebarena/issues/41",
    "ServiceNow/BrowserGym/issues/392",
    "ServiceNow/BrowserGym/issues/93",
    "ServiceNow/BrowserGym/issues/103",
    "ServiceNow/WorkArena/issues/28",
    "ServiceNow/WorkArena/issues/52",
    "ServiceNow/WorkArena/issues/77",
    "google-research/android_world/issues/289",
    "google-research/android_world/issues/129",
    "google-research/android_world/issues/272",
    "UKGovernmentBEIS/inspect_ai/issues/3512",
    "UKGovernmentBEIS/inspect_ai/issues/2914",
    "promptfoo/promptfoo/pull/8932",
    "McGill-NLP/agent-reward-bench/issues/9",
    "modelscope/evalscope/issues/1608",
    "Minions-Land/MagentaBenchmark/issues/37",
    "benchflow-ai/benchflow/issues/137",
    "hud-evals/hud-python/pull/516",
    "hud-evals/hud-python/pull/145",
    "manthanguptaa/water/issues/57",
    "greyhaven-ai/autocontext/issues/26",
    "pinchbench/skill/pull/11",
    "apache/maka/pull/2112",
    "marin-community/marin/pull/8947",
    "SWE-bench/SWE-bench/issues/294",
    "SWE-bench/SWE-bench/issues/24",
    "sierra-research/tau2-bench/issues/316",
    "sierra-research/tau-bench/pull/16",
    "opensearch-project/agent-health/issues/242",
    "a-green-hand-jack/paperbench-harbor/issues/13",
    "Human-Agent-Society/reef/issues/215",
    "addyosmani/agent-skills/pull/51",
    "karakuri-ai/OSWorld-JP/commit/1c9c5fd2ad8fdbe5d124b2a12818ff8770ef0cb4",
    "karakuri-ai/OSWorld-JP/commit/25e808cc913b0030bc9ed703cb1b37df230a5a2a",
    "karakuri-ai/OSWorld-JP/commit/924e0fcd17d9797aa003f36f3faf27378d592350",
    "karakuri-ai/OSWorld-JP/commit/d5d9fc56debea1b1440f9054a46c3815881d46d4",
    "harbor-framework/terminal-bench-2/pull/53",
)
"""All of them, on github.com."""

LEFT: dict[str, str] = {}
"""Reports without a test, each with the reason."""


def docstrings() -> Iterator[tuple[str, str]]:
    """(name, docstring) of every test in the places where reports have theirs."""
    for place in PLACES:
        for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{place.parent.name}/{place.name}::{node.name}", ast.get_docstring(node) or ""


def test_every_report_has_a_test_or_a_reason(record_property: Callable[[str, object], None]) -> None:
    known = list(docstrings())
    found = {
        report: [name for name, said in known if re.search(rf"github\.com/{re.escape(report)}(?!\w)", said)]
        for report in REPORTS
    }
    tested = [report for report in REPORTS if found[report]]
    assert len(set(REPORTS)) == len(REPORTS) == 45
    assert [report for report in REPORTS if not found[report]] == list(LEFT)
    assert all(len(reason) > 20 for reason in LEFT.values())
    of_audit = [report for report in tested if all(name.startswith("audit/") for name in found[report])]
    text = f"public fault reports: {len(tested)} of {len(REPORTS)} have a test of ours"
    record_property("figure", f"{text} ({len(of_audit)} of them in the audit alone)")


def test_every_report_that_a_test_names_is_listed() -> None:
    named = {
        match[1]
        for _, said in docstrings()
        for match in re.finditer(r"github\.com/([\w.-]+/[\w.-]+/(?:issues|pull|commit)/\w+)", said)
    }
    assert named <= set(REPORTS)
