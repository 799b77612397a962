"""The JSON that a judge outside of this process is sent and answers: `exec:CMD` and `reward-http`.

    {"schema_version": "1", "id": "…", "run": 1, "condition": "E2-last4", "instruction": "…",
     "actions": [{"step": 7, "action": "type", "parameters": {"text": "4500"}, "thought": null, "image": 0}],
     "images": [{"sha256": "…", "media_type": "image/png", "path": "…" | "base64": "…"}, {"same_as": 0, …}],
     "final_message": null, "left_out": null}

    {"id": "…", "score": 0.83, "verdict": "success", "confidence": 0.9, "reason": "…"}

Score or verdict must be there. A score is any finite number, kept as it is. Nothing is repaired: a score
in quotes, NaN or an unknown verdict is off_schema; what is no single JSON object is malformed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyrite.errors import UsageError
from pyrite.judges.base import Package, Reply
from pyrite.records import Status, Verdict
from pyrite.store.conditions import ACCEPTED, canonical

MAX_ANSWER = 1 << 20
MAX_REASON = 2000
BOM = b"\xef\xbb\xbf"
"""What some programs of Windows write before their first word: it means nothing."""
VERDICTS = {word.value: word for word in (Verdict.SUCCESS, Verdict.FAILURE, Verdict.UNCERTAIN)}


def identifier(package: Package, run: int) -> str:
    """What an answer must repeat: opaque, one for each package and run."""
    return f"{package.evidence.package_id}.{run}"


def document(package: Package, run: int, picture: Callable[[str], Mapping[str, str]]) -> dict[str, Any]:
    """A package as JSON; `picture` gives from an image's digest how its bytes are handed over."""
    seen = package.evidence
    images: list[dict[str, Any]] = []
    for index, digest in enumerate(seen.images):
        first = seen.same_as[index] if seen.same_as else None
        body = picture(digest) if first is None else {"same_as": first}
        images.append({"sha256": digest, "media_type": "image/png", **body})
    return {
        "schema_version": "1",
        "id": identifier(package, run),
        "run": run,
        "condition": seen.condition,
        "instruction": seen.instruction,
        "actions": [
            {
                "step": one.step,
                "action": one.action,
                "parameters": one.parameters,
                "thought": one.thought,
                "image": one.screen,
            }
            for one in seen.actions
        ],
        "images": images,
        "final_message": seen.final_message,
        "left_out": None if seen.left_out is None else seen.left_out.model_dump(mode="json"),
    }


@dataclass(frozen=True)
class Said:
    """What an answer says, and to which request; `id` is None where it does not tell."""

    reply: Reply
    id: str | None = None


class _Wrong(Exception):
    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status


def unreadable(status: Status, reason: str) -> Reply:
    """The reply of a judge whose answer is none."""
    return Reply(Verdict.PARSE_ERROR, reason[:MAX_REASON], status=status)


def read(data: bytes) -> Said:
    """Read one answer; never raises for what it holds.

    >>> read(b'{"score": 0.25}').reply.score, read(b'{"score": "0.25"}').reply.status
    (0.25, 'off_schema')
    >>> read(b'success').reply.status, read(b'{"score": NaN}').reply.status
    ('malformed', 'off_schema')
    """
    named: str | None = None
    try:
        body = _object(data)
        told = body.get("id")
        named = told if isinstance(told, str) else None
        return Said(_reply(body), named)
    except _Wrong as exc:
        return Said(unreadable(exc.status, str(exc)), named)


def _object(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_ANSWER:
        raise _Wrong("malformed", f"an answer of more than {MAX_ANSWER} bytes")
    try:
        text = data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise _Wrong("malformed", f"invalid UTF-8 at byte {exc.start}") from None
    if not text.strip():
        raise _Wrong("malformed", "it is empty")
    try:
        body = json.loads(text, object_pairs_hook=_pairs)
    except _Wrong:
        raise
    except (ValueError, RecursionError):
        raise _Wrong("malformed", f"it is no JSON object: {text.strip()[:80]!r}") from None
    if not isinstance(body, dict):
        raise _Wrong("malformed", f"it is JSON, and no object: {text.strip()[:80]!r}")
    return body


ERRORS = ("error", "errors", "detail")


def error_in(data: bytes) -> str | None:
    """What an answer says went wrong, verdict or not: an error is no verdict, and asked again.

    >>> error_in(b'{"score": 1, "error": "out of memory"}'), error_in(b'{"score": 1, "error": null}')
    ('out of memory', None)
    """
    try:
        body = json.loads(data.removeprefix(BOM))
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    given = any(body.get(key) is not None for key in ("score", "verdict"))
    told = [body[key] for key in ERRORS if key in body and (key == "error" or not given)]
    wrong = next((one for one in told if one not in (None, "", [], {}, False)), None)
    if wrong is None:
        return None if given or not told else "an error without a word"
    return "".join(c if c.isprintable() else " " for c in str(wrong)[:200])


def _pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(items)
    if len(body) != len(items):
        raise _Wrong("off_schema", "a key stands twice in one object")
    return body


def _reply(body: dict[str, Any]) -> Reply:
    score = _number(body, "score")
    verdict, outcome = body.get("verdict"), body.get("outcome")
    if isinstance(outcome, str) and verdict is not None and outcome in VERDICTS and outcome != verdict:
        raise _Wrong("off_schema", f"verdict is {_shown(verdict)}, and outcome {_shown(outcome)}")
    if verdict is not None and (not isinstance(verdict, str) or verdict not in VERDICTS):
        raise _Wrong(
            "off_schema", f"verdict is {_shown(verdict)}, expected one of {', '.join(VERDICTS)}, or null"
        )
    if score is None and verdict is None:
        raise _Wrong("off_schema", "there is neither a score nor a verdict")
    confidence = _number(body, "confidence")
    if confidence is not None and not 0 <= confidence <= 1:
        raise _Wrong("off_schema", f"confidence is {confidence:g}, expected a number from 0 to 1")
    reason = body.get("reason") or ""
    if not isinstance(reason, str):
        raise _Wrong("off_schema", f"reason is {_shown(reason)}, expected text")
    clean = reason[:MAX_REASON].encode("utf-8", "replace").decode()
    return Reply(None if verdict is None else VERDICTS[verdict], clean, score, confidence)


def _number(body: dict[str, Any], key: str) -> float | None:
    value = body.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Wrong("off_schema", f"{key} is {_shown(value)}, expected a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _Wrong("off_schema", f"{key} is {_shown(value)}, expected a finite number")
    return number


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(value[:60].encode("utf-8", "replace").decode())
    return str(value)[:60] if isinstance(value, bool | int | float) else f"a {type(value).__name__}"


# --- options of labels -------------------------------------------------------------------------


class Conditions:
    """The conditions that a judge was told to take: names between slashes, or all.

    >>> chosen = Conditions("last4/E2+claim")
    >>> chosen.names, "E1-final" in chosen, "E1-final" in Conditions("")
    (('E2-last4', 'E2+claim'), False, True)
    """

    def __init__(self, text: str) -> None:
        found = {name: canonical(name) for name in filter(None, (part.strip() for part in text.split("/")))}
        unknown = [name for name, true in found.items() if true is None]
        if unknown:
            raise UsageError(f"unknown condition {unknown[0]!r}", expected=f"{ACCEPTED}, with a / between")
        self.names = tuple(dict.fromkeys(name for name in found.values() if name is not None))

    def __contains__(self, condition: str) -> bool:
        return not self.names or condition in self.names


def number(option: str, text: str, low: float, high: float) -> float:
    """A number out of a label's option. Raises `UsageError`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise UsageError(f"{option} is {text[:40]!r}", expected=f"a number from {low:g} to {high:g}")
    return value
