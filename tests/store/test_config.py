"""pyrite.yaml: the article's keys, what is refused and with what words, and hostile files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pyrite.errors import InputError
from pyrite.store.config import Config, Prompted, Reward, defaults, differences, load_config
from pyrite.store.yamlfile import MAX_BYTES, read_yaml

ARTICLE = """\
seed: 42
episodes_per_task: 4
evidence:
  last_k: 4
  max_image_side: 1280
judges:
  vlm:
    model: ${VLM_MODEL}
    temperature: 0.0
    runs: 3
    uncertain_policy: failure
  rm:
    path: models/rm
    runs: 1
    threshold_policy: fpr_target
    fpr_target: 0.05
metrics:
  ci: wilson
  alpha: 0.05
  bootstrap_resamples: 2000
  cluster_by: task_id
"""


@pytest.fixture
def config(tmp_path: Path) -> Any:
    def load(text: str | bytes, **environment: str) -> Config:
        path = tmp_path / "bench.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_config(path, environment=environment, spare=("vlm", "rm"))

    return load


def test_the_article_file_is_read_with_every_key(config: Any) -> None:
    asked = config(ARTICLE, VLM_MODEL="model-x").asked
    assert (asked.seed, asked.episodes_per_task) == (42, 4)
    assert (asked.evidence.last_k, asked.evidence.max_image_side) == (4, 1280)
    assert asked.judges["vlm"] == Prompted(model="model-x", temperature=0.0, runs=3)
    assert asked.judges["rm"] == Reward(path="models/rm", runs=1, fpr_target=0.05)
    assert asked.metrics.level == 0.95
    assert asked.metrics.bootstrap_resamples == 2000


def test_a_variable_that_is_not_set_matters_only_where_it_is_used(config: Any) -> None:
    found = config(ARTICLE)
    assert found.unset == {("judges", "vlm", "model"): "VLM_MODEL"}
    assert found.asked.judges["vlm"].model is None
    with pytest.raises(InputError, match="seed: the environment variable SEED is not set") as caught:
        config(ARTICLE.replace("42", "${SEED}"))
    assert caught.value.where.endswith("bench.yaml:1")
    assert caught.value.next == "export SEED=…"


@pytest.mark.parametrize(
    ("text", "environment", "runs"),
    [
        ("runs: ${N}", {"N": "3"}, 3),
        ("runs: ${N:-4}", {}, 4),
        ("runs: ${N:-4}", {"N": ""}, 4),
        ("runs: ${A}${B}", {"A": "1", "B": "2"}, 12),
    ],
)
def test_a_variable_takes_the_type_of_what_it_holds(
    config: Any, text: str, environment: dict[str, str], runs: int
) -> None:
    assert config(text, **environment).asked.runs == runs


def test_a_variable_cannot_add_keys_or_show_what_it_holds(config: Any) -> None:
    with pytest.raises(InputError) as caught:
        config("seed: 1\nruns: ${N}", N="3\nsuite: desk")
    assert "${N}" in str(caught.value)
    assert "desk" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        config("metrics: {ci: '${TOKEN}'}", TOKEN="sk-secret")
    assert "sk-secret" not in str(caught.value) + str(caught.value.as_json())


@pytest.mark.parametrize(
    ("text", "line", "what", "expected", "next_step"),
    [
        ("seed: 1\nseeds: 3", 2, "unknown key 'seeds'", "episodes_per_task", "did you mean 'seed'?"),
        ("metrics:\n  ci: wilson\n  alfa: 1", 3, "unknown key 'metrics.alfa'", "alpha", "metrics.alpha"),
        ("judges:\n  vlm:\n    modle: x", 3, "unknown key 'judges.vlm.modle'", "model", "judges.vlm.model"),
        ("zzz: 1", 1, "unknown key 'zzz'", "suite", ""),
        ("seed: many", 1, "seed: 'many' cannot be used", "integer", ""),
        ("seed: true", 1, "seed: True", "integer", ""),
        ("seed: -1", 1, "seed: -1", "greater than or equal to 0", ""),
        ("seed: '3'", 1, "seed: '3'", "integer", ""),
        ("metrics:\n  alpha: 5e-2", 2, "metrics.alpha: '5e-2'", "number", ""),
        ("metrics:\n  alpha: .nan", 2, "metrics.alpha", "number", ""),
        ("metrics: {alpha: 1}", 1, "metrics.alpha: 1", "less than 1", ""),
        ("metrics: {ci: wald}", 1, "metrics.ci: 'wald'", "'wilson'", ""),
        ("metrics: {cluster_by: row}", 1, "metrics.cluster_by: 'row'", "'task_id'", ""),
        ("judges: {vlm: {uncertain_policy: drop}}", 1, "uncertain_policy: 'drop'", "'failure'", ""),
        ("judges: {rm: {delta: 0}}", 1, "judges.rm.delta: 0", "greater than 0", ""),
        ("judges: {rm: {sampling: some}}", 1, "judges.rm.sampling: 'some'", "one_per_task", ""),
        ("judges: {rm: {fpr_target: 5}}", 1, "judges.rm.fpr_target: 5", "less than 1", ""),
        ("judges: 3", 1, "judges: 3", "list of labels", ""),
        ("judges: {vlm: 3}", 1, "judges.vlm: 3", "options: ", ""),
        ("evidence: 3", 1, "evidence: 3", "", ""),
        ("evidence: {last_k: 0}", 1, "evidence.last_k: 0", "greater than or equal to 1", ""),
        ("agents: [a, 3]", 1, "agents: ['a', 3]", "a list of names", ""),
        ("seed: 1\nseed: 2", 2, "seed is there twice", "once", ""),
        ("- seed", 1, "the file holds a list", "suite", ""),
        ("a: b: c", 1, "not YAML", "YAML", ""),
        ("seed: [1", 1, "not YAML", "YAML", ""),
        ("seed: 2026-01-01", 1, "seed: a value of kind 'timestamp'", "number", ""),
        ("x: !!python/object/apply:os.system ['true']", 1, "unknown key", "", ""),
        ("seed: !!python/name:os.system ''", 1, "kind 'python/name:os.system'", "", ""),
        ("? [a]\n: 1", 1, "a key that is no text", "name", ""),
        ("seed: ${1X}", 1, "'${1X}' is no variable", "${NAME}", ""),
        ("seed: 1\njudges: [${A}]", 2, "not YAML", "in quotes", ""),
    ],
)
def test_what_cannot_be_used_is_told_with_its_line(
    config: Any, text: str, line: int, what: str, expected: str, next_step: str
) -> None:
    with pytest.raises(InputError) as caught:
        config(text)
    assert what in caught.value.what
    assert caught.value.where.endswith(f"bench.yaml:{line}")
    assert expected in caught.value.expected
    assert next_step in caught.value.next


def test_hostile_files_are_refused_within_bounds(config: Any, tmp_path: Path) -> None:
    laughs = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(8)
    )
    for text in (
        laughs,
        "a: &a [*a]",
        "[" * 30_000,
        "a: {" * 5000,
        "x" * (MAX_BYTES + 1),
        "seed: " + "9" * 5000,
        b"seed: \xff\xfe",
        b"seed: \x00",
    ):
        with pytest.raises(InputError):
            config(text)
    with pytest.raises(InputError, match="No such file"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(InputError):
        load_config(tmp_path)


def test_an_empty_file_asks_for_the_defaults(config: Any) -> None:
    for text in ("", "# nothing\n", "suite:\njudges:\n"):
        assert config(text).asked == defaults().asked


def test_names_may_be_a_list_or_one_text(config: Any) -> None:
    assert config("perturb: all").asked.perturb == ("all",)
    assert config("agents: scripted, idle").asked.agents == ("scripted", "idle")
    assert config("agents: [scripted, idle]").asked.agents == ("scripted", "idle")


def test_judges_as_a_list_and_as_a_mapping_are_the_same(config: Any) -> None:
    listed = config("judges: [screen-rules, 'm:J@a=1,b=2']")
    mapped = config("judges:\n  screen-rules:\n  'm:J@a=1,b=2': {}\n")
    assert listed.asked == mapped.asked
    assert listed.flat() == mapped.flat()


def test_flat_keeps_what_was_written_and_shows_values_by_digest_only(config: Any) -> None:
    found = config(ARTICLE, VLM_MODEL="sk-secret")
    assert found.flat()["judges.vlm.model"] == "${VLM_MODEL}"
    resolved = found.flat(resolved=True)
    assert "sk-secret" not in json.dumps(resolved)
    other = config(ARTICLE, VLM_MODEL="another").flat(resolved=True)
    assert [text.split(":")[0] for text in differences(resolved, other, there="lock.json")] == [
        "judges.vlm.model"
    ]
    assert differences(resolved, resolved, there="lock.json") == []
    assert json.loads(json.dumps(resolved)) == resolved


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text("ab $}:-#'\"\n", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcde", min_size=1), plain, max_size=4))
def test_what_holds_no_variable_is_read_as_yaml_reads_it(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
) -> None:
    text = yaml.safe_dump(data)
    path = tmp_path_factory.getbasetemp() / "h.yaml"
    path.write_text(text, encoding="utf-8")
    found = read_yaml(path, {})
    assert found.data == found.written == yaml.safe_load(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "b.yaml"
    path.write_bytes(data)
    said: InputError | None = None
    try:
        load_config(path, environment={})
    except InputError as exc:
        said = exc
    assert said is None or str(path) in said.where
