"""Any program as an agent: the shell agent of the how-to, and programs that misbehave."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from pyrite.episodes import labels
from pyrite.episodes.command import CommandAgent
from pyrite.errors import RunError, UsageError

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "agents.md"
NODE = """
const lines = require("readline").createInterface({input: process.stdin});
const todo = [{action: "key", keys: "ctrl+End"}, {action: "done", message: "I am done."}];
lines.on("line", line => { JSON.parse(line); console.log(JSON.stringify(todo.shift())); });
"""


def script(folder: Path, text: str) -> str:
    path = folder / "agent.sh"
    path.write_text(text, encoding="utf-8")
    return f"sh '{path}'"


def test_the_shell_agent_of_the_how_to(recorder: Any, tmp_path: Path) -> None:
    found = re.search(r"```sh\n(.*?)```", HOWTO.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    assert found[1].count("\n") <= 22
    made = recorder(CommandAgent(script(tmp_path, found[1])))
    assert [line.action for line in made.lines] == ["key", "type", "key", "done"]
    assert made.meta.ended_by == "done"
    assert made.meta.final_message == "The word is added and the file is saved."
    assert made.meta.agent.name == "command"


def test_an_agent_in_javascript(recorder: Any, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    (tmp_path / "agent.js").write_text(NODE, encoding="utf-8")
    made = recorder(CommandAgent(f"node '{tmp_path}/agent.js'"))
    assert [line.action for line in made.lines] == ["key", "done"]


def test_it_sees_the_screen_as_a_file_and_what_went_wrong(recorder: Any, tmp_path: Path) -> None:
    text = f"""
    read -r line; printf '%s\\n' "$line" > '{tmp_path}/first'
    screen=${{line#*screen\\": \\"}}; cp "${{screen%%\\"*}}" '{tmp_path}/seen.png'
    echo '{{"action": "click", "x": 5000, "y": 1}}'
    read -r line; printf '%s\\n' "$line" > '{tmp_path}/second'
    echo '{{"action": "fail", "message": "no"}}'
    """
    made = recorder(CommandAgent(script(tmp_path, text)))
    assert made.meta.ended_by == "fail"
    assert (tmp_path / "seen.png").read_bytes().startswith(b"\x89PNG")
    assert '"error": null' in (tmp_path / "first").read_text()
    assert "expected 0 to 79" in (tmp_path / "second").read_text()


@pytest.mark.parametrize(
    ("text", "ended_by", "why"),
    [
        ("exit 3", "malformed", "exit code 3"),
        ("read -r line; exit 0", "malformed", "exit code 0"),
        ("exec 1>&-; sleep 60", "malformed", "closed its stdout"),
        ("while read -r line; do echo hello; done", "malformed", "in a row"),
        ("while read -r line; do printf '\\377\\376\\n'; done", "malformed", "in a row"),
        ("head -c 3000000 /dev/zero; sleep 60", "malformed", "bytes"),
        ("sleep 60", "time_limit", "no answer"),
        ('while read -r l; do echo \'{"action": "wait", "seconds": 0}\'; done', "step_limit", None),
    ],
)
def test_a_program_that_misbehaves_ends_its_episode(
    text: str, ended_by: str, why: str | None, recorder: Any, tmp_path: Path
) -> None:
    began = time.monotonic()
    made = recorder(CommandAgent(script(tmp_path, text), timeout="2", steps="5"))
    assert made.meta.ended_by == ended_by
    assert why is None or why in made.meta.stopped
    assert time.monotonic() - began < 20


def test_the_same_answer_forever_is_a_loop(recorder: Any, tmp_path: Path) -> None:
    text = 'while read -r l; do echo \'{"action": "key", "keys": "Tab"}\'; done'
    made = recorder(CommandAgent(script(tmp_path, text)), frozen=True)
    assert made.meta.ended_by == "loop"


def test_what_it_started_is_killed_with_it(recorder: Any, tmp_path: Path) -> None:
    begin = f"sleep 300 & echo $! > '{tmp_path}/pid'; trap '' TERM"
    text = f'{begin}; read -r l; echo \'{{"action": "done"}}\'; sleep 300'
    recorder(CommandAgent(script(tmp_path, text)))
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            break
        time.sleep(0.05)
    else:
        os.kill(pid, 9)
        pytest.fail("its child lives")


def test_a_program_that_is_not_there_stops_the_recording(recorder: Any) -> None:
    with pytest.raises(RunError, match="cannot be started"):
        recorder(CommandAgent("./no-such-program"))


@pytest.mark.parametrize("label", ["command", "command@run=", "command@run='x", "command@run=x,timeout=0"])
def test_an_unusable_label_is_refused(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYRITE_AGENT_COMMAND", raising=False)
    with pytest.raises(UsageError):
        labels.parse_list(label)
