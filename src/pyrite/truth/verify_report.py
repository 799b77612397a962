"""What a verification did and found: counts, what moved, what is wrong; as text and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyrite.records import BLAME, Outcome
from pyrite.store.bugs import SuiteBugs
from pyrite.truth.replay import ReplayResult

NO_TRUTH = "no end state was recorded and there is no verifier, so nothing here says how they ended"
LISTED = 20
"""Lines of one kind that the text of a report shows."""


@dataclass(frozen=True)
class Moved:
    """An episode whose outcome is another one than before."""

    episode_id: str
    before: str
    after: str
    kept_as: str
    """File name of the earlier gt.json."""


@dataclass
class VerifyReport:
    """What a verification did and found."""

    bench: Path
    episodes: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    written: int = 0
    untouched: int = 0
    moved: list[Moved] = field(default_factory=list)
    superseded: int = 0
    """Earlier gt.json files that were kept under another name."""
    replays: list[ReplayResult] = field(default_factory=list)
    kept_replays: int = 0
    """Of those, how many were done earlier today, on the same image, of the same tasks."""
    bugs: SuiteBugs = field(default_factory=SuiteBugs)
    """What this and earlier replays have found wrong with tasks."""
    broken: dict[str, str] = field(default_factory=dict)
    """Episode folders that cannot be read, with the reason; they count as indeterminate."""
    without_truth: int = 0
    """Imported episodes of which no end state was recorded: people's labels are their only truth."""
    problems: list[str] = field(default_factory=list)
    confinement: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> str:
        """One line: how many of what."""
        counts = [f"{self.outcomes[outcome]} {outcome}" for outcome in Outcome]
        failed = sum(1 for result in self.replays if result.cause)
        number = len(self.replays)
        replayed = f"{number} task{'' if number == 1 else 's'} replayed" + (
            f", {failed} not believed" if failed else ""
        )
        if self.kept_replays:
            replayed += f" ({self.kept_replays} earlier today)"
        if self.without_truth:
            counts[-1] += f" ({self.without_truth} imported without truth)"
        return f"{self.episodes} episode{'' if self.episodes == 1 else 's'}: {', '.join(counts)}; {replayed}"

    def text(self) -> str:
        """The summary and everything that a reader must know, a line each."""
        lines = [self.summary()]
        if self.without_truth:
            lines.append(f"{self.without_truth} imported: {NO_TRUTH}")
        for listed in (
            [f"indeterminate: {n} {cause} (blame: {BLAME[cause]})" for cause, n in self.causes.most_common()],
            [f"task {r.task_id}: {r.cause}: {r.detail}" for r in self.replays if r.cause],
            [f"task {r.task_id}: {text}" for r in self.replays for text in r.problems],
            [f"episode {name}: {why}" for name, why in sorted(self.broken.items())],
            [f"moved: {m.episode_id} {m.before} -> {m.after} (earlier: {m.kept_as})" for m in self.moved],
            self.problems,
        ):
            lines += [_one_line(text) for text in listed[:LISTED]]
            if len(listed) > LISTED:
                lines.append(f"and {len(listed) - LISTED} more like the last line")
        if self.bugs.open:
            lines.append(f"faults of tasks, {len(self.bugs.open)} open: {self.bench}/suite_bugs.md")
        if not self.confinement.get("filesystem"):
            lines.append(f"not confined: {self.confinement.get('reason', 'no reason known')}")
        attempts = self.confinement.get("not_prevented")
        if attempts:
            lines.append(f"not prevented, were a verifier hostile: {', '.join(attempts)}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The report as one document."""
        return {
            "schema_version": "1",
            "bench": str(self.bench),
            "episodes": self.episodes,
            "outcomes": {outcome: self.outcomes[outcome] for outcome in Outcome},
            "causes": {cause: {"n": n, "blame": BLAME[cause]} for cause, n in self.causes.most_common()},
            "written": self.written,
            "untouched": self.untouched,
            "superseded": self.superseded,
            "moved": [vars(moved) for moved in self.moved],
            "replays": [result.as_json() for result in self.replays],
            "kept_replays": self.kept_replays,
            "suite_bugs": [bug.model_dump(mode="json") for bug in self.bugs.open],
            "broken": self.broken,
            "without_truth": self.without_truth,
            "problems": self.problems,
            "confinement": self.confinement,
        }


def _one_line(text: str) -> str:
    return " ".join(text.split())[:400]
