"""A server on loopback that answers every baseline, call by call, by the system text of the request."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from tests.judges.client.fault_server import FaultServer, completion, error, response

from pyrite.judges.baselines import prompts

ANSWERS = {
    "webvoyager": "The cell shows the value. SUCCESS",
    "webjudge-key-points": "**Key Points**:\n1. The first point\n2. The second point",
    "webjudge-image-om2w": "**Reasoning**: What screen {n} shows.\n**Score**: {score}",
    "webjudge-image-general": "### Reasoning: What screen {n} shows.\n\n### Score: {score}",
    "webjudge-verdict-om2w": 'Thoughts: all points are met.\nStatus: "success"',
    "webjudge-verdict-general": 'Thoughts: all points are met.\nStatus: "success"',
    "agentrewardbench-first": "<reasoning>fine</reasoning><success>Successful</success><side>No</side>",
    "agentrewardbench-last": "<reasoning>fine</reasoning><side>No</side><success>Successful</success>",
    "aer-caption": "A spreadsheet with one table.",
    "aer-c": "Thoughts: it is there.\nStatus: success",
    "aer-v": "Thoughts: it is there.\nStatus: success",
    "nnetnav-delta": "Something changed, the {n}th time.",
    "nnetnav-reward": "Thought: it is done.\nReward: 5",
}
NAMES = {prompts.load(name).system: name for name in ANSWERS}


class Scripted(FaultServer):
    """`sent` has what came, in order; a call whose prompt is `broken` is a 400, and so not tried again."""

    def __init__(self) -> None:
        super().__init__(keep=False)
        self.broken = ""
        self.sent: list[dict[str, Any]] = []
        self.times: Counter[str] = Counter()

    async def _answer(self, head: str, body: bytes) -> AsyncIterator[bytes]:
        request = json.loads(body)
        self.sent.append(request)
        name = NAMES[request["messages"][0]["content"]]
        n = self.times[name] = self.times[name] + 1
        if name == self.broken:
            yield error("400 Bad Request", "broken on purpose")
            return
        yield response(completion(ANSWERS[name].format(n=n, score=2 + n % 3)))
