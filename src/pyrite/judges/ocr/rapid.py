"""rapidocr with the models inside its wheel: the more accurate engine, 2 to 7 s of CPU a screen."""

from __future__ import annotations

import hashlib
import threading
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pyrite.judges.ocr.readings import MAX_BOXES, Box, Engine, Mode

MIN_SIDE = 16
NEXT = "pip install 'pyrite[ocr]'"

_LOCK = threading.Lock()
_RECOGNISER: list[Any] = []


@lru_cache(maxsize=1)
def engine() -> Engine | None:
    """The installed engine, or None where rapidocr, onnxruntime or the bundled models are not there."""
    if find_spec("onnxruntime") is None or find_spec("rapidocr") is None:
        return None
    try:
        package = distribution("rapidocr")
    except PackageNotFoundError:
        return None
    bundled = sorted(str(name) for name in package.files or () if str(name).endswith(".onnx"))
    found = [Path(str(package.locate_file(name))) for name in bundled]
    det = next((path for path in found if "_det_" in path.name and path.is_file()), None)
    rec = next((path for path in found if "_rec_" in path.name and path.is_file()), None)
    if det is None or rec is None:
        return None
    digest = hashlib.sha256()
    for path in (det, rec):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return Engine("rapidocr", f"rapidocr {package.version}", digest.hexdigest(), (det, rec))


def recognise(installed: Engine, image: Image.Image, mode: Mode) -> tuple[Box, ...]:
    """Run the engine, one image at a time in this process; raises whatever it raises."""
    bgr = np.ascontiguousarray(np.asarray(_padded(image, mode))[:, :, ::-1])
    with _LOCK:
        if not _RECOGNISER:
            _RECOGNISER.append(_start(installed))
        result = _RECOGNISER[0](bgr, use_det=mode == "screen", use_cls=False, use_rec=True)
    return _boxes(result, image.size)


def _padded(image: Image.Image, mode: Mode) -> Image.Image:
    """Give a thin image margins: the engine scales the short side up, and memory with it (1 x 2000 kills)."""
    ratio = 6 if mode == "screen" else 40
    width = max(image.width, image.height // ratio, MIN_SIDE)
    height = max(image.height, image.width // ratio, MIN_SIDE)
    if (width, height) == image.size:
        return image.convert("RGB")
    canvas = Image.new("RGB", (width, height), "white")
    canvas.paste(image, (0, 0))
    return canvas


def _start(installed: Engine) -> Any:
    """Load the bundled models by path, so that nothing is fetched; one thread costs the least CPU."""
    import onnxruntime
    from rapidocr import RapidOCR

    det, rec = installed.files
    onnxruntime.set_default_logger_severity(3)
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Det.model_path": str(det),
            "Rec.model_path": str(rec),
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _boxes(result: Any, size: tuple[int, int]) -> tuple[Box, ...]:
    texts, scores = result.txts or (), result.scores or ()
    corners = getattr(result, "boxes", None)
    found = []
    for index, (text, score) in enumerate(zip(texts, scores, strict=True)):
        if not text:
            continue
        if corners is None:
            x0, y0, x1, y1 = 0, 0, *size
        else:
            xs, ys = corners[index][:, 0], corners[index][:, 1]
            x0, y0, x1, y1 = round(min(xs)), round(min(ys)), round(max(xs)), round(max(ys))
        found.append(Box(x0, y0, x1, y1, str(text), round(float(score), 3)))
    return tuple(found[:MAX_BOXES])
