from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from pyrite.episodes.claims import ASSERTION, DENIAL, claim, opposite
from pyrite.errors import InputError, UsageError
from pyrite.evidence.conditions import parse, parse_list
from pyrite.evidence.leaks import Secrets, scan
from pyrite.evidence.packing import PACKED_AT, index, load, pack
from pyrite.evidence.view import view
from pyrite.records import Category, Meta
from pyrite.store.images import save_webp

if TYPE_CHECKING:
    from tests.conftest import Episodes

Instructions = Callable[[str], str | None]
SIX = [{"action": "type", "text": f"t{i}"} for i in range(5)] + [{"action": "done"}]


def nothing(meta: Meta) -> Secrets:
    return Secrets()


def add(episodes: Episodes) -> None:
    episodes.add("ep_1", SIX, final_message="Saved 4500.", agent="nimble-bot", perturbation="drop-save")


@pytest.mark.parametrize(
    ("name", "images", "steps", "claim"),
    [
        ("E1-final", 1, [], None),
        ("final", 1, [], None),
        ("E2-last4", 4, [3, 4, 5, 6], None),
        ("E2-lastk", 4, [3, 4, 5, 6], None),
        ("last2", 2, [5, 6], None),
        ("E2-last40", 7, [1, 2, 3, 4, 5, 6], None),
        ("E3-full", 7, [1, 2, 3, 4, 5, 6], None),
        ("E2+claim", 4, [3, 4, 5, 6], "Saved 4500."),
        ("full+claim", 7, [1, 2, 3, 4, 5, 6], "Saved 4500."),
        ("E2+swap", 4, [3, 4, 5, 6], DENIAL),
        ("last2+swap", 2, [5, 6], DENIAL),
        ("full+thoughts", 7, [1, 2, 3, 4, 5, 6], None),
    ],
)
def test_a_condition_shows_what_it_says(
    episodes: Episodes,
    instructions: Instructions,
    name: str,
    images: int,
    steps: list[int],
    claim: str | None,
) -> None:
    add(episodes)
    packing = pack(episodes.bench, [parse(name)], instructions, nothing, opposite=opposite)
    evidence = load(episodes.bench, packing.entries[0])
    assert len(evidence.images) == images
    assert evidence.same_as == (None,) * images
    assert evidence.left_out is None
    assert [a.step for a in evidence.actions] == steps
    assert evidence.final_message == claim
    assert evidence.instruction == episodes.instruction
    for action in evidence.actions:
        assert action.screen is not None
        assert evidence.images[action.screen] == evidence.images[images - 7 + action.step]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "E4",
        "last0",
        "E2-lastx",
        "E1-final+thoughts",
        "claim",
        "E2+claim+claim",
        "E2+claim+swap",
        "E3-full+",
    ],
)
def test_an_unknown_condition_is_refused_not_guessed(name: str) -> None:
    with pytest.raises(UsageError, match="condition"):
        parse_list(name)


def test_thoughts_are_shown_in_conditions_named_so_and_nowhere_else(
    episodes: Episodes, instructions: Instructions
) -> None:
    episodes.add("ep_1", [{"action": "done", "thought": "it looks saved"}], final_message="Done.")
    names = (
        "E1-final+claim,E2-last4,E2+claim,E2+swap,E3-full,E3-full+claim,E2+thoughts,E3-full+claim+thoughts"
    )
    packing = pack(episodes.bench, parse_list(names), instructions, nothing, opposite=opposite)
    shown = {e.condition: "it looks saved" in str(load(episodes.bench, e)) for e in packing.entries}
    assert {name for name, there in shown.items() if there} == {"E2+thoughts", "E3-full+claim+thoughts"}


def test_swap_turns_a_claim_round_and_leaves_out_what_has_none(
    episodes: Episodes, instructions: Instructions
) -> None:
    said = {
        "ep_1": "I saved it.",
        "ep_2": "I could not save it.",
        "ep_3": "It has 14 rows.",
        "ep_4": None,
        "ep_5": "I was unable to close the dialog, but D14 is set and saved.",
        "ep_6": "Ich habe die Datei gespeichert.",
    }
    for episode_id, message in said.items():
        episodes.add(episode_id, [{"action": "done"}], final_message=message)
    names = parse_list("E2+claim,E2+swap")
    packing = pack(episodes.bench, names, instructions, nothing, opposite=opposite)
    swapped = [one for one in packing.entries if one.condition == "E2+swap"]
    shown = {e.episode_id: load(episodes.bench, e).final_message for e in swapped}
    assert shown == {"ep_1": DENIAL, "ep_2": ASSERTION}
    assert [claim(shown[name]) for name in ("ep_1", "ep_2")] == ["denied", "asserted"]
    assert (packing.unswappable, packing.broken, len(packing.entries)) == ({"E2+swap": 4}, {}, 8)


def test_swap_goes_by_the_kind_of_a_message_where_it_is_known(
    episodes: Episodes, instructions: Instructions
) -> None:
    for kind in ("asserts", "admits", "hedged"):
        episodes.add(f"ep_{kind}", [{"action": "done"}], final_message="B2 = 4.", message_kind=kind)
    packing = pack(episodes.bench, [parse("E2+swap")], instructions, nothing, opposite=opposite)
    shown = {e.episode_id: load(episodes.bench, e).final_message for e in packing.entries}
    assert shown == {"ep_asserts": DENIAL, "ep_admits": ASSERTION}
    assert packing.unswappable == {"E2+swap": 1}


def test_where_nothing_can_be_turned_round_it_is_said(episodes: Episodes, instructions: Instructions) -> None:
    episodes.add("ep_1", [{"action": "done"}], final_message="It has 14 rows.")
    with pytest.raises(InputError, match="none of 1 episodes has a claim"):
        pack(episodes.bench, [parse("E2+swap")], instructions, nothing, opposite=opposite)


def test_the_mark_covers_all_that_the_agent_did_and_is_one_for_all_conditions(
    episodes: Episodes, instructions: Instructions
) -> None:
    two = [{"action": "type", "text": "x", "thought": "t"}, {"action": "done"}]
    episodes.add("ep_1", two, final_message="Saved.")
    episodes.add("ep_2", two, final_message="Saved!")
    episodes.add("ep_3", two, final_message="Saved.", colours=[9, 1, 2])
    episodes.add("ep_4", [{**two[0], "thought": "u"}, two[1]], final_message="Saved.")
    episodes.add("ep_5", two, final_message="Saved.")
    names = parse_list("E1-final,E2+claim,E2+swap,E3-full")
    packing = pack(episodes.bench, names, instructions, nothing, opposite=opposite)
    marks: dict[str, set[str]] = {}
    for one in packing.entries:
        marks.setdefault(one.episode_id, set()).add(load(episodes.bench, one).mark)
    assert {len(found) for found in marks.values()} == {1}
    assert marks["ep_5"] == marks["ep_1"], "the same episode, the same bytes"
    assert len(set.union(*marks.values())) == 4
    again = pack(episodes.bench, names, instructions, nothing, opposite=opposite)
    assert again.entries == packing.entries


def test_a_word_of_the_swapped_message_is_no_leak(episodes: Episodes, instructions: Instructions) -> None:
    episodes.add("ep_1", [{"action": "done"}], final_message="I saved it.")
    seen = Secrets(values=("completed", "asked"))
    found = pack(episodes.bench, [parse("E2+swap")], instructions, lambda meta: seen, opposite=opposite)
    assert found.leaks == ()


def test_the_same_bytes_when_packed_again(episodes: Episodes, instructions: Instructions) -> None:
    add(episodes)
    first = pack(episodes.bench, [parse("E3-full")], instructions, nothing)
    path = episodes.bench.paths.package("E3-full", first.entries[0].package_id)
    before, stamp = path.read_bytes(), path.stat().st_mtime_ns
    assert pack(episodes.bench, [parse("E3-full")], instructions, nothing).entries == first.entries
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, stamp)
    assert len(episodes.bench.paths.evidence_index.read_text(encoding="utf-8").splitlines()) == 1


def test_a_changed_pixel_changes_the_package(episodes: Episodes, instructions: Instructions) -> None:
    add(episodes)
    before = pack(episodes.bench, [parse("E1-final")], instructions, nothing).entries[0]
    save_webp(Image.new("RGB", (40, 30), (99, 0, 0)), episodes.bench.inside("ep_1", "screens/006.webp"))
    after = pack(episodes.bench, [parse("E1-final")], instructions, nothing).entries[0]
    assert after.evidence_sha256 != before.evidence_sha256
    assert index(episodes.bench)["ep_1", "E1-final"] == after


def test_equal_frames_are_stored_once(episodes: Episodes, instructions: Instructions) -> None:
    episodes.add("ep_1", SIX, colours=[1, 1, 2, 2, 1, 2, 2])
    packing = pack(episodes.bench, [parse("E3-full")], instructions, nothing)
    assert len(list(episodes.bench.paths.images.iterdir())) == 2
    assert load(episodes.bench, packing.entries[0]).same_as == (None, 0, None, 2, 0, 2, 2)


def test_nothing_of_who_made_it_is_in_a_package(episodes: Episodes, instructions: Instructions) -> None:
    add(episodes)
    pack(episodes.bench, parse_list("E1-final,E2+claim,E3-full"), instructions, nothing)
    for path in episodes.bench.paths.evidence.rglob("*"):
        if path.is_file() and path.name != "index.jsonl":
            data = path.read_bytes()
            for secret in (b"ep_1", b"nimble-bot", b"drop-save", b"scripted", b"4321"):
                assert secret not in data


CANARY = Secrets(
    names=("ep_1", "scripted"), texts=("canary-7f3", *Category), values=("4500", "D14", "canary-7f3")
)


@pytest.mark.parametrize(
    "text",
    [
        "canary-7f3",
        "F-CLAIM",
        "a CANARY-7F3!",
        "cana\u200bry-7f3",
        "canary-\n7f3",
        "can ary\u00ad-7\u20603",
        "\uff43anary-7f3",
        "F-\u200bCLAIM",
    ],
)
def test_what_an_agent_wrote_leaves_its_own_episode_out_and_no_other(
    episodes: Episodes, instructions: Instructions, text: str
) -> None:
    hidden = "canary-73" if "\u2060" in text else "canary-7f3"
    secrets = Secrets(names=CANARY.names, texts=(hidden, *Category), values=CANARY.values)
    episodes.add("ep_1", [{"action": "type", "text": text}])
    episodes.add("ep_2", [{"action": "type", "text": "4500"}], final_message="half-claim, CANARY-9")
    names = parse_list("E1-final,E3-full,E3-full+claim")
    found = pack(episodes.bench, names, instructions, lambda meta: secrets)
    shown = {(one.episode_id, one.condition) for one in found.entries}
    assert shown == {("ep_2", name.name) for name in names} | {("ep_1", "E1-final")}
    assert found.leaks == ()
    assert list(found.broken) == ["ep_1"]
    assert "its agent wrote what no judge may be told" in found.broken["ep_1"]
    assert set(index(episodes.bench)) == shown


def test_what_was_packed_before_it_was_known_to_be_secret_is_taken_back(
    episodes: Episodes, instructions: Instructions
) -> None:
    episodes.add("ep_1", [{"action": "type", "text": "canary-7f3"}])
    episodes.add("ep_2", [{"action": "done"}])
    before = pack(episodes.bench, [parse("E3-full")], instructions, nothing)
    after = pack(episodes.bench, [parse("E3-full")], instructions, lambda meta: CANARY)
    assert [len(one.entries) for one in (before, after)] == [2, 1]
    assert set(index(episodes.bench)) == {("ep_2", "E3-full")}
    assert len(list(episodes.bench.paths.evidence.rglob("evidence.json"))) == 1


def test_what_pyrite_itself_packs_is_a_leak(episodes: Episodes) -> None:
    episodes.add("ep_1", [{"action": "type", "text": "canary-7f3"}])
    found = pack(episodes.bench, [parse("E3-full")], lambda task: "Do it, canary-7f3.", lambda meta: CANARY)
    assert {(leak.secret, leak.by_agent) for leak in found.leaks} == {("canary-7f3", False)}
    assert (len(found.entries), found.broken) == (1, {})


def test_a_value_that_the_view_shows_is_no_leak(episodes: Episodes) -> None:
    episodes.add("ep_1", [{"action": "type", "text": "seen 4500"}])
    seen = Secrets(values=("4500",))
    assert pack(episodes.bench, [parse("E3-full")], lambda t: "do it", lambda meta: seen).leaks == ()


def test_a_value_that_only_the_verifier_saw_is_a_leak(episodes: Episodes) -> None:
    meta = episodes.add("ep_1", [{"action": "done"}])
    packing = pack(episodes.bench, [parse("E1-final")], lambda t: "do it, unseen 777", nothing)
    evidence = load(episodes.bench, packing.entries[0])
    leaks = scan(evidence, Secrets(values=("unseen 777",)), episodes.bench.paths, visible="do it")
    assert [(leak.secret, leak.where) for leak in leaks] == [("unseen 777", "text")]
    assert meta.episode_id not in str(leaks)


def test_metadata_of_an_image_is_searched(episodes: Episodes, instructions: Instructions) -> None:
    from PIL.PngImagePlugin import PngInfo

    add(episodes)
    entry = pack(episodes.bench, [parse("E1-final")], instructions, nothing).entries[0]
    image = episodes.bench.paths.image(load(episodes.bench, entry).images[0])
    note = PngInfo()
    note.add_text("agent", "nimble-bot")
    Image.open(image).save(image, pnginfo=note)
    found = pack(
        episodes.bench, [parse("E1-final")], instructions, lambda meta: Secrets(names=("nimble-bot",))
    ).leaks
    assert [leak.where[:8] for leak in found] == ["metadata"]


def test_a_screen_outside_the_episode_is_refused(episodes: Episodes, instructions: Instructions) -> None:
    meta = episodes.add("ep_1", [{"action": "done"}])
    path = episodes.bench.paths.episode("ep_1").actions
    row = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**row, "screen": "../../../x.png"}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="leaves the episode"):
        view(episodes.bench, meta, instructions)


def test_an_unknown_task_text_is_a_usage_error(episodes: Episodes) -> None:
    meta = episodes.add("ep_1", [{"action": "done"}])
    with pytest.raises(UsageError, match="'a-task'"):
        view(episodes.bench, meta, lambda task_id: None)


def test_only_whole_words_count_and_image_keys_are_no_text(episodes: Episodes) -> None:
    episodes.add("ep_1", [{"action": "type", "text": "24500 and 45001"}])
    key = "".join(f"{n:x}" for n in range(16))
    secrets = Secrets(values=("4500", key[:4], "step", "images"))
    packing = pack(episodes.bench, [parse("E3-full")], lambda t: "do it", lambda meta: secrets)
    assert packing.leaks == ()


def test_a_package_that_was_changed_is_refused(episodes: Episodes, instructions: Instructions) -> None:
    add(episodes)
    entry = pack(episodes.bench, [parse("E2+claim")], instructions, nothing).entries[0]
    path = episodes.bench.paths.package(entry.condition, entry.package_id)
    path.write_text(path.read_text(encoding="utf-8").replace("Saved", "Not saved"), encoding="utf-8")
    with pytest.raises(InputError, match="changed since it was packed"):
        load(episodes.bench, entry)


def test_no_file_of_the_evidence_tells_when_it_was_packed(
    episodes: Episodes, instructions: Instructions
) -> None:
    add(episodes)
    pack(episodes.bench, parse_list("E1-final,E3-full"), instructions, nothing)
    episodes.add("ep_2", SIX, colours=[9, 8, 7, 6, 5, 4, 3])
    pack(episodes.bench, parse_list("E1-final,E3-full"), instructions, nothing)
    folder = episodes.bench.paths.evidence
    files = [path for path in folder.rglob("*") if path.suffix == ".png" or path.name == "evidence.json"]
    assert len(files) > 10
    assert {path.stat().st_mtime for path in files} == {PACKED_AT}
    assert {path.parent.stat().st_mtime for path in files if path.suffix == ".json"} == {PACKED_AT}


def test_a_value_that_cutting_a_text_of_the_agent_makes_stops_nothing(
    episodes: Episodes, instructions: Instructions
) -> None:
    """How much is left out of a long message is the agent's choice."""
    episodes.add("ep_1", [{"action": "done"}], final_message="x" * 14_500)
    episodes.add("ep_2", [{"action": "done"}], final_message="Saved.")
    seen = Secrets(values=("4,500",))
    found = pack(episodes.bench, [parse("E2+claim")], instructions, lambda meta: seen)
    assert found.leaks == ()
    assert list(found.broken) == ["ep_1"]
    assert [one.episode_id for one in found.entries] == ["ep_2"]
