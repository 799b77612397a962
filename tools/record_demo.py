"""Record the shipped demo set anew, on the real desktop: `make record`.

Scripted, hasty, idle and quitter on every task of one family, then five kinds of defect where they apply,
then the readings of all last screens for the OCR cache.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from pyrite import flow
from pyrite.cli import blocks
from pyrite.cli.screen import Progress
from pyrite.episodes.shipped import DEMO, ship
from pyrite.judges import ocr
from pyrite.store.bench import Bench

LIMIT_BYTES = 9_000_000
TASKS = "calc-set-cell-*"
KINDS = "drop-save,shift-row,shift-column,save-copy,cancel-dialog"
"""What the shipped demo holds: one family, and the defects that look alike on its screen."""


def main() -> int:
    """Record below a folder that is given or made, and put the result in its place in the package."""
    progress = Progress()
    root = (
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="pyrite-record-")) / "demo"
    )
    with progress.stage("record") as stage:
        recording = flow.record("desk", root, only=TASKS, workers=2, watch=stage)
        stage.summary = blocks.recorded(recording)
    with progress.stage("perturb") as stage:
        stage.summary = blocks.recorded(flow.perturb(root, kinds=KINDS, workers=2, watch=stage))
    with progress.stage("read") as stage, ocr.collected() as readings:
        flow.pack(root, conditions=flow.DEMO_CONDITIONS)
        judging = flow.judge(root, labels="screen-rules", conditions=flow.DEMO_CONDITIONS, watch=stage)
        stage.summary = f"{judging.obtained} verdicts, {len(readings)} readings"
    partial = DEMO.with_name("demo.partial")
    shutil.rmtree(partial, ignore_errors=True)
    count = ship(Bench(root), partial)
    ocr.ship(readings.values(), partial / ocr.shipped_file().name)
    images = len(list((partial / "images").iterdir()))
    size = sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())
    if size > LIMIT_BYTES:
        print(f"{size} bytes, more than {LIMIT_BYTES}: not shipped, see {partial}", file=sys.stderr)
        return 1
    shutil.rmtree(DEMO, ignore_errors=True)
    partial.rename(DEMO)
    print(f"{count} episodes, {images} images, {size / 1e6:.1f} MB in {DEMO}; recorded in {root}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
