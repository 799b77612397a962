"""The plug-in, in pytest runs of its own: category, letter, exit status, reports, and nothing for free."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

PLUGIN = "pyrite.checks.pytest_plugin"
ROOT = Path(__file__).resolve().parents[2]

CHECKS = """
import pytest
from pyrite.checks import Indeterminate, Result, TryLater, check, check_async, require

def right():
    return "right"

def wrong():
    return "wrong"

@check(gold=right, bad=wrong)
def is_right(state):
    return state == "right"

@pytest.fixture
def state():
    return "right"

@pytest.fixture
def other():
    return "other"

@check(gold=right, bad=wrong)
def test_pass(state):
    return state == "right"

@check(gold=right, bad=wrong)
def test_fail(other):
    return other == "right"

@check(gold=right, bad=wrong)
def test_limited(state):
    if state == "right":
        raise TryLater("HTTP 429", 30)
    return False

@check(gold=wrong, bad=right)
def test_gold_fails(state):
    return state == "right"

@check_async(gold=right, bad=wrong)
async def test_async(state):
    return state == "right"

def test_requires_a_pass():
    require(is_right("right"))

def test_requires_a_fail():
    require(is_right("other"))

def test_requires_what_cannot_be_told():
    require(Result(None, (), {"why": "not yet \\x1b[31m"}, "state_missing"))

def test_is_no_check():
    assert True
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with those tests, where only the plug-ins that a test names are loaded."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makepyfile(test_it=CHECKS)
    return pytester


def test_three_answers_and_what_is_believed(run: pytest.Pytester) -> None:
    done = run.runpytest("-p", PLUGIN, "-v")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(
        [
            "*::test_pass PASS *",
            "*::test_fail FAIL *",
            "*::test_limited INDETERMINATE *",
            "*::test_gold_fails INDETERMINATE *",
            "*::test_async PASS *",
            "*::test_requires_a_pass PASS *",
            "*::test_requires_a_fail FAIL *",
            "*::test_requires_what_cannot_be_told INDETERMINATE *",
            "*::test_is_no_check PASSED *",
            "*= checks =*",
            "8 asked: 3 pass, 2 fail, 3 indeterminate; 3/5 of those decided pass, of all between 3/8 and 6/8",
            "believed, all known states answered right: 5",
            "known states not replayed: 1",
            "not believed, environment_lost: 1",
            "not believed, gold_failed: 1",
            "INDETERMINATE test_it.py::test_gold_fails - gold_failed: gold state gold: fail: it returned *",
            "    known states: gold: fail fail; right: pass",
            "INDETERMINATE test_it.py::test_limited - environment_lost: gold state gold: HTTP 429",
            "INDETERMINATE test_it.py::test_requires_what_cannot_be_told - state_missing: not yet ?[[]31m",
            "indeterminate checks make this run fail (--indeterminate)",
            "*2 failed, 4 passed, 3 indeterminate*",
        ]
    )
    assert "\x1b[31m" not in done.stdout.str()


ONLY = "test_limited or test_pass"


@pytest.mark.parametrize(
    ("arguments", "ini", "status"),
    [
        ([], "", 1),
        (["--indeterminate=fail"], "indeterminate = warn", 1),
        (["--indeterminate=warn"], "", 0),
        ([], "indeterminate = warn", 0),
        (["--indeterminate=maybe"], "", 4),
        ([], "indeterminate = maybe", 4),
    ],
)
def test_exit_status(run: pytest.Pytester, arguments: list[str], ini: str, status: int) -> None:
    run.makeini(f"[pytest]\n{ini}\n")
    done = run.runpytest("-p", PLUGIN, "-k", ONLY, *arguments)
    assert done.ret == status
    if status != 4:
        done.stdout.fnmatch_lines(["test_it.py .[?]*", "*INDETERMINATE*test_limited*", "*1 indeterminate*"])


def test_warning_never_hides_a_fail(run: pytest.Pytester) -> None:
    done = run.runpytest("-p", PLUGIN, "--indeterminate=warn")
    assert done.ret == 1
    done.assert_outcomes(passed=4, failed=2)


@pytest.mark.parametrize(("policy", "failures", "skipped"), [("fail", 4, 0), ("warn", 2, 2)])
def test_junit(run: pytest.Pytester, policy: str, failures: int, skipped: int) -> None:
    chosen = "test_pass or test_fail or requires_a_fail or test_limited or test_gold_fails"
    path = run.path / "report.xml"
    run.runpytest("-p", PLUGIN, f"--indeterminate={policy}", f"--junitxml={path}", "-k", chosen)
    suite = ElementTree.parse(path).getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == (str(failures), str(skipped))
    told = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in suite.iter("testcase")
    }
    assert told["test_pass"] == {
        "pyrite.outcome": "pass",
        "pyrite.health": "believed",
        "pyrite.states": "gold: pass pass; wrong: fail",
    }
    assert told["test_gold_fails"] == {
        "pyrite.outcome": "indeterminate",
        "pyrite.cause": "gold_failed",
        "pyrite.why": "gold state gold: fail: it returned False",
        "pyrite.health": "gold_failed",
        "pyrite.states": "gold: fail fail; right: pass",
    }


def test_spread_over_processes(run: pytest.Pytester) -> None:
    done = run.runpytest_subprocess("-p", PLUGIN, "-p", "xdist", "-n", "2")
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        [
            "8 asked: 3 pass, 2 fail, 3 indeterminate; *",
            "believed, all known states answered right: 5",
            "INDETERMINATE test_it.py::test_gold_fails - gold_failed: *",
            "*2 failed, 4 passed, 3 indeterminate*",
        ]
    )


def test_xfail_fixtures_teardown_and_parameters(pytester: pytest.Pytester, run: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest
        from pyrite.checks import Result, check, require

        UNKNOWN = Result(None, (), {"why": "lag"}, "state_missing")

        @pytest.mark.xfail
        def test_unknown_is_no_expected_failure():
            require(UNKNOWN)

        @pytest.mark.xfail(strict=True)
        def test_fail_is_one():
            require(Result(False))

        @pytest.mark.xfail(strict=True)
        def test_pass_is_none():
            require(Result(True))

        @pytest.fixture
        def not_yet():
            require(UNKNOWN)

        def test_fixture(not_yet):
            raise AssertionError("not reached")

        @pytest.fixture
        def untidy():
            yield
            require(UNKNOWN)

        def test_teardown(untidy):
            require(Result(True))

        @pytest.mark.parametrize("state", ["right", "other", "a[b::c] d"])
        @check(gold=lambda: "right", bad=lambda: "wrong")
        def test_each(state):
            return state == "right"

        def test_what_a_test_catches_is_its_own_affair():
            with pytest.raises(AssertionError):
                require(Result(False))

        def test_later_assertion():
            require(Result(True))
            assert False
        """
    )
    done = pytester.runpytest("-p", PLUGIN, "-v")
    done.stdout.fnmatch_lines(
        [
            "*::test_unknown_is_no_expected_failure INDETERMINATE*",
            "*::test_fail_is_one XFAIL*",
            "*::test_pass_is_none FAILED*",
            "*::test_fixture INDETERMINATE*",
            "*::test_teardown PASS*",
            "*::test_teardown ERROR*",
            "*::test_each[[]right[]] PASS*",
            "*::test_each[[]other[]] FAIL *",
            "*::test_each[[]a[[]b::c[]] d[]] FAIL *",
            "*::test_what_a_test_catches_is_its_own_affair PASSED*",
            "*::test_later_assertion FAILED*",
            "8 asked: 3 pass, 3 fail, 2 indeterminate*",
            "*4 failed, 3 passed, 1 xfailed, 1 error, 2 indeterminate*",
        ]
    )


def test_failed_first_and_stop_at_the_first(run: pytest.Pytester) -> None:
    first = run.runpytest("-p", PLUGIN, "-x", "-k", "limited or requires")
    first.stdout.fnmatch_lines(["*1 indeterminate*"])
    again = run.runpytest("-p", PLUGIN, "--lf")
    again.stdout.fnmatch_lines(["1 asked: 0 pass, 0 fail, 1 indeterminate; none decided*"])


def test_without_the_plug_in_nothing_looks_green(run: pytest.Pytester) -> None:
    done = run.runpytest_subprocess("-p", "no:pyrite")
    done.assert_outcomes(passed=3, failed=6, warnings=1)
    failed = [line.split("::")[1].split()[0] for line in done.outlines if line.startswith("FAILED ")]
    assert sorted(failed) == [
        "test_async",
        "test_fail",
        "test_gold_fails",
        "test_limited",
        "test_requires_a_fail",
        "test_requires_what_cannot_be_told",
    ]


def test_it_says_and_costs_nothing_where_no_test_is_a_check(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_plain(): assert True\ndef test_returns(): return None")
    pytester.makeconftest(
        """
        import sys
        def pytest_unconfigure():
            loaded = [name for name in sys.modules if name.split(".")[0] in ("pyrite", "numpy", "pydantic")]
            print("LOADED", *sorted(loaded))
        """
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", PLUGIN, "-s", "-p", "no:cacheprovider"],
        cwd=pytester.path,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    loaded = next(line for line in done.stdout.splitlines() if line.startswith("LOADED"))
    assert loaded.split()[1:] == ["pyrite", "pyrite.checks", "pyrite.checks.pytest_plugin"]
    assert "checks =" not in done.stdout


def test_the_entry_point() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert declared["project"]["entry-points"]["pytest11"] == {"pyrite": PLUGIN}
    found = importlib.metadata.entry_points(group="pytest11", name="pyrite")
    assert [point.value for point in found] == [PLUGIN], "install anew: make"
    assert json.dumps([point.load().__name__ for point in found]) == f'["{PLUGIN}"]'
