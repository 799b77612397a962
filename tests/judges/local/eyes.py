"""A tiny mmproj file with weights by chance: real eyes for the smoke model, that see little."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HIDDEN, HEADS, PATCH, SIDE, DEEP, OUT = 32, 2, 14, 56, 2, 576
"""Numbers of the encoder; OUT is the width of the smoke model's embeddings."""
Array = NDArray[np.float32]


def write_eyes(path: Path, seed: int = 4) -> Path:
    """Write a CLIP encoder of two layers with an MLP projector, in GGUF version 3."""
    tensors = _tensors(np.random.default_rng(seed))
    keys = b"".join(_pairs())
    count = len(list(_pairs()))
    infos, data = b"", b""
    for name, array in tensors.items():
        data += b"\0" * (-len(data) % 32)
        infos += _text(name) + struct.pack("<I", array.ndim)
        infos += struct.pack(f"<{array.ndim}Q", *reversed(array.shape)) + struct.pack("<IQ", 0, len(data))
        data += array.tobytes()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), count) + keys + infos
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return path


def _tensors(chance: np.random.Generator) -> dict[str, Array]:
    def noise(*shape: int) -> Array:
        return chance.normal(0, 0.2, shape).astype(np.float32)

    def norm(name: str) -> dict[str, Array]:
        return {f"{name}.weight": np.ones(HIDDEN, np.float32), f"{name}.bias": np.zeros(HIDDEN, np.float32)}

    found: dict[str, Array] = {
        "v.patch_embd.weight": noise(HIDDEN, 3, PATCH, PATCH),
        "v.class_embd": noise(HIDDEN),
        "v.position_embd.weight": noise((SIDE // PATCH) ** 2 + 1, HIDDEN),
        **norm("v.pre_ln"),
        "mm.0.weight": noise(OUT, HIDDEN),
        "mm.0.bias": noise(OUT),
        "mm.2.weight": noise(OUT, OUT),
        "mm.2.bias": noise(OUT),
    }
    for layer in range(DEEP):
        at = f"v.blk.{layer}"
        found |= norm(f"{at}.ln1") | norm(f"{at}.ln2")
        for part in ("attn_q", "attn_k", "attn_v", "attn_out"):
            found |= {f"{at}.{part}.weight": noise(HIDDEN, HIDDEN), f"{at}.{part}.bias": noise(HIDDEN)}
        for part in ("ffn_down", "ffn_up"):
            found |= {f"{at}.{part}.weight": noise(HIDDEN, HIDDEN), f"{at}.{part}.bias": noise(HIDDEN)}
    return found


def _pairs() -> list[bytes]:
    vision = {
        "image_size": SIDE,
        "patch_size": PATCH,
        "embedding_length": HIDDEN,
        "feed_forward_length": HIDDEN,
        "projection_dim": OUT,
        "block_count": DEEP,
        "attention.head_count": HEADS,
    }
    return [
        _text("general.architecture") + struct.pack("<I", 8) + _text("clip"),
        _text("clip.projector_type") + struct.pack("<I", 8) + _text("mlp"),
        _text("clip.has_vision_encoder") + struct.pack("<I?", 7, True),
        _text("clip.use_gelu") + struct.pack("<I?", 7, True),
        _text("clip.vision.attention.layer_norm_epsilon") + struct.pack("<If", 6, 1e-5),
        *(_text(f"clip.vision.{key}") + struct.pack("<II", 4, value) for key, value in vision.items()),
        *(
            _text(f"clip.vision.{key}") + struct.pack("<IIQ3f", 9, 6, 3, 0.5, 0.5, 0.5)
            for key in ("image_mean", "image_std")
        ),
    ]


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()
