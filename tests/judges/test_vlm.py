"""The judge `vlm`: what it sends, under which prompt, and what it makes of an answer."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyrite.cli import run
from pyrite.episodes.claims import opposite
from pyrite.errors import InputError, PyriteError, UsageError
from pyrite.evidence.conditions import parse_list
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import index, load, pack
from pyrite.judges import ocr, prompts
from pyrite.judges.base import Package, Reply
from pyrite.judges.client.base import Alternative, Answer, Image, JudgeClient, Request, Text, Token, Usage
from pyrite.judges.client.calls import Calls, Endpoint, Options
from pyrite.judges.labels import Labelled, make
from pyrite.judges.runner import ask
from pyrite.records import VerdictLine
from pyrite.store.jsonl import read_lines

if TYPE_CHECKING:
    from tests.conftest import Episodes

GOOD = '{"reason": "the title has no star", "verdict": "success", "confidence": 0.8}'
DONE = [{"action": "type", "text": "4500", "thought": "now D14"}, {"action": "done"}]
PROMPTS = ("lenient", "no-claim-line", "strict", "verdict-first")


class Scripted(Calls):
    """Calls that are answered from a list; the last answer is given again and again."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(Options(model="m-1", base_url="http://127.0.0.1:9/v1"))
        self.answers = list(answers) or [Answer(text=GOOD)]
        self.sent: list[Request] = []

    def client(self, endpoint: Endpoint) -> JudgeClient:
        return self

    async def ask(self, request: Request) -> Answer:
        self.sent.append(request)
        return self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)


@pytest.fixture
def packed(episodes: Episodes, instructions: Callable[[str], str | None]) -> Episodes:
    episodes.add("ep_1", DONE, colours=[1, 2, 1], final_message="D14 is set and the file is saved.")
    names = "E1-final,E2+claim,E2+swap,E3-full,E3-full+thoughts"
    pack(episodes.bench, parse_list(names), instructions, lambda meta: Secrets(), opposite=opposite)
    return episodes


def package(packed: Episodes, condition: str) -> Package:
    return Package(load(packed.bench, index(packed.bench)["ep_1", condition]), packed.bench.paths.image)


def judged(packed: Episodes, condition: str, calls: Scripted, label: str = "vlm") -> Reply:
    return asyncio.run(make(label, calls=calls).judge.judge(package(packed, condition), 1))


def said(request: Request) -> str:
    return "\n\n".join(part.text for part in request.parts if isinstance(part, Text))


def test_the_label_says_model_prompt_and_eyes(packed: Episodes) -> None:
    labelled = make("vlm@prompt=lenient,model=m-2,eyes=ocr", calls=Scripted())
    assert labelled.label == "vlm@eyes=ocr,model=m-2,prompt=lenient"
    assert labelled.settings["model"] == "m-2"
    assert labelled.settings["eyes"] == "ocr"
    assert make("vlm", calls=Scripted()).label == "vlm@model=m-1"


def test_what_is_sent(packed: Episodes) -> None:
    calls = Scripted()
    judged(packed, "E2+claim", calls)
    request = calls.sent[0]
    assert (request.model, request.run, request.system) == ("m-1", 1, prompts.load("strict"))
    assert list((request.schema or {})["properties"]) == ["reason", "verdict", "confidence"]
    images = [part for part in request.parts if isinstance(part, Image)]
    assert [image.digest for image in images] == list(package(packed, "E2+claim").evidence.images[:2])
    assert images[0].load()[:4] == b"\x89PNG"
    assert "Screen 3 of 3, after step 2, the last one: the same frame as screen 1." in said(request)
    assert "D14 is set and the file is saved." in said(request)
    assert "now D14" not in said(request)


def test_each_condition_shows_its_own_and_nothing_else(packed: Episodes) -> None:
    calls = Scripted()
    shown = {}
    for condition in ("E1-final", "E2+claim", "E2+swap", "E3-full", "E3-full+thoughts"):
        judged(packed, condition, calls)
        shown[condition] = said(calls.sent[-1])
    assert {name for name, text in shown.items() if "is saved" in text} == {"E2+claim"}
    assert {name for name, text in shown.items() if "could not complete" in text} == {"E2+swap"}
    assert {name for name, text in shown.items() if "now D14" in text} == {"E3-full+thoughts"}
    assert {name for name, text in shown.items() if '4500"}' in text} == set(shown) - {"E1-final"}
    for text in shown.values():
        for secret in ("ep_1", "scripted", "4321", "swap", "E2", "E3"):
            assert secret not in text


def test_runs_are_separate_calls_with_keys_of_their_own(packed: Episodes) -> None:
    calls = Scripted()
    judge = make("vlm", calls=calls).judge
    for repeat in (1, 2):
        asyncio.run(judge.judge(package(packed, "E1-final"), repeat))
    assert len({request.key for request in calls.sent}) == 2


def test_two_conditions_that_show_the_same_are_two_calls(
    episodes: Episodes, instructions: Callable[[str], str | None]
) -> None:
    """An episode without a message is the placebo of the claim: one cached answer would hide the noise."""
    episodes.add("ep_1", DONE, colours=[1, 2, 1])
    pack(episodes.bench, parse_list("E2-last4,E2+claim"), instructions, lambda meta: Secrets())
    calls = Scripted()
    for condition in ("E2-last4", "E2+claim"):
        judged(episodes, condition, calls)
    first, second = calls.sent
    assert first.parts == second.parts
    assert first.key != second.key


def test_the_prompts_ship_and_each_has_its_own_digest() -> None:
    assert prompts.names() == list(PROMPTS)
    made = [make(f"vlm@prompt={name}", calls=Scripted()).settings for name in PROMPTS]
    assert len({settings["prompt_sha256"] for settings in made}) == len(PROMPTS)
    for name, settings in zip(PROMPTS, made, strict=True):
        file = Path(prompts.__file__).with_name(f"{name}.md").read_bytes()
        assert settings["prompt_file_sha256"] == hashlib.sha256(file).hexdigest()
    pixels, text = (make(f"vlm@eyes={eyes}", calls=Scripted()).settings for eyes in ("pixels", "ocr"))
    assert pixels["prompt_sha256"] != text["prompt_sha256"]


def test_the_variants_differ_in_one_thing_each() -> None:
    strict = prompts.load("strict")
    paragraphs = strict.split("\n\n")
    claim = [one for one in paragraphs if "is a claim" in one]
    assert len(claim) == 1
    assert prompts.load("no-claim-line") == strict.replace(f"{claim[0]}\n\n", "")
    first = prompts.load("verdict-first")
    assert first.split("\n\n")[:-1] == paragraphs[:-1]
    assert first.index('"verdict":') < first.index('"reason":')
    assert strict.index('"reason":') < strict.index('"verdict":')
    lenient = prompts.load("lenient").split("\n\n")
    assert lenient[0] == paragraphs[0]
    assert lenient[-3:] == paragraphs[-3:]


def test_verdict_first_and_no_claim_line_reach_the_request(packed: Episodes) -> None:
    calls = Scripted()
    judged(packed, "E2+claim", calls, "vlm@prompt=verdict-first")
    judged(packed, "E2+claim", calls, "vlm@prompt=no-claim-line")
    judged(packed, "E2+claim", calls, "vlm@schema=off,logprobs=0,temperature=none,seed=7,max_tokens=64")
    first, unlabelled, free = calls.sent
    assert list((first.schema or {})["properties"]) == ["verdict", "reason", "confidence"]
    assert "a claim, not evidence" in said(first)
    assert "a claim" not in said(unlabelled) + unlabelled.system
    assert free.schema is None
    assert free.params.as_json() == {"temperature": None, "max_tokens": 64, "seed": 7, "top_logprobs": 0}


def test_a_prompt_of_ones_own(packed: Episodes, tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("Say success.", encoding="utf-8")
    calls = Scripted()
    judged(packed, "E1-final", calls, f"vlm@prompt={path}")
    assert calls.sent[0].system == "Say success."
    before = make(f"vlm@prompt={path}", calls=calls).config
    path.write_text("Say failure.", encoding="utf-8")
    assert make(f"vlm@prompt={path}", calls=calls).config != before
    for bad in (b"", b"\xff\xfe", b"x" * (prompts.MAX_BYTES + 1)):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"empty|UTF-8|too long"):
            make(f"vlm@prompt={path}", calls=calls)
    with pytest.raises(InputError, match="No such file"):
        make(f"vlm@prompt={tmp_path / 'none.md'}", calls=calls)
    other = tmp_path / "passwd"
    other.write_text("root:x:0:0", encoding="utf-8")
    with pytest.raises(UsageError, match=r"no \.md file"):
        make(f"vlm@prompt={other}", calls=calls)


@pytest.mark.parametrize(
    "option",
    [
        *(
            "prompt=kind",
            "eyes=closed",
            "schema=maybe",
            "temperature=warm",
            "temperature=nan",
            "temperature=3",
        ),
        *(
            "max_tokens=0",
            "max_tokens=1e9",
            "seed=-1",
            "seed=1.5",
            "logprobs=21",
            "tempreature=0",
            "cache=no",
        ),
    ],
)
def test_an_option_that_is_none_is_refused_with_what_is_accepted(option: str) -> None:
    with pytest.raises(UsageError) as caught:
        make(f"vlm@{option}", calls=Scripted())
    assert caught.value.expected


def test_an_answer_becomes_a_reply_with_usage_score_and_raw(packed: Episodes) -> None:
    top = (Alternative(token="success", logprob=-0.25), Alternative(token="failure", logprob=-1.5))
    tokens = (
        Token(token='{"reason": "the title has no star", "verdict": "', logprob=-0.5),
        Token(token="success", logprob=-0.25, top=top),
        Token(token='", "confidence": 0.8}', logprob=-0.5),
    )
    answer = Answer(
        text=GOOD,
        finish="stop",
        model="m-1-2026",
        logprobs=tokens,
        usage=Usage(input_tokens=900, output_tokens=20),
        cost=0.001,
    )
    reply = judged(packed, "E1-final", Scripted(answer))
    assert (reply.verdict, reply.status, reply.confidence) == ("success", "ok", 0.8)
    assert reply.reason == "the title has no star"
    assert reply.score == pytest.approx(1.25)
    assert reply.usage == answer.as_usage()
    assert (reply.usage["input_tokens"], reply.usage["cost_usd"]) == (900, 0.001)
    assert reply.model == "m-1-2026"
    assert reply.prompt_sha256 == make("vlm", calls=Scripted()).settings["prompt_sha256"]
    assert reply.raw["text"] == GOOD
    assert reply.raw["deciding_token"]["token"] == "success"
    json.dumps(reply.raw, allow_nan=False)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Answer(text=None), "malformed"),
        (Answer(text=None, finish="tool_calls"), "malformed"),
        (Answer(text=None, refusal="No."), "refused"),
        (Answer(text="", refusal=""), "refused"),
        (Answer(text=GOOD, finish="length"), "truncated"),
        (Answer(text=GOOD, defect="it is not UTF-8"), "malformed"),
        (Answer(text=GOOD.replace("0.8", '"0.8"')), "off_schema"),
        (Answer(text=GOOD.replace('"success"', "true")), "off_schema"),
    ],
)
def test_an_answer_that_is_none_has_no_score_and_is_not_asked_again(
    packed: Episodes, answer: Answer, status: str
) -> None:
    calls = Scripted(answer)
    reply = judged(packed, "E1-final", calls)
    assert (reply.verdict, reply.status, reply.score, reply.confidence) == ("parse_error", status, None, None)
    assert len(calls.sent) == 1
    assert reply.raw["text"] == answer.text


def test_a_verdict_line_names_model_prompt_and_the_file_of_the_answer(packed: Episodes) -> None:
    calls = Scripted(Answer(text=GOOD, model="m-1-2026"))
    labelled: Labelled = make("vlm", calls=calls)
    entries = [entry for entry in index(packed.bench).values() if entry.condition == "E2+claim"]
    asyncio.run(ask(packed.bench, [labelled], entries, runs=2))
    path = packed.bench.paths.verdict_file("vlm@model=m-1", "E2+claim")
    lines = list(read_lines(path, VerdictLine))
    assert [line.run for line in lines] == [1, 2]
    for line in lines:
        assert (line.model, line.prompt_sha256) == ("m-1-2026", labelled.settings["prompt_sha256"])
        assert line.raw is not None
        assert json.loads((packed.bench.root / line.raw).read_text(encoding="utf-8"))["text"] == GOOD


def test_eyes_of_ocr_send_text_and_no_pixels(packed: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    box = ocr.Box(0, 0, 30, 10, "D14 4500", 0.9)
    seen: list[tuple[int, int]] = []

    def read(image: Any, *, cache: bool = True) -> ocr.Reading:
        seen.append(image.size)
        return ocr.Reading((box,), "test", "0" * 64)

    monkeypatch.setattr(ocr, "read_screen", read)
    calls = Scripted()
    judged(packed, "E2+claim", calls, "vlm@eyes=ocr")
    assert [type(part) for part in calls.sent[0].parts] == [Text]
    assert said(calls.sent[0]).count("D14 4500\n[end of text read off the screen") == 2
    assert len(seen) == 2, "a frame that is repeated is read once"


def test_eyes_of_ocr_without_an_engine_give_no_verdict(packed: Episodes, no_engine: None) -> None:
    with pytest.raises(PyriteError, match="no OCR engine"):
        judged(packed, "E1-final", Scripted(), "vlm@eyes=ocr")


def test_the_label_of_others_is_read() -> None:
    assert make("vlm:m-9", calls=Scripted()).label == "vlm@model=m-9"
    assert make("vlm:m-9@prompt=lenient", calls=Scripted()).label == "vlm@model=m-9,prompt=lenient"


def test_a_judge_that_needs_more_is_listed_and_shown_with_its_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["list", "judges"]) == 0
    assert "all that the condition shows" in capsys.readouterr().out
    assert run(["show", "vlm"]) == 0
    text = capsys.readouterr().out
    assert "Asks a model behind a chat endpoint" in text
    assert "no model is named" in text
    assert "prompt=strict" in text
    assert "pyrite judge BENCH --judge vlm@model=…" in text
