"""Answers that are made to keep the verifier busy: read, or turned down, in time linear in their length."""

from __future__ import annotations

import json
import time

import pytest

from pyrite.judges.client.base import Answer
from pyrite.judges.universal import baseline
from pyrite.judges.universal.asking import MAX_TEXT, document
from pyrite.judges.universal.records import Criterion, Rubric, Unusable
from pyrite.judges.universal.rubric import ALIKE, MOST_CRITERIA, alike, generated, quoted, similarity

BLANKS = " " * (MAX_TEXT - 1_000)
HOSTILE = {
    "fence": f"```\n{BLANKS}x",
    "tabs": "```\n" + "\t " * (len(BLANKS) // 2) + "x",
    "thought": f"<think>{BLANKS}</think>```\n{BLANKS[:900]}x",
    "tag inside": f"```\n{BLANKS}<think>",
    "channel": "<|channel|>" + "a" * len(BLANKS),
    "channels": "<|channel|> a" * (len(BLANKS) // 13),
    "fences": "<think>a</think>x" + "```\n" * (len(BLANKS) // 4) + "<think>",
    "tags": "</think>" * (len(BLANKS) // 8),
    "braces": "<think>a</think>" + "{" * len(BLANKS),
    "deep": "[" * len(BLANKS),
    "digits": "9" * len(BLANKS),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_answer_is_turned_down_in_a_moment(kind: str) -> None:
    assert len(HOSTILE[kind]) <= MAX_TEXT
    begun = time.process_time()
    with pytest.raises(Unusable):
        document(Answer(text=HOSTILE[kind]))
    assert time.process_time() - begun < 3


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '```json\n{"a": 1}\n```',
        '  ~~~\n{"a": 1}\n  ~~~\n',
        '<think>well</think>```json\n{"a": 1}```',
        '<|channel|>analysis<|message|>well<|end|><|start|>assistant<|channel|>final<|message|>{"a": 1}',
        json.dumps({"a": 1}, indent=600),
        "```\n" + json.dumps({"a": 1}, indent=600) + "\n```",
    ],
)
def test_an_answer_alone_in_a_fence_or_behind_thoughts_is_read(text: str) -> None:
    assert document(Answer(text=text)) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"a": 1}\n```\nI hope so.',
        '```{"a": 1}```',
        '```json\n{"a": 1}\n~~~',
        '```\n{"a": 1}\n```\n```\n{"a": 1}\n```',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
    ],
)
def test_what_is_not_one_object_is_not_taken(text: str) -> None:
    with pytest.raises(Unusable):
        document(Answer(text=text))


def test_a_hostile_rubric_is_looked_through_in_a_moment() -> None:
    begun = time.process_time()
    assert not quoted(" " * 190_000, "Find a kettle")
    assert not quoted("a " * 10_000 + "b", "a " * 10_000)
    assert not quoted("... " * 5_000 + "zebra crossing", "a ... " * 10_000)
    each = MAX_TEXT // MOST_CRITERIA
    items = [
        {
            "criterion": f"{i}",
            "description": ("a b a " * each)[:each],
            "task_quote": "Find a kettle",
            "max_points": 1,
            "condition": None,
            "justification": "",
            "earned_points": "",
        }
        for i in range(MOST_CRITERIA)
    ]
    assert len(generated({"items": items}, "Find a kettle").alike) == MOST_CRITERIA * (MOST_CRITERIA - 1) // 2
    assert time.process_time() - begun < 6


def test_long_names_are_compared_in_a_moment() -> None:
    begun = time.process_time()
    rubric = Rubric(tuple(Criterion("ab" * 10_000, "d", 1) for _ in range(10)))
    items = [{"criterion": "ba" * 10_000, "justification": "x", "earned_points": 1} for _ in range(10)]
    assert len(baseline.read({"items": items}, rubric)) == 10
    items[3]["criterion"] = "z" * 20_000
    with pytest.raises(Unusable, match=r"items\[3\]"):
        baseline.read({"items": items}, rubric)
    assert time.process_time() - begun < 3


def test_quotes_stand_in_their_order_and_end_with_a_word() -> None:
    assert quoted("a kettle ... its price", "Find a kettle, tell its price")
    assert not quoted("its price ... a kettle", "Find a kettle, tell its price")
    assert not quoted("a kett", "Find a kettle")
    assert quoted("again and again", "again and again and again")
    assert not quoted("kettle ... kettle", "Find a kettle")
    assert quoted("kettle […] kettle", "A kettle, a kettle")


def test_similarity() -> None:
    assert similarity([], []) == similarity(["a"], ["a"]) == 1
    assert similarity(["a"], []) == similarity(["a"], ["b"]) == 0
    assert similarity("abcbdab", "bdcaba") == 2 * 4 / 13
    one = Criterion("Find the kettle", "The agent finds a blue kettle under forty dollars.", 1)
    other = Criterion("Find the kettle", "The agent has found a blue kettle under forty dollars.", 1)
    ((i, j, ratio),) = alike([one, other])
    assert (i, j) == (0, 1)
    assert ratio >= ALIKE
    assert not alike([one, Criterion("Tell the price", "The agent says what it costs.", 1)])
