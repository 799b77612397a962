"""Every fault that was measured in the released verifier, a row each, and how it ends here.

There each of them ended with exit code 0, unless a row says otherwise. The first sixteen rows are its table
of faults, the others were found beside it. `ENDED` says what came out of it there, the check what has to
come out here: calls and time are bounded, a null has its cause, the same command goes on without paying
twice, the trajectories after it are unharmed, and the exit code tells.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.formats.folders import TASK, fara
from tests.judges.client.fault_server import STREAMED, completion, error, response
from tests.judges.universal.brain import Brain
from tests.judges.universal.endpoint import BrainServer, Fault

from pyrite.cli import run
from pyrite.formats.fara_bench import import_runs
from pyrite.records import VerdictLine
from pyrite.store.jsonl import read_lines

NAMES = ("t1", "t2", "t3")
QUICK = ("--retries", "1", "--timeout", "1")
AFTER = {
    "relevance": ("evidence", "reality", "rescoring", "outcome", "failures"),
    "evidence": ("reality", "rescoring", "side_effects", "outcome", "failures"),
    "rubric": ("relevance", "outcome"),
    "actions_only": ("evidence", "outcome"),
    "rescoring": ("side_effects", "outcome", "failures"),
    "side_effects": (),
    "outcome": (),
}
"""Step that fails -> steps that are then not paid for in its trajectory."""


class Ground:
    """Three trajectories of three tasks, a cache of their own, and an endpoint that may have a fault."""

    def __init__(self, root: Path, server: BrainServer, patch: pytest.MonkeyPatch) -> None:
        self.root, self.server, self._patch = root, server, patch
        patch.setenv("PYRITE_CACHE", str(root / "cache"))
        server.count.clear()
        self.runs, self.bench = root / "runs", root / "bench"
        for name in NAMES:
            fara(self.runs, name, (1, 2, 3), task=f"{TASK} Use the shop of {name}.")

    def other(self, name: str) -> Ground:
        """The same once more, with nothing in its cache."""
        return Ground(self.root / name, self.server, self._patch)

    @property
    def command(self) -> list[str]:
        """The judging, one trajectory after the other."""
        asked = ["judge", str(self.bench), "--judge", "universal", "--condition", "E3-full+claim"]
        return [*asked, "--model", "stub-1", "--base-url", self.server.url, "--concurrency", "1", *QUICK]

    def judge(self, fault: Fault | None = None, step: str = "", *more: str) -> int:
        """Judge what was imported; `fault` is what a step gets in place of an answer."""
        if not self.bench.exists():
            import_runs(self.runs, self.bench)
        self.server.faults = {step: fault} if fault is not None else {}
        started = time.monotonic()
        code = run([*self.command, *more])
        assert time.monotonic() - started < 20
        return code

    def lines(self) -> list[VerdictLine]:
        """In the order in which they were given."""
        files = sorted((self.bench / "verdicts").glob("*.jsonl"))
        return [line for path in files for line in read_lines(path, VerdictLine)]

    def verdicts(self) -> list[str | None]:
        return [line.verdict for line in self.lines()]

    def count(self) -> Counter[str]:
        return Counter(self.server.count)


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with BrainServer() as server:
        yield Ground(tmp_path, server, monkeypatch)


def process(line: VerdictLine) -> dict[str, Any]:
    found: dict[str, Any] = (line.model_extra or {})["process"]
    return found


def text(body: str | None, **more: Any) -> bytes:
    return response(completion(body, **more))


Check = Callable[[Ground], None]
ENDED: dict[str, str] = {}
CHECKS: dict[str, Check] = {}


def row(fault: str, ended: str) -> Callable[[Check], Check]:
    """A row: the fault, and what came out of it there."""

    def add(check: Check) -> Check:
        assert fault not in CHECKS
        ENDED[fault], CHECKS[fault] = ended, check
        return check

    return add


# --- answers that cannot be used


def never_good(
    ground: Ground, step: str, most: int, bad: bytes = text("well"), status: str = "malformed"
) -> None:
    """The first trajectory is a null with its cause after `most` calls of the step, the others are whole."""
    code = ground.judge(lambda number: text("well") if number <= most else None, step)
    sent = ground.count()
    assert code == 3
    first, *others = ground.lines()
    assert (first.verdict, first.status, first.score) == ("parse_error", "malformed", None)
    assert process(first)["outcome"] is None
    assert first.reason.startswith(f"no outcome; {step}")
    assert any(one["step"].startswith(step) and one["decisive"] for one in process(first)["faults"])
    assert [line.verdict for line in others] == ["success", "success"]
    assert sum(process(first)["calls"].values()) <= 13 + most + 3
    assert process(first)["calls"][step] == most
    assert not set(process(first)["calls"]) & set(AFTER[step]), "nothing is paid for a null"
    assert ground.judge() == 3, "what is kept is still undecided"
    assert ground.count() == sent
    assert ground.judge(None, "", "--no-cache") == 0, "asked anew, it is answered"


@row("relevance is never given", "0 for every criterion, and a verdict as if all were well: score 1")
def _(ground: Ground) -> None:
    never_good(ground, "relevance", 2 * 3)


@row("relevance is bad once", "an error text stands in the prompt that is asked again")
def _(ground: Ground) -> None:
    assert ground.judge(lambda number: text("well") if number == 1 else None, "relevance") == 0
    assert ground.verdicts() == ["success"] * 3
    again = [body.decode() for body in ground.server.keys if b"attempt 2 of 5" in body]
    assert len(again) == 1
    assert "it is not one JSON object" in again[0], "it says what was wrong with the answer"
    assert ground.count()["relevance"] == 3 * 3 + 1


@row("evidence is never given", "45 calls for 3 screens, error texts as evidence, and a verdict: score 1")
def _(ground: Ground) -> None:
    never_good(ground, "evidence", 2 * 3 + 3)


@row("rescoring is never given", "the points by words alone take its place, without a word")
def _(ground: Ground) -> None:
    never_good(ground, "rescoring", 5)


@row("side effects are never given", "there was none, without a word")
def _(ground: Ground) -> None:
    never_good(ground, "side_effects", 5)


@row("the outcome is malformed, cut off or refused", "score 0 and status ok: counted as the agent's failure")
def _(ground: Ground) -> None:
    never_good(ground, "outcome", 5)
    for bad, status in (
        (text('{"prim', finish="length"), "truncated"),
        (text(None, refusal="no"), "refused"),
    ):
        sent = ground.count()["outcome"]

        def still(number: int, bad: bytes = bad, most: int = sent + 5) -> bytes | None:
            return bad if number <= most else None

        assert ground.judge(still, "outcome", "--no-cache") == 3
        assert [(line.verdict, line.status) for line in ground.lines()] == [
            ("parse_error", status),
            ("success", "ok"),
            ("success", "ok"),
        ]


@row("the rubric, or the points by words alone, are never given", "status error, no score file, exit code 0")
def _(ground: Ground) -> None:
    never_good(ground, "actions_only", 5)
    never_good(ground.other("again"), "rubric", 5)


# --- endpoints


def never_there(ground: Ground, fault: Callable[[], Any], requests: int, why: str) -> None:
    """No verdict, never a 0: so many requests a trajectory, and the next command pays for the rest alone."""
    assert ground.judge(lambda number: fault(), "outcome") == 4
    assert ground.count()["outcome"] <= 3 * requests
    assert ground.lines() == []
    before = ground.count()
    most = before["outcome"] + requests
    assert ground.judge(lambda number: fault() if number <= most else None, "outcome") == 4
    assert ground.verdicts() == ["success"] * 2, "those after it are unharmed, in the same process"
    assert ground.judge() == 0
    assert ground.verdicts() == ["success"] * 3
    after = ground.count() - before
    assert set(after) == {"outcome", "failures"}
    assert (after["failures"], after["outcome"]) == (3, requests + 3)
    assert why in (ground.bench / "log.txt").read_text(encoding="utf-8")


@row("six times 429 with a wait", "its own waits come on top of the one that was asked for: 12.5 s, not 1.8")
def _(ground: Ground) -> None:
    slow = error("429 Too Many Requests", "slow down", "Retry-After: 0")
    started = time.monotonic()
    code = ground.judge(lambda number: slow if number <= 6 else None, "outcome", "--retries", "8")
    assert (code, ground.verdicts()) == (0, ["success"] * 3)
    assert ground.count()["outcome"] == 6 + 3
    assert time.monotonic() - started < 10


@row("429 for ever", "about 43 minutes a step")
def _(ground: Ground) -> None:
    slow = error("429 Too Many Requests", "slow down", "Retry-After: 0")
    never_there(ground, lambda: slow, 2, "429")
    tomorrow = error("429 Too Many Requests", "tomorrow", "Retry-After: 86400")
    never_there(ground.other("long"), lambda: tomorrow, 1, "429")


@row("500 for ever at the outcome", "120 requests and 148 s, then score 0 and status ok")
def _(ground: Ground) -> None:
    never_there(ground, lambda: error("500 Internal Server Error", "oops"), 2, "500")


@row("401", "asked again and again, without an end")
def _(ground: Ground) -> None:
    never_there(ground, lambda: error("401 Unauthorized", "bad key"), 1, "401")


@row("the connection is dropped", "the endpoint is blocked for the process: 5 of 6 trajectories are lost")
def _(ground: Ground) -> None:
    never_there(ground, lambda: STREAMED["cut"](True), 2, "not completed")


@row("an answer never comes", "600 s, three times, and a worker that stands still")
def _(ground: Ground) -> None:
    async def hang() -> AsyncIterator[bytes]:
        await asyncio.sleep(30)
        yield b""

    never_there(ground, hang, 2, "no answer within 1 s")


# --- what lies in the folder


def without_calls(ground: Ground, said: str) -> None:
    """The first trajectory is a null for what its record lacks, without a call; the others are whole."""
    assert ground.judge() == 3
    by_verdict = {line.verdict: line for line in ground.lines()}
    assert sorted(map(str, ground.verdicts())) == ["success", "success", "uncertain"]
    lost = by_verdict["uncertain"]  # type: ignore[index]
    assert (lost.status, lost.score, process(lost)["outcome"]) == ("ok", None, None)
    assert said in lost.reason
    assert said in process(lost)["faults"][0]["what"]
    assert process(lost)["calls"] == {}
    sent = ground.count()
    assert ground.judge() == 3
    assert ground.count() == sent


@row("a screenshot is missing, or there are fewer than actions", "3 to 8 calls are paid, then status error")
def _(ground: Ground) -> None:
    (ground.runs / "t1" / "screenshot_3.png").unlink()
    without_calls(ground, "no screen after steps 2")
    cut = ground.other("cut")
    path = cut.runs / "t1" / "screenshot_2.png"
    path.write_bytes(path.read_bytes()[:60])
    without_calls(cut, "no screen after steps 1")
    empty = ground.other("empty")
    (empty.runs / "t1" / "screenshot_2.png").write_bytes(b"")
    without_calls(empty, "no screen after steps 1")
    few = ground.other("few")
    fara(few.runs, "t4", (1, 2), actions=5, task=f"{TASK} Use the shop of t4.")
    assert few.judge() == 3
    (lost,) = (line for line in few.lines() if line.verdict == "uncertain")
    assert [one["what"] for one in process(lost)["faults"]] == [
        "2 files of screens for 5 actions",
        "no screen after steps 2, 3, 4",
    ]


def surplus(ground: Ground, *frames: int, listed: bool = True) -> None:
    """Further screenshots in the first trajectory."""
    folder = ground.runs / "t1"
    names = [f"screenshot_{number}.png" for number in range(1, 4 + len(frames))]
    for name, shade in zip(names[3:], frames, strict=True):
        Image.new("RGB", (64, 48), (5 * shade, 0, 0)).save(folder / name)
    answer = folder / "t1_final_answer.json"
    body = json.loads(answer.read_text(encoding="utf-8"))
    body["screenshots"] = names if listed else names[:3]
    answer.write_text(json.dumps(body), encoding="utf-8")


@row("more screenshots than actions", "the surplus, which is the end, is dropped without a word")
def _(ground: Ground) -> None:
    """The end is looked at. A surplus that shows something new leaves it open, and costs nothing."""
    surplus(ground, 4)
    assert ground.judge() == 0
    (first,) = (line for line in ground.lines() if len(process(line)["screens"]) == 4)
    assert process(first)["faults"] == [], "one more than actions is the state at the end"
    for number, (frames, listed, said, matters) in enumerate(
        [
            ((4, 5), True, "5 files of screens for 3 actions: 1 were not looked at", True),
            ((4,), False, "4 files of screens for 3 actions: 1 were not looked at", True),
            ((2, 5), True, "5 files of screens for 3 actions", False),
            ((2,), False, "4 files of screens for 3 actions", False),
        ]
    ):
        other = ground.other(f"more{number}")
        surplus(other, *frames, listed=listed)
        if matters:
            without_calls(other, said)
        else:
            assert (other.judge(), other.verdicts()) == (0, ["success"] * 3)
            faults = [one for line in other.lines() for one in process(line)["faults"]]
            assert [(one["what"], one["decisive"]) for one in faults] == [(said, False)]
        told = run([one if one != "universal" else "universal@left_out=told" for one in other.command])
        assert told == 0, "who wants an outcome without them gets one, with a word in `faults`"


# --- killed


@row("killed and run again", "the trajectory in flight is paid again; there is no report")
def _(ground: Ground) -> None:
    import_runs(ground.runs, ground.bench)
    child: list[int] = []

    def kill(number: int) -> None:
        if number == 2 and child:
            os.kill(child.pop(), signal.SIGKILL)

    ground.server.faults = {"outcome": kill}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = subprocess.Popen([sys.executable, "-m", "pyrite", *ground.command], **quiet)  # type: ignore[call-overload]
    child.append(started.pid)
    assert started.wait(60) == -signal.SIGKILL
    assert ground.verdicts() == ["success"], "what was finished is kept"
    assert ground.judge() == 0
    assert ground.verdicts() == ["success"] * 3
    assert ground.count().total() - 1 == len(set(ground.server.keys)), "the one call in flight, and no other"


# --- beside the table


@row(
    "a second trajectory in the same process",
    "connections of a dead loop: all after it are lost",
)
def _(ground: Ground) -> None:
    assert ground.judge() == 0
    whole = ground.count()
    assert set(whole.values()) == {3, 9}
    assert not any(b"attempt 2" in body for body in ground.server.keys)
    again = ground.other("again")
    assert again.judge(None, "", "--no-cache") == 0, "another event loop of the same process"
    assert ground.count() == whole


@row("a rubric with its grades lies in the folder", "it is the verdict, without a call")
def _(ground: Ground) -> None:
    data = ground.runs / "t1" / "task_data.json"
    graded = {
        "criterion": "Find the kettle",
        "description": "All points for it.",
        "max_points": 10,
        "justification": "It was found.",
        "earned_points": 10,
        "post_image_justification": "It is there.",
        "post_image_earned_points": 10,
    }
    body = json.loads(data.read_text(encoding="utf-8"))
    votes = {"n_instances": 1, "all_scores": [1.0], "outcome_votes": [True], "majority_output_success": True}
    body |= {"precomputed_rubric": {"items": [graded]}, "majority_vote_metadata": votes}
    data.write_text(json.dumps(body), encoding="utf-8")

    def no(view: Any) -> Any:
        return {"primary_intent": "a kettle", "reasoning": "it is not there", "output_success": False}

    ground.server.brain = Brain(rules={"outcome": no})
    import_runs(ground.runs, ground.bench)
    assert run([one if one != "universal" else f"universal@rubrics={data}" for one in ground.command]) == 0
    assert ground.verdicts() == ["failure"] * 3
    assert ground.count()["relevance"] == 9
    assert ground.count()["rescoring"] == 3
    assert ground.count()["rubric"] == 2, "its criteria are used, its grades are not"


@row("kept verdicts of another model or prompt", "CACHED, whatever model, prompt or code made them")
def _(ground: Ground) -> None:
    assert ground.judge() == 0
    other = [one if one != "stub-1" else "stub-2" for one in ground.command]
    before = ground.count()
    assert run(other) == 0
    assert ground.count() == before + before
    assert len({line.judge for line in ground.lines()}) == 2
    assert (
        run([*(one if one != "universal" else "universal@model=stub-1" for one in other), "--dry-run"]) == 0
    )


@row("a trajectory that cannot be read", "trajectory_unreadable, and nothing else")
def _(ground: Ground) -> None:
    (ground.runs / "t2" / "web_surfer.log").write_text("not json\n", encoding="utf-8")
    assert run(["import", str(ground.runs), "-o", str(ground.bench)]) == 3
    assert (ground.judge(), ground.verdicts()) == (0, ["success"] * 2)


@row("all screens of a trajectory at once", "47 requests at the same time, times the processes")
def _(ground: Ground) -> None:
    fara(ground.runs, "long", tuple(range(1, 21)))
    ground.server.latency_s = 0.02
    assert ground.judge(None, "", "--concurrency", "3") == 0
    assert 1 < ground.server.most_at_once <= 3


@pytest.mark.parametrize("fault", CHECKS)
def test_it_ends_better_here(ground: Ground, fault: str) -> None:
    CHECKS[fault](ground)


def test_every_row_says_how_it_ended_there() -> None:
    assert len(CHECKS) == 16 + 5
    assert all(ENDED.values())
