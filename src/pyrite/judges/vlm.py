"""`vlm`: a model behind a chat endpoint, asked with our own rubric: strict, and as hard on a failure.

    vlm@model=o4-mini                       prompt=strict
    vlm@model=o4-mini,prompt=lenient        also no-claim-line, verdict-first, or the path of a .md file
    vlm@model=o4-mini,eyes=ocr              text read off the screens in place of their pixels

The answer is constrained to a schema where the endpoint offers that, and read by `parse` in any case.
An answer that cannot be read is counted and never asked for again. The score is the margin of "success"
over "failure" in log-probabilities, where the endpoint gives them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pyrite.errors import UsageError
from pyrite.judges import eyes as reading
from pyrite.judges import prompts, showing
from pyrite.judges.base import Package, Reply
from pyrite.judges.client.base import Answer, Image, Params, Request
from pyrite.judges.client.calls import Calls
from pyrite.judges.margin import WORDS, deciding, margin
from pyrite.judges.options import number, one_of
from pyrite.judges.parse import Format, parse
from pyrite.records import Evidence, ViewAction

FORM = Format(keys=("verdict",), strict=True)
NO_CLAIM_LINE, VERDICT_FIRST = "no-claim-line", "verdict-first"
_PROPERTIES: dict[str, dict[str, Any]] = {
    "reason": {"type": "string"},
    "verdict": {"type": "string", "enum": list(WORDS)},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
}


class Vlm:
    """Asks a model behind a chat endpoint what the screens show, with a strict rubric."""

    name = "vlm"
    inputs = "all that the condition shows"
    calls_per_episode = "1"
    source = "pyrite"
    deterministic = False

    def __init__(
        self,
        model: str = "",
        base_url: str = "",
        api_key_env: str = "",
        prompt: str = "strict",
        eyes: str = "pixels",
        schema: str = "on",
        temperature: str = "0",
        max_tokens: str = "1024",
        seed: str = "",
        logprobs: str = "20",
        cache: bool = True,
        *,
        calls: Calls,
    ) -> None:
        """`temperature=none` and `seed=` leave them out of the request; `logprobs=0` asks for none."""
        self._system = prompts.load(prompt)
        self._claim_line = prompt != NO_CLAIM_LINE
        self._eyes = one_of("vlm: eyes", eyes, ("pixels", "ocr"))
        self._schema = answer_schema(prompt) if one_of("vlm: schema", schema, ("on", "off")) == "on" else None
        self._params = Params(
            temperature=None if temperature == "none" else number("vlm: temperature", temperature, 0, 2),
            max_tokens=int(number("vlm: max_tokens", max_tokens, 16, 1 << 17, whole=True)),
            seed=int(number("vlm: seed", seed, 0, (1 << 53) - 1, whole=True)) if seed else None,
            top_logprobs=int(number("vlm: logprobs", logprobs, 0, 20, whole=True)),
        )
        self._cache = cache
        self._calls = calls
        self.endpoint = calls.endpoint(model=model, base_url=base_url, api_key_env=api_key_env)
        if self.endpoint.blind and self._eyes == "pixels":
            raise UsageError(
                f"{self.endpoint.model} takes no images",
                expected="vlm@eyes=ocr, or --mmproj with the file that gives this model eyes",
            )
        self._prompt = prompt
        self.prompt_sha256 = self._digest()

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        """Model, sampling, prompt with the digest of all fixed words, and whose eyes."""
        return {
            **self.endpoint.as_json(),
            "prompt": self._prompt,
            "prompt_file_sha256": hashlib.sha256(self._system.encode()).hexdigest(),
            "prompt_sha256": self.prompt_sha256,
            "eyes": self._eyes,
            "schema": self._schema is not None,
            "params": self._params.as_json(),
            **(reading.reader() if self._eyes == "ocr" else {}),
        }

    async def request(self, package: Package, run: int) -> Request:
        """What is sent for a package."""
        texts = await reading.texts(package, cache=self._cache) if self._eyes == "ocr" else None
        return self._request(package.evidence, package.pictures, texts, run)

    async def judge(self, package: Package, run: int) -> Reply:
        request = await self.request(package, run)
        answer = await self._calls.client(self.endpoint).ask(request)
        return self._reply(answer)

    def _request(
        self, evidence: Evidence, pictures: tuple[Image, ...], texts: list[str] | None, run: int
    ) -> Request:
        return Request(
            self.endpoint.model,
            self._system,
            showing.parts(evidence, pictures, claim_line=self._claim_line, texts=texts),
            schema=self._schema,
            params=self._params,
            run=run,
            condition=evidence.condition,
            package=evidence.package_id,
        )

    def _reply(self, answer: Answer) -> Reply:
        found = parse(
            answer.text, finish=answer.finish, refusal=answer.refusal, defect=answer.defect, form=FORM
        )
        ok = found.status == "ok"
        return Reply(
            found.verdict,
            found.reason,
            margin(answer.logprobs, found.verdict) if ok else None,
            found.confidence,
            found.status,
            answer.as_usage(),
            kept(answer),
            answer.model or self.endpoint.model,
            self.prompt_sha256,
        )

    def _digest(self) -> str:
        """Over what is sent of a sample package: prompt, schema, and every fixed word between the parts."""
        texts = ["read"] * len(_SAMPLE.images) if self._eyes == "ocr" else None
        pictures = tuple(Image(key, "image/png", bytes) for key in _SAMPLE.images)
        sample = self._request(_SAMPLE, pictures, texts, run=1)
        said = [part.digest if isinstance(part, Image) else part.text for part in sample.parts]
        whole = json.dumps([sample.system, said, sample.schema], sort_keys=False)
        return hashlib.sha256(whole.encode()).hexdigest()


def answer_schema(prompt: str) -> dict[str, Any]:
    """The JSON schema of an answer; models write the keys in this order."""
    order = list(_PROPERTIES)
    if prompt == VERDICT_FIRST:
        order = ["verdict", "reason", "confidence"]
    return {
        "type": "object",
        "properties": {key: _PROPERTIES[key] for key in order},
        "required": order,
        "additionalProperties": False,
    }


def kept(answer: Answer) -> dict[str, Any]:
    """The answer as it came, for raw/; of its log-probabilities the token that decides."""
    body = answer.model_dump(mode="json", exclude={"logprobs", "seconds", "requests", "cached"})
    place = deciding(answer.logprobs or ())
    body["deciding_token"] = place[0].model_dump(mode="json") if place is not None else None
    return body


_SAMPLE = Evidence(
    package_id="p_sample",
    condition="E2+claim+thoughts",
    instruction="task",
    actions=(ViewAction(step=1, action="type", parameters={"text": "x"}, thought="t", screen=1),),
    images=("a", "b", "a"),
    same_as=(None, None, 0),
    final_message="done",
)
