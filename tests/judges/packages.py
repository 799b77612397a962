"""Packages of evidence for tests, with real images in a temporary folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

from pyrite.judges.base import Package
from pyrite.records import Evidence, ViewAction
from pyrite.store.images import pixels_sha256, save_png


def package(folder: Path, number: int = 1, *, screens: int = 1, **more: Any) -> Package:
    """A package whose i-th screen is a plain image; `number` tells it from others."""
    keys = []
    for index in range(screens):
        image = Image.new("RGB", (40, 30), (number % 256, index, 0))
        key = pixels_sha256(image)
        save_png(image, folder / f"{key}.png")
        keys.append(key)
    fields: dict[str, Any] = {
        "package_id": f"p_{number:04d}",
        "condition": "E1-final",
        "instruction": f"Task {number}: set D14 to 4500 and save the file.",
        "actions": (),
        "images": tuple(keys),
    }
    return Package(Evidence(**fields | more), lambda digest: folder / f"{digest}.png")


def typed(step: int = 7, screen: int | None = 0) -> ViewAction:
    """An action as a judge sees it."""
    return ViewAction(step=step, action="type", parameters={"text": "4500"}, screen=screen)
