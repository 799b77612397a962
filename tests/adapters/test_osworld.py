"""OSWorld-style evaluators: what its harness only logs is heard."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pyrite.adapters.osworld import SETUP_LOGGER, graded, graded_file


def evaluate(score: float, message: str | None, level: int = logging.ERROR) -> float:
    """As OSWorld's: a step of the evaluation fails, is logged, and the getter reads what is there."""
    if message is not None:
        logging.getLogger(f"{SETUP_LOGGER}.x" if level == 0 else SETUP_LOGGER).log(level or 40, message)
    return score


def test_a_0_after_a_step_that_failed_is_indeterminate() -> None:
    found = graded(lambda: evaluate(0.0, "Failed to launch application. Status code: 500"))
    assert (found.outcome.value, found.cause, found.blame) == ("indeterminate", "act_failed", "environment")
    assert "Status code: 500" in found.why
    assert found.reward is None


@pytest.mark.parametrize(
    ("score", "message", "level", "wanted"),
    [
        (1.0, "Failed to launch application", logging.ERROR, "pass"),
        (0.0, "slow", logging.WARNING, "fail"),
        (0.0, None, logging.ERROR, "fail"),
    ],
)
def test_what_is_heard_only_there(score: float, message: str | None, level: int, wanted: str) -> None:
    assert graded(lambda: evaluate(score, message, level)).outcome.value == wanted


def test_the_logger_can_be_another_one_or_none_and_stays_as_it_was() -> None:
    before = list(logging.getLogger(SETUP_LOGGER).handlers)
    assert graded(lambda: evaluate(0.0, "failed"), setup_logger=None).outcome.value == "fail"
    assert graded(lambda: evaluate(0.0, "failed"), setup_logger="other").outcome.value == "fail"
    assert logging.getLogger(SETUP_LOGGER).handlers == before


def test_a_result_file(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    path.write_bytes(b"\xff")
    assert graded_file(path).cause == "verifier_output_invalid"
    path.write_text("0.6666666666666666\n")
    assert (graded_file(path).outcome.value, graded_file(path).reward) == ("fail", 0.6666666666666666)
    path.write_text("9" * 5000)
    assert graded_file(path).cause == "verifier_output_invalid"
    assert graded_file(tmp_path).cause == "verifier_output_invalid"


def test_a_log_call_that_is_wrong_itself_is_heard_too(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger(SETUP_LOGGER)
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logging, "raiseExceptions", False)

    def evaluate() -> float:
        wrong = "%d %d"
        logger.error(wrong, 1)
        return 0.0

    assert graded(evaluate).why == "logged: %d %d"
