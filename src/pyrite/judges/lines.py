"""From what a judge answers to its line in the verdict file, and the raw answer beside it."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyrite.errors import InputError
from pyrite.judges.base import Reply
from pyrite.judges.client.secrets import keys_of_environment, redact, redact_value
from pyrite.judges.labels import JUDGES, Labelled
from pyrite.records import EvidenceEntry, Verdict, VerdictLine
from pyrite.store.jsonl import replace_quickly
from pyrite.store.paths import BenchPaths

MAX_REASON_CHARS = 2000


def line(
    paths: BenchPaths,
    labelled: Labelled,
    entry: EvidenceEntry,
    run: int,
    reply: Reply,
    at: str,
    latency_s: float,
) -> VerdictLine:
    """The verdict line of a reply; the raw answer is on disk before it. `InputError` for no reply."""
    reply = _checked(reply)
    secrets = _secrets(labelled)
    if secrets:  # a model, a server or code may repeat a key, however it spells it

        def clean(value: Any) -> Any:
            return redact_value(value, secrets)

        reply = replace(
            reply,
            reason=clean(reply.reason),
            model=clean(reply.model),
            usage=clean(reply.usage),
            raw=clean(reply.raw),
            process=clean(reply.process),
        )
    return VerdictLine(
        episode_id=entry.episode_id,
        judge=labelled.label,
        config=labelled.config,
        condition=entry.condition,
        run=run,
        verdict=reply.verdict,
        score=reply.score,
        confidence=reply.confidence,
        reason=_utf8(reply.reason)[:MAX_REASON_CHARS],
        called_at=at,
        model=reply.model and _utf8(reply.model),
        prompt_sha256=reply.prompt_sha256,
        evidence_sha256=entry.evidence_sha256,
        status=reply.status,
        usage=reply.usage,
        latency_s=round(latency_s, 4),
        raw=None if reply.raw is None else _keep(paths, secrets, reply.raw),
        **({} if reply.process is None else {"process": reply.process}),
    )


def _secrets(labelled: Labelled) -> list[str]:
    """The keys that what this judge says may hold: those it was asked with, and those of the environment.

    Code of others (a function, a program, a package of a provider) reads them by itself. A judge that ships
    and calls nobody says nothing that is not its own.
    """
    if labelled.calls is None:
        own = labelled.label.partition("@")[0] in JUDGES.builtin
        return [] if own else keys_of_environment()
    return [*labelled.calls.keys, *keys_of_environment()]


def _checked(reply: object) -> Reply:
    if not isinstance(reply, Reply):
        raise InputError(f"the judge answered {type(reply).__name__}", expected="a Reply")
    confident = reply.confidence is None or 0 <= reply.confidence <= 1
    if not confident or (reply.score is not None and not math.isfinite(reply.score)):
        what = f"score {reply.score}, confidence {reply.confidence}: not a number, or out of bounds"
        reply = replace(
            reply,
            verdict=Verdict.PARSE_ERROR,
            status="off_schema",
            score=None,
            confidence=None,
            reason=reply.reason or what,
        )
    if (reply.status != "ok") != (reply.verdict == "parse_error"):
        raise InputError(
            f"the judge answered {reply.verdict} with status {reply.status!r}",
            expected="verdict parse_error exactly when the status is not ok",
        )
    try:
        json.dumps([reply.usage, reply.process], allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise InputError(f"the judge answered a usage that is no JSON: {exc}", expected="JSON") from None
    if reply.verdict is None and reply.score is None:
        raise InputError("the judge answered neither a verdict nor a score", expected="one of them")
    return reply


def _utf8(text: str) -> str:
    """The text without halves of surrogate pairs, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _keep(paths: BenchPaths, secrets: Sequence[str], raw: Any) -> str:
    """Write the raw answer under its digest and return its name within the bench."""
    try:
        text = json.dumps(raw, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):  # not JSON: at least what can be read of it
        text = json.dumps(repr(raw)[: 1 << 20])
    text = redact(text, secrets)
    data = text.encode("utf-8", "replace") + b"\n"
    name = f"{hashlib.sha256(data).hexdigest()}.json"
    path = f"{paths.raw}/{name}"
    if not os.path.isfile(path):
        replace_quickly(path, data)
    return f"{paths.raw.name}/{name}"
