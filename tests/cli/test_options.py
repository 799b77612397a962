"""Options for several names: between commas or one by one, and nothing gets lost."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from pyrite.cli import VERBS, app
from pyrite.cli.options import Listed, Once


@click.command()
@click.option("--judge", cls=Listed, required=True)
@click.option("--condition", cls=Listed, default="E1-final,E3-full", show_default=True)
@click.option("--only", cls=Listed)
@click.option("--against", cls=Once, default="x")
def _asked(judge: str, condition: str, only: str | None, against: str) -> None:
    click.echo(f"{judge} {condition} {only} {against}")


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--judge", "a,b"], "a,b E1-final,E3-full None x"),
        (["--judge", "a", "--judge", "b"], "a,b E1-final,E3-full None x"),
        (["--judge", "a", "--judge", "b,c", "--condition", "E1-final", "--only", "x"], "a,b,c E1-final x x"),
    ],
)
def test_names_between_commas_or_one_by_one(arguments: list[str], printed: str) -> None:
    assert CliRunner().invoke(_asked, arguments).output.strip() == printed


def test_a_missing_one_is_asked_for() -> None:
    found = CliRunner().invoke(_asked, [])
    assert (found.exit_code, "Missing option '--judge'" in found.output) == (2, True)
    assert "[default: E1-final,E3-full]" in " ".join(CliRunner().invoke(_asked, ["--help"]).output.split())


def test_judges_and_conditions_of_every_verb_can_be_given_one_by_one() -> None:
    context, one_only, listed = click.Context(app), {"rejudge", "diagnose", "export"}, 0
    for verb in (name for group in VERBS.values() for name in group):
        command = app.get_command(context, verb)
        commands = command.commands.values() if isinstance(command, click.Group) else [command]
        for option in (param for one in commands if one is not None for param in one.params):
            if {"--judge", "--condition"} & set(option.opts) and verb not in one_only:
                assert option.multiple, f"{verb} {option.opts}"
                listed += 1
    assert listed >= 8


def test_an_empty_name_and_a_second_value_are_refused() -> None:
    for more, told in ((["--judge", ""], "an empty name"), (["--against", "a", "--against", "b"], "2 times")):
        found = CliRunner().invoke(_asked, ["--judge", "a", *more])
        assert (found.exit_code, told in found.output) == (2, True), found.output
    assert CliRunner().invoke(_asked, ["--judge", "a", "--against", "b"]).output.endswith(" b\n")
