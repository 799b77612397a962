"""The pages of the application as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .data import ASSIGNEES, ORDER_STATES, PRIORITIES, TICKET_STATES, TOPICS, Row

_STYLE = """
* { box-sizing: border-box } body { margin: 0; font: 15px "DejaVu Sans", sans-serif; color: #222 }
header { background: #24415f; color: #fff; padding: 8px 16px; display: flex; gap: 20px }
header a { color: #dbe7f3; text-decoration: none } main { padding: 10px 18px; max-width: 1000px }
h1 { font-size: 19px; margin: 6px 0 10px } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: 3px 8px; border-bottom: 1px solid #ddd; font-size: 14px }
label { display: block; margin: 7px 0 2px } input, select, textarea, button { font: inherit }
textarea { width: 560px; height: 74px } .row { display: flex; gap: 10px; align-items: end; margin: 4px 0 }
.row label { margin: 0 } .notice { background: #e2f2e2; padding: 6px 10px; margin: 6px 0 }
.wrong { background: #f8dede; padding: 6px 10px; margin: 6px 0 } button { margin-right: 8px }
form.block { margin: 0 0 14px } :focus { outline: 2px solid #d98c00 }
"""


def page(title: str, body: str, notice: str = "", wrong: str = "") -> str:
    """A whole page; `body` is HTML, the rest is text."""
    said = f'<div class="notice">{escape(notice)}</div>' if notice else ""
    said += f'<div class="wrong">{escape(wrong)}</div>' if wrong else ""
    links = "".join(
        f'<a href="/{name}">{name.capitalize()}</a>' for name in ("orders", "tickets", "customers", "stock")
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} - Kontor</title>'
        f'<link rel="icon" href="data:,"><style>{_STYLE}</style></head><body>'
        f"<header><b>Kontor</b>{links}</header><main><h1>{escape(title)}</h1>{said}{body}</main></body></html>"
    )


def options(values: Iterable[tuple[object, str]], chosen: object) -> str:
    return "".join(
        f'<option value="{escape(str(value))}"{" selected" if str(value) == str(chosen) else ""}>'
        f"{escape(label)}</option>"
        for value, label in values
    )


def select(
    name: str, label: str, values: Iterable[tuple[object, str]], chosen: object, more: str = ""
) -> str:
    return (
        f'<div><label for="{name}">{label}</label><select id="{name}" name="{name}" {more}>'
        f"{options(values, chosen)}</select></div>"
    )


def field(name: str, label: str, value: object, more: str = "") -> str:
    return (
        f'<div><label for="{name}">{label}</label>'
        f'<input id="{name}" name="{name}" value="{escape(str(value))}" autocomplete="off" {more}></div>'
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are HTML."""
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{body}</table>"


def _same(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


def _buttons(*named: tuple[str, str]) -> str:
    return (
        "<p>"
        + "".join(f'<button name="do" value="{value}">{label}</button>' for value, label in named)
        + "</p>"
    )


# --- orders ---------------------------------------------------------------------------------------


def orders(rows: Sequence[Row], state: str, text: str) -> str:
    chosen = select("state", "State", [("", "all"), *_same(ORDER_STATES)], state)
    search = field("q", "Customer or number", text, "autofocus")
    form = f'<form class="row">{search}{chosen}<button>Filter</button><a href="/orders/new">New order</a>'
    form += f'<a href="/orders.csv?state={escape(state)}">Download as CSV</a></form>'
    listed = (
        (
            f'<a href="/orders/{row["id"]}">{row["id"]}</a>',
            *(escape(str(row[name])) for name in ("name", "city", "sku", "product", "quantity", "state")),
        )
        for row in rows
    )
    return form + _table(("No.", "Customer", "City", "SKU", "Product", "Qty", "State"), listed)


def order_form(customers: Sequence[Row], products: Sequence[Row], given: dict[str, str]) -> str:
    people = [("", "choose …"), *((row["id"], f"{row['name']}, {row['city']}") for row in customers)]
    things = [("", "choose …"), *((row["id"], f"{row['name']} ({row['sku']})") for row in products)]
    return (
        '<form class="block" method="post" action="/orders/new">'
        + select("customer", "Customer", people, given.get("customer", ""), "autofocus")
        + select("product", "Product", things, given.get("product", ""))
        + field("quantity", "Quantity", given.get("quantity", ""))
        + field("note", "Note", given.get("note", ""), 'size="50"')
        + _buttons(("draft", "Save as draft"), ("place", "Place order"))
        + "</form>"
    )


def order(row: Row) -> str:
    facts = _table(
        ("Customer", "City", "SKU", "Product", "State"),
        [[escape(str(row[name])) for name in ("name", "city", "sku", "product", "state")]],
    )
    number = row["id"]
    if row["state"] == "draft":
        buttons = _buttons(("save", "Save draft"), ("place", "Place order"))
    elif row["state"] == "placed":
        buttons = _buttons(("save", "Save changes"))
    else:
        return f"{facts}<p>Quantity {row['quantity']}. Note: {escape(row['note']) or 'none'}</p>"
    return (
        f'{facts}<form class="block" method="post" action="/orders/{number}">'
        + field("quantity", "Quantity", row["quantity"], "autofocus")
        + field("note", "Note", row["note"], 'size="50"')
        + f'{buttons}</form><p><a href="/orders/{number}/cancel">Cancel this order …</a></p>'
    )


def cancel(row: Row) -> str:
    what = f"{row['quantity']} x {row['product']} for {row['name']}, {row['city']}"
    reason = field("reason", "Reason (kept as the note of the order)", "", 'autofocus size="50"')
    return (
        f"<p>Order {row['id']}: {escape(what)}.</p><p>A cancelled order cannot be placed again.</p>"
        f'<form class="block" method="post" action="/orders/{row["id"]}/cancel">{reason}'
        + _buttons(("keep", "Keep the order"), ("cancel", "Yes, cancel it"))
        + "</form>"
    )


# --- tickets --------------------------------------------------------------------------------------


def tickets(rows: Sequence[Row], chosen: dict[str, str]) -> str:
    everything = [("", "all")]
    filters = (
        select("topic", "Topic", everything + _same(TOPICS), chosen.get("topic", ""), "autofocus")
        + select("state", "State", everything + _same(TICKET_STATES), chosen.get("state", ""))
        + select("assignee", "Assignee", everything + _same(ASSIGNEES), chosen.get("assignee", ""))
    )
    actions = [("", "choose …"), *((f"state:{name}", f"set state to {name}") for name in TICKET_STATES)]
    actions += [(f"assignee:{name}", f"assign to {name}") for name in ASSIGNEES]
    actions += [(f"priority:{name}", f"set priority to {name}") for name in PRIORITIES]
    listed = (
        (
            f'<input type="checkbox" name="ticket" value="{row["id"]}" aria-label="ticket {row["id"]}">',
            f'<a href="/tickets/{row["id"]}">{row["id"]}</a>',
            *(escape(row[key]) for key in ("title", "name", "topic", "assignee", "priority", "state")),
        )
        for row in rows
    )
    heads = ("", "No.", "Title", "Customer", "Topic", "Assignee", "Priority", "State")
    hidden = "".join(
        f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in chosen.items()
    )
    return (
        f'<form class="row">{filters}<button>Filter</button></form><form method="post" action="/tickets">'
        f"{hidden}{_table(heads, listed)}<div class='row'>"
        f"{select('action', 'With the ticked ones', actions, '')}<button>Apply</button></div></form>"
    )


def ticket(row: Row, replies: Sequence[Row]) -> str:
    number = row["id"]
    form = (
        f'<form class="block" method="post" action="/tickets/{number}"><div class="row">'
        + select("assignee", "Assignee", _same(ASSIGNEES), row["assignee"], "autofocus")
        + select("priority", "Priority", _same(PRIORITIES), row["priority"])
        + select("topic", "Topic", _same(TOPICS), row["topic"])
        + select("state", "State", _same(TICKET_STATES), row["state"])
        + '<button name="do" value="save">Save</button></div></form>'
    )
    said = _table(
        ("Reply", "State", ""),
        (
            (
                escape(reply["body"]),
                reply["state"],
                f'<a href="/replies/{reply["id"]}">Edit draft {reply["id"]}</a>'
                if reply["state"] == "draft"
                else "",
            )
            for reply in replies
        ),
    )
    return (
        f"<p>{escape(row['name'])}, {escape(row['city'])}</p>{form}{said}"
        f'<form class="block" method="post" action="/tickets/{number}/reply">{_reply_fields("")}</form>'
    )


def reply(row: Row) -> str:
    fields = _reply_fields(row["body"], "autofocus")
    return f'<form class="block" method="post" action="/replies/{row["id"]}">{fields}</form>'


def _reply_fields(body: str, more: str = "") -> str:
    return (
        f'<label for="body">Reply</label><textarea id="body" name="body" {more}>{escape(body)}</textarea>'
        + _buttons(("draft", "Save draft"), ("send", "Send"))
    )


# --- customers and stock --------------------------------------------------------------------------


def customers(rows: Sequence[Row], text: str) -> str:
    form = f'<form class="row">{field("q", "Name", text, "autofocus")}<button>Filter</button></form>'
    listed = (
        (
            f'<a href="/customers/{row["id"]}">{row["id"]}</a>',
            *(escape(row[name]) for name in ("name", "city", "email", "phone")),
        )
        for row in rows
    )
    return form + _table(("No.", "Name", "City", "E-mail", "Phone"), listed)


def customer(row: Row) -> str:
    return (
        f'<form class="block" method="post" action="/customers/{row["id"]}">'
        + field("name", "Name", row["name"], 'autofocus size="40"')
        + field("city", "City", row["city"], 'size="40"')
        + field("email", "E-mail", row["email"], 'size="40"')
        + field("phone", "Phone", row["phone"], 'size="40"')
        + _buttons(("save", "Save"))
        + "</form>"
    )


def stock(rows: Sequence[Row], waiting: int) -> str:
    things = [("", "choose …"), *((row["id"], f"{row['name']} ({row['sku']})") for row in rows)]
    form = (
        '<form class="row" method="post" action="/stock">'
        + select("product", "Product", things, "", "autofocus")
        + field("quantity", "Quantity", "")
        + "<button>Request restock</button></form>"
    )
    queue = f"<p>Requests being booked: {waiting}</p>" if waiting else ""
    listed = [[escape(str(row[name])) for name in ("sku", "name", "stock")] for row in rows]
    return form + queue + _table(("SKU", "Product", "In stock"), listed)
