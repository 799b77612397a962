"""The gate on tables and benches: each line passes, fails or stays open for its own reason."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyrite.errors import InputError, UsageError
from pyrite.measure.gate import gate_bench, gate_table
from pyrite.measure.gate_known import Scan
from pyrite.records import Label, Meta, Truth, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.config import Gate
from pyrite.store.jsonl import append_lines, write_record

SHARED = Path(os.environ.get("PYRITE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
JOINED = SHARED / "data" / "webjudge-on-agentrewardbench" / "joined_test.csv"
STRIP = r"\.(improved|resized)"


def lines_of(result: dict[str, Any], judge: int = 0) -> dict[int, dict[str, Any]]:
    json.dumps(result, allow_nan=False)
    return {one["line"]: one for one in result["judges"][judge]["lines"]}


def answers(result: dict[str, Any], judge: int = 0) -> dict[int, str]:
    return {number: one["answer"] for number, one in lines_of(result, judge).items()}


def part(line: dict[str, Any], start: str) -> dict[str, Any]:
    return next(one for one in line["parts"] if one["name"].startswith(start))


# --- published verdicts


def published(**options: Any) -> dict[str, Any]:
    if not JOINED.is_file():
        pytest.skip(f"no published verdicts at {JOINED}")
    chosen = {"truth": "human_success", "cluster": "task_id", "verdicts": ["webjudge_gpt4o"], **options}
    return gate_table(JOINED, **chosen)


def test_a_published_judge_fails_and_every_line_says_why() -> None:
    found = published()
    assert found["answer"] == "FAIL"
    assert list(lines_of(found)) == list(range(1, 11))
    assert all(one["reason"] for one in lines_of(found).values())
    assert answers(found)[1] == "FAIL"
    assert found["lines_tested"] == 10


def test_bounds_of_three_published_judges() -> None:
    judges = ["webjudge_gpt4o", "webjudge_7B", "webjudge_o4_mini"]
    found = published(verdicts=judges, cluster_strip=STRIP, group=["agent", "benchmark"])
    per_cent = {}
    for at, judge in enumerate(judges):
        lines = lines_of(found, at)
        rates = (part(lines[1], "natural"), lines[2]["parts"][0], part(lines[3], "TPR"))
        per_cent[judge] = [tuple(round(100 * one[end], 1) for end in ("low", "high")) for one in rates]
    assert per_cent["webjudge_gpt4o"] == [(7.4, 11.4), (33.6, 44.2), (64.8, 77.0)]
    assert per_cent["webjudge_7B"] == [(5.2, 8.7), (30.4, 42.7), (50.9, 64.8)]
    assert per_cent["webjudge_o4_mini"] == [(2.7, 5.2), (21.9, 35.0), (41.5, 54.1)]
    weakest = lines_of(found)[2]["parts"][0]
    assert "Llama" in weakest["of"]
    assert round(weakest["success_rate"], 3) == 0.170
    assert [answers(found, at)[1] for at in range(3)] == ["FAIL", "FAIL", "INSUFFICIENT"]
    assert [answers(found, at)[3] for at in range(3)] == ["INSUFFICIENT", "INSUFFICIENT", "FAIL"]
    worst = lines_of(found)[6]["parts"][0]
    assert ("Qwen" in worst["name"], worst["events"], worst["n"]) == (True, 14, 52)
    assert any("3 looks" in text for text in found["warnings"])


def test_twelve_negatives_decide_nothing(tmp_path: Path) -> None:
    if not JOINED.is_file():
        pytest.skip(f"no published verdicts at {JOINED}")
    header, *rows = JOINED.read_text(encoding="utf-8").splitlines()
    failed = [row for row in rows if row.split(",")[3] == "0"][:12]
    passed = [row for row in rows if row.split(",")[3] == "1"]
    path = tmp_path / "cut.csv"
    path.write_text("\n".join([header, *failed, *passed]) + "\n", encoding="utf-8")
    found = gate_table(path, truth="human_success", cluster="task_id", verdicts=["webjudge_gpt4o"])
    assert found["answer"] == "INSUFFICIENT"
    assert "FAIL" not in answers(found).values()


# --- tables


def table(tmp_path: Path, rows: list[tuple[str, str, str, str]], name: str = "v.csv") -> Path:
    path = tmp_path / name
    body = "\n".join(",".join(row) for row in rows)
    path.write_text(f"task,truth,judge,code\n{body}\n", encoding="utf-8")
    return path


def gated(path: Path, **options: Any) -> dict[str, Any]:
    return gate_table(path, truth="truth", cluster="task", verdicts=["judge"], **options)


@pytest.mark.parametrize(
    ("rows", "first", "second", "third"),
    [
        ([("t1", "1", "1", ""), ("t2", "1", "1", "")], "no_negatives", "no_negatives", "no_such_failures"),
        ([("t1", "0", "0", ""), ("t2", "0", "0", "")], None, "no_positives", "no_positives"),
        ([("t1", "0", "0", ""), ("t1", "1", "1", "")], "single_cluster", "single_cluster", None),
        ([("t1", "0", "", ""), ("t2", "1", "", "")], "no_negatives", "no_negatives", "no_positives"),
    ],
)
def test_what_is_not_there_is_insufficient_with_its_reason(
    tmp_path: Path, rows: list[Any], first: str | None, second: str, third: str | None
) -> None:
    found = lines_of(gated(table(tmp_path, rows)))
    assert set(answers(gated(table(tmp_path, rows))).values()) == {"INSUFFICIENT"}
    if first:
        assert part(found[1], "natural")["reason"] == first
    assert found[2]["parts"][0]["reason"] == second
    if third and third != "no_such_failures":
        assert part(found[3], "TPR")["reason"] == third


def test_hard_negatives_are_gated_apart(tmp_path: Path) -> None:
    easy = [(f"e{i}", "0", "0", "F-ABORT") for i in range(400)]
    hard = [(f"h{i}", "0", "1" if i < 8 else "0", "F-UNCOMMITTED") for i in range(30)]
    found = lines_of(gated(table(tmp_path, easy + hard), category="code"))
    assert part(found[1], "natural")["answer"] == "PASS"
    assert part(found[1], "hard")["answer"] == "FAIL"
    assert found[1]["answer"] == "FAIL"
    assert found[6]["answer"] == "FAIL"
    assert found[6]["parts"][0]["name"] == "F-UNCOMMITTED"
    assert found[6]["rated"] == 2
    assert found[6]["lower_bound_level"] == pytest.approx(0.025)


def test_a_small_cell_is_counted_and_keeps_the_line_open(tmp_path: Path) -> None:
    rows = [(f"e{i}", "0", "0", "F-ABORT") for i in range(60)] + [("x", "0", "0", "F-CLAIM")]
    found = lines_of(gated(table(tmp_path, rows), category="code"))[6]
    assert found["answer"] == "INSUFFICIENT"
    small = part(found, "F-CLAIM")
    assert (small["n"], small["low"]) == (1, None)


def test_a_pass_of_the_training_set_needs_to_know_the_agent(tmp_path: Path) -> None:
    rows = [(f"f{i}", "0", "0", "a") for i in range(100)] + [(f"p{i}", "1", "1", "a") for i in range(100)]
    path = table(tmp_path, rows)
    assert answers(gated(path))[2] == "INSUFFICIENT"
    assert answers(gated(path, agent="code"))[2] == "PASS"
    assert answers(gated(path, limits=Gate(success_rate=0.2)))[2] == "PASS"
    low = lines_of(gated(path, limits=Gate(success_rate=0.01)))[2]
    assert low["answer"] == "INSUFFICIENT", "at 1 % success even few false positives are most of it"


def test_one_episode_a_task_is_another_mix(tmp_path: Path) -> None:
    """Half of the tasks cannot be solved: 50 % of what is taken has failed, although pooled it is 9 %."""
    rows = [(f"u{t}", "0", "1", "") for t in range(30)]
    rows += [(f"s{t}", "1", "1", "") for t in range(30) for _ in range(10)]
    found = lines_of(gated(table(tmp_path, rows), limits=Gate(sampling="one-per-task")))[2]
    assert found["answer"] == "FAIL"
    assert found["parts"][0]["value"] == 0.5


def test_unusable_answers_are_a_line_where_the_source_tells(tmp_path: Path) -> None:
    rows = [(f"t{i}", str(i % 2), "uncertain" if i < 40 else "0", "") for i in range(200)]
    found = part(lines_of(gated(table(tmp_path, rows)))[3], "unusable")
    assert (found["value"], found["answer"]) == (0.2, "FAIL")


def test_episodes_without_a_verdict_keep_a_gate_from_passing(tmp_path: Path) -> None:
    rows = [(f"t{i}", str(i % 2), str(i % 2) if i % 6 == 0 else "", "") for i in range(1200)]
    third = lines_of(gated(table(tmp_path, rows)))[3]
    found = part(third, "episodes without")
    assert (found["answer"], found["reason"]) == ("INSUFFICIENT", "1,000 of 1,200 scored episodes")
    assert third["answer"] == "INSUFFICIENT"
    few = [(f"t{i}", str(i % 2), str(i % 2) if i else "", "") for i in range(100)]
    assert part(lines_of(gated(table(tmp_path, few)))[3], "episodes without")["answer"] == "PASS"


def test_looks_share_the_error(tmp_path: Path) -> None:
    path = table(tmp_path, [(f"t{i}", "0", "0", "") for i in range(60)])
    one, five = (lines_of(gated(path, limits=Gate(looks=looks)))[1]["parts"][0] for looks in (1, 5))
    assert round(one["high"], 4) == 0.0487
    assert one["answer"] == "PASS"
    assert five["high"] == pytest.approx(1 - 0.01 ** (1 / 60))
    assert five["answer"] == "INSUFFICIENT"


def test_no_row_unknown_word_and_missing_options_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row"):
        gated(table(tmp_path, []).with_name("v.csv"))
    with pytest.raises(InputError, match="maybe"):
        gated(table(tmp_path, [("t", "0", "maybe", "")]))
    path = table(tmp_path, [("t", "0", "0", "")])
    with pytest.raises(UsageError, match="--truth"):
        gate_table(path, truth=None, cluster="task", verdicts=["judge"])
    with pytest.raises(UsageError, match="--verdicts"):
        gate_table(path, truth="truth", cluster="task", verdicts=[])


def test_the_inputs_are_named_by_their_digest(tmp_path: Path) -> None:
    path = table(tmp_path, [("t", "0", "0", "")])
    first = gated(path)["inputs"]
    assert first == gated(path)["inputs"]
    path.write_text(path.read_text(encoding="utf-8") + "u,0,0,\n", encoding="utf-8")
    assert gated(path)["inputs"] != first


# --- benches

SEEN = ("E2-last4", "E2+claim")


class Lab:
    """A bench of natural episodes, one a task, with two judges that answer twice in two conditions."""

    def __init__(self, root: Path) -> None:
        self.bench = Bench.create(root)
        self.outcomes: dict[str, str] = {}

    def episodes(self, outcome: str, n: int, *, category: str | None = None, source: str = "natural") -> None:
        passed = {"pass": True, "fail": False}.get(outcome)
        for _ in range(n):
            name = f"ep_{len(self.outcomes):04d}"
            self.outcomes[name] = outcome
            paths = self.bench.paths.episode(name)
            meta: dict[str, Any] = {
                "schema_version": "1",
                "episode_id": name,
                "task_id": f"t_{name}",
                "source": source,
            }
            meta |= {"agent": {"name": "a"}, "n_steps": 1, "created_at": "2026-01-01T00:00:00Z"}
            write_record(paths.meta, Meta.model_validate(meta))
            truth: dict[str, Any] = {
                "episode_id": name,
                "outcome": outcome,
                "pass": passed,
                "category": category,
            }
            truth |= {"replay": {"at": "2026-01-01T00:00:00Z", "image": "i", "outcomes": {"good": "pass"}}}
            if outcome == "indeterminate":
                truth["cause"] = "gold_failed"
            write_record(paths.truth, Truth.model_validate(truth))

    def judge(
        self,
        says: Callable[[str, str, int], str],
        *,
        label: str = "mine",
        evidence: str = "e",
        runs: int = 2,
        conditions: tuple[str, ...] = SEEN,
    ) -> None:
        for condition in conditions:
            written = []
            for name in self.outcomes:
                for run in range(1, runs + 1):
                    line: dict[str, Any] = {
                        "episode_id": name,
                        "judge": label,
                        "config": "c",
                        "condition": condition,
                    }
                    line |= {"run": run, "verdict": says(name, condition, run), "model": "m"}
                    line |= {"called_at": "2026-01-02T00:00:00Z", "prompt_sha256": "p"}
                    line |= {"evidence_sha256": f"{evidence}{name}{condition}"}
                    written.append(VerdictLine.model_validate(line))
            append_lines(self.bench.paths.verdict_file(label, condition), written)

    def right(self, name: str, condition: str, run: int) -> str:
        return "success" if self.outcomes[name] == "pass" else "failure"

    def gate(self, **options: Any) -> dict[str, Any]:
        chosen: dict[str, Any] = {"conditions": ["E2-last4"], "scan": lambda: Scan(10, 0), **options}
        return gate_bench(self.bench, **chosen)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    found = Lab(tmp_path_factory.mktemp("lab") / "bench")
    found.episodes("pass", 70)
    found.episodes("fail", 90, category="F-UNCOMMITTED")
    found.bench.update_lock(seed=1, judge_runs={"mine": dict.fromkeys(SEEN, 2)})
    return found


@pytest.fixture
def lab(whole: Lab, tmp_path: Path) -> Lab:
    shutil.copytree(whole.bench.root, tmp_path / "bench")
    found = Lab(tmp_path / "bench")
    found.outcomes = dict(whole.outcomes)
    return found


def test_a_judge_that_is_always_right_passes_all_ten(lab: Lab) -> None:
    lab.judge(lab.right)
    found = lab.gate()
    assert answers(found) == dict.fromkeys(range(1, 11), "PASS")
    assert found["answer"] == "PASS"
    assert found["judges"][0]["passed"] == list(range(1, 11))
    assert found["inputs"]["verdicts"].keys() == {p.name for p in lab.bench.paths.verdict_files()}
    assert all(found["inputs"][name] for name in ("episodes", "truth", "lock"))


def test_a_judge_that_believes_the_claim_fails_line_4(lab: Lab) -> None:
    lab.judge(
        lambda name, condition, run: (
            "success"
            if condition.endswith("claim") and int(name[-2:]) % 4 == 0
            else lab.right(name, condition, run)
        )
    )
    found = lines_of(lab.gate())
    assert found[4]["answer"] == "FAIL"
    contrast = found[4]["parts"][0]
    assert (contrast["flip_out"], contrast["noise_floor"]) == (0, 0.0)
    assert contrast["flip_in"] == contrast["n"] * contrast["value"]
    assert answers(lab.gate())[1] == "PASS", "without the claim it is right"


def _believes(lab: Lab) -> Callable[[str, str, int], str]:
    return lambda name, condition, run: (
        "success"
        if condition.endswith("claim") and int(name[-2:]) % 4 == 0
        else lab.right(name, condition, run)
    )


def test_a_noise_floor_that_was_not_measured_is_not_zero(lab: Lab) -> None:
    lab.bench.update_lock(judge_runs={"mine": dict.fromkeys(SEEN, 1)})
    lab.judge(_believes(lab), runs=1)
    line = lines_of(lab.gate())[4]
    assert line["answer"] == "INSUFFICIENT"
    assert line["reason"] == "beyond the limit, but the noise floor was not measured: one run"
    assert line["parts"][0]["noise_floor"] is None
    assert line["parts"][0]["low"] > line["parts"][0]["limit"] == 0.05
    line = lines_of(lab.gate(deterministic=["mine"]))[4]
    assert (line["answer"], line["parts"][0]["noise_floor"]) == ("FAIL", 0.0), "it cannot differ from itself"


def test_an_effect_within_the_bare_limit_passes_without_a_floor(lab: Lab) -> None:
    lab.bench.update_lock(judge_runs={"mine": dict.fromkeys(SEEN, 1)})
    lab.judge(lab.right, runs=1)
    line = lines_of(lab.gate())[4]
    assert (line["answer"], line["parts"][0]["noise_floor"]) == ("PASS", None)


def test_only_episodes_that_claim_success_count_for_the_claim(lab: Lab) -> None:
    lab.judge(lab.right)
    claims = [name for name, outcome in lab.outcomes.items() if outcome == "fail"][:40]
    lab.judge(
        lambda name, condition, run: "success" if name in claims else "failure",
        label="claim",
        runs=1,
        conditions=("E2+claim",),
    )
    contrast = lines_of(lab.gate())[4]["parts"][0]
    assert contrast["n"] == 40
    assert contrast["among"] == "a claim of success"


def test_a_judge_that_contradicts_itself_fails_line_5(lab: Lab) -> None:
    lab.judge(
        lambda name, condition, run: (
            "success" if (int(name[-2:]) + run) % 2 else lab.right(name, condition, run)
        )
    )
    found = lines_of(lab.gate())[5]
    assert found["answer"] == "FAIL"
    assert found["parts"][0]["any_run_fpr"]["value"] == 1.0


def test_one_run_is_open_unless_the_judge_cannot_differ(lab: Lab) -> None:
    lab.bench.update_lock(judge_runs={"mine": dict.fromkeys(SEEN, 1)})
    lab.judge(lab.right, runs=1)
    assert answers(lab.gate())[5] == "INSUFFICIENT"
    assert answers(lab.gate(deterministic=["mine"]))[5] == "PASS"


def test_false_positives_must_be_read(lab: Lab) -> None:
    wrong = [name for name, outcome in lab.outcomes.items() if outcome == "fail"][:1]
    lab.judge(lambda n, c, r: "success" if n in wrong else lab.right(n, c, r))
    assert part(lines_of(lab.gate())[8], "false positives")["answer"] == "INSUFFICIENT"
    for stage, answer in (("practice", "INSUFFICIENT"), ("adjudication", "PASS")):
        said = {"episode_id": wrong[0], "annotator": "x", "stage": stage, "outcome": "fail"}
        append_lines(lab.bench.paths.labels, [Label.model_validate(said)])
        assert part(lines_of(lab.gate())[8], "false positives")["answer"] == answer


def test_a_verifier_that_rejects_its_good_state_fails_line_8(lab: Lab) -> None:
    lab.episodes("indeterminate", 30)
    lab.judge(lab.right)
    found = lines_of(lab.gate())[8]
    assert part(found, "replay")["faults"] == {"gold_failed": 30}
    assert part(found, "indeterminate")["answer"] == "FAIL"
    assert found["answer"] == "FAIL"


@pytest.mark.parametrize(
    ("scan", "answer"),
    [(None, "INSUFFICIENT"), (Scan(9, 1), "FAIL"), (Scan(9, 0, 1), "FAIL"), (Scan(9, 0), "PASS")],
)
def test_the_leak_scan_decides_line_9(lab: Lab, scan: Scan | None, answer: str) -> None:
    lab.judge(lab.right)
    assert answers(lab.gate(scan=lambda: scan))[9] == answer


def test_judges_must_have_seen_the_same(lab: Lab) -> None:
    lab.judge(lab.right)
    lab.judge(lab.right, label="other", evidence="another")
    found = part(lines_of(lab.gate())[9], "same evidence")
    assert found["answer"] == "FAIL"
    assert found["verdicts"] == 160 * 2


def test_two_prompts_under_one_label_are_two_judges(lab: Lab) -> None:
    line = {"judge": "mine", "condition": "E2-last4", "run": 1, "verdict": "failure", "model": "m"}
    known = {"config": "c", "called_at": "2026-01-01T00:00:00Z", "evidence_sha256": "0" * 64}
    lines = [
        VerdictLine.model_validate({**line, **known, "episode_id": name, "prompt_sha256": f"{at % 2}" * 64})
        for at, name in enumerate(lab.outcomes)
    ]
    append_lines(lab.bench.paths.verdict_file("mine", "E2-last4"), lines)
    found = part(lines_of(lab.gate())[10], "who was asked")
    assert (found["answer"], found["reason"]) == ("FAIL", "answers to 2 prompts under one label")


def test_verdicts_of_another_harness_may_not_say_who_was_asked(lab: Lab) -> None:
    line = {"judge": "mine", "condition": "E2-last4", "run": 1, "verdict": "failure"}
    lines = [VerdictLine.model_validate({**line, "episode_id": name}) for name in lab.outcomes]
    append_lines(lab.bench.paths.verdict_file("mine", "E2-last4"), lines)
    found = lines_of(lab.gate())
    assert found[10]["answer"] == "INSUFFICIENT"
    assert found[10]["parts"][0]["without"] == dict.fromkeys(("config", "called_at", "evidence_sha256"), 160)
    assert part(found[9], "same evidence")["answer"] == "INSUFFICIENT"


def test_other_strata_are_no_headline(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "bench")
    lab.episodes("pass", 70, source="scripted")
    lab.episodes("fail", 60, category="F-UNCOMMITTED", source="perturbed")
    lab.judge(lab.right)
    found = lab.gate()
    lines = lines_of(found)
    assert part(lines[1], "natural")["reason"] == "no_negatives"
    assert part(lines[1], "hard negatives, perturbed")["answer"] == "PASS"
    assert lines[1]["answer"] == lines[2]["answer"] == lines[3]["answer"] == "INSUFFICIENT"
    assert any("no natural episode" in text for text in found["warnings"])


def test_an_unknown_judge_or_condition_is_an_error(lab: Lab) -> None:
    lab.judge(lab.right)
    with pytest.raises(UsageError, match="mime"):
        lab.gate(judges=["mime"])
    with pytest.raises(UsageError, match="E9"):
        lab.gate(conditions=["E9"])


def test_shortcuts_are_not_gated_unless_named(lab: Lab) -> None:
    lab.judge(lambda n, c, r: "success", label="accept-all", runs=1)
    with pytest.raises(UsageError, match="no judge to gate"):
        lab.gate()
    assert lab.gate(judges=["accept-all"])["answer"] == "FAIL"
