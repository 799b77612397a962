"""What a run would cost, before it costs anything: calls, images, tokens, dollars, hits in the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyrite.evidence.packing import load
from pyrite.judges.base import Package
from pyrite.judges.client import completions
from pyrite.judges.client.base import Image
from pyrite.judges.labels import Labelled
from pyrite.records import Evidence, EvidenceEntry
from pyrite.store.bench import Bench

CallsFor = Callable[[Evidence], tuple[int, int]]
"""`calls_for` of a judge that makes several calls a package: the fewest and the most."""


@dataclass
class Cost:
    """What the calls of a judge in a condition would take. Tokens are estimates: nothing is sent."""

    calls: int = 0
    """Calls that would go to the endpoint; for a judge of several calls the most, cached ones among them."""
    fewest: int | None = None
    """For a judge of several calls: the fewest. What a call holds depends on the answers to those before
    it, so images and tokens are not known ahead."""
    cached: int = 0
    """Calls that would be answered from disk."""
    images: int = 0
    input_tokens: int = 0
    """Four characters a token, a thousand an image."""
    output_tokens: int = 0
    """The most that all answers may have."""
    dollars: float | None = None
    """The most that it may cost by the price given; None without one."""
    table: tuple[str, ...] = ()
    """The calls of a judge of several by step, as lines of text, where it says so."""
    unpriced: int = 0
    """Verdicts whose requests cannot be made yet: not packed, or their screens are still to be read."""


async def cost(
    bench: Bench, labelled: Labelled, todo: Iterable[tuple[EvidenceEntry, int]], unpacked: int
) -> Cost | None:
    """Price the (package, run) pairs of a judge; None for a judge that sends no requests to a model."""
    if labelled.calls is None:
        return None
    between: CallsFor | None = getattr(labelled.judge, "calls_for", None)
    todo = list(todo)
    if between is not None and not _once(bench, labelled, between, todo):
        return _several(bench, labelled, between, todo, unpacked)
    found = Cost(unpriced=unpacked)
    make = getattr(labelled.judge, "request", None)
    if make is None:
        return None
    options = labelled.calls.options
    reads = labelled.settings.get("eyes") == "ocr"  # to know what is sent, it would have to be read first
    endpoint = getattr(labelled.judge, "endpoint", None)
    if endpoint is None:
        endpoint = labelled.calls.endpoint(model=labelled.settings.get("model"))
    for entry, run in todo:
        if reads:
            found.unpriced += 1
            continue
        request = await make(Package(load(bench, entry), bench.paths.image), run)
        if labelled.calls.is_cached(endpoint, request):
            found.cached += 1
            continue
        into, out = completions.estimate(request)
        found.calls += 1
        found.images += sum(isinstance(part, Image) for part in request.parts)
        found.input_tokens += into
        found.output_tokens += out
    if options.price is not None:
        found.dollars = options.price.dollars(found.input_tokens, found.output_tokens)
    return found


def _once(
    bench: Bench, labelled: Labelled, between: CallsFor, todo: Iterable[tuple[EvidenceEntry, int]]
) -> bool:
    """Whether a judge makes one call a package here, so that what it holds is known ahead."""
    declared = getattr(labelled.judge, "calls_per_episode", None) == "1"
    return declared and all(between(load(bench, entry)) == (1, 1) for entry, _ in todo)


def _several(
    bench: Bench,
    labelled: Labelled,
    between: CallsFor,
    todo: Iterable[tuple[EvidenceEntry, int]],
    unpacked: int,
) -> Cost:
    """The fewest and the most calls; what they are made of is known only once the first are answered."""
    shown = [(load(bench, entry), run) for entry, run in todo]
    in_all = getattr(labelled.judge, "calls_in_all", None)
    counts = [in_all(shown)] if in_all is not None else [between(evidence) for evidence, _ in shown]
    table = getattr(labelled.judge, "calls_table", None)
    return Cost(
        calls=sum(most for _, most in counts),
        fewest=sum(fewest for fewest, _ in counts),
        table=tuple(table(shown)) if table is not None and shown else (),
        unpriced=unpacked,
    )
