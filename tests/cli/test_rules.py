"""The rules of the command line, for every verb that there is."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import click
import pytest

from pyrite.cli import VERBS, run

ALL = [verb for group in VERBS.values() for verb in group]
ON_A_BENCH = [
    "perturb",
    "verify",
    "outcomes",
    "pack",
    "judge",
    "rejudge",
    "experiment",
    "train-orm",
    "measure",
    "diagnose",
    "compare",
    "plan",
    "gate",
    "report",
    "manifest",
    "list",
    "run",
]
EXTRA = {
    "judge": ["--judge", "accept-all"],
    "rejudge": ["--judge", "accept-all", "--against", "reject-all"],
    "train-orm": ["-o", "weights-of-no-test.json"],
    "experiment": ["--judge", "accept-all"],
}
BEFORE = {"list": ["episodes"], "experiment": ["claim"]}
"""What stands before the bench."""
ELSEWHERE = {
    "audit",
    "check",
    "demo",
    "doctor",
    "record",
    "init",
    "show",
    "view",
    "label",
    "schema",
    "export",
    "import",
}
"""Verbs that take something other than a bench; their own tests hold them to the rules."""
LIMIT_S = 0.3
"""CPU of a `--help`, the median of three; where two agree, the third changes nothing and is not run."""


class Unasked(io.StringIO):
    """A standard input that nobody may read from."""

    def _read(self, *_: object) -> str:
        raise AssertionError("asked on stdin")

    read = readline = readlines = __next__ = _read  # type: ignore[assignment]


def test_the_verbs_on_a_bench_are_all_there() -> None:
    assert set(ON_A_BENCH) == set(ALL) - ELSEWHERE


@pytest.mark.parametrize("verb", ALL)
def test_help_is_one_screen_with_three_examples_and_exit_codes(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.count("\n") <= 50
    assert len(re.findall(rf"^ +pyrite {verb}\b", text, re.MULTILINE)) == 3
    assert "Exit codes: 0 done" in " ".join(text.split())


@pytest.mark.parametrize("verb", ["", *ALL])
def test_help_is_quick_and_imports_neither_records_nor_numpy(verb: str) -> None:
    script = (
        "import sys\nfrom pyrite.cli import run\n"
        f"run([*{[verb] if verb else []!r}, '--help'])\n"
        "print([m for m in ('numpy', 'pydantic', 'pyrite.records', 'rich', 'PIL') if m in sys.modules])"
    )
    times: list[float] = []
    while len(times) < 2 or (len(times) == 2 and (times[0] < LIMIT_S) != (times[1] < LIMIT_S)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert done.stdout.splitlines()[-1] == "[]"
    assert statistics.median(times) < LIMIT_S, "seconds of CPU: the machine may be busy"


@pytest.mark.parametrize("verb", ON_A_BENCH)
@pytest.mark.parametrize("kind", ["missing", "file", "empty", "no episodes"])
def test_what_is_no_bench_is_exit_2_and_says_what_was_there(
    verb: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "thing"
    if kind == "file":
        path.write_text("x", encoding="utf-8")
    elif kind != "missing":
        (path / "episodes" if kind == "no episodes" else path).mkdir(parents=True)
    arguments = [verb, *BEFORE.get(verb, []), str(path), *EXTRA.get(verb, [])]
    assert run(arguments) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert str(path) in seen.err
    assert "expected:" in seen.err
    assert "next: pyrite" in seen.err
    assert "Traceback" not in seen.err
    assert run([*arguments, "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"]
    assert document["error"].keys() >= {"code", "what", "expected", "next"}


@pytest.mark.parametrize("verb", ALL)
def test_an_unknown_option_is_exit_2_and_names_the_help(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, "--nonsense"]) == 2
    assert f"pyrite {verb} --help" in capsys.readouterr().err


def test_an_unknown_verb_is_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mesure", "x", "--json"]) == 2
    assert "mesure" in json.loads(capsys.readouterr().out)["error"]["what"]


@pytest.mark.parametrize("verb", ON_A_BENCH)
def test_a_malformed_meta_is_named_with_its_field(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "b" / "episodes" / "ep_1"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text('{"episode_id": 7}', encoding="utf-8")
    code = run([verb, *BEFORE.get(verb, []), str(tmp_path / "b"), *EXTRA.get(verb, [])])
    seen = capsys.readouterr()
    assert code in {0, 2, 3}
    if verb == "verify":
        assert "ep_1" in seen.out, "a broken episode is data: reported, and in the denominator"
    elif verb == "manifest":
        assert "meta.json" in (tmp_path / "b" / "MANIFEST.sha256").read_text(encoding="utf-8")
    else:
        assert "meta.json" in seen.err + seen.out
    assert "Traceback" not in seen.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["record", "dusk"], "no suite"),
        (["record", "desk", "--only", "nothing*", "--dry-run"], "no task matches"),
        (["record", "desk", "--agent", "scriptd", "--dry-run"], "unknown agent"),
        (["measure"], "either a BENCH or --table"),
        (["measure", "--table", "no.csv", "--truth", "t", "--cluster", "c"], "no.csv"),
        (["record", "desk", "-n", "0"], "0"),
        (["compare"], "either a BENCH or --table"),
        (["compare", "b", "--truth", "t"], "go with --table"),
        (["compare", "--table", "no.csv", "--judge", "x"], "go with a BENCH"),
        (["plan", "--fpr", "1.5"], "--fpr 1.5"),
        (["plan", "--icc", "nan"], "--icc nan"),
    ],
)
def test_wrong_arguments_are_seen_before_the_environment(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(arguments) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_bug_is_exit_70_and_its_traceback_goes_to_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pyrite import flow

    (tmp_path / "b" / "episodes").mkdir(parents=True)

    def broken(*args: object, **kwargs: object) -> None:
        raise AssertionError("it went wrong")

    monkeypatch.setattr(flow, "outcomes", broken)
    assert run(["outcomes", str(tmp_path / "b")]) == 70
    seen = capsys.readouterr()
    assert "Traceback" not in seen.err
    assert "it went wrong" in seen.err
    assert "Traceback" in (tmp_path / "b" / "log.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["record", "desk", "--plan", "full", "-o", "b"], "b"),
        (["verify", "--json", "b"], "b"),
        (["measure", "b", "--group", "full"], "b"),
        (["record", "desk", "--plan", "full", "-o", "new"], None),
    ],
)
def test_the_log_is_that_of_the_bench_that_was_named(
    arguments: list[str], named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyrite.cli import _log_file

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    for name in ("b", "full"):
        Path(name, "episodes").mkdir(parents=True)
    expected = Path("b") if named else tmp_path / "cache"
    assert _log_file(arguments) == expected / "log.txt"


def test_ctrl_c_is_130_and_says_how_to_go_on(tmp_path: Path) -> None:
    script = (
        "import signal, sys, time\nfrom pyrite import cli, flow\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
        "def slow(*a, **k):\n    print('started', flush=True); time.sleep(60)\n"
        "flow.outcomes = slow\nsys.exit(cli.run(['outcomes', 'runs/x y']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "started\n"
        os.kill(child.pid, signal.SIGINT)
        _, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert "safe" in err
    assert "go on: pyrite outcomes 'runs/x y'" in err
    assert "Traceback" not in err


def test_a_closed_pipe_is_quiet() -> None:
    done = subprocess.run(
        f"{sys.executable} -m pyrite --help | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""


@pytest.mark.parametrize("more", ["", "--json"])
def test_a_failing_gate_fails_though_nobody_reads_its_answer(tmp_path: Path, more: str) -> None:
    rows = "".join(f"t{k},{int(k < 100)},1\n" for k in range(400))
    (tmp_path / "v.csv").write_text("task,truth,judge\n" + rows, encoding="utf-8")
    gate = (
        f"{sys.executable} -m pyrite gate --table v.csv --truth truth --verdicts judge --cluster task {more}"
    )
    for reader in ("true", "head -1"):
        done = subprocess.run(
            ["/bin/bash", "-c", f"{gate} | {reader}; exit ${{PIPESTATUS[0]}}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr


@pytest.mark.parametrize("verb", ALL)
def test_nothing_is_asked_on_stdin(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Unasked())
    arguments = [verb] if verb == "doctor" else [verb, str(tmp_path / "none"), *EXTRA.get(verb, [])]
    assert run(arguments) in {0, 2}


def test_what_asks_on_stdin_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyrite import flow

    monkeypatch.setattr(sys, "stdin", Unasked())
    for asks in (input, sys.stdin.read, lambda: click.prompt("sure?")):
        monkeypatch.setattr(flow, "outcomes", lambda *_, asks=asks, **__: asks())
        assert run(["outcomes", "no-bench"]) not in {0, 2}
