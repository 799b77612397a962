"""What the verdict files of a bench say of themselves: who answered, when, and on which evidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from pyrite.measure.gate_known import Written
from pyrite.records import EvidenceEntry, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.conditions import LAST_K, canonical
from pyrite.store.jsonl import read_lines

NEEDED = ("config", "called_at", "evidence_sha256")
"""Fields without which nobody can tell later what was asked."""


@dataclass
class _Said:
    lines: int = 0
    models: set[str] = field(default_factory=set)
    configs: set[str] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)
    called: list[str] = field(default_factory=list)
    """The first and the last time."""
    without: Counter[str] = field(default_factory=Counter)


@dataclass
class VerdictFiles:
    """What all verdict lines say of themselves, by judge and condition."""

    said: dict[tuple[str, str], _Said] = field(default_factory=lambda: defaultdict(_Said))
    unnamed: Counter[str] = field(default_factory=Counter)
    """Condition -> verdicts that do not name their evidence."""
    other: Counter[str] = field(default_factory=Counter)
    """Condition -> verdicts on other evidence than the first that was seen of the episode."""

    def of(self, judge: str, condition: str) -> Written:
        """One judge in one condition."""
        found = self.said[judge, condition]
        return Written(
            lines=found.lines,
            models=tuple(sorted(found.models)),
            configs=tuple(sorted(found.configs)),
            prompts=tuple(sorted(found.prompts)),
            first_called=found.called[0] if found.called else None,
            last_called=found.called[-1] if found.called else None,
            without=dict(found.without),
        )

    def unequal(self, condition: str) -> int | None:
        """Verdicts of a condition on unequal evidence; None where one of them does not name its own."""
        return None if self.unnamed[condition] else self.other[condition]


def read(bench: Bench) -> VerdictFiles:
    """Read all verdict lines once; what is packed now is the evidence that all must agree with."""
    asked = bench.asked("evidence", "last_k", LAST_K)
    last_k = asked if isinstance(asked, int) else LAST_K

    def name(condition: str) -> str:
        same = canonical(condition) == condition
        return condition if same else canonical(condition, last_k=last_k) or condition

    digests: dict[tuple[str, str], str] = {}
    if bench.paths.evidence_index.is_file():
        for entry in read_lines(bench.paths.evidence_index, EvidenceEntry):
            digests[entry.episode_id, name(entry.condition)] = entry.evidence_sha256
    found = VerdictFiles()
    for path in bench.paths.verdict_files():
        for line in read_lines(path, VerdictLine):
            _add(found, line, name(line.condition), digests)
    return found


def _add(found: VerdictFiles, line: VerdictLine, condition: str, digests: dict[tuple[str, str], str]) -> None:
    said = found.said[line.judge, condition]
    said.lines += 1
    said.without.update(one for one in NEEDED if not getattr(line, one))
    if line.model is not None:
        said.models.add(line.model)
        said.without.update(["prompt_sha256"] if not line.prompt_sha256 else [])
    if line.prompt_sha256:
        said.prompts.add(line.prompt_sha256)
    if line.config is not None:
        said.configs.add(line.config)
    if line.called_at:
        known = [*said.called, line.called_at]
        said.called = [min(known), max(known)]
    if not line.evidence_sha256:
        found.unnamed[condition] += 1
    elif digests.setdefault((line.episode_id, condition), line.evidence_sha256) != line.evidence_sha256:
        found.other[condition] += 1
