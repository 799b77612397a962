"""Readers of settings: dconf's database, git's configuration, X resources, LibreOffice's registry."""

from __future__ import annotations

import contextlib
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.checks.gvdb import Value, parse_dconf, read_dconf
from pyrite.checks.keyfiles import read_git_config, read_resources
from pyrite.checks.package import Unreadable
from pyrite.checks.xcu import read_registry
from pyrite.suites.desk.dconf_edits import write_dconf

FILES = Path(__file__).parents[2] / "src/pyrite/suites/desk/files"
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
KEYS = st.text(st.sampled_from("abcxyz-"), min_size=1, max_size=12).map(lambda name: f"/org/{name}")
VALUES = st.one_of(st.booleans(), st.integers(-(2**31), 2**31 - 1), TEXT)


# --- dconf -------------------------------------------------------------------------------------


@given(found=st.dictionaries(KEYS, VALUES, max_size=20))
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read(found: dict[str, Value], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("dconf") / "user"
    write_dconf(path, found or {"/a": True})
    assert read_dconf(path) == (found or {"/a": True})


@pytest.mark.skipif(shutil.which("gsettings") is None, reason="gsettings is not installed here")
def test_dconf_itself_reads_the_shipped_database(tmp_path: Path) -> None:
    (tmp_path / "dconf").mkdir()
    shutil.copyfile(FILES / "desk_settings.dconf", tmp_path / "dconf/user")
    environment = {"PATH": "/usr/bin", "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    command = ["gsettings", "get", "org.xfce.mousepad.preferences.view", "show-whitespace"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "No such schema" in run.stderr:
        pytest.skip("mousepad is not installed here")
    assert run.stdout.strip() == "true"


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_broken_database_is_read_or_unreadable(data: st.DataObject) -> None:
    whole = bytearray((FILES / "desk_settings.dconf").read_bytes())
    for _ in range(data.draw(st.integers(1, 10))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Unreadable):
        parse_dconf(bytes(whole[: data.draw(st.integers(0, len(whole)))]))


def test_entries_below_each_other_end() -> None:
    item = struct.pack("<IIIHcxII", 0, 0, 0, 8, b"v", 0, 8)
    table = struct.pack("<II", 0, 0) + item
    data = b"GVariant" + bytes(8) + struct.pack("<II", 24, 24 + len(table)) + table
    with pytest.raises(Unreadable, match=r"damaged|too_large"):
        parse_dconf(data)


def test_other_types_are_kept_as_bytes(tmp_path: Path) -> None:
    write_dconf(tmp_path / "user", {"/a": "x", "/b": 3})
    data = (tmp_path / "user").read_bytes()
    assert parse_dconf(data.replace(b"\x03\0\0\0\0u", b"\x03\0\0\0\0n"))["/b"] == "03000000006e"


# --- git ---------------------------------------------------------------------------------------

CONFIGS = {
    "plain": "[user]\n\tname = Ana Lind\n\temail=a@b.example ; work\n",
    "quotes": '[alias]\nst = "status --short" # short\nx = a \\"b\\" \\t c\n',
    "cases": "[CORE]\n\tAutoCrlf = Input\n[core]\neditor = vi\n",
    "subsections": '[remote "Origin \\"x\\""]\nurl = /srv\n[branch.main]\nremote = origin\n',
    "no value": "[core]\nbare\n[a]b = c\n",
    "continued": "[core]\neditor = vi \\\n  -R\n[x]\ny =\n",
    "many": "[x]\ny = 1\ny = 2\n# z = 3\n",
}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed here")
@pytest.mark.parametrize("name", CONFIGS)
def test_git_agrees(name: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(CONFIGS[name])
    command = ["git", "config", "--file", str(path), "--list", "--null"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    theirs: dict[str, list[str]] = {}
    for entry in listed.split("\0")[:-1]:
        key, line, value = entry.partition("\n")
        theirs.setdefault(key, []).append(value if line else "true")
    ours = {key: values for key, values in read_git_config(path).items() if not key.startswith("[")}
    assert ours == theirs


@pytest.mark.parametrize(
    "text", ["[user\nx = 1\n", "x = 1\n", '[a]\nb = "c\n', "[a]\nb = \\q\n", "[a]\n1 = 2\n"]
)
def test_what_git_refuses_is_unreadable(text: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(Unreadable):
        read_git_config(tmp_path / "config")


# --- X resources -------------------------------------------------------------------------------


def test_resources(tmp_path: Path) -> None:
    text = "! a note\nXTerm*faceSize:\t11\n Xft.dpi : 96 \nXTerm*faceSize: 12\nlong: a\\\nb\nbroken line\n\n"
    (tmp_path / "x").write_text(text)
    assert read_resources(tmp_path / "x") == {
        "! a note": "",
        "XTerm*faceSize": "12",
        "Xft.dpi": "96 ",
        "long": "ab",
        "line broken line": "",
    }


@given(text=st.one_of(TEXT, st.text(st.sampled_from('[]"\\=:#;! \nab'), max_size=60)))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read_or_unreadable(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_text(text, "utf-8", newline="")
    for read in (read_git_config, read_resources, read_registry):
        with contextlib.suppress(Unreadable):
            read(path)


# --- LibreOffice's registry --------------------------------------------------------------------


def test_registry() -> None:
    found = read_registry(FILES / "desk_office.xcu")
    assert found["/org.openoffice.UserProfile/Data/givenname"] == "Ana"
    assert found["/org.openoffice.Office.Common/Save/Document/AutoSave"] == "false"
    handler = "/org.openoffice.Office.Logging/Settings/unopkg/HandlerSettings/FileURL"
    assert found[handler] == "$(userurl)/$(loggername).log"


def test_a_registry_s_lists_are_told_apart(tmp_path: Path) -> None:
    text = (FILES / "desk_office.xcu").read_text("utf-8")
    item = (
        '<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="SecureURL" '
        'oor:op="fuse"><value><it>file:///a</it><it>file:///b</it></value></prop></item></oor:items>'
    )
    (tmp_path / "x.xcu").write_text(text.replace("</oor:items>", item), "utf-8")
    found = read_registry(tmp_path / "x.xcu")
    assert found["/org.openoffice.Office.Common/Security/Scripting/SecureURL"] == "file:///a\nfile:///b"


@pytest.mark.parametrize(
    "body",
    [
        b'<!DOCTYPE x [<!ENTITY a "b">]><items>&a;</items>',
        b"<items>" + b"<item>" * 100 + b"</item>" * 100 + b"</items>",
        b"<items>" + b"<item/>" * 200_000 + b"</items>",
        b"<other/>",
        b"<items>",
        b"",
    ],
)
def test_a_hostile_registry_is_refused_soon(body: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.xcu").write_bytes(body)
    started = time.process_time()
    with pytest.raises(Unreadable):
        read_registry(tmp_path / "x.xcu")
    assert time.process_time() - started < 5


def test_links_folders_and_large_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(FILES / "desk_office.xcu")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 34)
    for name in ("link", "folder", "large", "missing"):
        for read in (read_dconf, read_git_config, read_resources, read_registry):
            with pytest.raises(Unreadable):
                read(tmp_path / name)
