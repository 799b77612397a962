"""`run`: the article's configuration in place, resumed, refused, priced, and killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pyrite import flow
from pyrite.cli import run as pyrite
from pyrite.errors import InputError, RunError, UsageError
from pyrite.pool import Watch
from pyrite.records import VerdictLine
from pyrite.stages.plan import make
from pyrite.store.bench import Bench
from pyrite.store.images import open_image
from pyrite.store.jsonl import read_json, read_lines


def lines(bench: Bench) -> list[VerdictLine]:
    return [line for path in bench.paths.verdict_files() for line in read_lines(path, VerdictLine)]


def keys(bench: Bench) -> list[tuple[str, str, str, int]]:
    return sorted((one.judge, one.condition, one.episode_id, one.run) for one in lines(bench))


NO_HF = find_spec("transformers") is None or find_spec("torch") is None
"""Whether the extra `hf` is not installed."""


@pytest.fixture(autouse=True)
def without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLM_MODEL", raising=False)


def test_the_article_config_runs_as_it_is(verified: Any, capsys: pytest.CaptureFixture[str]) -> None:
    root = verified.root
    assert pyrite(["run", "-c", str(root / "config" / "bench.yaml"), str(root)]) == 0
    said = capsys.readouterr()
    for key, line, why in (
        ("vlm", 7, "no model is named"),
        ("rm", 12, "transformers is not installed" if NO_HF else "no such folder"),
    ):
        assert f"judges.{key} ({root}/config/bench.yaml:{line})" in said.out
        assert why in said.out
    assert "✓ report" in said.err
    bench = Bench(root)
    assert bench.paths.config.read_text(encoding="utf-8") == (root / "config/bench.yaml").read_text("utf-8")
    found = read_json(bench.paths.report_json)
    assert found["level"] == 0.9
    assert found["options"] == {"level": 0.9, "resamples": 500, "seed": 42}
    conditions = found["strata"]["natural"]["conditions"]
    assert set(conditions) == {"E1-final", "E2-last2", "E2-last2+claim", "E3-full"}
    assert set(conditions["E2-last2"]["judges"]) == {"accept-all", "reject-all", "vlm:model-x"}
    assert set(conditions["E1-final"]["judges"]) == {"accept-all", "reject-all", "rm"}
    assert conditions["E3-full"]["judges"]["steps"]["fpr"]["value"] == 1.0


def test_last_k_and_max_image_side_take_effect(verified: Any) -> None:
    flow.run(verified.root)
    bench = Bench(verified.root)
    packages = {
        condition: [json.loads(path.read_text("utf-8")) for path in folder.glob("*/evidence.json")]
        for condition, folder in (
            (name, bench.paths.package(name, "x").parents[1]) for name in ("E2-last2", "E3-full")
        )
    }
    assert {len(one["images"]) for one in packages["E2-last2"]} == {2}
    assert {len(one["images"]) for one in packages["E3-full"]} == {5}
    sizes = {
        condition: {open_image(bench.paths.image(digest)).size for one in found for digest in one["images"]}
        for condition, found in packages.items()
    }
    assert sizes == {"E2-last2": {(96, 72)}, "E3-full": {(64, 48)}}


def test_the_same_command_does_nothing_again(verified: Any) -> None:
    first = flow.run(verified.root)
    assert first.verified is None, "every outcome stood already"
    bench = Bench(verified.root)
    kept = {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}
    again = flow.run(verified.root)
    assert sum(one.new for judging in again.judged for one in judging.asked) == 0
    assert {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()} == kept


def test_what_is_not_verified_any_more_is_verified_again(verified: Any) -> None:
    flow.run(verified.root)
    (verified.root / "episodes" / "rent-row-1" / "gt.json").unlink()
    ran = flow.run(verified.root, workers=1)
    assert ran.verified is not None
    assert (ran.verified.written, ran.verified.untouched) == (1, 5)


def test_other_options_are_refused_with_the_differences_until_forced(
    verified: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    root = verified.root
    flow.run(root)
    other = verified.config((root / "pyrite.yaml").read_text("utf-8").replace("alpha: 0.1", "alpha: 0.2"))
    before = (root / "report.json").read_bytes()
    assert pyrite(["run", str(root)]) == 2
    told = capsys.readouterr().err
    assert "metrics.alpha: 0.1 in pyrite.yaml, 0.2 asked" in told
    assert "--force" in told
    assert (root / "report.json").read_bytes() == before
    assert pyrite(["run", str(root), "--force", "--quiet"]) == 0
    assert read_json(root / "report.json")["level"] == 0.8
    assert (root / "pyrite.yaml").read_text("utf-8") == other.read_text("utf-8")
    assert pyrite(["run", str(root), "--quiet"]) == 0


def test_an_edited_pyrite_yaml_is_compared_with_the_lock(verified: Any) -> None:
    root = verified.root
    shutil.rmtree(root / "config")
    (root / "pyrite.yaml").write_text("metrics: {alpha: 0.1}\n", encoding="utf-8")
    flow.run(root)
    (root / "pyrite.yaml").write_text("metrics: {alpha: 0.2}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"metrics\.alpha: 0\.1 in lock\.json, 0\.2 asked"):
        flow.run(root)


def test_values_of_variables_are_stored_nowhere(verified: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    verified.config("conditions: ${SHOWN}\njudges:\n  vlm:\n    model: ${VLM_MODEL}\nseed: ${SEED:-5}\n")
    monkeypatch.setenv("SHOWN", "E1-final")
    monkeypatch.setenv("VLM_MODEL", "sk-very-secret")
    flow.run(verified.root)
    lock = read_json(verified.root / "lock.json")
    assert lock["run"]["asked"]["seed"].startswith("${SEED:-5} (sha256 ")
    assert lock["metrics"]["seed"] == 5
    for path in verified.root.rglob("*"):
        if path.is_file():
            assert b"sk-very-secret" not in path.read_bytes(), path
    monkeypatch.setenv("SHOWN", "E3-full")
    with pytest.raises(UsageError, match=r"conditions: .* in lock\.json, .* asked"):
        flow.run(verified.root)


def test_an_undefined_variable_of_a_part_that_is_used_is_named(verified: Any) -> None:
    path = verified.config("seed: 1\nruns: ${HOW_OFTEN}\n")
    with pytest.raises(InputError, match="runs: the environment variable HOW_OFTEN is not set") as caught:
        flow.run(verified.root)
    assert caught.value.where == f"{path}:2"


@pytest.mark.parametrize(
    ("text", "line", "message", "next_step"),
    [
        ("seed: 1\njudges: [vml]\n", 2, "unknown judge 'vml'", "vlm"),
        ("judges:\n  screen-rulez: {}\n", 2, "unknown judge 'screen-rulez'", "screen-rules"),
        ("judges:\n  accept-all: {rnus: 2}\n", 2, "unknown key 'judges.accept-all.rnus'", "runs"),
        ("conditions: [E1-final, E7]\n", 1, "unknown condition 'E7'", ""),
        ("perturb: [drop-sav]\n", 1, "unknown defect 'drop-sav'", "drop-save"),
        ("suite: dusk\n", 1, "no suite", ""),
        ("suite: desk\nonly: 'nothing*'\n", 2, "no task matches", ""),
        ("suite: desk\nagents: [scriptd]\n", 2, "unknown agent 'scriptd'", "scripted"),
        ("agents: [idle]\n", 1, "and no suite", ""),
    ],
)
def test_an_unknown_name_is_told_with_its_line(
    verified: Any, text: str, line: int, message: str, next_step: str
) -> None:
    path = verified.config(text)
    for start in (flow.run, flow.price):
        with pytest.raises(InputError) as caught:
            start(verified.root)
        assert message in caught.value.what
        assert caught.value.where == f"{path}:{line}"
        assert next_step in caught.value.next
    assert not (verified.root / "pyrite.yaml").exists()


def test_verdicts_of_another_harness_are_taken_and_not_asked_for_again(verified: Any) -> None:
    path = verified.root / "verdicts" / "baselines.jsonl"
    line = {"judge": "accept-all", "condition": "E1-final", "run": 1, "verdict": "success"}
    path.write_text(
        "".join(json.dumps({"episode_id": one, **line}) + "\n" for one in verified.truth), encoding="utf-8"
    )
    ran = flow.run(verified.root)
    assert [one.key for one in ran.plan.left_out] == ["judges.vlm", "judges.rm", "judges.accept-all"]
    found = ran.result["strata"]["natural"]["conditions"]["E1-final"]["judges"]["accept-all"]
    assert found["fpr"]["value"] == 1.0


def test_dry_run_prices_it_and_writes_nothing(verified: Any, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(verified.root.rglob("*"))
    assert pyrite(["run", str(verified.root), "--dry-run", "--json"]) == 0
    price = json.loads(capsys.readouterr().out)
    assert sorted(verified.root.rglob("*")) == before
    assert (price["record"]["todo"], price["verify"]) == (0, {"todo": 0, "done": 6, "note": ""})
    assert (price["pack"]["todo"], price["pack"]["done"]) == (24, 0)
    assert price["images"] == 6 * (1 + 2 + 2 + 5)
    assert price["judges"]["accept-all"]["todo"] == 24
    assert price["judges"]["steps"]["todo"] == 6
    flow.run(verified.root)
    again = flow.price(verified.root)
    assert (again.pack.todo, again.judge.todo) == (0, 0)
    assert again.pack.done == 24
    assert pyrite(["run", str(verified.root), "--dry-run"]) == 0
    assert "0 verdicts to do, 60 there" in capsys.readouterr().out


def test_a_price_before_anything_is_recorded_guesses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYRITE_HOME", str(tmp_path / "home"))
    config = tmp_path / "c.yaml"
    config.write_text("suite: desk\nagents: [scripted, idle]\nperturb: all\nepisodes_per_task: 2\n", "utf-8")
    price = flow.price(None, config=config)
    assert price.record.todo is not None
    assert price.record.todo % 4 == 0
    assert price.record.todo > 0
    assert price.perturb.todo is None
    assert (price.verify.todo, price.pack.todo, price.judge.todo, price.images) == (None, None, None, None)
    assert price.bench.startswith(str(tmp_path / "home"))
    assert [path.name for path in tmp_path.iterdir()] == ["c.yaml"]


def test_recording_without_a_desktop_is_exit_4_and_what_is_there_needs_none(
    verified: Any, tmp_path: Path
) -> None:
    """In processes of their own that find no program: what is installed is looked up once a process."""
    config = tmp_path / "c.yaml"
    config.write_text("suite: desk\nagents: [scripted]\n", encoding="utf-8")
    bare = {**os.environ, "PATH": str(tmp_path)}
    new = str(tmp_path / "new")
    command = [sys.executable, "-m", "pyrite", "run", "--quiet", "--json"]
    done = subprocess.run([*command, new, "-c", str(config)], env=bare, capture_output=True, check=False)
    assert done.returncode == 4, done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "sandbox"
    assert error["next"]
    assert (tmp_path / "new" / "pyrite.yaml").read_text("utf-8") == config.read_text("utf-8")
    there = subprocess.run([*command, str(verified.root)], env=bare, capture_output=True, check=False)
    assert there.returncode == 0, there.stdout


def test_nothing_to_work_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no BENCH is named"):
        flow.run(None)
    (tmp_path / "c.yaml").write_text("seed: 4\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no BENCH is named"):
        flow.run(None, config=Path("c.yaml"))


def test_config_is_found_in_the_bench_too(verified: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(verified.root.parent)
    ran = flow.run(Path("judge-bench"), config=Path("config/bench.yaml"))
    assert ran.plan.config.asked.seed == 42


def test_a_judge_with_options_of_its_own_is_asked_that_often(verified: Any) -> None:
    verified.config(f"judges: {{'{__name__}:Wavering': {{runs: 3}}}}\nconditions: final\n")
    ran = flow.run(verified.root)
    label = next(one for one in ran.plan.judges if one.endswith("Wavering"))
    assert ran.plan.judges[label] == 3
    assert sum(one.judge == label for one in lines(Bench(verified.root))) == 18


class Wavering:
    """Answers by the number of the run."""

    name = "wavering"
    deterministic = False

    def supports(self, condition: str) -> bool:
        return True

    def config(self) -> dict[str, Any]:
        return {}

    async def judge(self, package: Any, run: int) -> Any:
        from pyrite.judges.base import Reply
        from pyrite.records import Verdict

        return Reply(Verdict.SUCCESS if run % 2 else Verdict.FAILURE)


def test_stages_are_told_in_order(verified: Any) -> None:
    seen: list[str] = []

    def each(name: str, work: Any, /) -> Any:
        class Told:
            total: int | None = None

            def tick(self, text: str = "", *, items: int = 1) -> None:
                seen.append(name)

        watch: Watch = Told()
        seen.append(name)
        return work(watch)

    flow.run(verified.root, each=each)
    assert list(dict.fromkeys(seen)) == ["pack", "judge", "measure", "report"]


def test_a_killed_run_goes_on_where_it_was(judge_bench: Any, verified: Any) -> None:
    """SIGKILL at random moments; the rerun completes, nothing is lost and nothing doubled."""
    flow.run(verified.root)
    whole = keys(Bench(verified.root))
    seed = int(os.environ.get("PYRITE_SEED", "20"))
    chance = random.Random(seed)
    for _ in range(5):
        wait = chance.uniform(0.3, 3.0)
        child = subprocess.Popen(
            [sys.executable, "-m", "pyrite", "run", str(judge_bench.root), "--quiet", "-j", "1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=30)
    flow.run(judge_bench.root, workers=1)
    assert keys(Bench(judge_bench.root)) == whole, f"PYRITE_SEED={seed}"
    reports = [read_json(one.root / "report.json") for one in (verified, judge_bench)]
    assert reports[0]["strata"] == reports[1]["strata"]


def test_a_second_process_is_refused(verified: Any) -> None:
    with Bench(verified.root).exclusive(), pytest.raises(RunError, match="another process"):
        flow.run(verified.root)


def test_a_prompted_judge_of_the_configuration_is_planned_where_it_can_be_asked(
    verified: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "pyrite.yaml"
    vlm = "{model: m-1, temperature: 0.5, prompt: lenient, base_url: 'http://127.0.0.1:9/v1', runs: 2}"
    config.write_text(f"judges:\n  vlm: {vlm}\n", encoding="utf-8")
    plan = make(verified.root, config)
    label = "vlm@base_url=http://127.0.0.1:9/v1,model=m-1,prompt=lenient,temperature=0.5"
    assert plan.judges[label] == 2
    assert not [one for one in plan.left_out if one.key == "judges.vlm"]
    config.write_text("judges:\n  vlm: {model: m-1, prompt: kind}\n", encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-test")
    with pytest.raises(UsageError, match="no prompt 'kind'"):
        make(verified.root, config)
    monkeypatch.delenv("OPENAI_API_KEY")
    (left,) = [one for one in make(verified.root, config).left_out if one.key == "judges.vlm"]
    assert "OPENAI_API_KEY is not set" in left.reason
    config.write_text(f"judges:\n  vlm: {vlm.replace('m-1', 'model-x')}\n", encoding="utf-8")
    (left,) = [one for one in make(verified.root, config).left_out if "vlm" in one.key]
    assert "verdicts of another harness are there" in left.reason
