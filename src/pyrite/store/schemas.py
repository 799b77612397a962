"""JSON Schemas of what lies in a bench, made from the records themselves, under the names on disk."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from pyrite import records
from pyrite.errors import UsageError
from pyrite.records import ForeignRecord
from pyrite.store.config import FIXED, Asked

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Report(ForeignRecord):
    """report.json: what every reader may rely on; the figures stand below `strata`."""

    schema_version: str
    bench: str
    level: float
    episodes: int
    tasks: int
    lead: records.Source | None
    """The stratum that leads; null where nothing failed."""
    finding: str
    strata: dict[str, dict[str, Any]]
    warnings: tuple[str, ...] = ()
    lock_sha256: str | None = None


@dataclass(frozen=True)
class Described:
    """One kind of record on disk."""

    name: str
    file: str
    """Where it lies, relative to the bench."""
    form: Literal["document", "line"]
    text: str
    """What it is, in words."""
    model: type[BaseModel]
    elsewhere: tuple[str, ...] = ()
    """Fields that need not stand in the file: the folder's name or a file beside it says them."""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of one document, or of one line."""
        made = self.model.model_json_schema(by_alias=True, mode="validation")
        required = [name for name in made.pop("required", ()) if name not in self.elsewhere]
        if self.model is Asked:
            _widen(made)
        return {"$schema": DIALECT, "title": made.pop("title"), **made, "required": required}


def _widen(made: dict[str, Any]) -> None:
    """Shorter ways to write what is asked: names as one text, judges as a list of labels."""
    found = made["properties"]
    names = {"type": "array", "items": {"type": "string"}}
    for name, body in found.items():
        if body.get("type") == "array":
            found[name] = {"anyOf": [names, {"type": "string"}], "title": body["title"]}
    sections = {label: {"$ref": f"#/$defs/{model.__name__}"} for label, model in FIXED.items()}
    own = {"anyOf": [{"$ref": "#/$defs/Judged"}, {"type": "null"}]}
    options = {"type": "object", "properties": sections, "additionalProperties": own}
    for model in FIXED.values():
        made["$defs"][model.__name__] = model.model_json_schema()
    found["judges"] = {"anyOf": [names, options, {"type": "null"}], "title": "Judges"}


DESCRIBED = (
    Described(
        "task",
        "tasks/<task_id>/task.json",
        "document",
        "what an agent is asked to do",
        records.TaskSpec,
        ("task_id", "instruction"),
    ),
    Described(
        "meta",
        "episodes/<episode_id>/meta.json",
        "document",
        "an episode",
        records.Meta,
    ),
    Described("action", "episodes/<episode_id>/actions.jsonl", "line", "one step", records.ActionLine),
    Described(
        "facts",
        "episodes/<episode_id>/final_facts.json",
        "document",
        "windows and unsaved work, from outside",
        records.Facts,
    ),
    Described(
        "truth", "episodes/<episode_id>/gt.json", "document", "pass, fail or indeterminate", records.Truth
    ),
    Described("label", "labels.jsonl", "line", "what a person says", records.Label),
    Described(
        "evidence",
        "evidence/<condition>/<package_id>/evidence.json",
        "document",
        "what a judge sees",
        records.Evidence,
    ),
    Described(
        "package", "evidence/index.jsonl", "line", "which package is of which episode", records.EvidenceEntry
    ),
    Described(
        "verdict", "verdicts/<judge>__<condition>.jsonl", "line", "what a judge says", records.VerdictLine
    ),
    Described("report", "report.json", "document", "the figures", Report),
    Described("config", "pyrite.yaml", "document", "what is asked of a bench", Asked),
)


def described(name: str) -> Described:
    """The kind of record of that name; `UsageError` for an unknown one, with the nearest."""
    known = {one.name: one for one in DESCRIBED}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise UsageError(
            f"no schema is called {name[:80]!r}",
            expected=", ".join(known),
            next=f"pyrite schema {near[0]}" if near else "pyrite schema",
        )
    return known[name]
