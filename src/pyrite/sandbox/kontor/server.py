"""The application's server: requests in, pages or redirects out."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from . import pages
from .data import (
    ASSIGNEES,
    ORDER_STATES,
    PRIORITIES,
    TICKET_STATES,
    TOPICS,
    Data,
    Row,
    Wrong,
    one_of,
    said,
    whole,
)

HOST, PORT = "127.0.0.1", 8000
MAX_FORM_BYTES = 64 << 10
_CHANGES = {"state": TICKET_STATES, "assignee": ASSIGNEES, "priority": PRIORITIES}
_ORDERS = """
SELECT orders.*, customers.name, customers.city, products.sku, products.name AS product FROM orders
JOIN customers ON customers.id = customer_id JOIN products ON products.id = product_id
"""
_TICKETS = """
SELECT tickets.*, customers.name, customers.city FROM tickets JOIN customers ON customers.id = customer_id
"""
Form = dict[str, list[str]]


class Redirect(Exception):
    """Go on there, with a notice."""

    def __init__(self, path: str, notice: str) -> None:
        super().__init__(path)
        self.location, self.notice = path, notice


class Missing(Exception):
    """There is no such page."""


class Download(Exception):
    """Not a page but a file."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name)
        self.name, self.text = name, text


def one(form: Form, name: str) -> str:
    return next(iter(form.get(name, ())), "")


# --- what each address does: show(data, form, key) and take(data, form, key) -----------------------


def show_orders(data: Data, form: Form, key: int) -> str:
    state, text = one(form, "state"), one(form, "q")
    return pages.page("Orders", pages.orders(_orders(data, state, text), state, text), one(form, "notice"))


def _orders(data: Data, state: str, text: str = "") -> list[Row]:
    where = "WHERE (? = '' OR state = ?) AND (? = '' OR customers.name LIKE ? OR orders.id = ?)"
    like = f"%{text}%"
    return data.rows(f"{_ORDERS} {where} ORDER BY orders.id", (state, state, text, like, text))


def download_orders(data: Data, form: Form, key: int) -> str:
    state = one(form, "state")
    out = io.StringIO()
    names = ("id", "name", "city", "sku", "product", "quantity", "state", "note")
    writer = csv.writer(out)
    writer.writerow(names)
    writer.writerows([row[name] for name in names] for row in _orders(data, state))
    raise Download(f"orders-{state if state in ORDER_STATES else 'all'}.csv", out.getvalue())


def _order(data: Data, key: int) -> Row:
    found = data.rows(f"{_ORDERS} WHERE orders.id = ?", (key,))
    if not found:
        raise Missing
    return found[0]


def show_order(data: Data, form: Form, key: int) -> str:
    return pages.page(f"Order {key}", pages.order(_order(data, key)), one(form, "notice"))


def take_order(data: Data, form: Form, key: int) -> str:
    row = _order(data, key)
    if row["state"] not in ("draft", "placed"):
        raise Wrong("This order can no longer be changed.")
    changes = {"quantity": whole(one(form, "quantity"), "Quantity"), "note": one(form, "note").strip()[:500]}
    placed = one(form, "do") == "place" and row["state"] == "draft"
    data.update("orders", [key], {**changes, **({"state": "placed"} if placed else {})})
    raise Redirect(f"/orders/{key}", f"Order {key} is placed." if placed else f"Order {key} is saved.")


def show_new_order(data: Data, form: Form, key: int, wrong: str = "") -> str:
    people = data.rows("SELECT * FROM customers ORDER BY name, city")
    things = data.rows("SELECT * FROM products ORDER BY name, sku")
    given = {name: one(form, name) for name in form}
    return pages.page("New order", pages.order_form(people, things, given), wrong=wrong)


def take_new_order(data: Data, form: Form, key: int) -> str:
    try:
        values = {
            "customer_id": _known(data, "customers", one(form, "customer"), "customer"),
            "product_id": _known(data, "products", one(form, "product"), "product"),
            "quantity": whole(one(form, "quantity"), "Quantity"),
            "note": one(form, "note").strip()[:500],
            "state": "placed" if one(form, "do") == "place" else "draft",
        }
    except Wrong as exc:
        return show_new_order(data, form, key, str(exc))
    made = data.insert("orders", values)
    raise Redirect(
        f"/orders/{made}", f"Order {made} is {'placed' if values['state'] == 'placed' else 'saved'}."
    )


def _known(data: Data, table: str, text: str, name: str) -> int:
    if not text.isdecimal() or data.row(table, int(text[:9])) is None:
        raise Wrong(f"Please choose a {name}.")
    return int(text)


def show_cancel(data: Data, form: Form, key: int) -> str:
    row = _order(data, key)
    if row["state"] not in ("draft", "placed"):
        raise Redirect(f"/orders/{key}", "This order can no longer be cancelled.")
    return pages.page(f"Cancel order {key}?", pages.cancel(row))


def take_cancel(data: Data, form: Form, key: int) -> str:
    row = _order(data, key)
    if one(form, "do") != "cancel" or row["state"] not in ("draft", "placed"):
        raise Redirect(f"/orders/{key}", f"Order {key} is kept.")
    reason = one(form, "reason").strip()[:500]
    data.update("orders", [key], {"state": "cancelled", **({"note": reason} if reason else {})})
    raise Redirect(f"/orders/{key}", f"Order {key} is cancelled.")


def show_tickets(data: Data, form: Form, key: int) -> str:
    chosen = {name: one(form, name) for name in ("topic", "state", "assignee") if one(form, name)}
    where = " AND ".join(f"tickets.{name} = ?" for name in chosen) or "1"
    rows = data.rows(f"{_TICKETS} WHERE {where} ORDER BY tickets.id", tuple(chosen.values()))
    body = pages.tickets(rows, chosen)
    return pages.page("Tickets", body, one(form, "notice"), one(form, "wrong"))


def take_tickets(data: Data, form: Form, key: int) -> str:
    name, _, value = one(form, "action").partition(":")
    if name not in _CHANGES or value not in _CHANGES[name]:
        raise Wrong("Please choose what to do with the ticked tickets.")
    keys = [int(text[:9]) for text in form.get("ticket", []) if text.isdecimal()]
    if not keys:
        raise Wrong("No ticket is ticked.")
    data.update("tickets", keys, {name: value})
    back = "&".join(f"{key}={quote(one(form, key))}" for key in ("topic", "assignee") if one(form, key))
    raise Redirect(f"/tickets?{back}", f"{len(keys)} tickets are changed: {name} {value}.")


def _ticket(data: Data, key: int) -> Row:
    found = data.rows(f"{_TICKETS} WHERE tickets.id = ?", (key,))
    if not found:
        raise Missing
    return found[0]


def show_ticket(data: Data, form: Form, key: int) -> str:
    row = _ticket(data, key)
    replies = data.rows("SELECT * FROM replies WHERE ticket_id = ? ORDER BY id", (key,))
    return pages.page(f"Ticket {key}: {row['title']}", pages.ticket(row, replies), one(form, "notice"))


def take_ticket(data: Data, form: Form, key: int) -> str:
    _ticket(data, key)
    known = {**_CHANGES, "topic": TOPICS}
    data.update("tickets", [key], {name: one_of(one(form, name), known[name], name) for name in known})
    raise Redirect(f"/tickets/{key}", f"Ticket {key} is saved.")


def take_new_reply(data: Data, form: Form, key: int) -> str:
    _ticket(data, key)
    state = "sent" if one(form, "do") == "send" else "draft"
    data.insert("replies", {"ticket_id": key, "body": said(one(form, "body"), "The reply"), "state": state})
    raise Redirect(f"/tickets/{key}", "The reply is sent." if state == "sent" else "The draft is saved.")


def _draft(data: Data, key: int) -> Row:
    row = data.row("replies", key)
    if row is None or row["state"] != "draft":
        raise Missing
    return row


def show_reply(data: Data, form: Form, key: int) -> str:
    row = _draft(data, key)
    return pages.page(f"Draft {key} of ticket {row['ticket_id']}", pages.reply(row))


def take_reply(data: Data, form: Form, key: int) -> str:
    ticket = _draft(data, key)["ticket_id"]
    state = "sent" if one(form, "do") == "send" else "draft"
    data.update("replies", [key], {"body": said(one(form, "body"), "The reply"), "state": state})
    raise Redirect(f"/tickets/{ticket}", "The reply is sent." if state == "sent" else "The draft is saved.")


def show_customers(data: Data, form: Form, key: int) -> str:
    text = one(form, "q")
    rows = data.rows("SELECT * FROM customers WHERE name LIKE ? ORDER BY name, city", (f"%{text}%",))
    return pages.page("Customers", pages.customers(rows, text), one(form, "notice"))


def show_customer(data: Data, form: Form, key: int) -> str:
    row = data.row("customers", key)
    if row is None:
        raise Missing
    return pages.page(f"Customer {key}", pages.customer(row), one(form, "notice"))


def take_customer(data: Data, form: Form, key: int) -> str:
    if data.row("customers", key) is None:
        raise Missing
    names = ("name", "city", "email", "phone")
    data.update("customers", [key], {name: said(one(form, name), name.capitalize(), 100) for name in names})
    raise Redirect(f"/customers/{key}", f"Customer {key} is saved.")


def show_stock(data: Data, form: Form, key: int) -> str:
    rows = data.rows("SELECT * FROM products ORDER BY name, sku")
    return pages.page("Stock", pages.stock(rows, data.waiting), one(form, "notice"))


def take_stock(data: Data, form: Form, key: int) -> str:
    product = _known(data, "products", one(form, "product"), "product")
    data.restock_later(product, whole(one(form, "quantity"), "Quantity"))
    raise Redirect("/stock", "The request is accepted and will be booked shortly.")


def show_waiting(data: Data, form: Form, key: int) -> str:
    return f"waiting: {data.waiting}\n"


Answer = Callable[[Data, Form, int], str]
ADDRESSES: tuple[tuple[str, str, Answer], ...] = (
    ("GET", r"/(?:orders)?", show_orders),
    ("GET", r"/orders\.csv", download_orders),
    ("GET", r"/orders/new", show_new_order),
    ("POST", r"/orders/new", take_new_order),
    ("GET", r"/orders/(\d{1,9})", show_order),
    ("POST", r"/orders/(\d{1,9})", take_order),
    ("GET", r"/orders/(\d{1,9})/cancel", show_cancel),
    ("POST", r"/orders/(\d{1,9})/cancel", take_cancel),
    ("GET", r"/tickets", show_tickets),
    ("POST", r"/tickets", take_tickets),
    ("GET", r"/tickets/(\d{1,9})", show_ticket),
    ("POST", r"/tickets/(\d{1,9})", take_ticket),
    ("POST", r"/tickets/(\d{1,9})/reply", take_new_reply),
    ("GET", r"/replies/(\d{1,9})", show_reply),
    ("POST", r"/replies/(\d{1,9})", take_reply),
    ("GET", r"/customers", show_customers),
    ("GET", r"/customers/(\d{1,9})", show_customer),
    ("POST", r"/customers/(\d{1,9})", take_customer),
    ("GET", r"/stock", show_stock),
    ("POST", r"/stock", take_stock),
    ("GET", r"/waiting", show_waiting),
)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    data: Data

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._answer("GET", parts.path, parse_qs(parts.query))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        size = min(int(length), MAX_FORM_BYTES) if length.isdecimal() else 0
        text = self.rfile.read(size).decode("utf-8", "replace")
        self._answer("POST", urlsplit(self.path).path, parse_qs(text, keep_blank_values=True))

    def _answer(self, method: str, path: str, form: Form) -> None:
        form["notice"] = [self.data.take_notice()] if method == "GET" else []
        try:
            self._send(200, self._found(method, path, form))
        except Redirect as there:
            self.data.notice = there.notice
            self._send(303, "", Location=there.location)
        except Download as file:
            kept = f'attachment; filename="{file.name}"'
            self._send(200, file.text, "text/csv; charset=utf-8", Content_Disposition=kept)
        except Wrong as exc:
            back = '<p><a href="javascript:history.back()">Back</a></p>'
            self._send(400, pages.page("Not saved", back, wrong=str(exc)))
        except Missing:
            self._send(404, pages.page("There is no such page", ""))

    def _found(self, method: str, path: str, form: Form) -> str:
        for wanted, pattern, answer in ADDRESSES:
            match = re.fullmatch(pattern, path) if wanted == method else None
            if match is not None:
                return answer(self.data, form, int(match[1]) if match.groups() else 0)
        raise Missing

    def _send(self, status: int, text: str, kind: str = "text/html; charset=utf-8", **headers: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: there is nobody to read it."""


def serve(database: Path, port: int = PORT) -> ThreadingHTTPServer:
    """A server that listens on the loopback; the caller runs it."""
    handler = type("Bound", (Handler,), {"data": Data(database)})
    return ThreadingHTTPServer((HOST, port), handler)
