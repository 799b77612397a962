"""What an agent with a shell can find of this machine: nothing that the sandbox was not given.

Canaries are planted wherever something lies that an agent must not read, then a real xterm searches
all that it can read, `/proc` included. Controls that it must find show that the search works.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import pyrite
from pyrite.sandbox.backend import SessionSpec
from pyrite.sandbox.local import LocalBackend, LocalSession
from pyrite.tasks import archive

pytestmark = pytest.mark.desktop

SEARCH = r"""
export LC_ALL=C
pattern='(canary|control)-@-[a-z_]+'
name=control-; export CONTROL=${name}@@-environment
sh -c 'sleep 600; :' ${name}@@-argument & sleep 0.2
options='-r -a -s -o -h -E -D skip'
for folder in /*; do
    [ "$folder" = /proc ] || grep $options --exclude=found.txt "$pattern" "$folder" >>found.txt
done
grep $options --exclude=pagemap "$pattern" /proc >>found.txt
for process in /proc/[0-9]*; do
    for link in "$process"/root "$process"/cwd "$process"/fd/*; do
        [ -d "$link" ] && ls -1a "$link/" | grep -o -E "$pattern" >>found.txt
        [ -f "$link" ] && grep -a -s -o -h -E -D skip "$pattern" "$link" </dev/null >>found.txt
    done
done 2>/dev/null
find / -name '*-@*' 2>/dev/null | grep -o -E "$pattern" >>found.txt
{ ls /home /root /sys /usr/local /var/tmp /opt /mnt /srv; cat /etc/shadow; } >listed.txt 2>&1
cat /proc/net/dev >network.txt; cat /proc/net/unix >sockets.txt
mv found.txt done.txt
"""


def planted(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@contextmanager
def canaries(root: Path, token: str) -> Iterator[set[str]]:
    """Plant one in every place, in the content and in the name; yields their names."""
    places: set[str] = set()

    def canary(place: str) -> str:
        places.add(place)
        return f"canary-{token}-{place}"

    with ExitStack() as stack:
        bench = root / canary("bench_folder")
        planted(bench / "tasks" / "a-task" / "verify.py", f"# {canary('verifier')}\n")
        planted(bench / "tasks" / "a-task" / "states" / "good.sh", f"echo {canary('gold_script')} >note\n")
        planted(root / "gold" / "note", canary("gold_state"))
        archive.write(root / "gold", bench / "tasks" / "a-task" / "states" / "gold.tar.zst")
        planted(bench / "episodes" / "ep_1" / "gt.json", canary("truth"))
        planted(bench / "episodes" / "ep_1" / "actions.jsonl", canary("other_episode"))
        shared = {
            "package": Path(pyrite.__file__).parent,
            "temporary": Path(tempfile.gettempdir()),
            "memory": Path("/dev/shm"),
            "user_home": Path.home(),
        }
        if os.getuid() == 0:
            shared |= {"etc": Path("/etc"), "usr_local": Path("/usr/local/share"), "var": Path("/var/lib")}
        for place, folder in shared.items():
            if folder.is_dir() and os.access(folder, os.W_OK):
                path = folder / f".pyrite-{canary(place)}"
                stack.callback(path.unlink)
                path.write_text(f"canary-{token}-{place}")
        key = {"PYRITE_CANARY": canary("environment"), "OPENAI_API_KEY": canary("api_key")}
        for name, value in key.items():
            os.environ[name] = value
            stack.callback(os.environ.pop, name)
        words = [canary("argument"), "300"]
        process = stack.enter_context(subprocess.Popen(words, executable="/bin/sleep", env=key))
        stack.callback(process.kill)
        yield places


def test_no_canary_is_found_from_inside(
    backend: LocalBackend,
    shell: Callable[..., AbstractContextManager[LocalSession]],
    members: Callable[[Path], dict[str, bytes]],
    tmp_path: Path,
    eventually: Callable[[Callable[[], bool], float], bool],
    record_property: Any,
) -> None:
    token = "t" + secrets.token_hex(6)
    # the script must not find itself: [t]… for the pattern, the rest of the word for what it puts together
    script = SEARCH.replace("@@", f"{token[:4]}''{token[4:]}").replace("@", f"[t]{token[1:]}")
    neighbour = tmp_path / "neighbour"
    planted(neighbour / f"canary-{token}-neighbour", f"canary-{token}-neighbour")
    with canaries(tmp_path, token) as places, backend.start(neighbour, SessionSpec()) as running:
        places.add("neighbour")
        assert (running.home / f"canary-{token}-neighbour").is_file()
        control = {"control.txt": f"control-{token}-file", f"control-{token}-name": ""}
        with shell(script, control) as session:
            assert eventually((session.home / "done.txt").exists, 200)
            found = members(session.finish(tmp_path / "end.tar.zst").archive)
    hits = set(re.findall(rf"((?:canary|control)-{token}-\w+)", found["done.txt"].decode()))
    seen = {hit for hit in hits if hit.startswith("canary")}
    record_property("figure", f"{len(seen)} of {len(places)} canaries were found from inside a session")
    assert seen == set()
    controls = {"file", "name", "environment", "argument"}
    assert hits == {f"control-{token}-{name}" for name in controls}, "the search does not work"
    listed = found["listed.txt"].decode()
    assert re.search(r"/etc/shadow: No such file", listed), listed
    assert "root:" not in listed
    assert re.findall(r"^ *(\w+):", found["network.txt"].decode(), re.M) == ["lo"]
    named = {line.split()[7] for line in found["sockets.txt"].decode().splitlines() if line.count("/")}
    assert named <= {"/run/user/1000/bus", "/tmp/.X11-unix/X7"}, "sockets of this machine"
