"""The database of the application, and everything that writes to it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE customers (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, email TEXT NOT NULL, phone TEXT NOT NULL);
CREATE TABLE products (
  id INTEGER PRIMARY KEY, sku TEXT NOT NULL, name TEXT NOT NULL, stock INTEGER NOT NULL);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, product_id INTEGER NOT NULL,
  quantity INTEGER NOT NULL, note TEXT NOT NULL, state TEXT NOT NULL);
CREATE TABLE tickets (
  id INTEGER PRIMARY KEY, title TEXT NOT NULL, customer_id INTEGER NOT NULL, topic TEXT NOT NULL,
  assignee TEXT NOT NULL, priority TEXT NOT NULL, state TEXT NOT NULL);
CREATE TABLE replies (
  id INTEGER PRIMARY KEY, ticket_id INTEGER NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL);
CREATE TABLE requests (
  id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL, quantity INTEGER NOT NULL);
"""
ORDER_STATES = ("draft", "placed", "shipped", "cancelled")
TICKET_STATES = ("open", "waiting", "closed")
PRIORITIES = ("low", "normal", "high", "urgent")
ASSIGNEES = ("nobody", "Ines", "Jonas", "Mara", "Marc")
TOPICS = ("billing", "delivery", "printer", "returns", "website")
BOOKING_DELAY_S = 20.0
"""How long a restock request waits in the queue before it is written."""

Row = sqlite3.Row


class Wrong(Exception):
    """What a form said that cannot be: shown to the person, nothing is written."""


class Data:
    """One connection for all requests, one at a time."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._waiting = 0
        self.notice = ""
        """What the next page is to say."""

    def take_notice(self) -> str:
        """The notice, once."""
        notice, self.notice = self.notice, ""
        return notice

    @property
    def waiting(self) -> int:
        """Restock requests that are accepted and not written yet."""
        return self._waiting

    def rows(self, text: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._lock:
            return self._connection.execute(text, values).fetchall()

    def row(self, table: str, key: int) -> Row | None:
        found = self.rows(f"SELECT * FROM {table} WHERE id = ?", (key,))  # noqa: S608 - names of ours
        return found[0] if found else None

    def insert(self, table: str, values: Mapping[str, Any]) -> int:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        with self._lock:
            text = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - names of ours
            return int(self._connection.execute(text, tuple(values.values())).lastrowid or 0)

    def update(self, table: str, keys: Iterable[int], values: Mapping[str, Any]) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        with self._lock:
            self._connection.execute("BEGIN")
            for key in keys:
                text = f"UPDATE {table} SET {names} WHERE id = ?"  # noqa: S608 - names of ours
                self._connection.execute(text, (*values.values(), key))
            self._connection.execute("COMMIT")

    def restock_later(self, product: int, quantity: int) -> None:
        """Put a request into the queue; a timer writes it after `BOOKING_DELAY_S`."""
        self._waiting += 1
        threading.Timer(BOOKING_DELAY_S, self._restock, (product, quantity)).start()

    def _restock(self, product: int, quantity: int) -> None:
        self.insert("requests", {"product_id": product, "quantity": quantity})
        self._waiting -= 1


def whole(text: str, name: str, most: int = 9999) -> int:
    """A whole number from 1 to `most`; raises `Wrong`."""
    if not text.strip().isdecimal() or not 1 <= int(text.strip()[:9]) <= most:
        raise Wrong(f"{name} must be a whole number from 1 to {most}.")
    return int(text)


def one_of(text: str, known: Sequence[str], name: str) -> str:
    if text not in known:
        raise Wrong(f"Please choose a {name}.")
    return text


def said(text: str, name: str, most: int = 500) -> str:
    """A text that is not empty; raises `Wrong`."""
    found = text.replace("\r\n", "\n").strip()
    if not found or len(found) > most:
        raise Wrong(f"{name} must not be empty, and at most {most} characters.")
    return found
