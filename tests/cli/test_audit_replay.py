"""`pyrite audit --replay` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyrite.cli import run

COMPARATORS = Path(__file__).parents[1] / "audit" / "comparators"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Path("gold.json").write_text('{"name": "gold", "n": 1}')
    Path("start.json").write_text('{"name": "start", "n": 1}')
    return ["--path", str(COMPARATORS), "--expected", "gold.json", "--initial", "start.json"]


def typed(name: str, files: list[str], *more: str) -> int:
    return run(["audit", "--replay", f"own_comparators:{name}", *files, "--no-color", "--quiet", *more])


def test_a_sound_comparator(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("as_json", files) == 0
    text = capsys.readouterr().out
    assert "It accepts every right file and rejects every wrong one" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert sorted(path.name for path in Path().iterdir()) == ["gold.json", "start.json"]


def test_false_accepts_are_exit_1_and_say_how_to_see_them(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("one_key", files) == 1
    text = capsys.readouterr().out
    assert "FALSE ACCEPT  neighbour-changed@gold.json#n" in text
    assert "--keep DIR" in text
    assert typed("one_key", files, "--keep", "kept") == 1
    assert "kept" in capsys.readouterr().out.splitlines()[-1]
    assert Path("kept/expected.json").is_file()


@pytest.mark.parametrize(
    ("name", "code", "headline"),
    [
        ("as_bytes", 1, "rejects 2 right files"),
        ("accepts", 1, "It accepts everything"),
        ("rejects", 1, "It rejects everything"),
        ("raises", 3, "It gives no answer to the expected file itself"),
        ("nothing", 4, ""),
    ],
)
def test_exit_codes(
    name: str, code: int, headline: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(name, files) == code
    seen = capsys.readouterr()
    assert headline in seen.out
    assert ("--path" in seen.err) is (code == 4)


def test_the_document(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--options", '{"key": "n"}', "--accept", ">=1.0", "--result", "start.json"]
    assert typed("one_key", files, *options, "--equivalent", "neighbour-*", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == "1"
    assert (document["accept"], document["options"]) == (">=1.0", {"key": "n"})
    assert document["result"]["got"] == "accept"
    initial = next(case for case in document["cases"] if case["kind"] == "initial")
    assert (initial["wanted"], initial["got"], initial["verdict"]) == ("reject", "accept", "false_accept")


def test_fractions_are_shown_with_what_decided(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    typed("similarity", files)
    assert "no answer until --accept says" in capsys.readouterr().out
    typed("similarity", files, "--accept", ">=0.5")
    assert ">=0.5 decided" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "--replay", "a:b"], "--expected"),
        (["audit", ".", "--replay", "a:b", "--expected", "gold.json"], "do not go with --replay"),
        (["audit", "--html", "x.html", "--replay", "a:b", "--expected", "gold.json"], "do not go with"),
        (["audit", ".", "--initial", "start.json"], "--initial goes with --replay"),
        (["audit", ".", "--path", "."], "--path goes with --replay"),
        (["audit"], "give a PATH"),
        (["audit", "--replay", "a", "--expected", "gold.json"], "module:function"),
        (["audit", "--replay", "a:b", "--expected", "none.json"], "none.json"),
        (["audit", "--replay", "a:b", "--expected", "gold.json", "--accept", "1"], "--accept"),
        (["audit", "--replay", "a:b", "--expected", "gold.json", "--options", "[]"], "--options"),
        (["audit", "--replay", "a:b", "--expected", "gold.json", "--timeout", "x"], "timeout"),
        (["audit", "--replay", "a:b", "--expected", "gold.json", "--keep", "."], "not empty"),
    ],
)
def test_what_is_refused(
    arguments: list[str], message: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--quiet"]) == 2
    assert message in capsys.readouterr().err
