"""`pyrite audit` as it is typed: the table, the document, the page, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyrite.cli import run

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Three tasks: passive, active with a hostile title, and no JSON."""
    folder = tmp_path / "bench" / "examples" / "calc"
    folder.mkdir(parents=True)
    result = {"type": "vm_file", "path": "/home/user/a.xlsx", "dest": "a.xlsx"}
    passive = {"id": "a", "instruction": "x", "evaluator": {"func": "compare_csv", "result": result}}
    active = json.loads(json.dumps(passive))
    active["id"] = "b"
    active["evaluator"]["postconfig"] = [
        {"type": "activate_window", "parameters": {"window_name": f"{HOSTILE}.xlsx - Calc", "strict": True}},
        {"type": HOSTILE, "parameters": {}},
    ]
    (folder / "a.json").write_text(json.dumps(passive), encoding="utf-8")
    (folder / "b.json").write_text(json.dumps(active), encoding="utf-8")
    (folder / "c.json").write_text("{", encoding="utf-8")
    return tmp_path / "bench"


def test_the_table_fits_and_findings_alone_are_exit_0(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", str(bench), "--no-color", "--quiet"]) == 0
    seen = capsys.readouterr()
    lines = seen.out.splitlines()
    assert all(len(line) <= 100 for line in lines if not line.startswith(("next", "page")))
    assert "1 of 2 tasks act before they look (50.0\u202f%)." in seen.out
    assert "1 task of 3 cannot be told: not json 1." in " ".join(seen.out.split())
    assert "\x1b" not in seen.out
    assert lines[-1].startswith("next     pyrite audit ")


def test_the_document(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", str(bench), "--json", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    document = json.loads(text)
    assert document["schema_version"] == "1"
    counts = {"tasks", "active", "passive", "infeasible", "tiers", "steps", "hazards", "gold_classes"}
    assert document.keys() >= counts | {"findings", "digest"}
    assert set(document["tiers"]) == {"0", "1a", "1b", "2", "3", "4"}
    assert set(document["steps"]) == {"config", "postconfig", "both"}
    assert set(document["gold_classes"]) == set("ABCDE")
    assert [row["tier"] for row in document["per_task"]] == ["1a", "3", None]


def test_the_page_escapes_what_it_quotes_and_is_not_written_over(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "a.html"
    assert run(["audit", str(bench), "--html", str(page), "--quiet"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<img" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "src=" not in text.replace("img src=x", "")
    assert run(["audit", str(bench), "--html", str(page), "--quiet"]) == 0, "its own page is written anew"
    page.write_text("mine", encoding="utf-8")
    assert run(["audit", str(bench), "--html", str(page), "--quiet"]) == 2
    assert "not the page of an audit" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == "mine"


def test_nothing_is_written_into_what_is_audited(bench: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in bench.rglob("*")}
    assert run(["audit", str(bench), "--quiet"]) == 0
    assert {path: path.stat().st_mtime_ns for path in bench.rglob("*")} == before


def test_where_nothing_can_be_told_it_is_exit_3(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        (bench / "examples" / "calc" / f"{name}.json").unlink()
    assert run(["audit", str(bench), "--quiet"]) == 3
    assert "Of none of 1 task can it be told" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "no such file or folder"),
        (["."], "no task definitions"),
        ([".", "--format", "osword"], "osword"),
        ([".", "--format", "harbor"], "no task of Harbor"),
        ([".", "--html", "page.txt"], "not the name of a page"),
        ([".", "--html", "nowhere/page.html"], "no such folder"),
    ],
)
def test_what_is_refused_says_what_was_expected(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["audit", *arguments, "--quiet"]) == 2
    seen = capsys.readouterr()
    assert message in seen.err
    assert seen.out == ""
    assert list(tmp_path.iterdir()) == []


def test_formats_of_the_command_are_those_of_the_readers() -> None:
    from pyrite.audit.readers import READERS
    from pyrite.cli.audit import FORMATS

    assert set(FORMATS) == set(READERS)
