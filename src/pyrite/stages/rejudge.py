"""Which episodes and conditions a judge has verdicts on, so that another one can be asked about the same."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrite.errors import UsageError
from pyrite.evidence import conditions
from pyrite.records import VerdictLine
from pyrite.stages.advice import to_have
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines


@dataclass
class Earlier:
    """What a judge was asked, by condition."""

    label: str
    episodes: dict[str, set[str]] = field(default_factory=dict)
    runs: int = 1
    """The most of any condition."""


def earlier(bench: Bench, label: str, wanted: str | None = None) -> Earlier:
    """The episodes that a label has verdicts on; `wanted` names conditions, else all of them.

    Raises `UsageError` where it has none, and says which labels have; `InputError` where it has none and
    an episode cannot be read.
    """
    episode_ids = bench.require_episodes()
    found, there = Earlier(label), dict[str, set[str]]()
    same = ordered(label)
    for path in bench.paths.verdict_files():
        for line in read_lines(path, VerdictLine):
            there.setdefault(line.judge, set()).add(line.condition)
            if ordered(line.judge) == same:
                found.label = line.judge
                found.episodes.setdefault(line.condition, set()).add(line.episode_id)
                found.runs = max(found.runs, line.run)
    names = [one.name for one in conditions.parse_list(wanted)] if wanted else sorted(found.episodes)
    missing = [name for name in names if name not in found.episodes]
    if missing or not names:
        for episode_id in episode_ids:
            bench.meta(episode_id)  # one that cannot be read is told first
        labels = [f"{name} ({', '.join(sorted(of))})" for name, of in sorted(there.items())]
        raise UsageError(
            f"{label} has no verdict{f' in {missing[0]}' if missing else ''}",
            where=str(bench.root),
            expected=f"a judge with verdicts: {'; '.join(labels) or 'nobody has judged here'}",
            next=to_have(bench.root, [label], missing[0] if missing else None),
        )
    found.episodes = {name: found.episodes[name] for name in names}
    return found


def ordered(label: str) -> str:
    """A label with its options in the order in which labels are written.

    >>> ordered("vlm@prompt=lenient,model=a")
    'vlm@model=a,prompt=lenient'
    """
    name, at, rest = label.strip().partition("@")
    return f"{name}{at}{','.join(sorted(part.strip() for part in rest.split(',')))}"
