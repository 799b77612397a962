"""Print what verify.py must print: one JSON object with pass, category and diagnostics.

    if __name__ == "__main__":
        main(check)          # check(home: Path) -> Result

An exception in our own code leaves with a traceback and a non-zero exit, which makes the outcome
INDETERMINATE and blames the verifier. What the policy did to a document is a `Result` that fails.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

CODES = ("F-ABORT", "F-CLAIM", "F-UNCOMMITTED", "F-WRONGTARGET", "F-PARTIAL", "F-SIDEEFFECT", "F-WRONGAPP")
NOTHING_PERSISTED = ("F-ABORT", "F-CLAIM", "F-UNCOMMITTED")
"""What the end state allows when nothing of the task is in it."""


class Result(NamedTuple):
    """What a check found."""

    passed: bool | None
    """None: the check cannot tell, with a `cause`."""
    category: tuple[str, ...] = ()
    """Every code that a failing state allows; empty when none fits."""
    diagnostics: Mapping[str, Any] = {}
    cause: str | None = None


def render(result: Result) -> str:
    """The one line of JSON; raises ValueError for a result that contradicts itself."""
    unknown = [code for code in result.category if code not in CODES]
    if unknown:
        raise ValueError(f"unknown category {unknown[0]!r}, expected one of {', '.join(CODES)}")
    if result.category and result.passed is not False:
        raise ValueError("only a fail has a category")
    if (result.passed is None) != (result.cause is not None):
        raise ValueError("a cause is given exactly when pass is null")
    body: dict[str, Any] = {
        "pass": result.passed,
        "category": list(result.category) or None,
        "diagnostics": _plain(dict(result.diagnostics)),
    }
    if result.cause is not None:
        body["cause"] = result.cause
    return json.dumps(body, allow_nan=False, sort_keys=True)


def main(check: Callable[[Path], Result], argv: Sequence[str] | None = None) -> None:
    """Run a check on the home that the command line names and print its result."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        raise SystemExit(f"usage: verify.py ROOT (a folder), got {arguments}")
    line = render(check(Path(arguments[0])))
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _plain(value: Any) -> Any:
    """Data that any JSON reader takes: no NaN, no half of a surrogate pair, from hostile text."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
