"""Draw the last words of an older bench anew: `python tools/redraw_messages.py BENCH`, before it is verified.

Scripted, hasty, idle and quitter used to say always the same, which gave the source away. What is written is
what the same agents say when they are recorded today; actions, screens and end states are not touched.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyrite.episodes import messages
from pyrite.errors import PyriteError
from pyrite.records import Meta
from pyrite.store.bench import Bench
from pyrite.store.jsonl import write_record
from pyrite.suites.lookup import Lookup

KINDS: dict[str, messages.MessageKind | None] = {
    "scripted": None,
    "hasty": None,
    "idle": "asserts",
    "quitter": "admits",
}
"""Agent -> the kind of what it says; None where that is drawn too."""


def redrawn(meta: Meta, claim: str) -> Meta | None:
    """The same episode with the message that is drawn today; None where there is nothing to change."""
    if meta.source not in {"scripted", "weakened"} or meta.agent.name not in KINDS:
        return None
    if meta.message_kind is not None or meta.final_message is None:
        return None
    kind = KINDS[meta.agent.name]
    said = (
        messages.draw(claim, meta.episode_id)
        if kind is None
        else messages.of_kind(kind, claim, meta.episode_id)
    )
    return meta.model_copy(update={"final_message": said.text, "message_kind": said.kind})


def main() -> int:
    """Rewrite meta.json where a message is to be drawn; says how many."""
    if len(sys.argv) != 2:
        print("usage: python tools/redraw_messages.py BENCH", file=sys.stderr)
        return 2
    try:
        bench = Bench(Path(sys.argv[1]))
        origins = {task_id: origin for origin, task_id in Lookup(bench)}
        changed = 0
        with bench.exclusive():
            for meta in list(bench.metas()):
                origin = origins.get(meta.task_id)
                new = redrawn(meta, origin.script(meta.task_id)[1]) if origin is not None else None
                if new is not None:
                    write_record(bench.paths.episode(meta.episode_id).meta, new)
                    changed += 1
    except PyriteError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return exc.exit_code
    print(f"{changed} messages drawn anew in {bench.root}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
