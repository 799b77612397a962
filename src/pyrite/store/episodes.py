"""The episodes of a bench as figures and lists read them: a broken one is data, counted and named.

One reader for everything that counts, so that no two commands give two numbers of one bench.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from pyrite.errors import InputError, UsageError
from pyrite.records import Meta, Truth
from pyrite.store import labels
from pyrite.store.bench import Bench
from pyrite.store.labels import People


@dataclass(frozen=True)
class Episode:
    """One attempted episode: who, what, and what truth says, as far as it can be read."""

    episode_id: str
    meta: Meta | None
    """None where meta.json cannot be read: then nobody knows its stratum, task or agent."""
    truth: Truth | None
    """With the category that people gave it; None where it is not verified or gt.json cannot be read."""
    problem: str | None = None
    """What cannot be read, on one line that begins with the file; None for a whole episode."""


@dataclass(frozen=True)
class Attempted:
    """Every finished episode of a bench, in order of id, and what people say of them."""

    episodes: tuple[Episode, ...]
    people: People

    @property
    def verified(self) -> int:
        """Episodes that have an outcome, be it indeterminate."""
        return sum(1 for one in self.episodes if one.truth is not None)

    @property
    def unattributed(self) -> int:
        """Episodes whose meta.json cannot be read."""
        return sum(1 for one in self.episodes if one.meta is None)

    @property
    def unverified(self) -> list[str]:
        """Ids of the readable episodes without a gt.json."""
        return [one.episode_id for one in self.episodes if one.truth is None and one.problem is None]

    @property
    def broken(self) -> list[dict[str, str]]:
        """The episodes that cannot be read, and why."""
        return [
            {"episode_id": one.episode_id, "problem": one.problem}
            for one in self.episodes
            if one.problem is not None
        ]


def read(bench: Bench) -> Attempted:
    """Read meta.json and gt.json of every finished episode.

    Raises `UsageError` where there is no episode, `InputError` for a labels.jsonl that cannot be read.
    """
    people = labels.read(bench)
    return Attempted(tuple(_episode(bench, name, people) for name in bench.require_episodes()), people)


def require_verified(bench: Bench, found: Attempted) -> None:
    """Raise `UsageError` where not one episode has an outcome; it names the first that is broken."""
    if found.verified:
        return
    n, broken = len(found.episodes), found.broken
    first = f"; {_some(len(broken), 'cannot be read', broken[0])}" if broken else ""
    if all(one.meta is not None and _imported(one.meta) for one in found.episodes):
        raise UsageError(
            f"{'the episode here was' if n == 1 else f'all {n:,} episodes here were'} imported: no end state "
            "was recorded, so no verifier can say how they ended",
            where=str(bench.root),
            expected="pyrite diagnose for what a judge says of them; labels of people, and measure or report "
            "with --truth labels, for whether that is true",
            next=f"pyrite label {bench.root}/episodes/{found.episodes[0].episode_id} --outcome pass "
            "--annotator NAME",
        )
    who = "the one episode here has not" if n == 1 else f"none of {n:,} episodes has"
    raise UsageError(
        f"{who} been verified{first}",
        where=str(bench.root),
        expected="a gt.json beside each meta.json",
        next=f"pyrite verify {bench.root}",
    )


def _imported(meta: Meta) -> bool:
    return meta.benchmark is not None and meta.benchmark.name == "fara"


def _some(n: int, what: str, first: dict[str, str]) -> str:
    return f"{n:,} {what}, first {first['problem']}"


def _episode(bench: Bench, folder: str, people: People) -> Episode:
    name, meta = _text(folder), None
    try:
        meta = bench.meta(folder)
        truth = bench.truth(folder)
        if truth is not None and truth.episode_id != folder:
            raise InputError(
                f"episode_id is {truth.episode_id!r}, not the name of its folder",
                where=str(bench.paths.episode(folder).truth),
            )
    except InputError as exc:
        where = exc.where.removeprefix(f"{bench.root}{os.sep}")
        problem = f"{where}: {exc.what}" if where else exc.what
        return Episode(name, meta, None, _text(" ".join(problem.split())))
    return Episode(name, meta, None if truth is None else people.joined(truth))


def _text(said: str) -> str:
    """What a folder's name says, where it is not UTF-8 either."""
    return said.encode("utf-8", "backslashreplace").decode()
