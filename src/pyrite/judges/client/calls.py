"""What all judges of one command share: endpoints, limits, the cache, and what may be spent.

A judge whose factory takes `calls` gets the `Calls` of the command and asks it for a client:

    class Mine:
        def __init__(self, model: str = "", *, calls: Calls) -> None:
            self.endpoint, self.calls = calls.endpoint(model=model), calls

        async def judge(self, package, run):
            request = Request(self.endpoint.model, "You are…", (Text("…"), *package.pictures), run=run)
            answer = await self.calls.client(self.endpoint).ask(request)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrite.errors import UsageError
from pyrite.judges.client.base import Answer, JudgeClient, Request, stopped
from pyrite.judges.client.budget import Budget, Cap, Price, Spent
from pyrite.judges.client.cache import Cached, Store
from pyrite.judges.client.endpoint import OpenAICompatible
from pyrite.judges.client.http import Transport, checked_url
from pyrite.judges.client.limits import Limits
from pyrite.judges.client.secrets import SECRET_CHARS, redact, redact_value
from pyrite.judges.interrupts import stopping

if TYPE_CHECKING:
    from pyrite.judges.client.replay import Recording
    from pyrite.judges.local.client import LocalModel

OPENAI = "https://api.openai.com/v1"
INSPECT = "inspect:"
"""What a model's name begins with that goes through inspect_ai: inspect:anthropic/…"""
REPLAY = "replay:"
"""What a model's name begins with that is a file of recorded answers."""
OWN_KEY = "PYRITE_API_KEY"


@dataclass(frozen=True)
class Endpoint:
    """A model, and where it is asked."""

    model: str
    base_url: str
    api_key_env: str | None = None
    """The environment variable that holds the key; None sends none."""
    local: LocalModel | None = None
    """The files that this command serves itself; then there is no URL yet."""
    recording: Recording | None = None
    """Recorded answers that take the place of a model."""

    @property
    def by_inspect(self) -> bool:
        return self.model.startswith(INSPECT)

    def as_json(self) -> dict[str, Any]:
        """For a judge's config: never the key."""
        return {"model": self.model, "base_url": self.base_url or None, **self.facts()}

    def facts(self) -> dict[str, Any]:
        """What is known of the model's files; empty for an endpoint that somebody else serves."""
        if self.recording is not None:
            return {"recording_sha256": self.recording.sha256}
        return {} if self.local is None else self.local.as_json()

    @property
    def scope(self) -> str:
        """What stands for it in the cache: its URL, or the digests of files that this command serves."""
        if self.local is not None:
            return self.local.scope
        if self.recording is not None:
            return f"{REPLAY}{self.recording.sha256}"
        return self.model if self.by_inspect else self.base_url

    @property
    def blind(self) -> bool:
        """Whether it is known to take no images."""
        return self.local is not None and self.local.mmproj is None


@dataclass(frozen=True)
class Options:
    """What a command says of all calls; a judge's own options win."""

    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    limits: Limits = field(default_factory=Limits)
    cap: Cap | None = None
    price: Price | None = None
    cache: bool = True
    sends: bool = True
    """Whether anything is sent: where nothing is, no key is needed."""
    local: LocalModel | None = None
    """A model that this command serves, for the judges that name it or none."""


class Calls:
    """Hands out one client an endpoint, so that limits and budget hold for all judges together."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.budget = Budget(self.options.cap, self.options.price)
        self._clients: dict[tuple[str, str | None], JudgeClient] = {}
        self._transports: dict[tuple[str, str | None], Transport] = {}
        self._keys: set[str] = set()
        self._recordings: dict[str, Recording] = {}
        self.local_named = False
        """Whether a judge is asked at the model that this command serves."""

    @property
    def spent(self) -> Spent:
        return self.budget.spent

    def endpoint(
        self, *, model: str | None = None, base_url: str | None = None, api_key_env: str | None = None
    ) -> Endpoint:
        """An endpoint, with what the command says where the judge does not.

        Raises `UsageError` where nothing names a model, for a URL that is none, and for a variable that
        is not set. A key goes only where it was meant to go: OPENAI_API_KEY to OpenAI alone.
        """
        model = model or self.options.model
        local = self.options.local
        if local is not None and not base_url and model in {None, local.name}:
            self.local_named = True
            return Endpoint(local.name, "", local=local)
        if not model:
            raise UsageError(
                "no model is named",
                expected="--model NAME, or an option of the judge such as vlm@model=NAME",
                next="pyrite judge --help",
            )
        if model.startswith(REPLAY):
            if base_url or self.options.base_url:
                raise UsageError(
                    f"{model[:200]} is read from a file, and asked at no endpoint",
                    expected="no --base-url; in a label, base_url=URL is of that judge alone",
                )
            return Endpoint(model, "", recording=self._recording(model.removeprefix(REPLAY)))
        if local is not None and not base_url and not model.startswith(INSPECT):
            raise UsageError(
                f"--gguf serves {local.name}, and the judge names the model {model[:200]}",
                expected="a label without model=, or with base_url=URL: where that model is asked",
            )
        named = api_key_env or self.options.api_key_env
        if model.startswith(INSPECT):
            url = base_url or self.options.base_url
            if self.options.sends and find_spec("inspect_ai") is None:
                raise UsageError("inspect_ai is not installed", next="pip install 'pyrite[inspect]'")
            return self._without_key(Endpoint(model, checked_url(url) if url else "", self._variable(named)))
        url = checked_url(base_url or self.options.base_url or OPENAI)
        if named is None:
            usual = "OPENAI_API_KEY" if url == OPENAI else OWN_KEY
            named = usual if url == OPENAI or os.environ.get(usual) else None
        return self._without_key(Endpoint(model, url, self._variable(named)))

    def _without_key(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint. Raises `UsageError` where its key is its name: that stands in files."""
        key = self.key(endpoint.api_key_env)
        if key and len(key) >= SECRET_CHARS and key in f"{endpoint.model} {endpoint.base_url}":
            raise UsageError(
                f"the key in {endpoint.api_key_env} is a part of the model's name or URL",
                expected="the name of a model; a key comes from the environment and stands nowhere else",
            )
        return endpoint

    def client(self, endpoint: Endpoint) -> JudgeClient:
        """The client of an endpoint, made once."""
        place = (endpoint.scope, endpoint.api_key_env)
        if place not in self._clients:
            client: JudgeClient
            if endpoint.recording is not None:
                from pyrite.judges.client.replay import ReplayClient

                return self._clients.setdefault(place, ReplayClient(endpoint.recording, self.spent))
            if endpoint.local is not None:
                from pyrite.judges.local.client import LocalClient

                client = LocalClient(endpoint.local, self.options.limits, self.budget)
            elif endpoint.by_inspect:
                from pyrite.judges.client.inspected import Inspected

                client = Inspected(
                    endpoint.model.removeprefix(INSPECT),
                    base_url=endpoint.base_url or None,
                    key=self.key(endpoint.api_key_env),
                    limits=self.options.limits,
                    budget=self.budget,
                )
            else:
                transport = self.transport(endpoint.base_url, endpoint.api_key_env)
                client = OpenAICompatible(transport, self.budget)
            client = _Scrubbed(client, self.scrub)
            if self.options.cache:
                client = Cached(client, Store(endpoint.scope), self.budget.spent)
            self._clients[place] = client
        return self._clients[place]

    def transport(self, base_url: str, api_key_env: str | None = None) -> Transport:
        """HTTP to one endpoint within the limits, for what is no chat completion too; made once."""
        place = (checked_url(base_url), api_key_env)
        if place not in self._transports:
            self._transports[place] = Transport(place[0], self.options.limits, self.key(api_key_env))
        return self._transports[place]

    def is_cached(self, endpoint: Endpoint, request: Request) -> bool:
        """Whether a call would be answered from disk."""
        if endpoint.recording is not None:
            return True
        if not self.options.cache:
            return False
        return Store(endpoint.scope).path(request).is_file()

    def key(self, variable: str | None) -> str | None:
        """The key in an environment variable; None where none is named. `UsageError` for what is no key."""
        if variable is None:
            return None
        secret = os.environ.get(variable, "").strip()
        if not (secret.isascii() and secret.isprintable()):  # it would not go into a header
            raise UsageError(
                f"the key in {variable} holds a line break, or what is no plain letter",
                expected="one line of ASCII, such as sk-…",
                next=f"export {variable}=…",
            )
        if secret:
            self._keys.add(secret)
        return secret or None

    @property
    def keys(self) -> list[str]:
        """Those that were used."""
        return sorted(self._keys)

    def redact(self, text: str) -> str:
        """The text without any key that was used."""
        return redact(text, self._keys)

    def redact_value(self, value: Any) -> Any:
        """The same for every string in JSON-like data."""
        return redact_value(value, self._keys)

    def scrub(self, answer: Answer) -> Answer:
        """An answer without any key that was used; without its tokens too, where they spell one."""
        if answer.logprobs is not None:
            joined = "".join(token.token for token in answer.logprobs)
            if redact(joined, self._keys) != joined:
                answer = answer.model_copy(update={"logprobs": None})
        text = answer.model_dump_json()
        if redact(text, self._keys) == text:
            return answer
        return Answer.model_validate(self.redact_value(answer.model_dump(mode="json")))

    def unasked(self) -> list[str]:
        """What nobody asked for in the recordings that were used, a line each."""
        from pyrite.judges.client.replay import ReplayClient

        return [
            told
            for client in self._clients.values()
            if isinstance(client, ReplayClient) and (told := client.left_over())
        ]

    async def aclose(self) -> None:
        """Close what was opened in this event loop; the clients can be used again in another one."""
        for client in self._clients.values():
            await client.aclose()
        for transport in self._transports.values():
            await transport.aclose()

    def _recording(self, path: str) -> Recording:
        from pyrite.judges.client.replay import Recording

        if path not in self._recordings:
            self._recordings[path] = Recording.load(Path(path))
        return self._recordings[path]

    def _variable(self, name: str | None) -> str | None:
        """The name of a variable that holds a key; `UsageError` where it holds none."""
        expected = "the name of an environment variable that holds the key of the endpoint"
        if name is not None and not name.isidentifier():  # perhaps the key itself: it is not repeated
            raise UsageError("--api-key-env: that is no variable's name", expected=expected)
        if name is not None and not self.key(name) and self.options.sends:
            what = f"the environment variable {name} is not set"
            raise UsageError(what, expected=expected, next=f"export {name}=…")
        return name


class _Scrubbed:
    """A client whose answers hold no key, and that sends nothing after ctrl-C."""

    def __init__(self, client: JudgeClient, scrub: Callable[[Answer], Answer]) -> None:
        self._client = client
        self._scrub = scrub

    async def ask(self, request: Request) -> Answer:
        if stopping():
            raise stopped()
        return self._scrub(await self._client.ask(request))

    async def aclose(self) -> None:
        await self._client.aclose()
