"""Other people's transcripts of WebJudge as packages and recordings of ours.

The data are third-party and stay outside of the project: PYRITE_SHARED, or a folder `shared` beside it.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pyrite.judges.base import Package
from pyrite.judges.client.base import Image
from pyrite.judges.client.replay import Recorded, Recording
from pyrite.records import Evidence, ViewAction

SHARED = Path(os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[3].parent / "shared")
VERDICTS = SHARED / "data" / "webjudge-on-agentrewardbench" / "verdicts.jsonl.gz"
JOINED = VERDICTS.with_name("joined_test.csv")
EPISODES = SHARED / "data" / "webjudge-episodes" / "episodes.jsonl"
CONDITION = "E3-full+thoughts"
_SNAPSHOTS = "\n\nThe potentially important snapshots of the webpage"


def rows() -> list[dict[str, Any]]:
    """612 single verdicts with every answer but the images; skips where they are not here."""
    if not VERDICTS.is_file():
        pytest.skip(f"no transcripts at {VERDICTS} (set PYRITE_SHARED)")
    with gzip.open(VERDICTS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def episodes() -> list[dict[str, Any]]:
    """28 episodes with screenshots; skips where they are not here."""
    if not EPISODES.is_file():
        pytest.skip(f"no episodes at {EPISODES} (set PYRITE_SHARED)")
    return [json.loads(line) for line in EPISODES.read_text(encoding="utf-8").splitlines()]


def published() -> dict[tuple[str, str, str], dict[str, str]]:
    """The published labels by benchmark, agent and task."""
    with JOINED.open(encoding="utf-8", newline="") as lines:
        return {(row["benchmark"], row["agent"], row["task_id"]): row for row in csv.DictReader(lines)}


def history(row: dict[str, Any]) -> str:
    """The action history as it was sent."""
    sent: str = row["input_text"].partition("Action History:\n")[2]
    return sent.partition(_SNAPSHOTS)[0]


def actions(text: str) -> tuple[ViewAction, ...]:
    """A numbered history as actions; a numbered list inside of an action's text is a part of it."""
    lines = text.split("\n")
    found: list[str] = []
    for at, line in enumerate(lines):
        n = len(found) + 1
        ends = (f"{n}. ", f"{n + 1}. ")
        rest = next((k for k in range(at + 1, len(lines)) if lines[k].startswith(ends)), len(lines))
        if line.startswith(f"{n}. ") and ". Reasoning: " in "\n".join(lines[at:rest]):
            found.append(line.split(". ", 1)[1])
        else:
            found[-1] += f"\n{line}"
    split = [re.fullmatch(r"(.*?)\. Reasoning: (.*)", one, re.DOTALL) for one in found]
    return tuple(
        ViewAction(step=n, action="raw", parameters={"text": one[1]}, thought=one[2])
        for n, one in enumerate(split, 1)
        if one is not None
    )


def package(row: dict[str, Any], pictures: Sequence[Image]) -> Package:
    """What a judge of ours is shown of the row."""
    evidence = Evidence(
        package_id="p_recorded",
        condition=CONDITION,
        instruction=row["goal"],
        actions=actions(history(row)),
        images=tuple(picture.digest for picture in pictures),
        same_as=(None,) * len(pictures),
    )
    made = Package(evidence, Path)
    made.__dict__["pictures"] = tuple(pictures)
    return made


def recording(row: dict[str, Any], image_answers: Sequence[str], verdict: str) -> Recording:
    """The answers by step and position; the key points are recorded as they were read, not as answered."""

    def line(step: str, text: str, position: int = 0) -> Recorded:
        return Recorded(package_id="p_recorded", step=step, position=position, text=text)

    images = [line("image", text, n) for n, text in enumerate(image_answers)]
    points = f"**Key Points**:{row['key_points']}"
    return Recording.of([line("key-points", points), *images, line("verdict", verdict)])
