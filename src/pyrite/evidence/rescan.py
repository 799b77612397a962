"""Search the evidence that is packed already for what no judge may know; writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pyrite.errors import InputError
from pyrite.evidence import packing
from pyrite.evidence.leaks import Leak, Secrets, scan
from pyrite.evidence.view import EpisodeView, Instructions, view
from pyrite.records import Meta
from pyrite.store.bench import Bench


class Rescan(NamedTuple):
    """What the packed evidence holds."""

    packages: int
    leaks: list[Leak]
    broken: dict[str, str]
    """Package -> why it cannot be read, or that it is not the one that the index names."""


def rescan(
    bench: Bench,
    instructions: Instructions,
    secrets: Callable[[Meta], Secrets],
    *,
    opposite: packing.Opposite = packing.unswapped,
) -> Rescan | None:
    """Scan every package that the index names, as it lies there; None where nothing is packed."""
    entries = packing.index(bench)
    if not entries:
        return None
    leaks: list[Leak] = []
    broken: dict[str, str] = {}
    views: dict[str, tuple[EpisodeView, Secrets, str | None]] = {}
    for (episode_id, _), entry in sorted(entries.items()):
        try:
            if episode_id not in views:
                meta = bench.meta(episode_id)
                seen = view(bench, meta, instructions)
                views[episode_id] = seen, secrets(meta), opposite(seen.final_message, meta.message_kind)
            seen, hidden, swapped = views[episode_id]
            shown = packing.visible(seen, swapped)
            leaks += scan(packing.load(bench, entry), hidden, bench.paths, shown)
        except (InputError, OSError) as exc:
            broken[entry.package_id] = str(exc).splitlines()[0][:300]
    return Rescan(len(entries), leaks, broken)
