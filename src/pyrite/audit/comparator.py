"""Replay a foreign comparator, without its machine: known files, and what it must say of each.

The gold against itself must be accepted, and so must the gold written anew; the initial file and every
near-miss of the gold must be rejected. The foreign code runs confined, twice on each case.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pyrite.audit import answers, calling, harmless
from pyrite.audit.answers import Accept, Answer
from pyrite.checks.package import Unreadable, read_file
from pyrite.errors import InputError, RunError, UsageError
from pyrite.pool import Silent, Watch
from pyrite.records import Limits
from pyrite.sandbox import confine
from pyrite.store.scratch import scratch
from pyrite.tasks.task import BUILD_LIMITS, INITIAL, Program
from pyrite.truth.mutants import files as near_files
from pyrite.truth.mutants import made as making

GOLD = "gold"
_NAMED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_ELSEWHERE = frozenset(
    {
        "sibling-file",
        "written-as-copy",
        "case-folded-path",
        "other-folder",
        "file-added",
        "file-changed",
        "file-deleted",
    }
)
"""Near-misses of a home that leave the file as it is: a comparator of two files cannot see them."""
_MEMORY_MB = 8192
"""Address space of the foreign code: numeric libraries reserve far more than they use."""
IMPORT_S = 60.0
OUTPUT_LIMIT = 8 << 20
_WANTED = {"gold": True, "harmless": True, "initial": False, "near_miss": False, "result": None}


@dataclass(frozen=True)
class Ask:
    """What to replay."""

    function: str
    """`module:function`, called as function(result, expected, **options)."""
    expected: Path
    initial: Path | None = None
    """The file before anybody worked on it."""
    result: Path | None = None
    """A file whose answer is wanted; nothing is held against it."""
    paths: tuple[Path, ...] = ()
    """Folders that its module is imported from."""
    options: Mapping[str, Any] = field(default_factory=dict)
    accept: Accept | None = None
    """None: 1 is an accept, 0 a reject, and any other number undecided."""
    timeout_s: float = 20.0
    """Of one call."""
    equivalent: tuple[str, ...] = ()
    """Globs of near-misses that are right after all."""
    keep: Path | None = None
    """Where to leave every case's file."""


@dataclass(frozen=True)
class Case:
    """One pair of files, what must be said of it, and what was."""

    name: str
    kind: str
    what: str
    operator: str | None = None
    path: Path | None = None
    """The file of the case; None: there is none."""
    verdict: str = "indeterminate"
    """right, false_accept, false_reject, indeterminate, equivalent, or shown (nothing was wanted)."""
    accepts: bool | None = None
    why: str = ""
    fraction: bool = False
    answer: str = ""


@dataclass(frozen=True)
class Replayed:
    """What came of it."""

    document: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """1: it accepts or rejects wrongly. 3: the gold, or every wrong file, got no answer. 0: neither."""
        counts = self.document["counts"]
        if counts["false_accepts"] or counts["false_rejects"]:
            return 1
        return 0 if self.document["gold"] == "right" and self.document["wrong_answered"] else 3


def replay(ask: Ask, watch: Watch | None = None) -> Replayed:
    """Make the cases, call the comparator, compare.

    Raises `UsageError` or `InputError` for what cannot be used, `RunError` where it could not be called.
    """
    watch = watch or Silent()
    _require(ask)
    with scratch("replay") as root:
        cases, refused = _cases(ask, root)
        watch.tick(f"{len(cases)} cases", items=0)
        said = [_call(ask, cases, root, turn) for turn in range(2)]
        done = [_weighed(case, said[0][case.name], said[1][case.name], ask) for case in cases]
        kept = [replace(case, path=None) for case in done] if ask.keep is None else _kept(done, ask, root)
        return Replayed(_document(ask, kept, refused))


def parse_options(text: str) -> dict[str, Any]:
    """The comparator's keyword arguments from JSON; raises `UsageError`."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"--options: {exc!s:.100}", expected="a JSON object") from None
    if not isinstance(found, dict):
        raise UsageError(f"--options {text!r:.60}", expected="a JSON object")
    return found


def _require(ask: Ask) -> None:
    if not _NAMED.fullmatch(ask.function):
        raise UsageError(f"--replay {ask.function!r:.80}", expected="module:function")
    if not 0 < ask.timeout_s <= 600:
        raise UsageError(f"--timeout {ask.timeout_s:g}", expected="more than 0 and at most 600 seconds")
    for folder in ask.paths:
        if not folder.is_dir():
            raise InputError("no such folder", where=str(folder), expected="a folder to import from")
    if ask.keep is not None and ask.keep.exists() and (not ask.keep.is_dir() or any(ask.keep.iterdir())):
        raise UsageError("it is not empty", where=str(ask.keep), expected="a new or empty folder for --keep")


# --- cases ----------------------------------------------------------------------------------------


def _cases(ask: Ask, root: Path) -> tuple[list[Case], dict[str, str]]:
    """Every case, its files below `root`; and what could not be made, with the reason."""
    name = ask.expected.name
    gold = _bytes(ask.expected)
    states = root / "states"
    cases = [Case("gold", "gold", "the expected file itself", path=_lay(states / GOLD / name, gold))]
    if ask.initial is None:
        (states / INITIAL).mkdir()
    else:
        before = _bytes(ask.initial)
        if before == gold:
            raise InputError("it is the expected file, byte for byte", where=str(ask.initial))
        path = _lay(states / INITIAL / name, before)
        cases.append(Case("initial", "initial", "the file as it was before the task", path=path))
    variants, refused = _harmless(states, name)
    cases += variants
    near, not_made = _near_misses(states, root / "near", name, [case.name for case in variants], len(gold))
    cases += near
    if ask.result is not None:
        path = _lay(root / "result" / name, _bytes(ask.result))
        cases.append(Case("result", "result", str(ask.result), path=path))
    return cases, {**refused, **not_made}


def _bytes(path: Path) -> bytes:
    try:
        return read_file(path.resolve(), harmless.FILE_LIMIT)
    except Unreadable as exc:
        raise InputError(exc.detail, where=str(path), expected="a file to compare") from None


def _lay(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def _harmless(states: Path, name: str) -> tuple[list[Case], dict[str, str]]:
    """The gold written anew; each becomes a state of its own."""
    out = states.parent / "harmless"
    out.mkdir()
    argv = (sys.executable, "-P", "-m", "pyrite.audit.harmless", str(states / GOLD / name), str(out))
    finished = confine.run(Program(argv, states), writes=[out], limits=BUILD_LIMITS)
    try:
        body = json.loads(read_file(out / harmless.MADE, 1 << 20))
        made, refused = dict(body["made"]), {str(k): str(v)[:200] for k, v in body["refused"].items()}
        cases = []
        for variant, what in made.items():
            state = f"harmless-{variant}"
            if not re.fullmatch(r"[a-z-]{1,40}", variant):
                raise ValueError("no name of a variant")
            path = _lay(states / state / name, read_file(out / variant / name, harmless.FILE_LIMIT * 2))
            cases.append(Case(state, "harmless", str(what)[:200], path=path))
    except (Unreadable, ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        text = finished.stderr.decode("utf-8", "replace").strip()[-200:]
        return [], {"harmless": f"none was made: {text or exc!s:.200}"}
    if not cases and not refused:
        refused["harmless"] = "no harmless form of this format is known"
    return cases, refused


def _near_misses(
    states: Path, out: Path, name: str, variants: Sequence[str], size: int
) -> tuple[list[Case], dict[str, str]]:
    if size > near_files.FILE_LIMIT:
        limit = near_files.FILE_LIMIT >> 20
        return [], {"near_misses": f"the expected file has more than {limit} MB: none is made"}
    out.mkdir()
    made = making.make(states, out, good=GOLD, harmless=variants, reads=(), seed=name)
    cases = []
    for mutant in made.mutants:
        path = mutant.home / name
        if mutant.operator in _ELSEWHERE:
            continue
        there = path.is_file() and not path.is_symlink()
        cases.append(
            Case(mutant.name, "near_miss", mutant.what, mutant.operator, path=path if there else None)
        )
    refused = {k: v for k, v in made.not_applicable.items() if k not in _ELSEWHERE}
    return cases, refused


# --- calls ----------------------------------------------------------------------------------------


def _call(ask: Ask, cases: Sequence[Case], root: Path, turn: int) -> dict[str, Answer]:
    """One call a case, in one order or the other; a case without an answer timed out with the run."""
    work = root / f"work-{turn}"
    work.mkdir()
    ordered = list(cases) if turn == 0 else list(reversed(cases))
    module, _, function = ask.function.partition(":")
    expected = next(case.path for case in cases if case.kind == "gold")
    job = {
        "module": module,
        "function": function,
        "paths": [str(folder.resolve()) for folder in ask.paths],
        "options": dict(ask.options),
        "timeout_s": ask.timeout_s,
        "work": str(work),
        "cases": [
            {
                "name": case.name,
                "file": ask.expected.name,
                "result": None if case.path is None else str(case.path),
                "expected": str(expected),
            }
            for case in ordered
        ],
    }
    (root / "job.json").write_text(json.dumps(job, allow_nan=False), encoding="utf-8")
    script = Path(calling.__file__)
    program = Program(
        (sys.executable, "-P", str(script), str(root / "job.json")),
        work,
        (root, *(folder.resolve() for folder in ask.paths)),
    )
    limits = Limits(timeout_s=IMPORT_S + len(cases) * (ask.timeout_s + 1), memory_mb=_MEMORY_MB)
    env = {"PYTHONHASHSEED": str(turn)}
    finished = confine.run(program, writes=[work], env=env, limits=limits, output_limit=OUTPUT_LIMIT)
    found, refused = answers.read(finished.stdout, [case.name for case in cases])
    log = finished.stderr.decode("utf-8", "replace").strip()[-300:]
    if refused is not None or not found:
        raise RunError(
            f"the comparator could not be called: {refused or log or 'no message'}",
            where=ask.function,
            expected="a function that can be imported with the Python that runs pyrite",
            next="name the folder of its module and of what it imports with --path",
        )
    text = "the run of all cases was over" if finished.timed_out else "the process that calls it ended"
    lost = Answer("timeout" if finished.timed_out else "died", None, text)
    return {case.name: found.get(case.name, lost) for case in cases}


def _weighed(case: Case, first: Answer, second: Answer, ask: Ask) -> Case:
    said = answers.weigh(first, second, ask.accept)
    wanted = _WANTED[case.kind]
    if case.kind == "result":
        verdict = "shown"
    elif said.accepts is None:
        verdict = "indeterminate"
    elif said.accepts is wanted:
        verdict = "right"
    elif any(fnmatchcase(case.name, glob) for glob in ask.equivalent) and case.kind == "near_miss":
        verdict = "equivalent"
    else:
        verdict = "false_accept" if said.accepts else "false_reject"
    text = first.text if first[:2] == second[:2] else f"{first.text}, then {second.text}"
    return replace(
        case, verdict=verdict, accepts=said.accepts, why=said.why, fraction=said.fraction, answer=text
    )


# --- what is said ---------------------------------------------------------------------------------


def _kept(cases: Sequence[Case], ask: Ask, root: Path) -> list[Case]:
    """The files of every case, in a folder of its own."""
    assert ask.keep is not None
    ask.keep.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / "states" / GOLD / ask.expected.name, ask.keep / f"expected{ask.expected.suffix}")
    out = []
    for number, case in enumerate(cases):
        word = re.sub(r"[^A-Za-z0-9]+", "-", case.operator or case.name).strip("-")
        folder = ask.keep / f"{number:02}-{word}"
        folder.mkdir()
        if case.path is not None:
            shutil.copyfile(case.path, folder / ask.expected.name)
        out.append(replace(case, path=folder / ask.expected.name if case.path else None))
    return out


def _document(ask: Ask, cases: Sequence[Case], refused: Mapping[str, str]) -> dict[str, Any]:
    verdicts = Counter(case.verdict for case in cases)
    kinds = Counter(case.kind for case in cases)
    held = [case for case in cases if case.kind != "result"]
    non_answers = Counter(case.why for case in held if case.verdict == "indeterminate")
    decided = [case for case in held if case.accepts is not None]
    wrong_answered = sum(case.kind in {"initial", "near_miss"} for case in decided)
    constant = None
    if len({case.accepts for case in decided}) == 1 and 0 < wrong_answered < len(decided):
        constant = "accepts" if decided[0].accepts else "rejects"
    return {
        "schema_version": "1",
        "comparator": ask.function,
        "expected": str(ask.expected),
        "expected_sha256": _sha256(ask.expected),
        "initial": None if ask.initial is None else str(ask.initial),
        "initial_sha256": None if ask.initial is None else _sha256(ask.initial),
        "options": dict(ask.options),
        "accept": None if ask.accept is None else str(ask.accept),
        "gold": next(case.verdict for case in cases if case.kind == "gold"),
        "counts": {
            "cases": len(held),
            **{kind: kinds[kind] for kind in ("gold", "harmless", "initial", "near_miss")},
            "right": verdicts["right"],
            "false_accepts": verdicts["false_accept"],
            "false_rejects": verdicts["false_reject"],
            "indeterminate": verdicts["indeterminate"],
            "equivalent": verdicts["equivalent"],
            "fractions": sum(case.fraction for case in held),
        },
        "wrong_answered": wrong_answered,
        "non_answers": {kind: non_answers[kind] for kind in answers.NON_ANSWERS if non_answers[kind]},
        "constant": constant,
        "result": next((_row(case) for case in cases if case.kind == "result"), None),
        "cases": [_row(case) for case in held],
        "not_made": dict(refused),
        "kept": None if ask.keep is None else str(ask.keep),
        "confinement": confine.what_holds(),
    }


def _row(case: Case) -> dict[str, Any]:
    wanted = _WANTED[case.kind]
    return {
        "name": case.name,
        "kind": case.kind,
        "operator": case.operator,
        "what": case.what,
        "wanted": None if wanted is None else "accept" if wanted else "reject",
        "got": None if case.accepts is None else "accept" if case.accepts else "reject",
        "verdict": case.verdict,
        "why": case.why,
        "fraction": case.fraction,
        "answer": case.answer,
        "path": None if case.path is None else str(case.path),
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(_bytes(path)).hexdigest()
