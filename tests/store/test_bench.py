from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pyrite.errors import BusyError, InputError, UsageError
from pyrite.store.bench import Bench
from pyrite.store.paths import slug


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_text("x")])
def test_what_is_no_bench_is_refused_with_a_next_step(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "b")
    with pytest.raises(UsageError) as caught:
        Bench(tmp_path / "b")
    assert caught.value.next == "pyrite demo"


def test_an_episode_without_meta_is_unfinished(tmp_path: Path) -> None:
    bench = Bench.create(tmp_path / "b")
    (bench.paths.episodes / "ep_1" / "screens").mkdir(parents=True)
    assert bench.episode_ids() == []
    with pytest.raises(UsageError, match="1 folders without meta"):
        bench.require_episodes()


def test_a_path_that_leaves_the_episode_is_refused(tmp_path: Path) -> None:
    bench = Bench.create(tmp_path / "b")
    folder = bench.paths.episode("ep_1").root
    folder.mkdir()
    (folder / "link").symlink_to("/etc/hostname")
    for name in ("../ep_2/gt.json", "/etc/hostname", "link"):
        with pytest.raises(InputError, match="leaves the episode"):
            bench.inside("ep_1", name)
    assert bench.inside("ep_1", "screens/000.webp").parent.name == "screens"


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    bench = Bench.create(tmp_path / "b")
    script = "import sys; from pathlib import Path; from pyrite.store.bench import Bench\n"
    script += "with Bench(Path(sys.argv[1])).exclusive(): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(bench.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(BusyError), bench.exclusive():
            pass
        other.stdin.close()
        other.wait()
    with bench.exclusive():
        pass


def test_the_lock_merges_one_level_down(tmp_path: Path) -> None:
    bench = Bench.create(tmp_path / "b")
    bench.update_lock(judges={"a": 1}, seed=0)
    bench.update_lock(judges={"b": 2}, seed=1)
    assert bench.lock() == {"schema_version": "1", "judges": {"a": 1, "b": 2}, "seed": 1}


def test_slugs_do_not_collide_and_stay_in_the_folder() -> None:
    labels = ["E2+claim", "E2-claim", "E2 claim", "../x", "..", "a/b", "a-b", "", "x" * 300, "x" * 301]
    slugs = [slug(label) for label in labels]
    assert len(set(slugs)) == len(labels)
    assert all("/" not in s and s not in {"", ".", ".."} and len(s) < 100 for s in slugs)
