"""Verifiers that break, each in a task of its own, through `pyrite verify` as it is run.

Whatever a verifier does, its task's episodes are indeterminate with the right cause and the verifier to
blame, or, where it is harmless, decided as if nothing had been.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from pyrite.sandbox import confine

if TYPE_CHECKING:
    from tests.hostile.conftest import Ground

GOOD = {"note.txt": b"4500", "list.txt": b"a\n"}
ODD = {"note.txt": b"odd", "list.txt": b"a\n"}
"""A state that is none of the known ones: what breaks on it alone is not seen by the replay."""

START = "import json, os, pathlib, random, subprocess, sys, time\nhome = pathlib.Path(sys.argv[1])\n"
READ = START + "found = (home / 'note.txt').read_text() if (home / 'note.txt').is_file() else ''\n"
SAY = "print(json.dumps({'pass': found == '4500'}))\n"
SOUND = READ + SAY

ALWAYS: dict[str, tuple[str, str]] = {
    "crash": ("verifier_error", READ + "1 / 0\n"),
    "syntax error": ("verifier_error", READ + "this is not Python\n"),
    "missing module": ("verifier_error", READ + "import no_such_module\n" + SAY),
    "killed by a signal": ("verifier_error", READ + SAY + "sys.stdout.flush()\nos.kill(os.getpid(), 11)\n"),
    "endless recursion": ("verifier_error", READ + "def f(): f()\nf()\n"),
    "memory": ("verifier_error", READ + "x = bytearray(8 << 30)\n" + SAY),
    "hang": ("verifier_timeout", READ + SAY + "sys.stdout.flush()\ntime.sleep(600)\n"),
    "busy hang": ("verifier_timeout", READ + "while True: pass\n"),
    "silence": ("verifier_output_invalid", READ),
    "garbage": ("verifier_output_invalid", READ + "sys.stdout.buffer.write(os.urandom(5000))\n"),
    "no object": ("verifier_output_invalid", READ + "print('pass')\n"),
    "two objects": ("verifier_output_invalid", READ + SAY + SAY),
    "two objects that differ": ("verifier_output_invalid", READ + "print('{\"pass\": false}')\n" + SAY),
    "two objects on one line": (
        "verifier_output_invalid",
        READ + 'print(\'{"pass": true}{"pass": true}\')\n',
    ),
    "NaN": ("verifier_output_invalid", READ + 'print(\'{"pass": true, "score": NaN}\')\n'),
    "pass is 1": ("verifier_output_invalid", READ + "print('{\"pass\": 1}')\n"),
    "2 MB of output": ("verifier_output_invalid", READ + SAY + "print('x' * 2_000_000)\n"),
    "2 MB of errors": ("verifier_output_invalid", READ + SAY + "print('x' * 2_000_000, file=sys.stderr)\n"),
    "non-zero exit with an object": ("verifier_error", READ + SAY + "sys.exit(1)\n"),
    "always null": ("verifier_says_unknown", START + "print('{\"pass\": null}')\n"),
    "always fail": ("gold_failed", START + "print('{\"pass\": false}')\n"),
    "half done is accepted": ("bad_state_accepted", READ + "print(json.dumps({'pass': found != 'old'}))\n"),
    "another answer at another path": (
        "gold_unstable",
        READ + "print(json.dumps({'pass': found == '4500' and 'elsewhere' not in str(home)}))\n",
    ),
    "only a fresh file is right": (
        "gold_unstable",
        READ + "fresh = time.time() - (home / 'note.txt').stat().st_mtime < 3600\n"
        "print(json.dumps({'pass': found == '4500' and fresh}))\n",
    ),
    "another cause elsewhere": (
        "gold_unstable",
        READ + "print(json.dumps({'pass': None, 'cause': random.choice(['gold_failed', 'setup_failed'])}\n"
        "  if found == '4500' and 'elsewhere' in str(home) else {'pass': found == '4500'}))\n",
    ),
}
"""On every state: the replay of the known states sees it."""

WRITES = "(home / 'note.txt').write_text('4500')\nfound = '4500'\n"
CONFINED = {
    "writes to the state": ("verifier_error", READ + WRITES + SAY),
    "deletes the state": ("verifier_error", READ + "(home / 'note.txt').unlink()\n" + SAY),
    "adds to the state": ("verifier_error", READ + "(home / 'mark').touch()\n" + SAY),
}
"""Only where bubblewrap keeps the state read-only."""

ON_ONE: dict[str, tuple[str, str]] = {
    "crash on one state": ("verifier_error", "1 / 0\n"),
    "hang on one state": ("verifier_timeout", "time.sleep(600)\n"),
    "two objects on one state": ("verifier_output_invalid", SAY),
    "two answers on one state": (
        "verifier_not_deterministic",
        "print(json.dumps({'pass': False, 'category': str(time.time_ns())})); sys.exit()\n",
    ),
    "chance on one state": (
        "verifier_not_deterministic",
        "print(json.dumps({'pass': False, 'category': os.urandom(8).hex()})); sys.exit()\n",
    ),
    "the time of day on one state": (
        "verifier_not_deterministic",
        "print(json.dumps({'pass': False, 'category': repr(time.monotonic())})); sys.exit()\n",
    ),
    "null on one state": ("verifier_says_unknown", "print('{\"pass\": null}'); sys.exit()\n"),
}
"""On the episode's state alone, where the verifier is right about all known ones."""

HARMLESS: dict[str, str] = {
    "lines around the object": READ + "print('reading')\n" + SAY + "print('[1, 2]\\n{}\\n\\ndone')\n",
    "a warning on stderr": READ + "print('careful', file=sys.stderr)\n" + SAY,
    "900 kB around the object": READ + "print('x' * 900_000)\n" + SAY,
    "a child that stays": READ + "subprocess.Popen(['/bin/sleep', '600'])\n" + SAY,
    "writes to its own /tmp": READ + "open('/tmp/mine', 'x').write('x')\n" + SAY,
    "a write that is refused and caught": READ + "try: (home / 'new').touch()\nexcept OSError: pass\n" + SAY,
}


def limits(name: str) -> dict[str, float]:
    return {"timeout_s": 1.5 if "hang" in name else 20}


def test_breakages(ground: Ground, record_property: Any) -> None:
    cases = {**ALWAYS, **(CONFINED if confine.what_holds()["filesystem"] else {})}
    tasks: dict[str, str] = {}
    for number, (name, (_, verify)) in enumerate(cases.items()):
        tasks[name] = f"a{number:02}"
        ground.task(tasks[name], verify=verify, limits=limits(name))
        ground.episode(f"e-{tasks[name]}", tasks[name], GOOD)
    for number, (name, (_, breakage)) in enumerate(ON_ONE.items()):
        tasks[name] = f"b{number:02}"
        verify = READ + f"if found == 'odd':\n    {breakage}{SAY}"
        ground.task(tasks[name], verify=verify, limits=limits(name))
        ground.episode(f"e-{tasks[name]}", tasks[name], ODD)
        ground.episode(f"g-{tasks[name]}", tasks[name], GOOD)
    done = ground.verify("-j", "2")
    assert done.code == 0, done.err
    expected = {name: cause for name, (cause, _) in {**cases, **ON_ONE}.items()}
    truths = {name: ground.truth(f"e-{task_id}") for name, task_id in tasks.items()}
    assert {name: truth["cause"] for name, truth in truths.items()} == expected
    assert {(truth["outcome"], truth["pass"], truth["blame"]) for truth in truths.values()} == {
        ("indeterminate", None, "verifier")
    }
    assert all(truth["diagnostics"]["problem"] for truth in truths.values())
    spared = {name: ground.truth(f"g-{tasks[name]}")["outcome"] for name in ON_ONE}
    assert set(spared.values()) == {"pass"}
    assert "Traceback" not in done.err
    right = sum(truths[name]["cause"] == cause for name, cause in expected.items())
    record_property(
        "figure", f"verifier breakage: {right} of {len(expected)} classified right, blame verifier in all"
    )


def test_what_is_harmless_is_logged_and_decides_nothing(ground: Ground, record_property: Any) -> None:
    for number, (_, verify) in enumerate(HARMLESS.items()):
        ground.task(f"h{number}", verify=verify, limits={"timeout_s": 20})
        ground.episode(f"good{number}", f"h{number}", GOOD)
        ground.episode(f"odd{number}", f"h{number}", ODD)
    done = ground.verify()
    assert done.code == 0, done.err
    for number, name in enumerate(HARMLESS):
        found = (ground.truth(f"good{number}")["outcome"], ground.truth(f"odd{number}")["outcome"])
        assert found == ("pass", "fail"), name
    log = ground.bench.paths.log.read_text()
    assert "reading" in log
    assert "careful" in log
    record_property(
        "figure", f"harmless verifier output: {len(HARMLESS)} of {len(HARMLESS)} decided as without"
    )


def test_a_verifier_that_goes_by_the_clock_is_found_when_its_time_is_over(ground: Ground) -> None:
    """An answer by the date looks sound while its replay holds, a day; one more replay disagrees with it."""
    limit = time.time() + 12
    dated = f"print(json.dumps({{'pass': found == '4500' and time.time() < {limit}}}))\n"
    ground.task("dated", verify=READ + dated)
    ground.episode("e", "dated", GOOD)
    assert ground.verify().code == 0
    assert ground.truth("e")["outcome"] == "pass"
    assert time.time() < limit, "too slow a machine for this test"
    time.sleep(max(0.0, limit - time.time()) + 0.1)
    assert ground.verify().document["kept_replays"] == 1
    assert ground.truth("e")["outcome"] == "pass", "today's replay holds, so nothing can show it yet"
    done = ground.verify("--force")
    truth = ground.truth("e")
    assert (truth["outcome"], truth["blame"]) == ("indeterminate", "verifier")
    assert truth["cause"] == "gold_unstable"
    assert [moved["episode_id"] for moved in done.document["moved"]] == ["e"]


def test_a_coin_is_found_by_asking_twice(ground: Ground, record_property: Any) -> None:
    """Twenty episodes of a state on which the verifier tosses a coin: half are caught at once.

    A second run asks anew and finds another answer on the same state with the same verifier.
    """
    count = 20
    coin = "print(json.dumps({'pass': random.random() < 0.5})); sys.exit()\n"
    ground.task("coin", verify=READ + f"if found == 'odd':\n    {coin}{SAY}")
    for number in range(count):
        ground.episode(f"e{number:02}", "coin", ODD)
    caught = []
    for _ in range(3):
        done = ground.verify("--force")
        assert done.code in {0, 3}, done.err
        causes = [ground.truth(f"e{number:02}")["cause"] for number in range(count)]
        caught.append(causes.count("verifier_not_deterministic"))
    assert caught == sorted(caught), "what is found to be by chance stays so"
    assert 1 <= caught[0] <= 19
    assert caught[-1] > caught[0]
    record_property(
        "figure",
        f"a verifier that tosses a coin: {caught[0]} of {count} caught in one run, {caught[-1]} in three",
    )


@pytest.mark.parametrize("ended_by", ["step_limit", "time_limit", "loop", "refused", "malformed", "fail"])
def test_how_an_episode_ended_is_no_excuse(ground: Ground, ended_by: str) -> None:
    ground.task("note", verify=SOUND)
    ground.episode("e", "note", {}, ended_by=ended_by)
    assert ground.verify().code == 0
    assert ground.truth("e")["outcome"] == "fail"


def test_what_the_environment_did_is_the_environments(ground: Ground) -> None:
    ground.task("note", verify=SOUND)
    ground.episode("lost", "note", GOOD, ended_by="environment_lost")
    ground.episode("gone", "note", None)
    (ground.episode("cut", "note", GOOD) / "final_state.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    done = ground.verify()
    found = {
        name: (ground.truth(name)["cause"], ground.truth(name)["blame"]) for name in ("lost", "gone", "cut")
    }
    assert found == {
        "lost": ("environment_lost", "environment"),
        "gone": ("state_missing", "environment"),
        "cut": ("state_unreadable", "environment"),
    }
    assert json.loads(done.out)["outcomes"]["indeterminate"] == 3
