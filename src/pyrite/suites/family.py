"""What a family is: tasks that share everything but their parameters, written as code.

    FAMILY = Family(name="calc_set_cell", params={"calc-set-cell-…": Params(…)}, verify=verify, …)

A verifier's process imports the family's module, so that module and this one import at their top
nothing but the standard library and `pyrite.checks`; what builds states is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyrite.checks.verdict import Result


class KnownState(NamedTuple):
    """An end state whose outcome is known, and how to make it."""

    name: str
    make: Callable[[Path], None]
    """Turns a home in its initial state into this state."""
    category: tuple[str, ...] = ()
    """For a bad state: every code that it allows; empty where none fits."""


class Family(NamedTuple):
    """Tasks of one kind; every callable takes the parameters of one task first."""

    name: str
    files: Path
    """Folder of the files that `initial` names."""
    params: Mapping[str, Any]
    """Task id -> parameters."""
    instruction: Callable[[Any], str]
    initial: Callable[[Any], Mapping[str, str]]
    """Path in the home -> file name in `files`."""
    opened: Callable[[Any], tuple[str, tuple[str, ...]]]
    """The application that is open at the start, and its arguments."""
    reads: tuple[str, ...]
    good: Callable[[Any], tuple[KnownState, ...]]
    harmless: Callable[[Any], tuple[KnownState, ...]]
    bad: Callable[[Any], tuple[KnownState, ...]]
    verify: Callable[[Any, Path], Result]
    script: Callable[[Any], list[dict[str, Any]]]
    """What a competent agent does."""
    claim: Callable[[Any], str]
    """What a competent agent says at the end."""
    equivalent: Callable[[Any], Mapping[str, str]] = lambda params: {}
    """Near-misses that `check` makes and that are right after all: name -> reason."""
    act: Callable[[Any], tuple[Mapping[str, Any], ...]] = lambda params: ()
    """Steps that the verifier does on the living desktop before it looks (`pyrite.steps`)."""
    truth_from: str = "final"
    """final or acted: which state decides."""
    compared: Callable[[Any], tuple[str, ...]] = lambda params: ()
    """Names in `files` that the verifier compares with and that no home begins with."""
    tools: tuple[str, ...] = ()
    """Debian packages of the commands that a competent agent uses beside the application that is open."""
    domain: str = ""
    """What kind of work it is: files, office, settings, web, browser, terminal."""
    clock_within_s: float | None = None
    """For tasks that depend on the date: how far the sandbox's clock may be off."""
