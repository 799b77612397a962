"""The demo set as it ships in the package: every image once, end states trimmed, no gt.json.

demo/lock.json                   suite, image and seed of the recording
demo/screens.json                episode -> {screen: image key}
demo/images/<key>.webp           each image once for the whole set
demo/episodes/<episode_id>/      meta.json actions.jsonl final_state.tar.zst final_facts.json
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from pyrite.errors import UsageError
from pyrite.store.bench import Bench
from pyrite.store.images import open_image, pixels_sha256
from pyrite.store.jsonl import is_half, read_json, write_bytes, write_json
from pyrite.store.paths import EpisodePaths
from pyrite.suites.lookup import Lookup
from pyrite.tasks.archive import trim

DEMO = Path(__file__).resolve().parents[1] / "demo"
_KEPT = ("meta.json", "actions.jsonl", "final_facts.json")


def ship(bench: Bench, target: Path, episode_ids: Sequence[str] | None = None) -> int:
    """Write episodes of a bench (default: all) as a shippable set to `target`; returns how many."""
    lookup = Lookup(bench)
    screens: dict[str, dict[str, str]] = {}
    for episode_id in episode_ids or bench.require_episodes():
        source, goal = bench.paths.episode(episode_id), EpisodePaths(target / "episodes" / episode_id)
        goal.root.mkdir(parents=True, exist_ok=True)
        task = lookup.task(bench.meta(episode_id).task_id)
        if task is None:
            raise UsageError(f"the task of episode {episode_id} is not known", where=str(source.meta))
        for name in _KEPT:
            shutil.copyfile(source.root / name, goal.root / name)
        if source.final_state.is_file():
            trim(source.final_state, goal.final_state, reads=task.spec.reads)
        screens[episode_id] = {}
        for path in sorted(source.screens.iterdir()):
            key = pixels_sha256(open_image(path))
            screens[episode_id][path.name] = key
            image = target / "images" / f"{key}.webp"
            if not image.is_file():
                write_bytes(image, path.read_bytes())
    write_json(target / "screens.json", screens)
    kept = {key: value for key, value in bench.lock().items() if not key.startswith("judge")}
    write_json(target / "lock.json", {**kept, "demo": True})
    return len(screens)


def unpack(root: Path, source: Path = DEMO) -> Bench:
    """Lay the shipped episodes into `root`; an episode that is there already is left as it is.

    Raises `UsageError` where `root` holds something else than a demo.
    """
    if root.exists() and not root.is_dir():
        raise UsageError("not a folder", where=str(root), expected="a new folder, or an earlier demo")
    if root.is_dir() and not _is_demo(root) and any(not is_half(p.name) for p in root.iterdir()):
        raise UsageError(
            "this folder holds something else",
            where=str(root),
            expected="a new folder, or an earlier demo",
            next="pyrite demo -o another-folder",
        )
    root.mkdir(parents=True, exist_ok=True)
    if not (root / "lock.json").is_file():
        write_bytes(root / "lock.json", (source / "lock.json").read_bytes())
    bench = Bench.create(root)
    screens = read_json(source / "screens.json")
    with bench.exclusive():
        for episode_id, images in screens.items():
            if not bench.paths.episode(episode_id).meta.is_file():
                _lay(source, bench, episode_id, images)
    return bench


def _is_demo(root: Path) -> bool:
    lock = root / "lock.json"
    found = read_json(lock) if lock.is_file() else None
    return isinstance(found, dict) and bool(found.get("demo"))


def _lay(source: Path, bench: Bench, episode_id: str, images: dict[str, str]) -> None:
    """Copy one episode; its meta.json last, as everywhere."""
    origin, goal = EpisodePaths(source / "episodes" / episode_id), bench.paths.episode(episode_id)
    goal.screens.mkdir(parents=True, exist_ok=True)
    for name, key in images.items():
        shutil.copyfile(source / "images" / f"{key}.webp", goal.screens / name)
    for name in ("actions.jsonl", "final_facts.json", "final_state.tar.zst"):
        if (origin.root / name).is_file():
            shutil.copyfile(origin.root / name, goal.root / name)
    partial = goal.meta.with_suffix(".partial")
    shutil.copyfile(origin.meta, partial)
    os.replace(partial, goal.meta)
