"""The how-to is run as it is printed: a real replica two seconds behind, a service that limits the check."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrite.checks import eventually

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "checks-for-your-product.md"
NAMES = ["shop.py", "invoices.py", "looking.py", "test_invoices.py"]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's files."""
    out = tmp_path_factory.mktemp("how-to")
    for text in blocks("python"):
        first = text.partition("\n")[0]
        assert first.startswith("# ")
        (out / first[2:]).write_text(text, encoding="utf-8")
    assert sorted(path.name for path in out.iterdir()) == sorted(NAMES)
    return out


@pytest.fixture(scope="module")
def printed(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The page's own pytest run; it goes on while other tests do."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    plugins = ["-p", "pyrite.checks.pytest_plugin"]
    run = subprocess.Popen(
        [*command, *plugins, "test_invoices.py"],
        cwd=folder,
        env={
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PATH": "",
            "COLUMNS": "80",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield run
    run.kill()
    run.communicate()


@pytest.fixture(scope="module")
def modules(folder: Path) -> Iterator[dict[str, Any]]:
    """The page's modules, imported here."""
    sys.path.insert(0, str(folder))
    names = [name.removesuffix(".py") for name in NAMES[:3]]
    yield {name: importlib.import_module(name) for name in names}
    sys.path.remove(str(folder))
    for name in names:
        del sys.modules[name]


@pytest.fixture
def shop(request: pytest.FixtureRequest, modules: dict[str, Any], tmp_path: Path) -> Iterator[Any]:
    with modules["shop"].Shop(tmp_path, lag=getattr(request, "param", 0.3)) as shop:
        yield shop


@pytest.fixture
def clients(modules: dict[str, Any], shop: Any) -> tuple[Any, Any]:
    """Agent and checker."""
    made = modules["shop"].Client
    return made(shop.address, "agent"), made(shop.address, "checker")


@pytest.mark.parametrize("shop", [2.0], indirect=True)
def test_200_ms_after_the_agent_it_waits_or_cannot_tell(
    printed: subprocess.Popen[str], modules: dict[str, Any], clients: tuple[Any, Any]
) -> None:
    invoices, look = modules["invoices"], modules["looking"].look
    agent, checker = clients
    invoices.write(agent, "17", invoices.RIGHT)
    time.sleep(0.2)
    for deadline in (0, 0.5):
        early = look(checker, "17", deadline=deadline)
        assert (early.passed, early.cause) == (None, "state_missing")
    late = look(checker, "17")
    assert late.passed is True
    waited = late.diagnostics["waited"]
    assert waited["probes"] > 1
    assert waited["last_answer"] == "pass"


def test_a_truly_missing_and_a_wrong_invoice_are_fails(
    modules: dict[str, Any], clients: tuple[Any, Any]
) -> None:
    invoices, look = modules["invoices"], modules["looking"].look
    agent, checker = clients
    invoices.write(agent, "18", invoices.RIGHT | {"amount": 45})
    missing = look(checker, "17")
    assert (missing.passed, missing.category) == (False, ("F-CLAIM", "F-ABORT"))
    assert missing.diagnostics["waited"]["canary_lag_s"] > 0.2
    wrong = look(checker, "18")
    assert (wrong.passed, wrong.category) == (False, ("F-PARTIAL",))
    assert wrong.diagnostics["wrong"] == {"amount": 45}


def test_canaries_are_gone_afterwards(modules: dict[str, Any], clients: tuple[Any, Any], shop: Any) -> None:
    import sqlite3
    from contextlib import closing

    assert modules["looking"].look(clients[1], "17").passed is False
    deadline = time.monotonic() + 10
    with closing(sqlite3.connect(shop.replica)) as db:
        while rows := db.execute("SELECT id FROM invoice").fetchall():
            assert time.monotonic() < deadline, rows
            time.sleep(0.05)
    with closing(sqlite3.connect(shop.primary)) as db:
        written = db.execute("SELECT id, body IS NULL FROM log").fetchall()
    assert [(key.startswith("pyrite-canary-"), gone) for key, gone in written] == [(True, 0), (True, 1)]


@pytest.mark.parametrize("there", [True, False])
def test_a_limiter_that_hits_only_the_check_is_indeterminate(
    modules: dict[str, Any], clients: tuple[Any, Any], shop: Any, there: bool
) -> None:
    invoices, look = modules["invoices"], modules["looking"].look
    agent, checker = clients
    if there:
        invoices.write(agent, "17", invoices.RIGHT)
    shop.limited["checker"] = 30
    began = time.monotonic()
    result = look(checker, "17")
    assert (result.passed, result.cause) == (None, "environment_lost")
    assert time.monotonic() - began < 5
    shop.limited["checker"] = 1
    result = look(checker, "17", deadline=1.5)
    assert (result.passed, result.cause) == (None, "environment_lost")
    assert result.diagnostics["waited"]["probes"] == 2
    shop.limited.clear()
    assert look(checker, "17").passed is there


def test_a_service_that_is_gone_is_indeterminate(modules: dict[str, Any], clients: tuple[Any, Any]) -> None:
    read = modules["invoices"].read
    dead = modules["shop"].Client(("127.0.0.1", 9), "checker")
    result = eventually(lambda: read(dead, "17") is not None, 0.2, 0.05)
    assert (result.passed, result.cause) == (None, "environment_lost")


def test_the_pages_check_is_believed(modules: dict[str, Any]) -> None:
    health = modules["invoices"].invoice_is_right.replay()
    assert health.believed
    assert health.brief()["states"] == {
        "gold": ["pass", "pass"],
        "none": ["fail"],
        "other_amount": ["fail"],
        "amount_is_text": ["fail"],
        "other_customer": ["fail"],
    }


@pytest.mark.parametrize(
    ("right", "wrong", "caught_by"),
    [
        ("return Result(False, ", "return Result(True, ", "none"),
        ("in RIGHT.items() if", 'in [("customer", "Ada")] if', "other_amount"),
        ("if invoice.get(name) != value", "if str(invoice.get(name)) != str(value)", "amount_is_text"),
        ("in RIGHT.items() if", 'in [("amount", 450)] if', "other_customer"),
        ("return Result(not wrong", "return Result(bool(wrong)", "gold"),
    ],
)
def test_each_known_state_catches_a_check_that_is_wrong(
    folder: Path, right: str, wrong: str, caught_by: str
) -> None:
    text = (folder / "invoices.py").read_text(encoding="utf-8")
    assert text.count(right) == 1
    broken: dict[str, Any] = {}
    exec(compile(text.replace(right, wrong), "invoices.py", "exec"), broken)
    result = broken["invoice_is_right"](broken["RIGHT"])
    assert result.passed is None
    assert result.cause in {"gold_failed", "bad_state_accepted", "verifier_output_invalid"}
    assert f"state {caught_by}:" in result.diagnostics["why"]


def plain(text: str) -> list[str]:
    """Lines without what differs from run to run: seconds, and what stands in a traceback."""
    lines = [re.sub(r" in [0-9.]+s.*$", "", line).rstrip() for line in text.strip().splitlines()]
    return [re.sub(r"[0-9]+ s\b", "N s", line) for line in lines if line]


def test_the_page_prints_what_its_run_prints(printed: subprocess.Popen[str]) -> None:
    output, _ = printed.communicate(timeout=120)
    assert printed.returncode == 1, output
    (shown,) = blocks("console")
    shown = shown.partition("\n")[2]
    before, _, after = shown.partition("...\n")
    lines = plain(output)
    assert lines[: len(plain(before))] == plain(before)
    assert lines[-len(plain(after)) :] == plain(after)
