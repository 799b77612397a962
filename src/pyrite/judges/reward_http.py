"""`reward-http`: a reward model behind a server of your own, over documented JSON.

    pyrite judge BENCH --judge 'reward-http@url=http://127.0.0.1:9000/score,conditions=E1-final'

One POST a package: the JSON of `pyrite.judges.wire`, images in base64; the response is one object with a
`score` (any finite number, kept raw) or a `verdict`, or both, with `confidence` and `reason` if it likes.
Limits, repeats and times are those of all model calls. A 200 that cannot be read is counted, never asked
for again; a status above 299 is no verdict, nor is a 200 that is empty, a page or an error: it is repeated.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pyrite.errors import UsageError
from pyrite.judges.base import Package, Reply
from pyrite.judges.client.base import Answer, CallError
from pyrite.judges.client.calls import Calls
from pyrite.judges.client.http import checked_url, error_of
from pyrite.judges.wire import Conditions, document, error_in, identifier, read, unreadable


class RewardHttp:
    """A server that answers a package with a score."""

    name = "reward-http"
    inputs = "all that the condition shows"
    calls_per_episode = "1"
    source = "your own server"
    deterministic = False

    def __init__(
        self,
        url: str = "",
        model_name: str = "",
        conditions: str = "",
        api_key_env: str = "",
        *,
        calls: Calls,
    ) -> None:
        """`model_name` is sent along; `api_key_env` names the variable that holds a bearer key."""
        if not url:
            raise UsageError(
                "reward-http has no url",
                expected="reward-http@url=http://HOST:PORT/PATH",
                next="--judge 'reward-http@url=http://127.0.0.1:9000/score'",
            )
        self._url = checked_url(url)
        self._model = model_name or None
        self._conditions = Conditions(conditions)
        self._transport = calls.transport(self._url, api_key_env or None)
        self._spent = calls.spent
        if api_key_env and not calls.key(api_key_env) and calls.options.sends:
            raise UsageError(
                f"the environment variable {api_key_env} is not set", expected="the key of the server"
            )

    def supports(self, condition: str) -> bool:
        return condition in self._conditions

    def config(self) -> dict[str, Any]:
        return {"url": self._url, "model": self._model, "conditions": list(self._conditions.names)}

    async def judge(self, package: Package, run: int) -> Reply:
        try:
            response = await self._transport.post("", self.body(package, run), check=_check)
        except CallError as exc:
            self._spent.failed += 1
            self._spent.requests += exc.requests
            raise
        self._spent.add(Answer(text=None, requests=response.requests))  # tokens and cost are not known
        said = read(response.body)
        reply = said.reply
        if said.id is not None and said.id != identifier(package, run):
            reply = unreadable("off_schema", "it answers another request: the id differs")
        return replace(reply, usage={"requests": response.requests}, model=self._model)

    def body(self, package: Package, run: int) -> bytes:
        """The JSON of a request."""
        encoded = {image.digest: image for image in package.pictures}
        asked = document(package, run, lambda digest: {"base64": encoded[digest].base64.decode("ascii")})
        return json.dumps({**asked, "model": self._model}, allow_nan=False).encode()


def _check(data: bytes) -> None:
    """Raise `CallError` for a 200 of something else than the judge: a page, an error."""
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        raise CallError("protocol", f"200, but no JSON: {text[:80].decode('utf-8', 'replace')!r}", status=200)
    if not text.strip(b"\0 \t\r\n"):
        raise CallError("protocol", "200, but it is empty", status=200)
    if (wrong := error_in(data)) is not None:
        said = error_of(data).get("message") or wrong
        raise CallError("protocol", f"an error in a 200: {str(said)[:200]}", status=200)
