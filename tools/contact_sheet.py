"""Hard negatives to look at: last screens of failures that should look like success, beside the success.

    .venv/bin/python tools/contact_sheet.py BENCH -o sheets [--count 40] [--seed 0]

One perturbed episode a task, drawn by the seed among those that truth calls a hard negative. On the left
is the last screen of the episode that it was made from, on the right its own, above both the task, the
defect and the category. Four pairs a page, as PNG; `index.txt` names every episode.
"""

from __future__ import annotations

import argparse
import random
import sys
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from pyrite.records import HARD_NEGATIVES, Meta, Outcome, Truth
from pyrite.store.bench import Bench
from pyrite.suites.lookup import Lookup

WIDTH, HEIGHT, PER_PAGE, TEXT = 800, 600, 4, 64
Pair = tuple[Meta, Truth]


def drawn(bench: Bench, count: int, seed: int) -> list[Pair]:
    """One hard negative a task, at most `count`, in the order in which they were drawn."""
    found: dict[str, list[Pair]] = {}
    for name in bench.episode_ids():
        meta, truth = bench.meta(name), bench.truth(name)
        if truth is None or truth.outcome is not Outcome.FAIL or meta.parent is None:
            continue
        if truth.category in HARD_NEGATIVES:
            found.setdefault(meta.task_id, []).append((meta, truth))
    chance = random.Random(seed)
    tasks = chance.sample(sorted(found), min(count, len(found)))
    return [chance.choice(found[task]) for task in tasks]


def last_screen(bench: Bench, episode_id: str) -> Image.Image:
    """What was on the screen when the episode ended."""
    lines = [line.screen for line in bench.actions(episode_id) if line.screen]
    path = bench.paths.episode(episode_id).root / (lines[-1] if lines else "screens/000.webp")
    with Image.open(path) as image:
        return image.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def page(bench: Bench, pairs: list[tuple[int, Pair]], tasks: Lookup) -> Image.Image:
    """Four pairs, one below the other."""
    sheet = Image.new("RGB", (2 * WIDTH + 8, len(pairs) * (HEIGHT + TEXT)), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=14)
    for row, (number, (meta, truth)) in enumerate(pairs):
        top = row * (HEIGHT + TEXT)
        task = tasks.instruction(meta.task_id) or meta.task_id
        told = f"{number}. {meta.perturbation} -> {truth.category}   {meta.episode_id}   {task}"
        draw.text((4, top + 2), "\n".join(textwrap.wrap(told, 220)[:3]), "black", font)
        sheet.paste(last_screen(bench, str(meta.parent)), (0, top + TEXT))
        sheet.paste(last_screen(bench, meta.episode_id), (WIDTH + 8, top + TEXT))
    return sheet


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    bench = Bench(asked.bench)
    pairs, tasks = drawn(bench, asked.count, asked.seed), Lookup(bench)
    if not pairs:
        print("no hard negative among the perturbed episodes; is the bench verified?", file=sys.stderr)
        return 1
    asked.out.mkdir(parents=True, exist_ok=True)
    numbered = list(enumerate(pairs, start=1))
    for first in range(0, len(numbered), PER_PAGE):
        page(bench, numbered[first : first + PER_PAGE], tasks).save(
            asked.out / f"{first // PER_PAGE + 1:02}.png"
        )
    lines = [f"{n:3} {m.episode_id} {m.task_id} {m.perturbation} {t.category}\n" for n, (m, t) in numbered]
    (asked.out / "index.txt").write_text("".join(lines))
    print("".join(lines), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
