"""`nnetnav`: what each step changed, in words, then a reward of 1 to 5 on the words alone.

    nnetnav@model=llama-3.3-70b        a call for each pair of screens, and one for the reward

It reads text: of each screen that which is read off it. Source and differences: docs/reference/baselines.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyrite.judges import eyes
from pyrite.judges.base import Package, Reply
from pyrite.judges.baselines.base import Baseline, Settings, Shown, screen_texts, spoken, unreadable
from pyrite.judges.baselines.status import quoted
from pyrite.judges.client.base import CallError
from pyrite.judges.client.calls import Calls
from pyrite.judges.client.completions import too_long
from pyrite.judges.dialogue import Dialogue, together
from pyrite.judges.options import number
from pyrite.judges.parse import Parsed
from pyrite.records import Evidence, Verdict

DELTA, REWARD = "delta", "reward"
ACCEPTED = 4
"""The reward from which on an episode counts as a success."""
PRUNED = 4_000
"""Characters of each screen's text that a second try has, where the first one was too long."""


class NNetNav(Baseline):
    """The judge of NNetNav: each change of the screen in words, then a reward of 1 to 5; 4 and 5 accept."""

    name = "nnetnav"
    inputs = "task, actions, the text of every screen (E3-full)"
    published_condition = "E3-full"
    calls_per_episode = "M"
    source = "Murty et al. 2024, NNetNav (arXiv 2410.02907), as run on AgentRewardBench"

    def __init__(
        self,
        model: str = "",
        base_url: str = "",
        api_key_env: str = "",
        compat: str = "false",
        temperature: str = "0",
        max_tokens: str = "1024",
        delta_tokens: str = "2048",
        seed: str = "",
        cache: bool = True,
        *,
        calls: Calls,
    ) -> None:
        self._cache = cache
        settings = Settings(model, base_url, api_key_env, temperature, max_tokens, seed, compat)
        super().__init__(calls, settings, ("nnetnav-delta", "nnetnav-reward"), sees=False)
        most = int(number("nnetnav: delta_tokens", delta_tokens, 16, 1 << 17, whole=True))
        self._delta = replace(self.params, max_tokens=most)

    def config(self) -> dict[str, Any]:
        return {**super().config(), "delta_tokens": self._delta.max_tokens, **eyes.reader()}

    def supports(self, condition: str) -> bool:
        """All screens with the actions between them; neither thoughts nor the final message are inputs."""
        return condition in {"E3-full", "E3-whole"} or (condition.startswith("E2-") and "+" not in condition)

    def calls_for(self, evidence: Evidence) -> tuple[int, int]:
        pairs = max(0, len(evidence.images) - 1)
        return pairs + 1, 2 * pairs + 1

    async def judge(self, package: Package, run: int) -> Reply:
        talk, shown = self.dialogue(package, run), Shown(package.evidence)
        texts = await screen_texts(package, shown, cache=self._cache)
        actions = self._actions(shown, len(texts))
        changes = await together(
            self._change(talk, n, texts[n : n + 2], action) for n, action in enumerate(actions)
        )
        wrong = next((one for one in changes if isinstance(one, Parsed)), None)
        if wrong is not None:
            return self.reply(talk, wrong)
        told = "\n".join(one for one in changes if isinstance(one, str) and one)
        answer = await self.ask(
            talk,
            REWARD,
            "nnetnav-reward",
            {"task": shown.task, "changes": told or "(there was one screen only)"},
        )
        said, wrong = (answer.text, None) if self.compat else spoken(answer)
        if said is None:
            wrong = unreadable("malformed", "the answer holds no text")
        return self.reply(talk, wrong or reward(said or "", compat=self.compat))

    def _actions(self, shown: Shown, screens: int) -> list[str]:
        """The action beside each pair of screens: the one between them; as published, the one after."""
        between = {one.screen: shown.action(one) for one in shown.evidence.actions if one.screen is not None}
        later = 2 if self.compat else 1
        return [between.get(n + later, "none") for n in range(screens - 1)]

    async def _change(self, talk: Dialogue, place: int, pair: list[str], action: str) -> str | Parsed:
        """What changed between two screens; "" where the request is too long twice, as published."""
        for step, most in ((DELTA, None), (f"{DELTA}-pruned", PRUNED)):
            values = {"before": pair[0][:most], "after": pair[1][:most], "action": action}
            try:
                answer = await self.ask(
                    talk, step, "nnetnav-delta", values, position=place, params=self._delta
                )
            except CallError as exc:
                if not too_long(exc):
                    raise
                continue
            if self.compat:
                return answer.text or ""
            said, wrong = spoken(answer)
            if wrong is not None:
                return unreadable(wrong.status, f"the change after screen {place + 1}: {wrong.reason}")
            return said
        if self.compat:
            return ""
        return unreadable("truncated", f"the change after screen {place + 1} is too long to be asked for")


def reward(text: str, *, compat: bool) -> Parsed:
    """The number behind the first "Reward:", which must be all that follows; 4 and 5 accept.

    >>> reward("Thought: fine\\nReward: 4", compat=False).score, reward("Reward: 4/5", compat=False).status
    (4.0, 'off_schema')
    >>> reward("Reward: 4/5", compat=True).verdict.value
    'failure'
    """
    before, marker, after = text.partition("Reward:")
    said = after.strip()
    reason = before.partition("Thought:")[2].strip()[:2000] or before.strip()[:2000]
    plain = said.isascii() and said.isdigit() and len(said) < 10
    if not compat and quoted(before.rpartition("\n")[2]):
        return unreadable("malformed", "the reward stands in a sentence that quotes or denies it")
    if plain and (compat or 1 <= int(said) <= 5):
        accepted = int(said) >= ACCEPTED
        return Parsed(Verdict.SUCCESS if accepted else Verdict.FAILURE, "ok", reason, float(said))
    if compat:
        return Parsed(Verdict.FAILURE, "ok", reason)
    if not marker:
        return unreadable("malformed", "there is no reward in the answer")
    return unreadable("off_schema", f"the reward is {said[:80]!r}, expected a whole number from 1 to 5")
