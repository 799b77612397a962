"""GGUF headers: good ones, broken ones, and ones made to hurt."""

from __future__ import annotations

import hashlib
import struct
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.errors import InputError, UsageError
from pyrite.judges.local.client import LocalModel
from pyrite.judges.local.gguf import read

Value = str | int | bool | float | list[str] | list[int]


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(found: Value) -> bytes:
    if isinstance(found, str):
        return struct.pack("<I", 8) + text(found)
    if isinstance(found, bool):
        return struct.pack("<I?", 7, found)
    if isinstance(found, int):
        return struct.pack("<II", 4, found)
    if isinstance(found, float):
        return struct.pack("<If", 6, found)
    head = struct.pack("<I", 9)
    if found and isinstance(found[0], str):
        return head + struct.pack("<IQ", 8, len(found)) + b"".join(text(str(one)) for one in found)
    return head + struct.pack(f"<IQ{len(found)}I", 4, len(found), *found)


def header(keys: dict[str, Value], *, version: int = 3, count: int | None = None) -> bytes:
    """The bytes of a header; `count` keys are announced."""
    body = b"".join(text(key) + value(one) for key, one in keys.items())
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(keys) if count is None else count) + body


WHOLE: dict[str, Value] = {
    "general.architecture": "llama",
    "tokenizer.ggml.tokens": ["a", "b" * 300, "ü"],
    "tokenizer.ggml.scores": [1, 2, 3],
    "general.name": "My\nModel \x1b<b>",
    "llama.context_length": 4096,
    "llama.rope": 0.5,
    "x.flag": True,
}


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_file_says_what_it_is_and_unknown_where_it_does_not(tmp_path: Path) -> None:
    data = header(WHOLE) + b"tensors"
    found = read(put(tmp_path / "m.gguf", data))
    assert (found.title, found.licence, found.context) == ("My Model <b>", "UNKNOWN", 4096)
    assert found.sha256 == hashlib.sha256(data).hexdigest()
    assert found.name == f"My-Model-b-{found.sha256[:8]}"
    stated = read(put(tmp_path / "n.gguf", header(WHOLE | {"general.license": "apache-2.0"})))
    assert (stated.licence, stated.smoke) == ("apache-2.0", False)


def test_a_digest_that_differs_is_refused_and_one_that_is_none_too(tmp_path: Path) -> None:
    path = put(tmp_path / "m.gguf", header(WHOLE))
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    assert read(path, sha256=right.upper()).sha256 == right
    with pytest.raises(InputError, match=right):
        read(path, sha256="0" * 64)
    with pytest.raises(UsageError, match="no sha256"):
        read(path, sha256="abc")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"GGML" + header(WHOLE)[4:],
        header(WHOLE, version=1),
        header(WHOLE)[:-3],
        header(WHOLE, count=len(WHOLE) + 1),
        header(WHOLE, count=2**63),
        header(WHOLE | {"split.count": 3}),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IQ", 8, 2**62),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 8, 2**62),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 3),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 77),
    ],
)
def test_what_is_no_whole_file_is_refused_at_once(tmp_path: Path, data: bytes) -> None:
    path = put(tmp_path / "m.gguf", data)
    started = time.monotonic()
    with pytest.raises(InputError, match=r"m\.gguf"):
        read(path)
    assert time.monotonic() - started < 5


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(header(WHOLE)) - 1), st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(tmp_path: Path, place: int, byte: int) -> None:
    data = bytearray(header(WHOLE))
    data[place] = byte
    try:
        found = read(put(tmp_path / "m.gguf", bytes(data)))
    except InputError:
        return
    assert found.name
    assert found.context is None or found.context > 0


def test_a_folder_or_nothing_is_no_model(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.gguf"):
        with pytest.raises(InputError, match="no such file"):
            read(path)


def test_eyes_are_no_model_and_a_model_is_no_eyes(tmp_path: Path) -> None:
    model = str(put(tmp_path / "m.gguf", header(WHOLE)))
    eyes = str(put(tmp_path / "e.gguf", header({"general.architecture": "clip"})))
    with pytest.raises(InputError, match="mmproj"):
        LocalModel.find(eyes)
    with pytest.raises(InputError, match="llama"):
        LocalModel.find(model, mmproj=model)
    pytest.importorskip("xllamacpp", reason="needs pip install 'pyrite[local-llm]'")
    alone, seeing = LocalModel.find(model), LocalModel.find(model, mmproj=eyes)
    assert alone.scope != seeing.scope
    assert seeing.as_json()["mmproj_sha256"] == hashlib.sha256(Path(eyes).read_bytes()).hexdigest()
    assert "/" not in str(seeing.as_json())
