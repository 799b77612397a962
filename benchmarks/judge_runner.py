"""How fast judges are asked: pyrite's runner and client, a loop over the openai SDK, inspect_ai.

    .venv/bin/python benchmarks/judge_runner.py [--calls 640] [--in-flight 64] [--images 4]
    .venv/bin/python benchmarks/judge_runner.py --memory 10000 --images 20

A stub on loopback, a process of its own, answers each call after a second, then at once. Each way is a
process of its own too: its CPU and memory are the client's alone, imports and the first few calls left
out of the CPU and the wall. The images are pictures of noise, about 70 kB of PNG each. `pyrite judge` is
all of it: packages and images from disk, the prompt, the verdict, its line and raw answer on disk. The
others get their images from memory, and keep no answer.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from PIL import Image

WARM = 8
DISTINCT = 64
"""Pictures that the packages draw from."""
SIDE = 152
"""Pixels of a picture of noise that has about 70 kB."""
ANSWER = json.dumps({"reason": "the cell shows it", "verdict": "success", "confidence": 0.9})
BODY = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920},
    }
).encode()
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
PROMPT = "You judge whether a task was done. Say so in JSON."
Ask = Callable[[int], Awaitable[str]]
Made = tuple[Ask, Callable[[], Awaitable[None]]]
"""What makes a call, and what closes its connections."""


# --- the stub


class Stub(asyncio.Protocol):
    """Counts bytes and answers: it reads no JSON, so that it is not what is measured."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._head = b""
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._left:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            length = _LENGTH.search(self._head)
            self._left = (int(length[1]) if length else 0) + end + 4
            data, self._head = self._head, b""
        self._left -= len(data)
        if self._left <= 0:
            self._left = 0
            if self._latency_s:
                asyncio.get_running_loop().call_later(self._latency_s, self._transport.write, RESPONSE)
            else:
                self._transport.write(RESPONSE)


async def serve(latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Stub(latency_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def stub(latency_s: float) -> Iterator[str]:
    """The stub in a process of its own; gives its base URL."""
    command = [sys.executable, __file__, "--stub", str(latency_s)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


# --- what is shown


def pictures(folder: Path) -> list[Path]:
    """Pictures of noise, each under the sha256 of its pixels."""
    from pyrite.store.images import pixels_sha256, save_png

    chosen = random.Random(7)
    paths = []
    for _ in range(DISTINCT):
        image = Image.frombytes("RGB", (SIDE, SIDE), chosen.randbytes(SIDE * SIDE * 3))
        paths.append(folder / f"{pixels_sha256(image)}.png")
        save_png(image, paths[-1])
    return paths


def make_bench(root: Path, episodes: int, images: int) -> None:
    """Packages of a condition, and their index: all that a judge is asked about."""
    from pyrite.records import Evidence, EvidenceEntry
    from pyrite.store.bench import Bench

    bench = Bench.create(root)
    bench.paths.images.mkdir(parents=True)
    keys = [path.stem for path in pictures(bench.paths.images)]
    with bench.paths.evidence_index.open("w", encoding="utf-8") as index:
        for number in range(episodes):
            evidence = Evidence(
                package_id=f"p_{number:012d}",
                condition="E3-full",
                instruction=f"Task {number}: in Documents/a.ods, set cell D14 to {number} and save the file.",
                images=tuple(keys[(number * 5 + i) % DISTINCT] for i in range(images)),
            )
            text = json.dumps(evidence.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
            path = bench.paths.package("E3-full", evidence.package_id)
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            entry = EvidenceEntry(
                package_id=evidence.package_id,
                episode_id=f"ep_{number:06d}",
                condition="E3-full",
                evidence_sha256=hashlib.sha256(text.encode()).hexdigest(),
            )
            index.write(entry.model_dump_json() + "\n")


# --- the ways


def measure(way: str, url: str, bench: Path, calls: int, in_flight: int, images: int) -> dict[str, float]:
    """One way in this process: seconds, CPU seconds and the most memory of so many calls."""
    if way == "runner":
        took = run_judge(url, bench, calls, in_flight)
    else:
        took = asyncio.run(loop(ASKED[way], url, bench, calls, in_flight, images))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": took[0], "cpu": took[1], "peak": peak}


def _forget(bench: Any) -> None:
    for path in bench.paths.verdict_files():
        path.unlink()


def run_judge(url: str, bench: Path, calls: int, in_flight: int) -> tuple[float, float]:
    """The runner over packages on disk, its cache empty."""
    from pyrite.evidence.packing import index
    from pyrite.judges.client.calls import Calls, Options
    from pyrite.judges.client.limits import Limits
    from pyrite.judges.labels import make
    from pyrite.judges.runner import ask
    from pyrite.store.bench import Bench

    opened = Bench(bench)
    entries = list(index(opened).values())[:calls]

    def judged(chosen: list[Any]) -> None:
        options = Options(base_url=url, limits=Limits(in_flight=in_flight))
        judge = make("vlm@model=stub,logprobs=0", calls=Calls(options))
        judging = asyncio.run(ask(opened, [judge], chosen, in_flight=in_flight))
        if judging.missing or judging.obtained != len(chosen):
            raise SystemExit(f"verdicts are missing: {judging.asked}")

    _forget(opened)  # what another run of this benchmark asked, of a stub at another port
    judged(entries[:WARM])
    _forget(opened)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PYRITE_CACHE"] = cache
        started, used = time.perf_counter(), time.process_time()
        judged(entries)
        return time.perf_counter() - started, time.process_time() - used


async def loop(
    make: Callable[[str, list[bytes], int], Made],
    url: str,
    bench: Path,
    calls: int,
    in_flight: int,
    images: int,
) -> tuple[float, float]:
    """So many calls with so many workers over a function that makes one."""
    files = [path.read_bytes() for path in sorted((bench / "evidence" / "images").iterdir())]
    ask, close = make(url, files, in_flight)
    numbers = iter(range(calls))

    async def worker(source: Iterator[int]) -> None:
        for number in source:
            if await ask(number * 100 + images) != ANSWER:
                raise SystemExit("another answer than the stub gave")

    await asyncio.gather(*(worker(iter([number])) for number in range(WARM)))
    started, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker(numbers) for _ in range(in_flight)))
    taken = time.perf_counter() - started, time.process_time() - used
    await close()
    return taken


def _chosen(files: list[bytes], call: int) -> list[bytes]:
    number, images = divmod(call, 100)
    return [files[(number * 5 + i) % DISTINCT] for i in range(images)]


def by_client(url: str, files: list[bytes], in_flight: int) -> Made:
    from pyrite.judges.client.base import Image as Picture
    from pyrite.judges.client.base import Params, Request, Text
    from pyrite.judges.client.endpoint import OpenAICompatible
    from pyrite.judges.client.http import Transport
    from pyrite.judges.client.limits import Limits

    client = OpenAICompatible(Transport(url, Limits(in_flight=in_flight)))

    async def ask(call: int) -> str:
        parts = [Picture("0" * 64, "image/png", partial(bytes, data)) for data in _chosen(files, call)]
        request = Request("stub", PROMPT, (Text(f"Task {call}"), *parts), params=Params(max_tokens=256))
        return (await client.ask(request)).text or ""

    return ask, client.aclose


def by_openai(url: str, files: list[bytes], in_flight: int) -> Made:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)

    async def ask(call: int) -> str:
        content: list[Any] = [{"type": "text", "text": f"Task {call}"}]
        for data in _chosen(files, call):
            uri = f"data:image/png;base64,{base64.b64encode(data).decode()}"
            content.append({"type": "image_url", "image_url": {"url": uri}})
        done = await client.chat.completions.create(
            model="stub",
            messages=[{"role": "system", "content": PROMPT}, {"role": "user", "content": content}],
            temperature=0,
            max_tokens=256,
        )
        return done.choices[0].message.content or ""

    return ask, client.close


def by_inspect(url: str, files: list[bytes], in_flight: int) -> Made:
    from inspect_ai.model import (
        ChatMessageSystem,
        ChatMessageUser,
        ContentImage,
        ContentText,
        GenerateConfig,
        get_model,
    )

    config = GenerateConfig(max_connections=in_flight, temperature=0, max_tokens=256, max_retries=0)
    model = get_model("openai-api/stub/stub", base_url=url, api_key="none", config=config)

    async def ask(call: int) -> str:
        content: list[Any] = [ContentText(text=f"Task {call}")]
        for data in _chosen(files, call):
            uri = f"data:image/png;base64,{base64.b64encode(data).decode()}"
            content.append(ContentImage(image=uri))
        output = await model.generate([ChatMessageSystem(content=PROMPT), ChatMessageUser(content=content)])
        return str(output.completion)

    async def close() -> None:
        """It keeps its connections to itself."""

    return ask, close


ASKED: dict[str, Callable[[str, list[bytes], int], Made]] = {
    "client": by_client,
    "openai": by_openai,
    "inspect": by_inspect,
}
NAMES = {
    "runner": "pyrite judge, all of it",
    "client": "pyrite's client alone",
    "openai": "a loop over the openai SDK",
    "inspect": "inspect_ai generate",
}


def apart(
    way: str, latency_s: float, bench: Path, calls: int, in_flight: int, images: int
) -> dict[str, float]:
    """`measure` in a process of its own, against a stub of its own."""
    with stub(latency_s) as url:
        command = [
            sys.executable,
            "-W",
            "ignore",
            __file__,
            "--way",
            way,
            "--url",
            url,
            "--bench",
            str(bench),
        ]
        sizes = ["--calls", calls, "--in-flight", in_flight, "--images", images]
        done = subprocess.run([*command, *map(str, sizes)], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(root: Path, calls: int, in_flight: int, images: int, long: int) -> None:
    """The table: both latencies, and the memory of many more calls."""
    make_bench(root, max(calls, long), images)
    size = sum(path.stat().st_size for path in (root / "evidence" / "images").iterdir()) / DISTINCT / 1000
    ways = ["runner", "client", *(way for way in ("openai", "inspect") if find_spec(_PACKAGE[way]))]
    print(f"{calls} calls of {images} images of {size:.0f} kB, {in_flight} in flight,")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; CPU of the client alone")
    print(f"{'':30}{'1 s: wall':>11}{'of ideal':>10}{'0 s: calls/s':>14}{'CPU ms a call':>15}{'peak MB':>9}")
    ideal = -(-calls // in_flight) * 1.0
    print(f"{'ideal':30}{ideal:11.1f}{1:10.2f}")
    for way in ways:
        slow = apart(way, 1.0, root, calls, in_flight, images)
        fast = apart(way, 0.0, root, calls, in_flight, images)
        cpu = 1000 * fast["cpu"] / calls
        print(
            f"{NAMES[way]:30}{slow['wall']:11.1f}{slow['wall'] / ideal:10.2f}{calls / fast['wall']:14.0f}"
            f"{cpu:8.1f} {1000 * slow['cpu'] / calls:5.1f}*{fast['peak']:9.0f}",
            flush=True,
        )
    print("* at 1 s")
    if long:
        found = apart("runner", 0.0, root, long, in_flight, images)
        print(f"pyrite judge, {long} calls: {found['peak']:.0f} MB, {long / found['wall']:.0f} calls/s")


_PACKAGE = {"openai": "openai", "inspect": "inspect_ai"}


def memory(root: Path, episodes: int, in_flight: int, images: int) -> None:
    """The most memory of a run over many packages of many images."""
    make_bench(root, episodes, images)
    found = apart("runner", 0.0, root, episodes, in_flight, images)
    print(
        f"{episodes} episodes of {images} images, {in_flight} in flight: {found['peak']:.0f} MB at most, "
        f"{found['wall']:.0f} s, {1000 * found['cpu'] / episodes:.1f} ms CPU a call"
    )


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=640)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--images", type=int, default=4)
    parser.add_argument("--long", type=int, default=6400, help="calls of the run that shows the memory")
    parser.add_argument("--memory", type=int, help="only measure the memory of so many episodes")
    for hidden in ("--stub", "--way", "--url", "--bench"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.stub is not None:
        asyncio.run(serve(float(asked.stub)))
    elif asked.way is not None:
        sizes = (asked.calls, asked.in_flight, asked.images)
        print(json.dumps(measure(asked.way, asked.url, Path(asked.bench), *sizes)))
    else:
        with tempfile.TemporaryDirectory(prefix="pyrite-benchmark-") as folder:
            root = Path(folder).resolve() / "bench"
            if asked.memory:
                memory(root, asked.memory, min(asked.in_flight, 8), asked.images)
            else:
                compare(root, asked.calls, asked.in_flight, asked.images, asked.long)


if __name__ == "__main__":
    main()
