"""Benches for tests, small and made in a temporary folder; and the figures that tests report.

A test that measures something says so with `record_property("figure", "0 of 10 ...")`; the figures of
all tests are listed at the end of a run, also of one that is spread over several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pyrite.records import ActionLine, Agent, Meta
from pyrite.store.bench import Bench
from pyrite.store.images import save_webp
from pyrite.store.jsonl import append_lines, write_record


@dataclass
class Episodes:
    """Makes episodes in one bench."""

    bench: Bench
    instruction: str = "In Documents/a.ods, sheet Q3, set cell D14 to 4500 and save the file."
    made: list[str] = field(default_factory=list)

    def add(
        self,
        episode_id: str,
        actions: list[dict[str, Any]],
        *,
        colours: list[int] | None = None,
        **meta: Any,
    ) -> Meta:
        """One episode whose i-th screen is a plain image of colour i (or `colours[i]`)."""
        paths = self.bench.paths.episode(episode_id)
        paths.screens.mkdir(parents=True)
        shades = colours or list(range(len(actions) + 1))
        save_webp(Image.new("RGB", (40, 30), (shades[0], 0, 0)), paths.screens / "000.webp")
        lines = []
        for step, action in enumerate(actions, 1):
            name = f"screens/{step:03d}.webp"
            save_webp(Image.new("RGB", (40, 30), (shades[step], 0, 0)), paths.root / name)
            lines.append(ActionLine(step=step, screen=name, **action))
        append_lines(paths.actions, lines)
        record = Meta(
            schema_version="1",
            episode_id=episode_id,
            task_id=meta.pop("task_id", "a-task"),
            source=meta.pop("source", "scripted"),
            agent=Agent(name=meta.pop("agent", "scripted"), version="1", seed=4321),
            n_steps=len(lines),
            created_at="2026-01-01T00:00:00Z",
            **meta,
        )
        write_record(paths.meta, record)
        self.made.append(episode_id)
        return record


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What a test process writes need not outlive the machine; processes that tests start do wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


@pytest.fixture
def episodes(tmp_path: Path) -> Episodes:
    return Episodes(Bench.create(tmp_path / "bench"))


@pytest.fixture
def instructions(episodes: Episodes) -> Callable[[str], str | None]:
    return lambda task_id: episodes.instruction


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with tests on the desktop first: those wait most of their time, the rest fills the cores.

    With `--dist worksteal` one process runs them one after another, as timing wants it.
    """
    waiting = {item.path for item in items if item.get_closest_marker("desktop")}
    items.sort(key=lambda item: item.path not in waiting)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the figures, sorted by test, each once; one of a test that failed is marked."""
    found: dict[tuple[str, str], bool] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if not isinstance(report, pytest.TestReport) or report.when == "setup":
                continue
            for name, text in report.user_properties:
                if name == "figure":
                    key = (report.nodeid, str(text))
                    found[key] = found.get(key, False) or report.failed
    if not found:
        return
    terminalreporter.section("figures")
    for (_, text), failed in sorted(found.items()):
        terminalreporter.write_line(f"FAILED: {text}" if failed else text)
