"""The card of a recorded set, CARD.md: how it was made, what is in it, and what it is not.

Every count is of the bench as it lies there. An episode without an outcome is counted and named by its
cause, and never left out.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pyrite.episodes.perturb import OPERATORS
from pyrite.errors import InputError
from pyrite.records import HARD_NEGATIVES, SOURCES, Facts, Meta, Outcome, Truth
from pyrite.store import episodes as attempts
from pyrite.store.bench import Bench
from pyrite.store.episodes import Episode
from pyrite.store.jsonl import write_bytes

HARD = frozenset(HARD_NEGATIVES)
_LIMITS = """\
The agents are scripts, scripts with something taken away, and scripts replayed with one injected defect: no
model acted here. What they do wrong is what somebody thought of; the share of each kind says nothing of how
often an agent of yours does it. One screen size, one image of one distribution, English, no network.
Final messages are templates drawn by seed, whatever the outcome, but for agents and defects that are what
they say: idle and claim-only assert success, quitter admits that it gave up."""
Row = tuple[Meta, Truth]


def write(bench: Bench, plan: str) -> Path:
    """Write the card of a verified bench and return its path."""
    path = bench.root / "CARD.md"
    write_bytes(path, text(bench, plan).encode())
    return path


def text(bench: Bench, plan: str) -> str:
    """The card, as Markdown."""
    found = attempts.read(bench).episodes
    rows = [(one.meta, one.truth) for one in found if one.meta is not None and one.truth is not None]
    parts = [
        f"# Dataset card: {', '.join(bench.lock().get('suites', {})) or 'tasks of its own'}, plan {plan}\n",
        _made(bench, rows),
        _summary(found, rows),
        _table("source", rows, lambda row: row[0].source, SOURCES),
        _table("domain", rows, lambda row: row[0].domain or "none"),
        _table("family", rows, lambda row: row[0].family or "none"),
        _table("agent", [row for row in rows if row[0].parent is None], lambda row: _who(row[0])),
        _table("injected defect", rows, lambda row: row[0].perturbation),
        _table("end", rows, lambda row: row[0].ended_by or "unknown"),
        _table("kind of message", rows, lambda row: row[0].message_kind or "none"),
        _categories(rows),
        _agreement(rows),
        _probe(bench, rows),
        f"## Known limits\n\n{_LIMITS}\n",
        "## Licence\n\nApache-2.0, like pyrite. All files in it were made for it.\n",
    ]
    return "\n".join(part for part in parts if part)


def data_digest(bench: Bench) -> str:
    """sha256 over every episode's id, meta.json, end state and outcome: what figures are made from."""
    digest = hashlib.sha256()
    for one in attempts.read(bench).episodes:
        meta = bench.paths.episode(one.episode_id).meta
        body = hashlib.sha256(meta.read_bytes()).hexdigest() if meta.is_file() else "none"
        truth = one.truth
        told = "none" if truth is None else f"{truth.state_sha256} {truth.outcome.value}"
        digest.update(f"{one.episode_id} {body} {told}\n".encode())
    return digest.hexdigest()


def _plain(text: str) -> str:
    """A name of somebody's, as text of a cell: no markup, no line of its own, not without end."""
    visible = "".join(char if char.isprintable() else " " for char in text[:80])
    return re.sub(r"[|<>&`*_\[\]\\]", lambda found: f"&#{ord(found.group())};", visible)


def _who(meta: Meta) -> str:
    """The agent, with what was taken away from it."""
    return (
        meta.agent.name if meta.weakened is None else f"{meta.agent.name}~{meta.weakened.partition('=')[0]}"
    )


def _made(bench: Bench, rows: Sequence[Row]) -> str:
    lock = bench.lock()
    days = sorted({meta.created_at[:10] for meta, _ in rows})
    images = sorted({meta.sandbox_image or "unknown" for meta, _ in rows})
    sizes = sorted({f"{m.screen.width}x{m.screen.height}" for m, _ in rows if m.screen is not None})
    lines = [
        f"- recorded by pyrite {lock.get('pyrite', 'unknown')}, seed {lock.get('seed', 'unknown')}, "
        f"{' to '.join(dict.fromkeys((days[0], days[-1]))) if days else 'no day'}",
        f"- sandbox {', '.join(images)}; screen {', '.join(sizes) or 'unknown'}",
        f"- data digest {data_digest(bench)}",
    ]
    return "## How it was made\n\n" + "\n".join(lines) + "\n"


def _summary(found: Sequence[Episode], rows: Sequence[Row]) -> str:
    failed = [row for row in rows if row[1].outcome is Outcome.FAIL]
    hard = [row for row in failed if row[1].category in HARD]
    unknown = Counter(truth.cause or "unknown" for _, truth in rows if truth.outcome is Outcome.INDETERMINATE)
    causes = ", ".join(f"{n} {cause}" for cause, n in unknown.most_common())
    lost = len(found) - len(rows)
    total = len(found)
    lines = [
        f"{total} episodes on {_distinct(rows, lambda m: m.task_id)} tasks in "
        f"{_distinct(rows, lambda m: m.family)} families.",
        "",
        f"- pass {sum(truth.outcome is Outcome.PASS for _, truth in rows)}, fail {len(failed)}",
        f"- hard negatives (they look like success) {len(hard)}, on {_distinct(hard, lambda m: m.task_id)} "
        f"tasks and {_distinct(hard, lambda m: m.family)} families",
        f"- indeterminate {_of(sum(unknown.values()), total)}{f': {causes}' if causes else ''}",
    ]
    if lost:
        lines.append(f"- not verified or not readable {_of(lost, total)}")
    return "## What is in it\n\n" + "\n".join(lines) + "\n"


def _table(
    title: str, rows: Sequence[Row], name: Callable[[Row], str | None], order: Sequence[str] = ()
) -> str:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if (key := name(row)) is not None:
            groups.setdefault(key, []).append(row)
    if not groups:
        return ""
    names = sorted(groups, key=lambda key: (order.index(key) if key in order else len(order), key))
    lines = [
        f"| {title} | episodes | pass | fail | hard | indeterminate | tasks |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for key in names:
        own = groups[key]
        n = Counter(truth.outcome for _, truth in own)
        hard = sum(truth.category in HARD for _, truth in own)
        lines.append(
            f"| {_plain(key)} | {len(own)} | {n[Outcome.PASS]} | {n[Outcome.FAIL]} | {hard} "
            f"| {n[Outcome.INDETERMINATE]} | {_distinct(own, lambda m: m.task_id)} |"
        )
    return f"## By {title}\n\n" + "\n".join(lines) + "\n"


def _categories(rows: Sequence[Row]) -> str:
    """Codes of failures, and what told them: the state alone, what was seen of the episode, or nobody yet."""
    failed = [truth for _, truth in rows if truth.outcome is Outcome.FAIL]
    if not failed:
        return ""
    told = Counter(truth.category_source or "left for a person" for truth in failed)
    codes = Counter("unclassified" if t.category is None else t.category.value for t in failed)
    lines = ["| category | failures |", "|---|--:|"]
    lines += [f"| {code} | {n} |" for code, n in codes.most_common()]
    shares = ", ".join(f"{name} {_of(n, len(failed))}" for name, n in told.most_common())
    return "## By category\n\n" + "\n".join(lines) + f"\n\nTold by: {shares}.\n"


def _agreement(rows: Sequence[Row]) -> str:
    """Whether the category that truth gives is the one that the defect was meant to make."""
    lines = []
    for kind, operator in OPERATORS.items():
        own = [truth for meta, truth in rows if meta.perturbation == kind and truth.outcome is Outcome.FAIL]
        known = [truth.category for truth in own if truth.category is not None]
        if own:
            as_meant = sum(code in operator.meant for code in known)
            others = Counter(code.value for code in known if code not in operator.meant).most_common()
            told = ", ".join(f"{n} {code}" for code, n in others) or "none"
            lines.append(f"| {kind} | {len(own)} | {as_meant} | {told} | {len(own) - len(known)} |")
    if not lines:
        return ""
    head = ["| injected defect | failures | as meant | other codes | unclassified |", "|---|--:|--:|---|--:|"]
    return "## Category against injected defect\n\n" + "\n".join(head + lines) + "\n"


def _probe(bench: Bench, rows: Iterable[Row]) -> str:
    """By class of window: how often a request to close told whether work was unsaved."""
    answers: dict[str, Counter[str]] = {}
    for meta, _ in rows:
        facts = _facts(bench, meta.episode_id)
        for name in sorted({window.wm_class or "none" for window in facts.windows} if facts else ()):
            told = "none" if facts is None or facts.unsaved is None else str(facts.unsaved).lower()
            answers.setdefault(name, Counter())[told] += 1
    if not answers:
        return ""
    lines = ["| window class | unsaved | saved | no answer |", "|---|--:|--:|--:|"]
    lines += [f"| {name} | {n['true']} | {n['false']} | {n['none']} |" for name, n in sorted(answers.items())]
    return "## Whether work was unsaved at the end\n\n" + "\n".join(lines) + "\n"


def _facts(bench: Bench, episode_id: str) -> Facts | None:
    try:
        return bench.facts(episode_id)
    except InputError:
        return None


def _distinct(rows: Iterable[Row], name: Callable[[Meta], str | None]) -> int:
    return len({name(meta) for meta, _ in rows})


def _of(n: int, total: int) -> str:
    return f"{n} of {total} ({100 * n / total:.1f} %)" if total else f"{n} of 0"
