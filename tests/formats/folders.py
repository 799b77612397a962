"""Trajectory folders of fara for tests: small ones, with frames of known colours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

TASK = "Find a blue kettle under 40 dollars, put it into the cart and tell me its price."


def fara(
    root: Path,
    name: str,
    frames: Sequence[int] = (1, 2, 3),
    *,
    actions: int | None = None,
    answer: str | None = "It costs 39 dollars.",
    aborted: bool = False,
    text_log: bool = False,
    task: str | None = TASK,
    **more: Any,
) -> Path:
    """One folder; an action on each frame (or so many). With an answer the last one gives it.

    Without one the run was stopped on its way: its last action is one like the others.
    """
    folder = root / name
    folder.mkdir(parents=True)
    for number, shade in enumerate(frames, 1):
        Image.new("RGB", (64, 48), (5 * shade, 0, 0)).save(folder / f"screenshot_{number}.png")
    count = len(frames) if actions is None else actions
    lines: list[dict[str, Any]] = []
    for step in range(1, count + 1):
        last = step == count and answer is not None
        tool = "stop_and_answer_question" if last else "left_click"
        arguments: dict[str, Any] = {"answer": answer} if last else {"coordinate": [step, 5]}
        lines += _text(step, tool, arguments) if text_log else _structured(step, tool, arguments)
    log = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "web_surfer.log").write_text(log, encoding="utf-8")
    said = {
        "final_answer": answer or "<no_answer>",
        "screenshots": [f"screenshot_{number}.png" for number in range(1, len(frames) + 1)],
        "is_aborted": aborted,
        **more,
    }
    (folder / f"{name}_final_answer.json").write_text(json.dumps(said), encoding="utf-8")
    (folder / "times.json").write_text(json.dumps({"start_time": 1762809276.5}), encoding="utf-8")
    if task is not None:
        data = {"task_proposal": task, "init_url": "https://shop.example/"}
        (folder / "task_data.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def _structured(step: int, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    thought = {"thoughts": f"thought {step}"}
    head = {"timestamp": "2025-11-10T13:15:11", "type": "WebSurferEvent", "url": "https://shop.example/"}
    return [
        {**head, "source": "WebSurfer-SummarizedAction", "message": "…", "action": None, "arguments": None},
        {
            **head,
            "source": "WebSurfer",
            "message": "…",
            "action": "computer_use",
            "arguments": {"action": tool, **arguments, **thought},
        },
    ]


def _text(step: int, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    head = {"timestamp": "2025-11-10T13:15:11", "type": "OtherEvent"}
    said = f"Action #{step}: executing tool 'computer_use' with arguments "
    return [
        {**head, "message": f"Thought #{step}: thought {step}"},
        {**head, "message": said + json.dumps({"action": tool, **arguments})},
        {**head, "message": f"Observation#{step}: a page"},
    ]
