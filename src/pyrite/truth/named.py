"""Does the instruction name what the verifier tests? Decided by text alone, the same way every time.

The rule. A path that the good state changes (what applications leave behind aside) is a target, and the
instruction must name it: by its path, its file name, its name without ending, or, where more than three
files of one folder change, by that folder. A target that is not named is a fault. A file that the verifier's
own steps make (they wait until it was written, and it is none of the initial ones) is no target: the agent
has nothing to do with it. What the verifier says
it expected (`diagnostics.expected`, and `file`, `path`, `sheet`, `cell`, `key` beside it) should stand
there too, numbers in any notation; where it does not, that is a finding and no fault: a task may ask for
what has to be worked out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pyrite.checks.homes import IGNORED, TooManyFiles, matches, snapshot
from pyrite.records import TaskSpec
from pyrite.steps import WaitFor

TESTED = ("expected", "file", "path", "sheet", "cell", "key")
MANY = 3
_MOST_VALUES = 20
_MOST_TEXT = 200
_NUMBER = re.compile(r"-?\d[\d,.\u202f\u00a0 ]*\d|-?\d")


def made_by_verifier(spec: TaskSpec) -> set[str]:
    """Files that the steps of a verifier that acts make."""
    written = {step.file for step in spec.act if isinstance(step, WaitFor) and step.is_ == "changed"}
    return {path for path in written if path} - {file.path for file in spec.initial.files}


def unnamed_paths(instruction: str, initial: Path, good: Path, own: Collection[str] = ()) -> list[str]:
    """Targets that the instruction does not name, sorted; none where there is too much to look at.

    `own`: files that the verifier makes.
    """
    try:
        before, after = snapshot(initial, ignore=()), snapshot(good, ignore=())
    except TooManyFiles:
        return []
    changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    targets = sorted(path for path in changed if path not in own and not matches(path, IGNORED))
    folders = Counter(str(PurePosixPath(path).parent) for path in targets)
    many = {folder for folder, count in folders.items() if count > MANY and folder != "."}
    return [path for path in targets if not _names_path(instruction, path, many)]


def unnamed_values(instruction: str, diagnostics: Mapping[str, Any]) -> list[str]:
    """What the verifier expects and the instruction does not say, as `expected: 4500`."""
    found: list[str] = []
    for key in TESTED:
        for value in _leaves(diagnostics.get(key), 0):
            text = str(value)
            if len(text) <= _MOST_TEXT and not names_value(instruction, text):
                found.append(f"{key}: {text}")
    return list(dict.fromkeys(found))[:_MOST_VALUES]


def names_value(instruction: str, value: str) -> bool:
    """Whether a text says a value: as words of its own, or as a number in another notation.

    >>> names_value("set D14 to 4,500 and save", "4500"), names_value("set D14 to 45000", "4500")
    (True, False)
    """
    if _has(instruction, value):
        return True
    number = _number(value)
    return number is not None and any(_number(m[0]) == number for m in _NUMBER.finditer(instruction))


def _names_path(instruction: str, path: str, many: set[str]) -> bool:
    place = PurePosixPath(path)
    names = [path, place.name, *([place.stem] if len(place.stem) > 2 else [])]
    if str(place.parent) in many:
        names.append(place.parent.name)
    return any(_has(instruction, name) for name in names)


def _has(instruction: str, text: str) -> bool:
    """Whether the words stand there, not as part of longer ones; space and case do not count."""
    plain, wanted = (" ".join(one.split()).casefold() for one in (instruction, text))
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain) is not None


def _number(text: str) -> float | None:
    bare = re.sub(r"[\s\u202f\u00a0]", "", text)
    bare = bare.replace(",", "") if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", bare) else bare
    return float(bare) if re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", bare) else None


def _leaves(value: Any, depth: int) -> Iterator[str | int | float]:
    if isinstance(value, bool) or value is None or depth > 3:
        return
    if isinstance(value, str | int | float):
        if str(value).strip():
            yield value
    elif isinstance(value, Mapping):
        for item in list(value.values())[:_MOST_VALUES]:
            yield from _leaves(item, depth + 1)
    elif isinstance(value, Sequence):
        for item in value[:_MOST_VALUES]:
            yield from _leaves(item, depth + 1)
