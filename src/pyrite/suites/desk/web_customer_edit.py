"""Family web_customer_edit: correct the record of one customer, where another has the same or a like name."""

from __future__ import annotations

from pyrite.suites.desk import kontor
from pyrite.suites.desk.kontor import Change, Near, Params

LAMPS, BOOKS = "kontor_lamps.db", "kontor_books.db"
FIELDS = ("name", "city", "email", "phone")
"""In the order of the form; the first one has the focus."""
NAMES = {"name": "name", "city": "city", "email": "e-mail address", "phone": "phone number"}


def _task(database: str, page: str, which: str, key: int, other: int, **values: str) -> Params:
    names = list(values)
    wanted = " and ".join(f'the {NAMES[name]} to "{value}"' for name, value in values.items())
    keys: list[str] = []
    for name in FIELDS:
        keys += ["ctrl+a", f'"{values[name]}'] if name in values else []
        keys.append("Tab")

    def at(number: int, **changed: str) -> Change:
        return Change("customers", number, changed)

    last = names[-1]
    elsewhere, partial = ("F-WRONGTARGET",), ("F-PARTIAL",)
    near = [
        Near("other_customer", elsewhere, (at(other, **values),)),
        Near("both", ("F-SIDEEFFECT",), (at(key, **values), at(other, **values))),
        Near("longer", partial, (at(key, **{**values, last: f"{values[last]}0"}),)),
        Near("upper_case", partial, (at(key, **{**values, last: f"{values[last]} x".upper()}),)),
        Near("new_record", (), (_record(values),)),
        Near("other_field", (), (at(key, **{_unwanted(values): values[last]}),)),
    ]
    if len(names) > 1:
        near.append(Near("first_only", partial, (at(key, **{names[0]: values[names[0]]}),)))
    return Params(
        database=database,
        page=page,
        text=(
            f"In the web application Kontor that is open in the browser, change {wanted} in the record of "
            f"{which}, and save it."
        ),
        changes=(at(key, **values),),
        near=tuple(near),
        keys=(*kontor.address(f"/customers/{key}"), *keys, "Return"),
        claim=f"The record of {which} is changed and saved.",
        typed=tuple(values.values()),
    )


def _record(values: dict[str, str]) -> Change:
    """A customer made anew instead of changed."""
    return Change("customers", None, {**dict.fromkeys(FIELDS, "-"), **values})


def _unwanted(values: dict[str, str]) -> str:
    return next(name for name in reversed(FIELDS) if name not in values)


FAMILY = kontor.family(
    "web_customer_edit",
    {
        "web-customer-edit-weber-email": _task(
            LAMPS,
            "/customers",
            "the customer Anna Weber in Bremen",
            1,
            3,
            email="weber.bremen@example.org",
        ),
        "web-customer-edit-lund-moved": _task(
            LAMPS, "/customers?q=Lund", "the customer Eva Lund in Kiel", 6, 7, city="Husum", phone="04841 220"
        ),
        "web-customer-edit-costa-phone": _task(
            BOOKS, "/orders", "the customer Maria Costa in Porto", 1, 3, phone="22 501 90"
        ),
        "web-customer-edit-martin-name": _task(
            BOOKS,
            "/customers",
            "the customer Paul Martin in Lyon",
            7,
            8,
            name="Paul Martin-Roux",
            email="paul.roux@example.com",
        ),
    },
)
