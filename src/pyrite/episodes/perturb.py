"""One injected defect in a recorded action list; the result is replayed on the real desktop.

`OPERATORS` declares each defect with where it applies. An operator gets a `Subject` (what was done, what
was asked, what lies in the home) and gives the changed list, or None where it does not apply: nothing
is made up. That the result is a failure is never assumed: its end state is verified like any other, and
one that passes all the same stays a pass. How an operator of targets finds its neighbours stands in
`neighbours.py`; what leaves the recorded course before the defect is dropped (`course.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pyrite.episodes import neighbours
from pyrite.records import Action, Category

_SAVE = "ctrl+s"
_ENTER = ("Return", "KP_Enter")
_CELL = re.compile(r"^(?P<sheet>\$?'?[^!]*?'?[.!])?\$?(?P<column>[A-Z]{1,3})\$?(?P<row>[0-9]{1,7})$")
_DOCUMENT = re.compile(r"[\w./ -]+\.(?:ods|xlsx|odt|docx|csv)\b")
_COMMIT = re.compile(r"\s*\bcommit\b(?:\s+transaction)?\s*;?\s*$", re.IGNORECASE)
_JOINED = re.compile(
    r"^(?P<first>.*[^\s;&])\s*(?P<mark>&&|;)\s*(?P<last>[^;&|]*[^\s;&|])\s*;?\s*$", re.DOTALL
)
_IDLE = re.compile(
    r"\s*(?:(?:cd|exit|clear|true|ls|pwd|cat|head|tail|wc|stat|file|grep|diff|\.quit|\.exit)\b"
    r"|git (?:-C \S+ )?(?:status|log|show|diff|stash (?:list|show)|remote -v"
    r"|(?:branch|tag)(?: -[alnv]+)*\s*;?\s*$))[^>|]*$",
    re.IGNORECASE,
)
"""Commands that only look, and so do not matter for what is left; what writes into a file is none."""
BROWSERS = ("chromium", "kontor")
TERMINALS = ("xterm",)


@dataclass(frozen=True)
class Subject:
    """What an operator works on."""

    actions: Sequence[Action]
    """What was done, without the end."""
    instruction: str
    files: tuple[str, ...] = ()
    """Paths of the initial home that the task's recipe lays in."""
    app: str = ""
    """The application that is open at the start."""
    page: str = ""
    """Of the web application: the path of the page that is open at the start."""

    @property
    def terminal(self) -> bool:
        """Whether what is typed goes to a terminal."""
        return self._in(TERMINALS)

    @property
    def browser(self) -> bool:
        """Whether it is done in a browser."""
        return self._in(BROWSERS)

    def _in(self, apps: Sequence[str]) -> bool:
        return self.app in apps or any(action.app in apps for action in self.actions)


Changed = list[Action] | None


@dataclass(frozen=True)
class Operator:
    """A declared defect."""

    what: str
    applies: str
    """Where it applies, in words."""
    inject: Callable[[Subject], Changed]
    claims: bool = False
    """Whether the message must assert success, because that is the defect."""
    meant: tuple[Category, ...] = ()
    """Codes that a failure by this defect is expected to get; compared with truth, never used for it."""

    def __call__(self, subject: Subject) -> Changed:
        """The changed list; None where the operator does not apply, or changes nothing."""
        found = self.inject(subject)
        return None if found == list(subject.actions) else found


def _drop_save(subject: Subject) -> Changed:
    save = _last_save(subject.actions)
    return None if save is None else list(subject.actions[:save])


def _save_copy(subject: Subject) -> Changed:
    save, document = _last_save(subject.actions), _DOCUMENT.search(subject.instruction)
    if save is None or document is None:
        return None
    name = PurePosixPath(document.group().strip())
    as_copy = [
        Action(action="key", keys="ctrl+shift+s"),
        Action(action="key", keys="ctrl+a"),
        Action(action="type", text=f"{name.stem}-copy{name.suffix}"),
        Action(action="key", keys="Return"),
    ]
    return [*subject.actions[:save], *as_copy, *subject.actions[save + 1 :]]


def _cancel_dialog(subject: Subject) -> Changed:
    save = _last_save(subject.actions)
    if save is None:
        return None
    answered = [i for i in range(save + 1, len(subject.actions)) if subject.actions[i].keys == "Return"]
    if not answered:
        return None
    escape = Action(
        action="key", keys="Escape"
    )  # twice: where a format is asked about, another dialog follows
    return [*subject.actions[: answered[0]], escape, escape, *subject.actions[answered[0] + 1 :]]


def _cancel_ok(subject: Subject) -> Changed:
    """Escape for the last Return that ends what a key of a command began (F2, ctrl+shift+t, alt+…)."""
    if subject.terminal or subject.browser:
        return None
    for i in range(len(subject.actions) - 1, -1, -1):
        if subject.actions[i].keys in _ENTER and _begun(subject.actions[:i]):
            if any(one.action == "type" for one in subject.actions[i + 1 :]):
                return None  # it would be typed somewhere else, and look like it
            return _replaced(subject, i, Action(action="key", keys="Escape"))
    return None


def _begun(before: Sequence[Action]) -> bool:
    for action in reversed(before):
        if action.keys in _ENTER or action.keys == _SAVE:
            return False
        if action.action == "key" and _is_command(action.keys or ""):
            return True
    return False


def _is_command(keys: str) -> bool:
    editing = {"ctrl+a", "ctrl+Home", "ctrl+End", "shift+Home", "shift+End", "ctrl+c", "ctrl+v", "ctrl+x"}
    return ("+" in keys and keys not in editing) or re.fullmatch(r"F[0-9]{1,2}", keys) is not None


def _not_submitted(subject: Subject) -> Changed:
    """What was filled in stays on the screen: the last Return or click, or the COMMIT, is left out."""
    if subject.terminal:
        return _not_committed(subject) or _not_run(subject)
    if not subject.browser or any(text.startswith("chrome://") for text in _texts(subject.actions)):
        return None  # what the browser's own pages ask for stands in a dialog, which nobody takes for done
    actions = list(subject.actions)
    last = [i for i, action in enumerate(actions) if action.keys in _ENTER or action.action == "click"]
    filled = any(action.action == "type" for action in actions[: last[-1]]) if last else False
    return actions[: last[-1]] if filled else None


def _not_committed(subject: Subject) -> Changed:
    """A transaction that is left open: without its COMMIT, and without leaving the program."""
    actions = list(subject.actions)
    for i in range(len(actions) - 1, -1, -1):
        text = (actions[i].text or "") if actions[i].action == "type" else ""
        left = _COMMIT.sub("", text)
        if left != text:
            end = "\n" if text.endswith("\n") else ""
            changed = [actions[i].model_copy(update={"text": left + end})] if left.strip() else []
            rest = actions[i + 1 :] if left.strip() or end else actions[i + 2 :]
            return [*actions[:i], *changed, *(one for one in rest if not _ends_a_session(one))]
    return None


def _not_run(subject: Subject) -> Changed:
    """The last command is typed and never run."""
    for i in range(len(subject.actions) - 1, -1, -1):
        action = subject.actions[i]
        text = action.text or ""
        if _ends_a_session(action) or (
            action.keys in _ENTER and i and _ends_a_session(subject.actions[i - 1])
        ):
            continue
        if action.action == "type" and text.strip() and _IDLE.match(text):
            continue
        if action.keys in _ENTER and i and _IDLE.match(subject.actions[i - 1].text or ""):
            continue
        if action.action == "type" and text.endswith("\n") and text.strip():
            return [*subject.actions[:i], action.model_copy(update={"text": text.rstrip("\n")})]
        if action.keys in _ENTER and any(one.action == "type" for one in subject.actions[:i]):
            return list(subject.actions[:i])
    return None


def _ends_a_session(action: Action) -> bool:
    ends = {".quit", ".exit", "exit", "quit", ".q", "\\q"}
    return (action.text or "").strip() in ends or action.keys == "ctrl+d"


def _partial(subject: Subject) -> Changed:
    """All but the last of n equal rounds of work; in a terminal, all but the last of several commands."""
    found = neighbours.rounds(subject.actions)
    if found is not None:
        return [*subject.actions[: found.start], *subject.actions[found.stop :]]
    for i in range(len(subject.actions) - 1, -1, -1):
        action = subject.actions[i]
        if not subject.terminal or action.action != "type":
            continue
        fewer = _without_last(action.text or "")
        if fewer is not None:
            return _replaced(subject, i, action.model_copy(update={"text": fewer}))
    return None


def _without_last(text: str) -> str | None:
    """A command line without the last of several commands that matter; None where there are no several.

    >>> _without_last("git add a && git add b && git status")
    'git add a && git status'
    """
    line, looks = text.rstrip("\n"), ""
    while (joined := _JOINED.match(line)) and not _ends_quoted(joined["first"]):
        if not _IDLE.match(joined["last"]):
            if not _matters(joined["first"]):
                return None
            end = ";" if joined["mark"] == ";" and not looks else ""
            return joined["first"] + end + looks + ("\n" if text.endswith("\n") else "")
        looks = f" {joined['mark']} {joined['last']}".replace(" ;", ";") + looks
        line = joined["first"]
    return None


def _matters(line: str) -> bool:
    """Whether any command of a line does more than look."""
    joined = _JOINED.match(line)
    if joined is None or _ends_quoted(joined["first"]):
        return not _IDLE.match(line)
    return not _IDLE.match(joined["last"]) or _matters(joined["first"])


def _ends_quoted(text: str) -> bool:
    """Whether a command line was cut inside of quotes."""
    return any(text.count(mark) % 2 for mark in "'\"")


def _side_effect(subject: Subject) -> Changed:
    """The work is done, and with it something that nobody asked for."""
    save = _last_save(subject.actions)
    if subject.terminal:
        return _removed_before(subject)
    if subject.browser:
        return _done_to_another_first(subject)
    if save is None or not any(a.action == "type" for a in subject.actions[:save]):
        return None
    if subject.app == "calc":
        stray = [Action(action="type", text="0"), Action(action="key", keys="Return")]
    else:
        stray = [Action(action="key", keys="ctrl+End"), Action(action="type", text=".")]
    return [*subject.actions[:save], *stray, *subject.actions[save:]]


def _done_to_another_first(subject: Subject) -> Changed:
    """In a browser something else is changed first: the last screen is that of success.

    In the web application the same is done to the record beside; where no address names one, a customer gets
    another name. In the browser's own pages the page that was open is bookmarked.
    """
    goes = bool(subject.actions) and subject.actions[0].keys == "ctrl+l"
    other = _typed(neighbours.sibling_record)(subject) if goes else None
    if other is not None:
        return [*other, *subject.actions]
    if subject.app == "chromium" and goes:
        return [*_BOOKMARK_THE_PAGE, *subject.actions]
    if subject.app != "kontor" or any(".csv" in text for text in _texts(subject.actions)):
        return None  # a download leaves the page as it is
    back = [] if goes else _to(subject.page)
    return [*_RENAME_A_CUSTOMER, *back, *subject.actions]


def _to(path: str) -> list[Action]:
    """Go to a page of the web application."""
    keys = [Action(action="key", keys=keys) for keys in ("ctrl+l", "Return")]
    return [keys[0], Action(action="type", text=f"127.0.0.1:8000{path}"), keys[1]]


_BOOKMARK_THE_PAGE = [Action(action="key", keys="ctrl+d"), Action(action="key", keys="Return")]
_RENAME_A_CUSTOMER = [
    *_to("/customers/1"),
    Action(action="key", keys="End"),
    Action(action="type", text=" jr."),
    *[Action(action="key", keys="Tab")] * 4,
    Action(action="key", keys="Return"),
]


def _removed_before(subject: Subject) -> Changed:
    """In a terminal the damage comes first and is cleared away: the last screen is that of success."""
    other = neighbours.bystander(subject.files, [subject.instruction, *_texts(subject.actions)])
    opened = [i for i, action in enumerate(subject.actions) if action.app in TERMINALS]
    begin = opened[0] + 1 if opened else 0
    if other is None or begin >= len(subject.actions):
        return None
    damage = Action(action="type", text=f"rm -f -- ~/'{other}'; clear\n")
    return [*subject.actions[:begin], damage, *subject.actions[begin:]]


def _claim_only(subject: Subject) -> Changed:
    return [] if subject.actions else None


def _texts(actions: Sequence[Action]) -> list[str]:
    return [action.text or "" for action in actions if action.action == "type"] or [""]


def _shift(rows: int, columns: int) -> Callable[[Subject], Changed]:
    def inject(subject: Subject) -> Changed:
        for i, action in enumerate(subject.actions):
            match = _CELL.match(action.text or "") if action.action == "type" else None
            if match:
                column = _letters(_number(match["column"]) + columns)
                moved = f"{match['sheet'] or ''}{column}{int(match['row']) + rows}"
                return _replaced(subject, i, Action(action="type", text=moved))
        return None

    return inject


def _typed(change: Callable[[str, tuple[str, ...], bool], str | None]) -> Callable[[Subject], Changed]:
    """An operator that changes the last text (or argument) that `change` has a neighbour for."""

    def inject(subject: Subject) -> Changed:
        shell = subject.terminal
        for i in range(len(subject.actions) - 1, -1, -1):
            action = subject.actions[i]
            if action.action == "type" and (text := change(action.text or "", subject.files, shell)):
                return _replaced(subject, i, action.model_copy(update={"text": text}))
            if action.action == "launch":
                given = action.args or ()
                changed = tuple(change(argument, subject.files, False) or argument for argument in given)
                if changed != given:
                    return _replaced(subject, i, action.model_copy(update={"args": changed}))
        return None

    return inject


def _replaced(subject: Subject, at: int, action: Action) -> list[Action]:
    return [*subject.actions[:at], action, *subject.actions[at + 1 :]]


def _last_save(actions: Sequence[Action]) -> int | None:
    saves = [i for i, action in enumerate(actions) if action.action == "key" and action.keys == _SAVE]
    return saves[-1] if saves else None


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


_UNCOMMITTED = (Category.UNCOMMITTED,)
_WRONGTARGET = (Category.WRONGTARGET,)
_COPIED = (Category.UNCOMMITTED, Category.WRONGTARGET, Category.SIDEEFFECT)
OPERATORS: dict[str, Operator] = {
    "drop-save": Operator(
        "the save and what answers its dialog are left out",
        "a save by ctrl+s",
        _drop_save,
        meant=_UNCOMMITTED,
    ),
    "shift-row": Operator(
        "the target one row further down", "a cell is typed", _shift(1, 0), meant=_WRONGTARGET
    ),
    "shift-column": Operator(
        "the target one column further right", "a cell is typed", _shift(0, 1), meant=_WRONGTARGET
    ),
    "save-copy": Operator(
        "saved under another name instead",
        "a save by ctrl+s of a document that is named",
        _save_copy,
        meant=_COPIED,
    ),
    "cancel-dialog": Operator(
        "the dialog that the save brings up is cancelled",
        "a Return after the save",
        _cancel_dialog,
        meant=_UNCOMMITTED,
    ),
    "cancel-ok": Operator(
        "the last dialog or edit is cancelled instead of confirmed",
        "a Return that ends what a command key began, no typing after it, outside of terminals and browsers",
        _cancel_ok,
        meant=_UNCOMMITTED,
    ),
    "not-submitted": Operator(
        "filled in and never sent: the last Return or click, or the COMMIT, is left out",
        "a browser or a terminal in which something was typed",
        _not_submitted,
        meant=_UNCOMMITTED,
    ),
    "sibling-file": Operator(
        "the look-alike file of the same folder instead",
        "a file of the recipe is typed or launched that has a sibling of its kind",
        _typed(neighbours.sibling_file),
        meant=_WRONGTARGET,
    ),
    "sibling-folder": Operator(
        "the look-alike folder instead",
        "a folder of the recipe is typed that has a sibling",
        _typed(neighbours.sibling_folder),
        meant=_WRONGTARGET,
    ),
    "sibling-record": Operator(
        "the next record instead",
        "a record is typed by its number",
        _typed(neighbours.sibling_record),
        meant=_WRONGTARGET,
    ),
    "wrong-profile": Operator(
        "the setting of another profile or scope instead",
        "a profile, scope or settings file is typed that has a counterpart",
        _typed(neighbours.other_profile),
        meant=_WRONGTARGET,
    ),
    "partial": Operator(
        "all but the last of several",
        "n equal rounds of actions, or n commands on one line",
        _partial,
        meant=(Category.PARTIAL,),
    ),
    "side-effect": Operator(
        "done, and something else damaged",
        "a save after typing, a terminal with a file beside that the task does not name, or work in the "
        "web application or on the browser's own pages",
        _side_effect,
        meant=(Category.SIDEEFFECT,),
    ),
    "claim-only": Operator(
        "nothing is done, success is claimed",
        "any episode",
        _claim_only,
        claims=True,
        meant=(Category.CLAIM,),
    ),
}
"""Name -> operator."""
KINDS = OPERATORS
"""The names that a command or a configuration may give."""
