"""The docker backend as far as it can be tested without an engine: its commands, refusals, package list."""

from __future__ import annotations

import csv
import json
import re
import shutil
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from pyrite.cli import run
from pyrite.episodes.jobs import Job, Recording
from pyrite.episodes.shipped import unpack
from pyrite.errors import SandboxError
from pyrite.sandbox import apps, backends, container, desktop, docker
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.container import Bind, Container, Engine, Order
from pyrite.sandbox.desktop import Workspace
from pyrite.stages import recording
from pyrite.store.bench import Bench
from pyrite.store.jsonl import write_json

ROOT = Path(__file__).resolve().parents[2]
HELD = {
    "NetworkMode": "none",
    "ReadonlyRootfs": True,
    "Privileged": False,
    "CapDrop": ["ALL"],
    "Memory": 1 << 30,
    "PidsLimit": 400,
}


@pytest.fixture
def space() -> Iterator[Workspace]:
    made = Workspace()
    yield made
    made.close()


def value(words: list[str], option: str) -> str:
    (place,) = [index for index, word in enumerate(words) if word == option]
    return words[place + 1]


def values(words: list[str], option: str) -> list[str]:
    return [words[index + 1] for index, word in enumerate(words) if word == option]


# --- the image


def test_the_image_holds_the_packages_of_the_desktop_and_no_others() -> None:
    script = (ROOT / "tools" / "install-desktop.sh").read_text(encoding="utf-8")
    found = re.search(r'^packages="([^"]+)"', script, re.MULTILINE)
    assert found
    pinned = dict(re.findall(r"^    ([a-z0-9.+-]+)=(\S+) \\$", docker.DOCKERFILE.read_text(), re.MULTILINE))
    assert sorted(pinned) == sorted(found[1].split())
    assert all(re.fullmatch(r"(\d+:)?[0-9][A-Za-z0-9.+~-]*", version) for version in pinned.values())
    needed = {package for _, package in apps.programs()} | set(desktop.PROGRAMS.values())
    assert needed <= set(pinned)


def test_a_changed_dockerfile_asks_for_another_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = docker.image_name()
    assert re.fullmatch(r"pyrite-desktop:[0-9a-f]{12}", before)
    assert before in docker.build_command()
    changed = tmp_path / "Dockerfile"
    changed.write_text("FROM scratch\n", encoding="utf-8")
    monkeypatch.setattr(docker, "DOCKERFILE", changed)
    assert docker.image_name() != before
    monkeypatch.setenv("PYRITE_DOCKER_IMAGE", "mine:1")
    assert docker.image_name() == "mine:1"


# --- the commands


def test_containers_get_nothing_that_is_not_named(space: Workspace) -> None:
    spec = SessionSpec(environment={"MINE": "1 2"}, memory_limit_bytes=123 << 20, home_limit_bytes=77 << 20)
    display = container.arguments(docker.display_order("sha256:1", space, spec))
    programs = container.arguments(docker.applications_order("sha256:1", space, spec, ["/bin/x", "--rm"]))
    user = docker._ids()
    for words in (display, programs):
        assert words[0] == "run"
        assert value(words, "--network") == "none"
        assert value(words, "--cap-drop") == "ALL"
        assert value(words, "--security-opt") == "no-new-privileges"
        assert value(words, "--ipc") == value(words, "--cgroupns") == "private"
        assert value(words, "--pull") == "never"
        assert value(words, "--user") == f"{user[0]}:{user[1]}"
        assert user[0] != 0
        assert value(words, "--memory") == value(words, "--memory-swap")
        assert int(value(words, "--pids-limit")) <= desktop.PROCESS_LIMIT
        assert f"fsize={77 << 20}:{77 << 20}" in values(words, "--ulimit")
        assert {"--read-only", "--rm", "--interactive"} <= set(words)
        assert not {"--privileged", "--device", "--cap-add", "--pid", "--userns", "--volume", "-v"} & set(
            words
        )
        assert [at.split(":")[0] for at in values(words, "--tmpfs")] == ["/tmp", "/run"]
        assert "HTTPS_PROXY=" in values(words, "--env")
    assert value(programs, "--memory") == str(123 << 20)
    assert "MINE=1 2" in values(programs, "--env")
    assert programs[-3:] == ["/bin/x", "sha256:1", "--rm"]
    bound = [mount.split(",") for mount in values(programs, "--mount")]
    writable = [mount[2] for mount in bound if "readonly" not in mount]
    assert writable == [f"target={desktop.HOME}"]
    assert {mount[2] for mount in bound} == {
        *(f"target={path}" for path in (desktop.HOME, "/tmp/.X11-unix", "/etc/passwd", "/etc/group")),
        f"target={apps.KONTOR}",
    }
    assert not any(str(space.home) in mount or "/f" in mount for mount in values(display, "--mount")[2:])
    assert "Xvfb" in display[-1]
    assert display[-1].endswith("exec cat")


def test_two_containers_never_share_a_name() -> None:
    names = {Order("i", (1, 1), ["/bin/true"], 1, 1, 1).name for _ in range(50)}
    assert len(names) == 50


@pytest.mark.parametrize("name", ["plain", "with,comma", 'with"quote', "with space"])
def test_a_path_of_any_name_is_one_mount(name: str) -> None:
    order = Order("i", (1, 1), ["/bin/true"], 1, 1, 1, binds=[Bind(Path("/x") / name, "/y")])
    mount = value(container.arguments(order), "--mount")
    (words,) = csv.reader([mount])
    assert words == ["type=bind", f"source=/x/{name}", "target=/y", "readonly"]


class _Asked(socketserver.ThreadingUnixStreamServer):
    """An engine that notes what it is asked to create, and creates nothing."""

    daemon_threads = True
    created: list[dict[str, Any]]


class _Handler(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self._answer(200, {})

    do_GET = do_HEAD

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        assert isinstance(self.server, _Asked)
        if "/containers/create" in self.path:
            self.server.created.append(json.loads(body))
        self._answer(500, {"message": "creates nothing"})

    def _answer(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Api-Version", "1.45")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def address_string(self) -> str:
        return "client"

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.mark.skipif(shutil.which("docker") is None, reason="the docker client is not installed")
def test_the_real_client_asks_an_engine_for_what_is_meant(space: Workspace, tmp_path: Path) -> None:
    """No engine: the client's request is read from a socket of our own."""
    order = docker.applications_order("sha256:1", space, SessionSpec(), desktop.START_LAUNCHER)
    client = shutil.which("docker")
    assert client
    socket = space.root / "engine.sock"
    with _Asked(str(socket), _Handler) as server:
        server.created = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run(
            [client, *container.arguments(order)],
            env={"DOCKER_HOST": f"unix://{socket}", "HOME": str(tmp_path), "DOCKER_CONFIG": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
        server.shutdown()
    assert done.returncode == container.ENGINE_FAILED, done.stderr
    (asked,) = server.created
    host = asked["HostConfig"]
    assert (asked["Entrypoint"], asked["Image"], asked["OpenStdin"]) == (["perl"], "sha256:1", True)
    assert asked["Cmd"] == list(desktop.START_LAUNCHER[1:])
    assert asked["User"] == "{}:{}".format(*docker._ids())
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["CapAdd"] is None
    assert host["Privileged"] is False
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Memory"] == host["MemorySwap"] == SessionSpec().memory_limit_bytes
    assert host["PidsLimit"] == desktop.PROCESS_LIMIT
    assert host["IpcMode"] == host["CgroupnsMode"] == "private"
    assert host["AutoRemove"] is True
    assert set(host["Tmpfs"]) == {"/tmp", "/run"}
    assert {mount["Target"] for mount in host["Mounts"] if not mount.get("ReadOnly")} == {desktop.HOME}
    assert docker.engine_says({"HostConfig": host})["engine_read_only_root"] is True
    docker.refuse_told(docker.engine_says({"HostConfig": host}))


# --- refusals


WHO_ACTS = pytest.mark.parametrize("who", [("--agent", "scripted"), ("--plan", "full")])


@WHO_ACTS
def test_without_docker_recording_is_exit_4_and_says_what_to_type(
    who: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    bench = tmp_path / "bench"
    command = ["record", "desk", "--backend", "docker", *who, "-n", "1", "-o", str(bench)]
    assert run([*command, "--quiet"]) == 4
    said = capsys.readouterr().err
    assert "docker is not installed" in said
    assert "--backend local" in said
    assert "Traceback" not in said
    assert not (bench / "lock.json").exists(), "the bench is not tied to a backend that is not there"
    assert run([*command, "--dry-run", "--quiet"]) == 0, "planning needs no engine"


@WHO_ACTS
def test_a_bench_is_recorded_with_one_backend(
    who: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "episodes").mkdir()
    (tmp_path / "lock.json").write_text('{"schema_version": "1", "backend": "docker"}', encoding="utf-8")
    command = ["record", "desk", *who, "-n", "1", "-o", str(tmp_path), "--quiet"]
    assert run(command) == 2
    assert "recorded with backend docker, now backend is local" in capsys.readouterr().err


@WHO_ACTS
def test_a_bench_of_which_no_backend_is_written_was_recorded_here(
    who: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = unpack(tmp_path / "demo")
    write_json(bench.paths.lock, {key: value for key, value in bench.lock().items() if key != "backend"})
    before = bench.paths.lock.read_bytes()
    command = ["record", "desk", "--backend", "docker", *who, "-n", "1", "-o", str(bench.root), "--quiet"]
    assert run(command) == 2
    assert "recorded with backend local, now backend is docker" in capsys.readouterr().err
    assert bench.paths.lock.read_bytes() == before


def test_a_plan_records_and_perturbs_with_the_backend_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []

    def carry_out(bench: Bench, jobs: Sequence[Job], *_: Any, backend: str, **__: Any) -> Recording:
        used.append(backend)
        return Recording(bench.root, (), len(jobs))

    monkeypatch.setattr(backends, "make", lambda name: None)
    monkeypatch.setattr("pyrite.episodes.jobs.carry_out", carry_out)
    monkeypatch.setattr("pyrite.stages.recording.verify", lambda *_, **__: None)
    monkeypatch.setattr("pyrite.stages.card.write", lambda *_: None)
    bench = unpack(tmp_path / "demo")
    bench.update_lock(backend="docker")
    recording.record_plan("desk", bench.root, backend="docker", limit=2)
    assert used == ["docker", "docker"]
    assert bench.lock()["backend"] == "docker"


def answering(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
    """An engine that answers commands by their first word."""

    def ask(self: Engine, *words: str) -> Any:
        if words[0] not in answers:
            raise SandboxError(f"docker {words[0]}: no such thing")
        return answers[words[0]]

    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/docker")
    monkeypatch.setattr(Engine, "ask", ask)


@pytest.mark.parametrize(
    ("info", "what", "then"),
    [
        (
            {"ServerErrors": ["Cannot connect to the daemon"]},
            "Cannot connect",
            "install Docker Engine",
        ),
        ({"SecurityOptions": ["name=seccomp", "name=rootless"]}, "runs rootless", "--backend local"),
        ({"SecurityOptions": ["name=userns"]}, "runs userns", "--backend local"),
        ({"ServerVersion": "28.0"}, "is not there", "docker build -t pyrite-desktop:"),
        ({"ServerVersion": "28.0", "SecurityOptions": None}, "is not there", "docker build -t"),
    ],
)
def test_an_engine_that_cannot_be_used_is_refused(
    info: dict[str, Any], what: str, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, info=info)
    with pytest.raises(SandboxError) as caught:
        backends.make("docker")
    assert what in caught.value.what
    assert then in caught.value.next
    assert caught.value.exit_code == 4


def test_the_image_names_the_software(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, info={"ServerVersion": "28.0"}, image=[{"Id": "sha256:" + "ab" * 32}])
    engine, image = docker.require()
    assert engine.version == "28.0"
    made = docker.Containers(engine, image)
    assert made.image() == made.seed_key() == "docker-abababababababab"
    assert isinstance(backends.make("docker"), docker.DockerBackend)


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("NetworkMode", "bridge"),
        ("NetworkMode", None),
        ("ReadonlyRootfs", False),
        ("Privileged", True),
        ("Memory", 0),
        ("PidsLimit", None),
    ],
)
def test_a_container_that_runs_otherwise_than_asked_is_refused(key: str, other: object) -> None:
    docker.refuse_told(docker.engine_says({"HostConfig": HELD}))
    with pytest.raises(SandboxError):
        docker.refuse_told(docker.engine_says({"HostConfig": {**HELD, key: other}}))
    with pytest.raises(SandboxError):
        docker.refuse_told(docker.engine_says({}))


def test_a_container_of_another_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text("0::/system.slice/docker-abc123.scope\n", encoding="utf-8")
    container.require_here(7, "abc123", tmp_path)
    for pid, name in ((7, "def"), (8, "abc123"), (7, "")):
        with pytest.raises(SandboxError, match="not processes of this machine"):
            container.require_here(pid, name, tmp_path)


# --- a container's life, with a client that starts plain processes

CLIENT = """
import json, os, subprocess, sys
from pathlib import Path
here, words = Path(__file__).parent, sys.argv[1:]
if words[0] == "run":
    name, entry = words[words.index("--name") + 1], words.index("--entrypoint")
    if "broken" in words[entry + 2]:
        print("docker: no such image", file=sys.stderr); sys.exit(125)
    child = subprocess.Popen([words[entry + 1], *words[entry + 3:]])
    (here / name).write_text(str(child.pid))
    sys.exit(child.wait())
place = here / words[-1]
if not place.exists():
    print("no such container", file=sys.stderr); sys.exit(1)
if words[:2] == ["container", "inspect"]:
    state = {"Running": True, "Pid": int(place.read_text())}
    print(json.dumps([{"Id": "abc", "State": state, "HostConfig": {}}]))
elif words[0] == "kill":
    os.kill(int(place.read_text()), 9)
elif words[0] == "rm":
    place.unlink()
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    script = tmp_path / "client.py"
    script.write_text(CLIENT, encoding="utf-8")
    program = tmp_path / "docker"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(container, "require_here", lambda pid, name: None)
    return Engine(str(program), "0")


def test_a_container_takes_input_and_is_gone_afterwards(engine: Engine, tmp_path: Path) -> None:
    order = Order("i", (1, 1), ["/bin/sh", "-c", f"cat > {tmp_path}/out"], 1, 1, 1)
    with Container(engine, order) as running:
        assert running.init_pid
        assert not running.is_empty()
        assert running.process.stdin
        running.process.stdin.write(b"hello")
        running.process.stdin.close()
        assert running.is_empty(10)
    assert (tmp_path / "out").read_text() == "hello"
    assert not (tmp_path / order.name).exists(), "removed"


def test_a_container_is_killed(engine: Engine) -> None:
    with Container(engine, Order("i", (1, 1), ["/bin/sleep", "60"], 1, 1, 1)) as running:
        assert running.kill()
        assert running.is_empty()
        assert running.kill(), "twice is once"


def test_a_container_that_does_not_start_says_why(engine: Engine) -> None:
    with pytest.raises(SandboxError, match="did not start: docker: no such image"):
        Container(engine, Order("broken", (1, 1), ["/bin/true"], 1, 1, 1))


def test_a_program_beside_the_applications_gives_code_and_output(engine: Engine, space: Workspace) -> None:
    beside = docker.Applications(engine, "i", space, SessionSpec())
    with beside.sandbox:
        done = beside.run(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], 20)
        assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")
        late = beside.run(["/bin/sh", "-c", "exec sleep 30"], 0.5)
        assert late.timed_out
        assert late.returncode is None
        assert beside.launch(["/bin/true"])
    assert not beside.launch(["/bin/true"]), "its process 1 is gone"
