"""A score from log-probabilities: how much likelier the model found "success" than "failure".

    margin = log P(success) - log P(failure)     at the token where the verdict begins

A word that is not among the listed alternatives has no known probability: then there is no margin.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from pyrite.judges.client.base import Token

WORDS = ("success", "failure", "uncertain")
_VERDICT = re.compile(r'"verdict"\s*:\s*"(?=' + "|".join(WORDS) + ")")


def deciding(tokens: Sequence[Token]) -> tuple[Token, str] | None:
    """The token in which the verdict begins, and what of it stands before the verdict.

    None where the answer has no verdict in JSON, or more than one.
    """
    found = list(_VERDICT.finditer("".join(token.token for token in tokens)))
    if len(found) != 1:
        return None
    at, start = found[0].end(), 0
    for token in tokens:
        if start <= at < start + len(token.token):
            return token, token.token[: at - start]
        start += len(token.token)
    return None


def margin(tokens: Sequence[Token] | None, verdict: str | None = None) -> float | None:
    """log P(success) - log P(failure) of an answer; None where it cannot be known.

    `verdict` is what the answer says: tokens of another text have no margin.

    >>> from pyrite.judges.client.base import Alternative
    >>> top = (Alternative(token="success", logprob=-0.5), Alternative(token="fail", logprob=-1.5))
    >>> margin([Token(token='{"verdict": "', logprob=0.0), Token(token="success", logprob=-0.5, top=top)])
    1.0
    """
    place = deciding(tokens or ())
    if place is None:
        return None
    token, before = place
    spelled = _VERDICT.search("".join(one.token for one in tokens or ()))
    if verdict is not None and (spelled is None or not spelled.string.startswith(verdict, spelled.end())):
        return None
    listed = {one.token: one.logprob for one in token.top} | {token.token: token.logprob}
    logs: dict[str, list[float]] = {word: [] for word in WORDS}
    for text, logprob in listed.items():
        rest = text.removeprefix(before)
        words = [word for word in WORDS if rest and text.startswith(before) and _begins(word, rest)]
        if len(words) == 1 and math.isfinite(logprob):
            logs[words[0]].append(logprob)
    if not logs["success"] or not logs["failure"]:
        return None
    return _log_sum(logs["success"]) - _log_sum(logs["failure"])


def _begins(word: str, rest: str) -> bool:
    """Whether a token is a first piece of the word, or the word and what closes it."""
    return word.startswith(rest) or (rest.startswith(word) and not rest[len(word)].isalnum())


def _log_sum(logs: list[float]) -> float:
    top = max(logs)
    return top + math.log(math.fsum(math.exp(one - top) for one in logs))
