"""Record anew what OCR reads in these screens: `python tests/judges/screens/record.py` (needs the ocr extra).

The screens are LibreOffice 7.4 Calc under Xvfb and openbox, 1024 x 768, each made for one difficulty.
Their readings lie beside them, so that the tests of the rules need no engine and take no time. Record
again when the rules cut other strips out of a screen, and read the difference in the verdicts first.
"""

from __future__ import annotations

import json
from pathlib import Path

from pyrite.judges import ocr
from pyrite.judges.screen_rules import decide
from pyrite.store.images import open_image

HERE = Path(__file__).resolve().parent


def main() -> None:
    wrong = 0
    cases = [json.loads(line) for line in (HERE / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    with ocr.collected() as entries:
        for case in cases:
            reply = decide(case["instruction"], open_image(HERE / f"{case['screen']}.webp"))
            if reply.verdict != case["verdict"]:
                wrong += 1
                print(f"{case['screen']}: expected {case['verdict']}, found {reply.verdict}: {reply.reason}")
    size = ocr.ship(entries.values(), HERE / "readings.jsonl.zst")
    print(f"{len(cases)} cases, {wrong} with another verdict, {len(entries)} readings in {size} bytes")


if __name__ == "__main__":
    main()
