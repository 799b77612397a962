"""The seed home: made once, whoever asks first, and never half."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from pyrite.sandbox import image, seed


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))


def test_made_once_for_many(tmp_path: Path) -> None:
    made = []

    def make(bare: Path, into: Path) -> None:
        made.append(sorted(str(p.relative_to(bare)) for p in bare.rglob("*") if p.is_file()))
        time.sleep(0.2)
        seed.take(bare, into)

    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(seed.profile(make))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert set(found) == {tmp_path / "cache" / "seed" / seed.key()}
    registry = found[0] / ".config/libreoffice/4/user/registrymodifications.xcu"
    text = registry.read_text()
    assert "RecoveryInfo" in text
    assert "WarnAlienFormat" not in text
    assert "gtk-cursor-blink=0" in (found[0] / ".config/gtk-3.0/settings.ini").read_text()


def test_failure_leaves_nothing(tmp_path: Path) -> None:
    def broken(bare: Path, into: Path) -> None:
        seed.take(bare, into)
        raise OSError("no display")

    with pytest.raises(OSError, match="no display"):
        seed.profile(broken)
    assert [p.name for p in (tmp_path / "cache" / "seed").iterdir()] == ["lock"]


def test_locks_are_not_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    seed.bare(home)
    (home / ".config/libreoffice/4/.lock").touch()
    (home / ".config/other").mkdir()
    seed.take(home, tmp_path / "into")
    assert not (tmp_path / "into/.config/libreoffice/4/.lock").exists()
    assert not (tmp_path / "into/.config/other").exists()


def test_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seed.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("PYRITE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert seed.cache_folder() == tmp_path / "xdg" / "pyrite"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert seed.cache_folder() == Path.home() / ".cache" / "pyrite"


def test_image_name_is_stable_and_changes_with_a_version() -> None:
    assert image.name() == image.name()
    assert image.digest({"a": "1", "b": "2"}) == image.digest({"b": "2", "a": "1"})
    assert image.digest({"a": "1"}) != image.digest({"a": "2"})
