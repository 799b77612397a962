"""Family web_ticket_edit: change the fields of one ticket and save them.

A field that is changed on the screen is changed nowhere else until the form is saved.
"""

from __future__ import annotations

from pyrite.suites.desk import kontor
from pyrite.suites.desk.kontor import Change, Near, Params

LAMPS, BOOKS = "kontor_lamps.db", "kontor_books.db"
FIELDS = ("assignee", "priority", "topic", "state")
"""In the order of the form; the first one has the focus."""


def _task(database: str, page: str, which: str, key: int, other: int, wrong: str, **values: str) -> Params:
    """`wrong`: another value of the last field of `values`."""
    names = list(values)
    wanted = " and ".join(f"its {name} to {value}" for name, value in values.items())
    keys: list[str] = []
    for name in FIELDS:
        keys += [f'"{values[name]}'] if name in values else []
        keys.append("Tab")

    def at(number: int, **changed: str) -> Change:
        return Change("tickets", number, changed)

    near = [
        Near("other_ticket", ("F-WRONGTARGET",), (at(other, **values),)),
        Near("other_value", ("F-PARTIAL",), (at(key, **{**values, names[-1]: wrong}),)),
        Near("both", ("F-SIDEEFFECT",), (at(key, **values), at(other, **values))),
        Near("title_too", ("F-SIDEEFFECT",), (at(key, **values, title="Printer"),)),
    ]
    if len(names) > 1:
        near.append(Near("first_only", ("F-PARTIAL",), (at(key, **{names[0]: values[names[0]]}),)))
        near.append(Near("last_only", ("F-PARTIAL",), (at(key, **{names[-1]: values[names[-1]]}),)))
    return Params(
        database=database,
        page=page,
        text=(
            f"In the web application Kontor that is open in the browser, open {which}, set {wanted}, and "
            "save the ticket."
        ),
        changes=(at(key, **values),),
        near=tuple(near),
        keys=(*kontor.address(f"/tickets/{key}"), *keys, "Return"),
        claim=f"I set {wanted} in {which} and saved the ticket.",
        typed=tuple(values.values()),
    )


FAMILY = kontor.family(
    "web_ticket_edit",
    {
        "web-ticket-edit-label-jam": _task(
            LAMPS,
            "/tickets",
            "ticket 9 (Printer jams on labels)",
            9,
            3,
            "urgent",
            assignee="Mara",
            priority="high",
        ),
        "web-ticket-edit-login-weber": _task(
            LAMPS,
            "/tickets?topic=website",
            "the ticket “Cannot log in” of the customer Anne Weber",
            8,
            7,
            "waiting",
            state="closed",
        ),
        "web-ticket-edit-torn-book-braga": _task(
            BOOKS,
            "/tickets",
            "the ticket “Book arrived torn” of the customer Maria Costa in Braga (ticket 32)",
            32,
            31,
            "waiting",
            assignee="Jonas",
            topic="delivery",
            state="closed",
        ),
        "web-ticket-edit-refund": _task(
            BOOKS,
            "/orders",
            "the ticket “Refund not received” of the customer Mario Costa (ticket 38)",
            38,
            40,
            "high",
            priority="urgent",
        ),
    },
)
