"""The judge of docs/how-to/add-a-judge.md is thirty lines, and works as it stands there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Episodes
from tests.judges.client.fault_server import FaultServer

from pyrite.cli import run
from pyrite.cli.experiment import experiment
from pyrite.judges.labels import JUDGES, options_of
from pyrite.records import VerdictLine
from pyrite.store.conditions import canonical
from pyrite.store.jsonl import read_lines
from pyrite.tasks import starter

DOCS = Path(__file__).resolve().parents[2] / "docs"
BASELINES = ("webvoyager", "webjudge", "agentrewardbench", "aer-c", "aer-v", "nnetnav")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.mark.usefixtures("own_cache")
def test_the_judge_in_the_page(
    episodes: Episodes,
    tmp_path: Path,
    server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (DOCS / "how-to" / "add-a-judge.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n# two_looks.py\n(.*?)```", page, re.DOTALL)
    assert code is not None
    assert len([line for line in code[1].splitlines() if line.strip()]) <= 30
    (tmp_path / "two_looks.py").write_text(code[1], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    episodes.add("ep_1", [{"action": "done"}])
    starter.start("a-task", episodes.bench.paths.tasks)
    bench = str(episodes.bench.root)
    command = ["judge", bench, "--judge", "two_looks:TwoLooks", "--model", "m", "--base-url", server.url]
    assert run([*command, "--condition", "E1-final"]) == 0
    path = episodes.bench.paths.verdict_file("two_looks:TwoLooks@model=m", "E1-final")
    line = next(iter(read_lines(path, VerdictLine)))
    assert (line.verdict, line.usage["calls"], line.status) == ("success", 2, "ok")
    assert "The last screen: " in json.loads(server.asked[1].body)["messages"][1]["content"]
    capsys.readouterr()
    assert run(["show", "two_looks:TwoLooks@model=m"]) == 0
    text = capsys.readouterr().out
    assert "2 an episode" in text
    assert "takes    E1-final\n" in text


def test_every_command_of_the_page_on_baselines_exists() -> None:
    text = (DOCS / "how-to" / "baselines.md").read_text(encoding="utf-8")
    commands = re.findall(r"^pyrite (\S+) (.*?)(?:  +#.*)?$", text, re.MULTILINE)
    assert len(commands) >= 12
    for verb, rest in commands:
        for label in re.findall(r"--judge (\S+)", rest):
            for one in re.split(r",(?=[a-z-]+@)", label):
                name, _, options = one.partition("@")
                assert name in {*JUDGES.names(), "a", "b", "c", "cheap", "strong"}, rest
                for option in filter(None, options.split(",")):
                    assert option.partition("=")[0] in options_of(name), rest
        for condition in re.findall(r"--condition (\S+)", rest):
            assert canonical(condition) == condition
        if verb == "experiment":
            known = {option for one in experiment.commands[rest.split()[0]].params for option in one.opts}
            assert set(re.findall(r"--[a-z-]+", rest)) <= known, rest


@pytest.mark.parametrize("name", BASELINES)
def test_both_pages_name_every_baseline_and_its_options(name: str) -> None:
    how_to = (DOCS / "how-to" / "baselines.md").read_text(encoding="utf-8")
    reference = (DOCS / "reference" / "baselines.md").read_text(encoding="utf-8")
    assert f"`{name}`" in how_to
    assert re.search(rf"^## .*\b{name}\b", reference, re.MULTILINE)
    for option in options_of(name):
        assert re.search(rf"[`(\s]{option}\b", how_to), option
