"""From what a verification found to the verdict line: its verdict, and the `process` block beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pyrite.judges.base import Reply
from pyrite.judges.universal import prompts, released, scoring
from pyrite.judges.universal.asking import Log
from pyrite.judges.universal.options import Settings
from pyrite.judges.universal.pipeline import Finding
from pyrite.judges.universal.records import Fault
from pyrite.records import Status, Verdict

MOST_TEXT = 1_500
"""Characters of one text in a line; raw/ holds all of it."""


def reply(found: Finding, log: Log, settings: Settings) -> Reply:
    """The reply of the judge."""
    decided = verdict(found, settings)
    block = process(found, log, settings)
    status: Status = "ok"
    if decided is None:
        status = next((one.status for one in _decisive(found) if one.status is not None), "ok")
    said = {True: Verdict.SUCCESS, False: Verdict.FAILURE}
    word = Verdict.UNCERTAIN if decided is None else said[decided]
    return Reply(
        verdict=word if status == "ok" else Verdict.PARSE_ERROR,
        reason=reason(found, settings),
        score=found.score.value if status == "ok" else None,
        status=status,
        usage=usage(log),
        raw={
            "intermediates": released.intermediates(found),
            "items": released.items(found),
            "votes": [None if one is None else asdict(one) for one in found.votes],
            "instances": released.instances(found),
            "transcript": transcript(log),
        },
        model=next((one.answer.model for one in log.entries if one.answer.model), None),
        prompt_sha256=prompts.digest(),
        process=block,
    )


def verdict(found: Finding, settings: Settings) -> bool | None:
    """What the option `success` asks for: outcome, process, or both; null where it cannot be told."""
    value = found.score.value
    process = None if value is None else value >= settings.threshold
    if settings.success == "outcome":
        return found.outcome
    if settings.success == "process":
        return process
    if False in (process, found.outcome):
        return False
    return None if None in (process, found.outcome) else True


def reason(found: Finding, settings: Settings) -> str:
    """In one paragraph: why, or which step left it open."""
    if verdict(found, settings) is None:
        causes = [f"{one.step}: {one.what}" for one in _decisive(found)]
        return f"no outcome; {'; '.join(causes) or 'the votes do not decide it'}"
    if settings.success == "process":
        return f"{found.score.earned:g} of {found.score.most:g} points"
    votes = [one for one in found.votes if one is not None]
    said = next((one for one in votes if one.said == found.voted), votes[0] if votes else None)
    text = "" if said is None else said.reasoning
    median = found.median
    if found.voted and not found.outcome and median is not None and median.penalties:
        names = ", ".join(one.name for one in median.penalties)
        text = f"side effect: {names}. {text}"
    return text


def _decisive(found: Finding) -> list[Fault]:
    return [one for one in found.faults if one.decisive] or [one for one in found.faults if one.status]


def process(found: Finding, log: Log, settings: Settings) -> dict[str, Any]:
    """The `process` block of the line; `raw/` has the notes on the screens and every answer."""
    score = found.score
    return {
        "score": score.value,
        "earned": score.earned,
        "max": score.most,
        "bounds": None if score.high is None else [score.low, score.high],
        "threshold": settings.threshold,
        "k": settings.k,
        "success": None if score.value is None else score.value >= settings.threshold,
        "outcome": found.outcome,
        "outcome_of_votes": found.voted,
        "primary_intent": next((_cut(one.intent) for one in found.votes if one is not None), None),
        "rubric": _rubric(found),
        "relevance": [found.matrix.get(frame.number) for frame in found.frames],
        "screens": [
            {
                "image": one.image,
                "after_step": one.after,
                "same_as": None if one.first == one.number else one.first,
            }
            for one in found.frames
        ],
        "penalties": _penalties(found),
        "two_passes": _two_passes(found),
        "votes": _votes(found),
        "diagnosis": _diagnosis(found),
        "faults": [_fault(one) for one in found.faults],
        "halted": found.halted,
        "calls": log.calls(),
        "images": sum(one.images for one in log.entries),
        "prompt_characters": sum(one.characters for one in log.entries),
    }


def _rubric(found: Finding) -> dict[str, Any] | None:
    rubric = found.rubric
    if rubric is None:
        return None
    return {
        "source": rubric.source,
        "reformulated": rubric.reformulated,
        "note": rubric.note,
        "criteria": [_criterion(found, index) for index in range(len(rubric.criteria))],
        "dropped": [
            {
                "criterion": one.criterion.name,
                "max": one.criterion.max_points,
                "why": one.why,
                "what": one.what,
            }
            for one in rubric.dropped
        ],
        "alike": [list(one) for one in rubric.alike],
    }


def _criterion(found: Finding, index: int) -> dict[str, Any]:
    assert found.rubric is not None
    one = found.rubric.criteria[index]
    met = found.conditions.met[index] if found.conditions is not None else None
    median = found.median
    grade = median.grades[index] if median is not None and median.grades is not None else None
    graded = grade is not None and index not in found.ungraded and met is not False and not grade.open
    first = found.baseline[index] if found.baseline is not None else None
    return {
        "criterion": one.name,
        "condition": one.condition,
        "applies": True if one.condition is None else met,
        "quote": one.quote,
        "max": one.max_points,
        "earned": grade.points if graded and grade is not None else None,
        "action_only": None if first is None else first.points,
        "justification": "" if grade is None else _cut(grade.justification),
        "evidence": [note.screen for note in found.seen[index]] if found.seen else [],
        "evidence_text": "" if grade is None else _cut(grade.evidence),
        "reality": "" if found.notes is None else _cut(found.notes[index]),
        "loss": None if grade is None else grade.loss,
        "adjusted": "" if grade is None else grade.adjusted,
    }


def _penalties(found: Finding) -> list[dict[str, Any]] | None:
    median = found.median
    if median is None or median.penalties is None:
        return None
    return [
        {"criterion": one.name, "max": one.max_points, "why": _cut(one.justification)}
        for one in median.penalties
    ]


def _two_passes(found: Finding) -> list[dict[str, Any]] | None:
    median = found.median
    if median is None or median.grades is None or found.baseline is None or found.conditions is None:
        return None
    assert found.rubric is not None
    compared = scoring.two_passes(
        found.rubric, found.baseline, median.grades, found.conditions.met, found.seen
    )
    for one in compared:
        one["claimed"], one["seen"] = _cut(one["claimed"]), _cut(one["seen"])
        one["discrepancies"] = [{**note, "text": _cut(note["text"])} for note in one["discrepancies"]]
    return compared


def _votes(found: Finding) -> dict[str, Any]:
    return {
        "scores": [one.value for one in found.scores],
        "median_instance": found.chosen,
        "outcomes": [None if one is None else one.said for one in found.votes],
    }


def _diagnosis(found: Finding) -> dict[str, Any]:
    failures = found.diagnosis.failures
    if failures is not None:
        points = [{key: _cut(value) for key, value in one.items()} for one in failures["failure_points"]]
        failures = {**failures, "failure_points": points, "reasoning": _cut(failures["reasoning"])}
    return {
        "failures": failures,
        "task_with_record": found.diagnosis.task_with_record,
        "task_alone": found.diagnosis.task_alone,
    }


def _fault(one: Fault) -> dict[str, Any]:
    body = asdict(one)
    body["criteria"] = None if one.criteria is None else list(one.criteria)
    return body


def usage(log: Log) -> dict[str, Any]:
    """Sums over all calls; a sum with an unknown part is null."""
    answers = [one.answer for one in log.entries]
    return {
        "calls": len(answers),
        "from_cache": sum(one.cached for one in answers),
        "input_tokens": _sum([one.usage.input_tokens for one in answers]),
        "output_tokens": _sum([one.usage.output_tokens for one in answers]),
        "cached_tokens": _sum([one.usage.cached_tokens for one in answers]),
        "reasoning_tokens": _sum([one.usage.reasoning_tokens for one in answers]),
        "requests": _sum([one.requests for one in answers]),
        "cost_usd": _sum([one.cost for one in answers]),
        "cached": bool(answers) and all(one.cached for one in answers),
    }


def _sum(values: Sequence[Any]) -> Any:
    return None if any(value is None for value in values) else sum(values)


def transcript(log: Log) -> list[dict[str, Any]]:
    """Every call with its answer, in the order of the steps."""
    return [
        {
            "step": one.step,
            "about": one.about,
            "attempt": one.attempt,
            "key": one.key,
            "model": one.model,
            "text": one.answer.text,
            "finish": one.answer.finish,
            "refusal": one.answer.refusal,
            "wrong": one.wrong,
            "usage": one.answer.usage.model_dump(),
        }
        for one in log.sorted()
    ]


def _cut(value: Any) -> Any:
    if not isinstance(value, str) or len(value) <= MOST_TEXT:
        return value
    return f"{value[:MOST_TEXT]} …"
