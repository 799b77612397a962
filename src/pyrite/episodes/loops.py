"""Notice an agent that goes round in circles: the same actions again and again on the same screens."""

from __future__ import annotations

from collections import deque

from pyrite.records import Action

ROUNDS = 6
"""So many equal rounds are an endless loop."""
LONGEST = 4
"""Actions in the longest round that is looked for."""


class Loops:
    """Fed with every action and the screen that it led to."""

    def __init__(self) -> None:
        self._steps: deque[tuple[str, str]] = deque(maxlen=ROUNDS * LONGEST)

    def seen(self, action: Action, screen: str) -> bool:
        """Whether the last steps are one round of up to four actions, six times over, screens and all."""
        asked = action.model_dump_json(exclude_none=True, exclude={"thought"})
        self._steps.append((asked, screen))
        steps = list(self._steps)
        return any(self._repeats(steps, length) for length in range(1, LONGEST + 1))

    @staticmethod
    def _repeats(steps: list[tuple[str, str]], length: int) -> bool:
        last = steps[-length * ROUNDS :]
        return len(last) == length * ROUNDS and all(step == last[at % length] for at, step in enumerate(last))
