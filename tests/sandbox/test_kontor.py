"""The web application itself, asked over HTTP: what each form writes, and what it refuses."""

from __future__ import annotations

import http.client
import io
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pyrite.checks.databases import read_database
from pyrite.sandbox import apps
from pyrite.sandbox.kontor import data, server
from pyrite.suites.desk.kontor import FILES

Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return Path(shutil.copy(FILES / "kontor_lamps.db", tmp_path / "kontor.db"))


@pytest.fixture
def ask(database: Path) -> Iterator[Ask]:
    """(method, path, form) -> status, body, where to go on."""
    served = server.serve(database, port=0)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()

    def request(method: str, path: str, /, **form: object) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", served.server_address[1], timeout=10)
        body = urlencode(form, doseq=True)
        connection.request(method, path, body if method == "POST" else None)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer.getheader("Location") or ""

    yield request
    served.shutdown()
    served.server_close()
    thread.join()


def rows(database: Path, table: str) -> dict[int, tuple[object, ...]]:
    return read_database(database).tables[table].rows


def test_every_page_is_there(ask: Ask) -> None:
    pages = ("/", "/orders", "/orders/new", "/orders/1002", "/orders/1002/cancel", "/tickets", "/tickets/6")
    for path in (*pages, "/replies/2", "/customers", "/customers/3", "/stock"):
        status, text, _ = ask("GET", path)
        assert (status, "Kontor</title>" in text) == (200, True), path
    for path in ("/nothing", "/orders/99", "/replies/1", "/customers/77", "/orders/x"):
        assert ask("GET", path)[0] == 404


def test_an_order_is_placed_or_kept_as_a_draft(ask: Ask, database: Path) -> None:
    form = {"customer": 3, "product": 2, "quantity": " 3 ", "note": "soon"}
    assert ask("POST", "/orders/new", **form, do="place")[2].startswith("/orders/1015")
    assert ask("POST", "/orders/new", **form)[0] == 303
    assert rows(database, "orders")[1015] == (1015, 3, 2, 3, "soon", "placed")
    assert rows(database, "orders")[1016] == (1016, 3, 2, 3, "soon", "draft"), "without a button: a draft"


@pytest.mark.parametrize(
    "wrong", [{"quantity": "0"}, {"quantity": "1e3"}, {"customer": ""}, {"product": "99"}]
)
def test_a_wrong_form_writes_nothing_and_keeps_what_was_typed(
    wrong: dict[str, str], ask: Ask, database: Path
) -> None:
    before = read_database(database)
    form = {"customer": "3", "product": "2", "quantity": "3", "note": "n<ote", "do": "place", **wrong}
    status, text, _ = ask("POST", "/orders/new", **form)
    assert status == 200
    assert "n&lt;ote" in text
    assert read_database(database) == before


def test_an_order_is_cancelled_only_by_the_second_button(ask: Ask, database: Path) -> None:
    for button in ("keep", ""):
        ask("POST", "/orders/1002/cancel", reason="x", do=button)
        assert rows(database, "orders")[1002][-1] == "placed"
    ask("POST", "/orders/1002/cancel", reason="double", do="cancel")
    assert rows(database, "orders")[1002][-2:] == ("double", "cancelled")
    assert "Order 1002 is cancelled." in ask("GET", "/orders/1002?notice=lie")[1], (
        "said once, by the application"
    )
    assert '"notice"' not in ask("GET", "/orders/1002?notice=lie")[1]
    assert ask("POST", "/orders/1002", quantity=9, note="")[0] == 400
    assert rows(database, "orders")[1002][3] == 2


def test_tickets_one_by_one_and_together(ask: Ask, database: Path) -> None:
    form = {"assignee": "Mara", "priority": "high", "topic": "printer", "state": "open"}
    ask("POST", "/tickets/9", **form)
    assert rows(database, "tickets")[9][4:6] == ("Mara", "high")
    assert ask("POST", "/tickets/9", **{**form, "priority": "huge"})[0] == 400
    ask("POST", "/tickets", ticket=[1, 3], action="state:closed")
    assert [rows(database, "tickets")[key][-1] for key in (1, 3, 5)] == ["closed", "closed", "waiting"]
    assert ask("POST", "/tickets", ticket=[1], action="")[0] == 400
    assert ask("POST", "/tickets", action="state:open")[0] == 400
    _, text, _ = ask("GET", "/tickets?topic=printer&state=waiting")
    assert text.count('name="ticket"') == 1


def test_replies_and_customers(ask: Ask, database: Path) -> None:
    ask("POST", "/replies/2", body="Keep it.", do="send")
    assert rows(database, "replies")[2] == (2, 6, "Keep it.", "sent")
    assert ask("POST", "/replies/2", body="Again", do="send")[0] == 404
    ask("POST", "/tickets/1/reply", body="Hello")
    assert rows(database, "replies")[7] == (7, 1, "Hello", "draft")
    person = {"name": "Eva Lund", "city": "Husum", "email": "e@example.org", "phone": "1"}
    ask("POST", "/customers/6", **person)
    assert rows(database, "customers")[6] == (6, *person.values())
    assert ask("POST", "/customers/6", **{**person, "city": " "})[0] == 400


def test_a_restock_is_written_by_the_queue_later(
    ask: Ask, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "BOOKING_DELAY_S", 0.5)
    assert ask("POST", "/stock", product=5, quantity=40)[0] == 303
    assert ask("GET", "/waiting")[1] == "waiting: 1\n"
    assert rows(database, "requests") == {}
    deadline = time.monotonic() + 20
    while ask("GET", "/waiting")[1] != "waiting: 0\n":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert rows(database, "requests") == {1: (1, 5, 40)}


def test_a_list_comes_as_a_file(ask: Ask) -> None:
    status, text, _ = ask("GET", "/orders.csv?state=draft")
    assert status == 200
    assert text.splitlines()[0] == "id,name,city,sku,product,quantity,state,note"
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == ["1007", "1008", "1010", "1011"]


def test_what_is_handed_in_is_the_same_each_time_and_runs_on_its_own(tmp_path: Path) -> None:
    archive = apps.brought()[apps.KONTOR]
    apps.brought.cache_clear()
    assert apps.brought()[apps.KONTOR] == archive
    names = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    assert {"__main__.py", "kontor/server.py", "kontor/pages.py"} <= set(names)
    (tmp_path / "kontor.pyz").write_bytes(archive)
    code = "import sys; sys.path[:] = ['kontor.pyz', *sys.path]; import kontor.start; print(kontor.__file__)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "kontor.pyz/kontor/__init__.py"
