"""Desktops in two containers: the same session as the local one, enclosed by Docker Engine.

What a session needs of its enclosure a container gives on the same kernel: host pids (`docker inspect`), the
home, the screen file and the X socket as bind mounts, and the launcher's standard input. So end state,
facts, watchdog and closing are the local backend's own. Not shared with it: a user namespace (the engine's
default has none) and pyrite's seccomp filter (the engine has its own). NOT RUN YET: no engine was at hand.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyrite.errors import SandboxError, StartError
from pyrite.records import Launch
from pyrite.sandbox import apps, bwrap, confine, container, desktop, held
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.container import Bind, Container, Engine, Order
from pyrite.sandbox.desktop import HOME, Workspace
from pyrite.sandbox.local import LocalBackend

DOCKERFILE = Path(__file__).with_name("Dockerfile")
RUNTIME = "/run"
REQUIRED = ("network", "filesystem", "pid", "ipc")
"""Namespaces without which no episode is recorded; a user namespace is not among them here."""
DISPLAY_BYTES = 2 * desktop.DISPLAY_MEMORY_BYTES
"""Above what the server itself allows its clients, so that they get an error and it goes on."""
DISPLAY_PROCESSES = 32
_SOCKETS = "/tmp/.X11-unix"  # noqa: S108 - inside of the container
_ENGINE = "install Docker Engine (the docker client and its service), or record with --backend local"


def image_name() -> str:
    """The image that is used: PYRITE_DOCKER_IMAGE, else one that is named after the Dockerfile."""
    digest = hashlib.sha256(DOCKERFILE.read_bytes()).hexdigest()[:12]
    return os.environ.get("PYRITE_DOCKER_IMAGE") or f"pyrite-desktop:{digest}"


def build_command() -> str:
    """What a person types to make the image."""
    return f"docker build -t {shlex.quote(image_name())} - < {shlex.quote(str(DOCKERFILE))}"


def require() -> tuple[Engine, str]:
    """An engine that answers and can be used, and the id of the image. Raises `SandboxError`."""
    path = shutil.which("docker")
    if path is None:
        raise SandboxError("docker is not installed", expected="a container engine", next=_ENGINE)
    try:
        info = Engine(path, "").ask("info", "--format", "{{json .}}")
    except SandboxError as exc:
        raise SandboxError(exc.what, expected="a container engine that answers", next=_ENGINE) from exc
    refuse_engine(info)
    engine = Engine(path, str(info.get("ServerVersion") or "unknown"))
    try:
        found = engine.ask("image", "inspect", image_name())
        return engine, str(found[0]["Id"])
    except (SandboxError, LookupError, TypeError) as exc:
        raise SandboxError(
            f"the image {image_name()} is not there", expected="an image of the desktop", next=build_command()
        ) from exc


def refuse_engine(info: Mapping[str, Any]) -> None:
    """Raise `SandboxError` for an engine that maps ids or does not answer: homes would be unreadable."""
    if problems := info.get("ServerErrors"):
        raise SandboxError(f"the engine does not answer: {problems[0]}", next=_ENGINE)
    options = " ".join(map(str, info.get("SecurityOptions") or ()))
    for word in ("rootless", "userns"):
        if f"name={word}" in options:
            raise SandboxError(
                f"the engine runs {word}: ids inside are not those of this machine",
                expected="an engine that keeps ids, so that homes and processes can be read from outside",
                next="--backend local",
            )


class DockerBackend(LocalBackend):
    """Desktops in containers on this machine."""

    name = "docker"

    def __init__(self) -> None:
        super().__init__(Containers(*require()))


class Containers:
    """The enclosure; see `enclosure.Enclosure`."""

    def __init__(self, engine: Engine, image_id: str) -> None:
        self._engine, self._image_id = engine, image_id

    def image(self) -> str:
        return f"docker-{self._image_id.removeprefix('sha256:')[:16]}"

    def seed_key(self) -> str:
        return self.image()

    def command(self, launch: Launch) -> list[str] | str:
        return apps.command(launch, lambda program: True)  # the Dockerfile brings them all

    def display(self, space: Workspace, spec: SessionSpec) -> Container:
        running = Container(self._engine, display_order(self._image_id, space, spec))
        deadline = time.monotonic() + container.START_LIMIT_S
        while not (space.sockets / f"X{desktop.DISPLAY_NUMBER}").exists():
            if running.is_empty() or time.monotonic() > deadline:
                running.close()
                raise StartError("the display did not start", expected="Xvfb to start in a container")
            time.sleep(0.01)
        return running

    def applications(self, space: Workspace, spec: SessionSpec) -> Applications:
        return Applications(self._engine, self._image_id, space, spec)

    def enforced(self, spec: SessionSpec, applications: Applications, display: Container) -> dict[str, Any]:
        """What the kernel shows, and what the engine says that it was told."""
        if display.init_pid is None:
            raise SandboxError("the display's container has ended", next="pyrite doctor")
        holds = held.read(applications.init_pid, image=True)
        for kept in (holds, held.read(display.init_pid, image=True)):
            kept.require(REQUIRED)
        told = [engine_says(one.inspected) for one in (applications.sandbox, display)]
        for said in told:
            refuse_told(said)
        return {
            "backend": "docker",
            "docker": self._engine.version,
            **holds.as_json(),
            "display_apart": held.are_apart(applications.init_pid, display.init_pid),
            "unprivileged_id": _ids()[0],
            **told[0],
            "memory": "engine",
            "memory_limit_bytes": spec.memory_limit_bytes,
            "display_memory_limit_bytes": desktop.DISPLAY_MEMORY_BYTES,
            "home": "watchdog",
            "home_limit_bytes": spec.home_limit_bytes,
            "processes": "engine",
            "processes_limit": told[0]["engine_processes_limit"],
            "time_limit_s": spec.time_limit_s,
        }


def engine_says(inspected: Mapping[str, Any]) -> dict[str, Any]:
    """What `docker inspect` says of a container's isolation; None for what it does not say."""
    config: Mapping[str, Any] = inspected.get("HostConfig") or {}
    return {
        "engine_network": config.get("NetworkMode"),
        "engine_read_only_root": config.get("ReadonlyRootfs"),
        "engine_privileged": config.get("Privileged"),
        "engine_dropped_capabilities": config.get("CapDrop"),
        "engine_memory_limit_bytes": config.get("Memory"),
        "engine_processes_limit": config.get("PidsLimit"),
    }


def refuse_told(said: Mapping[str, Any]) -> None:
    """Raise `SandboxError` where a container does not run as it was asked for."""
    wanted = {"engine_network": "none", "engine_read_only_root": True, "engine_privileged": False}
    for key, value in wanted.items():
        if said[key] != value:
            raise SandboxError(f"{key} is {said[key]!r}", expected=f"{value!r}", next="--backend local")
    if not said["engine_memory_limit_bytes"] or not said["engine_processes_limit"]:
        raise SandboxError("the engine bounds neither memory nor processes here", next="--backend local")


class Applications:
    """The container in which window manager and applications run; see `desktop.Applications`."""

    bounds_memory = True

    def __init__(self, engine: Engine, image: str, space: Workspace, spec: SessionSpec) -> None:
        self._engine = engine
        self._made_of = image, space, spec
        self.sandbox = Container(engine, applications_order(image, space, spec, desktop.START_LAUNCHER))
        assert self.sandbox.init_pid is not None
        assert self.sandbox.process.stdin is not None
        self.init_pid: int = self.sandbox.init_pid
        self._commands = self.sandbox.process.stdin.fileno()
        os.set_blocking(self._commands, False)

    def launch(self, command: list[str]) -> bool:
        return desktop.send(self._commands, command)

    def memory_kills(self) -> int | None:
        return None  # the engine tells of process 1 alone

    def run(self, argv: Sequence[str], limit_s: float) -> confine.Finished:
        """Run a program to its end in a container of its own: the same files, home and display."""
        order = applications_order(*self._made_of, argv)
        process = subprocess.Popen(
            [self._engine.path, *container.arguments(order)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

        def kill() -> None:
            subprocess.run([self._engine.path, "rm", "-f", order.name], capture_output=True, check=False)
            process.kill()

        with process:
            try:
                found = confine.collect(process, limit_s, desktop.OUTPUT_LIMIT, kill)
            finally:
                kill()
            out, err, timed_out, truncated = found
        if process.returncode == container.ENGINE_FAILED and not timed_out:
            said = bwrap.first_line(err) or "no reason given"
            raise SandboxError(f"the container did not start: {said}", next="pyrite doctor")
        return confine.Finished(None if timed_out else process.returncode, out, err, timed_out, truncated)


# --- orders


def display_order(image: str, space: Workspace, spec: SessionSpec) -> Order:
    """The X server; process 1 waits for the end of its input, so that nothing outlives pyrite."""
    server = desktop.server(spec.width, spec.height)
    return Order(
        image,
        _ids(),
        ["/bin/sh", "-c", f"{desktop.DISPLAY_LIMITS}; {server} & exec cat"],
        memory_bytes=DISPLAY_BYTES,
        processes=DISPLAY_PROCESSES,
        file_bytes=spec.home_limit_bytes,
        binds=[Bind(space.frames, "/f", True), Bind(space.sockets, _SOCKETS, True), *_tables(space)],
        environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        hostname="display",
    )


def applications_order(image: str, space: Workspace, spec: SessionSpec, command: Sequence[str]) -> Order:
    """Window manager and applications, or a program beside them: the home, and the display's socket."""
    return Order(
        image,
        _ids(),
        command,
        memory_bytes=spec.memory_limit_bytes,
        processes=desktop.PROCESS_LIMIT,
        file_bytes=spec.home_limit_bytes,
        binds=[
            Bind(space.home, HOME, True),
            Bind(space.sockets, _SOCKETS),
            *_tables(space),
            *_brought(space),
        ],
        environment={**desktop.environment(RUNTIME), **spec.environment},
        workdir=HOME,
    )


def _ids() -> tuple[int, int]:
    """User and group of what runs inside: nobody's where root records, else the caller's."""
    other = desktop.unprivileged_id()
    return (os.getuid(), os.getgid()) if other is None else (other, other)


def _tables(space: Workspace) -> list[Bind]:
    """Tables of names that know the id inside, and no other."""
    user, group = _ids()
    passwd = f"agent:x:{user}:{group}::{HOME}:/bin/sh\n"
    return [
        Bind(_file(space, "passwd", passwd.encode()), "/etc/passwd"),
        Bind(_file(space, "group", f"agent:x:{group}:\n".encode()), "/etc/group"),
    ]


def _brought(space: Workspace) -> list[Bind]:
    return [Bind(_file(space, Path(p).name, data), p) for p, data in apps.brought().items()]


def _file(space: Workspace, name: str, content: bytes) -> Path:
    """A file of this session that containers may read."""
    path = space.root / f"b-{name}"
    if not path.exists():
        path.write_bytes(content)
        path.chmod(0o644)
    return path
