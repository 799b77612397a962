"""Family web_ticket_bulk: filter the list of tickets, tick some, and change all of them at once.

Ticked is not yet done: the change is made by the button. The filter shows some that are not meant.
"""

from __future__ import annotations

from typing import NamedTuple

from pyrite.suites.desk import kontor
from pyrite.suites.desk.kontor import Change, Near, Params

LAMPS, BOOKS = "kontor_lamps.db", "kontor_books.db"


class Listed(NamedTuple):
    """Tickets that the list shows, in its order."""

    query: str
    shown: tuple[int, ...]
    meant: tuple[int, ...]


def _task(
    database: str, page: str, which: str, listed: Listed, field: str, value: str, wrong: str, outside: int
) -> Params:
    """`which`: the tickets in words; `outside`: one that is not meant."""
    label = {"state": "set state to", "assignee": "assign to", "priority": "set priority to"}[field]
    assigns = field == "assignee"
    words = f"{label} {value} {which}" if assigns else f"{label} {value} for {which}"

    def at(*keys: int, to: str = value) -> tuple[Change, ...]:
        return tuple(Change("tickets", key, {field: to}) for key in keys)

    ticks: list[str] = []
    for key in listed.shown:  # from the button of the filter: the box of a row, then its link
        ticks += ["Tab", "space", "Tab"] if key in listed.meant else ["Tab", "Tab"]
    meant, first, rest = listed.meant, listed.meant[0], listed.meant[1:]
    partial, both = ("F-PARTIAL",), ("F-PARTIAL", "F-WRONGTARGET")
    return Params(
        database=database,
        page=page,
        text=(
            f"In the web application Kontor that is open in the browser, {words}. "
            "Leave all other tickets as they are."
        ),
        changes=at(*meant),
        near=(
            Near("first_only", partial, at(first)),
            Near("all_but_first", partial, at(*rest)),
            Near("wrong_value", partial, at(*meant, to=wrong)),
            Near("one_wrong", partial, (*at(*rest), *at(first, to=wrong))),
            Near("one_more", ("F-SIDEEFFECT",), at(*meant, outside)),
            Near("other_one", ("F-WRONGTARGET",), at(outside)),
            Near("one_swapped", both, at(*rest, outside)),
        ),
        keys=(
            *kontor.address(f"/tickets?{listed.query}"),
            *("Tab", "Tab", "Tab"),
            *ticks,
            "Tab",
            f'"{label} {value}',
            "Tab",
            "Return",
        ),
        claim=f"Done: {words}.",
        typed=(f"{label} {value}",),
    )


FAMILY = kontor.family(
    "web_ticket_bulk",
    {
        "web-ticket-bulk-close-printer": _task(
            LAMPS,
            "/tickets",
            "every ticket with the topic printer whose state is open",
            Listed("topic=printer", (1, 3, 5, 9), (1, 3, 9)),
            "state",
            "closed",
            "waiting",
            5,
        ),
        "web-ticket-bulk-assign-delivery": _task(
            LAMPS,
            "/tickets?state=open",
            "both tickets with the topic delivery",
            Listed("topic=delivery", (4, 11), (4, 11)),
            "assignee",
            "Marc",
            "Mara",
            3,
        ),
        "web-ticket-bulk-billing-ines": _task(
            BOOKS,
            "/tickets",
            "every ticket with the topic billing that is assigned to Ines",
            Listed("topic=billing", (33, 37, 38, 40), (33, 38)),
            "state",
            "waiting",
            "closed",
            40,
        ),
        "web-ticket-bulk-open-unassigned": _task(
            BOOKS,
            "/orders",
            "every open ticket that is assigned to nobody",
            Listed("assignee=nobody", (31, 32, 37), (31, 32)),
            "priority",
            "urgent",
            "high",
            37,
        ),
    },
)
