"""The gate of a bench or a table: limits from the configuration, the evidence scanned, a certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyrite.episodes.claims import opposite
from pyrite.errors import UsageError
from pyrite.evidence.rescan import rescan
from pyrite.judges import labels as judge_labels
from pyrite.measure import gate as measuring
from pyrite.measure.gate_known import Scan
from pyrite.stages.secrecy import secrets
from pyrite.store.bench import Bench
from pyrite.store.config import FIXED, Gate, load_config
from pyrite.store.jsonl import read_json, write_json
from pyrite.suites.lookup import Lookup

ARTICLE_CONFIG = Path("config") / "bench.yaml"


def of_bench(
    bench: Bench,
    *,
    judges: Sequence[str],
    conditions: Sequence[str],
    config: Path | None,
    certificate: Path | None,
    tasks: Sequence[Path],
) -> dict[str, Any]:
    """Gate judges of a bench; without `config` by the limits in its own configuration, else the defaults."""
    used = config or own_config(bench)
    lookup = Lookup(bench, tasks)

    def scan() -> Scan | None:
        found = rescan(bench, lookup.instruction, lambda meta: secrets(bench, meta), opposite=opposite)
        return None if found is None else Scan(found.packages, len(found.leaks), len(found.broken))

    return measuring.gate_bench(
        bench,
        judges=judges,
        conditions=conditions,
        limits=_limits(used),
        certificate=certificate,
        config=used,
        scan=scan,
        deterministic=[label for label in _asked(bench) if _is_deterministic(label)],
    )


def of_table(
    path: Path,
    *,
    truth: str | None,
    cluster: str | None,
    verdicts: Sequence[str] = (),
    cluster_strip: str | None = None,
    group: Sequence[str] = (),
    agent: str | None = None,
    category: str | None = None,
    mapping: Sequence[str] = (),
    where: str | None = None,
    key: Sequence[str] = (),
    config: Path | None = None,
    certificate: Path | None = None,
) -> dict[str, Any]:
    """Gate the judges in the columns of a file; see `measure.gate.gate_table`."""
    return measuring.gate_table(
        path,
        truth=truth,
        cluster=cluster,
        verdicts=verdicts,
        cluster_strip=cluster_strip,
        group=group,
        agent=agent,
        category=category,
        mapping=mapping,
        where=where,
        key=key,
        limits=_limits(config),
        certificate=certificate,
        config=config,
    )


def write_certificate(out: Path, result: Mapping[str, Any], *, force: bool = False) -> None:
    """Write a gate's result as its certificate; one of other inputs or limits is kept unless `force`."""
    if out.is_dir():
        raise UsageError("a folder", where=str(out), expected="a file for the certificate")
    if not out.parent.is_dir():
        raise UsageError("no such folder", where=str(out.parent), expected="a folder that is there")
    if out.exists() and not force:
        before = read_json(out)
        same = isinstance(before, dict) and before.get("kind") == "gate"
        changed = [key for key in ("inputs", "limits", "asked") if not same or before.get(key) != result[key]]
        if changed:
            what = (
                f"a certificate with other {', '.join(changed)}" if same else "not the certificate of a gate"
            )
            raise UsageError(what, where=str(out), expected="another name, or --force to replace it")
    write_json(out, json.loads(json.dumps(result, allow_nan=False)))


def _limits(config: Path | None) -> Gate:
    return Gate() if config is None else load_config(config, spare=tuple(FIXED)).asked.gate


def own_config(bench: Bench) -> Path | None:
    """The configuration that lies in a bench; None where there is none."""
    there = (bench.root / ARTICLE_CONFIG, bench.paths.config)
    return next((path for path in there if path.is_file()), None)


def _asked(bench: Bench) -> list[str]:
    found = bench.lock().get("judges")
    return sorted(found) if isinstance(found, dict) else []


def _is_deterministic(label: str) -> bool:
    """Whether a judge that this pyrite knows cannot disagree with itself."""
    try:
        return judge_labels.make(label).judge.deterministic
    except UsageError:
        return False
