"""Family web_restock: ask the web application for more of a product; a queue writes the request later.

The application accepts a request at once and books it 20 s afterwards, so the state that an agent leaves
does not hold it yet: the verifier waits until the queue is empty, and then looks.
"""

from __future__ import annotations

from typing import Any

from pyrite.suites.desk import kontor
from pyrite.suites.desk.kontor import Change, Near, Params

LAMPS, BOOKS = "kontor_lamps.db", "kontor_books.db"
QUEUE_LIMIT_S = 90.0
"""Longest wait for the queue: a request takes 20 s, a busy machine more."""


def act(params: Params) -> tuple[dict[str, Any], ...]:
    """Wait until nothing is in the queue any more, as the application itself says."""
    address = "http://127.0.0.1:8000/waiting"
    return (
        {"step": "activate_window", "title": "Chromium$", "match": "regex"},
        {
            "step": "wait_for",
            "http": address,
            "output": "waiting: 0",
            "timeout_s": QUEUE_LIMIT_S,
            "poll_s": 0.5,
        },
    )


def _task(database: str, page: str, name: str, sku: str, product: int, other: int, quantity: int) -> Params:
    """`other`: a product that is easily taken for it."""

    def asked(number: int = product, amount: int = quantity) -> Change:
        return Change("requests", None, {"product_id": number, "quantity": amount})

    return Params(
        database=database,
        page=page,
        text=(
            "In the web application Kontor that is open in the browser, on the page Stock, request a restock "
            f"of {quantity} of the product {name} with SKU {sku}, once. You need not wait until the "
            "request is booked."
        ),
        changes=(asked(),),
        near=(
            Near("other_product", ("F-WRONGTARGET",), (asked(other),)),
            Near("one_less", ("F-PARTIAL",), (asked(amount=quantity - 1),)),
            Near("ten_times", ("F-PARTIAL",), (asked(amount=10 * quantity),)),
            Near("twice", ("F-SIDEEFFECT",), (asked(), asked())),
            Near("both_products", ("F-SIDEEFFECT",), (asked(), asked(other))),
            Near("stock_edited", (), (Change("products", product, {"stock": quantity}),)),
        ),
        keys=(
            *(() if page == "/stock" else kontor.address("/stock")),
            f'"{name} ({sku})',
            "Tab",
            f'"{quantity}',
            "Tab",
            "Return",
        ),
        claim=f"I requested {quantity} more of {name} ({sku}); the application accepted it.",
        typed=(str(quantity),),
        where=("product_id",),
    )


FAMILY = kontor.family(
    "web_restock",
    {
        "web-restock-cable-drums": _task(LAMPS, "/stock", "Cable drum 50 m", "CD-50", 5, 4, 40),
        "web-restock-desk-lamps": _task(LAMPS, "/orders", "Desk lamp", "DL-12", 2, 1, 25),
        "web-restock-atlas": _task(BOOKS, "/tickets", "Atlas of rivers", "AT-1H", 2, 1, 6),
    },
)._replace(act=act, truth_from="acted")
