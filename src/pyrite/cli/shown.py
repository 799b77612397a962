"""Lists, and one of their items, as text for a terminal of 100 columns.

Whatever an agent, a judge, a file or a person wrote is escaped here: it cannot move the cursor.
"""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyrite.report import state
from pyrite.report.numbers import count
from pyrite.report.text import cut, plain

if TYPE_CHECKING:
    from pyrite.store.manifest import Checked, Manifest

WIDTH = 100
_HEAD, _TAIL = 40, 10
"""Of a long list of steps these many are shown, from its beginning and its end."""
_LISTED = 20


def columns(headings: Sequence[str], rows: Sequence[Sequence[Any]], *, elastic: int = -1) -> str:
    """Aligned columns of at most 100 characters; the elastic column gives way. Unknown is `null`."""
    cells = [list(headings), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    others = sum(widths) - widths[elastic] + 2 * (len(widths) - 1)
    widths[elastic] = max(8, min(widths[elastic], WIDTH - others))
    for row in cells:
        row[elastic] = _fit(row[elastic], widths[elastic], middle=elastic != -1)
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def _cell(value: Any) -> str:
    return "null" if value is None else cut(plain(str(value)), 200)


def _fit(text: str, width: int, *, middle: bool = False) -> str:
    """A text of at most this width; what is left out, at its end or in its middle, is an ellipsis."""
    if len(text) <= width:
        return text
    end = width // 2 if middle else 0
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def field(name: str, text: str) -> str:
    """One named field, wrapped; further lines stand below the first."""
    lines = textwrap.wrap(text, WIDTH - 9, break_on_hyphens=False) or [""]
    return f"{name:<8} " + ("\n" + " " * 9).join(lines)


# --- list


def listing_text(found: Mapping[str, Any]) -> str:
    """The rows of `pyrite list`."""
    return _LISTINGS[found["kind"]](found)


def _suites(found: Mapping[str, Any]) -> str:
    rows = [
        (
            one["name"],
            one.get("tasks"),
            ", ".join(one.get("apps", ())),
            one["problem"] or ", ".join(one["families"]),
        )
        for one in found["suites"]
    ]
    return columns(("suite", "tasks", "apps", "families"), rows) + "\nnext     pyrite list tasks SUITE"


def _named(found: Mapping[str, Any]) -> str:
    kind = found["kind"]
    rows = [(one["name"], one["problem"] or one["text"]) for one in found[kind]]
    return columns((kind[:-1], "what it does"), rows) + "\nmodule:factory is an agent of your own"


def judges_text(found: Mapping[str, Any], width: int | None = None) -> str:
    """What each is shown, what it costs, where it can be asked, and whose it is; no cell is cut.

    A row a judge, as wide as it must be, or folded to the `width` of a terminal.
    """
    usual = max(
        (len(one["conditions"] or ()) for one in found["judges"] if one["problem"] is None), default=0
    )
    heads = ("judge", "calls", "takes", "is shown", "source")
    rows = [
        (
            one["name"],
            plain(str(one["calls"] if one["calls"] is not None else "null")),
            _takes(one["conditions"], usual),
            plain(one["inputs"] or one["text"]),
            plain(one["source"] or "null"),
        )
        if one["problem"] is None
        else (one["name"], "null", "null", plain(one["problem"]), "null")
        for one in found["judges"]
    ]
    notes = (
        "calls an episode: M screens, S of them selected; module:attr, exec:COMMAND: judges of your own",
        "next     pyrite show JUDGE",
    )
    if width is None:
        return "\n".join([*_aligned((heads, *rows)), *notes])
    return "\n".join([*_folded(heads, rows, width), *notes])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


_NARROW = 24
"""Characters of a folded column below which there are no columns, and a field stands in a line of its own."""


def _folded(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The last two columns are folded; on a narrow terminal each row is a block of fields."""
    first = [max(map(len, column)) for column in zip(heads[:3], *(row[:3] for row in rows), strict=True)]
    room = (width - sum(first) - 8) // 2
    if room < _NARROW:
        lines = []
        for row in rows:
            lines.append(row[0])
            for head, text in zip(heads[1:], row[1:], strict=True):
                lines += textwrap.wrap(
                    f"{head}: {text}",
                    max(width, 24),
                    initial_indent="  ",
                    subsequent_indent="    ",
                    break_on_hyphens=False,
                )
        return lines
    lines = []
    for row in (heads, *rows):
        cells = [[text] for text in row[:3]] + [
            textwrap.wrap(text, room, break_on_hyphens=False) or [""] for text in row[3:]
        ]
        for number in range(max(map(len, cells))):
            parts = [cell[number] if number < len(cell) else "" for cell in cells]
            widths = (*first, room, room)
            lines.append("  ".join(part.ljust(n) for part, n in zip(parts, widths, strict=True)).rstrip())
    return lines


def _takes(conditions: Sequence[str] | None, usual: int) -> str:
    if conditions is None:
        return "null"
    if len(conditions) == usual:
        return "all"
    return " ".join(
        name.removesuffix("-final").removesuffix("-full").removesuffix("-last4") for name in conditions
    )


def _tasks(found: Mapping[str, Any]) -> str:
    rows = [
        (one["task_id"], f"{one['good']}/{one['bad']}", one["app"], one["instruction"])
        if one["problem"] is None
        else (one["task_id"], "", "", one["problem"])
        for one in found["tasks"]
    ]
    return columns(("task", "good/bad", "app", "instruction"), rows) + "\nnext     pyrite show TASK"


def _episodes(found: Mapping[str, Any]) -> str:
    lines = []
    if found["needs"]:
        rows: list[tuple[Any, ...]] = [
            (
                one["episode_id"],
                one["task_id"],
                one["source"],
                " ".join(one["conflicting"] or one["candidates"]) or None,
            )
            for one in found["episodes"]
        ]
        headings: tuple[str, ...] = (
            "episode",
            "task",
            "source",
            "conflicting labels, or what the state allows",
        )
    else:
        headings = ("episode", "task", "source", "agent", "ended by", "outcome", "category")
        rows = [
            (
                one["episode_id"],
                one["task_id"],
                one["source"],
                _fit(plain(one["agent"]), 12),
                one["ended_by"],
                one["outcome"] or "not verified",
                _category(one),
            )
            for one in found["episodes"]
        ]
    if rows:
        lines.append(columns(headings, rows, elastic=1))
    lines += [
        f"{plain(one['episode_id'])}  cannot be read: {plain(one['problem'])}" for one in found["broken"]
    ]
    return "\n".join([*lines, *_episodes_end(found, len(rows))])


def _episodes_end(found: Mapping[str, Any], listed: int) -> Iterator[str]:
    bench = plain(found["bench"])
    verified = f"{found['verified']:,} of {count(found['total'], 'episode')} verified"
    if not found["needs"]:
        yield verified
        yield f"next     pyrite show EPISODE {bench}"
        return
    yield f"{listed:,} of {count(found['failed'], 'failed episode')} without a category; {verified}"
    if listed:
        yield f"next     pyrite label {bench}/episodes/EPISODE --category CODE --annotator NAME"


def _category(one: Mapping[str, Any]) -> str:
    if one["category"] is not None:
        by = ", person" if one["category_source"] == "person" else ""
        return f"{one['category']}{by}"
    if one["outcome"] == "fail":
        return "unclassified"
    return one["cause"] or ""


_LISTINGS = {
    "suites": _suites,
    "judges": judges_text,
    "agents": _named,
    "tasks": _tasks,
    "episodes": _episodes,
}


# --- show


def text(found: Mapping[str, Any]) -> str:
    """One episode, task or judge."""
    return "\n".join({"episode": _episode, "task": _task, "judge": _judge}[found["kind"]](found))


def _conditions(found: Mapping[str, Any]) -> str:
    """The usual conditions that a judge takes, and the one that it was published with."""
    published = found["published_condition"]
    names = dict.fromkeys([*found["conditions"], *([published] if published else [])])
    return ", ".join(map(plain, names)) or "none of the usual conditions"


def _judge(found: Mapping[str, Any]) -> Iterator[str]:
    yield field("judge", plain(found["name"]))
    yield field("does", plain(found["text"]))
    for name, key in (
        ("shown", "inputs"),
        ("calls", "calls"),
        ("source", "source"),
    ):
        if found[key] is not None:
            yield field(name, plain(found[key]) + (" an episode" if key == "calls" else ""))
    if found["published_condition"] is not None:
        yield field("original", f"was shown what --condition {plain(found['published_condition'])} shows")
    if found["needs"] is None:
        once = "once: it is deterministic" if found["deterministic"] else "as often as --runs says"
        yield field("runs", once)
        yield field("takes", _conditions(found))
        yield field("config", found["config"])
        for name, value in found["settings"].items():
            yield field("", f"{plain(name)} {plain(cut(_value(value), 200))}")
    else:
        if found["conditions"] is not None:
            yield field("takes", _conditions(found))
        yield field("needs", plain(found["needs"]))
    for name, default in found["options"].items():
        yield field("option", f"{name}={plain(default)}")
    first = next(iter(found["options"]), "") if found["needs"] else ""
    label = f"{found['name']}@{first}=…" if first else found["name"]
    yield field("next", f"pyrite judge BENCH --judge {plain(label) if first else shlex.quote(plain(label))}")


def _task(found: Mapping[str, Any]) -> Iterator[str]:
    spec = found["spec"]
    yield field(
        "task", plain(spec["task_id"]) + (f"  family {plain(spec['family'])}" if spec["family"] else "")
    )
    yield from _quoted("text", spec["instruction"])
    opened = spec["initial"]["open"]
    if opened:
        yield field("opens", plain(" ".join([opened["app"], *opened["args"]])))
    for one in spec["initial"]["files"][:_LISTED]:
        yield field("file", f"{plain(one['path'])}  from {plain(one['from'])}")
    yield field("reads", plain(", ".join(spec["reads"])) or "everything")
    limits = spec["limits"]
    yield field("bounds", f"{limits['timeout_s']:g} s, {limits['memory_mb']} MB, network {spec['network']}")
    yield field("verifier", found["verifier_sha256"])
    if spec["licence"]:
        yield field("licence", plain(spec["licence"]))
    rows = [(s["name"], s["kind"], s["outcome"], " ".join(s["category"])) for s in spec["states"]]
    yield ""
    yield columns(("state", "kind", "outcome", "categories"), rows) if rows else "no known state is declared"


def _episode(found: Mapping[str, Any]) -> Iterator[str]:
    meta = found["meta"]
    agent = meta["agent"]
    yield field("episode", plain(found["path"]))
    yield field(
        "task", plain(meta["task_id"]) + (f"  family {plain(meta['family'])}" if meta["family"] else "")
    )
    yield from _quoted("text", found["instruction"] or "null: the task is not known to this bench")
    seed = "" if agent["seed"] is None else f", seed {agent['seed']}"
    yield field("agent", plain(cut(f"{agent['name']} {agent['version']}".strip())) + seed)
    made = (
        f", {plain(cut(meta['perturbation']))} of {plain(cut(meta['parent'] or 'null'))}"
        if meta["perturbation"]
        else ""
    )
    yield field("source", f"{meta['source']}{made}")
    yield field("ended by", f"{meta['ended_by'] or 'null'} after {count(meta['n_steps'], 'step')}")
    if meta["final_message"] is not None:
        yield from _quoted("says", meta["final_message"])
        yield field("", "(what the agent says is a claim)")
    yield ""
    yield from _steps(found["actions"])
    yield ""
    yield from _truth(found)
    yield from _facts(found["facts"])
    yield from _labels(found["labels"])
    yield from _verdicts(found["verdicts"])
    for problem in found["problems"]:
        yield field("problem", plain(problem))
    yield field("next", f"pyrite view {plain(found['path'])}")


def _quoted(name: str, said: str) -> Iterator[str]:
    """Text of others, line by line, bounded."""
    lines = cut(said, 2000).splitlines() or [""]
    for number, line in enumerate(lines[:_LISTED]):
        yield field("" if number else name, plain(line))
    if len(lines) > _LISTED:
        yield field("", f"… ({len(lines) - _LISTED} more lines)")


def _steps(actions: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    if actions is None:
        yield "steps    null: actions.jsonl cannot be read"
        return
    head = actions if len(actions) <= _HEAD + _TAIL else actions[:_HEAD]
    tail = () if len(actions) <= _HEAD + _TAIL else actions[-_TAIL:]
    for one in head:
        yield _step(one)
    if tail:
        yield f"  … {count(len(actions) - _HEAD - _TAIL, 'step')} left out; --json has them"
    for one in tail:
        yield _step(one)


def _step(one: Mapping[str, Any]) -> str:
    own = {k: v for k, v in one.items() if k not in {"step", "action", "screen", "error", "thought", "at"}}
    said = " ".join(f"{name}={_value(value)}" for name, value in own.items())
    failed = f"  failed: {plain(cut(one['error'], 60))}" if one["error"] else ""
    what = f"{plain(cut(one['action'], 20)):<12} {plain(cut(said, 200))}"
    return _fit(f"{one['step']:>4}  {what}{failed}".rstrip(), WIDTH)


def _value(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _truth(found: Mapping[str, Any]) -> Iterator[str]:
    truth = found["truth"]
    if truth is None:
        yield field("truth", f"null: not verified; pyrite verify {plain(found['bench'])}")
        return
    yield field("truth", str(truth["outcome"]))
    if truth["cause"]:
        yield field("cause", f"{truth['cause']}, blame {truth['blame']}")
    if truth["outcome"] == "fail":
        source = f", from the {truth['category_source']}" if truth["category_source"] else ""
        yield field("category", f"{truth['category'] or 'null: unclassified'}{source}")
    if found["conflicting"] and truth["category"] is None:
        yield field("", f"labels conflict: {' '.join(found['conflicting'])}")
    if truth["candidates"]:
        yield field("allows", plain(cut(" ".join(truth["candidates"]), 400)))
    noted = state.read(truth["diagnostics"], passed=truth["pass"])
    for kind, said in noted.lines()[:_LISTED]:
        yield field("found", f"{plain(cut(kind))}: {plain(cut(said, 300))}")
    left_out = noted.more + max(0, len(noted.lines()) - _LISTED)
    if left_out:
        yield field("", f"… ({left_out} more; --json has them)")


def _facts(facts: Mapping[str, Any] | None) -> Iterator[str]:
    if facts is None:
        return
    unsaved = {True: "yes", False: "no", None: "null: not known"}[facts["unsaved"]]
    yield field("unsaved", unsaved)
    for window in facts["windows"][:_LISTED]:
        yield field("window", plain(cut(window["title"], 200)))


def _labels(given: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in given[-_LISTED:]:
        process = one["process_score"]
        how = None if process is None else f"process {process:g}"
        said = " ".join(filter(None, (one["outcome"], one["category"], how, one["comment"])))
        yield field("label", plain(cut(f"{one['annotator']}, {one['stage']}: {said}", 300)))


def _verdicts(spoken: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not spoken:
        yield field("verdicts", "none")
        return
    rows = [
        (
            one["judge"],
            one["condition"],
            f"{one['said']['word']}, {one['said']['glyph']}".replace("-", " "),
            one["reason"],
        )
        for one in spoken
    ]
    yield ""
    yield columns(("judge", "condition", "verdict", "reason"), rows)


# --- label, manifest


def label_text(added: Mapping[str, Any]) -> str:
    """What a label changed."""
    label = added["label"]
    process = None if label.process_score is None else f"process {label.process_score:g}"
    said = " ".join(str(part) for part in (label.outcome, label.category, process) if part is not None)
    lines = [f"label    {label.episode_id}: {said}, {plain(label.annotator)}, {label.stage}"]
    if added["outcome"] is None:
        lines.append("counts   with --truth labels; beside a verifier's outcome once there is one")
    elif added["conflicting"] and added["category"] is None:
        lines.append(f"counts   nothing yet: labels conflict ({' '.join(added['conflicting'])})")
    else:
        source = f", from the {added['category_source']}" if added["category_source"] else ""
        lines.append(f"counts   {added['outcome']}, category {added['category'] or 'null'}{source}")
    bench = plain(added["bench"])
    lines += [f"labels   {plain(added['file'])}", f"next     pyrite list episodes {bench} --needs category"]
    return "\n".join(lines)


def manifest_summary(files: int, size: int) -> str:
    """One line of a manifest."""
    return f"{count(files, 'file')}, {size / 1e6:,.1f} MB"


def manifest_text(written: Manifest) -> str:
    """What was written, and what differs from the manifest that was there."""
    lines = []
    if written.since is not None:
        differs = ", ".join(f"{n} {what}" for what, n in written.since.items() if n)
        lines.append(f"against the manifest that was there: {differs or 'no difference'}")
    lines += [
        f"manifest {written.path}",
        f"next     pyrite manifest {written.path.parent} --check    (or there: sha256sum -c MANIFEST.sha256)",
    ]
    return "\n".join(lines)


def checked_text(found: Checked) -> str:
    """Every file that differs, one a line, then the count."""
    lines = [f"changed  {plain(name)}: {plain(why)}" for name, why in found.changed.items()]
    lines += [f"missing  {plain(name)}" for name in found.missing]
    lines += [f"extra    {plain(name)}" for name in found.extra]
    lines += [f"line {number} of the manifest is malformed" for number in found.malformed]
    if found.ok:
        lines.append(f"as listed: {count(found.files, 'file')}")
    else:
        parts = (("changed", found.changed), ("missing", found.missing), ("extra", found.extra))
        told = ", ".join(f"{len(names):,} {what}" for what, names in parts if names) or "malformed lines"
        lines.append(f"not as listed: {told}, of {count(found.files, 'listed file')}")
    return "\n".join(lines)
