"""Benches made by hand for the tests of the report: real files, small screens, no desktop."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from pyrite.records import (
    SCHEMA_VERSION,
    ActionLine,
    Agent,
    Evidence,
    EvidenceEntry,
    Meta,
    Outcome,
    Source,
    Status,
    Truth,
    Verdict,
    VerdictLine,
)
from pyrite.store.bench import Bench
from pyrite.store.images import save_png
from pyrite.store.jsonl import append_lines, write_json, write_record

VOID = {"wbr", "meta", "img", "br", "col", "link", "input", "hr"}
INSTRUCTION = "In Documents/budget.ods set D14 to 1950 and save the file."


@dataclass(frozen=True)
class Made:
    """One episode to make."""

    episode_id: str
    task_id: str = "calc_set_cell.budget"
    source: Source = "natural"
    agent: str = "agent"
    outcome: str = "pass"
    category: str | None = None
    cause: str | None = None
    message: str | None = "Done, the file has been saved."
    perturbation: str | None = None
    parent: str | None = None
    screen: Image.Image | Path | None = None
    diagnostics: dict[str, Any] = field(default_factory=dict)


def screen(mark: tuple[int, int] | None = None, size: tuple[int, int] = (320, 240)) -> Image.Image:
    """A small screen; `mark` is the corner of a 10 x 10 square on it."""
    image = Image.new("RGB", size, (240, 240, 240))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, size[0], 20), fill=(90, 120, 160))
    if mark is not None:
        draw.rectangle((*mark, mark[0] + 9, mark[1] + 9), fill=(200, 30, 30))
    return image


def make_bench(root: Path, episodes: Iterable[Made], *, instruction: str | None = INSTRUCTION) -> Bench:
    """Lay the episodes out as a verified bench."""
    bench = Bench.create(root)
    write_json(bench.paths.lock, {"schema_version": "1", "suites": {}})
    for made in episodes:
        _lay(bench, made)
        if instruction is not None:
            _pack(bench, made.episode_id, instruction)
    return bench


def _lay(bench: Bench, made: Made) -> None:
    paths = bench.paths.episode(made.episode_id)
    if isinstance(made.screen, Path):
        paths.screens.mkdir(parents=True)
        (paths.screens / "001.png").write_bytes(made.screen.read_bytes())
    elif made.screen is not None:
        save_png(made.screen, paths.screens / "001.png")
    name = "screens/001.png" if made.screen is not None else None
    append_lines(paths.actions, [ActionLine(step=1, action="done", screen=name)])
    passed = {"pass": True, "fail": False, "indeterminate": None}[made.outcome]
    truth = Truth.model_validate(
        {
            "episode_id": made.episode_id,
            "outcome": Outcome(made.outcome),
            "pass": passed,
            "category": made.category,
            "category_source": "state" if made.category else None,
            "cause": made.cause,
            "blame": "verifier" if made.cause else None,
            "diagnostics": made.diagnostics,
            "verified_at": "2026-01-02T00:00:00Z",
        }
    )
    write_record(paths.truth, truth)
    meta = Meta(
        schema_version=SCHEMA_VERSION,
        episode_id=made.episode_id,
        task_id=made.task_id,
        source=made.source,
        agent=Agent(name=made.agent, version="1", seed=0),
        n_steps=1,
        created_at="2026-01-01T00:00:00Z",
        final_message=made.message,
        ended_by="done",
        family="calc_set_cell",
        perturbation=made.perturbation,
        parent=made.parent,
    )
    write_record(paths.meta, meta)


def _pack(bench: Bench, episode_id: str, instruction: str) -> None:
    package = f"p{episode_id}"
    entry = EvidenceEntry(
        package_id=package, episode_id=episode_id, condition="E1-final", evidence_sha256="0" * 64
    )
    append_lines(bench.paths.evidence_index, [entry])
    evidence = Evidence(package_id=package, condition="E1-final", instruction=instruction)
    write_record(bench.paths.package("E1-final", package), evidence)


def judge(
    bench: Bench,
    label: str,
    said: dict[str, Verdict | None],
    *,
    condition: str = "E1-final",
    reason: str = "",
    status: Status = "ok",
) -> None:
    """Write one judge's verdict lines; None is an episode without a line."""
    lines = [
        VerdictLine(
            episode_id=episode_id,
            judge=label,
            config="c",
            condition=condition,
            run=1,
            verdict=verdict,
            reason=reason,
            called_at="2026-01-03T00:00:00Z",
            status=status,
        )
        for episode_id, verdict in said.items()
        if verdict is not None
    ]
    append_lines(bench.paths.verdict_file(label, condition), lines)


class Page(HTMLParser):
    """Checks that tags are balanced, and keeps what a page may do."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style"}:
            self.text += data

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.tags if "id" in attributes]


def safe(page: Page) -> None:
    """Nothing runs, nothing is fetched, nothing hides."""
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "iframe", "object", "embed", "form", "base", "link"}
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in {"src", "href", "action", "data"}:
                assert value is not None
                assert value.startswith(("data:image/webp;base64,", "#")), value
    ids = page.ids()
    assert len(ids) == len(set(ids))
    for tag, attributes in page.tags:
        if tag in {"a", "use"}:
            assert (attributes["href"] or "")[1:] in ids
    values = [value or "" for _, attributes in page.tags for value in attributes.values()]
    for shown in (page.text, *values):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", shown)


@dataclass(frozen=True)
class Lab:
    """What the tests make benches with."""

    root: Path

    made = Made
    screen = staticmethod(screen)
    judge = staticmethod(judge)
    page = Page
    safe = staticmethod(safe)

    def bench(
        self, episodes: Iterable[Made], *, name: str = "bench", instruction: str | None = INSTRUCTION
    ) -> Bench:
        return make_bench(self.root / name, episodes, instruction=instruction)

    def four(self) -> Bench:
        """One task with its four endings, and one judge that the unsaved one fools."""
        made = Made
        saved = made("e1", source="scripted", screen=screen())
        shown: dict[str, tuple[str, str, tuple[int, int]]] = {
            "e2": ("drop-save", "F-UNCOMMITTED", (300, 220)),
            "e3": ("shift-row", "F-WRONGTARGET", (100, 100)),
            "e4": ("save-copy", "F-WRONGTARGET", (40, 4)),
        }
        others = [
            made(
                name,
                source="perturbed",
                outcome="fail",
                category=category,
                perturbation=perturbation,
                parent="e1",
                screen=screen(mark),
            )
            for name, (perturbation, category, mark) in shown.items()
        ]
        bench = self.bench([saved, *others])
        yes, no = Verdict.SUCCESS, Verdict.FAILURE
        judge(
            bench,
            "screen-rules",
            {"e1": yes, "e2": yes, "e3": no, "e4": Verdict.UNCERTAIN},
            reason="D14 reads 1950",
        )
        judge(bench, "accept-all", dict.fromkeys(("e1", "e2", "e3", "e4"), yes))
        return bench


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)
