"""The economical mode: the same answers with fewer calls and less to send, where frames repeat."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image as Pictures
from tests.judges.universal.brain import Brain, Script, item, said
from tests.judges.universal.records import judged, package

from pyrite.episodes.shipped import DEMO
from pyrite.judges.base import Package
from pyrite.judges.client.base import Image
from pyrite.judges.universal import prompts
from pyrite.records import ViewAction
from pyrite.store.images import pixels_sha256, save_png

RUBRIC = [
    *(item(f"Part {i}", "Find a blue kettle", 1 + i) for i in range(4)),
    item("Into the cart", "put it into the cart", 2, "there is a cart"),
    item("Tell the price", "tell me its price", 1, "there is no cart"),
]


def shape(distinct: int, frames: int, seed: int = 7) -> list[int]:
    """Numbers of frames of which so many are distinct, a repeat beside what it repeats as a rule."""
    return sorted([*range(distinct), *random.Random(seed).choices(range(distinct), k=frames - distinct)])


def large(folder: Path, numbers: list[int]) -> Package:
    """The same with pictures that weigh something, and actions that say something."""
    shown = package(folder, numbers)
    noise = random.Random(1).randbytes(3 * 160 * 120)
    keys, where = [], {}
    for number in numbers:
        picture = Pictures.new("RGB", (1024, 768), (5 * number, 0, 0))
        patch = Pictures.frombytes("RGB", (160, 120), noise)
        picture.paste(patch.point(lambda v: v // 8), (4 * number, 4 * number))
        picture.paste((5 * number, 0, 0), (0, 384, 1024, 768))
        key = pixels_sha256(picture)
        if key not in where:
            where[key] = folder / f"{key}.png"
            save_png(picture, where[key])
        keys.append(key)
    actions = [
        ViewAction(step=i, action="type", parameters={"text": f"{i} " + "word " * 180}, screen=i)
        for i in range(1, len(numbers))
    ]
    first: dict[str, int] = {}
    same = [first.setdefault(key, i) for i, key in enumerate(keys)]
    evidence = shown.evidence.model_copy(
        update={
            "images": tuple(keys),
            "same_as": tuple(None if i == one else one for i, one in enumerate(same)),
            "actions": tuple(actions),
        }
    )
    return Package(evidence, lambda digest: where[digest])


def by_colour(view: Any) -> int:
    """The frame's number from the lower half of a large picture."""
    import io

    with Pictures.open(io.BytesIO(view.pictures[0])) as picture:
        half = picture.convert("RGB").crop((0, picture.height * 3 // 4, picture.width, picture.height))
        return round(half.resize((1, 1)).getpixel((0, 0))[0] / 5)  # type: ignore[index]


def action(view: Any, screen: int, step: int) -> str:
    """What a step did, from the actions that are shown around a screen; a screen without them has none."""
    text, around = view.text, f"Around screen {screen}:"
    if "Around screen " in text:
        text = text.partition(around)[2].partition("Around screen ")[0]
    found = re.search(rf"^step {step}: ([^\n]{{0,40}})", text, re.MULTILINE)
    return found[1] if found else "nothing"


def brain() -> Brain:
    """Notes depend on the pixels and on what was done around each place where they stand."""
    made = Brain(RUBRIC)

    def relevance(view: Any) -> Any:
        frame = by_colour(view)
        return {f"criterion_{i}": (frame * 7 + i * 3) % 11 for i in view.criteria}

    def evidence(view: Any) -> Any:
        frame = by_colour(view)

        def note(screen: int, i: int) -> dict[str, Any]:
            before = action(view, screen, screen - 1)
            return {
                "screenshot_evidence": f"frame {frame}",
                "criterion_analysis": f"it says something about {i} at screen {screen}",
                "discrepancies": f"the step before says {before}, the next {action(view, screen, screen)}",
                "environment_issues_confirmed": False,
                **({"condition_verification": True} if i >= 4 else {}),
            }

        return view.noted(note)

    made.rules |= {"relevance": relevance, "evidence": evidence}
    return made


def compared(folder: Path, numbers: list[int]) -> dict[str, float]:
    """Shares of the strict mode that the economical one needs, at a result that is the same."""
    shown = large(folder, numbers)
    strict, thrifty = Script(brain()), Script(brain())
    one = judged(shown, strict, "frames=pre-action")
    other = judged(shown, thrifty, "frames=pre-action,mode=economical")
    assert one.process is not None
    assert other.process is not None
    counted = {"calls", "images", "prompt_characters", "screens"}
    assert {k: v for k, v in one.process.items() if k not in counted} == {
        k: v for k, v in other.process.items() if k not in counted
    }
    assert one.raw["intermediates"] == other.raw["intermediates"]
    assert one.verdict == other.verdict == "success"
    return {
        "calls": len(thrifty.sent) / len(strict.sent),
        "bytes": thrifty.bytes / strict.bytes,
        "characters": other.process["prompt_characters"] / one.process["prompt_characters"],
    }


def test_half_of_the_frames_repeated(tmp_path: Path, record_property: Callable[[str, str], None]) -> None:
    found = compared(tmp_path, [*shape(23, 47), 23])
    told = ", ".join(f"{value:.0%} of the {name}" for name, value in found.items())
    record_property("figure", f"economical, 47 frames of which 24 repeat another: {told}")
    assert found["calls"] <= 0.60
    assert found["bytes"] <= 0.50
    assert found["characters"] <= 0.40


def recorded() -> tuple[int, int]:
    """Screens of the shipped episodes, and how many of them show what an earlier one of the episode shows."""
    screens = repeated = 0
    for path in sorted((DEMO / "episodes").glob("*/actions.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        named = ["screens/000.webp", *(line["screen"] for line in lines if line.get("screen"))]
        screens, repeated = screens + len(named), repeated + len(named) - len(set(named))
    return screens, repeated


def test_the_share_of_our_own_desktop_recordings(
    tmp_path: Path, record_property: Callable[[str, str], None]
) -> None:
    """A screen of a shipped episode has a file of its own, or that of the earlier one that looks like it."""
    screens, repeated = recorded()
    assert screens > 300
    again = round(47 * repeated / screens)
    assert again >= 5
    found = compared(tmp_path, [*shape(47 - again, 47), 47 - again])
    told = ", ".join(f"{value:.0%} of the {name}" for name, value in found.items())
    share = f"{again} ({repeated / screens:.0%}, as {repeated} of {screens} recorded screens)"
    record_property("figure", f"economical, 47 frames of which {share} repeat another: {told}")
    assert found["calls"] < 0.9
    assert found["bytes"] <= 0.50
    assert found["characters"] <= 0.40


def test_all_frames_distinct(tmp_path: Path, record_property: Callable[[str, str], None]) -> None:
    found = compared(tmp_path, list(range(48)))
    told = ", ".join(f"{value:.0%} of the {name}" for name, value in found.items())
    record_property("figure", f"economical, 47 distinct frames: {told}")
    assert found["calls"] == 1.0
    assert found["bytes"] < 1.0
    assert found["characters"] <= 0.40


def test_a_picture_that_stands_again_is_held_against_what_was_done_by_then(tmp_path: Path) -> None:
    """The end looks like the start: its note is about the last steps, not about the first."""
    numbers = [1, *range(2, 11), 1]
    shown = large(tmp_path, numbers)
    calls = Script(brain())
    reply = judged(shown, calls, "mode=economical,k=11")
    texts = [said(one) for one in calls.sent if one.system == prompts.load("evidence")]
    (both,) = [text for text in texts if "several places" in text]
    assert "Screen 1, and screen 11 of 11:" in both
    assert "- screen 1, at the start: criteria" in both
    assert "- screen 11, after step 10: criteria" in both
    assert len(texts) == 10
    seen = reply.raw["intermediates"]["step4_evidence_by_criterion"]["0"]
    notes = {one["screenshot_idx"]: one["discrepancies"] for one in seen}
    assert notes[0].startswith('the step before says nothing, the next type {"text": "1 word')
    assert notes[10].startswith('the step before says type {"text": "10 word')
    assert notes[10].endswith("the next nothing")


def test_a_place_that_an_answer_leaves_out_is_asked_for_alone(tmp_path: Path) -> None:
    """Each with its own actions; notes of another place never stand in."""
    made = brain()
    whole = made.rules["evidence"]

    def careless(view: Any) -> Any:
        found = whole(view)
        found.pop("screen_11", None)
        return found

    made.rules["evidence"] = careless
    calls = Script(made)
    reply = judged(large(tmp_path, [1, *range(2, 11), 1]), calls, "mode=economical,k=11,attempts=2")
    assert reply.process is not None
    assert reply.process["faults"] == []
    texts = [said(one) for one in calls.sent if one.system == prompts.load("evidence")]
    assert sum("several places" in text for text in texts) == 2
    listed = re.search(r"^- screen 11, after step 10: criteria ([\d, ]+)$", "\n".join(texts), re.MULTILINE)
    assert listed
    assert sum("Screen 11 of 11:" in text for text in texts) == len(listed[1].split(","))


def test_no_call_asks_for_more_notes_than_an_answer_holds(tmp_path: Path) -> None:
    calls = Script(brain())
    one = judged(large(tmp_path, [1] * 20), calls, "mode=economical,k=20")
    asked = [said(one) for one in calls.sent if one.system == prompts.load("evidence")]
    assert len(asked) == 10, "six criteria at two places a call"
    each = Script(brain())
    other = judged(large(tmp_path, [1] * 20), each, "k=20")
    assert one.raw["intermediates"] == other.raw["intermediates"]


def test_actions_far_from_a_screen_are_counted_and_not_repeated(tmp_path: Path) -> None:
    calls = Script()
    judged(package(tmp_path, list(range(20))), calls, "mode=economical")
    texts = [said(one) for one in calls.sent if one.system == prompts.load("evidence")]
    assert texts
    for text in texts:
        assert text.count("\nstep ") <= 4
        assert "are not repeated here" in text
    whole = [said(one) for one in calls.sent if one.system == prompts.load("outcome")]
    assert whole[0].count("step ") >= 19


def test_prompts_of_a_step_begin_alike(tmp_path: Path) -> None:
    """What differs stands last, so that an endpoint's own cache can hold the rest."""
    calls = Script()
    judged(package(tmp_path, [1, 2, 3, 4]), calls)
    for step in ("relevance", "evidence"):
        firsts = {one.parts[0] for one in calls.sent if one.system == prompts.load(step)}
        assert len(firsts) == 1, step


def test_the_small_model_takes_the_lesser_steps(tmp_path: Path) -> None:
    for options, wanted in (
        ("small=m-2", {"actions_only", "task_with_record", "task_alone"}),
        ("small=m-2,mode=economical", {"actions_only", "task_with_record", "task_alone", "relevance"}),
    ):
        calls = Script()
        judged(package(tmp_path, [1, 2, 3]), calls, options)
        small = {
            step for step in prompts.STEPS for one in calls.sent if _is(one, step) and one.model == "m-2"
        }
        assert small == wanted


def _is(request: Any, step: str) -> bool:
    return bool(request.system == prompts.load(step))


def test_pictures_for_relevance_are_smaller(tmp_path: Path) -> None:
    import io

    calls = Script(brain())
    judged(large(tmp_path, [1, 2, 3]), calls, "relevance_side=256")
    sizes: dict[str, set[int]] = {"relevance": set(), "evidence": set()}
    for one in calls.sent:
        for part in one.parts:
            if isinstance(part, Image):
                step = "relevance" if _is(one, "relevance") else "evidence"
                with Pictures.open(io.BytesIO(part.load())) as picture:
                    sizes[step].add(max(picture.size))
    assert sizes == {"relevance": {256}, "evidence": {1024}}
