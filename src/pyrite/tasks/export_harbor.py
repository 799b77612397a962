"""Write a task as a Harbor task folder.

    <task_id>/
      instruction.md  task.toml
      environment/Dockerfile  home.tar     the initial home, laid into /home/agent
      solution/solve.sh  good.tar          puts the good end state there (the oracle)
      tests/test.sh  grade.py  verify.py   asks the verifier and writes /logs/verifier/reward.txt

pass writes 1, fail 0; a verifier that cannot say writes no reward, so that Harbor leaves the trial out of
its mean, and verdict.json says why. The end state is what lies in /home/agent: an agent of Harbor works on
the files, with the application where its image has one. Written for harbor 0.26.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyrite.records import TaskSpec
from pyrite.tasks.export import Verifier, put, tarred
from pyrite.tasks.harbor import SERVER
from pyrite.tasks.task import INITIAL

HOME = "/home/agent"
_DATABASE = "Kontor/kontor.db"
LOGS = "/logs/verifier"

_DOCKERFILE = """FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir 'defusedxml>=0.7'
{packages}{programs}WORKDIR {home}
ADD home.tar {home}/
"""
_PACKAGES = """RUN apt-get update \\
    && apt-get install -y --no-install-recommends {packages} \\
    && rm -rf /var/lib/apt/lists/*
"""
_SOLVE = """#!/bin/sh
# Makes the good end state: the home as it is after the task was done.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
find {home} -mindepth 1 -delete
tar -xf "$here/good.tar" -C {home}
"""
_TEST = """#!/bin/sh
# Asks the verifier about {home}; pass writes 1, fail 0, and an answer that is neither writes no reward.
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p {logs}
rm -f {logs}/reward.txt {logs}/reward.json
cd "$here" || exit 1
python3 verify.py {home} > {logs}/answer.txt
python3 grade.py "$?" {logs}
"""
_GRADE = '''"""Turn what verify.py printed into Harbor's reward: python3 grade.py EXIT_CODE LOGS."""

import json
import pathlib
import sys

code, logs = int(sys.argv[1]), pathlib.Path(sys.argv[2])
lines = (logs / "answer.txt").read_text("utf-8", "replace").splitlines()


def answer(line):
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "pass" in found else None


found = [one for one in map(answer, lines) if one is not None]
if code != 0 or len(found) != 1 or found[0]["pass"] not in (True, False, None):
    verdict = {"pass": None, "cause": f"verify.py ended with {code} and gave {len(found)} answers"}
else:
    verdict = found[0]
(logs / "verdict.json").write_text(json.dumps(verdict) + "\\n", "utf-8")
if verdict["pass"] is not None:
    (logs / "reward.txt").write_text("1\\n" if verdict["pass"] else "0\\n", "utf-8")
'''


@dataclass(frozen=True)
class Image:
    """What the image of a task holds beside its home."""

    packages: tuple[str, ...] = ()
    """Debian packages."""
    programs: Mapping[str, bytes] = field(default_factory=dict)
    """Path -> content."""
    page: str = ""
    """Of our web application, where the task is on it: the page that is open at the start."""


def write_harbor(folder: Path, spec: TaskSpec, verifier: Verifier, homes: Path, image: Image) -> None:
    """Write one task; `homes` holds `initial` and the states, the first good one is the solution."""
    good = next(state.name for state in spec.states if state.kind == "good")
    folder.mkdir(parents=True)
    put(folder / "instruction.md", _instruction(spec, image).encode())
    put(folder / "task.toml", _toml(spec).encode())
    put(folder / "environment" / "Dockerfile", _dockerfile(image).encode())
    for path, content in image.programs.items():
        put(folder / "environment" / Path(path).name, content)
    put(folder / "environment" / "home.tar", tarred(homes / INITIAL))
    put(folder / "solution" / "good.tar", tarred(homes / good))
    put(folder / "solution" / "solve.sh", _SOLVE.format(home=HOME).encode())
    for name, content in verifier.files.items():
        put(folder / "tests" / name, content)
    put(folder / "tests" / "grade.py", _GRADE.encode())
    put(folder / "tests" / "test.sh", _TEST.format(home=HOME, logs=LOGS).encode())
    for script in ("solution/solve.sh", "tests/test.sh"):
        (folder / script).chmod(0o755)


def _dockerfile(image: Image) -> str:
    packages = _PACKAGES.format(packages=" ".join(sorted(image.packages))) if image.packages else ""
    programs = "".join(f"COPY {Path(path).name} {path}\n" for path in image.programs)
    return _DOCKERFILE.format(packages=packages, programs=programs, home=HOME)


def _instruction(spec: TaskSpec, image: Image) -> str:
    text = f"{spec.instruction}\n\nThe home folder, which paths are relative to, is {HOME}.\n"
    if SERVER in image.programs:
        text += (
            f"The web application is started there by `python3 {SERVER} {_DATABASE}`; the page that the task "
            f"speaks of is http://127.0.0.1:8000{image.page}. Use the application, not its database.\n"
        )
    return text


def _toml(spec: TaskSpec) -> str:
    tags = [tag for tag in ("pyrite", spec.family) if tag]
    start = spec.initial.open
    opened = "" if start is None else f"pyrite_open = {_texts([start.app, *start.args])}\n"
    return (
        'schema_version = "1.1"\n\n'
        "[metadata]\n"
        'author_name = "pyrite"\n'
        'category = "computer-use"\n'
        f"tags = {_texts(tags)}\n"
        f"licence = {_texts(spec.licence)}\n"
        f"pyrite_family = {_texts(spec.family)}\n"
        f"{opened}"
        f"{_table('pyrite_equivalent', spec.equivalent_mutants)}\n"
        "[verifier]\n"
        f"timeout_sec = {spec.limits.timeout_s + 30:.1f}\n\n"
        "[agent]\n"
        "timeout_sec = 900.0\n\n"
        "[environment]\n"
        "build_timeout_sec = 1200.0\n"
        "cpus = 1\n"
        "memory_mb = 2048\n"
        "storage_mb = 10240\n"
        "allow_internet = false\n"
    )


def _table(name: str, values: Mapping[str, str]) -> str:
    """An inline table of texts; empty where there is none."""
    if not values:
        return ""
    return (
        f"{name} = {{ {', '.join(f'{_texts(key)} = {_texts(value)}' for key, value in values.items())} }}\n"
    )


def _texts(value: str | Sequence[str]) -> str:
    """A TOML string, or a list of them: JSON's, in which only a character of its own kind is not TOML's."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
