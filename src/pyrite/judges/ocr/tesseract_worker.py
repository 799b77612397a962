"""The process that runs libtesseract: images in on stdin, lines of text out on stdout, until stdin ends.

Started by path as a program of its own and importing nothing of pyrite: libtesseract may abort the process
it runs in, and what it prints goes to a file. A request is a line of JSON {"mode", "width", "height"} and
then width x height x 3 bytes RGB; an answer is a line of JSON, the boxes or {"error": why}. The first line
says what runs: {"tesserocr": version, "tesseract": version}.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tesserocr
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

Grey = NDArray[np.int16]

SCALE = 2
"""Screens are read this much enlarged: their text is smaller than what the model was trained on."""
MAX_PIXELS = 32_000_000
MAX_SIDE = 32_000
"""Of the enlarged image; a larger one is enlarged less, or made smaller. Longer sides are refused inside."""
MIN_SIDE = 16
MIN_CONFIDENCE = 15.0
"""Words below are icons that were taken for letters."""
GAP = 1.0
"""Words of a line further apart than this share of their height are two texts (two cells, two menus)."""
LINE_LENGTHS = (17, 41)
"""Straight lines at least this long, down and across, are borders: no letter, dash or underscore is."""
LINE_CONTRAST = 12
INK_CONTRAST = 35
"""Ink differs from the mean of its surroundings (15 x 15) by this much."""
MAX_MISSED = 400
"""Stretches of ink that the search for text has passed over and that are looked at one by one."""
MISSED_SCALE = 3
MISSED_CONFIDENCE = 50.0
MAX_TEXT_HEIGHT = 24
TALL_CONFIDENCE = 60.0
"""What is taller and read less surely is a group of icons; it covers no text beside or below it."""
DOTS_PER_INCH = 96
TIME_LIMIT_MS = 60_000
"""Noise of the size of a screen is given up after this; a screen full of text takes half a second."""
MEMORY_BYTES = 3 << 30
WRITTEN_BYTES = 1 << 20


class Word(NamedTuple):
    """A word in pixels of the enlarged image; `confidence` is 0 to 100, `first` begins a line."""

    x0: int
    y0: int
    x1: int
    y1: int
    text: str
    confidence: float
    first: bool


def main() -> None:
    """Answer requests until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (WRITTEN_BYTES, WRITTEN_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints is no answer
    say(answers, {"tesserocr": tesserocr.__version__, "tesseract": _library()})
    find, single = _reader(tesserocr.PSM.SPARSE_TEXT), _reader(tesserocr.PSM.SINGLE_LINE)
    find.SetVariable("thresholding_method", "1")  # by tiles: a title bar has colours of its own
    while head := sys.stdin.buffer.readline():
        request = json.loads(head)
        size = request["width"], request["height"]
        pixels = sys.stdin.buffer.read(size[0] * size[1] * 3)
        try:
            image = Image.frombytes("RGB", size, pixels).convert("L")
            del pixels
            say(answers, read_line(single, image) if request["mode"] == "line" else read(find, single, image))
        except (RuntimeError, ValueError, MemoryError, OSError) as exc:
            say(answers, {"error": f"{type(exc).__name__}: {exc}"[:300]})


def _reader(mode: int) -> Any:
    return tesserocr.PyTessBaseAPI(path=sys.argv[1], lang="eng", psm=mode, oem=tesserocr.OEM.LSTM_ONLY)


def say(answers: Any, value: object) -> None:
    answers.write(json.dumps(value).encode() + b"\n")
    answers.flush()


def read(find: Any, single: Any, image: Image.Image) -> list[list[Any]]:
    """The lines of text of a grey image as [x0, y0, x1, y1, text, score] in its own pixels.

    Twice: the search for text takes lines and single letters for noise, so lines are painted over before,
    and ink that is in no box afterwards is read on its own (letters over columns, numbers beside rows).
    """
    if image.width * image.height * SCALE**2 > MAX_PIXELS:
        seen, factor = recognise(find, image, SCALE)
        return [boxed(line, factor, image.size) for line in joined(seen)]
    grey = without_lines(np.asarray(image).astype(np.int16))
    image = Image.fromarray(grey.astype(np.uint8))
    seen, factor = recognise(find, image, SCALE)
    found = [boxed(line, factor, image.size) for line in joined(seen)]
    for x0, y0, x1, y1 in missed(grey, found)[:MAX_MISSED]:
        left, top = max(0, x0 - 4), max(0, y0 - 4)
        part = image.crop((left, top, min(image.width, x1 + 4), min(image.height, y1 + 4)))
        seen, factor = recognise(single, part, MISSED_SCALE)
        if seen:
            *_, text, score = boxed(seen, factor, part.size)
            if score >= MISSED_CONFIDENCE / 100:
                parts = [b for b in found if x0 <= (b[0] + b[2]) / 2 <= x1 and y0 <= (b[1] + b[3]) / 2 <= y1]
                found = [box for box in found if box not in parts]  # halves of the same letters
                found.append([x0, y0, x1, y1, text, score])
    return [box for box in found if box[3] - box[1] <= MAX_TEXT_HEIGHT or box[5] >= TALL_CONFIDENCE / 100]


def read_line(single: Any, image: Image.Image) -> list[list[Any]]:
    """The one line of text of a grey image, as it is: who cuts a line out enlarges it."""
    seen, factor = recognise(single, image, 1)
    return [boxed(seen, factor, image.size)] if seen else []


def recognise(reader: Any, image: Image.Image, scale: float) -> tuple[list[Word], float]:
    """The words of a grey image, and how much it was enlarged for them."""
    area, side = image.width * image.height, max(image.size)
    factor = min(scale, (MAX_PIXELS / area) ** 0.5, MAX_SIDE / side)
    width, height = (max(1, round(length * factor)) for length in image.size)
    canvas = Image.new("L", (max(width, MIN_SIDE), max(height, MIN_SIDE)), 255)
    canvas.paste(image.resize((width, height), Image.Resampling.BICUBIC), (0, 0))
    reader.SetImage(canvas)
    reader.SetSourceResolution(round(DOTS_PER_INCH * max(1.0, factor)))
    try:
        if not reader.Recognize(TIME_LIMIT_MS):  # no text would be another thing
            raise RuntimeError("it gave up")
        return list(words(reader.GetIterator())), factor
    finally:
        reader.Clear()
        reader.ClearAdaptiveClassifier()  # or a reading would depend on the ones before it


def without_lines(grey: Grey) -> Grey:
    """A screen with its straight lines, one or two pixels wide, painted over with what is beside them."""
    out = grey.copy()
    for turned, length in ((out, LINE_LENGTHS[0]), (out.T, LINE_LENGTHS[1])):
        if min(turned.shape) < 5 or turned.shape[0] < length:
            continue
        for width in (1, 2):
            before, first = turned[:, : -1 - width], turned[:, 1:-width]
            last, after = turned[:, width:-1], turned[:, 1 + width :]
            into, out_of = first - before, last - after
            line = (np.abs(into) >= LINE_CONTRAST) & (np.abs(out_of) >= LINE_CONTRAST) & (into * out_of > 0)
            line = ndimage.minimum_filter1d(line, length, axis=0, mode="constant")
            line = ndimage.maximum_filter1d(line, length, axis=0, mode="constant")
            rows, columns = np.nonzero(line)
            for step in range(1, width + 1):
                turned[rows, columns + step] = turned[rows, columns]
    return out


def missed(grey: Grey, found: list[list[Any]]) -> list[tuple[int, int, int, int]]:
    """Stretches of ink of the size of a line of text of which most is in no box, from top to bottom."""
    covered = np.zeros(grey.shape, np.bool_)
    for box in found:
        x0, y0, x1, y1 = box[:4]
        if y1 - y0 <= MAX_TEXT_HEIGHT:
            covered[y0:y1, x0:x1] = True
    smooth = ndimage.uniform_filter(grey.astype(np.float32), 15)
    labels, count = ndimage.label(np.abs(grey - smooth) > INK_CONTRAST, structure=np.ones((3, 3)))
    letter = np.zeros(count + 1, np.bool_)
    for number, (ys, xs) in enumerate(ndimage.find_objects(labels), start=1):
        height, width = ys.stop - ys.start, xs.stop - xs.start
        letter[number] = height <= 18 and width <= 22 and height * width >= 6
    spread = ndimage.binary_dilation(letter[labels], structure=np.ones((1, 11)))
    labels, _ = ndimage.label(spread, structure=np.ones((3, 3)))
    stretches = []
    for ys, xs in ndimage.find_objects(labels):
        x0, x1 = xs.start + 5, max(xs.stop - 5, xs.start + 6)
        if 7 <= ys.stop - ys.start <= 20 and x1 - x0 >= 3 and covered[ys, x0:x1].mean() <= 0.3:
            stretches.append((x0, ys.start, x1, ys.stop))
    return stretches


def words(iterator: Any) -> Iterator[Word]:
    """The words that were recognised surely enough, in reading order."""
    level, pending = tesserocr.RIL.WORD, True
    if iterator is None:
        return
    for item in tesserocr.iterate_level(iterator, level):
        pending = pending or bool(item.IsAtBeginningOf(tesserocr.RIL.TEXTLINE))
        with contextlib.suppress(RuntimeError):  # what has no text
            text = item.GetUTF8Text(level).strip()
            box, confidence = item.BoundingBox(level), float(item.Confidence(level))
            if text and box and confidence >= MIN_CONFIDENCE:
                x0, y0, x1, y1 = box
                yield Word(x0, y0, x1, y1, text, confidence, pending)
                pending = False


def joined(found: Iterable[Word]) -> Iterator[list[Word]]:
    """Words that stand next to each other on a line, as one text."""
    line: list[Word] = []
    for word in found:
        if line:
            height = max(word.y1 - word.y0, line[-1].y1 - line[-1].y0)
            if word.first or not 0 <= word.x0 - line[-1].x1 + height / 4 <= GAP * height + height / 4:
                yield line
                line = []
        line.append(word)
    if line:
        yield line


def boxed(line: list[Word], factor: float, size: tuple[int, int]) -> list[Any]:
    """One text with its box, inside of the image, and the mean confidence of its characters."""
    edges = (
        min(w.x0 for w in line) / factor,
        min(w.y0 for w in line) / factor,
        max(w.x1 for w in line) / factor,
        max(w.y1 for w in line) / factor,
    )
    x0, y0, x1, y1 = (min(max(round(edge), 0), size[index % 2]) for index, edge in enumerate(edges))
    letters = sum(len(w.text) for w in line)
    score = sum(w.confidence * len(w.text) for w in line) / letters / 100
    return [x0, y0, x1, y1, " ".join(w.text for w in line), round(min(max(score, 0.0), 1.0), 3)]


def _library() -> str:
    """Version of libtesseract alone."""
    return str(tesserocr.tesseract_version()).split("\n")[0].removeprefix("tesseract").strip()


if __name__ == "__main__":
    main()
