"""One question of a step to its model: asked, read, and asked again a bounded number of times.

Every attempt is a request of its own, so its answer is in the cache under its key: a verification that was
killed goes on where it was, and no stored answer is asked for again. A `CallError` is not an attempt:
the client has repeated what is worth repeating, and what it raises ends the verification without a verdict.
After ctrl-C no further call is made, also between two attempts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NoReturn, TypeVar

from pyrite.errors import InputError
from pyrite.judges.client.base import Answer, Image, Params, Part, Request, Text, stopped
from pyrite.judges.client.calls import Calls, Endpoint
from pyrite.judges.found import Unsaid, said
from pyrite.judges.interrupts import stopping
from pyrite.judges.universal import prompts
from pyrite.judges.universal.options import Settings
from pyrite.judges.universal.records import StepFailed, Unusable
from pyrite.records import Status

MAX_TEXT = 200_000
"""Characters of an answer above which it is not read."""
INSTANCE = 1_000_000
"""What the run of a request grows by from one vote to the next: each is a call of its own."""
BLANKS = " " * 500
"""So many blanks or tabs in a row, in what is not JSON as it stands: the model ran away."""
CHANNEL = 200
"""Characters of the name of a channel."""
_FENCES = ("```", "~~~")
_STOPPED: dict[str, tuple[Status, str]] = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens"), ("truncated", "it was cut off")),
    **dict.fromkeys(("content_filter", "refusal"), ("refused", "the model was stopped")),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), ("malformed", "it called a tool")),
    "error": ("truncated", "its endpoint broke off"),
}
T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One call, for the transcript."""

    step: str
    about: str
    """What of a step with several calls: the screen, the vote."""
    attempt: int
    key: str
    model: str
    answer: Answer
    wrong: str
    """Why it could not be used; "" where it could."""
    images: int
    characters: int


@dataclass
class Log:
    """All calls of one verification."""

    entries: list[Entry] = field(default_factory=list)

    def sorted(self) -> list[Entry]:
        """In the order of the steps, whatever came first."""
        order = {step: i for i, step in enumerate(prompts.STEPS)}
        return sorted(self.entries, key=lambda one: (order[one.step], one.about, one.attempt))

    def calls(self) -> dict[str, int]:
        """Step -> calls."""
        found: dict[str, int] = {}
        for one in self.sorted():
            found[one.step] = found.get(one.step, 0) + 1
        return found


@dataclass(frozen=True)
class Question(Generic[T]):
    """What is asked, and how its answer is read; the parts are made anew for each attempt."""

    step: str
    parts: Callable[[], Sequence[Part]]
    read: Callable[[Any], T]
    schema: dict[str, Any] | None
    about: str = ""
    small: bool = False
    instance: int = 0
    of_task: int | None = None

    @property
    def name(self) -> str:
        return f"{self.step} {self.about}".strip()


class Asker:
    """Asks for one package in one run."""

    def __init__(
        self,
        calls: Calls,
        large: Endpoint,
        small: Endpoint,
        settings: Settings,
        gate: asyncio.Semaphore,
        *,
        run: int,
        condition: str,
    ) -> None:
        """`gate` bounds the calls of the judge that are being made, so that few pictures are in memory."""
        self._calls, self._large, self._small, self._settings = calls, large, small, settings
        self._gate, self._run, self._condition = gate, run, condition
        self.log = Log()

    async def ask(
        self,
        step: str,
        parts: Sequence[Part],
        read: Callable[[Any], T],
        *,
        schema: dict[str, Any] | None,
        about: str = "",
        small: bool = False,
        instance: int = 0,
        of_task: int | None = None,
    ) -> T:
        """What `read` makes of the answer. Raises `StepFailed` after all attempts, `CallError` as it comes.

        `of_task`: the answer depends on the task alone and is shared by all runs and conditions: the number
        of the drawing.
        """
        one = Question(step, lambda: parts, read, schema, about, small, instance, of_task)
        wrong = ""
        for attempt in range(1, self.attempts + 1):
            try:
                return await self.attempt(one, attempt, wrong)
            except StepFailed as exc:
                if exc.status is None or attempt == self.attempts:
                    raise
                wrong = exc.why
        raise AssertionError("no attempt")  # pragma: no cover

    @property
    def attempts(self) -> int:
        """How often a question is asked at most."""
        return self._settings.attempts

    async def attempt(self, one: Question[T], attempt: int, wrong: str) -> T:
        """Ask once; `wrong` is what was the matter with the answer before. Raises `StepFailed`, `CallError`.

        A failure without a status is one of the record, and no model's: it is not worth another attempt.
        """
        request = self.first(
            one.step,
            one.parts(),
            schema=one.schema,
            small=one.small,
            instance=one.instance,
            of_task=one.of_task,
        )
        if attempt > 1:
            request = again(request, attempt, self.attempts, wrong)
        endpoint = self._small if one.small else self._large
        async with self._gate:
            if stopping():
                raise stopped()
            await self._encoded(endpoint, request, one.name, attempt)
            answer = await self._calls.client(endpoint).ask(request)
        try:
            value = one.read(document(answer))
        except Unusable as exc:
            self._note(one.step, one.about, attempt, request, answer, str(exc))
            raise StepFailed(one.name, str(exc), exc.status, attempt) from None
        self._note(one.step, one.about, attempt, request, answer, "")
        return value

    def first(
        self,
        step: str,
        parts: Sequence[Part],
        *,
        schema: dict[str, Any] | None,
        small: bool = False,
        instance: int = 0,
        of_task: int | None = None,
    ) -> Request:
        """The request of the first attempt."""
        return Request(
            (self._small if small else self._large).model,
            prompts.load(step),
            tuple(parts),
            schema=bounded(schema, self._settings.max_chars) if self._settings.schema else None,
            params=Params(temperature=self._settings.temperature, max_tokens=self._settings.max_tokens),
            run=(self._run if of_task is None else of_task + 1) + INSTANCE * instance,
            condition=self._condition if of_task is None else "",
        )

    async def _encoded(self, endpoint: Endpoint, request: Request, name: str, attempt: int) -> None:
        """Read and encode the pictures of a request beside the event loop, if it is going to be sent."""
        pictures = [part for part in request.parts if isinstance(part, Image)]
        if not pictures or self._calls.is_cached(endpoint, request):
            return
        try:
            await asyncio.to_thread(lambda: [part.base64 for part in pictures])
        except (InputError, OSError) as exc:
            what = str(exc)[:200] or type(exc).__name__
            raise StepFailed(name, f"the screen is unreadable: {what}", None, attempt - 1) from exc

    def _note(
        self, step: str, about: str, attempt: int, request: Request, answer: Answer, wrong: str
    ) -> None:
        images = sum(isinstance(part, Image) for part in request.parts)
        texts = sum(len(part.text) for part in request.parts if isinstance(part, Text))
        kept = answer.model_copy(update={"logprobs": None})
        characters = len(request.system) + texts
        self.log.entries.append(
            Entry(step, about, attempt, request.key, request.model, kept, wrong, images, characters)
        )


def again(first: Request, attempt: int, most: int, why: str) -> Request:
    """The same request with a word on what was wrong; no two attempts are the same."""
    note = (
        f"This is attempt {attempt} of {most}. The answer before could not be used: {why}. "
        "Answer with one JSON object of the form that was asked for."
    )
    return replace(first, parts=(*first.parts, Text(note)))


def bounded(schema: Any, most: int) -> Any:
    """The schema for a model that does not end and cannot count: texts of so many characters, whole points.

    0 leaves it as it is.
    """
    if not most or not isinstance(schema, dict):
        return schema
    if schema.get("type") == "string" and "enum" not in schema:
        return {**schema, "minLength": 1, "maxLength": most}
    if schema.get("type") == "array":
        schema = {"maxItems": 2, **schema}
    if schema.get("type") == "number" and schema.get("maximum", 0) >= 1:
        return {**schema, "type": "integer", "maximum": int(schema["maximum"])}
    return {
        key: {name: bounded(one, most) for name, one in value.items()}
        if key == "properties"
        else bounded(value, most)
        for key, value in schema.items()
    }


def document(answer: Answer) -> Any:
    """The JSON of an answer, alone or in one fence, after the model's thoughts. Raises `Unusable`."""
    if answer.refusal is not None:
        raise Unusable("the model refused", "refused")
    if answer.defect is not None:
        raise Unusable(answer.defect, "malformed")
    if (stopped := _STOPPED.get((answer.finish or "").lower())) is not None:
        raise Unusable(stopped[1], stopped[0])
    text = answer.text or ""
    if not text.strip() or len(text) > MAX_TEXT:
        raise Unusable(f"it has {len(text):,} characters" if text.strip() else "it is empty", "malformed")
    try:
        return _parsed(unfenced(text))
    except Unusable:
        raise
    except (RecursionError, ValueError):
        return _parsed(unfenced(_said(text)), last=True)


def _said(text: str) -> str:
    """Without the thoughts before it. Raises `Unusable`, also for what would take long to look through."""
    if BLANKS in text.replace("\t", " "):
        raise Unusable(f"{len(BLANKS)} blanks and more stand in a row", "malformed")
    if any(len(piece.partition("<")[0]) > CHANNEL for piece in text.split("<|channel|>")[1:]):
        raise Unusable("the mark of a channel has no message behind it", "malformed")
    try:
        return said(text)[0]
    except Unsaid as exc:
        raise Unusable(str(exc), "truncated" if exc.cut else "malformed") from None


def _parsed(text: str, *, last: bool = False) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except (RecursionError, ValueError) as exc:
        if isinstance(exc, Unusable) or not last:
            raise
        raise Unusable("it is not one JSON object", "malformed") from None


def unfenced(text: str) -> str:
    """What stands in the one fence that is the whole text; else the text. In time linear in its length.

    >>> unfenced("```json\\n{}\\n```\\n"), unfenced("{}")
    ('{}\\n', '{}')
    """
    bare = text.strip()
    fence, (head, line, body) = bare[:3], bare[3:].partition("\n")
    if fence not in _FENCES or not line or "`" in head or not body.endswith(fence):
        return text
    return body.removesuffix(fence)


def _pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(items)
    if len(body) != len(items):
        raise Unusable("a key stands twice in one object")
    return body


def _constant(name: str) -> NoReturn:
    raise Unusable(f"{name} is no number")
