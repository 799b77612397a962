"""What the baselines share: the endpoint, sampling, prompts and their digest, and how they see a package."""

from __future__ import annotations

import contextlib
import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pyrite.errors import UsageError
from pyrite.judges import eyes
from pyrite.judges.base import Package, Reply
from pyrite.judges.baselines import prompts
from pyrite.judges.client.base import Answer, JudgeClient, Params, Part, Request
from pyrite.judges.client.calls import Calls, Endpoint
from pyrite.judges.dialogue import Dialogue
from pyrite.judges.found import Unsaid, said
from pyrite.judges.options import flag, number
from pyrite.judges.parse import Parsed, unanswered
from pyrite.judges.showing import mark, tame
from pyrite.records import Evidence, Status, Verdict, ViewAction

MOST_TOKENS = 1 << 17


@dataclass(frozen=True)
class Settings:
    """The options that every baseline has, as a label writes them."""

    model: str
    base_url: str
    api_key_env: str
    temperature: str
    max_tokens: str
    seed: str
    compat: str


class Baseline(ABC):
    """One published judge; a subclass gives its prompts and its steps."""

    name: ClassVar[str]
    inputs: ClassVar[str]
    """What it is shown, for people."""
    calls_per_episode: ClassVar[str]
    """M stands for the screens of the episode."""
    source: ClassVar[str]
    """Where it was published."""
    published_condition: str
    """The condition that shows it what the original was shown."""
    deterministic = False

    def __init__(self, calls: Calls, settings: Settings, names: tuple[str, ...], *, sees: bool) -> None:
        self._calls = calls
        self.endpoint = calls.endpoint(
            model=settings.model, base_url=settings.base_url, api_key_env=settings.api_key_env
        )
        if sees and self.endpoint.blind:
            raise UsageError(
                f"{self.endpoint.model} takes no images",
                expected=f"a model that sees, for {self.name}; or --mmproj with the file that gives it eyes",
            )
        self.compat = flag(f"{self.name}: compat", settings.compat)
        self.params = self._sampling(settings)
        self.prompts = {name: prompts.load(name) for name in names}
        self.prompt_sha256 = prompts.digest(list(self.prompts.values()))

    def config(self) -> dict[str, Any]:
        """Model, sampling, digest of every fixed word, and how answers are read."""
        return {
            **self.endpoint.as_json(),
            "prompt_sha256": self.prompt_sha256,
            "params": self.params.as_json(),
            "compat": self.compat,
        }

    @abstractmethod
    def supports(self, condition: str) -> bool:
        """Whether it takes evidence of this condition."""

    def as_published_in(self, condition: str) -> bool:
        """Whether it is shown there what the original was shown."""
        return condition == self.published_condition

    @abstractmethod
    def calls_for(self, evidence: Evidence) -> tuple[int, int]:
        """The fewest and the most calls that a package takes."""

    @abstractmethod
    async def judge(self, package: Package, run: int) -> Reply:
        """Ask what the original asked, in its order."""

    async def request(self, package: Package, run: int) -> Request:
        """The first request about a package; what the others hold depends on the answers.

        Raises `UsageError` where nobody is asked.
        """
        first = _First()
        asking = copy.copy(self)
        asking._calls = _Stopping(first)
        with contextlib.suppress(_Stopped):
            await asking.judge(package, run)
        if first.request is None:
            raise UsageError(f"{self.name} asks nobody about this package", expected="another condition")
        return first.request

    def dialogue(self, package: Package, run: int) -> Dialogue:
        client = self._calls.client(self.endpoint)
        return Dialogue(self.endpoint.model, client, package.evidence, run, self.params)

    async def ask(
        self, talk: Dialogue, step: str, prompt: str, values: Mapping[str, prompts.Value], **more: Any
    ) -> Answer:
        """One call with one of the prompts."""
        chosen = self.prompts[prompt]
        return await talk.ask(step, chosen.system, chosen.parts(values), **more)

    def reply(self, talk: Dialogue, found: Parsed, read: Any = None) -> Reply:
        return talk.reply(
            found.verdict,
            found.reason,
            score=found.score,
            status=found.status,
            prompt_sha256=self.prompt_sha256,
            read=read,
        )

    def _sampling(self, settings: Settings) -> Params:
        def whole(option: str, text: str, low: float, high: float) -> int:
            return int(number(f"{self.name}: {option}", text, low, high, whole=True))

        none = settings.temperature == "none"
        most = settings.max_tokens
        return Params(
            temperature=None if none else number(f"{self.name}: temperature", settings.temperature, 0, 2),
            max_tokens=None if most == "none" else whole("max_tokens", most, 16, MOST_TOKENS),
            seed=whole("seed", settings.seed, 0, (1 << 53) - 1) if settings.seed else None,
        )


class _Stopped(Exception):
    """A judge got as far as its first call."""


class _First:
    """A client that sends nothing: it keeps the first request and stops."""

    def __init__(self) -> None:
        self.request: Request | None = None

    async def ask(self, request: Request) -> Answer:
        self.request = self.request or request
        raise _Stopped

    async def aclose(self) -> None: ...


class _Stopping(Calls):
    def __init__(self, first: _First) -> None:
        super().__init__()
        self._first = first

    def client(self, endpoint: Endpoint) -> JudgeClient:
        return self._first


def unreadable(status: Status, reason: str) -> Parsed:
    """A parse error."""
    return Parsed(Verdict.PARSE_ERROR, status, reason[:2000])


def spoken(answer: Answer) -> tuple[str, Parsed | None]:
    """What an answer says beside its thoughts; the second is what is wrong where it says nothing."""
    nothing = unanswered(answer.text, finish=answer.finish, refusal=answer.refusal, defect=answer.defect)
    if nothing is not None:
        return "", nothing
    try:
        return said(answer.text or "")[0], None
    except Unsaid as exc:
        return "", unreadable("truncated" if exc.cut else "malformed", str(exc))


def of(condition: str) -> tuple[str, set[str]]:
    """The base of a condition, and what is added to it."""
    base, *added = condition.split("+")
    return base, set(added)


class Shown:
    """A package in the words of the baselines: no marks around what the agent wrote, as in the originals.

    Control tokens of chat templates are broken up all the same, or a server would refuse the request.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._sign = mark(evidence)

    @property
    def task(self) -> str:
        return self.text(self.evidence.instruction)

    @property
    def message(self) -> str | None:
        told = self.evidence.final_message
        return None if told is None else self.text(told)

    def text(self, text: str) -> str:
        return tame(text, self._sign)

    def action(self, action: ViewAction) -> str:
        """An action in one line; a foreign one, kept as it was, is its own text."""
        said = action.parameters.get("text")
        if action.action == "raw" and isinstance(said, str):
            return self.text(said)
        values = json.dumps(action.parameters, ensure_ascii=False, sort_keys=True)
        return self.text(f"{action.action} {values}" if action.parameters else action.action)

    def thought(self, action: ViewAction, missing: str) -> str:
        return self.text(action.thought) if action.thought is not None else missing

    def steps(self) -> str:
        """Numbered steps with their thoughts, where these are shown."""
        lines = []
        for action in self.evidence.actions:
            line = f"{action.step}. {self.action(action)}"
            if action.thought is not None:
                line += f"\n   thought: {self.text(action.thought)}"
            lines.append(line)
        return "\n".join(lines) or "(no steps are shown)"


def screens(package: Package, indices: range | list[int]) -> list[Part]:
    """These images of a package, in this order."""
    return [package.pictures[index] for index in indices]


async def screen_texts(package: Package, shown: Shown, *, cache: bool) -> list[str]:
    """The text of each screen, read off it: it stands in for the accessibility tree, which no package has."""
    return [shown.text(text) for text in await eyes.texts(package, cache=cache)]
