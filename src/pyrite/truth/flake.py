"""How often a known state is answered otherwise: asked for once its answers have differed.

The two answers that differed are what made anybody look, so they are left out of the rate: it is over
further answers, half where the state was built and half from another path with older files. Where the
two halves agree with themselves and not with each other, the place is to blame and not chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrite.metrics.intervals import clopper_pearson
from pyrite.records import Outcome
from pyrite.truth.verifier_output import Answer

ASKED = 10
"""Further answers about a state whose answers differ."""
MOST_LATE = 2
"""Answers that may come too late before no more are asked for."""


@dataclass(frozen=True)
class Flake:
    """How often a state that must pass did not, of so many further answers."""

    state: str
    first: str
    then: str
    """The two answers that differed, in words."""
    here: tuple[int, int]
    """(answers that were no pass, answers) where the state was built."""
    elsewhere: tuple[int, int]
    """The same from another path, with older files."""

    @property
    def failed(self) -> int:
        return self.here[0] + self.elsewhere[0]

    @property
    def asked(self) -> int:
        return self.here[1] + self.elsewhere[1]

    @property
    def by_place(self) -> bool:
        """Whether the place or the age of the files explains all of it."""
        (failed_here, here), (failed_elsewhere, elsewhere) = self.here, self.elsewhere
        if not here or not elsewhere:
            return False
        return (failed_here, failed_elsewhere) in {(0, elsewhere), (here, 0)}

    def said(self) -> str:
        """The rate in words, with its interval."""
        told = f"state {self.state} was {self.first}, then {self.then}"
        if not self.asked:
            return told
        low, high = clopper_pearson(self.failed / self.asked, self.asked)
        told += (
            f"; asked {self.asked} times more, {self.failed} no pass: {100 * self.failed / self.asked:.1f} % "
            f"[{100 * low:.1f}, {100 * high:.1f}] (95 % Clopper-Pearson)"
        )
        if self.by_place:
            told += ", always by where it lies or how old its files are"
        return told

    def as_json(self) -> dict[str, Any]:
        """Counts, rate and interval; null where nothing more was asked."""
        bounds = clopper_pearson(self.failed / self.asked, self.asked) if self.asked else None
        return {
            "state": self.state,
            "first": self.first,
            "then": self.then,
            "failed": self.failed,
            "asked": self.asked,
            "rate": self.failed / self.asked if self.asked else None,
            "low": bounds.low if bounds else None,
            "high": bounds.high if bounds else None,
            "method": "Clopper-Pearson",
            "here": list(self.here),
            "elsewhere": list(self.elsewhere),
            "by_place": self.by_place,
        }


def measured(
    name: str, first: str, then: str, places: Sequence[Path], ask: Callable[[Path], Answer]
) -> Flake:
    """Ask `ASKED` times more about a state, in turn where it was built and elsewhere (`places`)."""
    seen: list[list[bool]] = [[], []]
    late = 0
    for number in range(ASKED):
        if late >= MOST_LATE:
            break
        answer = ask(places[number % 2])
        late += answer.cause == "verifier_timeout"
        seen[number % 2].append(answer.outcome is not Outcome.PASS)
    here, elsewhere = ((sum(one), len(one)) for one in seen)
    return Flake(name, first, then, here, elsewhere)
