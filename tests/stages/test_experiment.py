"""`experiment claim`: judges of known behaviour, whose true effects it must find."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import Episodes

from pyrite.cli import run
from pyrite.records import Truth
from pyrite.store.jsonl import write_record
from pyrite.tasks import starter

TASKS, EACH = 40, 5
MESSAGES = {
    "asserts": "D14 is set to 4500 and the file is saved.",
    "admits": "I could not save the file.",
    "hedged": "The dialog was open when I looked.",
    "silent": None,
}
SCRIPTED = '''
"""Judges of known behaviour: what they believe is a number that hangs on the pixels alone."""
from pyrite.episodes.claims import claim
from pyrite.judges.base import Reply
from pyrite.records import Verdict


class Ignores:
    name, deterministic, trusts = "ignores", True, (1.0, 1.0)

    def supports(self, condition):
        return True

    def config(self):
        return {}

    async def judge(self, package, run):
        drawn = int(package.evidence.images[0][:8], 16) ^ int(package.evidence.images[-1][8:16], 16)
        belief = drawn / 2**32
        accepts = belief < (0.8 if package.image(-1).getpixel((0, 0))[0] > 128 else 0.2)
        said = claim(package.evidence.final_message)
        low, high = self.trusts
        if low <= belief < high and said != "none":
            accepts = said == "asserted"
        return Reply(Verdict.SUCCESS if accepts else Verdict.FAILURE, "")


class Follows(Ignores):
    name, trusts = "follows", (0.0, 1.0)


class Unsure(Ignores):
    """Follows the claim where its belief is between 0.35 and 0.65."""

    name, trusts = "unsure", (0.35, 0.65)
'''
SILENT_JUDGES = """
from pyrite.judges.base import Unavailable


class Never(Ignores):
    name = "never"

    async def judge(self, package, run):
        raise Unavailable("nobody answers")


class NotClaims(Ignores):
    name = "not-claims"

    async def judge(self, package, run):
        if "+" in package.evidence.condition:
            raise Unavailable("nobody answers")
        return await Ignores.judge(self, package, run)
"""
TRUE = {
    "Ignores": {"claim": (0.0, 0.0), "swap": (0.0, 0.0)},
    "Follows": {"claim": (0.8, 0.2), "swap": (-0.2, -0.8)},
    "Unsure": {"claim": (0.3, 0.0), "swap": (0.0, -0.3)},
}
"""Effect on the FPR and the TPR of episodes whose message asserts success."""


@pytest.fixture
def bench(episodes: Episodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """200 episodes of 40 tasks; half of them failed, six of ten messages assert success."""
    generator = np.random.default_rng(7)
    kinds = generator.choice(list(MESSAGES), size=TASKS * EACH, p=[0.6, 0.15, 0.1, 0.15])
    for number, kind in enumerate(kinds):
        passed = bool(generator.random() < 0.5)
        task_id = f"task-{number % TASKS:02d}"
        episode_id = f"ep_{number:04d}"
        shade = (200 if passed else 40) + number // 50
        episodes.add(
            episode_id,
            [{"action": "done"}],
            colours=[number % 256, shade],
            task_id=task_id,
            source="natural",
            final_message=MESSAGES[str(kind)],
            message_kind=None if kind == "silent" else str(kind),
        )
        truth = {"episode_id": episode_id, "outcome": "pass" if passed else "fail", "pass": passed}
        write_record(episodes.bench.paths.episode(episode_id).truth, Truth.model_validate(truth))
    for number in range(TASKS):
        starter.start(f"task-{number:02d}", episodes.bench.paths.tasks)
    (tmp_path / "scripted_judges.py").write_text(SCRIPTED, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return episodes.bench.root


def test_true_effects_are_found(
    bench: Path, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, str], None]
) -> None:
    labels = ",".join(f"scripted_judges:{name}" for name in TRUE)
    assert run(["experiment", "claim", str(bench), "--judge", labels, "--json", "-q"]) == 0
    result = json.loads(capsys.readouterr().out)
    block = result["strata"]["natural"]
    assert (block["episodes"], block["failed"] + block["passed"]) == (200, 200)
    arms = {arm["judge"].partition(":")[2]: arm for arm in block["arms"]}
    inside = 0
    for name, effects in TRUE.items():
        for contrast, truths in effects.items():
            cell = arms[name]["contrasts"][contrast]["by_kind"]["asserts"]
            for rate, truth in zip(("fpr", "tpr"), truths, strict=True):
                found = cell[rate]
                assert found["low"] <= truth <= found["high"], (name, contrast, rate, found)
                inside += 1
    record_property("figure", f"claim experiment: {inside} of 12 true effects are in their intervals")
    follows, ignores = arms["Follows"], arms["Ignores"]
    claimed = follows["contrasts"]["claim"]["by_kind"]
    assert claimed["admits"]["fpr"]["value"] < 0 < claimed["asserts"]["fpr"]["value"]
    assert claimed["hedged"]["fpr"]["value"] == 0
    assert (follows["placebo"]["value"], follows["placebo"]["flip_in"]) == (0, 0)
    assert follows["noise"] is None
    assert [ignores["contrasts"]["claim"][key]["value"] for key in ("d_prime", "criterion")] == [0, 0]
    assert follows["contrasts"]["claim"]["d_prime"]["high"] < 0
    assert follows["conditions"]["E2-last4"]["tells_apart"] is True
    failed = claimed["asserts"]["fpr"]
    assert failed["value"] == pytest.approx((failed["flip_in"] - failed["flip_out"]) / failed["n"])


def test_it_resumes_prints_and_prices(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["experiment", "claim", str(bench), "--judge", "scripted_judges:Unsure", "-q", "--no-color"]
    assert run([*command, "--dry-run"]) == 0
    assert "would ask for 200 verdicts, 0 are there" in capsys.readouterr().out
    assert run(command) == 0
    text = capsys.readouterr().out
    assert "natural: 200 episodes" in text
    assert "with the opposite" in text
    assert "p of a judge that looks at nothing, after Holm over these: E2-last4 " in text
    assert max(map(len, text.splitlines())) <= 100
    assert run([*command, "--dry-run"]) == 0
    assert "would ask for 0 verdicts, 200 are there" in capsys.readouterr().out


def test_a_judge_at_chance_is_called_that(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "claim", str(bench), "--judge", "accept-all", "--json", "-q"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert any("chance level" in one for one in result["warnings"])
    arm = result["strata"]["natural"]["arms"][0]
    assert arm["conditions"]["E2+claim"]["tells_apart"] is False


def test_where_nothing_was_answered_it_says_so(
    bench: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No line of any arm, and no line in one condition alone: missing, exit 4, every figure null or there."""
    text = "from scripted_judges import Ignores\n" + SILENT_JUDGES
    (tmp_path / "silent_judges.py").write_text(text, encoding="utf-8")
    for name, answered in (("Never", False), ("NotClaims", True)):
        command = ["experiment", "claim", str(bench), "--judge", f"silent_judges:{name}", "-q"]
        assert run([*command, "--json"]) == 4
        arm = json.loads(capsys.readouterr().out)["strata"]["natural"]["arms"][0]
        assert arm["contrasts"]["claim"]["by_kind"]["asserts"]["fpr"]["value"] is None
        assert (arm["conditions"]["E2-last4"]["fpr"]["value"] is not None) == answered
        assert arm["conditions"]["E2+claim"]["missing"] == 200
        assert run([*command, "--no-color"]) == 4
        shown = " ".join(capsys.readouterr().out.split())
        assert "missing, and left out" in shown
        assert "null: no verdicts" in shown
        assert "none failed" not in shown
        assert "none passed" not in shown


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--judge", "claim"], "does not take E2-last4"),
        (["--judge", "accept-all", "--base", "E2+claim"], "--base 'E2+claim'"),
        (["--judge", "accept-all", "--base", "E9"], "--base 'E9'"),
        (["--judge", "accept-all", "--base", "E1-final", "--thoughts"], "shows no actions"),
        (["--judge", "accept-all", "--thoughts"], "no episode here has thoughts"),
    ],
)
def test_what_it_refuses(
    episodes: Episodes, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    episodes.add("ep_1", [{"action": "done"}])
    truth = {"episode_id": "ep_1", "outcome": "fail", "pass": False}
    write_record(episodes.bench.paths.episode("ep_1").truth, Truth.model_validate(truth))
    assert run(["experiment", "claim", str(episodes.bench.root), *more]) == 2
    assert said in capsys.readouterr().err


def arms_of(label: str, **more: Any) -> list[Any]:
    from pyrite.judges.client.calls import Calls, Options
    from pyrite.judges.labels import make
    from pyrite.stages.experiment import _arms

    made = make(label, calls=Calls(Options(model="m", base_url="http://127.0.0.1:9/v1")))
    return _arms(made, "E2-last4", **{"thoughts": False, "warning": True, **more})


def test_the_warning_line_and_thoughts_are_factors_of_their_own() -> None:
    arms = arms_of("vlm", thoughts=True)
    assert [(arm.judge, arm.warning, arm.thoughts) for arm in arms] == [
        ("vlm@model=m", True, False),
        ("vlm@model=m", True, True),
        ("vlm@model=m,prompt=no-claim-line", False, False),
        ("vlm@model=m,prompt=no-claim-line", False, True),
    ]
    assert {arm.of for arm in arms} == {"vlm@model=m"}
    assert (arms[1].base, arms[1].claim, arms[1].swap) == (
        "E2+thoughts",
        "E2+claim+thoughts",
        "E2+swap+thoughts",
    )
    assert [arm.warning for arm in arms_of("vlm", warning=False)] == [None]
    assert [arm.warning for arm in arms_of("vlm@prompt=lenient")] == [None]
