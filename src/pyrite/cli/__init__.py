"""The command line: a verb parses, calls one library function, prints. Verbs are loaded when used."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from pyrite.errors import PyriteError, RunError, UsageError

VERBS: dict[str, dict[str, tuple[str, str]]] = {
    "start": {
        "demo": ("pyrite.cli.start:demo", "Measure the shipped episodes: truth, judges, report."),
        "init": ("pyrite.cli.look:init", "Write a task that works, to be changed into yours."),
        "doctor": ("pyrite.cli.start:doctor", "What this machine can do, and what is missing."),
        "list": ("pyrite.cli.look:listing", "List suites, tasks, judges, agents, episodes."),
        "show": ("pyrite.cli.look:show", "Show one episode, task or judge."),
        "view": ("pyrite.cli.view:view", "Write one page of one episode: screens, truth, verdicts."),
    },
    "truth": {
        "check": ("pyrite.cli.check:check", "Are my tasks fit to ship? Known states and near-misses."),
        "audit": ("pyrite.cli.audit:audit", "What somebody else's verifiers do, and what can go wrong."),
        "record": ("pyrite.cli.truth:record", "Record episodes of a suite on the real desktop."),
        "perturb": ("pyrite.cli.truth:perturb", "Replay recorded episodes with one injected defect."),
        "verify": ("pyrite.cli.truth:verify", "Decide every episode from its end state: gt.json."),
        "outcomes": ("pyrite.cli.truth:outcomes", "Print pass, fail, indeterminate, and the bounds."),
        "label": ("pyrite.cli.people:label", "Add what a person says of an episode."),
    },
    "judges": {
        "pack": ("pyrite.cli.judges:pack", "Pack what judges may see, the same for all of them."),
        "judge": ("pyrite.cli.judges:judge", "Ask judges about the packed evidence."),
        "train-orm": ("pyrite.cli.judges:train_orm", "Train orm-lite, a small reward model of your own."),
        "experiment": ("pyrite.cli.experiment:experiment", "The pull of the claim; ensembles of judges."),
        "rejudge": ("pyrite.cli.rejudge:rejudge", "Same episodes, other model or prompt: what flips?"),
    },
    "numbers": {
        "measure": ("pyrite.cli.numbers:measure", "FPR, FDR, TPR, kappa ... of judges against truth."),
        "compare": ("pyrite.cli.pairs:compare", "Judges of a bench, or agents of two: do they differ?"),
        "diagnose": ("pyrite.cli.foreign:diagnose", "How agents went about it: scores, kinds of failure."),
        "plan": ("pyrite.cli.pairs:plan", "How many tasks and episodes a question needs."),
        "gate": ("pyrite.cli.gate:gate", "May this judge be a reward? Ten lines, by one-sided bounds."),
        "report": ("pyrite.cli.numbers:report", "Write report.json and one self-contained report.html."),
    },
    "all": {
        "run": ("pyrite.cli.all:run", "Every stage, from one configuration; resumable."),
    },
    "files": {
        "import": ("pyrite.cli.foreign:import_", "Read trajectories of fara into a bench."),
        "export": ("pyrite.cli.export:export", "Write tasks as folders or for Harbor; score files of fara."),
        "manifest": ("pyrite.cli.files:manifest", "Write or check the digests of every file of a bench."),
        "schema": ("pyrite.cli.files:schema", "Print the JSON Schema of a record."),
    },
}

EXIT_CODES = (
    "Exit codes: 0 done; 1 a check failed; 2 wrong usage or input; 3 computed but undecided; "
    "4 could not run or finish (the same command resumes); 70 a bug; 130 interrupted (143 by SIGTERM)."
)


class _Verbs(click.Group):
    """The verbs by group; a verb's module is imported when the verb is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in VERBS.values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for group in VERBS.values():
            if cmd_name in group:
                module, _, attribute = group[cmd_name][0].partition(":")
                command: click.Command = getattr(import_module(module), attribute)
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in VERBS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in group.items()])


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(package_name="pyrite", message="%(prog)s %(version)s")
def app() -> None:
    """How far can you trust whatever says that your computer-use agent succeeded?

    Start with `pyrite demo`. Every verb has --help with three examples.
    """


RESUME: list[str] = []
"""What must be added to the command to go on with what it began (a bench that it named itself)."""

_DISK = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.EFBIG,
    errno.ENOTDIR,
    errno.ENAMETOOLONG,
}


def main() -> None:
    """Run the command line and leave with its exit code."""
    code = run(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: ctrl-C now would only hide how it went
    sys.exit(code)


@contextlib.contextmanager
def _ending_cleanly() -> Iterator[list[int]]:
    """Make SIGTERM and SIGHUP a `KeyboardInterrupt`, so that they are cleaned up after like ctrl-C.

    Gives the list that the signals are noted in. A signal that is ignored or handled already stays so.
    """
    seen: list[int] = []

    def end(number: int, frame: object) -> None:
        seen.append(number)
        if len(seen) == 1 and not _cancel_tasks():  # cleaning up is not interrupted again
            raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()
    wanted = (signal.SIGTERM, signal.SIGHUP) if here else ()
    ours = [number for number in wanted if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        yield seen
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _cancel_tasks() -> bool:
    """Cancel what an event loop of this thread is doing: an exception thrown into it would be logged."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.call_soon_threadsafe(lambda: None)  # it may be waiting
    return True


def run(arguments: list[str]) -> int:
    """Run one command; every error becomes a message and an exit code, never a traceback."""
    with _ending_cleanly() as signals:
        try:
            return _run(arguments, signals)
        except BaseException:  # a cancelled event loop has its own
            if not signals:
                raise
            return _interrupted(arguments, signals)


def _run(arguments: list[str], signals: list[int]) -> int:
    from pyrite.cli import screen

    try:
        done = app.main(arguments, prog_name="pyrite", standalone_mode=False)
        screen.flush()
        return done if isinstance(done, int) else 0
    except click.ClickException as exc:
        return _tell(_usage(exc), arguments)
    except (KeyboardInterrupt, click.Abort):
        return _interrupted(arguments, signals)
    except SystemExit as exc:
        if type(sys.stdout).__name__ == "PacifyFlushWrapper":  # the reader of a pipe has gone
            return 0
        return exc.code if isinstance(exc.code, int) else 70
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except PyriteError as exc:
        if isinstance(exc, RunError):
            exc.next = exc.next or _again(arguments)
        return _tell(exc, arguments)
    except OSError as exc:
        if exc.errno in _DISK:
            return _tell(_disk(exc, arguments), arguments)
        return _bug(exc, arguments)
    except Exception as exc:
        return _bug(exc, arguments)


def _again(arguments: list[str]) -> str:
    """The command that goes on with this one."""
    return shlex.join(["pyrite", *arguments, *RESUME])


def _interrupted(arguments: list[str], signals: list[int]) -> int:
    """Say what is safe and how to go on; the exit code of the signal, or of ctrl-C."""
    what = "interrupted: what was finished is on disk and safe"
    with contextlib.suppress(OSError):  # the terminal may be what has gone
        if "--json" in arguments:
            problem = PyriteError(what, next=_again(arguments))
            problem.code = "interrupted"
            click.echo(problem.as_json())
        click.echo(f"\n{what}\ngo on: {_again(arguments)}", err=True)
    return 128 + signals[0] if signals else 130


def _usage(exc: click.ClickException) -> UsageError:
    ctx: click.Context | None = getattr(exc, "ctx", None)
    verb = ctx.command_path if ctx else "pyrite"
    return UsageError(exc.format_message(), next=f"{verb} --help")


def _disk(exc: OSError, arguments: list[str]) -> RunError:
    return RunError(
        exc.strerror or str(exc),
        where=str(exc.filename or ""),
        expected="a folder that can be written to, with room",
        next=_again(arguments),
    )


def _tell(exc: PyriteError, arguments: list[str]) -> int:
    if "--debug" in arguments:
        traceback.print_exc()
    if "--json" in arguments:
        click.echo(exc.as_json())
    else:
        from pyrite.cli.screen import printable

        click.echo("\n".join(map(printable, f"error: {exc}".split("\n"))), err=True)
    return exc.exit_code


def _bug(exc: Exception, arguments: list[str]) -> int:
    problem = PyriteError(f"a bug in pyrite: {type(exc).__name__}: {exc}")
    try:
        log = _log_file(arguments)
        with log.open("a", encoding="utf-8", errors="backslashreplace") as handle:
            handle.write(f"{shlex.join(arguments)}\n{traceback.format_exc()}\n")
        problem.next = f"report it with the traceback in {log}"
    except OSError:
        problem.next = "run it again with --debug and report the traceback"
    problem.code = "bug"
    return _tell(problem, arguments)


def _log_file(arguments: list[str]) -> Path:
    """log.txt of the bench that was named, else of the user's cache; what an option says is none."""
    before = ["", *arguments]
    out = [value for option, value in zip(before, arguments, strict=False) if option in {"-o", "--out"}]
    flags = {"--json", "--quiet", "--debug", "--no-color"}
    own = [
        value
        for option, value in zip(before, arguments, strict=False)
        if option in flags or not option.startswith("--")
    ]
    for argument in (*out, *own):
        with contextlib.suppress(OSError):
            if not argument.startswith("-") and (Path(argument) / "episodes").is_dir():
                return Path(argument) / "log.txt"
    cache = Path(os.environ.get("PYRITE_CACHE") or Path.home() / ".cache" / "pyrite")
    cache.mkdir(parents=True, exist_ok=True)
    return cache / "log.txt"


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every verb: --json --quiet --debug --no-color."""
    for option in reversed(
        (
            click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, errors too."),
            click.option("--quiet", "-q", is_flag=True, help="No progress on stderr."),
            click.option("--debug", is_flag=True, help="Show tracebacks."),
            click.option("--no-color", is_flag=True, help="No colours."),
        )
    ):
        command = option(command)
    return command


def examples(*lines: str) -> str:
    """The epilog of a verb: its examples, then the exit codes."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) + f"\n\n{EXIT_CODES}"
