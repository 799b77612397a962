"""What each baseline sends about the first three demo episodes, to the letter: golden/<judge>.txt.

Which of many screens are chosen stands in golden/sixty-screens.txt.

The requests are those that reach a server on loopback. Images stand there by the digest of their pixels,
system texts by the name of their file, and what is read off a screen by the digest of that screen. After a
change that is meant (a prompt, another demo), write them anew and read the difference:

    PYRITE_GOLDEN=write .venv/bin/python -m pytest tests/judges/baselines/test_golden.py
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.judges.baselines.server import NAMES, Scripted
from tests.judges.packages import package

from pyrite import flow
from pyrite.evidence.packing import index, load
from pyrite.judges import eyes
from pyrite.judges.base import Judge, Package, Reply
from pyrite.judges.baselines import prompts
from pyrite.judges.baselines.base import Baseline
from pyrite.judges.client.calls import Calls, Options
from pyrite.judges.client.limits import Limits
from pyrite.judges.labels import make
from pyrite.records import Verdict, ViewAction
from pyrite.store.bench import Bench
from pyrite.store.images import pixels_sha256

SIXTY = "sixty-screens"
GOLDEN = Path(__file__).resolve().parent / "golden"
JUDGES = {
    "webvoyager": "E2+claim",
    "webvoyager@images=last30": "E3-full+claim",
    "webvoyager@images=first50": "E3-full+claim",
    "webjudge": "E3-full",
    "webjudge@variant=general": "E3-full+thoughts",
    "agentrewardbench": "E3-full+claim+thoughts",
    "agentrewardbench@order=last,see=both": "E3-full+claim+thoughts",
    "aer-c": "E3-full+claim",
    "aer-v": "E3-full+claim",
    "nnetnav": "E3-full",
}
"""Each is asked in a condition that shows it what the original was shown."""
MANY = (
    "webvoyager",
    "webvoyager@n=4",
    "webvoyager@images=last30",
    "webvoyager@images=last30,n=2",
    "webvoyager@images=first50",
    "webvoyager@images=first50,n=2",
    "webjudge@max_images=20",
    "agentrewardbench@see=both",
    "aer-v",
)
"""Judges whose choice of images shows on an episode of 60 screens alone."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The first three episodes of the demo by name, packed."""
    bench = flow.demo(tmp_path_factory.mktemp("demo") / "bench")
    for name in sorted(bench.episode_ids())[3:]:
        shutil.rmtree(bench.paths.episode(name).root)
    flow.pack(bench.root, conditions=",".join(dict.fromkeys(JUDGES.values())))
    return bench


@pytest.fixture
def server() -> Iterator[Scripted]:
    server = Scripted()
    with server:
        yield server


def told(request: dict[str, Any]) -> str:
    """A request for people; every word of the user turn stands in it."""
    system, user = request["messages"]
    sampling = {k: v for k, v in request.items() if k != "messages"}
    name = NAMES[system["content"]]
    lines = [f"--- {json.dumps(sampling, sort_keys=True)}", f"--- system: {name}", "--- user"]
    for part in user["content"] if isinstance(user["content"], list) else [{"text": user["content"]}]:
        if "image_url" in part:
            data = base64.b64decode(part["image_url"]["url"].partition("base64,")[2])
            with Image.open(io.BytesIO(data)) as image:
                lines.append(f"<image {pixels_sha256(image.convert('RGB'))[:12]}>")
        else:
            lines.append(part["text"])
    return "\n".join(lines)


async def _read(package: Package, *, cache: bool = True) -> list[str]:
    return [f"(text of screen {digest[:12]})" for digest in package.evidence.images]


def judged(bench: Bench, server: Scripted, label: str, condition: str) -> tuple[str, list[Reply]]:
    """The requests about three episodes one after the other, and the replies."""
    calls = Calls(Options("model-x", server.url, limits=Limits(in_flight=1), cache=False))
    judge = make(label, calls=calls).judge
    assert isinstance(judge, Baseline)
    lines, replies = [f"{label}, {condition}"], []

    async def all_three() -> None:
        for name in sorted(bench.episode_ids()):
            server.sent.clear()
            server.times.clear()
            package = Package(load(bench, index(bench)[name, condition]), bench.paths.image)
            replies.append(await judge.judge(package, 1))
            fewest, most = judge.calls_for(package.evidence)
            assert fewest <= len(server.sent) <= most
            lines.append(f"\n=== {name}\n" + "\n".join(told(one) for one in server.sent))
        await calls.aclose()

    asyncio.run(all_three())
    return "\n".join(lines) + "\n", replies


@pytest.mark.parametrize("label", JUDGES)
def test_requests_are_as_they_were(
    label: str, demo: Bench, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eyes, "texts", _read)
    text, replies = judged(demo, server, label, JUDGES[label])
    assert [reply.verdict for reply in replies] == [Verdict.SUCCESS] * 3
    path = GOLDEN / f"{label.replace('@', '_').replace(',', '_').replace('=', '-')}.txt"
    if os.environ.get("PYRITE_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), "write it: see the head of this file"
    assert text == path.read_text(encoding="utf-8")


def _many(folder: Path) -> Package:
    """An episode of 60 screens, with an action, a thought and an answer."""
    actions = tuple(
        ViewAction(step=n, action="click", parameters={"x": n}, thought=f"thought {n}", screen=n)
        for n in range(1, 60)
    )
    return package(
        folder, screens=60, condition="E3-full+claim+thoughts", actions=actions, final_message="All is done."
    )


def test_which_of_60_screens_are_sent(
    tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last request of each; images stand there by their place in the episode."""
    monkeypatch.setattr(eyes, "texts", _read)
    shown = _many(tmp_path)
    places = {digest[:12]: f"<screen {n} of 60>" for n, digest in enumerate(shown.evidence.images, 1)}
    lines = []
    for label in MANY:
        server.sent.clear()
        server.times.clear()
        calls = Calls(Options("model-x", server.url, limits=Limits(in_flight=1), cache=False))
        judge = make(label, calls=calls).judge

        async def ask(judge: Judge = judge, calls: Calls = calls) -> Reply:
            reply = await judge.judge(shown, 1)
            await calls.aclose()
            return reply

        assert asyncio.run(ask()).verdict == Verdict.SUCCESS
        said = told(server.sent[-1])
        for digest, place in places.items():
            said = said.replace(f"<image {digest}>", place).replace(digest, place)
        lines.append(f"=== {label}, the last of {len(server.sent)} requests\n{said}\n")
    text = "\n".join(lines)
    path = GOLDEN / f"{SIXTY}.txt"
    if os.environ.get("PYRITE_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_each_is_asked_as_published() -> None:
    for label, condition in JUDGES.items():
        judge = make(label, calls=Calls(Options("model-x", "http://127.0.0.1:9/v1"))).judge
        assert isinstance(judge, Baseline)
        assert judge.supports(condition)
        assert judge.supports(judge.published_condition)
        assert judge.as_published_in(judge.published_condition)
        assert judge.as_published_in(condition), label


def test_golden_files_are_small_and_none_is_left_over() -> None:
    names = {label.replace("@", "_").replace(",", "_").replace("=", "-") for label in JUDGES}
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*names, SIXTY}
    assert sum(path.stat().st_size for path in GOLDEN.glob("*.txt")) < 200_000


def test_the_prompt_digest_covers_every_word_of_a_file() -> None:
    one = prompts.load("aer-v")
    other = prompts.Prompt(one.name, one.text.replace("person", "customer"))
    assert prompts.digest([one]) != prompts.digest([other])
