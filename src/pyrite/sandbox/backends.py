"""The backends by name; one is loaded when it is made."""

from __future__ import annotations

from pyrite.registry import Registry
from pyrite.sandbox.backend import Backend

LOCAL = "local"
BACKENDS = Registry(
    "backend",
    {
        LOCAL: "pyrite.sandbox.local:LocalBackend",
        "docker": "pyrite.sandbox.docker:DockerBackend",
    },
)


def make(name: str) -> Backend:
    """A backend that is ready to start desktops.

    Raises `UsageError` for an unknown name, `SandboxError` with what is missing here.
    """
    backend: Backend = BACKENDS.load(name)()
    return backend
