"""What is known when grading with the screens begins: what steps 6 to 9a are shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyrite.judges.universal.asking import Asker
from pyrite.judges.universal.records import Baseline, Instance, Rubric, Seen
from pyrite.judges.universal.words import Words


@dataclass(frozen=True)
class Known:
    """The results of the steps before."""

    asker: Asker
    words: Words
    rubric: Rubric
    baseline: Sequence[Baseline]
    met: Sequence[bool | None]
    notes: Sequence[str]
    seen: Sequence[Sequence[Seen]]

    def graded(self, instance: Instance | None = None) -> str:
        """The rubric with the grades that there are."""
        return self.words.graded(self.rubric.criteria, self.baseline, self.met, self.notes, instance)

    def screens(self) -> str:
        """What was noted of the screens."""
        return self.words.seen(self.rubric.criteria, self.seen)
