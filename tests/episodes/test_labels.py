"""Labels, weakened agents, the random walk, and final messages by chance."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pyrite.episodes import labels, messages
from pyrite.episodes.agents import AGENTS, Observation, Part, Replayer
from pyrite.episodes.claims import claim
from pyrite.episodes.random_walk import RandomWalk
from pyrite.errors import UsageError
from pyrite.records import Action
from pyrite.sandbox.inputs import problem

URL = "vlm-agent@base_url=http://127.0.0.1:1/v1,model=m"
PART = Part((Action(action="key", keys="ctrl+s"), Action(action="type", text="x")), "It is done.", "ep_1")


def made(text: str) -> Any:
    return labels.make(labels.parse(text), PART)


def test_a_list_keeps_the_commas_of_options() -> None:
    found = labels.parse_list(f"idle, {URL},steps=4~budget=2 ,random-walk@steps=3,scripted~stale,idle")
    assert [label.text for label in found] == [
        "idle",
        f"{URL},steps=4~budget=2",
        "random-walk@steps=3",
        "scripted~stale",
    ]
    assert [label.source for label in found] == ["scripted", "weakened", "scripted", "weakened"]
    assert labels.parse(URL).source == "natural"
    assert labels.parse("pyrite.episodes.agents:Replayer").source == "natural"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "scriptd",
        "idle@steps=3",
        "scripted~",
        "scripted~budget",
        "scripted~budget=0",
        "idle~budget=x",
        "idle~without",
        "idle~without=done",
        "idle~downscaled=1",
        "idle~stale=2",
        "idle~blind",
        "idle~~stale",
    ],
)
def test_what_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        labels.parse_list(text)
    assert caught.value.expected


def test_every_built_in_name_has_a_source() -> None:
    natural = {"vlm-agent", "command"}
    assert {n for n in AGENTS.builtin if labels.Label(n, n, {}, None).source == "natural"} == natural


def test_every_label_of_the_how_to_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRITE_AGENT_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("PYRITE_AGENT_MODEL", "m")
    text = (Path(__file__).resolve().parents[2] / "docs/how-to/agents.md").read_text(encoding="utf-8")
    found = [quoted or plain for quoted, plain in re.findall(r"--agent (?:'([^']+)'|(\S+))", text)]
    ours = [one for one in found if not one.startswith("mypackage")]
    assert len(ours) >= 5
    for one in ours:
        labels.parse_list(one.strip("`"))


# --- weakened


def test_a_budget_ends_it_by_step_limit(recorder: Any) -> None:
    episode = recorder(made("scripted~budget=1"), source="weakened", weakened="budget=1")
    assert episode.meta.ended_by == "step_limit"
    assert episode.meta.n_steps == 1
    assert episode.meta.weakened == "budget=1"
    assert episode.meta.final_message is None


def test_the_smaller_budget_counts() -> None:
    assert made(f"{URL},steps=4~budget=9").step_limit == 4
    assert made(f"{URL},steps=9~budget=4").step_limit == 4


def test_a_type_of_action_is_refused_and_recorded(recorder: Any) -> None:
    episode = recorder(made("scripted~without=key"), source="weakened", weakened="without=key")
    assert [line.action for line in episode.lines] == ["raw", "type", "done"]
    assert episode.lines[0].error == "actions of the type key are not available"
    assert [action.action for action in episode.session.performed] == ["type"]


def test_readiness_is_off(recorder: Any) -> None:
    assert recorder(made("scripted"), source="scripted").session.settled == [True, True]
    assert recorder(made("scripted~unready"), source="weakened").session.settled == [False, False]


class Looking:
    """Keeps what it sees."""

    name, version, waits = "looking", "1", True

    def __init__(self) -> None:
        self.seen: list[Image.Image] = []

    def act(self, instruction: str, observation: Observation) -> Action:
        self.seen.append(observation.screen)
        return Action(action="done" if observation.step == 3 else "type", text="x")

    def final_message(self) -> str | None:
        return None


def test_it_sees_the_screen_before_its_last_action(recorder: Any) -> None:
    agent = Looking()
    weakening = labels.parse("scripted~stale").weakening
    assert weakening is not None
    recorder(weakening.wrap(agent), source="weakened")
    assert [image.getpixel((0, 0))[0] for image in agent.seen] == [0, 0, 10, 20]  # type: ignore[index]


def test_it_sees_less_of_the_screen_at_the_same_size() -> None:
    fine = Image.effect_noise((200, 100), 90).convert("RGB")
    weakening = labels.parse("scripted~downscaled=8").weakening
    assert weakening is not None
    agent = Looking()
    weakening.wrap(agent).act("", Observation(fine, 0))
    assert agent.seen[0].size == fine.size
    spread = [max(b) - min(b) for b in (image.convert("L").tobytes() for image in (fine, agent.seen[0]))]
    assert spread[1] < spread[0] / 2


# --- random walk


def test_the_walk_is_the_same_for_the_same_episode_and_can_be_performed() -> None:
    screen = Observation(Image.new("RGB", (1024, 768)), 0)

    def walk(name: str) -> list[Action]:
        agent = RandomWalk(Part((), "", name, {"steps": "40"}))
        return [agent.act("", screen) for _ in range(41)]

    assert walk("ep_1") == walk("ep_1") != walk("ep_2")
    assert walk("ep_1")[-1].action == "done"
    assert [problem(action, 1024, 768) for action in walk("ep_1")] == [None] * 41


@pytest.mark.parametrize("steps", ["0", "91", "x", "-3", "9" * 30])
def test_a_walk_without_end_is_refused(steps: str) -> None:
    with pytest.raises(UsageError):
        made(f"random-walk@steps={steps}")


# --- messages

SAYS = {"asserts": "asserted", "admits": "denied", "hedged": "none", "silent": "none"}


@given(st.integers(), st.text(max_size=20))
def test_a_message_is_what_its_kind_says(seed: int, name: str) -> None:
    drawn = messages.draw("B2 is set to 4 and the file is saved.", seed, name)
    assert claim(drawn.text) == SAYS[drawn.kind]
    assert (drawn.text is None) == (drawn.kind == "silent")
    assert drawn == messages.draw("B2 is set to 4 and the file is saved.", seed, name)


def test_every_template_is_read_as_its_kind() -> None:
    for kind in messages.KINDS:
        texts = {messages.of_kind(kind, "B2 is set to 4.", n).text for n in range(200)}
        assert {claim(text) for text in texts} == {SAYS[kind]}
        assert len(texts) >= (1 if kind == "silent" else 3)


def test_the_kinds_are_drawn_about_equally() -> None:
    counts = Counter(messages.draw("", 0, f"ep_{n}").kind for n in range(2000))
    assert set(counts) == set(messages.KINDS)
    assert min(counts.values()) > 400


def test_braces_in_a_claim_are_left_as_they_are() -> None:
    texts = {messages.of_kind("asserts", "{x} is set", n).text for n in range(50)}
    assert "{x} is set" in texts


def test_the_kind_stands_in_meta_and_is_none_where_nothing_could_be_said(recorder: Any) -> None:
    walk = RandomWalk(Part((), "", "ep_1", {"steps": "2"}))
    assert recorder(walk, source="scripted").meta.message_kind == walk.message_kind
    assert recorder(made("random-walk~budget=2"), source="weakened").meta.message_kind is None
    plain = Replayer("scripted", [], "It is done.")
    assert recorder(plain, source="perturbed", message_kind="asserts").meta.message_kind == "asserts"


@pytest.mark.parametrize("name", ["scripted", "hasty"])
def test_what_a_scripted_agent_says_is_drawn_as_what_a_perturbed_one_says(name: str) -> None:
    claim_of_task, script = "B2 is set to 4.", (Action(action="wait", seconds=1.0),)
    said = [labels.make(labels.parse(name), Part(script, claim_of_task, f"ep_{n}")) for n in range(400)]
    counts = Counter(getattr(agent, "message_kind", None) for agent in said)
    assert set(counts) == set(messages.KINDS)
    assert min(counts.values()) > 60
    for n, agent in enumerate(said):
        assert agent.final_message() == messages.draw(claim_of_task, f"ep_{n}").text


@pytest.mark.parametrize(("name", "kind"), [("idle", "asserts"), ("quitter", "admits")])
def test_idle_and_quitter_use_the_words_of_the_others(name: str, kind: messages.MessageKind) -> None:
    texts = {
        labels.make(labels.parse(name), Part((), "B2 is 4.", f"ep_{n}")).final_message() for n in range(99)
    }
    assert texts == {messages.of_kind(kind, "B2 is 4.", n).text for n in range(99)}
