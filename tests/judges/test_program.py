"""`exec:CMD` with real programs: good ones, broken ones and hostile ones."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conftest import Episodes
from tests.judges.packages import package

from pyrite.cli import run as pyrite
from pyrite.errors import UsageError
from pyrite.judges import labels, pipe
from pyrite.judges.base import Reply, Unavailable
from pyrite.judges.program import Program
from pyrite.records import VerdictLine
from pyrite.store import scratch
from pyrite.store.jsonl import read_lines

HEAD = """import json, os, sys, time

def say(**more):
    print(json.dumps({"id": asked["id"], **more}), flush=True)

def right():
    say(score=float(asked["instruction"].split()[1][:-1]))

"""
LOOP = (
    HEAD
    + """
for number, line in enumerate(sys.stdin):
    asked = json.loads(line)
    @@
"""
)
ONCE = HEAD + "asked = json.loads(sys.stdin.readline())\n"


def loop(*statements: str) -> str:
    """A program that does this for every line."""
    return LOOP.replace("@@", "\n    ".join(statements))


def script(folder: Path, body: str, name: str = "judge.py") -> str:
    path = folder / name
    path.write_text(body, encoding="utf-8")
    return f"{sys.executable} -I -S {path}"


def asked(program: Program, folder: Path, numbers: Sequence[int] = (1,)) -> list[Reply | Unavailable]:
    """What it says of packages, one after the other; then it is closed."""

    async def all_of_them() -> list[Reply | Unavailable]:
        found: list[Reply | Unavailable] = []
        for number in numbers:
            try:
                found.append(await program.judge(package(folder, number), 1))
            except Unavailable as exc:
                found.append(exc)
        await program.aclose()
        return found

    return asyncio.run(all_of_them())


def scores(found: Sequence[Reply | Unavailable]) -> list[float | str | None]:
    """A score, the status of what cannot be read, None where there is no verdict."""
    return [
        None if isinstance(one, Unavailable) else one.score if one.status == "ok" else one.status
        for one in found
    ]


def test_one_process_answers_all_and_each_gets_its_own(tmp_path: Path) -> None:
    body = loop("say(score=number, reason=asked['id'])")
    found = asked(Program(script(tmp_path, body)), tmp_path, range(1, 6))
    assert scores(found) == [0, 1, 2, 3, 4]
    assert [one.reason for one in found if isinstance(one, Reply)] == [f"p_{n:04d}.1" for n in range(1, 6)]


@pytest.mark.parametrize("pause", ["", "time.sleep(0.1)"])
def test_a_program_that_ends_after_its_answer_is_started_again(tmp_path: Path, pause: str) -> None:
    body = f"{ONCE}right()\nsys.stdout.close()\n{pause}\n"
    assert scores(asked(Program(script(tmp_path, body)), tmp_path, range(1, 5))) == [1, 2, 3, 4]


def test_a_shell_script_is_a_judge(tmp_path: Path) -> None:
    path = tmp_path / "judge.sh"
    path.write_text(
        "#!/bin/sh\nwhile IFS= read -r line; do\n"
        '  id=$(printf \'%s\' "$line" | sed \'s/.*"id": "\\([^"]*\\)".*/\\1/\')\n'
        '  png=$(printf \'%s\' "$line" | sed \'s/.*"path": "\\([^"]*\\)".*/\\1/\')\n'
        '  printf \'{"id": "%s", "score": %s}\\n\' "$id" "$(wc -c < "$png")"\ndone\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    seen = package(tmp_path)
    found = asked(Program(str(path)), tmp_path, [1, 2])
    assert scores(found)[0] == os.path.getsize(seen.locate(seen.evidence.images[0]))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("print('null', flush=True)", None),
        ("print(0.5, flush=True)", None),
        ("print(0.5); sys.exit(0)", "malformed"),
        ("print(json.dumps(asked), flush=True)", None),
        ("print('{\"score\": 0.', flush=True)", "malformed"),
        ("print('{\"score\": 1}', flush=True)", "off_schema"),
        ("say(score='1')", "off_schema"),
        ('print(\'{"id": "%s", "score": NaN}\' % asked[\'id\'], flush=True)', "off_schema"),
        ("sys.stdout.buffer.write(b'{\"score\": \\xff}\\n'); sys.stdout.flush()", "malformed"),
        ("print('success'); sys.exit(0)", "malformed"),
        ("print('x' * (3 << 20), flush=True)", "malformed"),
        ("sys.stdout.write('\\n' * (3 << 20)); sys.stdout.flush()", "malformed"),
        ("say(error='CUDA OOM')", None),
        ("say(verdict='success', outcome='failure', error='CUDA OOM')", None),
        ("say(verdict='success', outcome='failure')", "off_schema"),
        ("sys.exit(3)", None),
        ("sys.exit(0)", None),
        ("os.kill(os.getpid(), 9)", None),
        ("time.sleep(60)", None),
        ("print('thinking', flush=True); time.sleep(60)", None),
        ("sys.stdout.close(); os.close(1); time.sleep(60)", None),
        ("x = bytearray(1 << 30)", None),
    ],
)
def test_one_bad_answer_costs_its_own_verdict_and_no_other(
    tmp_path: Path, statement: str, expected: str | None
) -> None:
    body = loop("if asked['instruction'].startswith('Task 2'):", f"    {statement}", "else:", "    right()")
    program = Program(script(tmp_path, body), timeout_s="6", memory_gb="0.5")
    started = time.monotonic()
    assert scores(asked(program, tmp_path, [1, 2, 3])) == [1, expected, 3]
    assert time.monotonic() - started < 45, "seconds; it may take 6 and one of grace"


@pytest.mark.parametrize(
    "chatter",
    [
        '{"event": "model loaded"}',
        '{"event": "progress", "id": @}',
        "{'id': @}",
        '{"level": "info", "id": "another", "score": 3}',
        "{'loss': 0.3}",
        "50",
        "null",
        '{"loss": 0.',
    ],
)
def test_a_log_on_stdout_is_no_answer(tmp_path: Path, chatter: str) -> None:
    told = f"print({chatter!r}.replace('@', json.dumps(asked['id'])), flush=True)"
    body = loop(told, "print(line, flush=True)", "right()")
    assert scores(asked(Program(script(tmp_path, body), timeout_s="20"), tmp_path, [1, 2])) == [1, 2]


@pytest.mark.parametrize(
    "spelled",
    [
        "sys.stdout.buffer.write(b'\\xef\\xbb\\xbf' + told.encode() + b'\\n')",
        "print(json.dumps(json.loads(told), indent=2))",
        "print('{'); print('a log'); print(json.dumps(json.loads(told), indent=4))",
        "print(json.dumps(json.loads(told), indent=2).replace('\\n', '\\r\\n'))",
        "print('10 %\\r20 %\\r' + told)",
        "print('{'); print(told)",
        "told = json.dumps(json.loads(told), indent=1)\n    print(chr(0xfeff) + told)",
    ],
)
def test_an_answer_is_read_however_it_is_laid_out(tmp_path: Path, spelled: str) -> None:
    told = "told = json.dumps({'id': asked['id'], 'score': number, 'confidence': 0.5})"
    body = loop(told, spelled, "sys.stdout.flush()")
    assert scores(asked(Program(script(tmp_path, body), timeout_s="6"), tmp_path, [1, 2, 3])) == [0, 1, 2]


def test_two_objects_over_many_lines_are_two_answers(tmp_path: Path) -> None:
    told = "print(json.dumps({'id': asked['id'], 'score': 1}, indent=2), flush=True)"
    found = asked(Program(script(tmp_path, loop(told, told)), timeout_s="6"), tmp_path)
    assert scores(found) == ["malformed"]


def test_a_key_that_a_program_was_given_is_not_in_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "sk-mine/0123+456")
    body = loop("say(score=1, reason=os.environ['MINE'].replace('/', '%2F'))")
    (found,) = asked(Program(script(tmp_path, body), env="MINE"), tmp_path)
    assert isinstance(found, Reply)
    assert found.reason == "[key]"


def test_what_it_prints_late_goes_to_no_other_episode(tmp_path: Path) -> None:
    late = "threading.Timer(0.5, lambda: say(score=666)).start()"
    body = loop(
        "import threading", "print('starting ...', flush=True)", "right()", late, "print('x', flush=True)"
    )
    assert scores(asked(Program(script(tmp_path, body)), tmp_path, [1, 2, 3])) == [1, 2, 3]


@pytest.mark.parametrize("second", ["right()", "say(score=666)", "print('{\"score\": 9}', flush=True)"])
def test_two_answers_to_one_request_are_none(tmp_path: Path, second: str) -> None:
    body = loop("right()", "if number == 1 or '-once' in sys.argv:", f"    time.sleep(0.003); {second}")
    assert scores(asked(Program(script(tmp_path, body)), tmp_path, [1, 2, 3])) == [1, "malformed", 3]
    once = f"{ONCE}right()\ntime.sleep(0.1)\n{second}\n"
    assert scores(asked(Program(script(tmp_path, once)), tmp_path, [1, 2])) == ["malformed"] * 2


@pytest.mark.parametrize("how", ["sys.exit(3)", "os.kill(os.getpid(), 11)", "raise ValueError"])
def test_an_answer_of_a_program_that_fails_is_no_verdict(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe, "SETTLE_S", 0.5)  # an interpreter takes its time to end on a machine at work
    found = asked(Program(script(tmp_path, f"{ONCE}right()\ntime.sleep(0.1)\n{how}\n")), tmp_path, [1, 2])
    assert scores(found) == [None, None]
    assert "answered and ended with exit code" in str(found[0])
    body = loop("right()", "if number == 1:", f"    {how}")
    assert scores(asked(Program(script(tmp_path, body)), tmp_path, [1, 3])) == [1, None]


ORPHAN = (
    "import subprocess; subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import os, sys, time\\n"
    'if os.fork(): os._exit(0)\\nos.setsid()\\nopen(sys.argv[1], "w").write(str(os.getpid()) + ".")\\n'
    "time.sleep(99)', @@])"
)


@pytest.mark.parametrize("ends", ["", "sys.exit(0)", "time.sleep(60)"])
def test_what_a_program_started_ends_with_it(tmp_path: Path, ends: str) -> None:
    pid = tmp_path / "pid"
    start = ORPHAN.replace("@@", repr(str(pid)))
    there = f"os.path.exists({str(pid)!r}) and open({str(pid)!r}).read().endswith('.')"
    wait = f"while not ({there}): time.sleep(0.01)"
    body = (
        HEAD
        + f"{start}\n{wait}\nfor line in sys.stdin:\n    asked = json.loads(line)\n    right()\n    {ends}\n"
    )
    assert scores(asked(Program(script(tmp_path, body), timeout_s="20"), tmp_path)) == [1]
    assert not Path(f"/proc/{pid.read_text()[:-1]}").exists()


def test_folders_of_a_killed_command_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(scratch, "_SWEPT", set())
    left = tmp_path / "tmp" / "pyrite-judge-4194000-1-abcdefgh"
    left.mkdir(parents=True)
    (left / "0123.png").write_bytes(b"x")
    asked(Program(script(tmp_path, loop("right()"))), tmp_path)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_program_that_writes_much_to_stderr_or_reads_late_does_not_block(tmp_path: Path) -> None:
    late = "sys.stderr.write('e' * 300_000); time.sleep(0.2)"
    body = ONCE.replace("asked = json.loads", f"{late}\nasked = json.loads") + "right()\n"
    big = package(tmp_path, 5, instruction="Task 5: " + "x" * 400_000)

    async def one() -> Reply:
        program = Program(script(tmp_path, body), timeout_s="20")
        try:
            return await program.judge(big, 1)
        finally:
            await program.aclose()

    assert asyncio.run(one()).score == 5


def test_keys_of_the_environment_are_not_handed_on_unless_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret-1")
    monkeypatch.setenv("MY_KEY", "secret-2")
    body = loop(
        "say(score=1, reason=' '.join(os.environ.get(n, 'none') for n in ('SOME_API_KEY', 'MY_KEY')))"
    )
    (found,) = asked(Program(script(tmp_path, body), env="MY_KEY"), tmp_path)
    assert isinstance(found, Reply)
    assert found.reason == "none [key]", "it had it, and it is not repeated"
    with pytest.raises(UsageError, match="NOT_SET_ANYWHERE"):
        Program("cat", env="NOT_SET_ANYWHERE")


def test_images_lie_outside_of_the_bench_and_are_gone_afterwards(tmp_path: Path) -> None:
    body = loop("say(score=1, reason=asked['images'][0]['path'])")
    (found,) = asked(Program(script(tmp_path, body)), tmp_path)
    assert isinstance(found, Reply)
    assert str(tmp_path) not in found.reason
    assert not Path(found.reason).exists()


def test_a_cancelled_call_ends_its_process(tmp_path: Path) -> None:
    pid = str(tmp_path / "pid")
    body = loop(f"open({pid!r}, 'w').write(str(os.getpid()))", "time.sleep(60)")
    program = Program(script(tmp_path, body))

    async def cancelled() -> None:
        task = asyncio.ensure_future(program.judge(package(tmp_path), 1))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    started = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - started < 20
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_program_that_hangs_does_not_outlive_a_killed_pyrite(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    orphan = tmp_path / "orphan"
    start = ORPHAN.replace("@@", repr(str(orphan)))
    wait = f"while not os.path.exists({str(orphan)!r}): time.sleep(0.01)"
    body = loop(start, wait, f"open({str(pid)!r}, 'w').write(str(os.getpid()) + '.')", "time.sleep(60)")
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from pyrite.judges.base import Package\n"
        "from pyrite.judges.program import Program\n"
        "from pyrite.records import Evidence\n"
        "seen = Evidence(package_id='p', condition='E1-final', instruction='Task 1:')\n"
        "asyncio.run(Program(sys.argv[1]).judge(Package(seen, Path), 1))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, script(tmp_path, body)]) as pyrite_itself:
        while not pid.exists() or not pid.read_text().endswith("."):
            assert pyrite_itself.poll() is None
            time.sleep(0.02)
        pyrite_itself.kill()
    deadline = time.monotonic() + 20
    for file in (pid, orphan):
        while _alive(int(file.read_text()[:-1])):
            assert time.monotonic() < deadline, "seconds after pyrite was killed"
            time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_another_script_is_another_judge(tmp_path: Path) -> None:
    command = script(tmp_path, "print(1)")
    before = Program(command).config()
    script(tmp_path, "print(2)")
    assert Program(command).config()["files_sha256"] != before["files_sha256"]
    assert Program(command).config()["command"] == before["command"]


@pytest.mark.parametrize("command", ["", "no-such-program-at-all x", "'unclosed"])
def test_a_command_that_cannot_run_is_told_before_anything_is_asked(command: str) -> None:
    with pytest.raises(UsageError, match="exec"):
        Program(command)


def test_labels_of_programs_and_their_options() -> None:
    made = labels.make("exec:cat ./x@1 --y=2@timeout_s=5,conditions=E1-final/E2+claim")
    assert made.label == "exec:cat ./x@1 --y=2@conditions=E1-final/E2+claim,timeout_s=5"
    assert made.judge.name == "exec:cat ./x@1 --y=2"
    assert [made.judge.supports(name) for name in ("E1-final", "E2+claim", "E3-full")] == [True, True, False]
    assert made.settings["timeout_s"] == 5
    with pytest.raises(UsageError, match="nonsense"):
        labels.make("exec:cat@nonsense=1")


def test_a_bench_is_judged_and_resumed(
    episodes: Episodes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        episodes.add(f"ep_{number}", [{"action": "done"}], colours=[0, number])
    (episodes.bench.root / "tasks" / "a-task").mkdir(parents=True)
    task = {"instruction": episodes.instruction, "states": []}
    (episodes.bench.root / "tasks" / "a-task" / "task.json").write_text(json.dumps(task), encoding="utf-8")
    (episodes.bench.root / "tasks" / "a-task" / "verify.py").write_text("", encoding="utf-8")
    body = loop("say(score=0.5)")
    label = f"exec:{script(tmp_path, body)}@conditions=E1-final"
    command = ["judge", str(episodes.bench.root), "--judge", label, "--condition", "E1-final,E3-full"]
    assert pyrite(command) == 0, capsys.readouterr().err
    lines = list(read_lines(episodes.bench.paths.verdict_file(label, "E1-final"), VerdictLine))
    assert [(line.score, line.verdict, line.status) for line in lines] == [(0.5, None, "ok")] * 3
    assert not episodes.bench.paths.verdict_file(label, "E3-full").exists()
    capsys.readouterr()
    assert pyrite(command) == 0
    assert "0 new, 3 kept" in capsys.readouterr().out
