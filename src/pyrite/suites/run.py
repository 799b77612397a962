"""The two programs of a family task, each run confined as its own process.

    python -P -m pyrite.suites.run build  MODULE TASK_ID OUT NAME…
    python -P -m pyrite.suites.run verify MODULE TASK_ID HOME

`build` makes OUT/NAME/ for each state; `verify` prints the one JSON object of the verify.py contract.
"""

from __future__ import annotations

import shutil
import sys
from importlib import import_module
from pathlib import Path

from pyrite.checks.verdict import main as verdict
from pyrite.suites.family import Family

_USAGE = "usage: pyrite.suites.run build MODULE TASK_ID OUT NAME… | verify MODULE TASK_ID HOME"


def build(family: Family, task_id: str, out: Path, names: list[str]) -> None:
    """Make a home for each named state; `initial` is the untouched one."""
    params = family.params[task_id]
    states = {
        state.name: state for state in (*family.good(params), *family.harmless(params), *family.bad(params))
    }
    unknown = [name for name in names if name != "initial" and name not in states]
    if unknown:
        raise SystemExit(f"{task_id} has no state {unknown[0]!r}, it has {', '.join(states)}")
    for name in names:
        home = out / name
        for path, source in family.initial(params).items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(family.files / source, home / path)
            (home / path).chmod(0o644)  # whatever the umask: verifiers compare permissions
        if name != "initial":
            states[name].make(home)


def main() -> None:
    """Run what the command line asks for; any exception of ours leaves with a non-zero exit."""
    if len(sys.argv) < 5 or sys.argv[1] not in ("build", "verify"):
        raise SystemExit(_USAGE)
    command, module, task_id, place = sys.argv[1:5]
    family: Family = import_module(module).FAMILY
    if task_id not in family.params:
        raise SystemExit(f"{family.name} has no task {task_id!r}")
    if command == "build":
        build(family, task_id, Path(place), sys.argv[5:])
    else:
        verdict(lambda home: family.verify(family.params[task_id], home), sys.argv[4:])


if __name__ == "__main__":
    main()
