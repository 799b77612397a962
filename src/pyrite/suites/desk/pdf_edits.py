"""Write a small PDF that shows lines of text, for known states; never imported by a verifier."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path


def write_pdf(path: Path, lines: Sequence[str]) -> None:
    """One page, one font, letters by their Latin-1 codes."""
    shown = [f"<{line.encode('latin-1', 'replace').hex()}> Tj 0 -14 Td" for line in lines]
    content = "BT /F1 10 Tf 40 800 Td " + " ".join(shown) + " ET"
    codes = sorted({byte for line in lines for byte in line.encode("latin-1", "replace")})
    table = f"{len(codes)} beginbfchar\n" + "\n".join(f"<{c:02X}> <{c:04X}>" for c in codes) + "\nendbfchar"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 4 0 R>>>>/Contents 5 0 R>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>",
        _stream(content.encode()),
        _stream(table.encode()),
    ]
    out = b"%PDF-1.6\n"
    places: list[int] = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    path.write_bytes(out)


def _stream(data: bytes) -> bytes:
    packed = zlib.compress(data)
    return b"<</Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream" % (len(packed), packed)
