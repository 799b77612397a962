"""`agentrewardbench`: one call with four questions: success, side effects, efficiency, going in circles.

    agentrewardbench@model=gpt-4o                  see=screen      the last screenshot
    agentrewardbench@model=gpt-4o,see=tree         the text of the last screen; both, neither
    agentrewardbench@model=gpt-4o,order=last       the variant that asks for success last

Source and differences: docs/reference/baselines.md.
"""

from __future__ import annotations

import re
from typing import Any

from pyrite.judges import eyes
from pyrite.judges.base import Package, Reply
from pyrite.judges.baselines import cleaned
from pyrite.judges.baselines.base import (
    Baseline,
    Settings,
    Shown,
    of,
    screen_texts,
    screens,
    spoken,
    unreadable,
)
from pyrite.judges.baselines.prompts import Value
from pyrite.judges.baselines.status import quoted
from pyrite.judges.client.base import Answer, CallError
from pyrite.judges.client.calls import Calls
from pyrite.judges.client.completions import too_long
from pyrite.judges.dialogue import Dialogue
from pyrite.judges.options import one_of
from pyrite.judges.parse import Parsed
from pyrite.records import Evidence

SEES = ("screen", "tree", "both", "neither")
TAGS = ("reasoning", "success", "side", "optimal", "loop")
_REASONING = re.compile(r"<reasoning>(.*?)</reasoning>", re.DOTALL)
_REASONING_TAG = re.compile(r"</?reasoning>", re.IGNORECASE)
_OPENED = re.compile(r"<success>", re.IGNORECASE)
_SUCCESS = re.compile(r"<success>(.*?)</success>", re.IGNORECASE | re.DOTALL)
PRUNED = 4_000
"""Characters of a screen's text that a second try has, where the first one was too long."""


class AgentRewardBench(Baseline):
    """The judge of AgentRewardBench: steps and the last screen in one call, four answers in tags."""

    name = "agentrewardbench"
    inputs = "task, steps, thoughts, answer, last screen or its text (E3-full+claim+thoughts)"
    published_condition = "E3-full+claim+thoughts"
    calls_per_episode = "1"
    source = "Lù et al. 2025, AgentRewardBench (arXiv 2504.08942)"

    def __init__(
        self,
        model: str = "",
        base_url: str = "",
        api_key_env: str = "",
        see: str = "screen",
        order: str = "first",
        compat: str = "false",
        temperature: str = "0",
        max_tokens: str = "1024",
        seed: str = "0",
        cache: bool = True,
        *,
        calls: Calls,
    ) -> None:
        self.see = one_of("agentrewardbench: see", see, SEES)
        self.order = one_of("agentrewardbench: order", order, ("first", "last"))
        self._cache = cache
        self._prompt = f"agentrewardbench-{self.order}"
        settings = Settings(model, base_url, api_key_env, temperature, max_tokens, seed, compat)
        super().__init__(calls, settings, (self._prompt,), sees=see in {"screen", "both"})

    def config(self) -> dict[str, Any]:
        read = eyes.reader() if self.see in {"tree", "both"} else {}
        return {**super().config(), "see": self.see, "order": self.order, **read}

    def supports(self, condition: str) -> bool:
        """Everything with actions."""
        return of(condition)[0] != "E1-final"

    def calls_for(self, evidence: Evidence) -> tuple[int, int]:
        return 1, 2 if self.see in {"tree", "both"} else 1

    async def judge(self, package: Package, run: int) -> Reply:
        talk, shown = self.dialogue(package, run), Shown(package.evidence)
        last = len(package.evidence.images) - 1
        tree = None
        if self.see in {"tree", "both"}:
            tree = (await screen_texts(package, shown, cache=self._cache))[last]
        values: dict[str, Value] = {
            "task": shown.task,
            "steps": shown.steps(),
            "message": shown.message,
            "tree": tree,
            "screens": screens(package, [last]) if self.see in {"screen", "both"} else None,
        }
        answer = await self._asked(talk, values, tree)
        found, tags = self._read(answer)
        return self.reply(talk, found, tags)

    async def _asked(self, talk: Dialogue, values: dict[str, Value], tree: str | None) -> Answer:
        """The answer; where the request is refused as too long, that to one with less text of the screen."""
        try:
            return await self.ask(talk, "verdict", self._prompt, values)
        except CallError as exc:
            if not too_long(exc) or tree is None or len(tree) <= PRUNED:
                raise
        return await self.ask(talk, "verdict-pruned", self._prompt, {**values, "tree": tree[:PRUNED]})

    def _read(self, answer: Answer) -> tuple[Parsed, dict[str, str | None]]:
        if self.compat:
            text = answer.text
            if text is None:
                return unreadable("malformed", "the answer holds no text"), {}
            tags = {tag: inside(text, tag) for tag in TAGS}
            return cleaned.verdict(tags["success"], _reason(tags), compat=True), tags
        text = answer.text or ""
        reasoning, rest = apart(text)
        if reasoning is not None and _REASONING_TAG.search(rest):
            return unreadable("malformed", "it has two reasonings, or one in the other"), {}
        said, wrong = spoken(answer.model_copy(update={"text": rest}) if text.strip() else answer)
        if wrong is not None:
            return wrong, {}
        tags = {tag: inside(said, tag) for tag in TAGS} | {"reasoning": reasoning}
        return unsure(said) or cleaned.verdict(tags["success"], _reason(tags), compat=False), tags


def _reason(tags: dict[str, str | None]) -> str:
    return (tags["reasoning"] or "").strip()[:2000]


def apart(text: str) -> tuple[str | None, str]:
    """The reasoning that was asked for, in its tag, and the answer without it.

    It is the first of them that ends; thoughts of the model's own, in other tags, stay where they are.

    >>> apart("<reasoning>fine</reasoning><success>Successful</success>")
    ('fine', '<success>Successful</success>')
    """
    found = _REASONING.search(text)
    if found is None:
        return None, text
    return found[1], text[: found.start()] + text[found.end() :]


def unsure(text: str) -> Parsed | None:
    """What is wrong where tags of success differ, do not end, or stand in a sentence; None for nothing.

    >>> unsure("<success>Successful</success>\\n<success>Unsuccessful</success>").status
    'malformed'
    >>> unsure("I will not write <success>Successful</success>.").status
    'malformed'
    """
    opened = list(_OPENED.finditer(text))
    whole = {cleaned.cleaned(one[1]) for one in _SUCCESS.finditer(text)}
    if len(opened) != len(_SUCCESS.findall(text)) and opened[1:]:
        return unreadable("malformed", "a second verdict has no end")
    if len(whole) > 1:
        return unreadable("malformed", "it says two things")
    if any(quoted(text[text.rfind("\n", 0, one.start()) + 1 : one.start()]) for one in opened):
        return unreadable("malformed", "a verdict stands in a sentence that quotes or denies it")
    return None


def inside(text: str, tag: str) -> str | None:
    """What stands between the first opening and the first closing tag behind it; None without either.

    >>> inside("<success>Successful</success>", "success"), inside("<success>Successful", "success")
    ('Successful', None)
    """
    _, opening, rest = text.partition(f"<{tag}>")
    said, closing, _ = rest.partition(f"</{tag}>")
    return said if opening and closing else None
