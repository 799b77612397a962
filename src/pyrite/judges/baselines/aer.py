"""`aer-c` and `aer-v`: the judges of Pan et al., as run on AgentRewardBench.

    aer-c@model=gpt-4o     the last screen is described first, and the judge reads the description: 2 calls
    aer-v@model=gpt-4o     the judge sees the last screen itself: 1 call

Source and differences: docs/reference/baselines.md.
"""

from __future__ import annotations

from pyrite.judges.base import Package, Reply
from pyrite.judges.baselines import cleaned
from pyrite.judges.baselines.base import Baseline, Settings, Shown, of, screens, spoken, unreadable
from pyrite.judges.baselines.prompts import Value
from pyrite.judges.baselines.status import status
from pyrite.judges.client.base import Answer
from pyrite.judges.client.calls import Calls
from pyrite.judges.parse import Parsed
from pyrite.records import Evidence


class _Aer(Baseline):
    """What both have: three kinds of tasks in the prompt, and the lines of the answer."""

    published_condition = "E3-full+claim"

    def supports(self, condition: str) -> bool:
        """Everything with actions."""
        return of(condition)[0] != "E1-final"

    def _values(self, shown: Shown) -> dict[str, Value]:
        return {"task": shown.task, "steps": shown.steps(), "message": shown.message}

    def _read(self, answer: Answer) -> Parsed:
        said, wrong = (answer.text, None) if self.compat else spoken(answer)
        if said is None:
            wrong = unreadable("malformed", "the answer holds no text")
        if wrong is not None:
            return wrong
        lines = (said or "").split("\n")
        reason = (line_of(lines, "Thoughts:") or "").strip()[:2000]
        found = cleaned.verdict(line_of(lines, "Status:"), reason, compat=self.compat)
        if self.compat or found.status != "ok":
            return found
        sure = status(said or "", cleaned.WORDS, reason)
        return (
            sure
            if sure.status != "ok" or sure.verdict == found.verdict
            else unreadable("malformed", "it says two things")
        )


class AerC(_Aer):
    """The captioning judge of Pan et al.: the last screen is described, then judged by the description."""

    name = "aer-c"
    inputs = "task, steps, answer, last screen in words (E3-full+claim)"
    calls_per_episode = "2"
    source = "Pan et al. 2024, Autonomous Evaluation and Refinement (arXiv 2404.06474)"

    def __init__(
        self,
        model: str = "",
        base_url: str = "",
        api_key_env: str = "",
        compat: str = "false",
        temperature: str = "0",
        max_tokens: str = "1024",
        seed: str = "",
        *,
        calls: Calls,
    ) -> None:
        settings = Settings(model, base_url, api_key_env, temperature, max_tokens, seed, compat)
        super().__init__(calls, settings, ("aer-caption", "aer-c"), sees=True)

    def calls_for(self, evidence: Evidence) -> tuple[int, int]:
        return 2, 2

    async def judge(self, package: Package, run: int) -> Reply:
        talk, shown = self.dialogue(package, run), Shown(package.evidence)
        last = screens(package, [len(package.evidence.images) - 1])
        caption = await self.ask(talk, "caption", "aer-caption", {"screens": last})
        said, wrong = (caption.text, None) if self.compat else spoken(caption)
        if wrong is not None or said is None:
            wrong = wrong or unreadable("malformed", "it holds no text")
            return self.reply(
                talk, unreadable(wrong.status, f"the description of the screen: {wrong.reason}")
            )
        values = {**self._values(shown), "caption": shown.text(said)}
        return self.reply(talk, self._read(await self.ask(talk, "verdict", "aer-c", values)))


class AerV(_Aer):
    """The seeing judge of Pan et al.: steps and the last screen in one call."""

    name = "aer-v"
    inputs = "task, steps, answer, last screen (E3-full+claim)"
    calls_per_episode = "1"
    source = AerC.source

    def __init__(
        self,
        model: str = "",
        base_url: str = "",
        api_key_env: str = "",
        compat: str = "false",
        temperature: str = "0",
        max_tokens: str = "1024",
        seed: str = "",
        *,
        calls: Calls,
    ) -> None:
        settings = Settings(model, base_url, api_key_env, temperature, max_tokens, seed, compat)
        super().__init__(calls, settings, ("aer-v",), sees=True)

    def calls_for(self, evidence: Evidence) -> tuple[int, int]:
        return 1, 1

    async def judge(self, package: Package, run: int) -> Reply:
        talk, shown = self.dialogue(package, run), Shown(package.evidence)
        last = screens(package, [len(package.evidence.images) - 1])
        values = {**self._values(shown), "screens": last}
        return self.reply(talk, self._read(await self.ask(talk, "verdict", "aer-v", values)))


def line_of(lines: list[str], start: str) -> str | None:
    """What stands behind the first colon of the last line that begins with exactly these letters.

    >>> line_of(["Status: success", " Status: failure", "Status: x: y"], "Status:")
    ' x: y'
    """
    found = [line for line in lines if line.startswith(start)]
    return found[-1].split(":", 1)[1] if found else None
