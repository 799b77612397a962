"""OSWorld-style evaluators: a float or an exception, and what is only logged. Needs no package.

OSWorld's evaluate() runs steps on the machine first; where one fails, its setup controller logs an
error and goes on, so that the score is of a state that nobody saved.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyrite.adapters.graded import UNIT, Graded, How, Scale, Seen, attempt, decide, shown
from pyrite.checks.package import Unreadable, read_file
from pyrite.records import Outcome

SETUP_LOGGER = "desktopenv.setup"
"""The logger of OSWorld's setup controller, which also runs the steps of the evaluation."""
_LIMIT = 4096


def graded(
    evaluate: Callable[[], object],
    *,
    scale: Scale = UNIT,
    policy_causes: tuple[type[BaseException], ...] = (),
    setup_logger: str | None = SETUP_LOGGER,
) -> Graded:
    """Ask an evaluator (`env.evaluate`) once; never raises.

    A score below a pass during which the setup controller logged an error is act_failed. A pass stands.
    OSWorld gives 0 where a file of the agent is not there; an evaluator that raises FileNotFoundError is
    indeterminate unless `policy_causes` holds it.
    """
    with _errors_of(setup_logger) as errors:
        seen = attempt(evaluate, policy_causes)
    found = decide(seen, scale)
    if found.outcome is Outcome.FAIL and seen.how is How.ANSWERED and errors:
        return decide(Seen(How.ACT_FAILED, seen.value, f"logged: {shown(errors[0])}"))
    return found


def graded_file(path: Path | str, *, scale: Scale = UNIT) -> Graded:
    """The score of a finished example, from its result.txt; a file that is not there is no 0."""
    path = Path(path)
    try:
        text = read_file(path, _LIMIT).decode("utf-8").strip()
    except Unreadable as exc:
        how = How.NO_ANSWER if exc.reason == "missing" else How.UNREADABLE
        return decide(Seen(how, why=f"{path.name}: {exc.detail}"))
    except UnicodeDecodeError:
        return decide(Seen(How.UNREADABLE, why=f"{path.name}: not a text"))
    return decide(parsed(text, path.name), scale)


def graded_score(score: Any, *, scale: Scale = UNIT) -> Graded:
    """An Inspect `Score`, as inspect-evals gives for OSWorld: a number, C, P or I; NaN is "unscored"."""
    value = getattr(score, "value", None)
    letters = {"C": 1.0, "P": 0.5, "I": 0.0}
    known = letters.get(value) if isinstance(value, str) else None
    found = decide(Seen(How.ANSWERED, value if known is None else known), scale)
    if isinstance(value, float) and value != value:  # inspect's own word for "no score"
        why = shown(getattr(score, "explanation", None) or "unscored")
        return Graded(Outcome.INDETERMINATE, "verifier_says_unknown", raw="nan", why=why)
    return found


def parsed(text: str, where: str) -> Seen:
    """A number written as text; a text that is none stays one, which is no answer.

    >>> parsed(" 1.0 ", "x").value, parsed("true", "x").value, parsed("", "x").how.value
    (1.0, 'true', 'unreadable')
    """
    if not text.strip():
        return Seen(How.UNREADABLE, why=f"{where} is empty")
    try:
        return Seen(How.ANSWERED, float(text if text.isascii() else "none"))
    except ValueError:
        return Seen(How.ANSWERED, text, f"{where} holds {shown(text)!r:.60}, expected a number")


@contextmanager
def _errors_of(name: str | None) -> Iterator[list[str]]:
    """What a logger says of errors meanwhile; its level, handlers and disabledness stay what they are."""
    found: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            try:
                found.append(record.getMessage())
            except Exception:  # a message whose arguments do not fit
                found.append(shown(record.msg))

    if name is None:
        yield found
        return
    logger, keeper = logging.getLogger(name), Keeper(logging.ERROR)
    logger.addHandler(keeper)
    try:
        yield found
    finally:
        logger.removeHandler(keeper)
