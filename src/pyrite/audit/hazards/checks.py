"""Priorities 3, 4, 6 and 7: what is compared with what, and how."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from pyrite.audit import commands
from pyrite.audit.definition import Definition, Step
from pyrite.audit.hazards.base import Found, getter_found, hazard, step_found

_FILE_TITLE = re.compile(r"([^/\\]*\.[A-Za-z][A-Za-z0-9]{1,4})(?: - | — |$)")
_FRACTIONS = {"compare_pdfs", "diff_text_file", "fuzzy_place_math", "compare_unique_train_records"}
_DOCX = {"compare_docx_files", "compare_docx_lines"}
_SUBSTRING = {"check_include_exclude", "is_extension_installed", "check_list", "match_in_list"}


@hazard(3, "verdict", "result and expected have one cached name: the check compares a file with itself")
def dest_collision(task: Definition) -> Iterator[Found]:
    seen = {posixpath.normpath(dest) for getter in task.results for dest in getter.dests}
    for getter in task.expected:
        for dest in getter.dests:
            if posixpath.normpath(dest) in seen:
                yield getter_found(getter, f"dest {dest!r} is the result's too")


@hazard(3, "verdict", "metrics, results and expected values are paired by position and are not as many")
def length_mismatch(task: Definition) -> Iterator[Found]:
    for problem in task.problems:
        if problem.kind == "length_mismatch":
            yield Found(problem.detail, problem.at)


@hazard(3, "info", "expected is a file that the task also starts from: the untouched state may pass")
def expected_is_input(task: Definition) -> Iterator[Found]:
    given = {url for step in task.steps if step.phase == "config" for url in step.urls}
    for getter in task.expected:
        for url in getter.urls:
            if getter.reach == "published" and url in given:
                yield getter_found(getter, f"{url[:180]} is an input too")


@hazard(3, "risk", "one value of many metrics is enough, and an error keeps the one before")
def any_metric_passes(task: Definition) -> Iterator[Found]:
    if task.conj == "or":
        yield Found(f"conj or over {len(task.metrics)} metrics", "evaluator.conj")


def _titled(task: Definition) -> Iterator[tuple[Step, str]]:
    for step in task.evaluation:
        found = _FILE_TITLE.match(step.title or "")
        if found:
            yield step, found[1]


def _result_names(task: Definition) -> set[str]:
    """File names that are read; what is taken out of a document has only the name it is cached under."""
    return {
        PurePosixPath(path.replace("\\", "/")).name
        for getter in task.results
        for path in getter.paths or getter.dests
    }


@hazard(4, "verdict", "the window that is activated shows another file than the one that is read")
def title_names_other_file(task: Definition) -> Iterator[Found]:
    read = _result_names(task)
    for step, name in _titled(task):
        if read and name not in read:
            yield step_found(step, f"title names {name!r}, read: {', '.join(sorted(read))[:120]}")


@hazard(4, "verdict", "the title holds a file name: an agent that saved under another leaves it unmatched")
def title_holds_file_name(task: Definition) -> Iterator[Found]:
    for step, name in _titled(task):
        yield step_found(step, f"title needs {name!r}")


@hazard(6, "verdict", "what is expected is read from a website or the machine while it evaluates")
def live_truth(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if getter.live or (getter.role == "expected" and getter.reach in {"acts", "app"}):
            yield getter_found(getter)


@hazard(6, "risk", "what is expected is read on the machine that the agent used")
def truth_from_machine(task: Definition) -> Iterator[Found]:
    for getter in task.expected:
        if getter.reach == "derived":
            yield getter_found(getter, f"{getter.type} {' '.join(getter.paths) or getter.text}"[:180])


@hazard(6, "risk", "the page comes from a site that changes: the selector or text may be gone")
def live_website(task: Definition) -> Iterator[Found]:
    for getter in task.results:
        if getter.cdp and not getter.live:
            yield getter_found(getter)


@hazard(6, "verdict", "what is right depends on the day")
def clock_relative(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if getter.clock:
            yield getter_found(getter)


@hazard(6, "risk", "needs an account elsewhere: its state is shared between runs")
def external_account(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if getter.account:
            yield getter_found(getter)
    for step in task.steps:
        if step.type in {"googledrive", "login"}:
            yield step_found(step)


@hazard(6, "verdict", "a package index is asked while it evaluates: where that fails, the check does")
def package_install(task: Definition) -> Iterator[Found]:
    for step in task.evaluation:
        if commands.installs(step.text):
            yield step_found(step)
    for name, text in task.scripts:
        for line in text.splitlines():
            if commands.installs(line) and not line.lstrip().startswith("#"):
                yield Found(" ".join(line.split())[:140], name)


@hazard(6, "info", "the benchmark itself says that its environment drifts")
def environment_changes(task: Definition) -> Iterator[Found]:
    if task.may_change:
        yield Found("possibility_of_env_change is not low")


@hazard(6, "verdict", "a model decides: its answer may change, or be no answer")
def model_decides(task: Definition) -> Iterator[Found]:
    for where, name in task.rules:
        if name in {"fuzzy_match", "ua_match", "llm_judge"}:
            yield Found(name, where)


@hazard(7, "verdict", "both sides are rounded and must be equal: values a hair apart may differ")
def rounds_for_tolerance(task: Definition) -> Iterator[Found]:
    for metric, rule in task.rules:
        if rule == "sheet_data":
            yield Found(f"{metric} sheet_data rounds to 4 decimals", "evaluator.options")


@hazard(7, "verdict", "values that the application cached are read: a formula never recalculated is empty")
def cached_formulas(task: Definition) -> Iterator[Found]:
    for metric, rule in task.rules:
        if rule in {"sheet_data", "check_cell", "sheet_fuzzy"}:
            yield Found(f"{metric} {rule} reads cached values", "evaluator.options")


@hazard(7, "verdict", "no shell reads it: the | is an argument, and the whole list is searched")
def pipe_in_argv(task: Definition) -> Iterator[Found]:
    for getter in task.getters:
        if commands.pipes_in_argv(getter.argv):
            yield getter_found(getter)
    for step in task.evaluation:
        if commands.pipes_in_argv(step.argv):
            yield step_found(step)


@hazard(7, "verdict", "a text is searched in a list of names: a longer name passes too")
def substring_of_listing(task: Definition) -> Iterator[Found]:
    for getter in task.results:
        metric = task.metrics[getter.pair] if getter.pair < len(task.metrics) else ""
        if metric in _SUBSTRING and commands.lists(getter.text):
            yield getter_found(getter, f"{metric} of {getter.text[:120]}")


@hazard(7, "risk", "it gives fractions: whoever asks for > 0 or == 1 gets another result")
def fractional_score(task: Definition) -> Iterator[Found]:
    fuzzy = {metric for metric, rule in task.rules if rule == "fuzzy"}
    for metric in dict.fromkeys(task.metrics):
        if metric in _FRACTIONS or (metric in _DOCX and metric in fuzzy):
            yield Found(metric, "evaluator.func")
    if len(task.metrics) > 1 and task.conj == "and" and not task.infeasible:
        yield Found(f"the mean of {len(task.metrics)} scores, unless one is 0", "evaluator.func")


@hazard(7, "verdict", "a file that could not be fetched is None, and None is scored 0: a hiccup is a fail")
def missing_is_zero(task: Definition) -> Iterator[Found]:
    for getter in task.results:
        if getter.reach == "file":
            yield getter_found(getter, f"{getter.type} {' '.join(getter.paths)[:140]}")


@hazard(7, "verdict", "a URL passes if it contains the right one: a longer one does too")
def url_substring(task: Definition) -> Iterator[Found]:
    for where, name in task.rules:
        if name == "url_in_url":
            yield Found("GOLD in PRED", where)


@hazard(7, "verdict", "a text passes that only contains the answer")
def answer_substring(task: Definition) -> Iterator[Found]:
    for where, name in task.rules:
        if name == "must_include":
            yield Found("must_include is a substring test", where)


@hazard(7, "verdict", "an expression is evaluated; what it raises counts as not passed")
def evaluates_expression(task: Definition) -> Iterator[Found]:
    for where, name in task.rules:
        if name == "eval":
            yield Found("eval", where)
