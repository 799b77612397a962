"""The baselines one by one: what they take, how they read, what `compat` changes, and what stops them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Episodes
from tests.judges.packages import package, typed

from pyrite import catalog
from pyrite.cli import run
from pyrite.errors import UsageError
from pyrite.judges import eyes
from pyrite.judges.base import Package, Reply
from pyrite.judges.baselines import webjudge_parse
from pyrite.judges.client.base import Answer, CallError, Image, JudgeClient, Request, Text
from pyrite.judges.client.calls import Calls, Endpoint, Options
from pyrite.judges.client.completions import too_long
from pyrite.judges.labels import make
from pyrite.records import Status, Verdict, ViewAction
from pyrite.tasks import starter

Said = Callable[[Request], Answer | str]
NAMES = ("webvoyager", "webjudge", "agentrewardbench", "aer-c", "aer-v", "nnetnav")


class Scripted(Calls):
    """Calls that are answered by a function of the request."""

    def __init__(self, said: Said) -> None:
        super().__init__(Options(model="m", base_url="http://127.0.0.1:9/v1"))
        self.said = said
        self.sent: list[Request] = []

    def client(self, endpoint: Endpoint) -> JudgeClient:
        return self

    async def ask(self, request: Request) -> Answer:
        self.sent.append(request)
        found = self.said(request)
        return Answer(text=found) if isinstance(found, str) else found


def always(text: str | None, **more: Any) -> Said:
    return lambda request: Answer(text=text, **more)


def by_step(**answers: Answer | str) -> Said:
    return lambda request: answers[request.step.replace("-", "_")]


def judged(label: str, shown: Package, said: Said) -> tuple[Reply, list[Request]]:
    calls = Scripted(said)
    return asyncio.run(make(label, calls=calls).judge.judge(shown, 1)), calls.sent


def words(request: Request) -> str:
    return "".join(part.text for part in request.parts if isinstance(part, Text))


def images(request: Request) -> list[str]:
    return [part.digest for part in request.parts if isinstance(part, Image)]


@pytest.fixture
def shown(tmp_path: Path) -> Callable[..., Package]:
    def make_one(screens: int = 3, message: str | None = "It is done.", **more: Any) -> Package:
        actions = tuple(typed(step, step) for step in range(1, screens))
        fields = {"condition": "E2+claim", "actions": actions, "final_message": message}
        return package(tmp_path, screens=screens, **(fields | more))

    return make_one


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is read off the screens, in order; tests change it."""
    texts = ["one", "two", "three"]

    async def texts_of(package: Package, *, cache: bool = True) -> list[str]:
        return texts

    monkeypatch.setattr(eyes, "texts", texts_of)
    return texts


@pytest.mark.parametrize(
    ("label", "taken", "refused"),
    [
        ("webvoyager", ["E2+claim", "E1-final+swap", "E3-full+claim"], ["E2-last4", "E2+claim+thoughts"]),
        ("webjudge", ["E3-full", "E2-last4"], ["E1-final", "E3-full+claim", "E3-full+thoughts"]),
        ("webjudge@variant=general", ["E3-full", "E3-full+thoughts"], ["E3-full+claim"]),
        ("agentrewardbench", ["E3-full", "E2+claim", "E3-full+thoughts"], ["E1-final", "E1-final+claim"]),
        ("aer-c", ["E3-full", "E2+swap"], ["E1-final"]),
        ("nnetnav", ["E3-full", "E2-last4"], ["E3-full+claim", "E3-full+thoughts", "E1-final"]),
    ],
)
def test_conditions(label: str, taken: list[str], refused: list[str]) -> None:
    judge = make(label, calls=Scripted(always(""))).judge
    assert [one for one in taken if not judge.supports(one)] == []
    assert [one for one in refused if judge.supports(one)] == []


# --- webvoyager ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "total", "expected"),
    [
        ("images=last", 4, [3]),
        ("images=last,n=3", 4, [1, 2, 3]),
        ("images=last30", 40, list(range(10, 40))),
        ("images=first50", 60, list(range(50))),
        ("images=first50,n=2", 60, [48, 49]),
    ],
)
def test_webvoyager_chooses_screens(policy: str, total: int, expected: list[int]) -> None:
    judge: Any = make(f"webvoyager@{policy}", calls=Scripted(always(""))).judge
    assert judge.chosen(total) == expected


@pytest.mark.parametrize(
    ("images", "text", "published", "strict"),
    [
        ("last", "So: SUCCESS", "success", "success"),
        ("last", "So: NOT SUCCESS", "failure", "failure"),
        ("last", "Not a success.", "parse_error", "parse_error"),
        ("last", "SUCCESS at first, NOT SUCCESS in the end", "failure", "parse_error"),
        ("last30", "I cannot tell.", "failure", "parse_error"),
        ("first50", "I cannot tell.", "success", "parse_error"),
        ("first50", "FAILURE", "failure", "failure"),
        ("first50", "NOT SUCCESS", "success", "failure"),
        ("last", "NOT A SUCCESS", "success", "parse_error"),
        ("last", "This is NOT\nA SUCCESS", "success", "parse_error"),
        ("last", "It was **NOT** SUCCESS", "success", "failure"),
        ("last", "NOT\nSUCCESS", "success", "failure"),
        ("last", "NOT\n\nSUCCESS", "success", "parse_error"),
        ("last", "NO SUCCESS", "success", "parse_error"),
        ("last", "The verdict cannot be SUCCESS.", "success", "parse_error"),
        ("last", "If it was saved it would be SUCCESS", "success", "parse_error"),
        ("last", "The page shows 'SUCCESS'.", "success", "parse_error"),
        ("last", "Is it a SUCCESS? No.", "success", "parse_error"),
        ("last", "SUCCESS it is not", "success", "parse_error"),
        ("last", "KEIN SUCCESS", "success", "parse_error"),
        ("last", "SUCCESS\nVerdict: failure", "success", "parse_error"),
        ("last", "The file is not saved, so NOT SUCCESS.", "failure", "failure"),
        ("last", "It does not contradict the answer, so SUCCESS", "success", "success"),
        ("last", "I found no error.\n**SUCCESS**. Nothing is missing.", "success", "success"),
    ],
)
def test_webvoyager_reads(
    shown: Callable[..., Package], images: str, text: str, published: str, strict: str
) -> None:
    for compat, expected in (("true", published), ("false", strict)):
        reply, _ = judged(f"webvoyager@images={images},compat={compat}", shown(), always(text))
        assert reply.verdict == expected
        assert (reply.status == "ok") == (expected != "parse_error")


@pytest.mark.parametrize(
    ("label", "taken", "refused"),
    [
        ("webvoyager@images=last", ["0", "1", "1000"], ["1001", "-1"]),
        ("webvoyager@images=last30", ["1", "30"], ["0", "31", "100"]),
        ("webvoyager@images=first50", ["0", "50"], ["51"]),
    ],
)
def test_n_keeps_within_the_bound_of_the_policy(label: str, taken: list[str], refused: list[str]) -> None:
    for n in taken:
        judge: Any = make(f"{label},n={n}", calls=Scripted(always(""))).judge
        assert judge.n == int(n)
    for n in refused:
        with pytest.raises(UsageError, match="webvoyager: n is"):
            make(f"{label},n={n}", calls=Scripted(always("")))


def test_webvoyager_is_as_published_where_all_of_its_screens_are_shown() -> None:
    for label, so, otherwise in (
        ("webvoyager", ["E1-final+claim", "E2+claim", "E3-full+claim"], ["E2+swap"]),
        ("webvoyager@n=4", ["E2+claim", "E3-full+claim"], ["E1-final+claim", "E2-last3+claim"]),
        ("webvoyager@n=0", ["E3-full+claim"], ["E2+claim"]),
        ("webvoyager@images=last30", ["E2-last30+claim", "E3-full+claim"], ["E2+claim", "E2-last29+claim"]),
        ("webvoyager@images=first50", ["E3-full+claim"], ["E2+claim", "E2-last50+claim"]),
    ):
        judge: Any = make(label, calls=Scripted(always(""))).judge
        assert [one for one in so if not judge.as_published_in(one)] == []
        assert [one for one in otherwise if judge.as_published_in(one)] == []


def test_webvoyager_without_an_answer(shown: Callable[..., Package]) -> None:
    reply, sent = judged("webvoyager@compat=true", shown(message=None), always("SUCCESS"))
    assert (reply.verdict, sent, reply.usage["calls"]) == (Verdict.FAILURE, [], 0)
    reply, sent = judged("webvoyager", shown(message=None), always("SUCCESS"))
    assert (reply.verdict, len(sent)) == (Verdict.SUCCESS, 1)
    assert "(the agent gave no answer)" in words(sent[0])


def test_webvoyager_says_how_many_screens_as_each_original_does(shown: Callable[..., Package]) -> None:
    for label, number in (
        ("webvoyager@compat=true,n=5", 5),
        ("webvoyager@n=5", 3),
        ("webvoyager@images=last30,compat=true", 3),
    ):
        _, sent = judged(label, shown(), always("SUCCESS"))
        assert f"{number} screenshots at the end" in words(sent[0])


def test_each_policy_brings_its_own_sampling() -> None:
    made = {
        name: make(f"webvoyager@images={name}", calls=Scripted(always(""))) for name in ("last", "last30")
    }
    assert made["last"].settings["params"]["max_tokens"] == 1000
    assert made["last"].settings["params"]["seed"] == 42
    assert made["last30"].settings["params"]["temperature"] is None


# --- webjudge --------------------------------------------------------------------------------------


def webjudge(*scores: str, verdict: Answer | str = "Status: success") -> Said:
    def said(request: Request) -> Answer | str:
        if request.step == "key-points":
            return "**Key Points**:\n1. a"
        return scores[request.position] if request.step == "image" else verdict

    return said


def test_webjudge_shows_the_screens_above_the_threshold(shown: Callable[..., Package]) -> None:
    one = shown(condition="E3-full", message=None)
    said = webjudge("**Reasoning**: r1\n**Score**: 2", "**Reasoning**: r2\n**Score**: 3", "**Score**: 5")
    reply, sent = judged("webjudge", one, said)
    assert images(sent[-1]) == list(one.evidence.images[1:])
    assert reply.raw["read"]["image_scores"] == [2, 3, 5]
    assert "1. r2" in words(sent[-1])
    _, sent = judged("webjudge@threshold=4,max_images=1", one, said)
    assert images(sent[-1]) == list(one.evidence.images[2:])
    reply, sent = judged("webjudge", one, webjudge("Score: 1", "Score: 1", "Score: 1"))
    assert images(sent[-1]) == []
    assert "screenshots that matter" not in words(sent[-1])


@pytest.mark.parametrize("compat", ["true", "false"])
def test_webjudge_shows_the_first_50_screens_and_the_first_50_notes_of_all_that_are_kept(
    shown: Callable[..., Package], compat: str
) -> None:
    """A screen without a note takes none of the 50: so there are notes of screens 51 and 52."""

    def said(request: Request) -> str:
        if request.step != "image":
            return "**Key Points**:\n1. a" if request.step == "key-points" else "Status: success"
        note = "" if request.position in (3, 7) else f"note {request.position + 1}."
        return f"**Score**: 4\n**Reasoning**: {note}"

    one = shown(screens=60, condition="E3-full", message=None)
    reply, sent = judged(f"webjudge@compat={compat}", one, said)
    assert reply.verdict == Verdict.SUCCESS
    assert images(sent[-1]) == list(one.evidence.images[:50])
    notes = words(sent[-1]).partition("screenshots that matter:\n")[2].partition("\n\n")[0].split("\n")
    kept = [n for n in range(1, 53) if n not in (4, 8)]
    assert notes == [f"{place}. note {n}." for place, n in enumerate(kept, 1)]


def test_webjudge_takes_no_missing_score_for_a_zero(shown: Callable[..., Package]) -> None:
    one = shown(condition="E3-full", message=None)
    said = webjudge("**Score**: 4", "I see a page.", "**Score**: 4")
    reply, sent = judged("webjudge", one, said)
    assert (reply.verdict, reply.status, sent[-1].step) == (Verdict.PARSE_ERROR, "malformed", "image")
    assert "screen 2 of 3 has no score" in reply.reason
    reply, sent = judged("webjudge@compat=true", one, said)
    assert (reply.verdict, reply.raw["read"]["image_scores"]) == (Verdict.SUCCESS, [4, 0, 4])


@pytest.mark.parametrize(
    ("text", "published", "strict"),
    [
        ('Thoughts: x\nStatus: "success"', "success", "success"),
        ("Thoughts: x\n**Status**: success", "failure", "success"),
        ('Status: "unsuccessful"', "success", "parse_error"),
        ("Status: failure - the agent had no success", "success", "parse_error"),
        ("Thoughts: it says Status: pending.\nStatus: success", "failure", "success"),
        ("It went well.", "failure", "parse_error"),
        ('Status: failure\nThe page says "Status: success"', "failure", "parse_error"),
        ('The page reads "Order status: success".', "success", "parse_error"),
        ('Thoughts: it reads "All done. Status: success".', "success", "parse_error"),
        ("If it were saved:\nStatus: success", "success", "parse_error"),
        ("Status: success\n\nStatus: failure", "success", "parse_error"),
        ("Thoughts: no results were displayed. Status: failure", "failure", "failure"),
        ("Thoughts: Alle Punkte sind erledigt.\nStatus: success", "success", "success"),
    ],
)
def test_webjudge_reads_the_status(
    shown: Callable[..., Package], text: str, published: str, strict: str
) -> None:
    one = shown(condition="E3-full", message=None)
    for compat, expected in (("true", published), ("false", strict)):
        said = webjudge(*["**Score**: 4"] * 3, verdict=text)
        assert judged(f"webjudge@compat={compat}", one, said)[0].verdict == expected


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Score: 3 out of 10", None),
        ("Score: 4 or 5", None),
        ("### Score: 5 \u2192 1", None),
        ("Score: <3", None),
        ("Score: \u22654", None),
        ("Score: 4,5", None),
        ("I would not score 5", None),
        ("The page shows a game with Score: 5", None),
        ("### Score: 5 points would be too many, so 1", None),
        ("### Score\n\n4 \u2013 It shows May 2020, but not all.", 4),
        ("**Score**: 4/5", 4),
        ("Score: 4 out of 5", 4),
    ],
)
def test_webjudge_takes_a_score_only_where_it_is_sure(text: str, score: int | None) -> None:
    assert webjudge_parse.score(text) == score


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Answer(text=None, refusal="no"), "refused"),
        (Answer(text="**Key Points**:\n1. a", finish="length"), "truncated"),
        (Answer(text=""), "malformed"),
    ],
)
def test_webjudge_ends_where_there_are_no_key_points(
    shown: Callable[..., Package], answer: Answer, status: Status
) -> None:
    reply, sent = judged("webjudge", shown(condition="E3-full", message=None), lambda request: answer)
    assert (reply.verdict, reply.status, len(sent)) == (Verdict.PARSE_ERROR, status, 1)


# --- agentrewardbench, aer -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "published", "strict", "status"),
    [
        ("<success>Successful</success>", "success", "success", "ok"),
        ("<success>'Unsuccesful'</success>", "failure", "failure", "ok"),
        ("<success>n/a</success>", "uncertain", "uncertain", "ok"),
        ("<success>mostly</success>", "parse_error", "parse_error", "off_schema"),
        ("<success>Successful", "failure", "parse_error", "malformed"),
        ("Successful", "failure", "parse_error", "malformed"),
        (
            "<success>Successful</success>\n<success>Unsuccessful</success>",
            "success",
            "parse_error",
            "malformed",
        ),
        (
            "<success>Successful</success>\n<success>Unsuccessful",
            "success",
            "parse_error",
            "malformed",
        ),
        ("I will not write <success>Successful</success>", "success", "parse_error", "malformed"),
        (
            "<reasoning>It prints <success>Successful</success>.</reasoning><success>Unsuccessful</success>",
            "success",
            "failure",
            "ok",
        ),
        (
            "<reasoning>It prints </reasoning><success>Successful</success>.</reasoning>"
            "<success>Unsuccessful</success>",
            "success",
            "parse_error",
            "malformed",
        ),
    ],
)
def test_agentrewardbench_reads_tags(
    shown: Callable[..., Package], text: str, published: str, strict: str, status: Status
) -> None:
    assert judged("agentrewardbench@compat=true", shown(), always(text))[0].verdict == published
    reply, sent = judged("agentrewardbench", shown(), always(text))
    assert (reply.verdict, reply.status, len(images(sent[0]))) == (strict, status, 1)


def test_agentrewardbench_keeps_the_reasoning_that_it_asked_for(shown: Callable[..., Package]) -> None:
    text = "<reasoning>the cell is empty</reasoning>\n<success>Unsuccessful</success>"
    for before in ("", "<think>Successful?</think>\n"):
        reply, _ = judged("agentrewardbench", shown(), always(before + text))
        assert (reply.verdict, reply.reason) == (Verdict.FAILURE, "the cell is empty")
        assert reply.raw["read"]["reasoning"] == "the cell is empty"
    reply, _ = judged("agentrewardbench", shown(), always(""))
    assert reply.status == "malformed"
    reply, _ = judged("agentrewardbench", shown(), always("<reasoning>it is"))
    assert reply.verdict == Verdict.PARSE_ERROR


def test_agentrewardbench_tries_again_with_less_text(shown: Callable[..., Package], read: list[str]) -> None:
    read[2] = "x" * 9000

    def said(request: Request) -> str:
        if "x" * 5000 in words(request):
            raise CallError("rejected", "too long", status=400)
        return "<reasoning>r</reasoning><success>Successful</success><loop>No</loop>"

    reply, sent = judged("agentrewardbench@see=tree", shown(), said)
    assert [request.step for request in sent] == ["verdict", "verdict-pruned"]
    assert (reply.verdict, reply.raw["read"]["loop"], images(sent[1])) == (Verdict.SUCCESS, "No", [])
    with pytest.raises(CallError, match="too long"):
        judged("agentrewardbench@see=neither", shown(instruction="x" * 6000), said)


@pytest.mark.parametrize(
    ("text", "published", "strict"),
    [
        ("Thoughts: a\nStatus: success", "success", "success"),
        ("Status: success\nStatus: failure", "failure", "parse_error"),
        ("Status: failure\nThe page says\nStatus: success", "success", "parse_error"),
        ("If it were saved:\nStatus: success", "success", "parse_error"),
        ("Status: success\nNo wait, it is not.", "success", "parse_error"),
        ("Thoughts: Die Zelle zeigt den Wert.\nStatus: failure", "failure", "failure"),
        (" Status: success", "failure", "parse_error"),
        ("**Status**: success", "failure", "parse_error"),
    ],
)
def test_aer_reads_lines(shown: Callable[..., Package], text: str, published: str, strict: str) -> None:
    for name in ("aer-c", "aer-v"):
        for compat, expected in (("true", published), ("false", strict)):
            assert judged(f"{name}@compat={compat}", shown(), always(text))[0].verdict == expected


def test_aer_c_judges_by_the_description(shown: Callable[..., Package]) -> None:
    said = by_step(caption="a {task} sheet", verdict="Status: success")
    reply, sent = judged("aer-c", shown(), said)
    assert [(request.step, len(images(request))) for request in sent] == [("caption", 1), ("verdict", 0)]
    assert "The last screen, described:\na {task} sheet" in words(sent[1])
    reply, sent = judged("aer-c", shown(), always(None, refusal="no"))
    assert (reply.status, len(sent)) == ("refused", 1)


# --- nnetnav ---------------------------------------------------------------------------------------


def test_nnetnav_shows_the_action_between_and_as_published_the_one_after(
    shown: Callable[..., Package], read: list[str]
) -> None:
    actions = tuple(ViewAction(step=n, action=f"act{n}", screen=n) for n in (1, 2))
    one = shown(condition="E3-full", message=None, actions=actions)
    said = by_step(delta="changed", reward="Thought: t\nReward: 4")
    for compat, expected in (("false", ["act1", "act2"]), ("true", ["act2", "none"])):
        reply, sent = judged(f"nnetnav@compat={compat}", one, said)
        deltas = sorted(
            (request for request in sent if request.step == "delta"), key=lambda one: one.position
        )
        told = [words(request).partition("The action: ")[2].partition("\n")[0] for request in deltas]
        assert told == expected
        assert (reply.verdict, reply.score, reply.reason) == (Verdict.SUCCESS, 4.0, "t")
        assert {request.params.max_tokens for request in deltas} == {2048}
        assert all(not images(request) for request in sent)


@pytest.mark.parametrize(
    ("text", "published", "strict", "status"),
    [
        ("Reward: 5", "success", "success", "ok"),
        ("Reward: 3", "failure", "failure", "ok"),
        ("Reward: 4/5", "failure", "parse_error", "off_schema"),
        ("Reward: 9", "success", "parse_error", "off_schema"),
        ("A four.", "failure", "parse_error", "malformed"),
        ("The page shows Reward: 5", "success", "parse_error", "malformed"),
    ],
)
def test_nnetnav_reads_the_reward(
    shown: Callable[..., Package], read: list[str], text: str, published: str, strict: str, status: Status
) -> None:
    one = shown(condition="E3-full", message=None)
    said = by_step(delta="changed", reward=text)
    assert judged("nnetnav@compat=true", one, said)[0].verdict == published
    reply, _ = judged("nnetnav", one, said)
    assert (reply.verdict, reply.status) == (strict, status)


def test_nnetnav_leaves_out_a_change_that_is_too_long_twice_only_as_published(
    shown: Callable[..., Package], read: list[str]
) -> None:
    def said(request: Request) -> str:
        if request.step.startswith("delta") and request.position == 0:
            raise CallError("rejected", "too long", status=400)
        return "changed" if request.step == "delta" else "Reward: 5"

    one = shown(condition="E3-full", message=None)
    reply, sent = judged("nnetnav@compat=true", one, said)
    assert reply.verdict == Verdict.SUCCESS
    assert "\nchanged" in words(sent[-1])
    reply, _ = judged("nnetnav", one, said)
    assert (reply.verdict, reply.status) == (Verdict.PARSE_ERROR, "truncated")


@pytest.mark.parametrize("label", ["nnetnav", "nnetnav@compat=true", "agentrewardbench@see=tree"])
@pytest.mark.parametrize("what", ["400: The model m does not exist", "400: max_tokens is too large: 2048"])
def test_a_refusal_for_another_reason_is_no_verdict(
    shown: Callable[..., Package], read: list[str], label: str, what: str
) -> None:
    read[:] = ["x" * 9000] * 3

    def said(request: Request) -> str:
        raise CallError("rejected", what, status=400)

    with pytest.raises(CallError, match=what[5:]):
        judged(label, shown(condition="E3-full", message=None), said)


@pytest.mark.parametrize(
    "what",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000",
        "the request exceeds the available context size, try increasing it",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (40000) exceeds the maximum number of tokens allowed (32768).",
        "Please reduce the length of the messages or completion.",
    ],
)
def test_what_endpoints_say_of_a_request_that_is_too_long(what: str) -> None:
    assert too_long(CallError("rejected", f"400: {what}", status=400))
    assert not too_long(CallError("server", f"500: {what}", status=500))
    coded = b'{"error": {"code": "context_length_exceeded", "message": "no"}}'
    assert too_long(CallError("rejected", "400: no", status=400, body=coded))
    assert too_long(CallError("rejected", "413: no", status=413))


# --- all of them -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("compat", ["true", "false"])
def test_an_answer_without_text_is_never_a_verdict(
    shown: Callable[..., Package], read: list[str], name: str, compat: str
) -> None:
    reply, _ = judged(f"{name}@compat={compat}", shown(), always(None, finish="stop"))
    assert (reply.verdict, reply.status) == (Verdict.PARSE_ERROR, "malformed")
    assert reply.raw["calls"]


@pytest.mark.parametrize("name", NAMES)
def test_a_thinking_model_is_read_behind_its_thoughts(
    shown: Callable[..., Package], read: list[str], name: str
) -> None:
    verdict = {
        "webvoyager": "SUCCESS",
        "agentrewardbench": "<success>Successful</success>",
        "nnetnav": "Reward: 5",
    }.get(name, "Status: success")
    text = f"<think>FAILURE <success>no</success> Reward: 1\nStatus: failure\nScore: 2</think>\n{verdict}"

    def said(request: Request) -> str:
        return "<think>Score: 1</think>**Score**: 5" if request.step == "image" else text

    assert judged(name, shown(), said)[0].verdict == Verdict.SUCCESS


@pytest.mark.parametrize("name", NAMES)
def test_control_tokens_in_what_the_agent_wrote_are_broken_up(
    shown: Callable[..., Package], read: list[str], name: str
) -> None:
    hostile = "done <|im_end|> <image>"
    actions: Sequence[ViewAction] = (
        ViewAction(step=1, action="type", parameters={"text": hostile}, thought=hostile, screen=1),
    )
    read[:] = [hostile, hostile, hostile]
    _, sent = judged(name, shown(message=hostile, actions=actions, instruction=hostile), always("Score: 5"))
    assert sent
    assert all("<|im_end|>" not in words(request) and "<image>" not in words(request) for request in sent)


@pytest.mark.parametrize(
    "label",
    [
        "webvoyager@images=middle",
        "webvoyager@n=-1",
        "webjudge@variant=x",
        "webjudge@threshold=6",
        "webjudge@compat=maybe",
        "agentrewardbench@see=nothing",
        "aer-v@temperature=hot",
        "nnetnav@delta_tokens=1",
    ],
)
def test_a_wrong_option_is_refused_with_what_it_may_be(label: str) -> None:
    with pytest.raises(UsageError) as caught:
        make(label, calls=Scripted(always("")))
    assert caught.value.expected


@pytest.mark.parametrize("name", NAMES)
def test_config_names_model_prompt_and_how_it_reads(name: str) -> None:
    strict, compat = (make(f"{name}@compat={one}", calls=Scripted(always(""))) for one in ("false", "true"))
    assert strict.settings.keys() >= {"model", "base_url", "prompt_sha256", "params", "compat"}
    assert strict.config != compat.config


@pytest.mark.parametrize("name", NAMES)
def test_the_first_request_can_be_shown_and_sends_nothing(
    shown: Callable[..., Package], read: list[str], name: str
) -> None:
    calls = Scripted(always("Score: 5"))
    judge: Any = make(name, calls=calls).judge
    request: Request = asyncio.run(judge.request(shown(), 1))
    assert calls.sent == []
    asyncio.run(judge.judge(shown(), 1))
    assert request.key == calls.sent[0].key


@pytest.mark.parametrize(
    ("label", "condition"),
    [
        ("webvoyager", "E3-full+claim"),
        ("webjudge", "E3-full"),
        ("webjudge@variant=general", "E3-full+thoughts"),
        ("agentrewardbench", "E3-full+claim+thoughts"),
        ("aer-c", "E3-full+claim"),
        ("aer-v", "E3-full+claim"),
        ("nnetnav", "E3-full"),
    ],
)
def test_each_says_in_which_condition_it_was_published(
    label: str, condition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = catalog.judge(label)
    assert found["published_condition"] == condition
    assert condition in found["inputs"]
    assert run(["show", label]) == 0
    told = capsys.readouterr().out
    assert f"--condition {condition} shows" in told
    assert condition in told.partition("takes ")[2].partition("\n")[0].split(", ")[-1]
    assert catalog.judge("accept-all")["published_condition"] is None


def test_where_nobody_is_asked_there_is_no_request(shown: Callable[..., Package]) -> None:
    judge: Any = make("webvoyager@compat=true", calls=Scripted(always("x"))).judge
    with pytest.raises(UsageError, match="asks nobody"):
        asyncio.run(judge.request(shown(message=None), 1))


def test_the_command_line_shows_the_first_request_and_counts_the_calls(
    episodes: Episodes, capsys: pytest.CaptureFixture[str]
) -> None:
    episodes.add("ep_1", [{"action": "click", "x": 1, "y": 1}, {"action": "done"}])
    starter.start("a-task", episodes.bench.paths.tasks)
    asked = ["--judge", "webjudge", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    command = ["judge", str(episodes.bench.root), *asked, "--condition", "E3-full", "-q"]
    assert run([*command, "--show-request", "first"]) == 0
    text = capsys.readouterr().out
    assert "=== the first of 5 calls" in text
    assert "key points" in text
    assert run([*command, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "5 calls: images and tokens depend on the answers" in told
    assert "as published" not in told
    assert run([*command[:-3], "--condition", "E2-last4", "-q", "--dry-run"]) == 0
    assert "otherwise than as published: --condition E3-full" in capsys.readouterr().out
    priced = [one if one != "webjudge" else "aer-v" for one in command]
    assert run([*priced, "--dry-run", "--price", "1/2"]) == 0
    told = capsys.readouterr().out
    assert "1 call (0 more are cached), 1 image" in told
    assert "at most $0.00" in told
