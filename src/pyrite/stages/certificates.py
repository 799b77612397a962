"""Threshold certificates as files: one for each score of a result, for `pyrite gate --certificate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyrite.errors import UsageError
from pyrite.measure.gate_threshold import sealed
from pyrite.records import SCHEMA_VERSION
from pyrite.store.jsonl import read_json, write_json
from pyrite.store.paths import slug


def write_certificates(folder: Path, result: Mapping[str, Any], *, force: bool = False) -> list[Path]:
    """Write `<name>.threshold.json` for each score of a table or bench; the paths written.

    A file that holds another certificate is kept unless `force`: every look at the same held-out tasks
    counts. Raises `UsageError` where there is no score, or for a file that is in the way.
    """
    found = list(_certificates(result))
    if not found:
        raise UsageError(
            "no score, so no certificate", expected="--scores COLUMNS, or a judge that gives scores"
        )
    if folder.suffix == ".json" and not folder.is_dir():
        expected = "a folder: each score gets a file of its own in it"
        raise UsageError("the name of a file", where=str(folder), expected=expected)
    if folder.exists() and not folder.is_dir():
        raise UsageError("not a folder", where=str(folder), expected="a folder for the certificates")
    paths = {folder / f"{slug(name)}.threshold.json": block for name, block in found}
    documents = {path: sealed({"schema_version": SCHEMA_VERSION, **block}) for path, block in paths.items()}
    if not force:
        for path, document in documents.items():
            if path.exists() and read_json(path) != document:
                raise UsageError(
                    "another certificate is here",
                    where=str(path),
                    expected="another folder, or --force to replace it",
                )
    folder.mkdir(parents=True, exist_ok=True)
    for path, document in documents.items():
        write_json(path, document)
    return list(documents)


def _certificates(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(name, certificate) of every score: a column of a table, or a judge in a condition and stratum."""
    for name, block in result.get("scores", {}).items():
        yield name, block["certificate"]
    for stratum, one in result.get("strata", {}).items():
        for condition, cell in one["conditions"].items():
            for judge, block in cell["judges"].items():
                if block["scores"] is not None:
                    tail = {"stratum": stratum, "condition": condition}
                    yield f"{judge}__{condition}__{stratum}", {**block["scores"]["certificate"], **tail}
