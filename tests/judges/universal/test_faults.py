"""A step that fails: bounded calls, a null with its cause, and never a 0 or a false in its place."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.judges.universal.brain import KETTLE, Brain, Script, View, grade, item
from tests.judges.universal.brain import said as text_of
from tests.judges.universal.records import judged, package

from pyrite.errors import InputError
from pyrite.judges.base import Package
from pyrite.judges.client.base import Answer
from pyrite.judges.universal import conditions as step
from pyrite.judges.universal.evidence import Place, _tried
from pyrite.judges.universal.frames import Frame
from pyrite.judges.universal.records import Baseline, Criterion, Rubric
from pyrite.records import LeftOut, ViewAction

TWO = [
    item("Find it", "Find a blue kettle", 3),
    item("Into the cart", "put it into the cart", 2, "there is a cart"),
    item("Tell the price", "tell me its price", 1, "there is no cart"),
]
BEFORE_THE_END = ("rubric", "dependencies", "actions_only", "reality", "rescoring", "outcome")
OF_THE_RECORD = ("actions_only", "relevance", "evidence", "reality", "side_effects", "outcome")
BAD: dict[str, Any] = {
    "malformed": "I think that it went well.",
    "off_schema": "{}",
    "truncated": Answer(text='{"items": [', finish="length"),
    "refused": Answer(text=None, refusal="I cannot help with that."),
}


def always(bad: Any) -> Any:
    return lambda view: bad


def once(step: str, bad: Any) -> dict[str, Any]:
    return {step: lambda view: bad if view.number == 1 else getattr(Brain(), step)(view)}


def process_of(reply: Any) -> dict[str, Any]:
    assert reply.process is not None
    found: dict[str, Any] = reply.process
    return found


@pytest.mark.parametrize(
    "step", ["rubric", "dependencies", "actions_only", "reality", "rescoring", "outcome"]
)
@pytest.mark.parametrize("kind", BAD)
def test_a_step_that_never_answers_leaves_the_outcome_null(tmp_path: Path, step: str, kind: str) -> None:
    calls = Script(Brain(TWO, {step: always(BAD[kind])}))
    reply = judged(package(tmp_path, [1, 2, 3]), calls)
    process = process_of(reply)
    assert (reply.verdict, reply.status) == ("parse_error", kind)
    assert process["outcome"] is None
    assert reply.reason.startswith(f"no outcome; {step}")
    assert any(one["step"].startswith(step) and one["attempts"] == 5 for one in process["faults"])
    assert calls.steps()[step] == 5, "the same rubric is not looked through a second time"
    assert calls.steps().total() < 40
    if step != "outcome":
        assert reply.score is None
        assert process["score"] is None
    keys = [request.key for request in calls.sent]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "step", ["actions_only", "relevance", "evidence", "reality", "side_effects", "outcome"]
)
def test_an_answer_that_is_bad_once_is_asked_for_again_and_changes_nothing(tmp_path: Path, step: str) -> None:
    shown = package(tmp_path, [1, 2, 3])
    good = Script()
    wanted = judged(shown, good)
    calls = Script(Brain(rules=once(step, "no JSON")))
    reply = judged(shown, calls)
    assert (reply.verdict, reply.score) == (wanted.verdict, wanted.score)
    assert process_of(reply)["rubric"] == process_of(wanted)["rubric"]
    assert calls.steps().total() == good.steps().total() + 1
    again = [request for request in calls.sent if "attempt 2 of 5" in str(request.parts)]
    assert len(again) == 1
    assert "it is not one JSON object" in str(again[0].parts)


def test_relevance_that_is_never_given_stops_before_the_screens_are_paid_for(tmp_path: Path) -> None:
    calls = Script(relevance=always("?"))
    reply = judged(package(tmp_path, list(range(1, 8))), calls)
    assert reply.verdict == "parse_error"
    assert process_of(reply)["halted"] == "relevance"
    assert process_of(reply)["relevance"] == [None] * 7
    assert calls.steps()["relevance"] == 2 * 7, "twice in a row not one was answered"
    assert calls.steps()["evidence"] == 0


def test_a_few_screens_of_unknown_relevance_are_looked_at_for_every_criterion(tmp_path: Path) -> None:
    """The released code takes them for irrelevant."""

    def relevance(view: View) -> Any:
        return "?" if view.frame == 2 else {f"criterion_{i}": 9 if view.frame > 3 else 0 for i in range(3)}

    calls = Script(relevance=relevance)
    reply = judged(package(tmp_path, [1, 2, 3, 4, 5]), calls)
    process = process_of(reply)
    assert reply.verdict == "success"
    assert process["relevance"][1] is None
    assert all(1 in one["evidence"] for one in process["rubric"]["criteria"])
    assert [one["step"] for one in process["faults"]] == ["relevance screen 0002"]
    assert process["faults"][0]["decisive"] is False


def test_evidence_that_fails_for_all_at_once_is_asked_for_one_by_one(tmp_path: Path) -> None:
    def evidence(view: View) -> Any:
        return "?" if len(view.asked) > 1 else Brain().evidence(view)

    good, calls = Script(), Script(evidence=evidence)
    wanted, reply = (judged(package(tmp_path, [1, 2, 3]), one) for one in (good, calls))
    assert process_of(reply)["rubric"] == process_of(wanted)["rubric"]
    assert reply.verdict == "success"
    assert calls.steps()["evidence"] > 5


@pytest.mark.parametrize("frames", [[1, 2, 3, 4, 5], [1], [1, 2]])
def test_which_criterion_has_no_evidence_does_not_matter(tmp_path: Path, frames: list[int]) -> None:
    """All screens are asked about all criteria at once, and none is answered: then note by note."""
    calls = []
    for bad in range(3):

        def evidence(view: View, bad: int = bad) -> Any:
            return "?" if bad in view.asked else Brain().evidence(view)

        script = Script(evidence=evidence, relevance=lambda view: {f"criterion_{i}": 9 for i in range(3)})
        process = process_of(judged(package(tmp_path, frames), script))
        earned = [one["earned"] for one in process["rubric"]["criteria"]]
        assert earned == [None if i == bad else one["max_points"] for i, one in enumerate(KETTLE)]
        calls.append(script.steps()["evidence"])
    assert len(set(calls)) == 1


def place(number: int, criterion: int) -> tuple[int, Place]:
    return number, Place(Frame(number, number, number, None), (criterion,))


def test_the_notes_that_are_tried_first_are_not_all_of_one_criterion() -> None:
    def tried(*pictures: tuple[int, ...]) -> list[tuple[int, int]]:
        owed = [place(i, one) for i, criteria in enumerate(pictures) for one in criteria]
        return [(i, one.criteria[0]) for i, one in _tried(owed)]

    assert tried((0, 1, 2)) == [(0, 0), (0, 1), (0, 2)]
    assert tried((0, 1, 2), (0, 1, 2)) == [(0, 0), (1, 1), (0, 2)]
    assert tried(*[(0, 1, 2)] * 4) == [(0, 0), (1, 1), (2, 2), (3, 0)]
    assert tried((1, 2), (0, 1), (1, 2)) == [(0, 1), (1, 1), (2, 1), (0, 2)]
    assert tried((0,)) == [(0, 0)]
    assert tried() == []


def test_evidence_that_is_missing_leaves_its_criterion_ungraded(tmp_path: Path) -> None:
    """The released code goes on with an error text and says success."""

    def evidence(view: View) -> Any:
        return "?" if 1 in view.asked else Brain().evidence(view)

    calls = Script(evidence=evidence)
    reply = judged(package(tmp_path, [1, 2, 3]), calls)
    process = process_of(reply)
    assert (reply.verdict, process["outcome"], process["score"]) == ("parse_error", None, None)
    earned = [one["earned"] for one in process["rubric"]["criteria"]]
    assert earned == [3, None, 1]
    assert process["bounds"] == [4 / 6, 1.0]
    assert calls.steps()["outcome"] == 0
    assert reply.raw["items"][1]["post_image_earned_points"] is None


def test_evidence_that_is_missing_for_a_criterion_that_does_not_apply_changes_nothing(tmp_path: Path) -> None:
    def evidence(view: View) -> Any:
        return "?" if 2 in view.asked else Brain().evidence(view)

    reply = judged(package(tmp_path, [1, 2, 3]), Script(Brain(TWO), evidence=evidence))
    process = process_of(reply)
    assert [one["applies"] for one in process["rubric"]["criteria"]] == [True, True, False]
    assert (reply.verdict, process["score"]) == ("success", 1.0)
    assert {tuple(one["criteria"]) for one in process["faults"]} == {(2,)}


def test_conditions_that_cannot_be_told_leave_their_criteria_ungraded(tmp_path: Path) -> None:
    reply = judged(package(tmp_path, [1, 2, 3]), Script(Brain(TWO), conditions=always("?")))
    process = process_of(reply)
    assert [one["applies"] for one in process["rubric"]["criteria"]] == [True, None, None]
    assert (reply.verdict, process["outcome"], process["score"]) == ("parse_error", None, None)
    assert process["bounds"] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("flags", "before", "applies"),
    [([False, True], False, True), ([False, False], True, False), ([], True, True), ([], None, None)],
)
def test_one_condition_alone_is_read_off_the_screens(
    tmp_path: Path, flags: list[bool], before: bool | None, applies: bool | None
) -> None:
    """Any screen that shows it; without a word of any screen what the actions say, and never a guess."""

    def evidence(view: View) -> Any:
        body = Brain().evidence(view)
        for one in body["analyses"]:
            if one["criterion_idx"] == 1:
                one["condition_verification"] = flags[(view.frame - 1) % len(flags)]
        return body

    def relevance(view: View) -> Any:
        return {"criterion_0": 9, "criterion_1": 9}

    def actions(view: View) -> Any:
        body = Brain().actions_only(view)
        body["items"][1] |= {"is_condition_met": before}
        return body

    rules: dict[str, Any] = {"actions_only": actions, "relevance": relevance}
    if flags:
        rules["evidence"] = evidence
    shown = package(tmp_path, [1, 2])
    if not flags:
        rubric = Rubric((Criterion("a", "b", 1.0), Criterion("c", "d", 1.0, "e")))
        graded = [Baseline(1.0, "x"), Baseline(1.0, "x", before)]
        found = asyncio.run(step.decide(None, None, rubric, graded, [[], []], set()))  # type: ignore[arg-type]
        assert found.met == [True, applies]
        return
    calls = Script(Brain(TWO[:2]), **rules)
    process = process_of(judged(shown, calls))
    assert process["rubric"]["criteria"][1]["applies"] is applies
    assert calls.steps()["conditions"] == 0


def test_side_effects_that_are_not_known_leave_a_success_open_and_a_failure_standing(tmp_path: Path) -> None:
    shown = package(tmp_path, [1, 2, 3])
    reply = judged(shown, Script(side_effects=always("?")))
    process = process_of(reply)
    assert (reply.verdict, process["outcome"], process["outcome_of_votes"]) == ("parse_error", None, True)
    assert process["penalties"] is None
    assert process["score"] is None
    no = {"primary_intent": "a kettle", "reasoning": "it is not there", "output_success": False}
    reply = judged(shown, Script(side_effects=always("?"), outcome=always(no)))
    assert (reply.verdict, reply.reason) == ("failure", "it is not there")
    assert process_of(reply)["outcome"] is False


def test_a_penalty_that_is_listed_and_denied_is_asked_for_again(tmp_path: Path) -> None:
    penalty = {
        "criterion": "Another kettle was bought",
        "description": "x",
        "max_points": 1,
        "post_image_justification": "it is in the cart",
        "post_image_earned_points": 0,
    }
    body = {"reasoning": "well", "requires_penalty": False, "penalty_criteria": [penalty]}
    reply = judged(package(tmp_path, [1, 2, 3]), Script(side_effects=always(body)))
    assert (reply.verdict, reply.score, process_of(reply)["outcome"]) == ("parse_error", None, None)
    assert "requires_penalty is false" in reply.reason


@pytest.mark.parametrize("step", ["failures", "task_with_record", "task_alone"])
def test_a_diagnosis_that_fails_is_null_and_changes_no_verdict(tmp_path: Path, step: str) -> None:
    reply = judged(package(tmp_path, [1, 2, 3]), Script(Brain(rules={step: always("?")})))
    process = process_of(reply)
    assert reply.verdict == "success"
    assert process["diagnosis"][step] is None
    assert [one["step"] for one in process["faults"]] == [step]


def test_votes_that_are_missing_decide_nothing(tmp_path: Path) -> None:
    """One yes and one no of three is no failure: the third might have said either."""
    shown = package(tmp_path, [1, 2, 3])

    def votes(*said: bool | None) -> Any:
        def rule(view: View) -> Any:
            one = said[view.run // 1_000_000]
            if one is None:
                return "?"
            return {"primary_intent": "a", "reasoning": "b", "output_success": one}

        return rule

    for said, wanted in (
        ((True, False, None), None),
        ((True, True, None), True),
        ((False, False, None), False),
        ((True, False, False), False),
        ((None, None, True), None),
    ):
        process = process_of(judged(shown, Script(outcome=votes(*said)), "votes=3"))
        assert process["outcome"] is wanted, said
        assert process["votes"]["outcomes"] == list(said)


def test_the_instance_at_the_median_is_kept_whole(tmp_path: Path) -> None:
    points = (1.0, 3.0, 2.0)

    def rescoring(view: View) -> Any:
        body = Brain().rescoring(view)
        body["items"][0]["post_image_earned_points"] = points[view.run // 1_000_000]
        return body

    shown = package(tmp_path, [1, 2, 3])
    process = process_of(judged(shown, Script(rescoring=rescoring), "votes=3"))
    assert process["votes"]["median_instance"] == 2
    assert process["earned"] == 5.0

    def two(view: View) -> Any:
        return "?" if view.run // 1_000_000 == 1 else rescoring(view)

    process = process_of(judged(shown, Script(rescoring=two), "votes=3"))
    assert process["votes"]["scores"] == [4 / 6, None, 5 / 6]
    assert process["votes"]["median_instance"] == 2
    assert process["outcome"] is True

    def one(view: View) -> Any:
        return "?" if view.run // 1_000_000 > 0 else rescoring(view)

    reply = judged(shown, Script(rescoring=one), "votes=3")
    assert (reply.verdict, process_of(reply)["outcome"], reply.score) == ("parse_error", None, None)


def test_a_screen_that_cannot_be_read_costs_no_call(tmp_path: Path) -> None:
    calls = Script()
    shown = package(tmp_path, [1, 2, 3])
    shown.locate(shown.evidence.images[1]).write_bytes(b"not a picture")
    reply = judged(shown, calls)
    process = process_of(reply)
    assert (reply.verdict, reply.status, process["outcome"]) == ("uncertain", "ok", None)
    assert "screen 2 is unreadable" in reply.reason
    assert calls.sent == []


def test_a_rubric_that_could_not_be_looked_through_is_written_another_way(tmp_path: Path) -> None:
    """No two requests are the same; the second rubric is looked through as often as the first."""

    def rubric(view: View) -> Any:
        another = "could not be looked through" in view.text
        return {"items": [{**one, "description": f"All, {another}."} for one in TWO]}

    calls = Script(Brain(TWO, {"rubric": rubric, "dependencies": always("?")}))
    reply = judged(package(tmp_path, [1, 2]), calls, "diagnosis=off")
    assert process_of(reply)["halted"] == "dependencies round 2"
    steps = calls.steps()
    assert (steps["rubric"], steps["dependencies"]) == (2, 10)
    assert len({(one.system, text_of(one)) for one in calls.sent}) == len(calls.sent)


def test_a_name_of_two_lines_is_one_line(tmp_path: Path) -> None:
    two = [{**TWO[0], "criterion": "Find\n the\tkettle"}, *TWO[1:]]
    calls = Script(Brain(two))
    reply = judged(package(tmp_path, [1, 2]), calls)
    assert reply.verdict == "success"
    assert calls.steps()["actions_only"] == 1
    assert process_of(reply)["rubric"]["criteria"][0]["criterion"] == "Find the kettle"


def test_a_screen_that_is_broken_inside_is_found_when_it_is_read(tmp_path: Path) -> None:
    shown = package(tmp_path, [1, 2, 3])
    path = shown.locate(shown.evidence.images[1])
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes(10) + data[50:])
    calls = Script()
    reply = judged(shown, calls, "jpeg_above=0")
    process = process_of(reply)
    assert (reply.verdict, reply.status, process["outcome"]) == ("uncertain", "ok", None)
    assert "the screen is unreadable" in reply.reason
    assert process["score"] is None
    assert calls.steps()["outcome"] == 0


def test_a_screen_that_is_missing_costs_no_call_and_one_after_the_end_is_not_missed(tmp_path: Path) -> None:
    calls = Script()
    lost = [
        ViewAction(step=1, action="click", parameters={"x": 1, "y": 1}, screen=1),
        ViewAction(step=2, action="click", parameters={"x": 1, "y": 1}, screen=None),
        ViewAction(step=3, action="done", screen=2),
    ]
    reply = judged(package(tmp_path, [1, 2, 3], actions=lost), calls)
    assert (reply.verdict, process_of(reply)["outcome"]) == ("uncertain", None)
    assert "no screen after steps 2" in reply.reason
    assert calls.sent == []
    ended = [lost[0], ViewAction(step=2, action="raw", parameters={"text": "terminate {}"}, screen=None)]
    assert judged(package(tmp_path, [1, 2], actions=ended), Script()).verdict == "success"


def test_what_a_budget_left_out_is_told(tmp_path: Path) -> None:
    left = LeftOut(screens=(1,), max_tokens=10, max_bytes=10)
    actions = [
        ViewAction(step=1, action="click", screen=None),
        ViewAction(step=2, action="click", screen=1),
    ]
    shown = package(tmp_path, [1, 3], actions=actions, left_out=left)
    reply = judged(shown, Script(), "left_out=told")
    faults = process_of(reply)["faults"]
    assert [one["what"] for one in faults] == ["left out for want of room: screens after steps 1"]
    assert reply.verdict == "success"


@pytest.mark.parametrize("left", [{"screens": (1,)}, {"actions": (1,)}])
def test_what_a_budget_left_out_leaves_the_outcome_null_and_costs_nothing(
    tmp_path: Path, left: dict[str, Any]
) -> None:
    """A side effect may stand on a screen that nobody has seen."""
    calls = Script()
    actions = [ViewAction(step=2, action="click", screen=1)]
    if "screens" in left:
        actions.insert(0, ViewAction(step=1, action="click", screen=None))
    out = LeftOut(**left, max_tokens=10, max_bytes=10)
    reply = judged(package(tmp_path, [1, 3], actions=actions, left_out=out), calls)
    assert (reply.verdict, reply.status, reply.score) == ("uncertain", "ok", None)
    assert "left out for want of room" in reply.reason
    assert "left_out=told" in reply.reason
    assert calls.sent == []


def test_a_broken_package_is_an_error_for_the_runner_and_no_verdict(tmp_path: Path) -> None:
    shown = package(tmp_path, [1, 2])

    def gone(digest: str) -> Path:
        raise InputError("no such image")

    reply = judged(Package(shown.evidence, gone), Script())
    assert reply.verdict == "uncertain"


def test_grades_out_of_bounds_are_never_taken(tmp_path: Path) -> None:
    """The released code does not hold the action-only points against their maximum."""
    for name, key in (("actions_only", "earned_points"), ("rescoring", "post_image_earned_points")):
        for wrong in (99, -1, True, "3", None, float("nan")):

            def rule(view: View, name: str = name, key: str = key, wrong: Any = wrong) -> Any:
                body = getattr(Brain(), name)(view)
                body["items"][0][key] = wrong
                return body

            reply = judged(package(tmp_path, [1, 2]), Script(Brain(rules={name: rule})))
            assert process_of(reply)["outcome"] is None, (name, wrong)


def test_no_rubric_without_words_of_the_task(tmp_path: Path) -> None:
    invented = [item("Something else", "a thing that nobody asked for")]
    reply = judged(package(tmp_path, [1, 2]), Script(Brain(invented)))
    assert (reply.verdict, process_of(reply)["halted"]) == ("parse_error", "rubric")
    assert "no criterion quotes the task" in reply.reason


def test_nothing_that_applies_is_no_score(tmp_path: Path) -> None:
    rubric = [item("If sold out", "Find a blue kettle", 2, "it is sold out"), *TWO[1:]]

    def none(view: View) -> Any:
        body = Brain().conditions(view)
        for one in body["disambiguation"]:
            one["is_condition_met"] = False
        return body

    reply = judged(package(tmp_path, [1, 2]), Script(Brain(rubric), conditions=none))
    assert (reply.score, process_of(reply)["score"], process_of(reply)["bounds"]) == (None, None, None)
    assert reply.verdict == "success"


def test_points_only_move_by_a_rule_that_says_so(tmp_path: Path) -> None:
    def rescoring(view: View) -> Any:
        return {"items": [grade(i, most / 2) for i, (_, most) in view.criteria.items()]}

    process = process_of(judged(package(tmp_path, [1, 2]), Script(rescoring=rescoring)))
    assert process["earned"] == sum(one["max_points"] for one in KETTLE) / 2
    assert process["success"] is False
    assert process["outcome"] is True
