"""Append-only JSON lines and whole JSON files that survive a kill at any moment.

A file is written beside its place and renamed into it; a line is appended, flushed and synced a
batch; a torn last line is cut off before the next append and skipped by readers.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import re
import stat
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError

from pyrite.errors import InputError

Model = TypeVar("Model", bound=BaseModel)

SCHEMAS = {
    "TaskSpec": "task",
    "Meta": "meta",
    "ActionLine": "action",
    "Facts": "facts",
    "Truth": "truth",
    "Label": "label",
    "Evidence": "evidence",
    "EvidenceEntry": "package",
    "VerdictLine": "verdict",
}
"""Record -> the name that `pyrite schema` knows it by."""

_HALF = re.compile(r"\..+\.\d+-\d+\.partial", re.DOTALL)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        with _naming(path), partial.open("wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def replace_quickly(path: str, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a kill; not synced.

    For thousands of small files that can be done without if the machine loses its power.
    """
    folder, _, name = path.rpartition("/")
    partial = f"{folder}/.{name}.{os.getpid()}-{threading.get_ident()}.partial"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        descriptor = os.open(partial, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(partial, flags, 0o666)
    try:
        with open(descriptor, "wb", buffering=0) as handle:
            handle.write(data)
        os.rename(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise


def is_half(name: str) -> bool:
    """Whether a file of this name is one that `write_bytes` did not come to finish.

    >>> is_half(".gt.json.4711-140212.partial"), is_half("gt.json")
    (True, False)
    """
    return _HALF.fullmatch(name) is not None


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """What the system says of writing is said of this path: of a full disk it names none."""
    try:
        yield
    except OSError as exc:
        exc.filename = str(path)
        raise


def write_json(path: Path, document: Any) -> None:
    """Write one JSON document: sorted nowhere, two spaces, no NaN, a final newline."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    write_bytes(path, text.encode() + b"\n")


def write_record(path: Path, record: BaseModel) -> None:
    """Write one record under the names it has on disk."""
    write_json(path, record.model_dump(mode="json", by_alias=True))


def read_record(path: Path, model: type[Model], *, limit_bytes: int = 16 << 20) -> Model:
    """Read one record; `InputError` says field, value seen and what was expected."""
    return parse_record(read_bounded(path, limit_bytes), model, where=str(path))


def parse_record(data: bytes, model: type[Model], *, where: str) -> Model:
    """A record out of the bytes of a file that was read already."""
    try:
        return model.model_validate_json(data)
    except ValidationError as exc:
        raise explained(exc, where, model) from exc


def read_json(path: Path, *, limit_bytes: int = 16 << 20) -> Any:
    """Read one JSON document of anybody's."""
    data = read_bounded(path, limit_bytes)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise InputError(f"not JSON: {exc}", where=str(path), expected="one JSON document") from exc


def append_lines(path: Path, records: Iterable[BaseModel], *, sparse: bool = False) -> int:
    """Append records as lines, repair a torn last line first, sync once. Returns how many.

    `sparse` leaves out the fields that are None.
    """
    lines = [r.model_dump_json(by_alias=True, exclude_none=sparse).encode() + b"\n" for r in records]
    if not lines:
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with _naming(path), path.open("ab") as handle:
        _mend_last_line(path, handle.fileno())
        handle.write(b"".join(lines))
        handle.flush()
        os.fsync(handle.fileno())
    return len(lines)


class Appender:
    """Appends one record a line, as they come: with the system at once, on the disk every `sync_every`.

    A killed process loses none of its lines, a machine without power at most so many. The file is made
    with its first line; a torn last line is repaired before it.
    """

    def __init__(self, path: Path, *, sync_every: int = 64) -> None:
        self._path = path
        self._every = sync_every
        self._handle: BinaryIO | None = None
        self._unsynced = 0

    def append(self, record: BaseModel) -> None:
        line = record.model_dump_json(by_alias=True).encode() + b"\n"
        with _naming(self._path):
            if self._handle is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._handle = self._path.open("ab", buffering=0)
                _mend_last_line(self._path, self._handle.fileno())
            self._handle.write(line)
            self._unsynced += 1
            if self._unsynced >= self._every:
                os.fsync(self._handle.fileno())
                self._unsynced = 0

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            with _naming(self._path), handle:
                os.fsync(handle.fileno())


def read_lines(
    path: Path, model: type[Model], *, line_limit_bytes: int = 16 << 20, foreign: bool = False
) -> Iterator[Model]:
    """Stream the records of a file; a torn last line is skipped, any other bad line is an `InputError`.

    `foreign`: another program wrote it, so it may be packed by gzip and begin with UTF-8's byte order mark.
    """
    with _open_plain(path) as plain, _unpacked(plain, path) if foreign else nullcontext(plain) as handle:
        number = 0
        while line := handle.readline(line_limit_bytes + 1):
            number += 1
            if foreign and number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if len(line) > line_limit_bytes:
                raise InputError(
                    f"a line of more than {line_limit_bytes} bytes",
                    where=f"{path}:{number}",
                    expected="one JSON object a line",
                )
            if not line.strip():
                continue
            try:
                yield model.model_validate_json(line)
            except ValidationError as exc:
                if not line.endswith(b"\n"):
                    return
                raise explained(exc, f"{path}:{number}", model) from exc


@contextmanager
def _unpacked(plain: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file that may be packed by gzip; `InputError` where it is packed and broken."""
    packed = plain.read(2) == b"\x1f\x8b"
    plain.seek(0)
    if not packed:
        yield plain
        return
    try:
        with gzip.open(plain, "rb") as handle:
            yield cast(BinaryIO, handle)
    except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
        raise InputError(
            f"broken gzip: {exc}", where=str(path), expected="a whole .gz, or a plain file"
        ) from exc


def _mend_last_line(path: Path, descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    if size == 0:
        return
    with path.open("rb") as handle:
        handle.seek(size - 1)
        if handle.read(1) == b"\n":
            return
        start = max(0, size - (16 << 20))
        handle.seek(start)
        tail = handle.read()
    last = tail.rfind(b"\n") + 1
    try:
        json.loads(tail[last:])
    except ValueError:
        os.ftruncate(descriptor, start + last)
    else:
        os.write(descriptor, b"\n")


def _open_plain(path: Path) -> BinaryIO:
    """Open a regular file: never a link, a pipe that would wait for ever, or a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as exc:
        raise InputError(exc.strerror or str(exc), where=str(path), expected="a readable file") from exc
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError("not a regular file", where=str(path), expected="a readable file")
    return os.fdopen(descriptor, "rb")


def read_bounded(path: Path, limit_bytes: int = 16 << 20) -> bytes:
    """The bytes of a regular file of at most so many; `InputError` for anything else."""
    with _open_plain(path) as handle:
        data = handle.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise InputError(f"more than {limit_bytes} bytes", where=str(path), expected="a smaller file")
    return data


def explained(exc: ValidationError, where: str, model: type[BaseModel]) -> InputError:
    """The first thing that is wrong with a record: field, value seen, and what is accepted there."""
    first = exc.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "the document"
    seen = "" if first["type"] in {"missing", "json_invalid"} else f", found {first['input']!r:.80}"
    schema = SCHEMAS.get(model.__name__)
    shown = f"pyrite schema {schema}" if schema else ""
    expected = f"a {model.__name__} record" + (f", as `{shown}` prints" if shown else "")
    if first["type"] == "extra_forbidden" and (keys := _accepted(model, first["loc"][:-1])):
        expected = f"one of {', '.join(keys)}"
    return InputError(f"{field}: {first['msg']}{seen}", where=where, expected=expected, next=shown)


def _accepted(model: Any, place: Sequence[int | str]) -> list[str]:
    """The keys, as they stand in a file, of the record at a place inside of a record."""
    for part in place:
        if isinstance(part, int):
            continue
        fields = model.model_fields.items()
        annotation = next((f.annotation for name, f in fields if (f.alias or name) == part), None)
        model = next((m for m in (annotation, *_inside(annotation)) if _is_record(m)), None)
        if model is None:
            return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _inside(annotation: Any) -> Iterator[Any]:
    for argument in get_args(annotation):
        yield argument
        yield from _inside(argument)


def _is_record(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, BaseModel)
