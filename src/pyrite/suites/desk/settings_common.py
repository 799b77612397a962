"""What the families on settings share: keys and values beside what they were.

Settings files are hidden, so the home's other hidden files do not count; the file in question does, key by
key, save for what a program notes on its own (`ignored`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyrite.suites.desk.calc_common import NOTES, Make, after
from pyrite.suites.desk.watch import Compared
from pyrite.suites.family import KnownState

Settings = Mapping[str, Any]
MISSING = None


def compare_settings(
    before: Settings,
    now: Settings,
    wanted: Settings,
    *,
    defaults: Settings | None = None,
    watched: Callable[[str], bool] = lambda key: True,
    elsewhere: Callable[[str, Any], bool] = lambda key, value: False,
) -> Compared:
    """`wanted`: key -> value (None: gone). `defaults`: what holds where nothing is written.

    `elsewhere`: whether a value that a key got is the wanted one in a wrong place.
    """
    usual = defaults or {}

    def value(settings: Settings, key: str) -> Any:
        return settings.get(key, usual.get(key, MISSING))

    damage: list[str] = []
    misplaced = False
    for key in dict.fromkeys([*before, *now]):
        if key in wanted or not watched(key) or value(before, key) == value(now, key):
            continue
        damage.append(f"{key[:80]}: {value(before, key)!s:.40} -> {value(now, key)!s:.40}")
        misplaced = misplaced or elsewhere(key, value(now, key))
    found = ", ".join(f"{key.rpartition('/')[2]} = {value(now, key)!s:.40}" for key in wanted)
    if all(_equal(value(now, key), want) for key, want in wanted.items()):
        return Compared("right", found, misplaced, tuple(damage))
    changed = any(not _equal(value(now, key), value(before, key)) for key in wanted)
    return Compared("wrong" if changed else "unchanged", found, misplaced, tuple(damage))


def _equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


# --- known states ------------------------------------------------------------------------------


def noted(home: Path) -> None:
    """A note is changed that nobody asked about."""
    with (home / NOTES).open("a", encoding="utf-8") as text:
        text.write("done\n")


def written(path: str, text: str) -> Make:
    """A file with this text."""

    def make(home: Path) -> None:
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, "utf-8")

    return make


def beside(target: str, good: Make, junk: str) -> tuple[KnownState, ...]:
    """Bad states that every task on one settings file has. `junk`: what its program does not read."""
    copy = f"Documents/{Path(target).name.lstrip('.')}"

    def elsewhere(home: Path) -> None:
        was = (home / target).read_bytes() if (home / target).exists() else None
        good(home)
        (home / copy).write_bytes((home / target).read_bytes())
        if was is None:
            (home / target).unlink()
        else:
            (home / target).write_bytes(was)

    def as_folder(home: Path) -> None:
        (home / target).unlink(missing_ok=True)
        (home / target).mkdir(parents=True)

    return (
        KnownState("untouched", lambda home: None, ("F-ABORT", "F-CLAIM", "F-UNCOMMITTED")),
        KnownState("in_documents", elsewhere, ("F-WRONGTARGET",)),
        KnownState("broken", written(target, junk), ("F-PARTIAL",)),
        KnownState("a_folder", as_folder),
        KnownState("notes_changed", after(good, noted), ("F-SIDEEFFECT",)),
        KnownState("file_left", after(good, written("Documents/done.txt", "done\n")), ("F-SIDEEFFECT",)),
    )
