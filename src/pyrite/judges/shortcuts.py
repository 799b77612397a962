"""Shortcut baselines: what a judge scores that does not look. They stand in every table.

A judge that is not clearly better than these has not been shown to look at the screen.
"""

from __future__ import annotations

from typing import Any

from pyrite.episodes.claims import claim
from pyrite.judges.base import Package, Reply
from pyrite.records import Verdict


class AcceptAll:
    """Accepts everything: FPR 1, TPR 1."""

    name = "accept-all"
    inputs = "nothing"
    calls_per_episode = "0"
    source = "pyrite: a shortcut"
    deterministic = True

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return {"rule": "success"}

    async def judge(self, package: Package, run: int) -> Reply:
        return Reply(Verdict.SUCCESS, "accepts everything")


class RejectAll:
    """Rejects everything: FPR 0, TPR 0."""

    name = "reject-all"
    inputs = "nothing"
    calls_per_episode = "0"
    source = "pyrite: a shortcut"
    deterministic = True

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return {"rule": "failure"}

    async def judge(self, package: Package, run: int) -> Reply:
        return Reply(Verdict.FAILURE, "rejects everything")


class Claim:
    """Believes the agent: success exactly when the final message asserts success."""

    name = "claim"
    inputs = "final message"
    calls_per_episode = "0"
    source = "pyrite: a shortcut"
    deterministic = True

    def supports(self, condition: str) -> bool:
        return bool({"claim", "swap"} & set(condition.split("+")))

    def config(self) -> dict[str, Any]:
        return {"rule": "success if the final message asserts success"}

    async def judge(self, package: Package, run: int) -> Reply:
        said = claim(package.evidence.final_message)
        verdict = Verdict.SUCCESS if said == "asserted" else Verdict.FAILURE
        return Reply(verdict, f"the final message: success {said}" if said != "none" else "no claim made")


class Steps:
    """Believes the ending: success exactly when the agent stopped by itself and said done."""

    name = "steps"
    inputs = "last action"
    calls_per_episode = "0"
    source = "pyrite: a shortcut"
    deterministic = True

    def supports(self, condition: str) -> bool:
        return condition.startswith("E3-")

    def config(self) -> dict[str, Any]:
        return {"rule": "success if the last action is done"}

    async def judge(self, package: Package, run: int) -> Reply:
        actions = package.evidence.actions
        last = actions[-1].action if actions else "none"
        verdict = Verdict.SUCCESS if last == "done" else Verdict.FAILURE
        return Reply(verdict, f"{len(actions)} actions, the last one is {last}")
