"""Packages of evidence for these tests: frames of known colours, and actions between them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from tests.judges.universal.brain import TASK, Script

from pyrite.judges.base import Package, Reply
from pyrite.judges.labels import make
from pyrite.records import Evidence, ViewAction
from pyrite.store.images import pixels_sha256, save_png


def package(
    folder: Path,
    frames: Sequence[int],
    *,
    instruction: str = TASK,
    message: str | None = "It costs 39 dollars and is in the cart.",
    actions: Sequence[ViewAction] | None = None,
    **more: Any,
) -> Package:
    """A package whose screens are the frames of these numbers; one action leads from each to the next."""
    keys = []
    for number in frames:
        image = Image.new("RGB", (64, 48), (5 * number, 0, 0))
        key = pixels_sha256(image)
        if not (folder / f"{key}.png").exists():
            save_png(image, folder / f"{key}.png")
        keys.append(key)
    steps = [
        ViewAction(step=i, action="click", parameters={"x": 10 * i, "y": 5}, screen=i)
        for i in range(1, len(frames))
    ]
    first: dict[str, int] = {}
    same = [first.setdefault(key, i) for i, key in enumerate(keys)]
    evidence = Evidence(
        package_id="p_1",
        condition="E3-full+claim",
        instruction=instruction,
        actions=tuple(steps if actions is None else actions),
        images=tuple(keys),
        same_as=tuple(None if i == one else one for i, one in enumerate(same)),
        final_message=message,
        **more,
    )
    return Package(evidence, lambda digest: folder / f"{digest}.png")


def judged(shown: Package, calls: Script, options: str = "", run: int = 1) -> Reply:
    """What universal says of a package."""
    label = f"universal@{options}" if options else "universal"
    return asyncio.run(make(label, calls=calls).judge.judge(shown, run))
