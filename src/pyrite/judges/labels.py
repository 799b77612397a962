"""Judge labels: `name[@key=value,…]` names a judge and its options, and makes it.

screen-rules        accept-all        vlm@model=o4-mini,prompt=lenient        mypackage.judge:Mine
exec:./judge.sh@timeout_s=30          reward-http@url=http://127.0.0.1:9000/score     mypackage.reward:score

A command after `exec:` ends at a comma, so one with commas belongs into a script.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from pyrite.errors import PyriteError, UsageError
from pyrite.judges.base import Judge
from pyrite.judges.client.calls import Calls
from pyrite.judges.function import PARAMETER, FunctionJudge, is_reward
from pyrite.registry import Registry

JUDGES = Registry(
    "judge",
    {
        "accept-all": "pyrite.judges.shortcuts:AcceptAll",
        "reject-all": "pyrite.judges.shortcuts:RejectAll",
        "claim": "pyrite.judges.shortcuts:Claim",
        "steps": "pyrite.judges.shortcuts:Steps",
        "screen-rules": "pyrite.judges.screen_rules:ScreenRules",
        "orm-lite": "pyrite.judges.orm:OrmLite",
        "vlm": "pyrite.judges.vlm:Vlm",
        "webvoyager": "pyrite.judges.baselines.webvoyager:WebVoyager",
        "webjudge": "pyrite.judges.baselines.webjudge:WebJudge",
        "agentrewardbench": "pyrite.judges.baselines.agentrewardbench:AgentRewardBench",
        "aer-c": "pyrite.judges.baselines.aer:AerC",
        "aer-v": "pyrite.judges.baselines.aer:AerV",
        "nnetnav": "pyrite.judges.baselines.nnetnav:NNetNav",
        "universal": "pyrite.judges.universal:Universal",
        "reward-http": "pyrite.judges.reward_http:RewardHttp",
        "reward-hf": "pyrite.judges.reward_hf:RewardHf",
    },
)
EXEC = "exec:"
ARTICLE = "vlm:"
"""vlm:MODEL is how others write vlm@model=MODEL."""
_EXEC_OPTIONS = re.compile(r"@(?=[a-z_]+=)")


@dataclass(frozen=True)
class Labelled:
    """A judge, the label it goes by, and the digest of everything that can change its answers."""

    label: str
    judge: Judge
    settings: dict[str, Any]
    config: str
    anew: bool = False
    """Whether verdicts that stand are asked for again: the judge is told not to use its cache."""
    calls: Calls | None = None
    """What it calls models and servers through; None for a judge that works on this machine alone."""


def make(label: str, *, cache: bool = True, calls: Calls | None = None) -> Labelled:
    """Make the judge of a label; `cache=False` is passed to judges that keep one, `calls` to those that call.

    A model that the command names (`calls.options.model`) becomes an option of the judges that take one.

    Raises `UsageError` for an unknown name, an option that the judge does not have, or an object
    that is no judge.
    """
    name, rest = _parts(label.strip())
    factory, accepted = _factory(name)
    options = _options(name, rest, accepted - {"cache", "calls"})
    extra: dict[str, Any] = {"cache": cache} if "cache" in accepted else {}
    if "calls" in accepted:
        extra["calls"] = calls = calls or Calls()
        if "model" in accepted and calls.options.model:
            options.setdefault("model", calls.options.model)
    try:
        with redirect_stdout(sys.stderr):
            judge = factory(**options, **extra)
    except PyriteError:
        raise
    except (Exception, SystemExit) as exc:  # anybody's code
        raise UsageError(
            f"judge {name!r} cannot be made: {type(exc).__name__}: {exc}",
            expected="a class or function that gives a judge when it is called",
        ) from exc
    missing = [
        part for part in ("name", "deterministic", "supports", "config", "judge") if not hasattr(judge, part)
    ]
    if missing:
        raise UsageError(
            f"{name!r} is not a judge: it has no {', '.join(missing)}",
            expected="an object with name, deterministic, supports(), config() and judge()",
        )
    if not inspect.iscoroutinefunction(judge.judge):
        raise UsageError(
            f"{name!r} is not a judge: its judge() is not a coroutine", expected="async def judge"
        )
    canonical = name if not options else f"{name}@" + ",".join(f"{k}={options[k]}" for k in sorted(options))
    settings = {"judge": name, "options": options, **judge.config()}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()
    anew = not cache and "cache" in accepted
    return Labelled(canonical, cast(Judge, judge), settings, digest[:16], anew, extra.get("calls"))


def options_of(name: str) -> dict[str, str]:
    """The options of a judge that ships, with their defaults ("" where there is none).

    A judge whose defaults hang together tells them itself, by `option_texts()`.
    """
    factory = _factory(name)[0]
    told: dict[str, str] = getattr(factory, "option_texts", dict)()
    parameters = inspect.signature(factory).parameters
    return {
        key: told.get(key, "" if one.default is inspect.Parameter.empty else str(one.default))
        for key, one in parameters.items()
        if key not in {"cache", "calls"}
    }


def _parts(label: str) -> tuple[str, str]:
    """Name and options; what stands after `exec:` may have an @ in it."""
    if label.startswith(EXEC):
        name, *rest = _EXEC_OPTIONS.split(label, maxsplit=1)
        return name.strip(), rest[0] if rest else ""
    name, _, options = label.partition("@")
    if name.startswith(ARTICLE):
        options = ",".join(filter(None, (f"model={name.removeprefix(ARTICLE)}", options)))
        name = name[: len(ARTICLE) - 1]
    return name, options


def _factory(name: str) -> tuple[Callable[..., Any], set[str]]:
    """What makes a judge, and the options that it takes: a program, a function of a package, a class."""
    if name.startswith(EXEC):
        from pyrite.judges.program import Program

        made = partial(Program, name.removeprefix(EXEC))
        return made, set(inspect.signature(made).parameters)
    found = JUDGES.load(name)
    if not callable(found):
        raise UsageError(f"{name!r} is not a judge: it cannot be called", expected="a class or a function")
    accepted = set(inspect.signature(found).parameters)
    if is_reward(found):
        return lambda **options: FunctionJudge(found, name, options), accepted - {PARAMETER}
    return found, accepted


def make_list(labels: str, *, cache: bool = True, calls: Calls | None = None) -> list[Labelled]:
    """Make the judges of a comma-separated list; options keep their commas after an `@`.

    >>> [j.label for j in make_list("accept-all,reject-all,accept-all")]
    ['accept-all', 'reject-all']
    """
    found: dict[str, Labelled] = {}
    for label in split(labels):
        judge = make(label, cache=cache, calls=calls)
        found[judge.label] = judge
    if not found:
        raise UsageError(f"no judge in {labels!r}", expected=", ".join(JUDGES.names()))
    return list(found.values())


def split(labels: str) -> list[str]:
    """Split at commas; `key=value` parts belong to the label with the `@` before them.

    >>> split("screen-rules,vlm@model=m,prompt=lenient")
    ['screen-rules', 'vlm@model=m,prompt=lenient']
    """
    parts: list[str] = []
    for part in (p.strip() for p in labels.split(",")):
        if part and parts and "@" in parts[-1] and "=" in part and "@" not in part:
            parts[-1] += f",{part}"
        elif part:
            parts.append(part)
    return parts


def _options(name: str, text: str, accepted: set[str]) -> dict[str, str]:
    options = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or key not in accepted:
            told = f"unknown option {key[:40]!r}" if equals else "an option that is no key=value"
            raise UsageError(  # what it was given may be a key: it is not repeated
                f"judge {name!r}: {told}",
                expected=", ".join(sorted(accepted)) or "no options for this judge",
            )
        if key in options:
            raise UsageError(f"judge {name!r}: {key} is there twice", expected="each option once")
        options[key] = value
    return options
