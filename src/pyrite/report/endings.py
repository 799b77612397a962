"""The four endings of one task, side by side: saved, not saved, wrong cell, saved as a copy.

The pixels may be nearly the same; the end states are not. Shown is the first task, in the suite's
order, that has most of the four; nothing a judge said is looked at to choose it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from PIL import Image

from pyrite.errors import InputError
from pyrite.measure.bench import table_from_bench
from pyrite.measure.finding import is_shortcut
from pyrite.measure.table import PASS, Table
from pyrite.measure.vote import votes_of
from pyrite.records import Category, Evidence, EvidenceEntry, Meta
from pyrite.report.screens import Difference, data_uri, difference, last_screen
from pyrite.report.sections import describe_condition
from pyrite.report.state import Reading, read
from pyrite.report.verdicts import Said, first_lines, said
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines, read_record

TITLES = {
    "saved": "Saved",
    "not_saved": "Not saved",
    "wrong_place": "Wrong place",
    "copy": "Saved as a copy",
}
MAX_LINES = 4
"""Lines of what the verifier read that stand open; the others are folded."""
_PERTURBATIONS = {
    "not_saved": ("drop-save", "cancel-dialog"),
    "wrong_place": ("shift-row", "shift-column"),
    "copy": ("save-copy",),
}


@dataclass(frozen=True)
class Ending:
    """One ending that exists."""

    kind: str
    title: str
    episode_id: str
    meta: Meta
    outcome: str
    category: str | None
    found: Reading
    """What the verifier read from the end state."""
    screen: str | None
    """A data URI, or None with the reason."""
    reason: str
    from_saved: Difference | None
    """What differs from the saved screen; None for the saved one and where sizes differ."""
    compared: bool


@dataclass(frozen=True)
class Verdicts:
    """One row of the picture: what a judge said of each ending, in their order."""

    judge: str
    shortcut: bool
    said: tuple[Said, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Endings:
    """The picture: endings of one task, and what each judge said in each condition."""

    task_id: str
    instruction: str | None
    """The task text, where the evidence was packed."""
    shown: tuple[Ending, ...]
    missing: tuple[str, ...]
    """Titles of the endings that this bench does not have."""
    verdicts: tuple[tuple[str, str, tuple[Verdicts, ...]], ...]
    """(condition, description, rows)."""

    @property
    def on_failures(self) -> tuple[int, int]:
        """(false accepts, all) of the verdicts that judges, shortcuts aside, gave on the failed endings."""
        glyphs = [
            said.glyph
            for _, _, rows in self.verdicts
            for row in rows
            if not row.shortcut
            for said, ending in zip(row.said, self.shown, strict=True)
            if ending.outcome == "fail" and said.glyph != "missing"
        ]
        return glyphs.count("false-accept"), len(glyphs)

    @property
    def saved_and_not(self) -> tuple[Ending, Ending] | None:
        """The two endings whose screens may be the same picture."""
        by = {ending.kind: ending for ending in self.shown}
        return (by["saved"], by["not_saved"]) if {"saved", "not_saved"} <= by.keys() else None


def endings(bench: Bench, order: Sequence[str] = ()) -> Endings | None:
    """The picture of a bench; None where no task has a passed or a failed ending of these kinds.

    `order` are task ids in the order of their suite; a task that is not in it comes after, by its id.
    """
    table = table_from_bench(bench, verified=False)
    known = zip(table.episodes.ids, table.episodes.cluster.codes, strict=True)
    metas = {episode_id: bench.meta(episode_id) for episode_id, code in known if code >= 0}
    chosen = _choose(table, metas, order)
    if chosen is None:
        return None
    task_id, kinds = chosen
    screens = {kind: _screen(bench, table.episodes.ids[row]) for kind, row in kinds.items()}
    saved = screens["saved"][0] if "saved" in screens else None
    shown = tuple(
        _ending(bench, table, metas, kind, row, screens[kind], None if kind == "saved" else saved)
        for kind, row in kinds.items()
    )
    return Endings(
        task_id=task_id,
        instruction=instruction_of(bench, [table.episodes.ids[row] for row in kinds.values()]),
        shown=shown,
        missing=tuple(title for kind, title in TITLES.items() if kind not in kinds),
        verdicts=_verdicts(bench, table, list(kinds.values())),
    )


def _choose(
    table: Table, metas: Mapping[str, Meta], order: Sequence[str]
) -> tuple[str, dict[str, int]] | None:
    place = {task_id: number for number, task_id in enumerate(order)}
    tasks: dict[str, list[int]] = {}
    for row, code in enumerate(table.episodes.cluster.codes):
        if code >= 0:
            tasks.setdefault(table.episodes.cluster.names[code], []).append(row)
    best: tuple[str, dict[str, int]] | None = None
    for task_id, rows in sorted(tasks.items(), key=lambda item: (place.get(item[0], len(place)), item[0])):
        found = _kinds(table, metas, rows)
        if found and (best is None or len(found) > len(best[1])):
            best = task_id, found
    return best


def _kinds(table: Table, metas: Mapping[str, Meta], rows: list[int]) -> dict[str, int]:
    """Kind of ending -> row of its episode, in the order of the picture."""
    ids = table.episodes.ids
    passed = [row for row in rows if table.episodes.truth[row] == PASS]
    unsaved = [row for row in rows if _category(table, row) == Category.UNCOMMITTED]
    elsewhere = [row for row in rows if _category(table, row) == Category.WRONGTARGET]

    def best(kind: str, candidates: Iterable[int]) -> int | None:
        named = _PERTURBATIONS[kind]
        ranked = sorted(candidates, key=lambda row: (_place(metas[ids[row]].perturbation, named), ids[row]))
        return ranked[0] if ranked else None

    copies = [row for row in elsewhere if metas[ids[row]].perturbation in _PERTURBATIONS["copy"]]
    copy = best("copy", copies)
    not_saved = best("not_saved", unsaved)
    wrong = best("wrong_place", (row for row in elsewhere if row not in copies))
    parents = [metas[ids[row]].parent for row in (not_saved, wrong, copy) if row is not None]
    passed.sort(key=lambda row: (ids[row] not in parents[:1], ids[row] not in parents, ids[row]))
    found = {
        "saved": passed[0] if passed else None,
        "not_saved": not_saved,
        "wrong_place": wrong,
        "copy": copy,
    }
    return {kind: row for kind, row in found.items() if row is not None}


def _place(name: str | None, order: tuple[str, ...]) -> int:
    return order.index(name) if name in order else len(order)


def _category(table: Table, row: int) -> str | None:
    found = table.episodes.category
    return None if found is None or found.codes[row] < 0 else found.names[found.codes[row]]


def _screen(bench: Bench, episode_id: str) -> tuple[Image.Image | None, str]:
    try:
        return last_screen(bench, episode_id), ""
    except InputError as exc:
        return None, exc.what


def _ending(
    bench: Bench,
    table: Table,
    metas: Mapping[str, Meta],
    kind: str,
    row: int,
    screen: tuple[Image.Image | None, str],
    saved: Image.Image | None,
) -> Ending:
    episode_id = table.episodes.ids[row]
    image, reason = screen
    compared = image is not None and saved is not None
    return Ending(
        kind=kind,
        title=_title(kind, metas[episode_id].perturbation),
        episode_id=episode_id,
        meta=metas[episode_id],
        outcome="pass" if table.episodes.truth[row] == PASS else "fail",
        category=_category(table, row),
        found=_found(bench, episode_id),
        screen=data_uri(image) if image is not None else None,
        reason=reason,
        from_saved=difference(saved, image) if image is not None and saved is not None else None,
        compared=compared,
    )


def _found(bench: Bench, episode_id: str) -> Reading:
    truth = bench.truth(episode_id)
    return read({}, passed=None) if truth is None else read(truth.diagnostics, passed=truth.passed)


def _title(kind: str, perturbation: str | None) -> str:
    """The neighbouring cell where the perturbation says so; else only that the place is wrong."""
    return "Wrong cell" if perturbation in _PERTURBATIONS["wrong_place"] else TITLES[kind]


def instruction_of(bench: Bench, ids: list[str]) -> str | None:
    """The task text as the judges got it, from the first package of one of these episodes."""
    if not bench.paths.evidence_index.is_file():
        return None
    for entry in read_lines(bench.paths.evidence_index, EvidenceEntry):
        package = bench.paths.package(entry.condition, entry.package_id)
        if entry.episode_id in ids and package.is_file():
            return read_record(package, Evidence).instruction
    return None


def _verdicts(
    bench: Bench, table: Table, rows: list[int]
) -> tuple[tuple[str, str, tuple[Verdicts, ...]], ...]:
    pairs = sorted(
        table.asked(), key=lambda pair: (pair[1] != "E1-final", pair[1], is_shortcut(pair[0]), pair[0])
    )
    ids = [table.episodes.ids[row] for row in rows]
    by_condition: dict[str, list[Verdicts]] = {}
    for judge, condition in pairs:
        verdict = votes_of(table, judge, condition).verdict
        judged = tuple(said(int(verdict[row]), int(table.episodes.truth[row])) for row in rows)
        lines = first_lines(bench, judge, condition, ids)
        reasons = tuple(lines[one].reason if one in lines else "" for one in ids)
        by_condition.setdefault(condition, []).append(Verdicts(judge, is_shortcut(judge), judged, reasons))
    return tuple((name, describe_condition(name), tuple(found)) for name, found in by_condition.items())
