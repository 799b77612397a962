"""Gymnasium: a wrapper whose `step` says in `info["pyrite"]` what an episode came to. Needs gymnasium."""

from __future__ import annotations

import math
from typing import Any, SupportsFloat

import gymnasium

from pyrite.adapters.graded import UNBOUNDED, Graded, How, Scale, Seen, attempt, decide, of_exception
from pyrite.records import Outcome

KEY = "pyrite"
Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class GradedEnv(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """An environment whose `step` never raises; the last step of an episode carries its outcome.

    `success`: the key of `info` that says so (`is_success`); without it the last step's reward does, by
    `scale`. A step that raises ends the episode as truncated, environment_lost. A step whose reward is
    not known has `fill` in its place, and `info["pyrite"]` says why; where rewards decide, the episode is
    then indeterminate. A `reset` that raises still does: no run has begun, `graded` says setup_failed.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        success: str | None = None,
        scale: Scale = UNBOUNDED,
        policy_causes: tuple[type[BaseException], ...] = (),
        fill: float = math.nan,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, success=success, scale=scale, policy_causes=policy_causes, fill=fill
        )
        gymnasium.Wrapper.__init__(self, env)
        self.graded: Graded | None = None
        self._success = success
        self._scale = scale
        self._policy_causes = policy_causes
        self._fill = fill
        self._last: Any = None
        self._broken: Graded | None = None
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """As the environment does."""
        self.graded = self._broken = None
        self._over = True
        try:
            self._last, info = self.env.reset(seed=seed, options=options)
        except Exception as exc:
            self.graded = decide(Seen(How.SETUP_FAILED, why=of_exception(exc).why))
            raise
        self._over = False
        return self._last, info

    def step(self, action: Any) -> Step:
        """One step; raises `ResetNeeded` where the episode is over."""
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over, or none has begun: call reset()")
        seen = attempt(lambda: self.env.step(action), self._policy_causes)
        if seen.how is not How.ANSWERED:
            how = seen.how if seen.how is How.OF_THE_POLICY else How.LOST
            return self._end(decide(seen._replace(how=how), self._scale))
        try:
            answer: Any = seen.value
            observation, reward, *ends, given_info = answer
            terminated, truncated = map(bool, ends)
            info: dict[str, Any] = dict(given_info)
        except Exception as exc:
            why = f"expected five values of a step: {of_exception(exc).why}"
            return self._end(decide(Seen(How.UNREADABLE, seen.value, why)))
        self._last = observation
        paid = decide(Seen(How.ANSWERED, reward), self._scale)
        if paid.mask:
            self._broken = self._broken or paid
            info[KEY] = paid.as_info()
        self._over = terminated or truncated
        if self._over:
            self.graded = self._decided(paid, info)
            info[KEY] = self.graded.as_info()
        given = self._fill if paid.reward is None else reward
        return observation, given, terminated, truncated, info

    def _decided(self, paid: Graded, info: dict[str, Any]) -> Graded:
        """What the episode came to."""
        if self._success is None:
            return self._broken or paid
        if self._success not in info:
            why = f"the last info has no {self._success!r}"
            return decide(Seen(How.NO_ANSWER, why=why))
        said = decide(Seen(How.ANSWERED, info[self._success]))
        if said.outcome is Outcome.INDETERMINATE or paid.mask:
            return said
        return Graded(said.outcome, reward=paid.reward, raw=said.raw)

    def _end(self, graded: Graded) -> Step:
        self._over = True
        self.graded = graded
        return self._last, graded.reward_or(self._fill), False, True, {KEY: graded.as_info()}
