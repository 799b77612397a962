"""The error tree: what can go wrong, and what the user does next.

    PyriteError                  exit 70   never raised itself
    ├── UsageError               exit 2    wrong option, missing path, nothing matched
    │   └── InputError           exit 2    a file, row or value that cannot be used as it is
    ├── UndecidedError           exit 3    computed, but every figure of the leading stratum is null
    ├── RunError                 exit 4    could not run or finish; the same command resumes
    │   ├── SandboxError                   no sandbox, or one without the isolation an episode needs
    │   └── BusyError                      another process works on the same bench
    └── (anything else)          exit 70   a bug of ours

Each error carries four texts: `what` was found, `where` it stands (file:line, row, field), what was
`expected`, and what to type `next`. `boundary()` is the one place that turns an escape from foreign
input into one of them. A broken episode is data, not an error: it becomes an outcome or a count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager


class PyriteError(Exception):
    """The root of the tree."""

    code = "error"
    exit_code = 70

    def __init__(self, what: str, *, where: str = "", expected: str = "", next: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.next = next

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.expected:
            lines.append(f"expected: {self.expected}")
        if self.next:
            lines.append(f"next: {self.next}")
        return "\n".join(lines)

    def as_json(self) -> str:
        """The error as the one JSON document that `--json` prints."""
        body = {
            "code": self.code,
            "what": self.what,
            "where": self.where,
            "expected": self.expected,
            "next": self.next,
        }
        return json.dumps({"schema_version": "1", "error": body}, ensure_ascii=False)


class UsageError(PyriteError):
    """The command was used wrongly, or what it was given matched nothing."""

    code = "usage"
    exit_code = 2


class InputError(UsageError):
    """A file, row or value cannot be used as it is."""

    code = "input"


class UndecidedError(PyriteError):
    """Everything was computed and nothing of it can be decided."""

    code = "undecided"
    exit_code = 3


class RunError(PyriteError):
    """The work could not run or finish; the same command resumes it."""

    code = "run"
    exit_code = 4


class SandboxError(RunError):
    """There is no sandbox here, or it lacks isolation that an episode needs."""

    code = "sandbox"


class StartError(SandboxError):
    """A sandbox did not come up this time, as happens on a busy machine: another try may do."""


class BusyError(RunError):
    """Another process works on the same bench."""

    code = "busy"


@contextmanager
def boundary(where: str, *, expected: str = "", next: str = "") -> Iterator[None]:
    """Turn what foreign input makes a parser raise into an `InputError` that says where.

    >>> with boundary("n.txt", expected="a number"):
    ...     int("x")
    Traceback (most recent call last):
    pyrite.errors.InputError: n.txt: invalid literal for int() with base 10: 'x'
    expected: a number
    """
    try:
        yield
    except PyriteError:
        raise
    except (ValueError, KeyError, TypeError, OSError, EOFError, RecursionError) as exc:
        raise InputError(_first_line(exc), where=where, expected=expected, next=next) from exc


def _first_line(exc: BaseException) -> str:
    text = str(exc).strip().splitlines()
    return text[0] if text else type(exc).__name__
