"""What `universal` takes for one trajectory: wall, calls, image bytes, prompt characters, memory.

    .venv/bin/python benchmarks/universal.py [--steps 47] [--criteria 6] [--latency 0.2] [--in-flight 64]
    .venv/bin/python benchmarks/universal.py --repeated 0.5
    .venv/bin/python benchmarks/universal.py --steps 300 --criteria 12 --in-flight 8 --latency 0.01

A stub on loopback, a process of its own, answers every call after the latency with what the request's
schema asks for. Each mode is a process of its own; its imports are left out. The screens are distinct
(but for the share that repeats an earlier one), about 130 kB of PNG; an action has about 1,000
characters. The limit is the longest chain of calls that wait for each other, times the latency.

The last row is the released code on the same shape (47 distinct screens, 6 criteria of which 2 have
conditions, 200 ms), measured once; it stands beside that shape alone.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from PIL import Image

CHAIN = 9
"""rubric, dependencies, relevance, evidence, conditions (reality beside), rescoring, side effects, outcome,
failures."""
MODES = ("strict", "economical", "economical,relevance_side=0")
"""The last one scales no picture down."""
RELEASED = {"calls": 84, "image_mb": 9.5, "characters": 2_010_000, "wall_s": 5.6, "rss_mb": 348}
SHAPE = (47, 6, 0.2, 0.0)
"""Steps, criteria, latency in seconds and share of repeated screens of the last row."""
TASK = "Find the parts of the order, check each of them, put them into the cart and tell the price."
SIDE = 190
"""Pixels of a patch of noise that makes a PNG of about 130 kB."""


# --- the stub


def filled(schema: dict[str, Any], name: str, seed: int) -> Any:
    """An instance of a schema."""
    if "anyOf" in schema:
        return filled(schema["anyOf"][-1], name, seed)
    kind = schema.get("type")
    if kind == "null":
        return None
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        items = schema["properties"].items()
        return {key: filled(one, key, seed + 31 * i) for i, (key, one) in enumerate(items)}
    if kind == "array":
        return []
    if kind == "boolean":
        return name == "output_success"
    if kind in ("integer", "number"):
        return random.Random(seed).randrange(11) if name.startswith("criterion_") else 1
    return None if isinstance(kind, list) else f"{name}: what there is to say about it"


def rubric(criteria: int) -> dict[str, Any]:
    quotes = ("Find the parts of the order", "check each of them", "put them into the cart", "tell the price")
    items = []
    for index in range(criteria):
        item = {
            "criterion": f"Part {index}",
            "description": f"Part {index} of the order is found, checked and reported " + "in full " * 20,
            "task_quote": quotes[index % len(quotes)],
            "max_points": 2,
            "justification": "",
            "earned_points": "",
            "condition": f"part {index} is sold" if index >= criteria - 2 else None,
        }
        items.append(item)
    return {"items": items}


def answer(body: dict[str, Any], criteria: int) -> tuple[Any, int, int]:
    """What is said to a request, its characters, and the bytes of its pictures."""
    system: str = body["messages"][0]["content"]
    user: Any = body["messages"][1]["content"]
    parts: list[dict[str, Any]] = [{"type": "text", "text": user}] if isinstance(user, str) else user
    texts = [one["text"] for one in parts if one["type"] == "text"]
    pictures = [one["image_url"]["url"].partition(",")[2] for one in parts if one["type"] == "image_url"]
    size = sum(len(one) * 3 // 4 for one in pictures)
    characters = len(system) + sum(map(len, texts))
    if "response_format" not in body:
        said: Any = {"reasoning": "fine", "needs_reformulation": False, "reformulated_rubric": {}}
    elif "task_quote" in json.dumps(body["response_format"]):
        said = rubric(criteria)
    else:
        schema = body["response_format"]["json_schema"]["schema"]
        seed = int(hashlib.sha256("".join(pictures).encode()).hexdigest()[:8], 16)
        said = filled(schema, "", seed)
    return said, characters, size


async def serve(latency_s: float, criteria: int) -> None:
    stats = {"calls": 0, "characters": 0, "image_bytes": 0, "images": 0, "now": 0, "most": 0}

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                if head.startswith("get"):
                    _send(writer, stats)
                    continue
                length = int(head.partition("content-length: ")[2].partition("\r")[0])
                stats["now"] += 1
                stats["most"] = max(stats["most"], stats["now"])
                due = time.monotonic() + latency_s
                body = await reader.readexactly(length)
                said, characters, size = answer(json.loads(body), criteria)
                stats["calls"] += 1
                stats["characters"] += characters
                stats["image_bytes"] += size
                stats["images"] += size > 0
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                stats["now"] -= 1
                message = {"role": "assistant", "content": json.dumps(said)}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                _send(writer, {"id": "c", "model": "stub", "choices": [choice]})
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0, limit=64 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _send(writer: asyncio.StreamWriter, document: Any) -> None:
    data = json.dumps(document).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)


# --- one mode


def numbers(steps: int, repeated: float) -> list[int]:
    """Which picture each screen shows; a repeat comes after what it repeats."""
    distinct = max(1, round((steps + 1) * (1 - repeated)))
    draw = random.Random(7)
    return sorted([*range(distinct), *draw.choices(range(distinct), k=steps + 1 - distinct)])


def package(folder: Path, steps: int, repeated: float) -> Any:
    from pyrite.judges.base import Package
    from pyrite.records import Evidence, ViewAction
    from pyrite.store.images import pixels_sha256, save_png

    keys: dict[int, str] = {}
    for number in dict.fromkeys(shown := numbers(steps, repeated)):
        picture = Image.new("RGB", (1280, 800), (number % 256, 90, 90))
        noise = random.Random(number).randbytes(3 * SIDE * SIDE)
        picture.paste(Image.frombytes("RGB", (SIDE, SIDE), noise), (40, 40))
        keys[number] = pixels_sha256(picture)
        save_png(picture, folder / f"{keys[number]}.png")
    images = [keys[number] for number in shown]
    first: dict[str, int] = {}
    same = [first.setdefault(key, i) for i, key in enumerate(images)]
    text = "look for the part in the list, then open it and compare what it says; " * 13
    evidence = Evidence(
        package_id="p_1",
        condition="E3-full+claim",
        instruction=TASK,
        actions=tuple(
            ViewAction(step=i, action="type", parameters={"text": f"{i} {text}"}, screen=i)
            for i in range(1, steps + 1)
        ),
        images=tuple(images),
        same_as=tuple(None if i == one else one for i, one in enumerate(same)),
        final_message="All parts are in the cart; they cost 118 dollars.",
    )
    return Package(evidence, lambda digest: folder / f"{digest}.png")


def one(mode: str, url: str, args: argparse.Namespace) -> dict[str, Any]:
    from pyrite.judges.client.calls import Calls, Options
    from pyrite.judges.client.limits import Limits
    from pyrite.judges.labels import make

    with tempfile.TemporaryDirectory() as name:
        shown = package(Path(name), args.steps, args.repeated)
        limits = Limits(in_flight=args.in_flight)
        calls = Calls(Options(model="stub", base_url=url, cache=False, limits=limits))
        judge = make(f"universal@mode={mode},frames=pre-action", cache=False, calls=calls).judge

        async def whole() -> tuple[float, Any]:
            started = time.monotonic()
            reply = await judge.judge(shown, 1)
            wall = time.monotonic() - started
            await calls.aclose()
            return wall, reply

        before = time.process_time()
        wall, reply = asyncio.run(whole())
        cpu = time.process_time() - before
    if reply.verdict != "success":
        raise SystemExit(f"{mode}: {reply.verdict}: {reply.reason}")
    with urllib.request.urlopen(f"{url}/stats") as response:
        stats = json.load(response)
    return {
        "mode": mode,
        "wall_s": round(wall, 3),
        "limit_s": round(CHAIN * args.latency, 3),
        "cpu_s": round(cpu, 3),
        "calls": stats["calls"],
        "images": stats["images"],
        "image_mb": round(stats["image_bytes"] / 1e6, 2),
        "characters": stats["characters"],
        "most_in_flight": stats["most"],
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


# --- all of them


def measured(mode: str, args: argparse.Namespace, rest: list[str]) -> dict[str, Any]:
    here = [sys.executable, __file__, *rest]
    stub = subprocess.Popen([*here, "--stub"], stdout=subprocess.PIPE, text=True)
    try:
        assert stub.stdout is not None
        url = f"http://127.0.0.1:{stub.stdout.readline().strip()}/v1"
        done = subprocess.run(
            [*here, "--one", mode, "--url", url],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
    finally:
        stub.terminate()
        stub.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=47)
    parser.add_argument("--criteria", type=int, default=6)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--repeated", type=float, default=0.0, help="share of screens that repeat another")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stub", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.stub:
        asyncio.run(serve(args.latency, args.criteria))
        return
    if args.one:
        print(json.dumps(one(args.one, args.url, args)))
        return
    found = [measured(mode, args, sys.argv[1:]) for mode in MODES]
    if args.json:
        print(json.dumps({"modes": found, "released": RELEASED}))
        return
    keys = ("calls", "images", "image_mb", "characters", "wall_s", "cpu_s", "most_in_flight", "rss_mb")
    print(f"{args.steps} steps, {args.criteria} criteria, {args.latency * 1000:.0f} ms a call,", end=" ")
    print(f"{args.repeated:.0%} of the screens repeated; limit {found[0]['limit_s']:.2f} s")
    print(f"{'':<30}" + "".join(f"{key:>15}" for key in keys))
    same_shape = (args.steps, args.criteria, args.latency, args.repeated) == SHAPE
    for row in (*found, *([{"mode": "released", **RELEASED}] if same_shape else [])):
        print(f"{row['mode']:<30}" + "".join(f"{row.get(key, '-')!s:>15}" for key in keys))
    for row in found:
        over = row["wall_s"] / row["limit_s"] - 1
        print(f"{row['mode']}: wall {over:+.0%} of the limit")


if __name__ == "__main__":
    main()
