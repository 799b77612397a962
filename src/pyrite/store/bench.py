"""A bench directory: its episodes, its lock, and the one process that may write to it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyrite.errors import BusyError, InputError, UsageError, boundary
from pyrite.records import ActionLine, Facts, Meta, Truth
from pyrite.store.jsonl import is_half, read_json, read_lines, read_record, write_json
from pyrite.store.paths import BenchPaths


def now() -> str:
    """The time as it stands in records: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def inside(folder: Path, relative: str) -> Path:
    """A path that an episode names, kept inside its folder. Raises `InputError` where it is not."""
    with boundary(str(folder), expected="a path below the folder"):
        path = (folder / relative).resolve()
        path.is_file()  # raises for a name that no file can have
    if not path.is_relative_to(folder.resolve()):
        raise InputError(
            f"path {relative!r} leaves the episode", where=str(folder), expected="a path below the folder"
        )
    return path


class Bench:
    """One bench directory. `Bench(path)` opens what exists; `Bench.create(path)` makes it."""

    def __init__(self, root: Path) -> None:
        self.paths = BenchPaths(root)
        if not root.is_dir():
            raise UsageError(
                "no such folder" if not root.exists() else "not a folder",
                where=str(root),
                expected="a bench directory (one with an episodes/ folder)",
                next="pyrite demo",
            )
        if not self.paths.episodes.is_dir():
            found = ", ".join(sorted(p.name for p in root.iterdir())[:6]) or "nothing"
            raise UsageError(
                f"no episodes/ folder here; found {found}",
                where=str(root),
                expected="a bench directory (one with an episodes/ folder)",
                next="pyrite demo",
            )

    @classmethod
    def create(cls, root: Path) -> Bench:
        """Make an empty bench, or open the one that is there."""
        (root / "episodes").mkdir(parents=True, exist_ok=True)
        return cls(root)

    @property
    def root(self) -> Path:
        return self.paths.root

    # --- episodes

    def episode_ids(self) -> list[str]:
        """Ids of the finished episodes, sorted: those whose meta.json is written."""
        folders = (p for p in self.paths.episodes.iterdir() if p.is_dir() and not p.is_symlink())
        return sorted(p.name for p in folders if not p.name.startswith(".") and (p / "meta.json").is_file())

    def require_episodes(self) -> list[str]:
        """The same, or exit 2 where there is none."""
        ids = self.episode_ids()
        if not ids:
            unfinished = sum(1 for p in self.paths.episodes.iterdir() if p.is_dir())
            raise UsageError(
                f"no finished episode ({unfinished} folders without meta.json)",
                where=str(self.paths.episodes),
                expected="at least one episode folder with a meta.json",
                next=f"pyrite record desk -o {self.root}",
            )
        return ids

    def meta(self, episode_id: str) -> Meta:
        meta = read_record(self.paths.episode(episode_id).meta, Meta)
        if meta.episode_id != episode_id:
            raise InputError(
                f"episode_id is {meta.episode_id!r}",
                where=str(self.paths.episode(episode_id).meta),
                expected=f"the name of its folder, {episode_id!r}",
            )
        return meta

    def metas(self) -> Iterator[Meta]:
        """The finished episodes' metas, in order of id."""
        return (self.meta(episode_id) for episode_id in self.episode_ids())

    def actions(self, episode_id: str) -> list[ActionLine]:
        return list(read_lines(self.paths.episode(episode_id).actions, ActionLine))

    def facts(self, episode_id: str) -> Facts | None:
        path = self.paths.episode(episode_id).facts
        return read_record(path, Facts) if path.is_file() else None

    def truth(self, episode_id: str) -> Truth | None:
        path = self.paths.episode(episode_id).truth
        return read_record(path, Truth) if path.is_file() else None

    def inside(self, episode_id: str, relative: str) -> Path:
        """A path that an episode names, kept inside its folder. Raises `InputError` where it is not."""
        return inside(self.paths.episode(episode_id).root, relative)

    # --- lock.json, log.txt

    def lock(self) -> dict[str, Any]:
        """What was resolved so far; empty for a bench of foreign episodes."""
        if not self.paths.lock.is_file():
            return {}
        found = read_json(self.paths.lock)
        if not isinstance(found, dict):
            raise InputError("not an object", where=str(self.paths.lock), expected="a JSON object")
        return found

    def asked(self, section: str, key: str, default: Any) -> Any:
        """One option of lock.json that `run` was asked for; `default` where it was not."""
        found = self.lock().get(section)
        return found.get(key, default) if isinstance(found, dict) else default

    def update_lock(self, **entries: Any) -> None:
        """Merge entries into lock.json; entries that are objects are merged a level down."""
        lock = self.lock()
        for key, value in entries.items():
            if isinstance(value, dict) and isinstance(lock.get(key), dict):
                value = {**lock[key], **value}
            lock[key] = value
        write_json(self.paths.lock, {"schema_version": "1", **lock})

    def log(self, text: str) -> None:
        """Append to log.txt, one stamped line a line of text."""
        with self.paths.log.open("a", encoding="utf-8", errors="backslashreplace") as handle:
            handle.writelines(f"{now()} {line}\n" for line in text.splitlines())

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the bench for writing; a second process is refused with `BusyError`.

        What a process left half-written when it was killed is removed first.
        """
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as exc:
                raise BusyError(
                    "another process is writing to this bench",
                    where=str(self.root),
                    next="wait until it is done, then run the same command again",
                ) from exc
            with self._swept():
                yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _swept(self) -> Iterator[None]:
        """Leave a mark while writing: where it is found, the one who wrote it did not come to its end."""
        mark = self.paths.writing
        if mark.is_file():
            for folder, _, names in os.walk(self.root):
                for name in filter(is_half, names):
                    with suppress(OSError):
                        Path(folder, name).unlink()
        with suppress(OSError):  # where nothing can be written, what is to be written says so
            mark.touch()
        yield
        with suppress(OSError):
            mark.unlink(missing_ok=True)
