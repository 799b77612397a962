"""What to type for verdicts that are not there yet: a command that the shell takes as it stands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from pyrite.errors import PyriteError
from pyrite.judges.labels import EXEC, JUDGES, options_of
from pyrite.measure.follows import is_ensemble


def to_have(root: Path, labels: Sequence[str], condition: str | None = None) -> str:
    """The command that makes verdicts of these judges; for a name that is no judge's, the list of judges.

    An ensemble is not asked: it is made of judges that have judged.
    """
    bench = shlex.quote(str(root))
    if any(map(is_ensemble, labels)):
        return f"pyrite experiment ensemble {bench} --rule RULE --judge MEMBER --judge MEMBER"
    if not labels or not all(map(_known, labels)):
        return "pyrite list judges"
    model = " --model NAME" if any(map(_without_model, labels)) else ""
    asked = f"pyrite judge {bench} --judge {shlex.quote(','.join(labels))}{model}"
    return f"{asked} --condition {shlex.quote(condition)}" if condition else asked


def _known(label: str) -> bool:
    name = label.partition("@")[0]
    return ":" in label or label.startswith(EXEC) or name in JUDGES.names()


def _without_model(label: str) -> bool:
    name, _, options = label.partition("@")
    if name not in JUDGES.names() or any(part.startswith("model=") for part in options.split(",")):
        return False
    try:
        return "model" in options_of(name) and "path" not in options_of(name)
    except PyriteError:
        return False
