"""The claim in a final message: a table of sentences, and safety on anything at all."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.episodes.claims import ASSERTION, DENIAL, claim, opposite

ASSERTED = [
    "D14 in Documents/q3_budget.ods is set to 4500 and the file is saved.",
    "Done.",
    "done",
    "Done! The file has been saved.",
    "Task completed successfully.",
    "The task is complete.",
    "Task complete",
    "All done, thanks.",
    "I've set D14 to 4500 and saved the file.",
    "I have updated the cell and saved the document.",
    "Set D14 to 4500 and saved the file.",
    "Successfully changed the value.",
    "The value was entered in D14 and the workbook was saved.",
    "Cell D14 now contains 4500.",
    "I entered 4500 in D14, pressed Ctrl+S, and the file is saved.",
    "The file was saved without any errors.",
    "No errors occurred; the file is saved.",
    "The document has been saved. Nothing else was changed.",
    "I saved the file and did not change any other cells.",
    "The change is done. No other cells were modified.",
    "At first I could not find the menu, but then I saved the file with Ctrl+S.",
    "Initially the save failed. I retried and the file is now saved.",
    "The first attempt failed, but the file has now been saved.",
    "I was not able to use the menu, so I used Ctrl+S instead and the file is now saved.",
    "I managed to save the file.",
    "I was able to update the cell and save the workbook.",
    "Everything is finished.",
    "Mission accomplished!",
    "The sheet was not protected. I set D14 to 4500 and saved the file.",
    "Saved. Is there anything else I can help with?",
    "The task is done. Would you like me to do anything else?",
    "I didn't need the dialog; the file is saved.",
    'I set cell B9 to the text "not saved" and saved the file.',
    "Cell B9 has been set to the text 'failed' and the file has been saved.",
    "**Done** — D14 is 4500 and the workbook has been saved.",
    "- Opened the file\n- Set D14 to 4500\n- Saved the file",
    "Status: completed",
    "You will find that D14 was set to 4500. The file is saved.",
    "The file didn't fail to save; it was saved.",
    "The request has been fulfilled.",
    "It’s done.",
    '"The file is saved."',
    "The rest of the sheet is unchanged and D14 was updated and saved.",
    "I left everything unchanged except D14, which has been set to 4500 and saved.",
    "The form has been submitted.",
    "I completed the requested change and the file has been saved successfully.",
    "There were no problems. Saved as requested.",
    "The new value has been stored. You may close the window.",
    "Finished: q3_budget.ods updated.",
    "The document is saved and no longer unsaved.",
    "I can confirm that D14 is set to 4500.",
    "I'm done here: there's nothing more to do.",
    "D14 in Documents/q3_budget.ods is 4500 and saved.",
    "Value updated",
    "I did everything you asked.",
    "The task was already done; no changes were necessary.",
]

DENIED = [
    "I could not find the file.",
    "I couldn't save the file.",
    "I couldn’t save the file.",
    "The file was not saved.",
    "Not saved.",
    "not done",
    "I was unable to complete the task.",
    "Unable to open the document.",
    "I failed to save the file.",
    "The task failed.",
    "FAIL",
    "Task infeasible.",
    "This is impossible with the given application.",
    "No changes were made.",
    "I made no changes.",
    "Nothing was done.",
    "Nothing has been changed in the document.",
    "I did nothing.",
    "I give up.",
    "I gave up before saving.",
    "I am giving up on this task; the cell could not be reached.",
    "The task is not complete.",
    "The task isn't finished yet.",
    "The task has not been completed.",
    "The changes have never been saved.",
    "I set D14 to 4500 but could not save the file.",
    "I set the value, but the file is not saved.",
    "Everything is done except the save.",
    "All steps are completed apart from saving the file.",
    "The task is partially complete.",
    "Only part of the task was done.",
    "The value is entered; the file still needs to be saved.",
    "The task is incomplete.",
    "I got stuck in the dialog.",
    "I ran out of steps.",
    "I cannot do this.",
    "I can't continue.",
    "I'm sorry, but I can't access the file.",
    "The file could not be opened, so nothing was changed.",
    "The document is unsaved.",
    "The application crashed before the file was saved.",
    "The save did not succeed.",
    "It did not work.",
    "None of the steps were completed.",
    "I stopped before saving.",
    "The value was typed without saving the file.",
    "I closed the document without saving.",
    "I saved the file, but I entered the value in the wrong cell.",
    "The file doesn't exist.",
    "I was blocked by a password prompt.",
    "Saving the file has failed.",
    "I won't be able to finish this.",
    "The file was saved at first, but then the change was lost.",
    "I refuse to do this.",
    "The value has not yet been entered.",
    "The task has been completed, although the document is read-only so the change isn't persisted.",
    "The file has been saved as a copy because the original could not be overwritten.",
    "Unsuccessful",
]

NONE = [
    "",
    "   \n\t ",
    "Hello.",
    "I think it may be saved.",
    "The file may have been saved.",
    "The file should be saved now.",
    "Hopefully the file is saved.",
    "It is probably done.",
    "I set D14 to 4500 and pressed Ctrl+S, but I am not sure whether it was saved.",
    "The change appears to have been saved.",
    "Is the file saved?",
    "Was the task completed?",
    "Should I save the file?",
    "I have entered the value. Shall I save the file?",
    "Which cell should be changed?",
    "I will save the file.",
    "I'm going to set D14 to 4500 and save the file.",
    "Next I need to press Ctrl+S to have it saved.",
    "Set D14 to 4500 and save the file.",
    "In Documents/q3_budget.ods set D14 to 4500 and save the file.",
    "If the file is saved, the task is complete.",
    "Once the file is saved the task will be complete.",
    'The dialog says "Document saved".',
    "> Task completed successfully.",
    "```\nprint('done')\n```",
    "I clicked on the cell.",
    "I opened the spreadsheet.",
    "The spreadsheet is open.",
    "42",
    "🎉",
    "<script>alert(1)</script>",
    "Looking at the screen, there is a table with twelve rows.",
    "Der Wert steht in D14.",
    "The goal is to have D14 set to 4500.",
    "Please let me know when the file is saved.",
]


@pytest.mark.parametrize("message", ASSERTED)
def test_asserted(message: str) -> None:
    assert claim(message) == "asserted"


@pytest.mark.parametrize("message", DENIED)
def test_denied(message: str) -> None:
    assert claim(message) == "denied"


@pytest.mark.parametrize("message", NONE)
def test_neither(message: str) -> None:
    assert claim(message) == "none"


def test_no_message_claims_nothing() -> None:
    assert claim(None) == "none"


@given(st.text(max_size=500))
def test_any_text_gets_one_of_three(message: str) -> None:
    assert claim(message) in {"asserted", "denied", "none"}
    assert claim(message) == claim(message)


@given(
    st.sampled_from(
        ["not ", "no ", "the ", "a, ", "all ", '"', "`", "'", "still ", "except ", "is ", "now ", " but "]
    ),
    st.integers(1, 200_000),
)
def test_hostile_repeats_are_read_in_bounded_time(piece: str, times: int) -> None:
    started = time.perf_counter()
    claim(piece * times)
    assert time.perf_counter() - started < 2


def test_the_end_of_a_very_long_message_is_read() -> None:
    filler = "The table has twelve rows. " * 40_000
    assert claim(filler + "The file could not be saved.") == "denied"
    assert claim(filler + "The file is saved.") == "asserted"


@pytest.mark.parametrize(
    "message",
    [
        None,
        "",
        "Nothing failed.",
        "None of the steps failed.",
        "The task failed successfully.",
        "No errors, no failure, nothing is missing.",
        "Saved, although I could not verify it.",
        "I was unable to close the dialog, but D14 is set and saved.",
        "I have set the cell, but could not save it.",
        "I think the task is probably done, but please check it.",
        "Leider fertig: die Datei wurde nicht gespeichert.",
        "\u5df2\u4fdd\u5b58\u6587\u4ef6\u3002",
        "Listo, el archivo no se guard\u00f3.",
        "It has 14 rows.",
        "Should I save it?",
        "The file is saved. " + "x" * 9000,
    ],
)
def test_what_is_not_one_claim_throughout_is_not_turned_round(message: str | None) -> None:
    assert opposite(message) is None


def test_a_plain_claim_is_turned_round_and_a_known_kind_decides() -> None:
    for message in ("Done.", "D14 is set to 4500 and the file is saved.", "Nothing failed. Saved."):
        assert opposite(message) == DENIAL
    for message in ("I could not save the file.", "I was unable to finish: the task is not done."):
        assert opposite(message) == ASSERTION
    assert opposite("Nothing failed. Saved.", "admits") == ASSERTION
    assert opposite("B2 = 4.", "asserts") == DENIAL
    assert [opposite("Done.", kind) for kind in ("hedged", "silent", "of another kind")] == [None] * 3
