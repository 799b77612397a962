"""pytest plug-in: tests that are checks report PASS, FAIL or INDETERMINATE, and whether to believe them.

A test is a check where it is a `test_` function decorated with `check`, or calls `require`. An
INDETERMINATE one is a category of its own, letter `?`. It makes the run fail (exit status 1), because
nothing was shown; with `--indeterminate=warn` it is reported as skipped and the run does not fail for it.
`user_properties` (JUnit XML, JSON reports) hold pyrite.outcome, .cause, .why, .health and .states.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

if TYPE_CHECKING:
    from pyrite.checks.verdict import Result

_RESULTS = pytest.StashKey[list[Any]]()
_WORDS: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "pass": ("passed", ".", ("PASS", {"green": True})),
    "fail": ("failed", "F", ("FAIL", {"red": True})),
    "indeterminate": ("indeterminate", "?", ("INDETERMINATE", {"yellow": True})),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--indeterminate`, and `indeterminate` in the configuration file."""
    group = parser.getgroup("pyrite", "checks that may be indeterminate (pyrite.checks)")
    group.addoption(
        "--indeterminate",
        choices=("fail", "warn"),
        default=None,
        help="what a check that cannot tell does to the exit status: fail (the default) makes it 1; "
        "warn reports the test as skipped",
    )
    parser.addini("indeterminate", "default of --indeterminate: fail or warn", default="fail")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a setting that is none."""
    _policy(config)


def _policy(config: pytest.Config) -> Literal["fail", "warn"]:
    given = config.getoption("--indeterminate") or config.getini("indeterminate")
    if given not in ("fail", "warn"):
        raise pytest.UsageError(f"indeterminate is {given!r}; expected fail or warn")
    return "warn" if given == "warn" else "fail"


def _product() -> Any:
    """The module of checks where a test has imported it: without it no test is a check."""
    return sys.modules.get("pyrite.checks.product")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """Run a decorated test function and require its result."""
    product = _product()
    if product is None or not isinstance(pyfuncitem.obj, product.Check | product.AsyncCheck):
        return None
    __tracebackhide__ = True
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    if isinstance(pyfuncitem.obj, product.AsyncCheck):
        import asyncio

        result = asyncio.run(pyfuncitem.obj(**arguments))
    else:
        result = pyfuncitem.obj.ask(**arguments)
    product.require(result)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Note what is required and passes while the test runs."""
    results = item.stash[_RESULTS] = []
    product = _product()
    if product is None:
        yield
        return
    product.listeners.append(results.append)
    try:
        yield
    finally:
        product.listeners.remove(results.append)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say what the check said; outermost, so that nothing turns an indeterminate into something else."""
    raised = None if call.excinfo is None else call.excinfo.value
    result = _result(item, raised) if call.when in ("setup", "call") else None
    if result is not None:
        item.user_properties.extend(_properties(result))
    report = yield
    if result is None:
        return report
    if result.passed is None:
        _make_indeterminate(report, result, _policy(item.config))
    elif not result.passed and report.failed:
        _make_short(report, result, is_check=isinstance(getattr(item, "obj", None), _checks()))
    return report


def _result(item: pytest.Item, raised: BaseException | None) -> Result | None:
    """The result that decides a phase: what was raised, else the last of those that passed."""
    asking = sys.modules.get("pyrite.checks.asking")
    if asking is None:
        return None
    if raised is not None:
        decided = isinstance(raised, asking.Failed | asking.Indeterminate)
        return raised.result if decided else None  # type: ignore[attr-defined]
    results: list[Result] = item.stash.get(_RESULTS, [])
    return results[-1] if results else None


def _checks() -> tuple[type, ...]:
    product = _product()
    return () if product is None else (product.Check, product.AsyncCheck)


def _make_indeterminate(report: pytest.TestReport, result: Result, policy: str) -> None:
    """Neither an expected failure nor a pass; skipped where it shall not fail the run."""
    vars(report).pop("wasxfail", None)
    if policy == "fail":
        report.outcome = "failed"
        report.longrepr = _text(result)
    else:
        path, line, _ = report.location
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, _text(result))


def _make_short(report: pytest.TestReport, result: Result, *, is_check: bool) -> None:
    """No traceback into pyrite where the whole test is a check; elsewhere its reason in the summary."""
    from pyrite.checks.asking import one_line, why

    if is_check:
        report.longrepr = _text(result)
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = one_line(why(result))


def _text(result: Result) -> str:
    from pyrite.checks.asking import Failed, Indeterminate

    return str(Indeterminate(result) if result.passed is None else Failed(result))


def _properties(result: Result) -> Iterator[tuple[str, str]]:
    from pyrite.checks.asking import one_line, why
    from pyrite.checks.health import outcome

    yield "pyrite.outcome", outcome(result)
    if result.cause is not None:
        yield "pyrite.cause", result.cause
    if not result.passed:
        yield "pyrite.why", one_line(why(result))
    replay = result.diagnostics.get("replay")
    if isinstance(replay, dict) and isinstance(replay.get("states"), dict):
        yield "pyrite.health", "believed" if replay.get("believed") else str(result.cause)
        told = (f"{name}: {' '.join(map(str, outcomes))}" for name, outcomes in replay["states"].items())
        yield "pyrite.states", one_line("; ".join(told))


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.TestReport | pytest.CollectReport,
) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Category, letter and word of a check."""
    outcome = _told(report).get("pyrite.outcome") if isinstance(report, pytest.TestReport) else None
    if outcome not in _WORDS or report.when == "teardown" or hasattr(report, "wasxfail"):
        return None
    if report.when == "setup" and report.passed:
        return None
    expected = {"pass": "passed", "fail": "failed"}.get(outcome, report.outcome)
    return _WORDS[outcome] if report.outcome == expected else None


def _told(report: pytest.TestReport) -> dict[str, str]:
    return {
        str(name): str(value) for name, value in report.user_properties if str(name).startswith("pyrite.")
    }


class _Line(NamedTuple):
    nodeid: str
    told: dict[str, str]


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What the checks said, and which of them are to be believed."""
    lines = _lines(terminalreporter)
    if not lines:
        return
    count = {word: sum(line.told["pyrite.outcome"] == word for line in lines) for word in _WORDS}
    terminalreporter.section("checks")
    terminalreporter.write_line(_rate(count))
    for health, names in _by_health(lines).items():
        terminalreporter.write_line(f"{health}: {len(names)}")
    for line in lines:
        told = line.told
        if told["pyrite.outcome"] == "indeterminate":
            text = f"INDETERMINATE {line.nodeid} - {told.get('pyrite.cause')}: {told.get('pyrite.why')}"
            terminalreporter.write_line(text, yellow=True)
            if told.get("pyrite.health", "believed") != "believed":
                terminalreporter.write_line(f"    known states: {told.get('pyrite.states')}")
    if count["indeterminate"]:
        does = "make" if _policy(config) == "fail" else "do not make"
        terminalreporter.write_line(f"indeterminate checks {does} this run fail (--indeterminate)")


def _lines(terminalreporter: pytest.TerminalReporter) -> list[_Line]:
    """One a check, by test; of a test that was run again, the last."""
    found: dict[str, _Line] = {}
    for category, reports in terminalreporter.stats.items():
        for report in reports:
            if not isinstance(report, pytest.TestReport) or category == "":
                continue
            told = _told(report)
            if report.when != "teardown" and "pyrite.outcome" in told:
                found[report.nodeid] = _Line(report.nodeid, told)
    return [found[nodeid] for nodeid in sorted(found)]


def _rate(count: dict[str, int]) -> str:
    asked = sum(count.values())
    scored = count["pass"] + count["fail"]
    told = ", ".join(f"{number} {word}" for word, number in count.items())
    rate = f"{count['pass']}/{scored} of those decided pass" if scored else "none decided"
    highest = count["pass"] + count["indeterminate"]
    return f"{asked} asked: {told}; {rate}, of all between {count['pass']}/{asked} and {highest}/{asked}"


def _by_health(lines: list[_Line]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        health = line.told.get("pyrite.health")
        if health is None:
            text = "known states not replayed"
        elif health == "believed":
            text = "believed, all known states answered right"
        else:
            text = f"not believed, {health}"
        found.setdefault(text, []).append(line.nodeid)
    return dict(sorted(found.items()))
