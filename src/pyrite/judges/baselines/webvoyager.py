"""`webvoyager`: one call with the task, the agent's answer and some of the screens.

    webvoyager@model=gpt-4o                        images=last     the last n screens (n=1), the original
    webvoyager@model=gpt-4o,images=last30          all of them, at most the last 30, as in fara
    webvoyager@model=gpt-4o,images=first50         the first 50, or the last n of those: the variant beside
                                                   Online-Mind2Web, with its own words for a verdict

Source and differences: docs/reference/baselines.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyrite.evidence.conditions import parse
from pyrite.judges.base import Package, Reply
from pyrite.judges.baselines.base import Baseline, Settings, Shown, of, screens, spoken
from pyrite.judges.baselines.webvoyager_parse import as_published, strictly
from pyrite.judges.client.base import Answer
from pyrite.judges.client.calls import Calls
from pyrite.judges.options import number, one_of
from pyrite.judges.parse import Parsed
from pyrite.records import Evidence, Verdict


@dataclass(frozen=True)
class Policy:
    """Which screens are shown, and what the implementation that does so is asked with by default."""

    n: int
    """The last n of the screens that may be shown; 0 is all of them."""
    first: int | None
    """Only the first of all screens may be shown."""
    temperature: str
    max_tokens: str
    seed: str
    most: int
    """`n` is at most so many: the policy's own bound."""
    words: tuple[str, str]
    """For a success and a failure."""


_TWO_WORDS = ("SUCCESS", "NOT SUCCESS")
POLICIES = {
    "last": Policy(1, None, "0", "1000", "42", 1000, _TWO_WORDS),
    "last30": Policy(30, None, "none", "none", "", 30, _TWO_WORDS),
    "first50": Policy(0, 50, "0", "512", "", 50, ("SUCCESS", "FAILURE")),
}


class WebVoyager(Baseline):
    """The judge of WebVoyager: task, answer and the last screens in one call, believed where they agree."""

    name = "webvoyager"
    inputs = "task, answer, 1, 30 or 50 screens (E3-full+claim)"
    published_condition = "E3-full+claim"
    calls_per_episode = "1"
    source = "He et al. 2024, WebVoyager (arXiv 2401.13919)"

    def __init__(
        self,
        model: str = "",
        base_url: str = "",
        api_key_env: str = "",
        images: str = "last",
        n: str = "",
        compat: str = "false",
        temperature: str = "",
        max_tokens: str = "",
        seed: str = "",
        *,
        calls: Calls,
    ) -> None:
        """`n`: how many of the last screens; without it, temperature and so on, what the policy has."""
        self.images = one_of("webvoyager: images", images, tuple(POLICIES))
        self.policy = POLICIES[images]
        fewest, most = int(images == "last30"), self.policy.most
        self.n = int(number("webvoyager: n", n, fewest, most, whole=True)) if n else self.policy.n
        settings = Settings(
            model,
            base_url,
            api_key_env,
            temperature or self.policy.temperature,
            max_tokens or self.policy.max_tokens,
            seed or self.policy.seed,
            compat,
        )
        super().__init__(calls, settings, ("webvoyager",), sees=True)

    def config(self) -> dict[str, Any]:
        return {**super().config(), "images": self.images, "n": self.n}

    def supports(self, condition: str) -> bool:
        """Conditions that show the agent's answer; thoughts are no input."""
        added = of(condition)[1]
        return bool(added & {"claim", "swap"}) and "thoughts" not in added

    def as_published_in(self, condition: str) -> bool:
        """Where the answer is shown, with as many of the last screens as are asked for."""
        shown = parse(condition)
        enough = shown.last_screens is None or (
            self.policy.first is None and 0 < self.n <= shown.last_screens
        )
        return shown.message == "claim" and not shown.with_thoughts and enough

    def calls_for(self, evidence: Evidence) -> tuple[int, int]:
        n = int(not self._decided_unasked(evidence))
        return n, n

    async def judge(self, package: Package, run: int) -> Reply:
        talk, shown = self.dialogue(package, run), Shown(package.evidence)
        if self._decided_unasked(package.evidence):
            what = "the agent gave no answer: the original takes that for a failure and asks nobody"
            return self.reply(talk, Parsed(Verdict.FAILURE, "ok", what))
        chosen = self.chosen(len(package.evidence.images))
        success, failure = self.policy.words
        answer = await self.ask(
            talk,
            "verdict",
            "webvoyager",
            {
                "task": shown.task,
                "answer": shown.message or "(the agent gave no answer)",
                "screenshots": str(self._said(len(package.evidence.images), len(chosen))),
                "success": success,
                "failure": failure,
                "screens": screens(package, chosen),
            },
        )
        return self.reply(talk, self._read(answer), {"screens": chosen})

    def chosen(self, total: int) -> list[int]:
        """Indices of the screens that are shown, of so many."""
        allowed = list(range(total))[: self.policy.first]
        return allowed[-self.n :] if self.n else allowed

    def _said(self, total: int, shown: int) -> int:
        """How many screens the text speaks of: the originals do not say how many there are."""
        if not self.compat:
            return shown
        return {"last": self.n or total, "last30": total, "first50": shown}[self.images]

    def _decided_unasked(self, evidence: Evidence) -> bool:
        return self.compat and self.images == "last" and not (evidence.final_message or "").strip()

    def _read(self, answer: Answer) -> Parsed:
        if self.compat:
            return as_published(answer.text, self.images)
        said, wrong = spoken(answer)
        return wrong or strictly(said)
