"""WebArena's tasks: one list (`test.raw.json`, `test.json`), or one file a task as its runner writes them.

Each has `eval`: eval_types, reference_answers, reference_url, program_html. Written from the task file
and the evaluators of web-arena-x/webarena.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyrite.audit import commands, hostile
from pyrite.audit.definition import Definition, Getter, Problem
from pyrite.audit.hostile import shown
from pyrite.audit.readers import Source, dataset

EVALUATORS = frozenset({"string_match", "program_html", "url_match"})
APPROACHES = frozenset({"exact_match", "must_include", "fuzzy_match"})
GOTO_SLEEP_S = 3.0
"""The evaluator waits this long after it opened a page."""
_FILES = ("config_files/test.raw.json", "config_files/test.json", "test.raw.json", "test.json")


class WebArena(dataset.OneList):
    """Reads WebArena's list of tasks."""

    names = _FILES
    folder = "config_files"
    name = "webarena"
    title = "WebArena"
    written_from = "web-arena-x/webarena, config_files/test.raw.json 107677c8, evaluation_harness 1a628d69"
    harness = "opens pages and waits 3 s for each; multiplies the scores of all evaluators"

    def recognises(self, root: Path) -> bool:
        for path in self.files(root)[:3]:
            item = dataset.first(path, root)
            if isinstance(item, dict) and isinstance(item.get("eval"), dict) and "eval_types" in item["eval"]:
                return True
        return False

    def read(self, source: Source, root: Path) -> Definition:
        where = hostile.below(source.path, root if root.is_dir() else root.parent)
        broken = dataset.not_an_object(source, where)
        if broken is not None:
            return broken
        return _Task(source.item, source, where).definition()


class _Task:
    def __init__(self, item: Mapping[str, Any], source: Source, where: str) -> None:
        self._item = item
        self._source = source
        self._where = where
        self._problems = dataset.repeated(source)
        self._rules: list[tuple[str, str]] = []

    def definition(self) -> Definition:
        found = self._item.get("eval")
        getters: list[Getter] = []
        types: list[str] = []
        if isinstance(found, dict):
            types = self._types(found)
            for number, one in enumerate(types):
                getters += self._getters(one, found, number)
        else:
            self._problems.append(Problem("no_evaluator", f"eval is {shown(found, 60)}", "eval", fatal=True))
        intent = self._item.get("intent")
        if not isinstance(intent, str) or not intent.strip():
            self._bad("intent", "no text: the agent is asked nothing")
        return Definition(
            task=self._source.key,
            domain=self._source.domain,
            where=self._where,
            instruction=shown(intent or "", 2000),
            getters=tuple(getters),
            metrics=tuple(types),
            conj="product of scores",
            rules=tuple(self._rules),
            problems=tuple(self._problems),
        )

    def _bad(self, at: str, detail: str, *, fatal: bool = False) -> None:
        self._problems.append(Problem("schema_invalid", f"{at}: {detail}", at, fatal))

    def _types(self, found: Mapping[str, Any]) -> list[str]:
        types = found.get("eval_types")
        if not isinstance(types, list) or not types or not all(isinstance(one, str) for one in types):
            self._bad("eval.eval_types", f"{shown(types, 60)} where evaluator names belong", fatal=True)
            return []
        for one in types:
            if one not in EVALUATORS:
                self._bad("eval.eval_types", f"no evaluator is called {shown(one, 60)!r}", fatal=True)
        return [shown(one, 60) for one in types]

    def _getters(self, kind: str, found: Mapping[str, Any], pair: int) -> Iterator[Getter]:
        if kind == "string_match":
            yield Getter("agent_answer", "result", "eval.string_match", pair, "read")
            yield from self._answers(found.get("reference_answers"), pair)
        elif kind == "url_match":
            yield Getter("page_url", "result", "eval.url_match", pair, "app")
            yield from self._url(found, pair)
        elif kind == "program_html":
            yield from self._pages(found.get("program_html"), pair)

    def _answers(self, answers: Any, pair: int) -> Iterator[Getter]:
        at = "eval.reference_answers"
        if not isinstance(answers, dict) or not answers:
            self._bad(at, f"{shown(answers, 60)} where an object of answers belongs", fatal=True)
            return
        for approach, value in answers.items():
            if approach not in APPROACHES:
                self._bad(at, f"{shown(approach, 40)!r} is no way to match: it is never looked at")
                continue
            wants_list = approach == "must_include" or (approach == "fuzzy_match" and value != "N/A")
            if isinstance(value, list) != wants_list or not isinstance(value, list | str):
                self._bad(
                    f"{at}.{approach}",
                    f"{shown(value, 60)} where {'a list' if wants_list else 'a text'} belongs",
                )
            self._rules.append((f"{at}.{approach}", approach))
            if approach != "fuzzy_match":
                yield Getter(approach, "expected", f"{at}.{approach}", pair, "rule", shown(value))

    def _url(self, found: Mapping[str, Any], pair: int) -> Iterator[Getter]:
        reference, note = found.get("reference_url"), found.get("url_note", "GOLD in PRED")
        if not isinstance(reference, str) or not reference:
            self._bad("eval.reference_url", f"{shown(reference, 60)} where a URL belongs", fatal=True)
        if note != "GOLD in PRED":
            self._bad("eval.url_note", f"{shown(note, 60)!r} is no rule: the evaluator raises")
        self._rules.append(("eval.reference_url", "url_in_url"))
        yield Getter("reference_url", "expected", "eval.reference_url", pair, "rule", shown(reference))

    def _pages(self, targets: Any, pair: int) -> Iterator[Getter]:
        if not isinstance(targets, list) or not targets:
            self._bad(
                "eval.program_html", f"{shown(targets, 60)} where a list of targets belongs", fatal=True
            )
            return
        for number, target in enumerate(targets):
            at = f"eval.program_html[{number}]"
            if not isinstance(target, dict):
                self._bad(at, f"{shown(target, 60)} where an object belongs", fatal=True)
                continue
            yield from self._page(target, at, pair)

    def _page(self, target: Mapping[str, Any], at: str, pair: int) -> Iterator[Getter]:
        url, locator = target.get("url"), target.get("locator")
        if not isinstance(url, str) or not isinstance(locator, str):
            self._bad(at, "url and locator must be texts", fatal=True)
            return
        known = not locator.strip() or locator.startswith(("document.", "[...document.", "func:"))
        if not known:
            detail = f"{shown(locator, 100)!r} begins with none of document. [...document. func:"
            self._problems.append(Problem("unknown_locator", detail, f"{at}.locator"))
        goes = url != "last"
        calls = url.startswith("func") or locator.startswith("func:")
        yield Getter(
            "page_content",
            "result",
            at,
            pair,
            "acts" if goes or calls else "app",
            text=shown(locator or url),
            urls=commands.urls(url),
            sleeps=GOTO_SLEEP_S if goes else 0.0,
            cdp=goes or calls,
        )
        contents = target.get("required_contents")
        names = [
            name
            for name in ("exact_match", "must_include")
            if isinstance(contents, dict) and name in contents
        ]
        if not isinstance(contents, dict) or not names:
            self._bad(
                f"{at}.required_contents",
                f"{shown(contents, 60)}: no exact_match or must_include",
                fatal=True,
            )
            return
        name = names[0]
        value = contents[name]
        if isinstance(value, list) != (name == "must_include") or not value:
            self._bad(f"{at}.required_contents.{name}", f"{shown(value, 60)} has the wrong type")
        self._rules.append((f"{at}.required_contents", name))
        yield Getter(name, "expected", f"{at}.required_contents", pair, "rule", shown(value))
