"""What a run will do: the names in a configuration looked up, before anything is done.

A bench holds what was asked (pyrite.yaml) and what that became (lock.json, under `run`). Asking for
something else is refused with the differences, unless forced.
"""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

import yaml

from pyrite.episodes import agents as agent_names
from pyrite.episodes.perturb import KINDS
from pyrite.errors import InputError, UsageError
from pyrite.evidence import conditions
from pyrite.judges import labels as judge_labels
from pyrite.judges import reward_hf
from pyrite.judges.client.calls import Calls
from pyrite.judges.client.http import checked_url
from pyrite.measure.finding import SHORTCUTS
from pyrite.records import VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.config import (
    FIXED,
    Config,
    Judged,
    Prompted,
    Reward,
    Shown,
    defaults,
    differences,
    load_config,
)
from pyrite.store.jsonl import read_json, read_lines, write_bytes
from pyrite.store.paths import BenchPaths
from pyrite.store.yamlfile import dotted
from pyrite.suites.lookup import matching, open_origin

DEFAULT_AGENTS = ("scripted", "hasty", "idle", "quitter")
DEFAULT_CONDITIONS = ("E1-final", "E2-lastk", "E2+claim", "E3-full")
DEFAULT_JUDGES: dict[str, Judged] = {"screen-rules": Judged()}
ARTICLE_CONFIG = Path("config") / "bench.yaml"


@dataclass(frozen=True)
class LeftOut:
    """Something that was asked for and is not done, with the reason."""

    key: str
    where: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """What a run will do, every name in it known."""

    root: Path
    config: Config
    agents: tuple[str, ...]
    """Who acts; empty where nothing is recorded."""
    kinds: tuple[str, ...]
    """Defects to inject; empty where nothing is perturbed."""
    conditions: tuple[str, ...]
    judges: dict[str, int]
    """Label -> repeats; deterministic judges run once all the same."""
    left_out: tuple[LeftOut, ...]

    @property
    def tasks(self) -> tuple[Path, ...]:
        """More folders of folder tasks."""
        return tuple(Path(folder) for folder in self.config.asked.tasks)

    def by_runs(self) -> dict[int, list[str]]:
        """Repeats -> the labels that are asked that often."""
        found: dict[int, list[str]] = {}
        for label, runs in self.judges.items():
            found.setdefault(runs, []).append(label)
        return found


def make(root: Path | None, config: Path | None) -> Plan:
    """Read the configuration of a bench and look up every name in it; writes nothing.

    Without `config` it is the bench's config/bench.yaml, else its pyrite.yaml, else the defaults.
    Raises `UsageError` where there is nothing to work on, `InputError` with file:line for a name that
    is not known.
    """
    found = _load(root, config)
    asked = found.asked
    if root is None and asked.suite is None:
        raise UsageError(
            "nothing to work on: no BENCH is named, and no suite to record",
            where=found.where() if found.file else "",
            expected="a bench directory, or a --config with `suite:`",
            next="pyrite run pyrite-demo",
        )
    wanted, left_out = _judges(found)
    plan = Plan(
        root=root or new_bench(str(asked.suite)),
        config=found,
        agents=_agents(found),
        kinds=_kinds(found),
        conditions=_conditions(found),
        judges=wanted,
        left_out=left_out,
    )
    return _without_answered(plan)


def settle(plan: Plan, *, force: bool = False) -> Bench:
    """Open the bench, or make it where something is to be recorded, and write what was asked.

    Raises `UsageError` with the differences where the bench was asked for with other options.
    """
    changed = changes(plan)
    if changed and not force:
        raise UsageError(
            "this bench was made with other options: " + "; ".join(changed),
            where=str(plan.root),
            expected="the same options, another BENCH, or --force to go on with the new ones",
            next=shlex.join(["pyrite", "run", str(plan.root), "--force", *_config_option(plan)]),
        )
    bench = Bench.create(plan.root) if plan.agents else Bench(plan.root)
    asked = plan.config.asked
    policy = asked.metrics.uncertain_policy
    with bench.exclusive():
        text = plan.config.file.text if plan.config.file else _default_text(plan.config)
        if not bench.paths.config.is_file() or bench.paths.config.read_text(encoding="utf-8") != text:
            write_bytes(bench.paths.config, text.encode())
        bench.update_lock(
            run={"asked": plan.config.flat(resolved=True)},
            evidence=asked.evidence.model_dump(),
            metrics={
                "level": asked.metrics.level,
                "resamples": asked.metrics.bootstrap_resamples,
                "seed": asked.seed,
                **({"uncertain_policy": policy} if policy != "failure" else {}),
                **_weights(plan.config),
                **_threshold(plan.config),
            },
        )
    return bench


def shown_of(bench: Bench) -> Shown:
    """How much of an episode a bench shows: as `run` was asked, else as its own configuration says."""
    asked = bench.lock().get("evidence")
    if not isinstance(asked, dict):
        return _load(bench.root, None).asked.evidence
    known = {key: asked[key] for key in Shown.model_fields if key in asked}
    return Shown.model_validate(known)


def _threshold(config: Config) -> dict[str, float | str]:
    """What the thresholds of score judges must keep, as far as the configuration says it."""
    rm = (config.asked.judges or {}).get("rm")
    if not isinstance(rm, Reward):
        return {}
    said = {"fpr_target": rm.fpr_target, "delta": rm.delta, "sampling": rm.sampling}
    return {name: value for name, value in said.items() if value is not None}


def _weights(config: Config) -> dict[str, dict[str, float]]:
    weights = config.asked.metrics.category_weights
    return {} if weights is None else {"category_weights": weights}


def changes(plan: Plan) -> list[str]:
    """What this plan asks for that the bench was not made with; empty for a new bench."""
    if not plan.root.is_dir():
        return []
    paths = BenchPaths(plan.root)
    found: dict[str, str] = {}
    if paths.config.is_file() and plan.config.file is not None and plan.config.file.path != paths.config:
        before = load_config(paths.config, spare=tuple(FIXED)).flat()
        for text in differences(before, plan.config.flat(), there="pyrite.yaml"):
            found[text.partition(":")[0]] = text
    lock = read_json(paths.lock) if paths.lock.is_file() else {}
    lock = lock if isinstance(lock, dict) else {}
    run = lock.get("run")
    resolved = run.get("asked") if isinstance(run, dict) else None
    if isinstance(resolved, dict):
        for text in differences(resolved, plan.config.flat(resolved=True), there="lock.json"):
            found.setdefault(text.partition(":")[0], text)
    elif plan.agents and isinstance(lock.get("suites"), dict) and lock["suites"]:
        recorded = {"seed": lock.get("seed"), "suite": ", ".join(lock["suites"])}
        now = {"seed": plan.config.asked.seed, "suite": plan.config.asked.suite}
        return differences(recorded, now, there="lock.json")
    return list(found.values())


def _load(root: Path | None, config: Path | None) -> Config:
    spare = tuple(FIXED)
    if config is not None:
        inside = root / config if root is not None else config
        return load_config(config if config.is_file() or not inside.is_file() else inside, spare=spare)
    if root is not None:
        for path in (root / ARTICLE_CONFIG, BenchPaths(root).config):
            if path.is_file():
                return load_config(path, spare=spare)
    return defaults()


def new_bench(suite: str) -> Path:
    """Where a bench goes that nobody named: below PYRITE_HOME, else below runs/ here.

    Raises `UsageError` where there is no such suite.
    """
    open_origin(suite)
    base = Path(os.environ.get("PYRITE_HOME") or "runs")
    return base / f"{datetime.now():%Y-%m-%d_%H%M%S}_{Path(suite).name}"


def _default_text(config: Config) -> str:
    body = config.asked.model_dump(mode="json", exclude_none=True)
    return "# pyrite run: nothing was asked, so these are the defaults\n" + yaml.safe_dump(
        body, sort_keys=False
    )


def _config_option(plan: Plan) -> list[str]:
    file = plan.config.file
    return ["--config", str(file.path)] if file and file.path != BenchPaths(plan.root).config else []


@contextmanager
def _at(config: Config, *key: str | int) -> Iterator[None]:
    """An unknown name is told with the line where it stands."""
    try:
        yield
    except InputError:
        raise
    except UsageError as exc:
        key = tuple(config.label(one) if isinstance(one, str) else one for one in key)
        name = dotted(key)
        raise InputError(
            f"{name}: {exc.what}", where=config.where(*key), expected=exc.expected, next=exc.next
        ) from exc


def _agents(config: Config) -> tuple[str, ...]:
    asked = config.asked
    if asked.suite is None:
        if asked.agents:
            raise InputError(
                f"agents: {', '.join(asked.agents)} are named, and no suite",
                where=config.where("agents"),
                expected="suite: a suite or a folder of tasks to record; or no agents",
            )
        return ()
    with _at(config, "suite"):
        origin = open_origin(asked.suite)
    with _at(config, "only"):
        matching(origin, asked.only)
    with _at(config, "agents"):
        return tuple(agent_names.known(",".join(asked.agents or DEFAULT_AGENTS)))


def _kinds(config: Config) -> tuple[str, ...]:
    wanted = config.asked.perturb
    if wanted == ("all",):
        return tuple(KINDS)
    for at, name in enumerate(wanted):
        if name not in KINDS:
            near = difflib.get_close_matches(name, KINDS, n=1)
            raise InputError(
                f"perturb: unknown defect {name!r}",
                where=config.where("perturb", at),
                expected="all, or of " + ", ".join(KINDS),
                next=f"did you mean {near[0]!r}?" if near else "",
            )
    return wanted


def _conditions(config: Config) -> tuple[str, ...]:
    last_k = config.asked.evidence.last_k
    names = []
    for at, name in enumerate(config.asked.conditions or DEFAULT_CONDITIONS):
        with _at(config, "conditions", at):
            names.append(conditions.parse(name, last_k=last_k).name)
    return tuple(dict.fromkeys(names))


def _judges(config: Config) -> tuple[dict[str, int], tuple[LeftOut, ...]]:
    """The shortcuts, whatever was asked, then the judges that were, and those that cannot be asked here."""
    asked = config.asked
    wanted = dict.fromkeys(SHORTCUTS, asked.runs)
    left_out = []
    for label, options in (DEFAULT_JUDGES if asked.judges is None else asked.judges).items():
        if label in FIXED:
            if isinstance(options, Prompted) and options.base_url:
                with _at(config, "judges", label):  # a key in it must not reach a file of the bench
                    checked_url(options.base_url)
            if (
                isinstance(options, Prompted)
                and options.api_key_env
                and not options.api_key_env.isidentifier()
            ):
                what = "api_key_env is no variable's name"  # perhaps the key itself: it is not repeated
                expected = "the name of an environment variable that holds the key of the endpoint"
                raise InputError(what, where=config.where("judges", label), expected=expected)
            why = _unreachable(options) if isinstance(options, Prompted) else _unloadable(options)
            if why is None:
                named = _prompted(options) if isinstance(options, Prompted) else _reward(options)
                with _at(config, "judges", label):
                    wanted[_known(named)] = options.runs or asked.runs
            else:
                why = f"{why}; verdicts that are there are measured"
                left_out.append(LeftOut(f"judges.{label}", config.where("judges", label), why))
            continue
        with _at(config, "judges", label):
            made = _known(label)
        wanted[made] = options.runs or asked.runs
    return wanted, tuple(left_out)


def _unreachable(options: Prompted) -> str | None:
    """Why the model of judges.vlm cannot be asked: none is named, or there is no key; None where it can."""
    try:
        Calls().endpoint(model=options.model, base_url=options.base_url, api_key_env=options.api_key_env)
    except UsageError as exc:
        return exc.what
    return None


def _prompted(options: Prompted) -> str:
    """The label of judges.vlm."""
    said = {
        "model": options.model,
        "base_url": options.base_url,
        "api_key_env": options.api_key_env,
        "prompt": options.prompt,
        "eyes": options.eyes,
        "temperature": None if options.temperature is None else f"{options.temperature:g}",
        "max_tokens": options.max_tokens,
    }
    return "vlm@" + ",".join(f"{key}={value}" for key, value in said.items() if value is not None)


def _unloadable(options: Judged) -> str | None:
    """Why the reward model of judges.rm cannot be asked; None where it can."""
    if not isinstance(options, Reward) or not options.path:
        return "no path is named"
    if find_spec("transformers") is None or find_spec("torch") is None:
        return f"transformers is not installed: {reward_hf.NEXT}"
    try:
        judge_labels.make(_reward(options))
    except UsageError as exc:
        return f"{options.path}: {exc.what}"
    return None


def _reward(options: Judged) -> str:
    """The label of judges.rm: a model that reads text is given the text of the screens."""
    path = options.path if isinstance(options, Reward) and options.path else ""
    eyes = ",eyes=ocr" if reward_hf.describe(Path(path)).kind == "text" else ""
    return f"reward-hf@path={path}{eyes}"


def _known(label: str) -> str:
    """The canonical form of a label; an unknown one is compared with the judges that have a section too."""
    try:
        return judge_labels.make(label).label
    except UsageError as exc:
        near = difflib.get_close_matches(label, FIXED, n=1)
        if near and not exc.next.startswith("did you mean"):
            exc.next = f"did you mean {near[0]!r}?"
        raise


def _same(label: str, written: str) -> bool:
    """Whether another harness's label means this judge: vlm:MODEL is a vlm of that model."""
    if written.startswith(judge_labels.ARTICLE):
        model = f"model={written.removeprefix(judge_labels.ARTICLE)}"
        name, _, options = label.partition("@")
        return name == "vlm" and model in options.split(",")
    return label == written


def _without_answered(plan: Plan) -> Plan:
    """Leave out the judges of which another harness wrote verdicts into this bench: those are taken."""
    paths = BenchPaths(plan.root)
    foreign: dict[str, Path] = {}
    for path in paths.verdict_files():
        for line in read_lines(path, VerdictLine):
            ours = line.config is not None and path == paths.verdict_file(line.judge, line.condition)
            if not ours:
                foreign = {label: path for label in plan.judges if _same(label, line.judge)} | foreign
    left = {label: runs for label, runs in plan.judges.items() if label not in foreign}
    notes = tuple(
        LeftOut(f"judges.{label}", str(path), "verdicts of another harness are there; they are measured")
        for label, path in foreign.items()
    )
    return Plan(plan.root, plan.config, plan.agents, plan.kinds, plan.conditions, left, plan.left_out + notes)
