"""Answers kept on disk: the same call is not paid twice. JSON files; an error is never kept.

$PYRITE_CACHE | $XDG_CACHE_HOME/pyrite | ~/.cache/pyrite
  answers/<scope>/<two digits>/<key>.json
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from pyrite.judges.client.base import Answer, JudgeClient, Request
from pyrite.judges.client.budget import Spent
from pyrite.store.jsonl import replace_quickly

MAX_ENTRY_BYTES = 16 << 20


def folder() -> Path:
    """Where answers are kept; the environment decides."""
    if own := os.environ.get("PYRITE_CACHE"):
        return Path(own) / "answers"
    shared = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(shared) / "pyrite" / "answers"


class Store:
    """The answers of one endpoint: `scope` is its URL, or the digest of its weights."""

    def __init__(self, scope: str, root: Path | None = None) -> None:
        self._root = str((root or folder()) / hashlib.sha256(scope.encode()).hexdigest()[:16])

    def path(self, request: Request) -> Path:
        return Path(self._place(request))

    def get(self, request: Request) -> Answer | None:
        """The answer that was kept; None where there is none, or none that can be read."""
        try:
            with open(self._place(request), "rb") as handle:
                data = handle.read(MAX_ENTRY_BYTES + 1)
            kept = Answer.model_validate_json(data) if len(data) <= MAX_ENTRY_BYTES else None
        except (OSError, ValidationError):
            return None
        return kept and kept.model_copy(update={"cached": True, "requests": 0, "cost": 0.0, "seconds": 0.0})

    def put(self, request: Request, answer: Answer) -> None:
        """Keep an answer; a disk that is full keeps nothing and hurts nobody."""
        with suppress(OSError):
            replace_quickly(self._place(request), answer.model_dump_json().encode())

    def _place(self, request: Request) -> str:
        return f"{self._root}/{request.key[:2]}/{request.key}.json"


class Cached:
    """A client that looks into the store first."""

    def __init__(self, client: JudgeClient, store: Store, spent: Spent) -> None:
        self._client = client
        self._store = store
        self._spent = spent

    async def ask(self, request: Request) -> Answer:
        if (kept := self._store.get(request)) is not None:
            self._spent.cached += 1
            return kept
        answer = await self._client.ask(request)
        self._store.put(request, answer)
        return answer

    async def aclose(self) -> None:
        await self._client.aclose()
