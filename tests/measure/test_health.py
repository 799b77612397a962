"""What to read by hand, what adjudication changes, and figures at a fixed mix."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.measure.conftest import MadeBench

from pyrite.measure.bench import table_from_bench
from pyrite.measure.blocks import Settings
from pyrite.measure.health import adjudicated, health_block
from pyrite.measure.table import FAIL, INDETERMINATE, MISSING, PASS, Table

SETTINGS = Settings(resamples=200)


@pytest.fixture
def table(make_bench: Callable[[], MadeBench]) -> Table:
    """20 unsaved (12 accepted), 20 given up (1 accepted), 20 passes (18 accepted), 2 indeterminate."""
    made = make_bench()
    lines = []
    kinds = [("u", "F-UNCOMMITTED", 12), ("g", "F-ABORT", 1), ("p", None, 18)]
    for start, category, accepted in kinds:
        for at in range(20):
            name = f"{start}{at:02d}"
            outcome = "pass" if category is None else "fail"
            made.episode(name, f"t{at}", outcome, category=category, agent="a" if at % 2 else "b")
            lines.append((name, "success" if at < accepted else "failure"))
    for at in range(2):
        made.episode(f"x{at}", "t0", "indeterminate", cause="state_missing", agent="a")
    made.verdicts("j", "E1-final", lines)
    return table_from_bench(made.bench)


def block(table: Table, **options: Any) -> dict[str, Any]:
    found = health_block(table, np.ones(len(table.episodes), dtype=np.bool_), SETTINGS, **options)
    json.dumps(found, allow_nan=False)
    return found


def judged(table: Table, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = block(table, **options)["judges"]["E1-final"]["j"]
    return found


def test_every_false_positive_is_listed_with_as_many_true_negatives(table: Table) -> None:
    found = judged(table)["to_read"]
    assert found["false_positives"] == ["g00", *(f"u{at:02d}" for at in range(12))]
    assert len(found["true_negatives"]) == 13
    assert {f"u{at:02d}" for at in range(12, 20)} <= set(found["true_negatives"]), "of their category first"
    assert found["open"] == [*found["false_positives"], *found["true_negatives"]]
    assert judged(table)["to_read"] == found


def test_both_versions_of_the_fpr_are_shown(table: Table) -> None:
    people = np.full(len(table.episodes), MISSING, dtype=np.int8)
    row = {name: at for at, name in enumerate(table.episodes.ids)}
    for name in ("u00", "u01", "u15"):
        people[row[name]] = PASS
    people[row["u02"]], people[row["u03"]] = FAIL, INDETERMINATE
    found = judged(table, people=people)
    assert found["fpr"]["value"] == pytest.approx(13 / 40)
    after = found["adjudicated"]
    assert after["fpr"]["value"] == pytest.approx((13 - 3) / (40 - 4))
    assert (after["moved"], after["false_positives_that_passed"]) == (4, 2)
    assert (after["true_negatives_that_passed"], after["became_indeterminate"]) == (1, 1)
    assert {"u00", "u02", "u03"} & set(found["to_read"]["open"]) == set()


def test_what_nobody_said_is_not_adjudicated(table: Table) -> None:
    assert judged(table)["adjudicated"] is None
    silent = np.full(len(table.episodes), MISSING, dtype=np.int8)
    assert adjudicated(table.episodes.truth, silent).tolist() == table.episodes.truth.tolist()


def test_a_fixed_mix_needs_declared_weights(table: Table) -> None:
    assert judged(table)["standardised"] is None
    found = judged(table, weights={"F-UNCOMMITTED": 1, "F-ABORT": 3})["standardised"]
    assert found["value"] == pytest.approx(0.25 * 0.6 + 0.75 * 0.05)
    missing = judged(table, weights={"F-UNCOMMITTED": 1, "F-CLAIM": 1})["standardised"]
    assert (missing["value"], missing["reason"]) == (None, "no_such_failures")


def test_hard_negatives_are_expected_to_be_harder(table: Table) -> None:
    found = judged(table)["by_category"]
    assert found["categories"]["F-UNCOMMITTED"]["expected"] == "hard"
    assert found["categories"]["F-ABORT"]["expected"] == "easy"
    assert (found["as_expected"], found["pairs"]) == (1.0, 1)


def test_each_category_is_held_against_the_failures_of_the_other_kind(table: Table) -> None:
    found = judged(table)["by_category"]["categories"]
    hard, easy = found["F-UNCOMMITTED"]["measured"], found["F-ABORT"]["measured"]
    assert hard["difference"]["value"] == pytest.approx(0.55)
    assert easy["difference"]["value"] == pytest.approx(-0.55)
    assert hard["difference"]["low"] == pytest.approx(-easy["difference"]["high"])
    assert hard["difference"]["low"] > 0
    assert (hard["answer"], easy["answer"]) == ("as expected", "as expected")
    assert (hard["against"], hard["against_n"]) == ("easy", 20)


def test_what_is_not_as_expected_or_not_shown(make_bench: Callable[[], MadeBench]) -> None:
    made = make_bench()
    lines = []
    for start, category, accepted in (
        ("u", "F-UNCOMMITTED", 1),
        ("p", "F-PARTIAL", 14),
        ("g", "F-ABORT", 15),
    ):
        for at in range(20):
            name = f"{start}{at:02d}"
            made.episode(name, f"t{at}", "fail", category=category)
            lines.append((name, "success" if at < accepted else "failure"))
    for at in range(5):
        made.episode(f"c{at}", f"t{at}", "fail", category="F-CLAIM")
        lines.append((f"c{at}", "success"))
    made.verdicts("j", "E1-final", lines)
    found = judged(table_from_bench(made.bench))["by_category"]["categories"]
    answers = {code: one["measured"]["answer"] for code, one in found.items()}
    assert answers["F-UNCOMMITTED"] == "not as expected"
    assert answers["F-PARTIAL"] == "not shown"
    assert answers["F-ABORT"] == "not as expected"
    assert (answers["F-CLAIM"], found["F-CLAIM"]["measured"]["reason"]) == (None, "n < 10, no rate")


def test_without_the_other_kind_nothing_is_compared(make_bench: Callable[[], MadeBench]) -> None:
    made = make_bench()
    for at in range(12):
        made.episode(f"u{at:02d}", f"t{at}", "fail", category="F-UNCOMMITTED")
    made.verdicts("j", "E1-final", [(f"u{at:02d}", "success") for at in range(12)])
    found = judged(table_from_bench(made.bench))["by_category"]
    one = found["categories"]["F-UNCOMMITTED"]["measured"]
    assert (one["answer"], one["difference"]) == (None, None)
    assert one["reason"] == "n < 10 easy failures, no rate"
    assert (found["kinds"]["easy"]["value"], found["kinds"]["easy"]["reason"]) == (None, "no_such_failures")


def test_the_fpr_worked_back_for_a_verifier_that_errs(table: Table) -> None:
    found = judged(table)["if_verifier_rejects"]
    observed, tpr, success = 13 / 40, 18 / 20, 20 / 60 / 0.95
    worked = found["0.05"]
    again = (success * 0.05 * tpr + (1 - success) * worked) / (success * 0.05 + 1 - success)
    assert again == pytest.approx(observed)
    assert worked < found["0.01"] < observed


def test_indeterminate_by_agent_and_what_an_active_step_touched(table: Table) -> None:
    found = block(table)["by_agent"]
    assert (found["a"]["attempted"], found["a"]["indeterminate"]) == (32, 2)
    assert found["b"]["indeterminate_rate"] == 0
    assert found["a"]["fail_exposed"] is None, "not known is not none"
    exposed = np.array([name.startswith("u") for name in table.episodes.ids])
    assert block(table, exposed=exposed)["by_agent"]["a"]["fail_exposed"] == 10
