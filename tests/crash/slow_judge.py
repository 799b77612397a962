"""A judge that takes its time, so that a kill can come between two verdicts."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from pyrite.judges.base import Package, Reply
from pyrite.records import Verdict


class Slow:
    name = "slow"
    deterministic = True

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return {}

    async def judge(self, package: Package, run: int) -> Reply:
        await asyncio.sleep(0.05)
        return Reply(Verdict.SUCCESS, reason="it waited")


class Logged(Slow):
    """Says in a file that it has answered; from the sixth on it takes long, so that some are in flight."""

    name = "logged"
    asked = 0

    async def judge(self, package: Package, run: int) -> Reply:
        self.asked += 1
        await asyncio.sleep(0.2 if self.asked <= 5 else float(os.environ.get("SLOW_JUDGE_S", "2")))
        with Path(os.environ["SLOW_JUDGE_LOG"]).open("a", encoding="utf-8") as log:
            log.write("answered\n")
        return Reply(Verdict.SUCCESS)
