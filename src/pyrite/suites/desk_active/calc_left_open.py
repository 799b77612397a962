"""Family calc_left_open: set one cell and leave the document open; the verifier saves it.

The same documents and the same reading as calc_set_cell, but the work may be in the application only. Of
the three tasks one is a document that saves at once, one brings up a question before it is saved
(an Excel format), and one takes its time (48 charts are drawn anew when it is saved).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyrite.checks.verdict import Result
from pyrite.suites.desk import calc_set_cell as base
from pyrite.suites.desk.calc_set_cell import FILES, READS, Params
from pyrite.suites.family import Family, KnownState

PARAMS = {
    "calc-left-open-price-list-d4": Params(
        "price_list_2023.ods", "Tools", "D4", 79.5, "price_list.ods", "Parts"
    ),
    "calc-left-open-headcount-d8": Params(
        "headcount_2024.xlsx", "Plan", "D8", 31.0, "headcount.xlsx", "Actual"
    ),
    "calc-left-open-sales-b9": Params("sales.ods", "Sales", "B9", 64.0, "sales_2023.ods", "Notes"),
}
SAVE_LIMIT_S = 30.0
"""Longest wait for a save: the charts of sales.ods take a second or more, a busy machine many times that."""


def instruction(params: Params) -> str:
    value = f'the text "{params.value}"' if isinstance(params.value, str) else params.typed
    return (
        f"In {params.path}, sheet {params.sheet}, set cell {params.cell} to {value}. "
        "Leave the document open; you need not save it. Leave everything else as it is."
    )


def claim(params: Params) -> str:
    return f"{params.cell} in {params.path} is set to {params.typed}; the document is open."


def script(params: Params) -> list[dict[str, Any]]:
    """As in calc_set_cell, without saving."""
    kept = [action for action in base.script(params) if action.get("keys") != "ctrl+s"]
    return [*kept[:5], {"action": "done"}]


def act(params: Params) -> tuple[dict[str, Any], ...]:
    """Save, and see that it was saved. Excel's format is asked about, and kept."""
    saving: list[dict[str, Any]] = [
        {"step": "activate_window", "title": f"{params.file} - LibreOffice Calc", "match": "exact"},
        {"step": "key", "keys": "ctrl+s"},
    ]
    if params.file.endswith(".xlsx"):
        question = {"title": "Confirm File Format", "match": "exact"}
        saving.append({"step": "wait_for", **question, "timeout_s": 20.0})
        saving.append({"step": "key", "keys": "Return", **question})
    return (*saving, {"step": "wait_for", "file": params.path, "timeout_s": SAVE_LIMIT_S})


def verify(params: Params, home: Path) -> Result:
    """What calc_set_cell makes of the home."""
    return base.verify(params, home)


def good(params: Params) -> tuple[KnownState, ...]:
    return base.good(params)


def harmless(params: Params) -> tuple[KnownState, ...]:
    """Those of calc_set_cell but the one that needs a file saved by LibreOffice: here it saves for real."""
    return tuple(state for state in base.harmless(params) if state.name != "resaved")


def bad(params: Params) -> tuple[KnownState, ...]:
    return base.bad(params)


FAMILY = Family(
    name="calc_left_open",
    domain="office",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=base.initial,
    opened=base.opened,
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
    act=act,
    truth_from="acted",
)
