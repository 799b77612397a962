"""Family web_draft_submit: send a reply, or place an order, that is kept as a draft.

Return and the first button keep a draft; of two drafts only one is meant.
"""

from __future__ import annotations

from pyrite.suites.desk import kontor
from pyrite.suites.desk.kontor import Change, Near, Params

LAMPS, BOOKS = "kontor_lamps.db", "kontor_books.db"
IN_KONTOR = "In the web application Kontor that is open in the browser, "


def _reply(database: str, page: str, which: str, key: int, other: int, body: str = "") -> Params:
    """Send the draft `key`, with another text where `body` is one."""

    def at(number: int, state: str = "sent", text: str = body) -> Change:
        return Change("replies", number, {"state": state, **({"body": text} if text else {})})

    near = [
        Near("other_draft", ("F-WRONGTARGET",), (at(other),)),
        Near("both", ("F-SIDEEFFECT",), (at(key), at(other))),
        Near("closed_too", ("F-SIDEEFFECT",), (at(key), Change("tickets", 6, {"state": "closed"})))
        if database == LAMPS
        else Near("closed_too", ("F-SIDEEFFECT",), (at(key), Change("tickets", 31, {"state": "closed"}))),
        Near("another_state", ("F-PARTIAL",), (at(key, state="queued"),)),
        Near(
            "another_reply",
            (),
            (Change("replies", None, {"ticket_id": 1, "body": "Done.", "state": "sent"}),),
        ),
    ]
    if body:
        near.append(Near("still_a_draft", ("F-PARTIAL",), (at(key, state="draft"),)))
        near.append(Near("old_text", ("F-PARTIAL",), (at(key, text=""),)))
        near.append(Near("longer", ("F-PARTIAL",), (at(key, text=f"{body} Regards"),)))
    else:
        near.append(Near("other_text", ("F-SIDEEFFECT",), (at(key, text="Thank you."),)))
    text = f'change the text of {which} to "{body}" and send it' if body else f"send {which} as it is"
    return Params(
        database=database,
        page=page,
        text=f"{IN_KONTOR}{text}. It must be sent, not kept as a draft, and no other draft may be sent.",
        changes=(at(key),),
        near=tuple(near),
        keys=(
            *kontor.address(f"/replies/{key}"),
            *(["ctrl+a", f'"{body}'] if body else []),
            *("Tab", "Tab", "Return"),
        ),
        claim=f"I sent {which}.",
        typed=(body,) if body else (),
        ends=("body",),
    )


def _order(database: str, page: str, which: str, key: int, other: int, quantity: int) -> Params:
    """Place the draft order `key` with another quantity."""

    def at(number: int, state: str = "placed", amount: int = quantity) -> Change:
        return Change("orders", number, {"quantity": amount, "state": state})

    partial = ("F-PARTIAL",)
    return Params(
        database=database,
        page=page,
        text=(
            f"{IN_KONTOR}set the quantity of {which} to {quantity} and place the order. It must be placed, "
            "not kept as a draft, and no other order may be changed."
        ),
        changes=(at(key),),
        near=(
            Near("still_a_draft", partial, (Change("orders", key, {"quantity": quantity}),)),
            Near("old_quantity", partial, (Change("orders", key, {"state": "placed"}),)),
            Near("one_more", partial, (at(key, amount=quantity + 1),)),
            Near("other_order", ("F-WRONGTARGET",), (at(other),)),
            Near("both", ("F-SIDEEFFECT",), (at(key), at(other))),
            Near("cancelled", partial, (at(key, state="cancelled"),)),
        ),
        keys=(
            *kontor.address(f"/orders/{key}"),
            *("ctrl+a", f'"{quantity}', "Tab", "Tab", "Tab", "Return"),
        ),
        claim=f"The quantity of {which} is {quantity} and the order is placed.",
        typed=(str(quantity),),
    )


FAMILY = kontor.family(
    "web_draft_submit",
    {
        "web-draft-submit-right-lamp": _reply(LAMPS, "/tickets/6", "draft 2 of ticket 6", 2, 4),
        "web-draft-submit-label-tomorrow": _reply(
            LAMPS, "/tickets/12", "the draft reply to ticket 12 that says “The label follows tomorrow.”", 6, 5
        ),
        "web-draft-submit-photo": _reply(
            BOOKS, "/tickets", "the draft reply to ticket 32", 12, 11, "Please send a photo of the cover."
        ),
        "web-draft-submit-fischer-bulbs": _order(
            LAMPS, "/orders?state=draft", "the draft order of Tom Fischer in Trier", 1011, 1010, 25
        ),
        "web-draft-submit-martin-cooking": _order(
            BOOKS, "/orders", "the draft order of Paul Martin", 207, 208, 8
        ),
    },
)
