"""WebArena-Verified: one list whose `eval` holds typed evaluators of the answer and the network trace.

Both read a recording, so nothing acts and nothing is fetched while it evaluates. Written from the data
set and the evaluators of ServiceNow/webarena-verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyrite.audit import hostile
from pyrite.audit.definition import Definition, Getter, Problem
from pyrite.audit.hostile import shown
from pyrite.audit.readers import Source, dataset

EVALUATORS = frozenset({"AgentResponseEvaluator", "NetworkEventEvaluator"})
_FILES = (
    "dataset/webarena-verified.json",
    "assets/dataset/webarena-verified.json",
    "webarena-verified.json",
)


class WebArenaVerified(dataset.OneList):
    """Reads WebArena-Verified's data set."""

    names = _FILES
    name = "webarena-verified"
    title = "WebArena-Verified"
    written_from = "ServiceNow/webarena-verified 6473f72d and the wheel webarena-verified 1.2.3"
    harness = "evaluates a recorded answer and a recorded network trace, offline"

    def recognises(self, root: Path) -> bool:
        for path in self.files(root)[:3]:
            item = dataset.first(path, root)
            if isinstance(item, dict) and isinstance(item.get("eval"), list):
                return any(isinstance(one, dict) and "evaluator" in one for one in item["eval"])
        return False

    def read(self, source: Source, root: Path) -> Definition:
        where = hostile.below(source.path, root if root.is_dir() else root.parent)
        broken = dataset.not_an_object(source, where)
        if broken is not None:
            return broken
        item = source.item
        problems = dataset.repeated(source)
        getters: list[Getter] = []
        metrics: list[str] = []
        found = item.get("eval")
        if not isinstance(found, list) or not found:
            problems.append(Problem("no_evaluator", f"eval is {shown(found, 60)}", "eval", fatal=True))
            found = []
        for number, one in enumerate(found):
            metrics.append(_evaluator(one, number, getters, problems))
        intent = item.get("intent")
        if not isinstance(intent, str) or not intent.strip():
            problems.append(
                Problem("schema_invalid", "intent: no text: the agent is asked nothing", "intent")
            )
        return Definition(
            task=source.key,
            domain=source.domain,
            where=where,
            instruction=shown(intent or "", 2000),
            getters=tuple(getters),
            metrics=tuple(metrics),
            conj="all",
            problems=tuple(problems),
        )


def _evaluator(one: Any, number: int, getters: list[Getter], problems: list[Problem]) -> str:
    at = f"eval[{number}]"
    kind = one.get("evaluator") if isinstance(one, dict) else None
    if not isinstance(kind, str) or kind not in EVALUATORS:
        detail = f"{at}.evaluator: {shown(kind, 60)} where one of {', '.join(sorted(EVALUATORS))} belongs"
        problems.append(Problem("schema_invalid", detail, at, fatal=True))
        return shown(kind or "(invalid)", 60)
    expected = one.get("expected")
    if not isinstance(expected, dict):
        detail = f"{at}.expected: {shown(expected, 60)} where an object belongs"
        problems.append(Problem("schema_invalid", detail, at, fatal=True))
        return kind
    if kind == "AgentResponseEvaluator":
        _check_response(one, expected, at, problems)
        getters.append(Getter("agent_response", "result", at, number, "read"))
    else:
        if not isinstance(expected.get("url"), str | list):
            problems.append(Problem("schema_invalid", f"{at}.expected.url: no URL to look for", at))
        getters.append(Getter("network_trace", "result", at, number, "read"))
    getters.append(Getter("typed_value", "expected", f"{at}.expected", number, "rule", shown(expected)))
    return kind


def _check_response(
    one: Mapping[str, Any], expected: Mapping[str, Any], at: str, problems: list[Problem]
) -> None:
    for key in ("task_type", "status"):
        if not isinstance(expected.get(key), str):
            problems.append(Problem("schema_invalid", f"{at}.expected.{key}: is missing", at))
    if not isinstance(one.get("results_schema"), dict):
        problems.append(
            Problem("schema_invalid", f"{at}.results_schema: the answer's type is not declared", at)
        )
