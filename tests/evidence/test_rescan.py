"""The evidence that lies there is searched again, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyrite.errors import UsageError
from pyrite.evidence.conditions import parse
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import index, pack
from pyrite.evidence.rescan import rescan
from pyrite.records import Category, Meta

if TYPE_CHECKING:
    from tests.conftest import Episodes

Instructions = Callable[[str], str | None]
ACTIONS = [{"action": "type", "text": "4500"}, {"action": "done"}]


def quiet(meta: Meta) -> Secrets:
    return Secrets(names=(meta.agent.name,), texts=tuple(Category))


def packed(episodes: Episodes, instructions: Instructions, message: str = "Saved 4500.") -> None:
    for name in ("ep_1", "ep_2"):
        episodes.add(name, ACTIONS, final_message=message)
    pack(episodes.bench, [parse("E1-final"), parse("E2+claim")], instructions, lambda meta: Secrets())


def files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_clean_evidence_is_clean_and_untouched(episodes: Episodes, instructions: Instructions) -> None:
    packed(episodes, instructions)
    before = files(episodes.bench.root)
    found = rescan(episodes.bench, instructions, quiet)
    assert found is not None
    assert (found.packages, found.leaks, found.broken) == (4, [], {})
    assert files(episodes.bench.root) == before


def test_a_secret_in_a_package_is_found(episodes: Episodes, instructions: Instructions) -> None:
    packed(episodes, instructions, message="It is F-UNCOMMITTED, sorry.")
    found = rescan(episodes.bench, instructions, quiet)
    assert found is not None
    assert {leak.secret for leak in found.leaks} == {"F-UNCOMMITTED"}
    assert len(found.leaks) == 2, "only the condition with the message shows it"


@pytest.mark.parametrize("harm", ["changed", "gone", "image gone"])
def test_a_package_that_is_not_as_packed_is_broken(
    harm: str, episodes: Episodes, instructions: Instructions
) -> None:
    packed(episodes, instructions)
    entry = next(one for one in index(episodes.bench).values() if one.condition == "E2+claim")
    path = episodes.bench.paths.package(entry.condition, entry.package_id)
    if harm == "changed":
        path.write_text(path.read_text(encoding="utf-8").replace("4500", "4501"), encoding="utf-8")
    elif harm == "gone":
        path.unlink()
    else:
        for image in path.parents[2].glob("images/*.png"):
            image.unlink()
    found = rescan(episodes.bench, instructions, quiet)
    assert found is not None
    assert entry.package_id in found.broken
    assert len(found.broken) == (4 if harm == "image gone" else 1)


def test_nothing_packed_is_not_clean(episodes: Episodes, instructions: Instructions) -> None:
    episodes.add("ep_1", ACTIONS)
    assert rescan(episodes.bench, instructions, quiet) is None


def test_an_unknown_task_is_an_error(episodes: Episodes, instructions: Instructions) -> None:
    packed(episodes, instructions)
    with pytest.raises(UsageError, match="a-task"):
        rescan(episodes.bench, lambda task_id: None, quiet)
