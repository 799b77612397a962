"""`webvoyager`: one call with the task, the agent's answer and some of the screens.

    webvoyager@model=gpt-4o                        images=last     the last n screens (n=1), the original
    webvoyager@model=gpt-4o,images=last30          all of them, at most the last 30, as in fara
    webvoyager@model=gpt-4o,images=first50         the first 50, or the last n of those: the variant beside
                                                   Online-Mind2Web, with its own words for a verdict

Source and differences: docs/reference/baselines.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pyrite.judges.base import Package, Reply
from pyrite.judges.baselines.base import Baseline, Settings, Shown, of, screens, spoken, unreadable
from pyrite.judges.client.base import Answer
from pyrite.judges.client.calls import Calls
from pyrite.judges.english import foreign
from pyrite.judges.options import number, one_of
from pyrite.judges.parse import Parsed
from pyrite.judges.spoken import WORDS, claims
from pyrite.records import Evidence, Verdict

_WORD = re.compile(r"\b(?:(NOT[\s*_`\"'-]+SUCCESS(?:FUL)?|UNSUCCESSFUL|FAILURE)|SUCCESS(?:FUL)?)\b")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|nor|cannot|without|hardly|partial(?:ly)?|almost|far from)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_NEARLY = re.compile(
    r"(?:\b(?:not|no|never|neither|nor|cannot)\b|n['\u2019]t\b)[\s*_`\"']*(?:\w+[\s*_`\"']+){0,3}$",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"(?:(?!\b(?:because|since|as|and)\b)[^.!?,;:\n\u2013\u2014-])*", re.IGNORECASE)
"""What goes on with the sentence behind a verdict."""
_CONDITION = re.compile(
    r"\b(?:if|unless|otherwise|would|could|might|may|had|supposing|assuming|instead of|rather than)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\b(?:says?|said|shows?|showed|shown|reads?|wrote|writes|written|claims?|claimed|prints?|printed"
    r"|displays?|displayed|contains?|quotes?|reports?|reported|returns?|returned|message|banner|dialog|either)"
    r"\W*(?:(?:a|an|the|that|it|is|was|word|as)\W+){0,3}$",
    re.IGNORECASE,
)
_AGAINST = re.compile(r"[\s*_`\"']*(?:\?|:\s*\w|/|or\b|banner\b|message\b|but\b|only\b)", re.IGNORECASE)
_GOES_ON = re.compile(
    r"(?:\b(?:not|no|never|a|an|the|any|be|is|was|yet|cannot|as|of)|n['\u2019]t)\W*$", re.IGNORECASE
)
_LABELS = ("verdict", "outcome", "status")


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
    words: tuple[str, str]
    """For a success and a failure."""


_TWO_WORDS = ("SUCCESS", "NOT SUCCESS")
POLICIES = {
    "last": Policy(1, None, "0", "1000", "42", _TWO_WORDS),
    "last30": Policy(30, None, "none", "none", "", _TWO_WORDS),
    "first50": Policy(0, 50, "0", "512", "", ("SUCCESS", "FAILURE")),
}


class WebVoyager(Baseline):
    """The judge of WebVoyager: task, answer and the last screens in one call, believed where they agree."""

    name = "webvoyager"
    inputs = "task, answer, 1, 30 or 50 screens"
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
        self.n = int(number("webvoyager: n", n, 0, 1000, whole=True)) if n else self.policy.n
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


def as_published(text: str | None, images: str) -> Parsed:
    """Capital letters anywhere; what says nothing is none (last), a failure (last30), a success (first50).

    >>> as_published("It is NOT SUCCESS", "last").verdict.value
    'failure'
    >>> as_published("Done.", "first50").verdict.value
    'success'
    """
    if text is None:
        return unreadable("malformed", "the answer holds no text")
    reason = text.strip()[:2000]
    if images == "first50":
        return Parsed(Verdict.FAILURE if "FAILURE" in text else Verdict.SUCCESS, "ok", reason)
    if "NOT SUCCESS" in text:
        return Parsed(Verdict.FAILURE, "ok", reason)
    if "SUCCESS" in text:
        return Parsed(Verdict.SUCCESS, "ok", reason)
    if images == "last30":
        return Parsed(Verdict.FAILURE, "ok", reason)
    return unreadable("malformed", "there is no verdict in capital letters")


def strictly(text: str) -> Parsed:
    """The verdict in capital letters, where all that stand in the answer say the same and mean it.

    One in a denial, a condition, a question or a quotation is none, and neither are those beside it.

    >>> strictly("so it is a SUCCESS").verdict.value, strictly("SUCCESS? NOT SUCCESS!").status
    ('success', 'malformed')
    >>> strictly("This is NOT A SUCCESS").status, strictly("It is **NOT** SUCCESS").verdict.value
    ('malformed', 'failure')
    """
    words = list(_WORD.finditer(text))
    found = {one[1] is None for one in words}
    if len(found) != 1:
        return unreadable(
            "malformed", "it says two things" if found else "there is no verdict in capital letters"
        )
    if any(_unsure(text, one) for one in words):
        return unreadable("malformed", "a verdict stands in it where it may be denied, asked or quoted")
    verdict = Verdict.SUCCESS if found.pop() else Verdict.FAILURE
    if any(other != verdict for other in claims(text, _LABELS, WORDS)):
        return unreadable("malformed", "it says two things")
    return Parsed(verdict, "ok", text.strip()[:2000])


def _unsure(text: str, found: re.Match[str]) -> bool:
    """Whether the sentence around a word may deny, ask, quote or suppose it."""
    sentence = re.split(r"[.!?]\s", _before(text[: found.start()]))[-1]
    if sentence.rstrip().endswith((".", "!", "?")):
        sentence = ""
    clause = re.split(r"[,;]\s", sentence)[-1]
    denied = _NEGATION.search(clause) if found[1] is None else _NEARLY.search(clause)
    other = _CONDITION.search(sentence) or _QUOTED.search(sentence) or foreign(clause)
    behind = _BEHIND.match(text, found.end())
    after = behind[0] if behind is not None else ""
    denied = (
        denied or _NEGATION.search(after) or _CONDITION.search(after) or _AGAINST.match(text, found.end())
    )
    return bool(denied or other) or text[: found.start()].rpartition("\n")[2].lstrip().startswith(">")


def _before(text: str) -> str:
    """What leads over to a word: its line, and those before it where they run on into it."""
    above, _, line = text.rpartition("\n")
    while above and (_GOES_ON.search(above) or line[:1].islower()):
        above, _, more = above.rpartition("\n")
        line = f"{more} {line}"
    if not line.strip("*_`\"'#- \t") and above.rstrip().endswith((":", ",")):
        line = above.rstrip().rpartition("\n")[2].rstrip(":,") + " "
    return line
