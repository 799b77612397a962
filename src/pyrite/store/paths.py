"""Where everything lies in a bench directory, drawn once; nobody else joins these names.

<bench>/
  pyrite.yaml                     what was asked of `run`
  lock.json                       what was resolved: versions, suites, verifier and data digests
  tasks/<task_id>/                folder tasks of this bench, optional
  episodes/<episode_id>/
    meta.json                     written last: an episode without it is unfinished
    actions.jsonl
    screens/000.webp …            equal frames stored once
    final_state.tar.zst
    final_facts.json
    act.jsonl  acted_state.tar.zst   what an active verifier did then, and the home after it
    gt.json                       written by verify; an earlier one is kept as gt.<sha8>.json
  superseded/<episode_id>.<sha8>/ an episode of a task that was changed and recorded anew
  labels.jsonl
  evidence/index.jsonl            package_id -> episode_id; judges never see it
  evidence/images/<pixels>.png    every image of every package, once
  evidence/screens.json           screen file -> image, so that no file is decoded twice
  evidence/<condition>/<package_id>/evidence.json
  verdicts/<judge>__<condition>.jsonl
  report.json  report.html  log.txt
  replays/<image>/<task_id>.json  the last replay of a task's known states on an image
  suite_bugs.json  suite_bugs.md  what replays have found wrong with tasks, and what was mended since
  view/<episode_id>.html          pages of single episodes, written by view
  MANIFEST.sha256                 written by manifest: every other file with its digest
  .writing                        there while somebody writes, or was killed while writing
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


def slug(name: str) -> str:
    """A file-name form of a label; labels that would collide get a digest of the true name.

    >>> slug("accept-all"), slug("E2+claim")
    ('accept-all', 'E2-claim-c3a4')
    """
    safe = re.sub(r"[^A-Za-z0-9._=-]+", "-", name)[:80].strip(".-") or "x"
    if safe == name:
        return safe
    return f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:4]}"


@dataclass(frozen=True)
class EpisodePaths:
    """The files of one episode folder."""

    root: Path

    @property
    def meta(self) -> Path:
        return self.root / "meta.json"

    @property
    def actions(self) -> Path:
        return self.root / "actions.jsonl"

    @property
    def screens(self) -> Path:
        return self.root / "screens"

    @property
    def final_state(self) -> Path:
        return self.root / "final_state.tar.zst"

    @property
    def acts(self) -> Path:
        """What an active verifier did after the end state was taken; there for active tasks only."""
        return self.root / "act.jsonl"

    @property
    def acted_state(self) -> Path:
        """The home after that."""
        return self.root / "acted_state.tar.zst"

    @property
    def facts(self) -> Path:
        return self.root / "final_facts.json"

    @property
    def truth(self) -> Path:
        return self.root / "gt.json"

    def earlier_truth(self, verifier_sha256: str) -> Path:
        """Where a gt.json goes that another verifier or state has superseded."""
        return self.root / f"gt.{verifier_sha256[:8]}.json"


@dataclass(frozen=True)
class BenchPaths:
    """The files of one bench directory."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "pyrite.yaml"

    @property
    def lock(self) -> Path:
        return self.root / "lock.json"

    @property
    def tasks(self) -> Path:
        return self.root / "tasks"

    @property
    def episodes(self) -> Path:
        return self.root / "episodes"

    @property
    def superseded(self) -> Path:
        return self.root / "superseded"

    @property
    def labels(self) -> Path:
        return self.root / "labels.jsonl"

    @property
    def evidence(self) -> Path:
        return self.root / "evidence"

    @property
    def evidence_index(self) -> Path:
        return self.evidence / "index.jsonl"

    @property
    def evidence_screens(self) -> Path:
        return self.evidence / "screens.json"

    @property
    def images(self) -> Path:
        return self.evidence / "images"

    @property
    def verdicts(self) -> Path:
        return self.root / "verdicts"

    @property
    def raw(self) -> Path:
        return self.root / "raw"

    @property
    def report_json(self) -> Path:
        return self.root / "report.json"

    @property
    def report_html(self) -> Path:
        return self.root / "report.html"

    @property
    def view(self) -> Path:
        return self.root / "view"

    @property
    def log(self) -> Path:
        return self.root / "log.txt"

    @property
    def writing(self) -> Path:
        return self.root / ".writing"

    @property
    def manifest(self) -> Path:
        return self.root / "MANIFEST.sha256"

    @property
    def replays(self) -> Path:
        return self.root / "replays"

    @property
    def suite_bugs(self) -> Path:
        return self.root / "suite_bugs.json"

    @property
    def suite_bugs_text(self) -> Path:
        return self.root / "suite_bugs.md"

    def replay(self, image: str, task_id: str) -> Path:
        return self.replays / slug(image) / f"{task_id}.json"

    def episode(self, episode_id: str) -> EpisodePaths:
        return EpisodePaths(self.episodes / episode_id)

    def image(self, pixels_sha256: str) -> Path:
        return self.images / f"{pixels_sha256}.png"

    def package(self, condition: str, package_id: str) -> Path:
        return self.evidence / slug(condition) / package_id / "evidence.json"

    def verdict_file(self, judge: str, condition: str) -> Path:
        return self.verdicts / f"{slug(judge)}__{slug(condition)}.jsonl"

    def verdicts_anew(self, judge: str, condition: str) -> Path:
        """Verdicts that are asked for anew, until they take the place of the old ones."""
        return self.verdicts / f".{slug(judge)}__{slug(condition)}.anew"

    def verdict_files(self) -> Iterator[Path]:
        """All verdict files, sorted by name."""
        if self.verdicts.is_dir():
            yield from sorted(self.verdicts.glob("*.jsonl"))
