"""What differs between two homes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrite.checks import homes
from pyrite.checks.homes import TooManyFiles, diff, digest_file, matches, snapshot


def lay(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_added_removed_changed_renamed_and_ignored(tmp_path: Path) -> None:
    before = lay(tmp_path / "a", {"Documents/x.ods": "1", "Documents/y.ods": "2", "z.txt": "3", "k.txt": "4"})
    after = lay(
        tmp_path / "b",
        {
            "Documents/x.ods": "1 changed",
            "Documents/yy.ods": "2",
            "new.txt": "5",
            "k.txt": "4",
            "Documents/.~lock.x.ods#": "lock",
            "Documents/x.ods~": "backup",
            ".config/a/b.ods": "profile",
            ".local/share/recently-used.xbel": "recent",
        },
    )
    found = diff(snapshot(before), snapshot(after))
    assert found == homes.HomeDiff(
        ("new.txt",), ("z.txt",), ("Documents/x.ods",), (("Documents/y.ods", "Documents/yy.ods"),)
    )
    assert not found.empty
    assert diff(snapshot(before), snapshot(before)).empty


def test_times_and_modes_do_not_count_and_links_are_not_followed(tmp_path: Path) -> None:
    home = lay(tmp_path / "a", {"x": "1", "d/y": "2"})
    first = snapshot(home)
    os.utime(home / "x", (1, 1))
    (home / "x").chmod(0o600)
    assert snapshot(home) == first
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    (home / "out").symlink_to(tmp_path / "outside")
    (home / "x").unlink()
    (home / "x").symlink_to("d/y")
    os.mkfifo(home / "fifo")
    found = snapshot(home)
    assert found["x"] == "link:d/y"
    assert found["out"].startswith("link:")
    assert found["fifo"] == "special"
    assert not any("secret" in path for path in found)
    assert digest_file(home / "x") == "special"


def test_a_flood_of_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "MAX_FILES", 5)
    with pytest.raises(TooManyFiles):
        snapshot(lay(tmp_path, {str(number): "" for number in range(6)}))


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("Documents/a.ods", "Documents/*.ods", True),
        ("Documents/b/a.ods", "Documents/*.ods", False),
        ("Documents/b/a.ods", "Documents/**/*.ods", True),
        ("Documents/a.ods", "Documents/**/*.ods", True),
        ("a.ods", "**/*.ods", True),
        ("a.odsx", "**/*.ods", False),
        ("a\n.ods", "*.ods", True),
        ("ab", "a?", True),
        ("a/", "a?", False),
        ("a1", "a[0-9]", True),
        ("ax", "a[!0-9]", True),
        ("a[", "a[", True),
        ("a.b", "a.b", True),
        ("aXb", "a.b", False),
    ],
)
def test_globs(path: str, glob: str, expected: bool) -> None:
    assert matches(path, [glob]) is expected


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_glob_is_safe(path: str, glob: str) -> None:
    assert matches(path, [glob]) in (True, False)
    assert matches(path, ["**"])


PIECES = st.lists(
    st.sampled_from(["**/", "**", "*", "?", "a", "b", ".", "/", "[ab]", "[!a]", "a/", ".ods"]), max_size=6
)


@settings(max_examples=400, deadline=None)
@given(PIECES, st.lists(st.sampled_from(["a", "b", ".a", "ab.ods", "b.ods", "aa"]), min_size=1, max_size=5))
def test_the_short_cut_by_the_ends_of_a_path_changes_no_answer(pieces: list[str], names: list[str]) -> None:
    glob, path = "".join(pieces), "/".join(names)
    assert matches(path, [glob]) == (homes._pattern(glob).fullmatch(path) is not None)
