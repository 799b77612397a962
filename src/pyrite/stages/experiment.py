"""`experiment claim`: the conditions that it needs are packed and judged, then measured."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrite.episodes.claims import claim
from pyrite.errors import PyriteError, UsageError
from pyrite.judges import labels as judge_labels
from pyrite.judges.client.calls import Calls, Options
from pyrite.judges.labels import Labelled
from pyrite.judges.local.gguf import SMOKE_NAME, SMOKE_SHA256
from pyrite.judges.prompts import CLAIM_LINES
from pyrite.judges.runner import Judging
from pyrite.measure.bench import table_from_bench
from pyrite.measure.blocks import Settings
from pyrite.measure.claim_experiment import ADMITS, ASSERTS, HEDGED, SILENT, Arm, claim_experiment, notes
from pyrite.pool import Watch
from pyrite.records import SCHEMA_VERSION, Meta
from pyrite.stages import figures
from pyrite.stages.judge import judge
from pyrite.store import episodes as attempts
from pyrite.store.bench import Bench
from pyrite.store.conditions import canonical

READ = {"asserted": ASSERTS, "denied": ADMITS, "none": HEDGED}


@dataclass(frozen=True)
class Experiment:
    """What became of it: the judging, and the result (None of a dry run)."""

    judging: Judging
    result: dict[str, Any] | None


def claim_pull(
    root: Path,
    *,
    labels: str,
    base: str = "E2-last4",
    thoughts: bool = False,
    warning: bool = True,
    runs: int = 1,
    seed: int | None = None,
    cache: bool = True,
    dry_run: bool = False,
    force: bool = False,
    tasks: Sequence[Path] = (),
    calls: Calls | None = None,
    watch: Watch | None = None,
) -> Experiment:
    """Ask judges in `base`, with the claim and with its opposite, and measure what the words move.

    `thoughts`: all of it with the agent's thoughts too. `warning`: judges whose prompt has a line that calls
    the agent's words a claim are also asked without it. Verdicts that stand are kept. Raises `UsageError`
    for a judge that does not take the conditions, and where no episode is verified.
    """
    bench = Bench(root)
    calls = calls or Calls(Options(cache=cache))
    judges = judge_labels.make_list(labels, cache=cache, calls=calls)
    attempts.require_verified(bench, attempts.read(bench))
    arms = [arm for one in judges for arm in _arms(one, base, thoughts=thoughts, warning=warning)]
    _refuse_unsupported(judges, arms)
    if thoughts and not _has_thoughts(bench):
        raise UsageError(
            "no episode here has thoughts of its agent",
            where=str(bench.root),
            expected="a thought in some line of actions.jsonl, for --thoughts",
            next="the same command without --thoughts",
        )
    asked = list(dict.fromkeys(arm.judge for arm in arms))
    wanted = list(dict.fromkeys(name for arm in arms for name in (arm.base, arm.claim, arm.swap)))
    judging = judge(
        root,
        labels=",".join(asked),
        conditions=",".join(wanted),
        runs=runs,
        cache=cache,
        dry_run=dry_run,
        force=force,
        tasks=tasks,
        calls=calls,
        watch=watch,
    )
    if dry_run:
        return Experiment(judging, None)
    result = _measured(bench, arms, runs, seed)
    result["warnings"] = [*_of_chance(judges), *result["warnings"]]
    return Experiment(judging, result)


def _of_chance(judges: Sequence[Labelled]) -> list[str]:
    """A line for each judge that asks the smoke model, by its name or its bytes, whatever the figures say."""
    told = []
    for one in judges:
        identity = json.dumps([one.label, one.settings], default=str)
        if SMOKE_NAME in identity or SMOKE_SHA256 in identity:
            told.append(f"{one.label} asks a chance-level smoke model: its verdicts say nothing")
    return told


def _has_thoughts(bench: Bench) -> bool:
    """Whether any line of any episode that can be read has one."""
    for episode_id in bench.require_episodes():
        with suppress(PyriteError, OSError):
            if any((line.thought or "").strip() for line in bench.actions(episode_id)):
                return True
    return False


def _measured(bench: Bench, arms: Sequence[Arm], runs: int, seed: int | None) -> dict[str, Any]:
    """The result, from the verdicts that stand."""
    options = figures.options(bench, seed)
    settings = Settings(options["level"], options["resamples"], options["seed"])
    table = table_from_bench(bench)
    metas = {one.episode_id: one.meta for one in attempts.read(bench).episodes}
    kinds = [_kind(metas[name]) for name in table.episodes.ids]
    result = claim_experiment(table, kinds, arms, settings)
    return {
        "schema_version": SCHEMA_VERSION,
        "bench": str(bench.root),
        "level": settings.level,
        "runs": runs,
        **result,
        "warnings": [*table.warnings, *notes(result)],
    }


def _arms(one: Labelled, base: str, *, thoughts: bool, warning: bool) -> list[Arm]:
    bare = canonical(base)
    if bare is None or "+" in bare:
        raise UsageError(
            f"--base {base[:80]!r}",
            expected="a condition without the agent's words, such as E2-last4 or E3-full",
        )
    if thoughts and bare.startswith("E1"):
        raise UsageError(f"{bare} shows no actions, so it has no thoughts", expected="E2-last4 or E3-full")
    labels: list[tuple[str, bool | None]] = [(one.label, None)]
    without = CLAIM_LINES.get(str(one.settings.get("prompt")))
    if without is not None and warning:
        options = {**one.settings["options"], "prompt": without}
        name = one.label.partition("@")[0]
        bare_label = f"{name}@" + ",".join(f"{key}={options[key]}" for key in sorted(options))
        labels = [(one.label, True), (bare_label, False)]
    added = ("", "+thoughts") if thoughts else ("",)
    return [
        Arm(
            label,
            one.label,
            line,
            bool(more),
            *(canonical(f"{bare}{words}{more}") or "" for words in ("", "+claim", "+swap")),
        )
        for label, line in labels
        for more in added
    ]


def _refuse_unsupported(judges: Sequence[Labelled], arms: Sequence[Arm]) -> None:
    by_label = {one.label: one for one in judges}
    for arm in arms:
        takes = by_label[arm.of].judge.supports
        refused = [name for name in (arm.base, arm.claim, arm.swap) if not takes(name)]
        if refused:
            raise UsageError(
                f"{arm.of} does not take {', '.join(refused)}",
                expected="a judge that takes a condition with and without the agent's words, such as vlm",
                next=f"pyrite show {shlex.quote(arm.of)}",
            )


def _kind(meta: Meta | None) -> str | None:
    """What an episode's message says of success: as it was drawn, else as it reads; None where unknown."""
    if meta is None:
        return None
    if not (meta.final_message or "").strip():
        return SILENT
    if meta.message_kind in {ASSERTS, HEDGED, ADMITS}:
        return meta.message_kind
    return READ[claim(meta.final_message)]
