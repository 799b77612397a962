"""The evaluation phase of a task, apart from its setup: what is done, waited for and fetched."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pyrite.audit import commands
from pyrite.audit.definition import Definition, Getter, Step
from pyrite.audit.hostile import shown


@dataclass(frozen=True)
class Ledger:
    """Counts of one task; every step and getter is in exactly one of them."""

    config: Counter[str]
    postconfig: Counter[str]
    getters: Counter[tuple[str, str]]
    """(role, type) of every getter."""
    silent: int
    """Steps of the evaluation phase whose failure nobody hears of."""
    sleep_s: float
    """Seconds that steps of the evaluation phase wait, those inside commands included."""
    network: tuple[str, ...]
    """What the evaluation phase needs the network for, each as one line."""
    hosts: frozenset[str] = field(default_factory=frozenset)


def ledger_of(task: Definition) -> Ledger:
    """The ledger of a task."""
    needs, hosts = _network(task)
    waits = [step.seconds or 0.0 for step in task.evaluation]
    waits += [commands.sleeps(step.text) for step in task.evaluation if step.seconds is None]
    waits += [getter.sleeps for getter in task.getters]
    return Ledger(
        config=Counter(step.type for step in task.steps if step.phase == "config"),
        postconfig=Counter(step.type for step in task.evaluation),
        getters=Counter((getter.role, getter.type) for getter in task.getters),
        silent=sum(step.silent for step in task.evaluation),
        sleep_s=sum(waits),
        network=tuple(needs),
        hosts=frozenset(hosts),
    )


def _network(task: Definition) -> tuple[list[str], set[str]]:
    needs: list[str] = []
    hosts: set[str] = set()
    for step in task.evaluation:
        why = _step_needs(step)
        if why:
            needs.append(f"{step.at} {why}")
            hosts.update(filter(None, map(host, step.urls)))
    for getter in task.getters:
        why = _getter_needs(getter)
        if why:
            needs.append(f"{getter.at} {why}")
            hosts.update(filter(None, map(host, getter.urls)))
    for name, text in task.scripts:
        if commands.installs(text) or commands.fetches(text):
            needs.append(f"{name} fetches while it verifies")
            hosts.update(filter(None, map(host, commands.urls(text))))
    return needs, hosts


def _step_needs(step: Step) -> str:
    if step.type == "download":
        return f"downloads {len(step.urls)} file{'' if len(step.urls) == 1 else 's'}"
    if commands.installs(step.text):
        return "installs a package"
    return "fetches" if commands.fetches(step.text) else ""


def _getter_needs(getter: Getter) -> str:
    if getter.reach == "published":
        return f"{getter.type} downloads {len(getter.urls)} file{'' if len(getter.urls) == 1 else 's'}"
    if getter.account:
        return f"{getter.type} uses an account"
    return f"{getter.type} reads a website" if getter.live else ""


def host(url: str) -> str:
    """The host of a URL; empty where there is none.

    >>> host("https://example.org:8080/a"), host("http://[")
    ('example.org', '')
    """
    try:
        return shown(urlsplit(url).hostname or "", 100)
    except ValueError:
        return ""
