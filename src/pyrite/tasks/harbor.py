"""Read a Harbor task folder as a task.

    <task_id>/instruction.md  task.toml  environment/Dockerfile  solution/solve.sh  tests/test.sh

There are no containers here. The folder that the Dockerfile ends in (its last WORKDIR) is the home, made of
what COPY and ADD put there. The known states are `solution`, that home after solve.sh, which must pass, and
`nop`, in which nothing was done. test.sh is asked about an end state and its reward is the answer: 1 or more
is a pass, less a fail, no reward is no answer. Absolute paths that Harbor promises (the home, /tests,
/solution, /logs) are written anew in copies of the scripts. An image that is built by other commands than
installers is refused: its home is not known. `build` and `verify` are carried out confined.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from pyrite.errors import InputError, PyriteError, RunError
from pyrite.records import Benchmark, Initial, Launch, Limits, Outcome, StateSpec, TaskSpec
from pyrite.tasks.folder import digest_folder
from pyrite.tasks.task import INITIAL, Program

SOLUTION, NOP = "solution", "nop"
PARTS = ("task.toml", "instruction.md", "tests/test.sh", "environment/Dockerfile")
SERVER = "/var/lib/kontor.pyz"
"""Our web application in the image of an exported task; it is no part of the home."""
_MAX_BYTES = 1 << 20
_TAIL = 4000
_INSTALLS = re.compile(
    r"^(?:sudo |[A-Z_]+=\S+ )*(?:apt-get|apt|apk|pip3?|python3? -m pip|uv pip|uv|npm|curl|wget"
    r"|rm -rf /var/lib/apt|mkdir -p|chmod|set -\w+|true)\b"
)
_NO_FILES = {"FROM", "WORKDIR", "ENV", "ARG", "LABEL", "CMD", "ENTRYPOINT", "EXPOSE", "USER", "SHELL", "RUN"}


@dataclass(frozen=True)
class HarborTask:
    """A Harbor folder; implements `Task`."""

    folder: Path
    """Absolute."""
    spec: TaskSpec

    def builder(self, out: Path, names: Sequence[str]) -> Program:
        return self._program("build", str(out.absolute()), *names)

    def verifier(self, home: Path) -> Program:
        home = home.absolute()
        program = self._program("verify", str(home))
        return Program(program.argv, program.cwd, (home,))

    def verifier_sha256(self) -> str:
        return digest_folder(self.folder)

    def _program(self, *words: str) -> Program:
        argv = (sys.executable, "-P", "-m", "pyrite.tasks.harbor", words[0], str(self.folder), *words[1:])
        return Program(argv, self.folder)


def is_harbor(folder: Path) -> bool:
    """Whether a folder is one of Harbor and none of ours."""
    there = all((folder / name).is_file() for name in PARTS[:2])
    return there and not (folder / "task.json").exists()


def load_harbor(folder: Path) -> HarborTask:
    """Load one Harbor folder; raises `InputError` for what cannot be run here."""
    folder = folder.absolute()
    for name in PARTS:
        if not (folder / name).is_file():
            raise InputError(f"{name} is missing", where=str(folder), expected=", ".join(PARTS))
    try:
        data = tomllib.loads(_text(folder / "task.toml"))
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise InputError(f"not TOML: {exc}", where=str(folder / "task.toml")) from None
    instruction = _text(folder / "instruction.md").strip()
    if not instruction:
        raise InputError("it is empty", where=str(folder / "instruction.md"), expected="what is asked")
    _layers(folder)
    solved = (folder / "solution" / "solve.sh").is_file()
    good = StateSpec(name=SOLUTION, kind="good", outcome=Outcome.PASS)
    nop = StateSpec(name=NOP, kind="bad", outcome=Outcome.FAIL)
    try:
        spec = TaskSpec(
            task_id=folder.name,
            instruction=instruction,
            family=_family(_table(data, "metadata")),
            initial=Initial(open=_opened(_table(data, "metadata"))),
            states=(good, nop) if solved else (nop,),
            equivalent_mutants=_equivalent(_table(data, "metadata")),
            limits=Limits(timeout_s=float(_table(data, "verifier").get("timeout_sec", 600.0))),
            benchmark=Benchmark(
                name="harbor", version=str(data.get("schema_version", data.get("version", "")))
            ),
        )
    except (ValidationError, TypeError, ValueError) as exc:
        raise InputError(
            f"{str(exc).splitlines()[0]}", where=str(folder / "task.toml"), expected="a Harbor task"
        ) from None
    return HarborTask(folder, spec)


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _family(metadata: Mapping[str, Any]) -> str:
    found = metadata.get("pyrite_family") or metadata.get("category")
    return found if isinstance(found, str) else ""


def _opened(metadata: Mapping[str, Any]) -> Launch | None:
    """What an exported task of ours opens at the start: [application, arguments…]."""
    words = metadata.get("pyrite_open")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        return None
    return Launch(app=words[0], args=tuple(words[1:]))


def _equivalent(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Near-misses that an exported task of ours declares to be right after all."""
    found = metadata.get("pyrite_equivalent")
    pairs = found.items() if isinstance(found, dict) else ()
    return {name: why for name, why in pairs if isinstance(why, str)}


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError("it is larger than 1 MB", where=str(path))
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(str(exc), where=str(path), expected="a text in UTF-8") from None


# --- the Dockerfile


def _layers(folder: Path) -> tuple[str, list[tuple[Path, str, bool]]]:
    """The home's path, and what is laid into it: (source, path in the home, unpacked)."""
    where = folder / "environment" / "Dockerfile"
    work, copies = "/", []
    for word, rest in _orders(where):
        if word == "WORKDIR":
            work = _absolute(work, rest.strip().strip('"'))
        elif word in {"COPY", "ADD"}:
            copies.append((word, rest, work))
        elif word == "RUN":
            _require_installer(where, rest)
        elif word not in _NO_FILES:
            raise InputError(
                f"{word} is not understood", where=str(where), expected="FROM, WORKDIR, COPY, ADD, RUN"
            )
    if work == "/":
        raise InputError("no WORKDIR", where=str(where), expected="the folder that the agent works in")
    laid = [one for word, rest, at in copies for one in _copied(where, word, rest, at, work)]
    return work, laid


def _orders(where: Path) -> list[tuple[str, str]]:
    lines = [line for line in _text(where).splitlines() if not line.lstrip().startswith("#")]
    whole = re.sub(r"\\[ \t]*\n", " ", "\n".join(lines))
    found = (line.strip().partition(" ") for line in whole.splitlines() if line.strip())
    return [(word.upper(), rest) for word, _, rest in found]


def _require_installer(where: Path, rest: str) -> None:
    for part in re.split(r"&&|;|\|\|?", re.sub(r"--mount=\S+", "", rest)):
        if part.strip() and not _INSTALLS.match(part.strip()):
            raise InputError(
                f"RUN {part.strip()[:80]} makes the image in a way that is not carried out here",
                where=str(where),
                expected="RUN for installers only, and the home made of COPY and ADD",
            )


def _copied(where: Path, word: str, rest: str, at: str, home: str) -> list[tuple[Path, str, bool]]:
    try:
        words = json.loads(rest) if rest.lstrip().startswith("[") else shlex.split(rest)
    except ValueError:
        words = []
    words = [one for one in words if not one.startswith("--")]
    if len(words) < 2:
        raise InputError(
            f"{word} {rest[:80]} is not understood", where=str(where), expected="COPY SOURCE… GOAL"
        )
    goal = _absolute(at, words[-1])
    if goal == SERVER:
        return []
    if goal != home and not goal.startswith(f"{home}/"):
        raise InputError(f"{word} goes to {goal}", where=str(where), expected=f"a place below {home}")
    inside = PurePosixPath(goal).relative_to(home)
    found = []
    for name in words[:-1]:
        source = (where.parent / name).resolve()
        if not source.is_relative_to(where.parent.resolve()) or not source.exists():
            raise InputError(
                f"{name[:80]!r} is not there", where=str(where), expected="a file below environment/"
            )
        unpacked = word == "ADD" and source.suffix in {".tar", ".tgz", ".gz", ".xz"}
        folder = (
            source.is_dir()
            or unpacked
            or not (words[-1].endswith("/") or words[-1] in {".", "./"} or goal == home)
        )
        found.append((source, str(inside if folder else inside / source.name), unpacked))
    return found


def _absolute(base: str, path: str) -> str:
    return os.path.normpath(os.path.join(base, path))


# --- what is carried out, confined


def build(folder: Path, out: Path, names: Sequence[str]) -> None:
    """Make `out/<name>/` for each of `initial`, `solution` and `nop`."""
    home_path, laid = _layers(folder)
    for name in names:
        home = out / name
        home.mkdir()
        for source, inside, unpacked in laid:
            _lay(source, home / inside, unpacked)
        if name == SOLUTION:
            with tempfile.TemporaryDirectory() as place:
                done = _script(folder, "solution", "solve.sh", Path(place), home_path, home)
            if done.returncode != 0:
                raise RunError(f"solve.sh ended with {done.returncode}: {_said(done)}", where=str(folder))
        elif name not in {INITIAL, NOP}:
            raise RunError(f"a Harbor folder has no state {name!r}", where=str(folder))


def _lay(source: Path, goal: Path, unpacked: bool) -> None:
    if unpacked:
        goal.mkdir(parents=True, exist_ok=True)
        with tarfile.open(source) as archive:
            archive.extractall(goal, filter="tar")
    elif source.is_dir():
        shutil.copytree(source, goal, symlinks=True, dirs_exist_ok=True)
    else:
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, goal)


def verify(folder: Path, home: Path) -> dict[str, Any]:
    """Ask test.sh about a home; what verify.py of a task folder prints."""
    home_path, _ = _layers(folder)
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        done = _script(folder, "tests", "test.sh", place, home_path, home)
        logs = place / "logs" / "verifier"
        reward = _reward(logs)
        told = _told(logs)
    shown = {"reward": reward, "exit_code": done.returncode, "said": _said(done)}
    if reward is None:
        shown["why"] = "test.sh wrote no reward"
        return {"pass": None, "cause": "verifier_says_unknown", "category": None, "diagnostics": shown}
    passed = reward >= 1.0
    if told.get("pass") is passed:
        shown |= told.get("diagnostics") or {}
    category = told.get("category") if told.get("pass") is False and not passed else None
    return {"pass": passed, "category": category, "diagnostics": shown}


def _reward(logs: Path) -> float | None:
    """The reward that was written, as Harbor reads it: reward.json wins."""
    try:
        found: Any = json.loads((logs / "reward.json").read_bytes())
        if isinstance(found, dict):
            found = found.get("reward", next(iter(found.values())) if len(found) == 1 else None)
    except FileNotFoundError:
        try:
            found = float((logs / "reward.txt").read_text("utf-8"))
        except (OSError, ValueError):
            return None
    except (OSError, ValueError):
        return None
    number = isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)
    return float(found) if number else None


def _told(logs: Path) -> dict[str, Any]:
    """What a test script of ours says beside the reward."""
    try:
        found = json.loads((logs / "verdict.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("diagnostics", {}), dict) else {}


def _script(
    folder: Path, part: str, name: str, place: Path, home_path: str, home: Path
) -> subprocess.CompletedProcess[bytes]:
    """Run a script from a copy of its folder in which the paths of the container are those of here."""
    shutil.copytree(folder / part, place / part, symlinks=True)
    (place / "logs" / "verifier").mkdir(parents=True)
    moved = {
        home_path: str(home),
        "/tests": f"{place}/tests",
        "/solution": f"{place}/solution",
        "/logs": f"{place}/logs",
    }
    pattern = re.compile(r"(?<![\w.$})/-])(" + "|".join(map(re.escape, moved)) + r")(?![\w-])")
    for path in (place / part).rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MAX_BYTES:
            _write_anew(path, lambda text: pattern.sub(lambda found: moved[found[1]], text))
    script = place / part / name
    shell = "bash" if b"bash" in script.read_bytes().split(b"\n", 1)[0] and shutil.which("bash") else "sh"
    path_of = f"{os.path.dirname(sys.executable)}:{os.environ.get('PATH', '/usr/bin:/bin')}"
    return subprocess.run(
        [shell, str(script)],
        cwd=home,
        env={**os.environ, "HOME": str(home), "PATH": path_of, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


def _write_anew(path: Path, change: Any) -> None:
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return
    path.write_bytes(change(text).encode())


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stdout[-_TAIL:].decode("utf-8", "replace").strip()


def main() -> int:
    """`build FOLDER OUT NAME…` or `verify FOLDER HOME`."""
    command, folder = sys.argv[1], Path(sys.argv[2])
    try:
        if command == "build":
            build(folder, Path(sys.argv[3]), sys.argv[4:])
        else:
            sys.stdout.write(json.dumps(verify(folder, Path(sys.argv[3])), allow_nan=False) + "\n")
    except PyriteError as exc:
        print(exc, file=sys.stderr)
        return exc.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
