"""Steps 0a and 0b: a rubric from the task alone, looked through once, held against the task in code.

A criterion quotes the words of the task that require it; one whose words are not there is a phantom and is
taken out and listed, and so is one that says again what another says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from pyrite.judges.client.base import Text
from pyrite.judges.universal import reading
from pyrite.judges.universal.asking import Asker
from pyrite.judges.universal.records import Criterion, Dropped, Rubric, StepFailed, Unusable
from pyrite.judges.universal.words import Words, words_of

MOST_CRITERIA = 60
ALIKE = 0.75
"""Similarity of two criteria from which on they are named to the dependency check."""
MOST_WORDS = 500
"""Words of a criterion that are held against another's."""
_EMPTY = frozenset(
    words_of(
        "a an and as at be but by do for from i if in is it its me my no not of on or please so that the "
        "their them then there these they this those to up was we what when which will with you your"
    )
)
"""Words that require nothing by themselves."""
ROUNDS = 2
"""How often a rubric is written anew because it could not be looked through."""
_AGAIN = "A rubric that was written for this task could not be looked through"
_ELLIPSIS = re.compile(r"\[\.\.\.\]|\[…\]|\.\.\.|…")
_ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "criterion": {"type": "string"},
        "description": {"type": "string"},
        "task_quote": {"type": "string"},
        "max_points": {"type": "number"},
        "condition": {"type": ["string", "null"]},
        "justification": {"type": "string", "enum": [""]},
        "earned_points": {"type": "string", "enum": [""]},
    },
    "additionalProperties": False,
}
_ITEM["required"] = list(_ITEM["properties"])
_ITEMS: dict[str, Any] = {"type": "array", "items": _ITEM}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"items": _ITEMS},
    "required": ["items"],
    "additionalProperties": False,
}


async def write(asker: Asker, words: Words, drawing: int) -> Rubric:
    """A rubric for the task, looked through; `drawing` tells one from another. Raises `StepFailed`.

    One that is the same again is not looked through again: the same would be asked as often, in vain.
    """
    task, text = words.task(), words.evidence.instruction
    failed: tuple[Rubric, StepFailed] | None = None
    for around in range(ROUNDS):
        again = "" if failed is None else f"\n\n{_AGAIN}: {failed[1].why}. Write it another way."
        rubric = await asker.ask(
            "rubric",
            [Text(f"{task}{again}")],
            lambda body: generated(body, text),
            schema=SCHEMA,
            about="" if not around else f"round {around + 1}",
            instance=around,
            of_task=drawing,
        )
        if failed is not None and failed[0] == rubric:
            break
        try:
            return await _looked_through(asker, words, rubric, drawing, around)
        except StepFailed as exc:
            failed = (rubric, exc)
    assert failed is not None
    raise failed[1]


async def _looked_through(asker: Asker, words: Words, rubric: Rubric, drawing: int, around: int) -> Rubric:
    text = words.evidence.instruction
    pairs = [f"{a} and {b}" for a, b, _ in rubric.alike]
    note = f"\n\nThese look alike: {', '.join(pairs)}." if pairs else ""
    shown = words.criteria(rubric.criteria)
    quotes = "\n".join(f"criterion {i}: {one.quote}" for i, one in enumerate(rubric.criteria))
    found = await asker.ask(
        "dependencies",
        [Text(f"{words.task()}\n\n{shown}\n\nWords of the task that they come from:\n{quotes}{note}")],
        lambda body: _reformulated(body, text, rubric),
        schema=None,
        about="" if not around else f"round {around + 1}",
        instance=around,
        of_task=drawing,
    )
    return without_repeats(found)


def _reformulated(body: Any, task: str, before: Rubric) -> Rubric:
    answer = reading.an_object(body)
    reading.text(answer, "reasoning")
    if not reading.flag(answer, "needs_reformulation"):
        return before
    found = generated(answer.get("reformulated_rubric"), task)
    return replace(found, dropped=(*before.dropped, *found.dropped), reformulated=True)


def generated(body: Any, task: str) -> Rubric:
    """A rubric that a model wrote, without its phantoms. Raises `Unusable`."""
    criteria = criteria_of(body, quoted=True)
    kept, dropped = [], []
    for one in criteria:
        if quoted(one.quote or "", task):
            kept.append(one)
        else:
            what = f"{(one.quote or '')[:120]!r} is not in the task"
            dropped.append(Dropped(one, "phantom", what))
    if not kept:
        raise Unusable(f"no criterion quotes the task: {dropped[0].what}")
    return Rubric(tuple(kept), dropped=tuple(dropped), alike=alike(kept))


def criteria_of(body: Any, *, quoted: bool) -> list[Criterion]:
    """The criteria of a rubric that nobody was graded by yet, nested ones in their place. `Unusable`."""
    found = _criteria(reading.entries(body, "items"), quoted=quoted, depth=0)
    if not found:
        raise Unusable("the rubric has no criterion")
    if len(found) > MOST_CRITERIA:
        raise Unusable(f"the rubric has {len(found)} criteria, at most {MOST_CRITERIA}")
    return found


def _criteria(
    items: Sequence[dict[str, Any]], *, quoted: bool, depth: int, above: str | None = None
) -> list[Criterion]:
    """A criterion that has others in it stands for them: only those are graded, under its condition."""
    found = []
    for item in items:
        name = " ".join(reading.text(item, "criterion").split())
        description = reading.text(item, "description")
        most = reading.number(item, "max_points", 1e-9, 1e6)
        for key in ("justification", "earned_points"):
            if item.get(key, None) != "":
                raise Unusable(f"{key} of {name[:40]!r} is not empty")
        condition = item.get("condition")
        if condition is not None and not isinstance(condition, str):
            raise Unusable(f"the condition of {name[:40]!r} is no text")
        condition = " ".join((condition or "").split()) or above
        if item.get("items"):
            if depth >= 5:
                raise Unusable("criteria are nested too deep")
            inner = reading.entries(item, "items")
            found += _criteria(inner, quoted=quoted, depth=depth + 1, above=condition)
            continue
        quote = reading.text(item, "task_quote", empty=True) if quoted else None
        found.append(Criterion(name, description, most, condition, quote))
    return found


def quoted(quote: str, task: str) -> bool:
    """Whether words stand in the task, in their order and next to each other; blanks and signs do not count.

    >>> quoted("Find a LIVE event... songs", "Find a live event, then three songs")
    True
    >>> quoted("ticket prices", "Find a live event"), quoted("", "Find")
    (False, False)
    """
    there = words_of(task)
    pieces = [words_of(piece) for piece in _ELLIPSIS.split(quote)]
    pieces = [piece for piece in pieces if piece]
    said = [word for piece in pieces for word in piece]
    if said != there and not _requires(said):
        return False
    whole, at = f" {' '.join(there)} ", 0
    for piece in pieces:
        wanted = f" {' '.join(piece)} "
        at = whole.find(wanted, at) + len(wanted) - 1
        if at < len(wanted) - 1:
            return False
    return True


def _requires(said: Sequence[str]) -> bool:
    """Whether words can require something: a number, or a word of two letters that is not an empty one."""
    full = "".join(word for word in said if word not in _EMPTY)
    return len(full) > 1 or full.isdigit()


def alike(criteria: Sequence[Criterion]) -> tuple[tuple[int, int, float], ...]:
    """Pairs that look alike; two conditions that differ make two criteria."""
    found = []
    words = [words_of(f"{one.name} {one.description}")[:MOST_WORDS] for one in criteria]
    for (i, one), (j, other) in combinations(enumerate(criteria), 2):
        if one.condition != other.condition and None not in {one.condition, other.condition}:
            continue
        ratio = similarity(words[i], words[j])
        if ratio >= ALIKE:
            found.append((i, j, round(ratio, 3)))
    return tuple(found)


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Twice the longest common subsequence over all words, from 0 to 1; bit by bit, so no text makes it slow.

    >>> similarity(["find", "a", "kettle"], ["find", "the", "kettle"])
    0.6666666666666666
    """
    where: dict[str, int] = {}
    for i, word in enumerate(one):
        where[word] = where.get(word, 0) | 1 << i
    left = full = (1 << len(one)) - 1
    for word in other:
        met = left & where.get(word, 0)
        left = (left + met | left - met) & full
    total = len(one) + len(other)
    return 2 * (full ^ left).bit_count() / total if total else 1.0


def without_repeats(rubric: Rubric) -> Rubric:
    """Without criteria that say in the same words what an earlier one says."""
    kept: list[Criterion] = []
    dropped = list(rubric.dropped)
    known: dict[tuple[str, ...], str] = {}
    for one in rubric.criteria:
        said = (*words_of(f"{one.name} {one.description}"), "|", *words_of(one.condition or ""))
        if said in known:
            dropped.append(Dropped(one, "overlap", f"it says what {known[said]!r} says"))
        else:
            known[said] = one.name
            kept.append(one)
    return replace(rubric, criteria=tuple(kept), dropped=tuple(dropped), alike=alike(kept))
