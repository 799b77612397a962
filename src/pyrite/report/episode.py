"""`pyrite view`: one self-contained page of one episode, beside what everybody said of it.

Pictures are bounded: a thumbnail a step, each picture once, and in full only the last screen and the one
that the step of interest was taken from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyrite
from pyrite.errors import UsageError
from pyrite.measure.finding import KINDS
from pyrite.records import Outcome
from pyrite.report import numbers
from pyrite.report.endings import instruction_of
from pyrite.report.episode_data import TEXT_LIMIT, Episode, Place, locate, read_episode
from pyrite.report.page import environment
from pyrite.report.state import read
from pyrite.report.text import cut, plain
from pyrite.report.verdicts import Spoken
from pyrite.store.jsonl import write_bytes

__all__ = ["Viewed", "locate", "view"]

MAX_LISTED = 40
"""Windows, processes and reasons that are listed."""
_UNSAVED = {
    True: "yes: asked to close, a window brought up a dialog",
    False: "no: asked to close, every window went at once",
    None: "null: no window answered a request to close",
}


@dataclass(frozen=True)
class Viewed:
    """What was written."""

    html: Path
    episode_id: str
    outcome: str | None
    """pass, fail or indeterminate; None where the episode is not verified."""
    category: str | None
    steps: int
    accepts: int
    verdicts: int
    """Verdicts of judges, shortcuts aside, and how many of them accept the episode."""
    problems: dict[str, str]
    """actions, truth, facts or verdicts -> why it is not on the page, or not all of it."""
    html_bytes: int

    @property
    def summary(self) -> str:
        """One line of it."""
        outcome = " ".join(filter(None, (self.outcome, self.category))) or "not verified"
        judged = f", {self.accepts} of {self.verdicts} verdicts accept" if self.verdicts else ""
        return f"{cut(self.episode_id, 24)}: {outcome}, {numbers.count(self.steps, 'step')}{judged}"


def view(
    place: Place,
    *,
    instruction: str | None = None,
    no_instruction: str = "",
    out: Path | None = None,
    step: int | None = None,
    force: bool = False,
) -> Viewed:
    """Write the page of one episode and say where it is.

    Default place: `<bench>/view/<episode_id>.html`, or `<episode_id>.html` here for a folder without a
    bench. Nothing is written into an episode; a file that is not a page of this episode and step is
    not overwritten without `force`. Raises `UsageError` for a step that the episode does not have.
    """
    target = _target(place, out, step)
    if not force:
        _refuse_foreign(target, _mark(place, step))
    episode = read_episode(place, step=step)
    if instruction is None and place.bench is not None:
        instruction = instruction_of(place.bench, [place.meta.episode_id])
    data = render(
        episode, instruction=instruction, no_instruction=no_instruction, mark=_mark(place, step)
    ).encode()
    write_bytes(target, data)
    accepts, asked = said_by_judges(episode.verdicts, "success")
    return Viewed(
        html=target,
        episode_id=place.meta.episode_id,
        outcome=episode.truth.outcome.value if episode.truth else None,
        category=episode.truth.category.value if episode.truth and episode.truth.category else None,
        steps=len(episode.steps) - 1 + episode.left_out,
        accepts=accepts,
        verdicts=asked,
        problems=episode.problems,
        html_bytes=len(data),
    )


def render(episode: Episode, *, instruction: str | None, no_instruction: str, mark: str) -> str:
    """The page as HTML. `no_instruction` says why the task text is not known; `mark` names the page."""
    truth = episode.truth
    return (
        environment()
        .get_template("episode.html.j2")
        .render(
            version=pyrite.__version__,
            mark=mark,
            episode=episode,
            meta=episode.place.meta,
            bench=episode.place.bench.root.resolve().name if episode.place.bench else None,
            folder=str(episode.place.folder),
            instruction=instruction,
            no_instruction=no_instruction or "its task is not known here",
            facts=header(episode),
            headline=headline(episode),
            basis=basis(episode),
            replayed=replayed(episode),
            state=read(truth.diagnostics, passed=truth.passed) if truth else None,
            reasons=reasons(episode.verdicts),
            unsaved=_UNSAVED,
            most=MAX_LISTED,
            limit=TEXT_LIMIT,
        )
    )


def header(episode: Episode) -> list[tuple[str, str]]:
    """(label, value) below the title."""
    meta = episode.place.meta
    agent = f"{cut(meta.agent.name, 40)} {cut(meta.agent.version, 20)}".strip()
    if meta.agent.seed is not None:
        agent += f", seed {meta.agent.seed}"
    source = meta.source + (f", {cut(meta.perturbation, 40)}" if meta.perturbation else "")
    return [
        ("agent", agent),
        ("source", source),
        ("steps", f"{len(episode.steps) - 1 + episode.left_out:,}"),
        ("ended by", meta.ended_by or "null: not recorded"),
        ("isolation", isolation(meta.enforced)),
        ("recorded", cut(meta.created_at, 40)),
    ]


def isolation(enforced: Mapping[str, Any] | None) -> str:
    """What was enforced while the episode ran, of what matters most."""
    if enforced is None:
        return "null: not recorded"
    held = [word for key, word in (("network", "network"), ("filesystem", "files")) if enforced.get(key)]
    return f"{' and '.join(held)} enforced" if held else "neither network nor files enforced"


def said_by_judges(verdicts: list[Spoken], word: str) -> tuple[int, int]:
    """(how many say `word`, how many say anything) of the judges, shortcuts aside."""
    words = [one.said.word for one in verdicts if not one.shortcut and one.said.glyph != "missing"]
    return words.count(word), len(words)


def headline(episode: Episode) -> list[tuple[str, bool]]:
    """What happened and how many judges are wrong about it, in pieces; True marks false accepts."""
    truth = episode.truth
    accepts, asked = said_by_judges(episode.verdicts, "success")
    if truth is None:
        return [("This episode is not verified: nothing is known of how it ended.", False)]
    if truth.outcome is Outcome.INDETERMINATE:
        why = f"{truth.cause or 'no cause is recorded'}, blame {truth.blame or 'unknown'}"
        return [(f"Its outcome is indeterminate ({why}): no verdict on it is right or wrong.", False)]
    if truth.outcome is Outcome.PASS:
        rejects, _ = said_by_judges(episode.verdicts, "failure")
        end = f": {rejects} of {asked} verdicts of judges reject it." if asked else "; no judge was asked."
        return [("The end state is what the task asks for" + end, False)]
    said = KINDS[truth.category.value] if truth.category else "the end state is not what was asked for"
    said = said[0].upper() + said[1:]
    if not asked:
        return [(f"{said}; no judge was asked.", False)]
    return [
        (f"{said}: ", False),
        (f"{accepts} of {asked}", accepts > 0),
        (" verdicts of judges accept it.", False),
    ]


def basis(episode: Episode) -> str:
    """The line below: which judges, and what is not counted."""
    judges = sorted({one.judge for one in episode.verdicts if not one.shortcut})
    conditions = sorted({one.condition for one in episode.verdicts if not one.shortcut})
    if not judges:
        shortcuts = any(one.shortcut for one in episode.verdicts)
        return "Only shortcut baselines were asked; they are not counted." if shortcuts else ""
    named = ", ".join(cut(name, 40) for name in judges[:4]) if len(judges) <= 4 else f"{len(judges)} judges"
    return (
        f"{named} in {', '.join(cut(name, 30) for name in conditions)}. Shortcut baselines are not counted."
    )


def replayed(episode: Episode) -> str:
    """What the verifier said of the known states right before, in one sentence."""
    replay = episode.truth.replay if episode.truth else None
    if replay is None:
        return "null: no known states were replayed before it."
    said = list(replay.outcomes.values())
    initial = replay.outcomes.get("initial")
    start = f"the untouched one: {initial or 'not there'}"
    counts = ", ".join(f"{said.count(word)} {word}" for word in Outcome if said.count(word))
    return f"{numbers.count(len(said), 'known state')} replayed right before: {counts}; {start}."


def reasons(verdicts: list[Spoken]) -> list[tuple[str, str, str]]:
    """(judge, conditions, reason) of what judges gave as their reason, shortcuts aside, equal ones once."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in verdicts:
        if not one.shortcut and one.reason:
            found.setdefault((one.judge, one.reason), []).append(one.condition)
    return [(judge, ", ".join(conditions), reason) for (judge, reason), conditions in found.items()]


def _mark(place: Place, step: int | None) -> str:
    """What the page calls itself: by it a later `view` knows that it may overwrite the file."""
    return f"pyrite view {place.meta.episode_id} step {'last' if step is None else step}"


def _target(place: Place, out: Path | None, step: int | None) -> Path:
    name = place.meta.episode_id + (f".step{step}" if step is not None else "") + ".html"
    if out is None:
        return place.bench.paths.view / name if place.bench else Path(name)
    target = out / name if out.is_dir() else out
    if target.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(
            "not the name of a page",
            where=str(out),
            expected="a name that ends in .html, or a folder",
            next=f"pyrite view {place.folder}",
        )
    kept = place.bench.paths.episodes if place.bench else place.folder
    if target.resolve().is_relative_to(kept.resolve()):
        raise UsageError(
            "a page is not written where episodes are",
            where=str(target),
            expected=f"a place outside {kept}",
            next=f"pyrite view {place.folder}",
        )
    return target


def _refuse_foreign(target: Path, mark: str) -> None:
    if not target.exists():
        return
    head = b""
    if target.is_file():
        with target.open("rb") as handle:
            head = handle.read(1024)
    if plain(mark).encode() not in head:
        raise UsageError(
            "a file is there that is not this page",
            where=str(target),
            expected="no file, the same page, or --force to overwrite it",
            next="pyrite view --help",
        )
