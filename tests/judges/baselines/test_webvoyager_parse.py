"""The verdict of `webvoyager`, read strictly: in every form of its own prompt, and never out of a denial."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.judges.baselines.webvoyager_parse import strictly
from pyrite.records import Verdict

SAYS = {
    "SUCCESS": Verdict.SUCCESS,
    "NOT SUCCESS": Verdict.FAILURE,
    "FAILURE": Verdict.FAILURE,
}
LABELS = (
    "{}",
    "Verdict: {}",
    "**Verdict:** {}",
    "**Verdict**: {}",
    "Verdict: **{}**",
    "Verdict: __{}__",
    'Verdict: "{}"',
    "- Verdict: {}",
    "Your verdict: {}",
    "My verdict: {}",
    "Final verdict: {}",
    "Your verdict, SUCCESS or NOT SUCCESS: {}",
    "**Your verdict, SUCCESS or FAILURE:** {}",
    "Status: {}",
    "Outcome: {}",
    "Result: {}",
    "Decision: {}",
    "Verdict = {}",
    "Verdict \u2014 {}",
    "My verdict is {}",
    "Hence {}",
    "Hence, my verdict: {}",
    "So the verdict is **{}**",
    "## Verdict\n\n{}",
    "### Verdict:\n**{}**",
    "I would rate this a {}",
)
BEFORE = (
    "",
    "The screen shows the form.\n\n",
    "The cell is not empty. The file was saved.\n",
    "1. The task has two parts.\n2. Both can be seen.\n\n",
    "The agent says that it saved the file, and no screenshot contradicts it.\n\n",
)
BEHIND = {
    Verdict.SUCCESS: (
        "",
        ".",
        "!",
        ". The file was saved.",
        "\n\nThe cell holds the value.",
        ". Nothing is missing.",
    ),
    Verdict.FAILURE: (
        "",
        ".",
        ". The agent did not click.",
        "\nThe agent never saved.",
        " (the file was not saved)",
        " (not saved)",
        " - the agent did not click",
        ", because the dialog is still open.",
        ". It is not a success.",
    ),
}
DENIED = (
    "Verdict: NOT A {}",
    "Verdict: not a {}",
    "This is NOT\nA {}",
    "It cannot be called a {}",
    "It isn't a {}",
    "NO {}",
    "NON-{}",
    "NOT_A {}",
    "__NOT__ a {}",
    "NOT_ _ a {}",
    "LACK OF {}",
    "hardly a {}",
    "nothing like a {}",
    "Anything but a {}",
    "The agent failed to reach {}",
    "If it had been saved it would be a {}",
    "I would not rate this a {}",
    "I would have rated this a {}",
    "I would rate this a {} if it was saved",
    "I would rate this a {}, were it saved",
    "Others would rate this a {}",
    "It is a {}, if the file was saved",
    "Is it a {}?",
    "{}? No.",
    "Verdict: {} (not)",
    "Verdict: {}. Not.",
    "Verdict: {}. No.",
    "Verdict: {}\nNo, wait.",
    "Verdict: {}. However, it is not saved.",
    "Verdict: {}, but the file is not saved.",
    "Verdict: {}. It is not.",
    "Verdict: {} it is not",
    "Verdict: {}. Correction: the file is missing.",
    "Verdict: failure. {}",
    "Verdict: not success. The word {} stands there",
    "Verdict: partially {}",
    "Verdict: uncertain. {}",
    "> Verdict: {}",
    "The page says {}",
    "The dialog reads '{}'.",
    "Verdict: {} or not",
    "Verdict: {}. The agent never saved the file.",
    "Verdict: {}\n\nThe task failed.",
    "Verdict: {}\n\nRevised verdict: failure",
    "Verdict: {}. My own verdict: fail.",
    "{}\nwas not reached.",
    "I cannot give\n\n{}",
    "I cannot give\n\nVerdict: {}",
    "The page tells me to answer\n\n{}",
    "The page tells me to answer:\n\n{}",
    "Verdict: {} (agent's claim)",
    "Verdict: {} according to the agent.",
    "The agent's verdict: {}\nThe file does not exist.",
    "[ ] {}\n[x] FAIL",
    "\u274c {}",
    "~~{}~~",
    "{} = false",
    "Task {}: \u2717",
    "{} rate 0 %",
    "Verdict: kein {}",
    "Verdict: {} criteria unmet",
    "{} means a saved file. The file is unsaved.",
    "The task is a {} when the file is saved. It was left open.",
    "NOT, {}",
    "NOT.{}",
    "N0T {}",
    "Verdict: not. {}",
    "Verdict: N {}",
    "According to the agent, {}.",
    "Verdict: {}\nI disagree.",
    "Verdict: {}\nSo says the agent.",
)
QUOTING = (
    "The agent announced {}. The file is empty.",
    "A {} toast appears and the value is 7.",
    "The page has a green {} box.",
    "The agent ended its run with {}.",
)


def test_each_form_of_the_verdict_line_is_read() -> None:
    for before, label, (word, verdict) in product(BEFORE, LABELS, SAYS.items()):
        for behind in BEHIND[verdict]:
            text = before + label.format(word) + behind
            assert strictly(text).verdict == verdict, text


def test_a_denial_is_never_a_success() -> None:
    words = ("SUCCESS", "SUCCESSFUL", "**SUCCESS**", "_SUCCESS_")
    for before, denied, word in product(BEFORE, DENIED, words):
        text = before + denied.format(word)
        assert strictly(text).verdict != Verdict.SUCCESS, text


def test_a_quoted_success_above_another_verdict_is_no_success() -> None:
    for quoting, label, word in product(
        QUOTING, LABELS, ("Not Success", "not success", "failure", "fail", "No")
    ):
        text = f"{quoting.format('SUCCESS')}\n\n{label.format(word)}"
        assert strictly(text).verdict != Verdict.SUCCESS, text


def test_two_sides_are_no_verdict() -> None:
    for one, other, between in product(LABELS[:-1], LABELS[:-1], (" ", "\n", "\n\n", ". ")):
        for first, second in permutations(SAYS, 2):
            if SAYS[first] != SAYS[second]:
                text = one.format(first) + between + other.format(second)
                found = strictly(text).verdict
                assert found == Verdict.PARSE_ERROR or (between == " " and found != Verdict.SUCCESS), text


_PROSE = st.lists(
    st.sampled_from(
        ("the", "agent", "clicked", "saved", "opened", "a", "file", "and", "it", "is", "not", "empty", "no")
    ),
    max_size=12,
).map(lambda words: " ".join(words).capitalize() + ".\n" if words else "")


@given(_PROSE, st.sampled_from(LABELS), st.sampled_from(sorted(SAYS)), st.sampled_from(("", ".", " ", "\n")))
def test_sentences_before_the_verdict_do_not_change_it(before: str, label: str, word: str, end: str) -> None:
    assert strictly(before + label.format(word) + end).verdict == SAYS[word]


@given(_PROSE, st.sampled_from(DENIED), _PROSE)
def test_sentences_around_a_denial_make_no_success_of_it(before: str, denied: str, after: str) -> None:
    assert strictly(before + denied.format("SUCCESS") + "\n" + after).verdict != Verdict.SUCCESS


@given(st.text(alphabet=st.sampled_from(" \n*_`\"'-.:,"), max_size=6), st.sampled_from(LABELS))
def test_not_before_a_success_never_makes_one(between: str, label: str) -> None:
    assert strictly(label.format(f"NOT{between} SUCCESS")).verdict != Verdict.SUCCESS or _ended(between)


def _ended(between: str) -> bool:
    """Whether a sentence ends between the two, so that "NOT" belongs to another one."""
    return any(mark in between for mark in ".:,\n")


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    found = strictly(text)
    assert (found.verdict == Verdict.PARSE_ERROR) == (found.status != "ok")
    if "SUCCESS" not in text and "FAILURE" not in text:
        assert found.verdict == Verdict.PARSE_ERROR


@pytest.mark.parametrize("word", sorted(SAYS))
def test_the_line_of_the_prompt_without_an_answer_is_no_verdict(word: str) -> None:
    assert strictly("Your verdict, SUCCESS or NOT SUCCESS:").verdict == Verdict.PARSE_ERROR
    assert strictly(f"Your verdict, {word} or another:").verdict == Verdict.PARSE_ERROR
