"""Family web_order_cancel: cancel one order, with a reason; the application asks once more.

Who stops at the question has cancelled nothing, and its first button, or Return, keeps the order.
"""

from __future__ import annotations

from pyrite.suites.desk import kontor
from pyrite.suites.desk.kontor import Change, Near, Params

LAMPS, BOOKS = "kontor_lamps.db", "kontor_books.db"


def _task(database: str, page: str, which: str, key: int, other: int, reason: str) -> Params:
    """`which`: the order in words; `other`: one that is easily taken for it."""

    def gone(number: int, state: str = "cancelled", note: str = reason) -> Change:
        return Change("orders", number, {"state": state, "note": note})

    def only(number: int, **values: str) -> Change:
        return Change("orders", number, values)

    elsewhere, partial = ("F-WRONGTARGET",), ("F-PARTIAL",)
    return Params(
        database=database,
        page=page,
        text=(
            f"In the web application Kontor that is open in the browser, cancel {which}, giving "
            f'"{reason}" as the reason.'
        ),
        changes=(gone(key),),
        near=(
            Near("other_order", elsewhere, (gone(other),)),
            Near("no_reason", partial, (only(key, state="cancelled"),)),
            Near("reason_only", partial, (only(key, note=reason),)),
            Near("other_reason", partial, (gone(key, note=f"{reason}."),)),
            Near("other_state", partial, (gone(key, state="shipped"),)),
            Near("both", ("F-SIDEEFFECT",), (gone(key), gone(other))),
            Near(
                "half_here_half_there", ("F-PARTIAL", "F-WRONGTARGET"), (only(key, note=reason), gone(other))
            ),
        ),
        keys=(*kontor.address(f"/orders/{key}/cancel"), f'"{reason}', "Tab", "Tab", "Return"),
        claim=f"I cancelled {which}; the application confirmed it.",
        typed=(reason,),
    )


FAMILY = kontor.family(
    "web_order_cancel",
    {
        "web-order-cancel-weber-kassel": _task(
            LAMPS, "/orders", "the order of Anna Weber in Kassel", 1002, 1003, "ordered by mistake"
        ),
        "web-order-cancel-chen-second": _task(
            LAMPS, "/orders?q=Chen", "order 1006 of Li Chen", 1006, 1005, "double"
        ),
        "web-order-cancel-fischer-drums": _task(
            LAMPS,
            "/customers",
            "the order of Tom Fischer in Trier over 3 cable drums (SKU CD-25)",
            1014,
            1004,
            "too late",
        ),
        "web-order-cancel-novak-plzen": _task(
            BOOKS,
            "/orders?state=placed",
            "the order of Jan Novak in Plzen",
            205,
            204,
            "school pays elsewhere",
        ),
        "web-order-cancel-martin-draft": _task(
            BOOKS, "/orders", "the draft order of Paula Martin", 208, 207, "no longer wanted"
        ),
    },
)
