"""Family web_order_create: place an order for one of several customers of the same or a like name.

Return in the form, and its first button, keep a draft: it looks almost the same, and is not an order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrite.suites.desk import kontor
from pyrite.suites.desk.kontor import Change, Near, Params

LAMPS, BOOKS = "kontor_lamps.db", "kontor_books.db"


def _near(
    new: Callable[..., tuple[Change, ...]], quantity: int, other_customer: int, other_product: int
) -> tuple[Near, ...]:
    """What else could have been ordered; `new` makes the order with other values."""
    elsewhere, partial, beside = ("F-WRONGTARGET",), ("F-PARTIAL",), ("F-SIDEEFFECT",)
    return (
        Near("draft", ("F-UNCOMMITTED",), new(state="draft")),
        Near("other_customer", elsewhere, new(customer_id=other_customer)),
        Near("other_product", elsewhere, new(product_id=other_product)),
        Near("one_too_few", partial, new(quantity=quantity - 1)),
        Near("twice", beside, new() + new()),
        Near("draft_too", beside, new() + new(state="draft")),
        Near(
            "other_customer_draft",
            ("F-UNCOMMITTED", "F-WRONGTARGET"),
            new(customer_id=other_customer, state="draft"),
        ),
        Near("other_note", partial, new(note="as discussed")),
    )


def _task(
    database: str,
    page: str,
    person: tuple[str, str, int, int],
    thing: tuple[str, str, int, int],
    quantity: int,
    note: str = "",
) -> Params:
    """Person and thing: name, city or SKU, row id, row id of one that is easily taken for it."""
    name, city, customer, other_customer = person
    product_name, sku, product, other_product = thing
    order: dict[str, Any] = {
        "customer_id": customer,
        "product_id": product,
        "quantity": quantity,
        "note": note,
        "state": "placed",
    }

    def new(**other: Any) -> tuple[Change, ...]:
        return (Change("orders", None, {**order, **other}),)

    said = f' Put "{note}" into its note.' if note else " Leave its note empty."
    return Params(
        database=database,
        page=page,
        text=(
            f"In the web application Kontor that is open in the browser, place an order for the customer "
            f"{name} in {city}: {quantity} of the product {product_name} with SKU {sku}.{said} "
            "The order must be placed, not kept as a draft."
        ),
        changes=new(),
        near=_near(new, quantity, other_customer, other_product),
        keys=(
            *(() if page == "/orders/new" else kontor.address("/orders/new")),
            f'"{name}, {city}',
            "Tab",
            f'"{product_name} ({sku})',
            "Tab",
            f'"{quantity}',
            "Tab",
            *([f'"{note}'] if note else []),
            "Tab",
            "Tab",
            "Return",
        ),
        claim=f"The order of {quantity} {product_name} ({sku}) for {name} in {city} is placed.",
        typed=(str(quantity),),
        where=("customer_id", "product_id"),
        draft=("state", "draft"),
    )


FAMILY = kontor.family(
    "web_order_create",
    {
        "web-order-create-weber-lamps": _task(
            LAMPS, "/orders/new", ("Anna Weber", "Kassel", 3, 1), ("Desk lamp", "DL-12", 2, 1), 3
        ),
        "web-order-create-fischer-drums": _task(
            LAMPS,
            "/orders",
            ("Tom Fischer", "Trier", 9, 2),
            ("Cable drum 50 m", "CD-50", 5, 4),
            12,
            "deliver to the yard",
        ),
        "web-order-create-novak-grammars": _task(
            BOOKS, "/orders", ("Jan Novak", "Plzen", 5, 4), ("Grammar, part 3", "GR-3P", 6, 5), 28
        ),
        "web-order-create-martin-cooking": _task(
            BOOKS,
            "/customers",
            ("Paula Martin", "Lyon", 8, 7),
            ("Cooking for four", "CK-4P", 4, 3),
            2,
            "gift wrap",
        ),
    },
)
