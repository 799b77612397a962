"""A bench with a fault in every episode, judged by `pyrite judge`: nothing is lost, and nothing invented."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.conftest import Episodes
from tests.judges.client.fault_server import FaultServer

from pyrite.cli import run
from pyrite.records import VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines

KEY = "sk-a-secret-of-this-test"
STATUS = {
    "malformed": "malformed",
    "prose": "malformed",
    "fenced": "ok",
    "two-objects": "malformed",
    "empty": "malformed",
    "null": "malformed",
    "refusal": "refused",
    "filtered": "refused",
    "tool-call": "malformed",
    "truncated": "truncated",
    "language": "off_schema",
    "score-string": "off_schema",
    "nan": "off_schema",
    "invalid-utf8": "malformed",
    "500-once": "ok",
    "cut-once": "ok",
    "429-seconds": "ok",
    "429-date": "ok",
}
"""Fault -> status of the verdict that comes of it."""
NO_VERDICT = {
    "500": (2, "server"),
    "401": (1, "auth"),
    "400": (1, "rejected"),
    "429-long": (1, "rate_limited"),
    "hang": (2, "timeout"),
    "trickle": (2, "timeout"),
    "cut": (2, "connection"),
    "huge": (1, "too_large"),
    "redirect": (1, "redirect"),
}
"""Fault -> requests, and why there is no verdict."""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STUB_KEY", KEY)


def lay(episodes: Episodes, faults: Iterable[str]) -> None:
    """One task and one episode a fault: the instruction names it, so the endpoint knows."""
    for number, fault in enumerate(faults):
        folder = episodes.bench.paths.tasks / f"t-{number}"
        (folder / "states").mkdir(parents=True)
        (folder / "verify.py").write_text("print('{}')")
        (folder / "states" / "good.sh").write_text("true")
        states = [{"name": "good", "kind": "good", "outcome": "pass"}]
        body = {"instruction": f"Set D14 to {number}. fault:{fault} ", "states": states}
        (folder / "task.json").write_text(json.dumps(body))
        episodes.add(f"ep_{number:02d}", [{"action": "done"}], task_id=f"t-{number}", colours=[1, number])


def arguments(bench: Bench, server: FaultServer, *more: str, condition: str = "E1-final") -> list[str]:
    return [
        *("judge", str(bench.root), "--judge", "vlm", "--condition", condition, "--model", "stub"),
        *("--base-url", server.url, "--api-key-env", "STUB_KEY", "--timeout", "2.5", "--retries", "1"),
        *more,
    ]


def verdicts(bench: Bench) -> dict[str, VerdictLine]:
    path = bench.paths.verdict_file("vlm@model=stub", "E1-final")
    return {line.episode_id: line for line in read_lines(path, VerdictLine)} if path.is_file() else {}


def test_every_fault_of_an_endpoint_in_one_run(
    episodes: Episodes,
    endpoint: FaultServer,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    faults = [*STATUS, *NO_VERDICT]
    lay(episodes, [name for fault in faults for name in (fault, "none")])
    started = time.monotonic()
    assert run(arguments(episodes.bench, endpoint, "--json")) == 4
    took = time.monotonic() - started
    judged = json.loads(capsys.readouterr().out)["asked"][0]
    lines = verdicts(episodes.bench)
    of = {f"ep_{2 * number:02d}": fault for number, fault in enumerate(faults)}
    good = {f"ep_{2 * number + 1:02d}" for number in range(len(faults))}
    assert {of[e]: line.status for e, line in lines.items() if e in of} == STATUS
    assert {lines[e].verdict for e in good} == {"success"}, "an episode after a fault is unharmed by it"
    assert (judged["new"], judged["missing"]) == (len(STATUS) + len(good), len(NO_VERDICT))
    assert {why.partition(":")[0] for why in judged["why_missing"]} == {
        kind for _, kind in NO_VERDICT.values()
    }
    for fault in STATUS:
        again = 2 if fault.endswith("-once") or fault.startswith("429") else 1
        assert endpoint.count[fault] == again, fault
    assert {fault: endpoint.count[fault] for fault in NO_VERDICT} == {
        f: n for f, (n, _) in NO_VERDICT.items()
    }
    assert endpoint.count["none"] == len(good)
    assert took < 60
    assert all(line.raw and (episodes.bench.root / line.raw).is_file() for line in lines.values())
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        assert KEY.encode() not in path.read_bytes(), path

    before = endpoint.count.copy()
    assert run(arguments(episodes.bench, endpoint)) == 4, (
        "the same command asks what is missing, and only that"
    )
    assert {fault: n - before[fault] for fault, n in endpoint.count.items() if n > before[fault]} == {
        fault: n for fault, (n, _) in NO_VERDICT.items()
    }
    assert len(verdicts(episodes.bench)) == len(lines)
    seen = capsys.readouterr()
    assert KEY not in seen.out + seen.err


def test_all_answered_is_exit_0_and_a_second_run_asks_nothing(
    episodes: Episodes, endpoint: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(episodes, ["none", "prose", "none"])
    assert run(arguments(episodes.bench, endpoint)) == 0
    assert run(arguments(episodes.bench, endpoint)) == 0
    assert sum(endpoint.count.values()) == 3
    assert "2 new" not in capsys.readouterr().out


def test_a_dry_run_prices_calls_and_sends_nothing(
    episodes: Episodes, endpoint: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(episodes, ["none", "none", "none"])
    assert run(arguments(episodes.bench, endpoint, "--dry-run", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["asked"][0]["cost"]["unpriced"] == 3, "nothing is packed yet"
    assert run(["pack", str(episodes.bench.root), "--condition", "E1-final"]) == 0
    capsys.readouterr()
    priced = [*arguments(episodes.bench, endpoint, "--runs", "2", "--price", "1.10/4.40"), "--dry-run"]
    assert run([*priced, "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)["asked"][0]["cost"]
    assert (cost["calls"], cost["cached"], cost["images"], cost["unpriced"]) == (6, 0, 6, 0)
    assert cost["output_tokens"] == 6 * 1024
    assert cost["input_tokens"] > 6 * 1000
    assert cost["dollars"] == pytest.approx((cost["input_tokens"] * 1.1 + 6 * 1024 * 4.4) / 1e6)
    assert not endpoint.count
    assert run(priced) == 0
    assert "6 calls (0 more are cached), 6 images" in capsys.readouterr().out
    assert run(arguments(episodes.bench, endpoint)) == 0
    for path in (episodes.bench.root / "verdicts").iterdir():
        path.unlink()
    capsys.readouterr()
    assert run([*priced, "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)["asked"][0]["cost"]
    assert (cost["calls"], cost["cached"]) == (3, 3), "the first run is in the cache, the second is not"


def test_runs_are_separate_calls_and_a_call_is_paid_once(
    episodes: Episodes, endpoint: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(episodes, ["none", "prose"])
    assert run(arguments(episodes.bench, endpoint, "--runs", "3")) == 0
    assert sum(endpoint.count.values()) == 6
    for path in (episodes.bench.root / "verdicts").iterdir():
        path.unlink()
    capsys.readouterr()
    assert run(arguments(episodes.bench, endpoint, "--runs", "3", "--json")) == 0
    spent = json.loads(capsys.readouterr().out)["spent"]
    assert sum(endpoint.count.values()) == 6
    assert (spent["calls"], spent["cached"], spent["requests"]) == (0, 6, 0)
    assert {line.status for line in verdicts(episodes.bench).values()} == {"ok", "malformed"}
    assert run(arguments(episodes.bench, endpoint, "--runs", "3", "--no-cache")) == 0
    assert sum(endpoint.count.values()) == 12


@pytest.mark.parametrize(
    ("budget", "price", "answered", "why"),
    [
        ("8000t", None, 3, "budget: the budget of 8000 tokens is used up"),
        ("0.01", "1/4", 2, "budget: the budget of $0.01 is used up"),
        ("1", None, 1, "budget: the budget cannot be kept"),
    ],
)
def test_a_budget_stops_before_it_is_overrun_and_the_run_goes_on_later(
    episodes: Episodes,
    endpoint: FaultServer,
    capsys: pytest.CaptureFixture[str],
    budget: str,
    price: str | None,
    answered: int,
    why: str,
) -> None:
    """Each call is 920 tokens by the endpoint's count; before it, at most some 3,000 are reserved."""
    lay(episodes, ["none"] * 12)
    options = ["--budget", budget, *(["--price", price] if price else []), "--concurrency", "1"]
    assert run(arguments(episodes.bench, endpoint, *options, "--json")) == 4
    judged = json.loads(capsys.readouterr().out)
    asked, spent = judged["asked"][0], judged["spent"]
    assert (asked["new"], sum(endpoint.count.values())) == (spent["calls"], spent["calls"])
    assert asked["new"] + asked["missing"] == 12
    assert answered <= spent["calls"] < 12
    assert [reason for reason in asked["why_missing"] if reason.startswith(why)]
    if budget.endswith("t"):
        assert spent["input_tokens"] + spent["output_tokens"] <= 8000
    if price:
        assert spent["dollars"] == pytest.approx(spent["calls"] * (900 + 20 * 4) / 1e6)
        assert spent["dollars"] <= 0.01
    assert run(arguments(episodes.bench, endpoint)) == 0
    assert sum(endpoint.count.values()) == 12


@pytest.mark.parametrize("at_once", [1, 5])
def test_so_many_calls_at_once_and_no_more(episodes: Episodes, at_once: int) -> None:
    lay(episodes, ["none"] * 20)
    with FaultServer(latency_s=0.05) as server:
        started = time.monotonic()
        assert run(arguments(episodes.bench, server, "--concurrency", str(at_once))) == 0
        took = time.monotonic() - started
    assert server.most_at_once == at_once
    assert took > 20 * 0.05 / at_once


def test_so_many_requests_a_minute(episodes: Episodes, endpoint: FaultServer) -> None:
    lay(episodes, ["none"] * 16)
    assert run(arguments(episodes.bench, endpoint, "--rpm", "600")) == 0
    times = [one.at for one in endpoint.asked]
    assert len(times) == 16
    assert times[-1] - times[0] >= 0.4, "ten a second, of which ten may come at once"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--api-key-env", "NO_SUCH_VARIABLE"], "the environment variable NO_SUCH_VARIABLE is not set"),
        (["--api-key-env", KEY], "that is no variable's name"),
        (["--base-url", "http://me:pass-word@127.0.0.1/v1"], "has a user, a password or a query in it"),
        (["--base-url", "http://127.0.0.1/v1?key=pass-word"], "has a user, a password or a query in it"),
        (["--base-url", "ftp://127.0.0.1/v1"], "a base URL of ftp://"),
        (["--base-url", KEY], "the base URL is none"),
        (["--base-url", f"ftp://{KEY}/v1"], "a base URL of ftp://"),
        (["--base-url", f"http://{KEY}:99999/v1"], "the base URL is none"),
        (["--judge", f"vlm@api_key={KEY}"], "unknown option 'api_key'"),
        (["--judge", f"vlm@{KEY}"], "an option that is no key=value"),
        (["--judge", f"vlm@base_url={KEY}"], "the base URL is none"),
        (["--judge", f"vlm@model={KEY}"], "is a part of the model's name or URL"),
        (["--judge", "vlm@model=x,model=y"], "model is there twice"),
        (["--rpm", "nan"], "--rpm nan"),
        (["--tpm", "inf"], "--tpm inf"),
        (["--timeout", "nan"], "--timeout nan"),
        (["--api-key-env", "TORN_KEY"], "holds a line break"),
        (["--budget", "much"], "budget 'much'"),
        (["--price", "cheap"], "price 'cheap'"),
        (["--model", ""], "no model is named"),
    ],
)
def test_what_is_no_endpoint_is_exit_2_and_repeats_no_secret(
    episodes: Episodes,
    endpoint: FaultServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    said: str,
) -> None:
    lay(episodes, ["none"])
    monkeypatch.setenv("TORN_KEY", f"{KEY[:9]}\n{KEY[9:]}")
    assert run(arguments(episodes.bench, endpoint, *options)) == 2
    seen = capsys.readouterr()
    assert KEY[:9] not in seen.err
    assert said in seen.err
    assert "pass-word" not in seen.err
    assert KEY not in seen.err
    assert not endpoint.count


def test_an_endpoint_that_is_gone_is_not_asked_for_ever(
    episodes: Episodes, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(episodes, ["500"] * 40)
    with FaultServer() as server:
        assert run(arguments(episodes.bench, server, "--retries", "0", "--json")) == 4
        asked = json.loads(capsys.readouterr().out)["asked"][0]
        assert asked["missing"] == 40
        assert 20 <= server.count["500"] < 30
    assert any("not asked: too many calls" in reason for reason in asked["why_missing"])


def test_a_run_whose_endpoint_failed_is_not_finished(
    episodes: Episodes, endpoint: FaultServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lay(episodes, ["none", "400"])
    config = tmp_path / "bench.yaml"
    asked = f"{{model: stub, base_url: {endpoint.url}, api_key_env: STUB_KEY}}"
    config.write_text(f"conditions: [E1-final]\njudges:\n  vlm: {asked}\n")
    assert run(["run", str(episodes.bench.root), "--config", str(config), "-q"]) == 4
    assert "rejected: 400: context too long" in capsys.readouterr().out
    assert endpoint.count == {"none": 1, "400": 1}
    (path,) = episodes.bench.paths.verdicts.glob("vlm*.jsonl")
    assert [line.episode_id for line in read_lines(path, VerdictLine)] == ["ep_00"]


@pytest.mark.parametrize("options", [["--dry-run"], ["--show-request", "first"]])
def test_what_sends_nothing_needs_no_key(
    episodes: Episodes, endpoint: FaultServer, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    lay(episodes, ["none"])
    monkeypatch.delenv("STUB_KEY")
    asked = arguments(episodes.bench, endpoint)
    assert run([*asked, *options]) == 0
    assert (
        run(
            [
                "judge",
                str(episodes.bench.root),
                "--judge",
                "vlm@model=o4-mini",
                "--condition",
                "E1-final",
                *options,
            ]
        )
        == 0
    )
    assert not endpoint.count
    assert run(asked) == 2


def test_a_budget_that_a_call_overruns_is_told_by_how_much(
    episodes: Episodes, endpoint: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The endpoint states a dollar an answer; without a price nobody knows before the first one."""
    lay(episodes, ["dear"] * 3)
    assert run(arguments(episodes.bench, endpoint, "--budget", "0.25")) == 4
    said = capsys.readouterr().out
    assert "1 new, 0 kept, 2 missing" in said
    assert "budget   $0.25, overrun by $0.7500: what was in flight took more than any call before" in said
    assert run(arguments(episodes.bench, endpoint, "--budget", "5")) == 0
    assert "overrun" not in capsys.readouterr().out


def test_labels_that_are_keys_are_filled_in_and_stored_as_they_stand(
    episodes: Episodes, endpoint: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(episodes, ["none"])
    monkeypatch.setenv("WHICH", "stub-7")
    config = tmp_path / "bench.yaml"
    label = f"vlm@model=${{WHICH}},base_url={endpoint.url},api_key_env=STUB_KEY"
    for form in (f"  {label!r}: {{runs: 2}}", f"  - {label!r}"):
        shutil.rmtree(episodes.bench.paths.verdicts, ignore_errors=True)
        config.write_text(f"conditions: [E1-final]\njudges:\n{form}\n")
        root = episodes.bench.root
        assert run(["run", str(root), "--config", str(config), "--force", "-q"]) in {0, 3}
        (path,) = episodes.bench.paths.verdicts.glob("vlm*.jsonl")
        runs = 2 if "runs" in form else 1
        assert [line.run for line in read_lines(path, VerdictLine)] == list(range(1, runs + 1))
        assert {json.loads(request.body)["model"] for request in endpoint.asked} == {"stub-7"}
        asked = json.dumps(episodes.bench.lock()["run"]["asked"])
        assert "${WHICH}" in asked
        assert "stub-7" not in asked
    monkeypatch.setenv("WHICH", "stub-8")
    assert run(["run", str(root), "--config", str(config), "-q"]) == 2
    monkeypatch.delenv("WHICH")
    assert run(["run", str(root), "--config", str(config), "-q"]) == 2


@pytest.mark.parametrize(
    "judge",
    [
        f"  vlm: {{model: m, base_url: 'http://me:{KEY}@127.0.0.1/v1'}}",
        f"  vlm: {{base_url: 'http://me:{KEY}@127.0.0.1/v1'}}",
        f"  vlm: {{model: m, api_key_env: {KEY}}}",
        f"  'vlm@model=m,base_url=http://me:{KEY}@127.0.0.1/v1': {{runs: 1}}",
        f"  'vlm@model=m,api_key={KEY}': {{}}",
        f"  - 'vlm@model=m,api_key_env={KEY}'",
    ],
)
def test_a_key_in_a_configuration_is_refused_and_reaches_no_file_of_the_bench(
    episodes: Episodes, tmp_path: Path, capsys: pytest.CaptureFixture[str], judge: str
) -> None:
    lay(episodes, ["none"])
    config = tmp_path / "bench.yaml"
    config.write_text(f"conditions: [E1-final]\njudges:\n{judge}\n")
    assert run(["run", str(episodes.bench.root), "--config", str(config), "-q"]) == 2
    seen = capsys.readouterr()
    assert KEY not in seen.out + seen.err
    for path in episodes.bench.root.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_what_swap_leaves_out_is_counted_and_priced_as_it_is_asked(
    episodes: Episodes, endpoint: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(episodes, ["none"] * 3)
    for episode_id, message in (("ep_00", "Saved."), ("ep_01", "It has 14 rows."), ("ep_02", None)):
        path = episodes.bench.paths.episode(episode_id).meta
        path.write_text(json.dumps({**json.loads(path.read_text()), "final_message": message}))
    asked = arguments(episodes.bench, endpoint, condition="E2+claim,E2+swap")
    assert run([*asked, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"E2\+claim +would ask for 3 verdicts", said)
    assert re.search(r"E2\+swap +would ask for 1 verdict,", said)
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert re.search(r"E2\+swap +1 new, 0 kept, 0 missing", said)
    assert "left out E2+swap: 2 episodes without a claim that can be turned round" in said
    assert endpoint.count["none"] == 4


def test_an_episode_that_cannot_be_packed_is_missing_in_its_judges_line(
    episodes: Episodes, capsys: pytest.CaptureFixture[str]
) -> None:
    """One word of the truth in the agent's message takes it out of +claim: that is no verdict, and exit 4."""
    lay(episodes, ["none"])
    word = "canary-1f2e3d4c"
    for name, message in (("ep_1", "Saved."), ("ep_2", f"Saved. {word}")):
        episodes.add(name, [{"action": "done"}], final_message=message, note=word, task_id="t-0")
    command = ["judge", str(episodes.bench.root), "--judge", "accept-all", "--condition", "E1-final,E2+claim"]
    assert run([*command, "--json"]) == 4
    asked = {one["condition"]: one for one in json.loads(capsys.readouterr().out)["asked"]}
    assert (asked["E1-final"]["new"], asked["E1-final"]["missing"]) == (3, 0)
    assert (asked["E2+claim"]["new"], asked["E2+claim"]["missing"]) == (2, 1)
    assert asked["E2+claim"]["why_missing"] == {"the episode could not be packed": 1}
    assert run(command) == 4
    assert "1 missing" in capsys.readouterr().out
