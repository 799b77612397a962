"""`webjudge` against the transcripts of the original: 612 verdicts, and 28 episodes with screenshots."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from tests.judges.baselines import recorded

from pyrite.judges.base import Reply
from pyrite.judges.client.base import Answer, Image, JudgeClient, Request, Text
from pyrite.judges.client.calls import Calls, Endpoint, Options
from pyrite.judges.client.replay import Recording, ReplayClient
from pyrite.judges.labels import make
from pyrite.judges.showing import tame
from pyrite.records import Verdict

EXCEPTION = ("GenericAgent-gpt-4o-2024-11-20", "webarena.677")
"""Its thoughts quote "Status: Processing" before the status that closes it."""


NO_MARK = "-" * 16


class Replayed(Calls):
    """Calls that are answered out of one recording."""

    def __init__(self) -> None:
        super().__init__(Options(model="recorded", base_url="http://127.0.0.1:9/v1"))
        self.served = ReplayClient(Recording({}, ""))
        self.sent: list[Request] = []

    def client(self, endpoint: Endpoint) -> JudgeClient:
        return self

    async def ask(self, request: Request) -> Answer:
        self.sent.append(request)
        return await self.served.ask(request)


STRICT = {
    "as published": 582,
    "as published, other screens kept": 5,
    "a screen without a score": 29,
    "another status ends the answer": 1,
}


@dataclass
class Judged:
    """One row, what our judge said of it, and the request for the verdict."""

    row: dict[str, Any]
    reply: Reply
    request: Request | None
    unasked: int

    @property
    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = self.reply.raw["read"] or {}
        return found

    @property
    def said(self) -> str:
        assert self.request is not None
        return "".join(part.text for part in self.request.parts if isinstance(part, Text))

    @property
    def shown(self) -> list[Image]:
        assert self.request is not None
        return [part for part in self.request.parts if isinstance(part, Image)]


def judge(
    calls: Replayed, label: str, row: dict[str, Any], pictures: list[Image], answers: list[str], verdict: str
) -> Judged:
    calls.served, calls.sent = ReplayClient(recorded.recording(row, answers, verdict)), []
    reply = asyncio.run(make(label, calls=calls).judge.judge(recorded.package(row, pictures), 1))
    request = calls.sent[-1] if calls.sent[-1].step == "verdict" else None
    return Judged(row, reply, request, len(calls.served.unasked))


@cache
def all_rows(compat: bool, variant: str = "general") -> list[Judged]:
    calls = Replayed()
    label = f"webjudge@variant={variant},compat={str(compat).lower()}"
    found = []
    for row in recorded.rows():
        answers = row["image_reasons"]
        pictures = [Image(f"frame-{n}", "image/png", bytes) for n in range(len(answers))]
        found.append(judge(calls, label, row, pictures, answers, row["response"]))
    return found


def test_image_scores_and_kept_images(record_property: Callable[[str, str], None]) -> None:
    judged = all_rows(True)
    scores = [
        (a, b)
        for one in judged
        for a, b in zip(one.read["image_scores"], one.row["image_scores"], strict=True)
    ]
    same = sum(a == b for a, b in scores)
    kept = sum(len(one.read["kept"]) == len(one.row["images_sent"]) for one in judged)
    record_property(
        "figure", f"webjudge, recorded image scores: {same} of {len(scores)}; kept images: {kept} of 612"
    )
    assert (same, len(scores), kept) == (9742, 9742, 612)
    assert all(one.unasked == 0 for one in judged)


def test_the_request_for_the_verdict_holds_what_the_original_sent() -> None:
    for one in all_rows(True):
        sent = one.row["input_text"]
        assert tame(one.row["key_points"], NO_MARK).strip("\n") in one.said
        assert tame(recorded.history(one.row), NO_MARK).strip("\n") in one.said, "but for tags of templates"
        assert [image.digest for image in one.shown] == [f"frame-{n}" for n in one.read["kept"]]
        notes = one.said.partition("Notes on the screenshots that matter:\n")[2].partition(
            "\n\nThe screenshots"
        )[0]
        assert bool(notes) == bool(one.shown) == ("potentially important snapshots" in sent)
        assert notes in tame(sent, NO_MARK)


def test_labels(record_property: Callable[[str, str], None]) -> None:
    published = recorded.published()
    label = {Verdict.SUCCESS: "success", Verdict.FAILURE: "failure"}
    with_human = against = 0
    other = []
    for one in all_rows(True):
        assert one.reply.verdict is not None
        row, said = one.row, label[one.reply.verdict]
        there = published.get((row["benchmark"], row["agent"], row["task_id"]))
        if row["human_success"] is not None:
            assert there is not None
            with_human += 1
            against += (said == "success") == (there[row["judge_file"]] == "1")
        if said != row["status"]:
            other.append((row["agent"], row["task_id"]))
    figure = f"webjudge, recorded labels: {against} of {with_human} published; {612 - len(other)} of 612"
    record_property("figure", f"{figure} by `status`, the other one is {other}")
    assert (against, with_human) == (505, 505)
    assert other == [EXCEPTION]


def test_the_parser_of_the_other_variant_reads_less() -> None:
    judged = all_rows(True, "om2w")
    scores = [
        (a, b)
        for one in judged
        for a, b in zip(one.read["image_scores"], one.row["image_scores"], strict=True)
    ]
    assert sum(a == b for a, b in scores) == 9690
    assert sum(len(one.read["kept"]) == len(one.row["images_sent"]) for one in judged) == 605


def test_strictly_what_differs_is_said(record_property: Callable[[str, str], None]) -> None:
    """40 answers about a screen hold no score and 53 hold one without the heading; one status is quoted."""
    why: Counter[str] = Counter()
    for old, new in zip(all_rows(True), all_rows(False), strict=True):
        if new.reply.verdict == old.reply.verdict:
            why["as published"] += 1
            why["as published, other screens kept"] += new.read["kept"] != old.read["kept"]
        elif new.reply.verdict == Verdict.PARSE_ERROR:
            why["a screen without a score"] += 1
            assert "has no score" in new.reply.reason
            assert 0 in old.row["image_scores"]
            assert None in new.read["image_scores"]
        else:
            why["another status ends the answer"] += 1
            assert (old.row["agent"], old.row["task_id"]) == EXCEPTION
            assert new.reply.verdict == Verdict(old.row["status"])
    record_property("figure", f"webjudge, recorded, strictly read: {dict(why)}")
    assert why == STRICT


@dataclass
class Episode:
    """One of the 28 episodes as one judge saw it."""

    judged: Judged
    name: str
    """Whose verdict it is."""
    real: list[Image]
    """The screenshots that the original sent."""
    texts_are_recorded: bool
    """Whether the answers about the screens are the judge's own words, or were made of its scores."""


@cache
def all_episodes() -> list[Episode]:
    """Every (episode, judge) with an answer. Where a screenshot was not kept, a blank frame stands for it.

    The texts about the screens are in the transcripts for the 12 episodes whose screenshots are o4-mini's.
    Of the others only the scores were published: an answer is made of each.
    """
    calls = Replayed()
    found = []
    texts = {(row["judge_file"], row["agent"], row["task_id"]): row for row in recorded.rows()}
    for row in recorded.episodes():
        scores = row["image_scores"]
        own = texts.get((row["images_from"], row["agent"], row["task_id"]))
        folder = recorded.EPISODES.parent
        real = [
            Image(name, "image/png", partial((folder / name).read_bytes)) for name in row["screenshots_sent"]
        ]
        waiting = iter(real)
        pictures = [
            next(waiting) if score >= 3 else Image(f"frame-{n}", "image/png", bytes)
            for n, score in enumerate(scores)
        ]
        assert next(waiting, None) is None
        made = [f"### Reasoning: screen {n}\n\n### Score: {score}" for n, score in enumerate(scores)]
        answers = made if own is None else own["image_reasons"]
        for name, text in row["judge_texts"].items():
            label = "webjudge@variant=general,compat=true"
            one = judge(calls, label, row, pictures, answers, text)
            found.append(Episode(one, name, real, own is not None))
    return found


def _who(one: Episode) -> tuple[str, str]:
    return one.judged.row["agent"], one.judged.row["task_id"]


def test_labels_of_28_episodes(record_property: Callable[[str, str], None]) -> None:
    """From the recorded text of each verdict."""
    found = all_episodes()
    same = sum(
        (one.judged.reply.verdict == Verdict.SUCCESS) == bool(one.judged.row["verdicts"][one.name])
        for one in found
    )
    record_property("figure", f"webjudge, 28 episodes with screenshots: labels {same} of {len(found)}")
    assert (same, len(found)) == (55, 55)
    assert len(set(map(_who, found))) == 28


def test_screenshots_of_12_episodes_are_kept_by_the_recorded_words_about_them(
    record_property: Callable[[str, str], None],
) -> None:
    """From the words that o4-mini wrote about each screen, by our parser, to the PNG files that were sent."""
    found = [one for one in all_episodes() if one.texts_are_recorded]
    sent = 0
    for one in found:
        assert one.judged.read["image_scores"] == one.judged.row["image_scores"]
        assert [image.digest for image in one.judged.shown] == one.judged.row["screenshots_sent"]
        assert one.judged.unasked == 0
    for real in {_who(one): one.real for one in found}.values():
        sent += len(real)
    who = len(set(map(_who, found)))
    record_property("figure", f"webjudge, screenshots kept by recorded words: {sent} in {who} episodes")
    assert (sent, who) == (23, 12)


def test_screenshots_of_16_episodes_pass_through_unchanged_given_their_published_scores() -> None:
    """Made answers: this shows the threshold, the order and the bytes, and nothing of how words are read.

    The recorded request of the original has a line for the note on each screenshot: there are as many.
    """
    found = [one for one in all_episodes() if not one.texts_are_recorded]
    assert len(set(map(_who, found))) == 16
    for one in found:
        notes = one.judged.row["input_text"].partition("potentially important snapshots")[2].count("\n")
        assert len(one.judged.read["kept"]) == notes
        assert [image.digest for image in one.judged.shown] == one.judged.row["screenshots_sent"]


def test_the_screenshots_of_all_28_are_real_and_sent_as_they_are() -> None:
    for one in all_episodes():
        assert [image.load() for image in one.judged.shown] == [image.load() for image in one.real]
        assert all(image.load()[:4] == b"\x89PNG" for image in one.judged.shown)
