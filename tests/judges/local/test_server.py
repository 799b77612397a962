"""A GGUF file served on loopback: the real engine and the real smoke model."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import PIL.Image
import pytest
from tests.judges.local.eyes import write_eyes

from pyrite.errors import RunError, UsageError
from pyrite.judges.client.base import Answer, CallError, Image, Params, Request, Text
from pyrite.judges.client.budget import Budget
from pyrite.judges.client.calls import Calls, Options
from pyrite.judges.client.limits import Limits
from pyrite.judges.local import client, smoke
from pyrite.judges.local.client import LocalClient, LocalModel
from pyrite.judges.local.gguf import SMOKE_NAME, read
from pyrite.judges.local.server import Served, serve
from pyrite.judges.vlm import Vlm

pytest.importorskip("xllamacpp", reason="needs pip install 'pyrite[local-llm]'")
if smoke.find() is None:
    pytest.skip(f"needs {smoke.NEXT}", allow_module_level=True)


def ask(local: LocalClient, text: str = "Say yes.", run: int = 1) -> Answer:
    request = Request(SMOKE_NAME, "", (Text(text),), params=Params(max_tokens=4, top_logprobs=2), run=run)

    async def one() -> Answer:
        try:
            return await local.ask(request)
        finally:
            await local.aclose()

    return asyncio.run(one())


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(smoke.smoke_model()) as found:
        yield found


def status(url: str, key: str | None) -> int:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code


def test_only_who_has_the_key_is_answered_and_only_on_loopback(served: Served) -> None:
    url = f"{served.base_url}/models"
    assert url.startswith("http://127.0.0.1:")
    assert [status(url, key) for key in (served.api_key, "another", None)] == [200, 401, 401]
    port = int(url.split(":")[2].split("/")[0])
    listening = [
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
    ]
    assert listening == [f"0100007F:{port:04X}"]


def test_the_key_stands_in_no_argument_environment_or_text(served: Served) -> None:
    for name in ("cmdline", "environ"):
        assert served.api_key.encode() not in Path(f"/proc/{served.process.pid}/{name}").read_bytes()
    assert served.api_key not in repr(served)


def test_the_server_does_not_outlive_a_killed_parent() -> None:
    code = (
        "import os, signal\n"
        "from pyrite.judges.local import server, smoke\n"
        "with server.serve(smoke.smoke_model()) as served:\n"
        "    print(served.process.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    pid, deadline = int(done.stdout), time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and _state(pid) != "Z":
        assert time.monotonic() < deadline, "seconds after its parent was killed"
        time.sleep(0.05)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_broken_weights_are_an_error_with_the_file_s_name(tmp_path: Path) -> None:
    whole = smoke.find()
    assert whole is not None
    path = tmp_path / "cut.gguf"
    path.write_bytes(whole.read_bytes()[: 4 << 20])
    with pytest.raises(RunError, match=r"(?s)cut\.gguf.*not within the file bounds"), serve(read(path)):
        pass


def test_nothing_is_started_before_the_first_call_and_the_server_ends_with_the_last() -> None:
    local = LocalClient(LocalModel.find(smoke.NAME), Limits(), Budget())
    before = set(_children())
    answer = ask(local)
    assert answer.text
    assert answer.usage.output_tokens == 4
    assert answer.logprobs is not None
    assert len(answer.logprobs[0].top) == 2
    assert set(_children()) == before


def _children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def test_a_server_that_died_is_started_again() -> None:
    local = LocalClient(LocalModel.find(smoke.NAME), Limits(), Budget())

    async def twice() -> list[Answer]:
        request = Request(SMOKE_NAME, "", (Text("Say yes."),), params=Params(max_tokens=4))
        try:
            first = await local.ask(request)
            assert local._served is not None
            local._served.process.kill()
            local._served.process.wait()
            return [first, await local.ask(request)]
        finally:
            await local.aclose()

    first, second = asyncio.run(twice())
    assert first.text == second.text, "the same question to the same weights"


def test_one_that_cannot_start_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def broken(*args: object, **kwargs: object) -> Served:
        tries.append(1)
        raise RunError("the engine could not load this model")

    monkeypatch.setattr(client, "serve", broken)
    local = LocalClient(LocalModel.find(smoke.NAME), Limits(), Budget())

    async def twice() -> None:
        for _ in range(2):
            with pytest.raises(CallError, match="could not load"):
                await local.ask(Request(SMOKE_NAME, "", (Text("x"),)))
        await local.aclose()

    asyncio.run(twice())
    assert tries == [1]


def test_an_mmproj_file_gives_it_eyes(tmp_path: Path) -> None:
    local = LocalModel.find(smoke.NAME, mmproj=str(write_eyes(tmp_path / "eyes.gguf")))
    client_of_it = LocalClient(local, Limits(), Budget())

    def shown(colour: str) -> Request:
        file = io.BytesIO()
        PIL.Image.new("RGB", (100, 80), colour).save(file, "PNG")
        parts = (Text("What is it?"), Image(colour, "image/png", file.getvalue))
        return Request(local.name, "", parts, params=Params(max_tokens=4, top_logprobs=2))

    async def all_of_them() -> list[Answer]:
        try:
            return [await client_of_it.ask(shown(colour)) for colour in ("red", "blue", "red")]
        finally:
            await client_of_it.aclose()

    red, blue, again = asyncio.run(all_of_them())
    assert red.logprobs == again.logprobs != blue.logprobs
    assert red.usage.input_tokens == blue.usage.input_tokens
    assert red.usage.input_tokens is not None
    assert red.usage.input_tokens > 16, "an image of 56 by 56 pixels is sixteen patches"


def test_eyes_that_do_not_fit_are_an_error(tmp_path: Path) -> None:
    path = write_eyes(tmp_path / "eyes.gguf")
    path.write_bytes(path.read_bytes()[:-100_000])
    with pytest.raises(RunError, match="mmproj file made for it"), serve(smoke.smoke_model(), read(path)):
        pass


def test_a_model_without_eyes_is_not_shown_pixels() -> None:
    local = LocalModel.find(smoke.NAME)
    calls = Calls(Options(model=local.name, local=local))
    with pytest.raises(UsageError, match="takes no images"):
        Vlm(calls=calls)
    settings = Vlm(eyes="ocr", calls=calls).config()
    assert settings["note"] == "chance-level smoke model"
    assert settings["licence"] == "apache-2.0"
    assert settings["file_sha256"] == local.model.sha256
    assert "chance-level-smoke-model" in settings["model"]
    json.dumps(settings)


def test_the_smoke_model_is_known_by_its_bytes_whatever_it_is_called(tmp_path: Path) -> None:
    path = smoke.find()
    assert path is not None
    renamed = tmp_path / "gpt-7.gguf"
    renamed.symlink_to(path)
    assert LocalModel.find(str(renamed)).name == SMOKE_NAME
