"""What software a desktop consists of: the installed packages, and a digest that names them."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from functools import lru_cache


@lru_cache(maxsize=1)
def packages() -> dict[str, str]:
    """Installed Debian packages and their versions; empty where there is no dpkg."""
    form = "${db:Status-Abbrev}\t${Package}:${Architecture}\t${Version}\n"
    try:
        listed = subprocess.run(
            ["dpkg-query", "-W", "-f", form], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = (line.split("\t") for line in listed.stdout.splitlines())
    return {row[1]: row[2] for row in rows if len(row) == 3 and row[0].startswith("ii")}


@lru_cache(maxsize=1)
def name() -> str:
    """Operating system and a digest of all installed packages, such as debian-12-1f3a…, or -unknown."""
    system = platform.freedesktop_os_release() if platform.system() == "Linux" else {}
    label = f"{system.get('ID', platform.system().lower())}-{system.get('VERSION_ID', 'unknown')}"
    installed = packages()
    return f"{label}-{digest(installed)[:16]}" if installed else f"{label}-unknown"


def digest(versions: dict[str, str]) -> str:
    """sha256 of names and versions, sorted."""
    lines = "".join(f"{package} {version}\n" for package, version in sorted(versions.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
