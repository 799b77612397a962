"""Notice an agent that goes round in circles: the same actions again and again on the same screens."""

from __future__ import annotations

from collections import deque

from pyrite.records import Action

ROUNDS = 6
"""So many equal rounds are an endless loop."""
LONGEST = 4
"""Actions in the longest round that is looked for."""
WAITS = ROUNDS * LONGEST
"""So many waits in a row are one: to wait for a slow application is no fault."""


class Loops:
    """Fed with every action and the screen that it led to."""

    def __init__(self) -> None:
        self._steps: deque[tuple[bool, str, str]] = deque(maxlen=ROUNDS * LONGEST)

    def seen(self, action: Action, screen: str) -> bool:
        """Whether the last steps are one round of up to four actions, six times over, screens and all.

        Of waits alone it takes 24.
        """
        asked = action.model_dump_json(exclude_none=True, exclude={"thought"})
        self._steps.append((action.action == "wait", asked, screen))
        steps = list(self._steps)
        return any(self._repeats(steps, length) for length in range(1, LONGEST + 1))

    @staticmethod
    def _repeats(steps: list[tuple[bool, str, str]], length: int) -> bool:
        waiting = all(wait for wait, _, _ in steps[-length:])
        last = steps[-(WAITS if waiting else length * ROUNDS) :]
        enough = len(last) == (WAITS if waiting else length * ROUNDS)
        return enough and all(step == last[at % length] for at, step in enumerate(last))
