"""What the families of the web application share: their parameters, and one verifier for all of them.

The verifier reads the database alone. The wanted changes must be committed, and every other row, the
schema, and every other file that is not hidden must be as they were. The row id of a new row is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.databases import SIDECARS, Database, Limits, Row, read_database
from pyrite.checks.homes import TooManyFiles, snapshot
from pyrite.checks.package import Unreadable
from pyrite.checks.verdict import NOTHING_PERSISTED, Result
from pyrite.suites.family import Family, KnownState

FILES = Path(__file__).with_name("files")
DATABASE = "Kontor/kontor.db"
LIMITS = Limits(file_bytes=4 << 20, rows=5000)
"""A hundred times what the application's databases need."""
MAX_LISTED = 10


class Change(NamedTuple):
    """What is to become of one row."""

    table: str
    key: int | None
    """Row id; None: a new row."""
    values: Mapping[str, Any]
    """Column -> value; of a new row all columns but `id`."""


class Near(NamedTuple):
    """What else could have been done: a bad end state."""

    name: str
    codes: tuple[str, ...]
    changes: tuple[Change, ...]


class Params(NamedTuple):
    """One task."""

    database: str
    """Its initial content, in `FILES`."""
    page: str
    """What the browser shows at the start."""
    text: str
    changes: tuple[Change, ...]
    near: tuple[Near, ...]
    keys: tuple[str, ...]
    """What a competent agent presses; what starts with " is typed without it."""
    claim: str
    typed: tuple[str, ...] = ()
    """What nobody gets done without typing it, for telling entered and not submitted from nothing done."""
    where: tuple[str, ...] = ()
    """Columns that say what a new row is about: another value there is another target."""
    draft: tuple[str, Any] | None = None
    """Column and value of a row that is kept and not submitted."""
    ends: tuple[str, ...] = ()
    """Columns of text of several lines: white space at the end of those that are to change does not count."""


def family(name: str, params: Mapping[str, Params]) -> Family:
    """A family of tasks in the web application."""
    return Family(
        name=name,
        domain="web",
        files=FILES,
        params=params,
        instruction=lambda one: f"{one.text} Change nothing else, and save no file.",
        initial=lambda one: {DATABASE: one.database},
        opened=lambda one: ("kontor", (one.page,)),
        reads=("**",),
        good=lambda one: _known("good", one),
        harmless=lambda one: _known("harmless", one),
        bad=lambda one: _known("bad", one),
        verify=verify,
        script=script,
        claim=lambda one: one.claim,
    )


def _known(kind: str, params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import kontor_states as known

    found: tuple[KnownState, ...] = getattr(known, kind)(params)
    return found


def script(params: Params) -> list[dict[str, Any]]:
    """Keys and texts as actions, `done` last."""
    actions: list[dict[str, Any]] = [
        {"action": "type", "text": word[1:]} if word.startswith('"') else {"action": "key", "keys": word}
        for word in params.keys
    ]
    return [*actions, {"action": "done"}]


def address(path: str) -> tuple[str, ...]:
    """Keys that go to a page of the application."""
    return "ctrl+l", f'"127.0.0.1:8000{path}', "Return"


# --- the verifier ------------------------------------------------------------------------------


class _Findings:
    """What the end state shows."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.right = 0
        self.missing: list[str] = []
        self.codes: set[str] = set()
        self.damage: list[str] = []
        self.damage_count = 0
        self.lost = ""

    def note_damage(self, text: str) -> None:
        self.damage_count += 1
        if len(self.damage) < MAX_LISTED:
            self.damage.append(text[:200])

    def note_missing(self, text: str, code: str = "") -> None:
        if len(self.missing) < MAX_LISTED:
            self.missing.append(text[:200])
        if code:
            self.codes.add(code)

    def result(self) -> Result:
        done = not self.missing and not self.lost
        seen = {
            "database": DATABASE,
            "expected": list(self.params.typed),
            "missing": self.missing,
            "damage": self.damage,
            "damage_count": self.damage_count,
            "lost": self.lost,
        }
        if done and not self.damage_count:
            return Result(True, (), seen)
        return Result(False, ("F-SIDEEFFECT",) if done else self._category(), seen)

    def _category(self) -> tuple[str, ...]:
        codes = set(self.codes)
        if self.right:
            codes.add("F-PARTIAL")
        if codes:
            return tuple(sorted(codes))
        return () if self.lost or self.damage_count else NOTHING_PERSISTED


def verify(params: Params, home: Path) -> Result:
    """Compare the database with the initial one; a broken database is the agent's failure."""
    findings = _Findings(params)
    before = read_database(FILES / params.database)
    try:
        others = snapshot(home)
    except TooManyFiles as exc:
        findings.lost = str(exc)
        return findings.result()
    for path in others:
        if path not in {DATABASE, *(DATABASE + ending for ending in SIDECARS)}:
            findings.note_damage(f"{path} is new")
    try:
        after = read_database(home / DATABASE, LIMITS)
    except Unreadable as exc:
        findings.lost = f"{DATABASE}: {exc}"[:200]
        if exc.reason not in ("missing", "not_a_file"):
            findings.codes.add("F-PARTIAL")
        return findings.result()
    if after.schema != before.schema:
        findings.lost = "the tables are not those of the application any more"
        return findings.result()
    _compare(params, before, after, findings)
    return findings.result()


def _compare(params: Params, before: Database, after: Database, findings: _Findings) -> None:
    wanted: dict[str, dict[int, dict[str, Any]]] = {}
    new: dict[str, list[Mapping[str, Any]]] = {}
    for change in params.changes:
        if change.key is None:
            new.setdefault(change.table, []).append(change.values)
        else:
            wanted.setdefault(change.table, {})[change.key] = dict(change.values)
    for name, old in before.tables.items():
        table = after.tables[name]
        added = [dict(zip(table.columns, row, strict=True)) for key, row in _new(old.rows, table.rows)]
        _check_new(name, new.get(name, []), added, params, findings)
        for key, row in old.rows.items():
            found = table.rows.get(key)
            values = wanted.get(name, {}).get(key, {})
            if found is None:
                findings.note_damage(f"{name} {key} is gone")
                for column in values:
                    findings.note_missing(f"{name} {key} {column}")
                continue
            for column, was, now in zip(old.columns, row, found, strict=True):
                if values and column in params.ends:
                    now = _ended(now, values.get(column, was))
                if column in values:
                    _check_cell(f"{name} {key} {column}", was, now, values[column], findings)
                elif not _same(was, now):
                    findings.note_damage(f"{name} {key} {column}: {was!r} is {now!r}")
                    if _aimed(wanted.get(name, {}), key, column, now):
                        findings.codes.add("F-WRONGTARGET")


def _new(old: Mapping[int, Row], now: Mapping[int, Row]) -> list[tuple[int, Row]]:
    return [(key, row) for key, row in now.items() if key not in old]


def _same(first: Any, second: Any) -> bool:
    """Equal and of one type: 2 is not "2"."""
    return type(first) is type(second) and bool(first == second)


def _ended(now: Any, value: Any) -> Any:
    """`value` where the text differs from it only in white space at its end."""
    texts = isinstance(now, str) and isinstance(value, str)
    return value if texts and now.rstrip() == value.rstrip() else now


def _aimed(wanted: Mapping[int, Mapping[str, Any]], key: int, column: str, value: Any) -> bool:
    """Whether a row that nobody meant got what another was to get."""
    return any(key != other and _same(value, values.get(column)) for other, values in wanted.items())


def _check_cell(where: str, was: Any, now: Any, value: Any, findings: _Findings) -> None:
    if _same(now, value):
        findings.right += 1
    else:
        changed = not _same(was, now)
        found = f"{where}: {value!r} expected, found {now!r}"
        findings.note_missing(found, "F-PARTIAL" if changed else "")


def _check_new(
    table: str,
    wanted: list[Mapping[str, Any]],
    added: list[dict[str, Any]],
    params: Params,
    findings: _Findings,
) -> None:
    """Find each wanted new row among those that were added; the others are damage."""
    left = list(added)
    for values in wanted:
        differing = [(_differing(values, row), row) for row in left]
        best = min(differing, key=lambda one: len(one[0]), default=None)
        if best is None:
            findings.note_missing(f"{table}: no new row")
            continue
        left.remove(best[1])
        if not best[0]:
            findings.right += 1
            continue
        names = set(best[0])
        findings.note_missing(f"{table}: new row differs in {', '.join(best[0])}")
        if params.draft is not None and _same(best[1].get(params.draft[0]), params.draft[1]):
            names.discard(params.draft[0])
            findings.codes.add("F-UNCOMMITTED")
        if names & set(params.where):
            findings.codes.add("F-WRONGTARGET")
        if names - set(params.where):
            findings.codes.add("F-PARTIAL")
    for row in left:
        findings.note_damage(f"{table}: another new row {row.get('id')}")


def _differing(values: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    return [name for name, value in values.items() if not _same(row.get(name), value)]
