"""The function, the program and the server of the page on judges work as they stand there."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.judges.packages import package

from pyrite.judges import labels
from pyrite.judges.base import Reply
from pyrite.judges.client.calls import Calls
from pyrite.judges.labels import options_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "judges.md"


def example(language: str, begins: str) -> str:
    """The code block of a language that begins so."""
    blocks = re.findall(
        rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (found,) = [block for block in blocks if block.startswith(begins)]
    return str(found)


def ask(label: str, folder: Path) -> Reply:
    calls = Calls()
    judge = labels.make(label, calls=calls).judge

    async def one() -> Reply:
        try:
            assert judge.supports("E1-final")
            assert not judge.supports("E3-full")
            return await judge.judge(package(folder), 1)
        finally:
            await calls.aclose()
            if close := getattr(judge, "aclose", None):
                await close()

    return asyncio.run(one())


def picture_bytes(folder: Path) -> float:
    seen = package(folder)
    return float(seen.locate(seen.evidence.images[-1]).stat().st_size)


def test_the_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_rewards.py").write_text(example("python", "# my_rewards.py"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_rewards", raising=False)
    assert ask("my_rewards:blue@weight=0.5", tmp_path) == Reply(None, score=0.0)


def test_the_shell_program(tmp_path: Path) -> None:
    path = tmp_path / "judge.sh"
    path.write_text(example("sh", "#!/bin/sh"), encoding="utf-8")
    path.chmod(0o755)
    found = ask(f"exec:{path}@conditions=E1-final,timeout_s=30", tmp_path)
    assert (found.score, found.status) == (picture_bytes(tmp_path), "ok")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_server(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    source = example("python", "# server.py").replace("9000", str(port))
    with subprocess.Popen([sys.executable, "-c", source], stderr=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + 20
            while not listens(port) and time.monotonic() < deadline:
                time.sleep(0.05)
            found = ask(f"reward-http@url=http://127.0.0.1:{port}/score,conditions=E1-final", tmp_path)
        finally:
            server.kill()
    assert (found.score, found.status) == (picture_bytes(tmp_path), "ok")


@pytest.mark.parametrize("name", ["reward-http", "reward-hf", "exec:cat"])
def test_the_page_names_every_option(name: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for option in options_of(name):
        assert re.search(rf"\b{option}\b", text), option
