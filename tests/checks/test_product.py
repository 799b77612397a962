"""A check is believed only while its known states get the answers that they must."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from pyrite import checks
from pyrite.checks import Failed, Indeterminate, Result, TryLater, check, check_async, require
from pyrite.checks.asking import VERIFIER_CAUSES, one_line
from pyrite.checks.health import Makers
from pyrite.checks.verdict import render
from pyrite.records import BLAME


def is_right(state: object) -> bool:
    return state == "right"


def states(**changed: Any) -> dict[str, Any]:
    return {"gold": lambda: "right", "bad": {"wrong": lambda: "wrong"}, **changed}


def raises(what: BaseException) -> Callable[..., Any]:
    def make(*ignored: object) -> Any:
        raise what

    return make


def answers(*said: object) -> Callable[[object], object]:
    """A check that gives these answers one after the other: gold, gold, bad, subject."""
    coming = list(said)

    def answer(state: object) -> object:
        said = coming.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said

    return answer


@pytest.mark.parametrize(("subject", "passed"), [("right", True), ("other", False)])
def test_a_check_that_is_believed(subject: str, passed: bool) -> None:
    checked = check(**states())(is_right)
    result = checked(subject)
    assert result.passed is passed
    expected = {"believed": True, "states": {"gold": ["pass", "pass"], "wrong": ["fail"]}}
    assert result.diagnostics["replay"] == expected
    assert checked.health is not None
    assert checked.health.believed
    json.loads(render(result))


LOST = ConnectionResetError("gone")
UNKNOWN = Result(None, (), {}, "verifier_says_unknown")


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ((False, False, False), "gold_failed"),
        ((True, False, False), "gold_unstable"),
        ((False, True, False), "gold_unstable"),
        ((True, True, True), "bad_state_accepted"),
        ((KeyError("a"), True, False), "verifier_error"),
        ((True, True, KeyError("a")), "verifier_error"),
        ((SystemExit(0), True, False), "verifier_error"),
        (("yes", True, False), "verifier_output_invalid"),
        ((None, True, False), "verifier_output_invalid"),
        ((True, True, 0), "verifier_output_invalid"),
        ((True, LOST, False), "environment_lost"),
        ((LOST, False, True), "environment_lost"),
        ((True, True, TryLater("HTTP 429", 3)), "environment_lost"),
        ((UNKNOWN, True, False), "verifier_says_unknown"),
        ((True, True, UNKNOWN), "verifier_says_unknown"),
        ((Result(True, ("F-CLAIM",)), True, False), "verifier_output_invalid"),
        ((Result(1), True, False), "verifier_output_invalid"),  # type: ignore[arg-type]
    ],
)
def test_what_known_states_show(said: tuple[object, ...], cause: str) -> None:
    result = check(**states())(answers(*said, True))("subject")
    assert (result.passed, result.cause) == (None, cause)
    assert cause in BLAME
    assert (BLAME[cause] in {"verifier", "task"}) == (cause in VERIFIER_CAUSES or cause == UNKNOWN.cause)
    assert result.diagnostics["replay"]["believed"] is False


@pytest.mark.parametrize(
    ("said", "passed", "cause"),
    [
        (LOST, None, "environment_lost"),
        (TryLater("HTTP 429"), None, "environment_lost"),
        (KeyError("a"), None, "verifier_error"),
        (SystemExit(0), None, "verifier_error"),
        (AssertionError("45 is not 450"), False, None),
        ("true", None, "verifier_output_invalid"),
        (float("nan"), None, "verifier_output_invalid"),
        (1.0, None, "verifier_output_invalid"),
        (Result(False, ("F-PARTIAL",)), False, None),
        (UNKNOWN, None, "verifier_says_unknown"),
        (Failed(Result(False, (), {"why": "inner"})), False, None),
        (Indeterminate(UNKNOWN), None, "verifier_says_unknown"),
    ],
)
def test_what_it_says_of_the_agent(said: object, passed: bool | None, cause: str | None) -> None:
    result = check(**states())(answers(True, True, False, said))("subject")
    assert (result.passed, result.cause) == (passed, cause)
    assert result.diagnostics["replay"]["believed"] is True


def test_the_untouched_state_must_fail() -> None:
    result = check(gold=lambda: "right", initial=lambda: "right")(is_right)("right")
    assert (result.passed, result.cause) == (None, "task_invalid")
    assert check(gold=lambda: "right", initial=lambda: "")(is_right)("right").passed is True


def test_transport_exceptions_of_ones_own() -> None:
    class Unavailable(Exception):
        pass

    fragile = answers(True, True, False, Unavailable("down"))
    result = check(**states(), transport=(Unavailable,))(fragile)("subject")
    assert (result.passed, result.cause) == (None, "environment_lost")


def test_states_in_a_real_database_are_made_anew_and_cleaned_up(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE invoice (id TEXT PRIMARY KEY, amount INT)")
        made: list[str] = []

        @contextmanager
        def gold(database: sqlite3.Connection) -> Iterator[str]:
            made.append(f"gold-{len(made)}")
            database.execute("INSERT INTO invoice VALUES (?, 450)", made[-1:])
            yield made[-1]
            database.execute("DELETE FROM invoice WHERE id = ?", made[-1:])

        def other_amount(database: sqlite3.Connection) -> Iterator[str]:
            database.execute("INSERT INTO invoice VALUES ('bad', 45)")
            yield "bad"
            database.execute("DELETE FROM invoice WHERE id = 'bad'")

        @check(gold=gold, bad={"other": other_amount, "none": lambda: "nobody"})
        def invoice_is_right(number: str, database: sqlite3.Connection, amount: int = 450) -> bool:
            row = database.execute("SELECT amount FROM invoice WHERE id = ?", (number,)).fetchone()
            return row is not None and row[0] == amount

        db.execute("INSERT INTO invoice VALUES ('17', 450)")
        assert invoice_is_right("17", db).passed is True
        assert invoice_is_right(number="18", database=db).passed is False
        assert made == ["gold-0", "gold-1", "gold-2", "gold-3"]
        assert db.execute("SELECT id FROM invoice").fetchall() == [("17",)]
        assert invoice_is_right("17", db, amount=45).cause == "gold_failed"
        assert invoice_is_right.replay(database=db).believed
        with invoice_is_right.replayed(database=db) as ask:
            before = len(made)
            assert [ask("17").passed, ask("18").passed] == [True, False]
            assert len(made) == before


def yields_twice() -> Iterator[str]:
    yield "right"
    yield "right"


def yields_nothing() -> Iterator[str]:
    yield from ()


def raises_afterwards() -> Iterator[str]:
    yield "right"
    raise RuntimeError("clean-up")


@pytest.mark.parametrize(
    ("gold", "cause", "text"),
    [
        (raises(KeyError("seed")), "verifier_error", "making it: KeyError"),
        (raises(LOST), "environment_lost", "making it: ConnectionResetError"),
        (yields_twice, "verifier_error", "cleaning it up: ValueError: it yielded a second state"),
        (yields_nothing, "verifier_error", "making it: ValueError: it yielded no state"),
        (raises_afterwards, "verifier_error", "cleaning it up: RuntimeError: clean-up"),
    ],
)
def test_makers_that_break(gold: Makers, cause: str, text: str) -> None:
    result = check(**states(gold=gold))(is_right)("right")
    assert (result.passed, result.cause) == (None, cause)
    assert text in result.diagnostics["why"]


def test_a_state_that_is_a_context_manager_itself_is_not_entered() -> None:
    opened: list[sqlite3.Connection] = []

    def gold() -> sqlite3.Connection:
        opened.append(sqlite3.connect(":memory:"))
        opened[-1].execute("CREATE TABLE t (a)")
        return opened[-1]

    @check(gold=gold, bad=[lambda: None])
    def is_database(state: object) -> bool:
        return isinstance(state, sqlite3.Connection)

    assert is_database(None).passed is False
    for db in opened:
        db.close()


def test_replay_once_until_it_is_decided() -> None:
    asked: list[object] = []
    down = [True]

    def is_up(state: object) -> bool:
        asked.append(state)
        if down[0]:
            raise LOST
        return state == "right"

    checked = check(**states(), replay="once")(is_up)
    assert checked("right").cause == "environment_lost"
    down[0] = False
    assert checked("right").passed is True
    asked.clear()
    assert checked("wrong").passed is False
    assert asked == ["wrong"]
    each = check(**states())(is_up)
    each("right")
    asked.clear()
    each("wrong")
    assert asked == ["right", "right", "wrong", "wrong"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gold": {}}, "no gold"),
        ({"bad": None}, "neither bad nor initial"),
        ({"bad": []}, "neither bad nor initial"),
        ({"bad": {"gold": lambda: "wrong"}}, "two states are called 'gold'"),
        ({"bad": {"number": 45}}, "expected a callable"),
        ({"bad": lambda client: "wrong"}, "asks for 'client'"),
        ({"replay": "never"}, "expected 'each' or 'once'"),
    ],
)
def test_definitions_that_make_no_sense(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        check(**states(**wrong))(is_right)


def test_functions_that_cannot_be_checks() -> None:
    def method(self: object) -> bool:
        return True

    def keyword_only(*, state: object) -> bool:
        return True

    def many(*found: object) -> bool:
        return True

    async def later(state: object) -> bool:
        return True

    async def made() -> str:
        return "right"

    bad: list[Callable[..., object]] = [lambda: True, method, keyword_only, many, later]
    for function in bad:
        with pytest.raises(TypeError):
            check(**states())(function)
    with pytest.raises(TypeError, match="made asynchronously"):
        check(**states(gold=made))(is_right)
    with pytest.raises(TypeError):
        check(**states())(is_right)("a", "b")  # type: ignore[call-arg]


def test_asynchronous() -> None:
    cleaned: list[str] = []

    async def gold(word: str) -> Any:
        yield word
        cleaned.append(word)

    async def wrong() -> str:
        await asyncio.sleep(0)
        return "wrong"

    @check_async(gold=gold, bad={"wrong": wrong, "none": lambda: None})
    async def is_word(state: object, word: str) -> bool:
        await asyncio.sleep(0)
        return state == word

    async def all_of_it() -> list[bool | None]:
        one = await is_word("right", "right")
        two = await is_word("left", word="right")
        health = await is_word.replay(word="right")
        async with is_word.replayed(word="right") as ask:
            three = await ask("right")
        return [one.passed, two.passed, health.believed, three.passed]

    assert asyncio.run(all_of_it()) == [True, False, True, True]
    assert cleaned == ["right"] * 8


def test_require() -> None:
    assert require(Result(True)).passed
    with pytest.raises(Failed, match="FAIL: amount=45"):
        require(Result(False, (), {"amount": 45}))
    with pytest.raises(Indeterminate, match=r"INDETERMINATE \(state_missing\): F-x"):
        require(Result(None, (), {"why": "F-x"}, "state_missing"))
    with pytest.raises(TypeError, match="expected the Result"):
        require(True)  # type: ignore[arg-type]
    assert issubclass(Failed, AssertionError)
    assert not issubclass(Indeterminate, AssertionError)


def test_lines_for_people_are_bounded_and_harmless() -> None:
    line = one_line("a\x1b[31m\n\u202eb\udcff" + "x" * 5000)
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert len(line) == 1000
    line.encode()


def test_public_names_are_there_and_light() -> None:
    assert sorted(checks.__all__) == checks.__all__
    assert all(getattr(checks, name) is not None for name in checks.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(checks, "nonsense")  # noqa: B009 - the lookup is what is tested
    program = (
        "import sys; from pyrite.checks import *; "
        "print(*sorted(m for m in ('numpy', 'pydantic', 'asyncio', 'http.client', 'sqlite3', 'pytest') "
        "if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_check_of_another_name_is_no_running_test(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(**states())(is_right)("wrong").passed is False
    assert "PYTEST_CURRENT_TEST" in os.environ

    def test_like(state: object) -> bool:
        return state == "right"

    checked = check(**states())(test_like)
    assert checked("wrong").passed is False
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "a b/test_x.py::test_like[a b::c] (call)")
    with pytest.raises(Failed):
        checked("wrong")
