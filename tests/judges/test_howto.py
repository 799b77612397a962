"""The page on judges names what there is: options, prompts, conditions and statuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from pyrite.judges import prompts
from pyrite.judges.labels import JUDGES, options_of
from pyrite.records import Status
from pyrite.store.conditions import canonical

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "judges.md"


def test_the_page_names_every_option_prompt_and_status_of_vlm() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in [*options_of("vlm"), *prompts.names(), *get_args(Status)]:
        assert f"`{name}" in text, name


def test_every_judge_and_condition_in_a_command_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^pyrite (?:judge|rejudge) .*", text, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        for label in re.findall(r"--(?:judge|against) (\S+)", command):
            name = re.split(r"[@:,]", label)[0]
            assert name in {*JUDGES.names(), "exec"} or ":" in label, command
        for conditions in re.findall(r"--condition (\S+)", command):
            assert all(canonical(one) == one for one in conditions.split(",")), command
