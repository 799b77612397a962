"""Cache, limits, budget and event loops of the client; and what other harnesses get wrong there."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import re
import time
from collections.abc import Callable, Coroutine
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judges.client.fault_server import FaultServer

from pyrite.errors import UsageError
from pyrite.judges.client.base import Answer, CallError, Params, Request, Text, Token, Usage
from pyrite.judges.client.budget import Budget, Cap, Price, Spent
from pyrite.judges.client.cache import Cached, Store
from pyrite.judges.client.calls import OPENAI, Calls, Options
from pyrite.judges.client.http import Transport
from pyrite.judges.client.limits import Limits, Pace, Rate
from pyrite.judges.client.secrets import redact, redact_bytes

QUICK = Limits(attempt_s=15.0, call_s=60.0, retries=2, backoff_s=0.02)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def request(fault: str = "none", *, run: int = 1, **more: Any) -> Request:
    return Request("m", "You judge.", (Text(f"fault:{fault} "),), run=run, **more)


def calls(server: FaultServer, **more: Any) -> Calls:
    return Calls(Options(base_url=server.url, model="m", limits=QUICK, **more))


def using(made: Calls, work: Callable[[Calls], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine on calls that are closed after it."""

    async def whole() -> Any:
        try:
            return await work(made)
        finally:
            await made.aclose()

    return asyncio.run(whole())


async def ask(made: Calls, fault: str = "none", run: int = 1) -> Answer:
    return await made.client(made.endpoint()).ask(request(fault, run=run))


# --- the cache


def test_an_answer_is_paid_once_and_runs_are_separate(endpoint: FaultServer) -> None:
    first = using(calls(endpoint), ask)
    again = using(calls(endpoint), ask)
    assert (first.cached, again.cached, again.requests, again.cost) == (False, True, 0, 0.0)
    assert again.text == first.text
    using(calls(endpoint), lambda made: ask(made, run=2))
    using(calls(endpoint, cache=False), ask)
    assert endpoint.count["none"] == 3


def test_an_error_is_never_kept_and_a_malformed_answer_is(endpoint: FaultServer, own_cache: Path) -> None:
    for _ in range(2):
        with pytest.raises(CallError):
            using(calls(endpoint), lambda made: ask(made, "400"))
    assert endpoint.count["400"] == 2
    assert not list(own_cache.rglob("*.json"))
    for _ in range(2):
        using(calls(endpoint), lambda made: ask(made, "prose"))
    assert endpoint.count["prose"] == 1, "what a model said is data, and is not asked again until it pleases"


@pytest.mark.parametrize("content", [b"", b"{", b"\x80\x04\x95", b'{"text": 3}', b'{"texts": "x"}', b"[]"])
def test_an_entry_that_is_none_is_asked_anew_and_replaced(
    endpoint: FaultServer, own_cache: Path, content: bytes
) -> None:
    using(calls(endpoint), ask)
    (path,) = own_cache.rglob("*.json")
    path.write_bytes(content)
    assert not using(calls(endpoint), ask).cached
    assert using(calls(endpoint), ask).cached
    assert endpoint.count["none"] == 2


def test_another_endpoint_with_the_same_model_has_a_cache_of_its_own(endpoint: FaultServer) -> None:
    using(calls(endpoint), ask)
    with FaultServer() as other:
        assert not using(calls(other), ask).cached


def test_a_cache_that_cannot_be_written_costs_nothing_but_itself(
    endpoint: FaultServer, own_cache: Path
) -> None:
    own_cache.write_text("a file where the folder should be")
    assert using(calls(endpoint), ask).text


def test_what_is_cached_is_not_counted_as_spent(endpoint: FaultServer) -> None:
    made = calls(endpoint)

    async def twice(made: Calls) -> None:
        await ask(made)
        await ask(made)

    using(made, twice)
    assert (made.spent.calls, made.spent.cached, made.spent.input_tokens) == (1, 1, 900)


# --- limits


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=50), st.floats(1, 10_000))
def test_a_rate_is_kept_over_any_sequence(units: list[float], per_minute: float) -> None:
    """What was let go by a time is at most a second's worth more than the rate allows."""
    rate, now, used = Rate(per_minute), 1000.0, 0.0
    start = now
    for one in units:
        now += rate.take(one, now)
        assert used <= (now - start + 1.0) * per_minute / 60 * (1 + 1e-9) + 1e-6
        used += one


def test_no_rate_never_waits() -> None:
    assert all(Rate(None).take(10**9, 5.0) == 0 for _ in range(3))


def test_a_pause_that_one_call_is_told_holds_for_all(endpoint: FaultServer) -> None:
    async def both(made: Calls) -> None:
        first = asyncio.create_task(ask(made, "429-seconds"))
        while not endpoint.count:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        await asyncio.gather(first, ask(made))

    using(calls(endpoint), both)
    times = {(one.fault, number): one.at for number, one in enumerate(endpoint.asked)}
    assert len(times) == 3
    assert all(at - endpoint.asked[0].at >= 1.0 for at in list(times.values())[1:])


def test_tokens_a_minute_are_put_right_by_what_was_counted(endpoint: FaultServer) -> None:
    limits = Limits(tokens_per_minute=60_000)
    made = Calls(Options(base_url=endpoint.url, model="m", limits=limits, cache=False))

    async def some(made: Calls) -> float:
        started = time.monotonic()
        for run in range(4):
            client = made.client(made.endpoint())
            await client.ask(request(run=run + 1, params=Params(max_tokens=16)))
        return time.monotonic() - started

    assert using(made, some) >= 0.9, "some 20 are estimated, 920 are used, 1000 a second are allowed"


# --- event loops


def test_a_second_event_loop_is_as_good_as_the_first(endpoint: FaultServer) -> None:
    """Elsewhere the first one's connections are met again, dead, and calls are lost to them."""
    made = calls(endpoint, cache=False)
    for run in range(1, 6):
        assert using(made, partial(ask, run=run)).requests == 1
    assert endpoint.count["none"] == 5


def test_a_loop_that_was_left_without_closing_hurts_no_later_one(endpoint: FaultServer) -> None:
    transport = Transport(endpoint.url, QUICK)
    loop = asyncio.new_event_loop()
    session = loop.run_until_complete(_first(transport))
    loop.run_until_complete(session.close())
    loop.close()

    async def later() -> int:
        response = await transport.post("/chat/completions", b"{}")
        await transport.aclose()
        return response.requests

    assert asyncio.run(later()) == 1


async def _first(transport: Transport) -> Any:
    await transport.post("/chat/completions", b"{}")
    assert transport._live is not None
    return transport._live.session


def test_a_repeat_sends_the_same_bytes(endpoint: FaultServer) -> None:
    """Elsewhere a failed attempt leaves a line about it in the prompt that the judge reads then."""
    using(calls(endpoint), lambda made: ask(made, "500-once"))
    first, second = endpoint.asked
    assert first.body == second.body


# --- budget and price


@given(st.integers(1, 12), st.integers(1, 8), st.floats(100, 20_000))
def test_no_budget_is_overrun_however_many_ask_at_once(number: int, at_once: int, cap: float) -> None:
    budget = Budget(Cap(cap, "tokens"))
    refused = []

    async def one(gate: asyncio.Semaphore) -> None:
        async with gate:
            try:
                async with budget.reserve(900, 100):
                    await asyncio.sleep(0)
                    budget.settle(Answer(text="x", usage=Usage(input_tokens=800, output_tokens=50)))
            except CallError as exc:
                refused.append(exc.kind)

    async def whole() -> None:
        gate = asyncio.Semaphore(at_once)
        await asyncio.gather(*(one(gate) for _ in range(number)))

    asyncio.run(whole())
    used = budget.spent.input_tokens + budget.spent.output_tokens
    assert used <= cap
    assert budget.spent.calls + len(refused) == number
    assert set(refused) <= {"budget"}
    if refused:
        assert used + 1000 > cap, "it stopped no earlier than it had to"


def test_a_price_counts_tokens_and_not_which_of_them_were_cached() -> None:
    price = Price.parse("1.10/4.40")
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=500_000)
    assert price.of(usage) == pytest.approx(1.10 + 0.44)
    assert price.of(Usage(input_tokens=5)) is None
    assert Price.parse("2").of(Usage(input_tokens=10**6, output_tokens=10**6)) == 4.0


def test_what_is_not_known_is_counted_and_not_zero() -> None:
    spent = Spent()
    spent.add(Answer(text="x", usage=Usage(input_tokens=5, output_tokens=1), cost=0.5))
    spent.add(Answer(text="x"))
    assert (spent.dollars, spent.without_cost, spent.without_usage, spent.calls) == (0.5, 1, 1, 2)


@pytest.mark.parametrize("text", ["", "-1", "1/2/3", "1,10", "nan", "1e9x"])
def test_what_is_no_price_and_no_budget(text: str) -> None:
    with pytest.raises(UsageError):
        Price.parse(text)
    with pytest.raises(UsageError):
        Cap.parse(text)


# --- keys


def test_a_key_goes_only_where_it_was_meant_to(
    endpoint: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-alone")
    assert calls(endpoint).endpoint().api_key_env is None
    using(calls(endpoint), ask)
    assert "authorization" not in endpoint.asked[0].head.lower()
    assert Calls(Options(model="m")).endpoint().base_url == OPENAI
    assert Calls(Options(model="m")).endpoint().api_key_env == "OPENAI_API_KEY"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        Calls(Options(model="m")).endpoint()
    monkeypatch.setenv("PYRITE_API_KEY", "sk-of-pyrite")
    assert calls(endpoint).endpoint().api_key_env == "PYRITE_API_KEY"


def test_a_key_is_in_no_representation(endpoint: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-a-secret-of-mine")
    made = calls(endpoint, api_key_env="MY_KEY")
    found = made.endpoint()
    made.client(found)
    assert "sk-a-secret" not in f"{found!r} {made.options!r} {found.as_json()!r}"
    assert made.redact("it said sk-a-secret-of-mine!") == "it said [key]!"


def test_a_short_key_is_a_word_and_stays_in_texts(
    endpoint: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "cell")
    answer = using(calls(endpoint, api_key_env="MY_KEY"), ask)
    assert "the cell shows it" in answer.text


def test_a_store_is_a_client_in_front_of_a_client(endpoint: FaultServer) -> None:
    """Anybody's client can stand behind the cache: the protocol is two methods."""

    class Fixed:
        asked = 0

        async def ask(self, request: Request) -> Answer:
            self.asked += 1
            return Answer(text="x", requests=None)

        async def aclose(self) -> None: ...

    fixed, spent = Fixed(), Spent()
    client = Cached(fixed, Store("fixed"), spent)
    answers = [asyncio.run(client.ask(request())) for _ in range(3)]
    assert (fixed.asked, spent.cached) == (1, 2)
    assert [one.cached for one in answers] == [False, True, True]


# --- what a budget learns from the answers


class Costly:
    """An endpoint in place of one: every answer takes the same, whatever was estimated."""

    def __init__(self, budget: Budget, *, usage: Usage | None = None, cost: float | None = None) -> None:
        self.budget, self.usage, self.cost = budget, usage or Usage(), cost
        self.sent = 0

    async def one(self) -> None:
        async with self.budget.reserve(1600, 1000):
            self.sent += 1
            await asyncio.sleep(0.001)
            self.budget.settle(Answer(text="x", usage=self.usage, cost=self.cost), 1600, 1000)

    def run(self, calls: int) -> int:
        """Calls that went, of so many at once."""

        async def whole() -> None:
            await asyncio.gather(*(self.one() for _ in range(calls)), return_exceptions=True)

        asyncio.run(whole())
        return self.sent


BIG = Usage(input_tokens=50_000, output_tokens=100)


@pytest.mark.parametrize(
    ("budget", "usage", "cost", "went"),
    [
        (Budget(Cap(0.5)), None, 1.0, 1),
        (Budget(Cap(2.5)), None, 1.0, 2),
        (Budget(Cap(1.5), Price(1, 1)), None, 1.0, 1),
        (Budget(Cap(60_000, "tokens")), BIG, None, 1),
        (Budget(Cap(160_000, "tokens")), BIG, None, 3),
        (Budget(Cap(9000, "tokens")), Usage(output_tokens=10), None, 1),
        (Budget(Cap(9000, "tokens")), Usage(input_tokens=10), None, 1),
        (Budget(Cap(9000, "tokens")), Usage(input_tokens=10, output_tokens=1), None, 6),
        (Budget(), None, None, 6),
    ],
)
def test_a_budget_is_kept_where_answers_take_more_than_was_estimated(
    budget: Budget, usage: Usage | None, cost: float | None, went: int
) -> None:
    assert Costly(budget, usage=usage, cost=cost).run(6) == went


@given(st.floats(0.001, 2), st.floats(0.01, 5), st.integers(1, 12), st.none() | st.just(Price(1.0, 1.0)))
def test_a_budget_is_overrun_by_no_more_than_its_first_call(
    cost: float, cap: float, calls: int, price: Price | None
) -> None:
    budget = Budget(Cap(cap), price)
    Costly(budget, cost=cost).run(calls)
    assert budget.spent.dollars <= max(cap, cost) + 1e-9
    over = budget.spent.dollars - cap
    assert budget.spent.over_budget == (over if over > 0 else None)


class Growing(Costly):
    """Answers take more from one on."""

    def __init__(self, budget: Budget, takes: list[int], *, dollars: bool) -> None:
        super().__init__(budget)
        self.takes, self.dollars = takes, dollars

    async def one(self) -> None:
        async with self.budget.reserve(1600, 1000):
            took = self.takes[min(self.sent, len(self.takes) - 1)]
            self.sent += 1
            await asyncio.sleep(0.001)
            usage = Usage(input_tokens=took, output_tokens=0)
            answer = Answer(text="x", usage=usage, cost=took / 1e6 if self.dollars else None)
            self.budget.settle(answer, 1600, 1000)


@pytest.mark.parametrize("price", [None, Price(1.0, 1.0)])
@pytest.mark.parametrize("dollars", [True, False])
def test_a_dear_second_call_overruns_a_budget_alone(price: Price | None, dollars: bool) -> None:
    budget = Budget(Cap(0.02) if dollars else Cap(20_000, "tokens"), price)
    assert Growing(budget, [100, 50_000], dollars=dollars).run(24) == 2
    assert budget.spent.over_budget == pytest.approx(0.0301 if dollars else 30_100)


def test_answers_that_take_what_was_expected_let_more_go_at_once() -> None:
    """What may be overrun is what is in flight: it grows with what was seen, and begins again at one."""
    budget, seen = Budget(Cap(10**7, "tokens")), []

    class Watched(Growing):
        async def one(self) -> None:
            async with self.budget.reserve(1600, 1000):
                took = self.takes[min(self.sent, len(self.takes) - 1)]
                self.sent += 1
                seen.append(self.budget._flying)
                await asyncio.sleep(0.001)
                self.budget.settle(
                    Answer(text="x", usage=Usage(input_tokens=took, output_tokens=0)), 1600, 1000
                )

    Watched(budget, [900] * 9 + [90_000] * 30, dollars=False).run(60)
    assert seen[:4] == [1, 1, 1, 2]
    assert max(seen) > 8
    after = seen[9:]
    assert 1 in after, "a dear answer lets the next one go alone"


def test_a_larger_request_reserves_more_where_there_is_no_price() -> None:
    budget = Budget(Cap(1.0))

    async def calls() -> None:
        async with budget.reserve(1000, 0):
            budget.settle(Answer(text="x", cost=0.1), 1000, 0)
        with pytest.raises(CallError, match="used up"):
            async with budget.reserve(10_000, 0):
                raise AssertionError("it takes ten times as much, and $0.90 is left")

    asyncio.run(calls())


@pytest.mark.skipif(find_spec("inspect_ai") is not None, reason="inspect_ai is installed")
def test_a_backend_that_is_not_installed_is_one_error_of_use() -> None:
    with pytest.raises(UsageError, match="inspect_ai is not installed"):
        Calls(Options(model="inspect:anthropic/m")).endpoint()
    assert Calls(Options(model="inspect:anthropic/m", sends=False)).endpoint().by_inspect


# --- keys, however they are spelled

SECRET = "sk-T9/secret+KEY=abc/0123456789zz"
SPELLED = {
    "plain": SECRET,
    "json": SECRET.replace("/", "\\/"),
    "net": SECRET.replace("+", "\\u002B").replace("/", "\\u002f"),
    "all": "".join(f"\\u{ord(char):04x}" for char in SECRET),
    "twice": "".join(f"\\\\u{ord(char):04X}" for char in SECRET),
    "url": quote(SECRET, safe=""),
    "url twice": quote(quote(SECRET, safe=""), safe=""),
    "html": SECRET.replace("+", "&#43;").replace("/", "&#x2F;"),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "basic": base64.b64encode(f"user:{SECRET}".encode()).decode(),
    "urlsafe": base64.urlsafe_b64encode(f"Bearer {SECRET}".encode()).decode(),
}


def holds(text: str) -> bool:
    """Whether the secret can be read out of a text with little effort."""
    seen = {text}
    for _ in range(3):
        seen |= {unquote(one) for one in seen} | {html.unescape(one) for one in seen}
        seen |= {re.sub(r"\\+u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), one) for one in seen}
        seen |= {one.replace("\\", "") for one in seen}
    return any(SECRET in one for one in seen) or "c2VjcmV0" in text


@pytest.mark.parametrize("name", SPELLED)
def test_a_key_is_found_however_it_is_spelled(name: str) -> None:
    text = f'{{"reason": "your key is {SPELLED[name]}."}}'
    for clean in (redact(text, [SECRET]), redact_bytes(text.encode(), [SECRET]).decode()):
        assert "[key]" in clean
        assert not holds(clean)
    assert redact("a word", [SECRET, None, "word"]) == "a word"
    json.loads(redact(json.dumps({"reason": SPELLED[name]}), [SECRET]))


@given(
    st.lists(st.sampled_from(["{}", "\\{}", "\\u00{:02x}", "\\\\u00{:02X}", "%{:02x}", "%25{:02X}", "&#{};"]))
)
def test_any_mixture_of_spellings_is_found(forms: list[str]) -> None:
    spelled = ""
    for place, char in enumerate(SECRET):
        form = forms[place % len(forms)] if forms else "{}"
        plain = form in {"{}", "\\{}"}
        spelled += ("{}" if char.isalnum() and plain else form).format(char if plain else ord(char))
    assert redact(f"<{spelled}>", [SECRET]) == "<[key]>"


def test_no_key_is_in_an_answer_that_is_kept(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    monkeypatch.setenv("MINE", SECRET)
    made = Calls(Options(base_url="http://127.0.0.1:9/v1", model="m"))
    endpoint = made.endpoint(api_key_env="MINE")
    tokens = tuple(Token(token=piece, logprob=0.0) for piece in (SECRET[:9], SECRET[9:]))
    told = Answer(text=f"it is {SECRET}", model=SPELLED["url"], refusal=SPELLED["all"], logprobs=tokens)
    clean = made.scrub(told)
    assert (clean.text, clean.model, clean.refusal, clean.logprobs) == ("it is [key]", "[key]", "[key]", None)
    assert made.redact_value({"a": [SECRET, 1], SECRET: None}) == {"a": ["[key]", 1], "[key]": None}
    assert SECRET not in repr(endpoint)


def test_what_an_answer_did_not_use_shortens_the_waits_of_all() -> None:
    """Eight calls of an estimate of a minute and a half each, which use a few tokens."""
    pace = Pace(Limits(tokens_per_minute=1000))
    order: list[int] = []

    async def one(number: int) -> None:
        await pace.turn(1500)
        order.append(number)
        await asyncio.sleep(0.01)
        pace.correct(1 - 1500)

    async def all_of_them() -> None:
        gone = asyncio.create_task(pace.turn(10**9))
        await asyncio.sleep(0)
        pace.correct(-(10**9))
        others = [asyncio.create_task(one(number)) for number in range(4)]
        await asyncio.wait_for(gone, 1)
        late = asyncio.create_task(pace.turn(10**9))
        await asyncio.sleep(0)
        late.cancel()  # who gives up takes nothing
        await asyncio.gather(*others)

    started = time.monotonic()
    asyncio.run(all_of_them())
    assert order == [0, 1, 2, 3]
    assert time.monotonic() - started < 10
