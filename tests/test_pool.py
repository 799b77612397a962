"""The folder of a pool's sockets stays as long as its process does, whoever sweeps."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
import os
from pathlib import Path
from pyrite import pool
from pyrite.store import scratch

if __name__ == "__main__":
    assert sorted(pool.run(abs, [-1, -2], jobs=2)) == [(-2, 2), (-1, 1)]
    folder = Path(pool._SOCKETS[0])
    left = folder.with_name(f"pyrite-pool-{os.getpid()}-left")
    left.mkdir()
    scratch._NEW_S = -1.0
    scratch.sweep(folder.parent)
    assert not left.exists(), "the sweep sees folders of this kind"
    assert folder.is_dir()
    assert sorted(pool.run(abs, [-3, -4], jobs=2)) == [(-4, 4), (-3, 3)]
    print(folder)
"""


def test_the_sockets_of_a_living_pool_are_not_swept(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(SCRIPT, encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="sweep") as short:  # a socket's path must be short
        done = subprocess.run(
            [sys.executable, str(tmp_path / "twice.py")],
            env={**os.environ, "TMPDIR": short},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        folder = Path(done.stdout.strip())
        assert folder.parent == Path(short)
        assert not folder.exists(), "it goes with its process"
