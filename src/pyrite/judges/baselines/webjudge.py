"""`webjudge`: key points of the task, a score for each screen, a verdict on the screens that scored.

    webjudge@model=o4-mini                         as published on Online-Mind2Web
    webjudge@model=o4-mini,variant=general         as run on AgentRewardBench: thoughts, another score heading

M + 2 calls for M screens. Source and differences: docs/reference/baselines.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyrite.judges.base import Package, Reply
from pyrite.judges.baselines import webjudge_parse as reading
from pyrite.judges.baselines.base import Baseline, Settings, Shown, of, screens, spoken, unreadable
from pyrite.judges.baselines.prompts import Value
from pyrite.judges.client.base import Answer
from pyrite.judges.client.calls import Calls
from pyrite.judges.dialogue import Dialogue, together
from pyrite.judges.options import number, one_of
from pyrite.judges.parse import Parsed
from pyrite.records import Evidence

KEY_POINTS, IMAGE, VERDICT = "key-points", "image", "verdict"
MOST_IMAGES = 50


@dataclass(frozen=True)
class Scored:
    """What was made of the answer about one screen."""

    score: int | None
    """None where it cannot be read, which only `compat` takes for a 0."""
    reasoning: str
    problem: Parsed | None = None


class WebJudge(Baseline):
    """WebJudge of Online-Mind2Web: key points, a score of 1 to 5 a screen, a verdict on the screens kept."""

    name = "webjudge"
    inputs = "task, actions, every screen (E3-full; general: E3-full+thoughts)"
    published_condition = "E3-full"
    calls_per_episode = "M + 2"
    source = "Xue et al. 2025, Online-Mind2Web (arXiv 2504.01382)"

    def __init__(
        self,
        model: str = "",
        base_url: str = "",
        api_key_env: str = "",
        variant: str = "om2w",
        threshold: str = "3",
        max_images: str = "50",
        compat: str = "false",
        temperature: str = "0",
        max_tokens: str = "512",
        seed: str = "",
        *,
        calls: Calls,
    ) -> None:
        """`threshold`: the score that keeps a screen; at most the first `max_images` of them are shown.

        As many notes go with them: the first of those on kept screens that are not empty.
        """
        self.variant = one_of("webjudge: variant", variant, reading.VARIANTS)
        if variant == "general":
            self.published_condition = "E3-full+thoughts"
        self.threshold = int(number("webjudge: threshold", threshold, 1, 5, whole=True))
        self.most = int(number("webjudge: max_images", max_images, 1, 1000, whole=True))
        settings = Settings(model, base_url, api_key_env, temperature, max_tokens, seed, compat)
        self._step = {
            KEY_POINTS: "webjudge-key-points",
            IMAGE: f"webjudge-image-{variant}",
            VERDICT: f"webjudge-verdict-{variant}",
        }
        super().__init__(calls, settings, tuple(self._step.values()), sees=True)

    def config(self) -> dict[str, Any]:
        own = {"variant": self.variant, "threshold": self.threshold, "max_images": self.most}
        return {**super().config(), **own}

    def supports(self, condition: str) -> bool:
        """Screens with the actions between them; the final message is no input, thoughts of `general` are."""
        base, added = of(condition)
        allowed = {"thoughts"} if self.variant == "general" else set()
        return base != "E1-final" and added <= allowed

    def calls_for(self, evidence: Evidence) -> tuple[int, int]:
        n = len(evidence.images) + 2
        return n, n

    async def judge(self, package: Package, run: int) -> Reply:
        talk, shown = self.dialogue(package, run), Shown(package.evidence)
        answer = await self.ask(talk, KEY_POINTS, self._step[KEY_POINTS], {"task": shown.task})
        wrong = self._unusable(answer)
        if wrong is not None:
            return self.reply(talk, unreadable(wrong.status, f"key points: {wrong.reason}"))
        points = shown.text(reading.key_points(answer.text or ""))
        scored = await self._score_all(package, talk, shown.task, points)
        read: dict[str, Any] = {"key_points": points, "image_scores": [one.score for one in scored]}
        unread = [n for n, one in enumerate(scored) if one.problem is not None]
        if unread:
            problem = scored[unread[0]].problem
            assert problem is not None
            what = f"screen {unread[0] + 1} of {len(scored)} has no score: {problem.reason}"
            more = f" ({len(unread) - 1} more have none)" if unread[1:] else ""
            return self.reply(talk, unreadable(problem.status, what + more), read)
        kept = [n for n, one in enumerate(scored) if (one.score or 0) >= self.threshold]
        notes = [scored[n].reasoning for n in kept if scored[n].reasoning][: self.most]
        kept = kept[: self.most]
        told = await self._ask_verdict(package, talk, shown, points, notes, kept)
        return self.reply(talk, self._label(told), {**read, "kept": kept})

    async def _score_all(self, package: Package, talk: Dialogue, task: str, points: str) -> list[Scored]:
        async def one(index: int) -> Scored:
            values: dict[str, Value] = {
                "task": task,
                "key_points": points,
                "screens": screens(package, [index]),
            }
            return self._scored(await self.ask(talk, IMAGE, self._step[IMAGE], values, position=index))

        return await together(map(one, range(len(package.evidence.images))))

    def _scored(self, answer: Answer) -> Scored:
        text = answer.text or ""
        reason = reading.reasoning(text, self.variant)
        if self.compat:
            return Scored(reading.score_as_published(text, self.variant), reason)
        said, wrong = spoken(answer)
        if wrong is not None:
            return Scored(None, "", wrong)
        score = reading.score(said)
        if score is None:
            return Scored(
                None, reason, unreadable("malformed", "no single score of 1 to 5 stands in the answer")
            )
        return Scored(score, reading.reasoning(said, self.variant))

    async def _ask_verdict(
        self,
        package: Package,
        talk: Dialogue,
        shown: Shown,
        points: str,
        reasonings: list[str],
        kept: list[int],
    ) -> Answer:
        notes = "\n".join(f"{n}. {shown.text(one)}" for n, one in enumerate(reasonings, 1))
        values = {
            "task": shown.task,
            "key_points": points,
            "history": self._history(shown),
            "reasonings": notes or None,
            "screens": screens(package, kept) if kept else None,
        }
        return await self.ask(talk, VERDICT, self._step[VERDICT], values)

    def _history(self, shown: Shown) -> str:
        lines = []
        for n, action in enumerate(shown.evidence.actions, 1):
            line = f"{n}. {shown.action(action)}"
            if self.variant == "general":
                line += f". Reasoning: {shown.thought(action, 'None')}"
            lines.append(line)
        return "\n".join(lines)

    def _label(self, answer: Answer) -> Parsed:
        if self.compat:
            wrong = self._unusable(answer)
            return wrong or reading.label_as_published(answer.text or "")
        said, wrong = spoken(answer)
        return wrong or reading.label(said)

    def _unusable(self, answer: Answer) -> Parsed | None:
        """Whether there is no text to go on with; the original ends there without a label."""
        if not self.compat:
            return spoken(answer)[1]
        return unreadable("malformed", "the answer holds no text") if answer.text is None else None
