"""The published worked examples, with a model that says what is said there: what the code makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.judges.universal.brain import Brain, Script, View, grade, item
from tests.judges.universal.records import judged, package

from pyrite.judges.base import Reply


def ran(tmp_path: Path, brain: Brain, task: str) -> tuple[Reply, dict[str, Any]]:
    reply = judged(package(tmp_path, [1, 2, 3], instruction=task), Script(brain))
    assert reply.process is not None
    return reply, reply.process


def noted(**fields: Any) -> Any:
    """A rule for step 4 that says the same of every screen, with other fields for some criteria."""

    def rule(view: View) -> Any:
        plain = {
            "screenshot_evidence": "a page",
            "criterion_analysis": "fits",
            "discrepancies": "none",
            "environment_issues_confirmed": False,
        }
        listed = []
        for index in view.asked:
            entry = {"criterion_idx": index, **plain, **fields.get(f"c{index}", {})}
            if index in view.conditions:
                entry.setdefault("condition_verification", True)
            listed.append(entry)
        return {"analyses": listed}

    return rule


def test_a_claim_that_the_page_contradicts_is_caught_by_the_two_passes(tmp_path: Path) -> None:
    """The agent says +6.2 %, the page shows +2.8 %: full points by its word, few with the screens."""
    task = "Report how much the CIDEr score improves."
    seen = "the agent says +6.2 %, the page shows +2.8 %"
    brain = Brain(
        [item("Report the improvement", "Report how much the CIDEr score improves", 4)],
        {
            "evidence": noted(c0={"discrepancies": seen}),
            "rescoring": lambda view: {"items": [grade(0, 1.0, kind="agent")]},
            "outcome": lambda view: {
                "primary_intent": "the improvement",
                "reasoning": "the screens took points" if "in criteria 0" in view.text else "fine",
                "output_success": "in criteria 0" not in view.text,
            },
        },
    )
    reply, process = ran(tmp_path, brain, task)
    (found,) = process["two_passes"]
    assert (found["kind"], found["action_only"], found["with_screens"]) == ("suspected hallucination", 4, 1)
    assert found["difference"] == -3
    assert {one["text"] for one in found["discrepancies"]} == {seen}
    assert [one["screen"] for one in found["discrepancies"]] == process["rubric"]["criteria"][0]["evidence"]
    assert (reply.verdict, reply.reason) == ("failure", "the screens took points")


def test_of_two_exclusive_conditions_one_counts(tmp_path: Path) -> None:
    """Blueberries: organic if there are any, else the others."""
    task = "Add organic blueberries to the cart; if there are none, add ordinary ones."
    brain = Brain(
        [
            item("Organic ones", "Add organic blueberries to the cart", 3, "organic blueberries are sold"),
            item("Ordinary ones", "if there are none, add ordinary ones", 3, "no organic ones are sold"),
        ],
        {
            "conditions": lambda view: {
                "disambiguation": [
                    {
                        "criterion_idx": i,
                        "condition": text,
                        "reasoning": "the shelf is empty",
                        "is_condition_met": i == 1,
                    }
                    for i, text in view.conditions.items()
                ]
            },
            "rescoring": lambda view: {"items": [grade(0, 0.0), grade(1, 3.0)]},
        },
    )
    reply, process = ran(tmp_path, brain, task)
    assert [one["applies"] for one in process["rubric"]["criteria"]] == [False, True]
    assert (process["earned"], process["max"], process["score"]) == (3, 3, 1.0)
    assert process["rubric"]["criteria"][0]["earned"] is None
    assert reply.raw["intermediates"]["step4_5_disambiguation"]["0"]["is_condition_met"] is False
    assert reply.raw["items"][0]["post_image_earned_points"] == 0.0


def test_a_blocker_upstream_does_not_cascade(tmp_path: Path) -> None:
    """NSYNC: the list that the other criteria need cannot be opened, and the agent said so."""
    task = "Open the NSYNC channel, open its newest video and report how many views it has."
    brain = Brain(
        [
            item("Open the channel", "Open the NSYNC channel", 2),
            item("Open the newest video", "open its newest video", 2),
            item("Report the views", "report how many views it has", 2),
        ],
        {
            "evidence": noted(c0={"environment_issues_confirmed": True}),
            "rescoring": lambda view: {
                "items": [
                    grade(0, 1.0, kind="outside", reported=True),
                    grade(1, 0.0, kind="outside", upstream=0, prevented=True, reported=True),
                    grade(2, 0.0, kind="outside", upstream=0, prevented=True, reported=True),
                ]
            },
        },
    )
    _, process = ran(tmp_path, brain, task)
    assert (process["earned"], process["max"]) == (6, 6)
    assert all(one["adjusted"].startswith("blocked") for one in process["rubric"]["criteria"])


def test_an_error_that_was_paid_for_costs_nothing_twice_and_one_that_prevents_does(tmp_path: Path) -> None:
    task = "Pick the cheapest flight, open its page and report the baggage fee."
    rubric = [
        item("Cheapest flight", "Pick the cheapest flight", 2),
        item("Its page", "open its page", 2),
        item("The fee", "report the baggage fee", 2),
    ]
    graded = [
        grade(0, 0.0, kind="agent"),
        grade(1, 1.0, kind="agent", upstream=0, prevented=False),
        grade(2, 0.0, kind="agent", upstream=0, prevented=True),
    ]
    _, process = ran(tmp_path, Brain(rubric, {"rescoring": lambda view: {"items": graded}}), task)
    criteria = process["rubric"]["criteria"]
    assert [one["earned"] for one in criteria] == [0, 2, 0]
    assert criteria[1]["adjusted"].startswith("once")
    assert criteria[2]["adjusted"] == ""


def test_phantom_criteria_are_dropped_and_listed(tmp_path: Path) -> None:
    """Eventbrite: three of nine points ask for what the task does not: 5 of 9 fails, 5 of 6 does not."""
    task = "Find a live music event on Eventbrite, then list songs of that artist on Spotify."
    asked = [
        item("Find an event", "Find a live music event on Eventbrite", 3),
        item("List songs", "list songs of that artist on Spotify", 3),
    ]
    invented = [
        item("Ticket information", "ticket prices and dates", 1),
        item("Link of the event", "give the event link", 1),
        item("Spotify URL", "", 1),
    ]
    points = {"Find an event": 3.0, "List songs": 2.0}

    def rescoring(view: View) -> Any:
        return {"items": [grade(i, points.get(name, 0.0)) for i, (name, _) in view.criteria.items()]}

    _, process = ran(tmp_path, Brain([*asked, *invented], {"rescoring": rescoring}), task)
    assert (process["earned"], process["max"], process["success"]) == (5, 6, True)
    dropped = process["rubric"]["dropped"]
    assert [one["criterion"] for one in dropped] == [one["criterion"] for one in invented]
    assert {one["why"] for one in dropped} == {"phantom"}
    lenient = [{**one, "task_quote": "Find a live music event"} for one in invented]
    _, before = ran(tmp_path, Brain([*asked, *lenient], {"rescoring": rescoring}), task)
    assert (before["earned"], before["max"], before["success"]) == (5, 9, False)


def test_criteria_that_say_the_same_are_one(tmp_path: Path) -> None:
    twice = [item("Find it", "Find a blue kettle"), item("Find it", "Find a blue kettle")]
    shown: list[str] = []

    def dependencies(view: View) -> Any:
        shown.append(view.text)
        return {"reasoning": "fine", "needs_reformulation": False, "reformulated_rubric": {}}

    task = "Find a blue kettle."
    _, process = ran(tmp_path, Brain(twice, {"dependencies": dependencies}), task)
    assert "These look alike: 0 and 1." in shown[0]
    assert [one["why"] for one in process["rubric"]["dropped"]] == ["overlap"]
    assert process["max"] == 2


def test_something_more_in_the_cart_is_a_failure_with_a_process_in_part(tmp_path: Path) -> None:
    """The penalty decides whatever the model says of the outcome."""
    penalty = {
        "criterion": "Penalise the second kettle",
        "description": "A kettle too many.",
        "max_points": 2,
        "post_image_justification": "two are in the cart",
        "post_image_earned_points": 0,
    }
    brain = Brain(
        rules={
            "side_effects": lambda view: {
                "reasoning": "two kettles",
                "requires_penalty": True,
                "penalty_criteria": [penalty],
            }
        }
    )
    reply = judged(package(tmp_path, [1, 2, 3]), Script(brain))
    process = reply.process
    assert process is not None
    assert (reply.verdict, process["outcome"], process["outcome_of_votes"]) == ("failure", False, True)
    assert reply.reason.startswith("side effect: Penalise the second kettle.")
    assert (process["earned"], process["max"], process["score"]) == (6, 8, 0.75)
    assert process["penalties"] == [
        {"criterion": "Penalise the second kettle", "max": 2, "why": "two are in the cart"}
    ]
    assert reply.raw["items"][-1]["penalty"] is True


def captcha(reported: bool) -> Brain:
    return Brain(
        [item("Read the price", "Report the price on the shop's page", 4)],
        {
            "evidence": noted(c0={"environment_issues_confirmed": True}),
            "rescoring": lambda view: {
                "items": [grade(0, 1.0, kind="outside", prevented=True, reported=reported)]
            },
            "outcome": lambda view: {
                "primary_intent": "the price",
                "reasoning": "a captcha kept it away",
                "output_success": False,
            },
        },
    )


def test_a_captcha_costs_no_process_points_only_if_it_was_reported(tmp_path: Path) -> None:
    task = "Report the price on the shop's page."
    told, process = ran(tmp_path, captcha(True), task)
    assert (told.verdict, process["score"], process["outcome"]) == ("failure", 1.0, False)
    untold, process = ran(tmp_path, captcha(False), task)
    assert (untold.verdict, process["score"], process["outcome"]) == ("failure", 0.25, False)
    assert process["rubric"]["criteria"][0]["adjusted"].startswith("unreported")


def test_a_blocker_that_no_screen_shows_earns_nothing(tmp_path: Path) -> None:
    brain = captcha(True)
    brain.rules["evidence"] = noted()
    _, process = ran(tmp_path, brain, "Report the price on the shop's page.")
    assert process["score"] == 0.25
    assert process["rubric"]["criteria"][0]["adjusted"].startswith("unseen")


def test_a_blocker_that_was_overcome_elsewhere_is_a_success(tmp_path: Path) -> None:
    task = "Report the price on the shop's page."
    brain = captcha(True)
    brain.rules["rescoring"] = lambda view: {"items": [grade(0, 3.5, kind="outside", reported=True)]}
    brain.rules["outcome"] = lambda view: {
        "primary_intent": "the price",
        "reasoning": "right, from another page that was named",
        "output_success": True,
    }
    reply, process = ran(tmp_path, brain, task)
    assert (reply.verdict, process["outcome"], process["success"]) == ("success", True, True)
