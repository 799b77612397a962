"""Evidence and verdicts: what judges may see is packed and scanned, then they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from pyrite.episodes.claims import opposite
from pyrite.errors import InputError, UsageError
from pyrite.evidence import conditions as evidence_conditions
from pyrite.evidence import packing
from pyrite.evidence.budget import Budget
from pyrite.evidence.packing import Packing
from pyrite.judges import labels as judge_labels
from pyrite.judges import runner
from pyrite.judges.base import Package
from pyrite.judges.client.base import Request, Text
from pyrite.judges.client.calls import Calls, Options
from pyrite.judges.labels import Labelled
from pyrite.judges.ocr import batch as ocr_batch
from pyrite.judges.pricing import CallsFor
from pyrite.judges.runner import Asked, Judging
from pyrite.measure.rejudged import rejudged
from pyrite.pool import Watch
from pyrite.records import EvidenceEntry
from pyrite.stages import figures
from pyrite.stages.plan import shown_of
from pyrite.stages.rejudge import earlier
from pyrite.stages.secrecy import refuse_leaks, secrets
from pyrite.store.bench import Bench
from pyrite.store.images import png_size
from pyrite.suites.lookup import Lookup

DEMO_CONDITIONS = "E1-final,E2+claim,E3-full"


def pack(
    root: Path,
    *,
    conditions: str = DEMO_CONDITIONS,
    tasks: Sequence[Path] = (),
    watch: Watch | None = None,
) -> Packing:
    """Pack what a judge may see, the same for all judges, and scan the packages for leaks.

    Screens of E3 are scaled down to the `max_image_side`, and packages but those of E3-whole kept within the
    `max_tokens` and `max_bytes`, that `run` wrote into lock.json, else those of the bench's own pyrite.yaml.
    """
    bench = Bench(root)
    wanted = evidence_conditions.parse_list(conditions)
    most = shown_of(bench)
    with bench.exclusive():
        return packing.pack(
            bench,
            wanted,
            Lookup(bench, tasks).instruction,
            lambda meta: secrets(bench, meta),
            opposite=opposite,
            max_image_side=most.max_image_side,
            budget=Budget(most.max_tokens, most.max_bytes),
            watch=watch,
        )


def judge(
    root: Path,
    *,
    labels: str,
    conditions: str = DEMO_CONDITIONS,
    runs: int = 1,
    cache: bool = True,
    dry_run: bool = False,
    force: bool = False,
    tasks: Sequence[Path] = (),
    calls: Calls | None = None,
    only: Mapping[str, Collection[str]] | None = None,
    workers: int | None = None,
    watch: Watch | None = None,
) -> Judging:
    """Ask judges about the packed evidence; what is answered already is kept.

    `only` names the episodes to ask about in each condition; without it, all of them.
    Episodes that cannot be packed are named in `broken` and get no verdict; the others go on. What judges
    will read by OCR is read first, by `workers` processes (default: one a core). `calls`: the model, limits
    and budget of judges that call an endpoint; what they spend is counted there.
    Raises `KeyboardInterrupt` after ctrl-C, once what was in flight is on disk.
    """
    bench = Bench(root)
    calls = calls or Calls(Options(cache=cache))
    judges = judge_labels.make_list(labels, cache=cache, calls=calls)
    wanted = [condition.name for condition in evidence_conditions.parse_list(conditions)]
    if not any(one.judge.supports(name) for one in judges for name in wanted):
        raise UsageError(
            f"{labels}: no evidence that it takes: {', '.join(wanted)}",
            expected="--condition with what pyrite show JUDGE says that it takes",
        )
    if dry_run:
        only = _swappable(bench, wanted, only)
        found = packing.index(bench).values()
        entries = [one for one in found if one.condition in wanted and _named(only, one)]
        return runner.dry(bench, judges, entries, wanted, runs=runs, price=True, only=only)
    packed = pack(root, conditions=conditions, tasks=tasks)
    refuse_leaks(root, packed)
    entries = [one for one in packed.entries if _named(only, one)]
    most = calls.options.limits.in_flight
    with bench.exclusive():
        _read_screens(bench, judges, entries, runs, workers, watch)
        asking = runner.ask(bench, judges, entries, runs=runs, in_flight=most, force=force, watch=watch)
        judging = asyncio.run(asking)
    if judging.interrupted:
        raise KeyboardInterrupt
    spent = calls.spent if any(one.calls is not None for one in judges) else None
    wanted_of = _swappable(bench, wanted, only)
    left = {
        name: [one for one in packed.broken if wanted_of is None or one in wanted_of.get(name, ())]
        for name in wanted
    }
    judging = _with_broken(judging, judges, left, {(one.episode_id, one.condition) for one in entries}, runs)
    return replace(judging, broken=packed.broken, unswappable=packed.unswappable, spent=spent)


def _with_broken(
    judging: Judging,
    judges: Sequence[Labelled],
    broken: Mapping[str, Sequence[str]],
    packed: Collection[tuple[str, str]],
    runs: int,
) -> Judging:
    """The verdicts that cannot be had in each condition, for the episode was not packed there, as missing."""
    asked = {(one.judge, one.condition): one for one in judging.asked}
    for labelled, (condition, episode_ids) in product(judges, broken.items()):
        lost = [one for one in episode_ids if (one, condition) not in packed]
        if not lost or not labelled.judge.supports(condition):
            continue
        one = asked.setdefault((labelled.label, condition), Asked(labelled.label, condition))
        number = len(lost) * (1 if labelled.judge.deterministic else runs)
        one.missing += number
        one.why_missing["the episode could not be packed"] = number
    return replace(judging, asked=tuple(asked.values()))


def _read_screens(
    bench: Bench,
    judges: Sequence[Labelled],
    entries: Sequence[EvidenceEntry],
    runs: int,
    workers: int | None,
    watch: Watch | None,
) -> None:
    """Read what judges are going to read, several screens at once; not where they read everything anew."""
    screens = [
        screen
        for labelled in judges
        if ocr_batch.reads(judge := labelled.judge) and judge.reader.cache
        for screen in ocr_batch.to_read(bench, judge, runner.unanswered(bench, labelled, entries, runs=runs))
    ]
    ocr_batch.read_all(screens, workers=workers, watch=watch)


def _swappable(
    bench: Bench, wanted: Sequence[str], only: Mapping[str, Collection[str]] | None
) -> Mapping[str, Collection[str]] | None:
    """The episodes to ask about: with +swap, those whose claim can be turned round."""
    swaps = [name for name in wanted if evidence_conditions.parse(name).message == "swap"]
    if not swaps:
        return only
    everyone = bench.require_episodes()
    plain = set()
    for episode_id in everyone:
        with suppress(InputError):
            meta = bench.meta(episode_id)
            if opposite(meta.final_message, meta.message_kind) is not None:
                plain.add(episode_id)
    asked = {name: set(everyone if only is None else only.get(name, ())) for name in wanted}
    return {name: ids & plain if name in swaps else ids for name, ids in asked.items()}


def _named(only: Mapping[str, Collection[str]] | None, entry: EvidenceEntry) -> bool:
    return only is None or entry.episode_id in only.get(entry.condition, ())


def rejudge(
    root: Path,
    *,
    label: str,
    against: str,
    conditions: str | None = None,
    runs: int | None = None,
    seed: int | None = None,
    cache: bool = True,
    dry_run: bool = False,
    force: bool = False,
    tasks: Sequence[Path] = (),
    calls: Calls | None = None,
    watch: Watch | None = None,
) -> tuple[Judging, dict[str, Any] | None]:
    """Ask `label` about the episodes that `against` has verdicts on, and say what flipped, both ways.

    Conditions and runs are those of `against` where they are not given. A dry run has no result.
    """
    bench = Bench(root)
    before = earlier(bench, against, conditions)
    calls = calls or Calls(Options(cache=cache))
    made = judge_labels.make(label, cache=cache, calls=calls)
    if made.label == before.label:
        raise UsageError(f"{before.label} against itself", expected="another model or prompt")
    judging = judge(
        root,
        labels=label,
        conditions=",".join(before.episodes),
        runs=runs or before.runs,
        cache=cache,
        dry_run=dry_run,
        force=force,
        tasks=tasks,
        calls=calls,
        only=before.episodes,
        watch=watch,
    )
    if dry_run:
        return judging, None
    options = figures.options(bench, seed)
    return judging, rejudged(
        bench,
        old=before.label,
        new=made.label,
        conditions=list(before.episodes),
        level=options["level"],
        seed=options["seed"],
    )


def show_requests(
    root: Path,
    *,
    labels: str,
    conditions: str = DEMO_CONDITIONS,
    episode: str | None = None,
    cache: bool = True,
    tasks: Sequence[Path] = (),
    calls: Calls | None = None,
) -> list[dict[str, Any]]:
    """What would be sent about one episode (the first one), a request a judge and condition; sends nothing.

    Of a judge of several calls the first one: what the others hold depends on the answers.

    Raises `UsageError` for an episode that is not there, and where no judge sends requests.
    """
    bench = Bench(root)
    episode_ids = bench.require_episodes()
    chosen = episode or episode_ids[0]
    if chosen not in episode_ids:
        raise UsageError(
            f"no episode {chosen}",
            where=str(bench.paths.episodes),
            expected=f"an episode that is finished, such as {episode_ids[0]}",
            next=f"pyrite list episodes {root}",
        )
    calls = calls or Calls(Options(cache=cache))
    judges = judge_labels.make_list(labels, cache=cache, calls=calls)
    asking = [one for one in judges if hasattr(one.judge, "request")]
    if not asking:
        raise UsageError(
            f"{labels}: none of these sends a request to a model", expected="a judge such as vlm"
        )
    packed = pack(root, conditions=conditions, tasks=tasks)
    refuse_leaks(root, packed)
    shown = []
    for one, entry in product(asking, packed.entries):
        if entry.episode_id == chosen and one.judge.supports(entry.condition):
            package = Package(packing.load(bench, entry), bench.paths.image)
            request: Request = asyncio.run(one.judge.request(package, 1))  # type: ignore[attr-defined]
            between: CallsFor = getattr(one.judge, "calls_for", lambda evidence: (1, 1))
            told = {
                "judge": one.label,
                "episode_id": chosen,
                "condition": entry.condition,
                "calls": list(between(package.evidence)),
            }
            shown.append({**told, **_request(request, package)})
    return shown


def _request(request: Request, package: Package) -> dict[str, Any]:
    """A request for people: images by their pixels and size."""
    parts: list[dict[str, Any]] = []
    for part in request.parts:
        if isinstance(part, Text):
            parts.append({"text": part.text})
        else:
            width, height, size_bytes = png_size(package.locate(part.digest))
            size = {"width": width, "height": height, "bytes": size_bytes}
            parts.append({"image": part.digest, "media_type": part.media_type, **size})
    return {
        "model": request.model,
        "params": request.params.as_json(),
        "schema": request.schema,
        "system": request.system,
        "user": parts,
    }
