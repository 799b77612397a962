"""Tasks that `check` found unfit and `record` did not run: `held` in lock.json."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import TypeAdapter, ValidationError

from pyrite.errors import InputError
from pyrite.records import OpaqueId, Record
from pyrite.store.bench import Bench


class Held(Record):
    """One task that was held at check: it has no episode of this recording."""

    task_id: OpaqueId
    why: str
    """The first fault in words."""
    faults: int
    checked_at: str
    verifier_sha256: str | None = None
    """Of the verifier that was checked."""


_LIST: TypeAdapter[list[Held]] = TypeAdapter(list[Held])


def read(bench: Bench) -> list[Held]:
    """The tasks that are held, in order of id; `InputError` where lock.json says it in another way."""
    found = bench.lock().get("held", [])
    try:
        return sorted(_LIST.validate_python(found), key=lambda one: one.task_id)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        field = ".".join(str(part) for part in ("held", *first["loc"]))
        raise InputError(
            f"{field}: {first['msg']}", where=str(bench.paths.lock), expected="tasks as record writes them"
        ) from exc


def write(bench: Bench, held: Iterable[Held], *, let_go: Iterable[str] = ()) -> None:
    """Hold these tasks; those in `let_go` are not held any more. Others stay as they were."""
    gone = set(let_go)
    known = {one.task_id: one for one in read(bench) if one.task_id not in gone}
    known |= {one.task_id: one for one in held}
    entries = [known[name].model_dump(mode="json") for name in sorted(known)]
    if entries or "held" in bench.lock():
        bench.update_lock(held=entries)
