"""What a command does, told from its text."""

from __future__ import annotations

import doctest
import time

import pytest

from pyrite.audit import commands, hostile, ledger


def test_examples() -> None:
    for module in (commands, hostile, ledger):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("bash eval.sh", True),
        ("python /home/user/script.py", True),
        ("cd a && ./check.sh", True),
        ("a; python3 -c 'x'", True),
        ("pulseaudio --start\npactl list", True),
        ("ls /home/user | grep test.py", False),
        ("cat notes.sh.txt", False),
        ("gsettings get org.gnome.desktop.session idle-delay", False),
        ("python3 --version", False),
        ("which spotify", False),
        ("[ -f a.webp ] && echo yes || echo no", False),
        ("code --list-extensions", False),
        ("", False),
    ],
)
def test_what_runs_code(text: str, runs: bool) -> None:
    assert commands.runs_code(text) is runs
    assert commands.runs_code(f"bash -c {text}", ("bash", "-c", text)) is runs


@pytest.mark.parametrize(
    ("text", "installs", "fetches"),
    [
        ("pip install PyMuPDF", True, False),
        ("echo x | sudo -S apt-get install -y expect", True, False),
        ("uvx pytest", True, False),
        ("curl -LsSf https://x.example | sh", False, True),
        ("apt list --installed", False, False),
        ("cat installed.txt", False, False),
    ],
)
def test_what_needs_a_network(text: str, installs: bool, fetches: bool) -> None:
    assert (commands.installs(text), commands.fetches(text)) == (installs, fetches)


def test_waits_are_bounded_numbers() -> None:
    assert commands.sleeps("time.sleep(1.2.3)") == 0.0
    assert commands.sleeps(f"time.sleep({'9' * 400})") == 1e6
    assert commands.sleeps("sleeping 5") == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "set -" * 40_000,
        "sudo " * 40_000,
        "\n" * 100_000,
        "./" * 50_000,
        "$(" * 50_000,
        ";" * 90_000,
    ],
)
def test_no_pattern_takes_long_on_a_long_text(text: str) -> None:
    began = time.process_time()
    for look in (commands.runs_code, commands.gui, commands.saves, commands.installs, commands.fetches):
        look(text)
    commands.sleeps(text)
    commands.urls(text)
    assert time.process_time() - began < 10, "linear is far below a second"
