"""Family text_left_open: add a line to a text that is open in an editor; the verifier saves it.

In one of the two tasks the agent may save under a name of its own, so the title of the window may be
another one when the verifier comes: it is found by what no agent changes.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.homes import TooManyFiles, digest_file, snapshot
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
READS = ("Documents/**",)
OTHER = "reading.txt"
MAX_BYTES = 1 << 16
MAX_LISTED = 10


class Params(NamedTuple):
    """One task."""

    file: str
    line: str
    """What is to stand at the end."""
    renamed_to: str | None = None
    """A name under which a competent agent saves first; None: the name is to stay."""

    @property
    def path(self) -> str:
        return f"Documents/{self.file}"

    @property
    def any_name(self) -> bool:
        return self.renamed_to is not None


PARAMS = {
    "text-left-open-minutes": Params("minutes.txt", "4. Next meeting: 12 May"),
    "text-left-open-packing": Params("packing.txt", "Lamps: 3", "packing_final.txt"),
}


def instruction(params: Params) -> str:
    naming = (
        "You may save it in Documents under a name of your own, as one more .txt file."
        if params.any_name
        else "Keep its name."
    )
    return (
        f'{params.path} is open in the editor. Add the line "{params.line}" at its end. {naming} '
        "Leave it open; you need not save it. Leave everything else in Documents as it is."
    )


def claim(params: Params) -> str:
    return f'The line "{params.line}" is added; the text is open.'


def initial(params: Params) -> dict[str, str]:
    return {params.path: params.file, f"Documents/{OTHER}": OTHER}


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "mousepad", (params.path,)


def script(params: Params) -> list[dict[str, Any]]:
    """Go to the end and type; before that, where the name is free, save under another one."""
    actions: list[dict[str, Any]] = []
    if params.renamed_to is not None:
        actions += [
            {"action": "key", "keys": "ctrl+shift+s"},
            {"action": "key", "keys": "ctrl+a"},
            {"action": "type", "text": params.renamed_to},
            {"action": "key", "keys": "Return"},
        ]
    return [
        *actions,
        {"action": "key", "keys": "ctrl+End"},
        {"action": "type", "text": params.line},
        {"action": "done"},
    ]


def act(params: Params) -> tuple[dict[str, Any], ...]:
    """Save in whatever name the text has by now. Mousepad marks unsaved text by a star in the title."""
    title = r"\.txt - Mousepad$" if params.any_name else rf"(^|[*/ ]){params.file} - Mousepad$"
    return (
        {"step": "activate_window", "title": title, "match": "regex"},
        {"step": "key", "keys": "ctrl+s"},
        {"step": "wait_for", "title": r"^[^*].*\.txt - Mousepad$", "match": "regex", "timeout_s": 20.0},
    )


# --- the verifier ------------------------------------------------------------------------------


def verify(params: Params, home: Path) -> Result:
    """The wanted text under an allowed name, and everything else in Documents as it was."""
    before = {path: digest_file(FILES / name) for path, name in initial(params).items()}
    seen: dict[str, Any] = {"file": params.path, "expected": params.line, "found": "", "damage": []}
    try:
        after = snapshot(home, READS)
    except TooManyFiles as exc:
        return Result(False, (), {**seen, "damage": [str(exc)]})
    right = [path for path in after if _text(home / path) in _wanted(params)]
    allowed = {path for path in right if _allowed(params, path)}
    moved = [path for path in after if path in before and after[path] != before[path]]
    new = [path for path in after if path not in before]
    damage = [f"{path} changed" for path in moved if path not in allowed]
    damage += [f"{path} is gone" for path in before if path not in after]
    damage += [f"{path} is new" for path in new if path not in allowed]
    if len([path for path in new if path in allowed]) > 1:
        damage.append("saved under several names")
    seen["found"] = ", ".join(sorted(allowed))[:200]
    seen["damage"] = damage[:MAX_LISTED]
    if allowed and not damage:
        return Result(True, (), seen)
    if allowed:
        return Result(False, ("F-SIDEEFFECT",), seen)
    return Result(False, _category(params, home, right, moved, new, damage), seen)


def _category(
    params: Params, home: Path, right: list[str], moved: list[str], new: list[str], damage: list[str]
) -> tuple[str, ...]:
    """What a state allows that does not hold the wanted text under an allowed name."""
    holding = [path for path in (*moved, *new) if params.line in (_text(home / path) or "")]
    if params.path in moved or (params.any_name and any(_allowed(params, path) for path in new)):
        return ("F-PARTIAL",)
    if f"Documents/{OTHER}" in holding:
        return ("F-WRONGAPP",)
    if right or holding:
        return ("F-WRONGTARGET",)
    return () if damage else NOTHING_PERSISTED


def _wanted(params: Params) -> tuple[str, ...]:
    """The text with the line at its end, with and without a last newline."""
    text = (FILES / params.file).read_text("utf-8") + params.line
    return text, text + "\n"


def _allowed(params: Params, path: str) -> bool:
    if path == params.path:
        return True
    plain = path.startswith("Documents/") and path.count("/") == 1 and path.endswith(".txt")
    return params.any_name and plain and path != f"Documents/{OTHER}"


def _text(path: Path) -> str | None:
    """A small plain text file; None for anything else."""
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
            return None
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


# --- known states ------------------------------------------------------------------------------


class _Builder:
    """Makes known states of one task."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.text = (FILES / params.file).read_text("utf-8")

    def write(self, home: Path, text: str, path: str | None = None) -> None:
        (home / (path or self.params.path)).write_text(text, "utf-8")

    def good(self, home: Path) -> None:
        self.write(home, self.text + self.params.line + "\n")

    def no_newline(self, home: Path) -> None:
        self.write(home, self.text + self.params.line)

    def leftovers(self, home: Path) -> None:
        """What the editor leaves beside a saved text."""
        self.write(home, self.text, f"{self.params.path}~")
        (home / ".config/Mousepad").mkdir(parents=True)
        (home / ".config/Mousepad/session").write_text("x")
        self.good(home)

    def renamed(self, home: Path) -> None:
        self.write(home, self.text + self.params.line, "Documents/another.txt")

    def with_text(self, text: str) -> Any:
        return lambda home: self.write(home, text)

    def also(self, change: Any) -> Any:
        def make(home: Path) -> None:
            self.good(home)
            change(home)

        return make

    def sibling(self, home: Path) -> None:
        other = home / "Documents" / OTHER
        other.write_text(other.read_text("utf-8") + self.params.line + "\n", "utf-8")


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _Builder(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    return (
        KnownState("no_newline", make.no_newline),
        KnownState("leftovers", make.leftovers),
        *([KnownState("renamed", make.renamed)] if params.any_name else []),
    )


def bad(params: Params) -> tuple[KnownState, ...]:
    make = _Builder(params)
    line, text = params.line, make.text
    first, rest = text.split("\n", 1)
    partial, beside, elsewhere = ("F-PARTIAL",), ("F-SIDEEFFECT",), ("F-WRONGTARGET",)
    copied = "Documents/copy.md" if params.any_name else "Documents/copy.txt"
    return (
        KnownState("untouched", lambda home: None, NOTHING_PERSISTED),
        KnownState("wrong_case", make.with_text(f"{text}{line.lower()}\n"), partial),
        KnownState("longer", make.with_text(f"{text}{line}0\n"), partial),
        KnownState("twice", make.with_text(f"{text}{line}\n{line}\n"), partial),
        KnownState("at_top", make.with_text(f"{line}\n{text}"), partial),
        KnownState("glued_on", make.with_text(f"{text.rstrip()}{line}\n"), partial),
        KnownState("line_lost", make.with_text(f"{first}\n{rest.split(chr(10), 1)[1]}{line}\n"), partial),
        KnownState("sibling", make.sibling, ("F-WRONGAPP",)),
        KnownState("copy", lambda home: make.write(home, f"{text}{line}\n", copied), elsewhere),
        KnownState("sibling_too", make.also(make.sibling), beside),
        KnownState("sibling_gone", make.also(lambda home: (home / "Documents" / OTHER).unlink()), beside),
        KnownState("another_file", make.also(lambda home: make.write(home, "x", "Documents/x.txt")), beside),
        KnownState("deleted", lambda home: (home / params.path).unlink()),
    )


def equivalent(params: Params) -> dict[str, str]:
    """Where the name is free, a copy under another name is as good."""
    if not params.any_name:
        return {}
    why = "the instruction lets the agent save under a name of its own"
    return {f"{operator}@{params.path}": why for operator in ("written-as-copy", "case-folded-path")}


FAMILY = Family(
    name="text_left_open",
    domain="files",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=initial,
    opened=opened,
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
    act=act,
    truth_from="acted",
    equivalent=equivalent,
)
