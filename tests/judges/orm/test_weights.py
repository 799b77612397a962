"""The weights file: hostile ones are refused, changed ones too, and predicting needs no scikit-learn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyrite.errors import InputError, UsageError
from pyrite.judges.labels import make
from pyrite.judges.orm import OrmLite
from pyrite.judges.orm.features import FEATURES_VERSION
from pyrite.judges.orm.weights import KIND, Tree, read_weights, sealed, write_weights

LEAF = {"feature": [-1], "threshold": [0.0], "left": [-1], "right": [-1], "value": [0.5]}
Change = Callable[[dict[str, Any]], object]


def document() -> dict[str, Any]:
    logistic = {"kind": "logistic", "mean": [0.5, 1.0], "scale": [0.5, 2.0], "weight": [1.0, -1.0]}
    return {
        "schema_version": "1",
        "kind": KIND,
        "features_version": FEATURES_VERSION,
        "ocr": {"name": "rapidocr", "version": "rapidocr 3"},
        "conditions": {
            "E1-final": {
                "features": ["screen.words", "screen.errors"],
                "fill": [0.5, 0.1],
                "model": {**logistic, "intercept": 0.25},
                "slope": 1.0,
                "offset": 0.0,
            }
        },
        "seen": ["0123456789abcdef"],
        "prior": 0.3,
        "card": {"name": "orm-lite"},
    }


def model(changed: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = changed["conditions"]["E1-final"]
    return found


def boosted(changed: dict[str, Any], **tree: Any) -> None:
    model(changed)["model"] = {"kind": "boosted", "base": 0.0, "trees": [{**LEAF, **tree}]}


def write(path: Path, changed: dict[str, Any]) -> Path:
    path.write_text(json.dumps(sealed(changed)), encoding="utf-8")
    return path


def test_what_is_written_is_read_back_and_scores(tmp_path: Path) -> None:
    write_weights(tmp_path / "w.json", document())
    found = read_weights(tmp_path / "w.json").conditions["E1-final"]
    logit = (1.0 - 0.5) / 0.5 - (3.0 - 1.0) / 2.0 + 0.25
    assert found.score({"screen.words": 1.0, "screen.errors": 3.0}) == pytest.approx(1 / (1 + np.exp(-logit)))
    assert found.score({}) == found.score({"screen.words": None, "screen.errors": 0.1})
    name, value, change = found.reasons({"screen.words": 1.0, "screen.errors": 3.0})[0]
    assert (name, value, change < 0) == ("screen.errors", 3.0, True)


def test_a_file_in_the_way_stays(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError):
        write_weights(path, document())
    assert path.read_text(encoding="utf-8") == "mine"
    write_weights(path, document(), force=True)
    read_weights(path)
    with pytest.raises(UsageError):
        write_weights(tmp_path, document(), force=True)


BROKEN: dict[str, Change] = {
    "another kind": lambda d: d.update(kind="threshold"),
    "no condition": lambda d: d.update(conditions={}),
    "length": lambda d: model(d).update(fill=[0.5]),
    "a weight too many": lambda d: model(d)["model"].update(weight=[1.0, 2.0, 3.0]),
    "scale 0": lambda d: model(d)["model"].update(scale=[0.0, 1.0]),
    "slope below 0": lambda d: model(d).update(slope=-1.0),
    "unknown model": lambda d: model(d)["model"].update(kind="pickle"),
    "too many features": lambda d: model(d).update(features=["x"] * 500, fill=[0.0] * 500),
    "a circle": lambda d: boosted(d, feature=[0], left=[0], right=[0]),
    "no such child": lambda d: boosted(d, feature=[0], left=[1], right=[7]),
    "no such feature": lambda d: boosted(
        d, feature=[2, -1, -1], threshold=[0.0] * 3, left=[1, -1, -1], right=[2, -1, -1], value=[0.0] * 3
    ),
    "ragged tree": lambda d: boosted(d, value=[]),
    "empty tree": lambda d: boosted(d, feature=[], threshold=[], left=[], right=[], value=[]),
    "unknown key": lambda d: d.update(code="import os"),
    "a number beyond all": lambda d: model(d)["model"].update(weight=[1e308, 1.0]),
    "a scale of nothing": lambda d: model(d)["model"].update(scale=[5e-324, 1.0]),
    "a feature twice": lambda d: model(d).update(features=["screen.words"] * 2),
    "a share above 1": lambda d: d.update(prior=1.3),
    "a mark that is none": lambda d: d.update(seen=["zz"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_weights_that_make_no_sense_are_refused(name: str, tmp_path: Path) -> None:
    changed = document()
    BROKEN[name](changed)
    with pytest.raises(InputError):
        read_weights(write(tmp_path / "w.json", changed))


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"kind": "orm-lite weights"}', "\0"])
def test_what_is_no_weights_file_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"w\.json"):
        read_weights(tmp_path / "w.json")


def test_not_a_number_is_refused(tmp_path: Path) -> None:
    text = json.dumps(sealed(document())).replace("0.25", "NaN")
    (tmp_path / "w.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        read_weights(tmp_path / "w.json")


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    changed = sealed(document())
    model(changed)["offset"] = 9.0
    (tmp_path / "w.json").write_text(json.dumps(changed), encoding="utf-8")
    with pytest.raises(InputError, match="changed since"):
        read_weights(tmp_path / "w.json")


def test_a_deep_chain_of_nodes_is_walked() -> None:
    size = 127
    tree = Tree(
        feature=tuple([0] * (size - 1) + [-1]),
        threshold=(0.0,) * size,
        left=(*range(1, size), -1),
        right=tuple([size - 1] * (size - 1) + [-1]),
        value=(*[0.0] * (size - 1), 7.0),
    )
    assert tree.at(np.array([-1.0])) == 7.0


def test_the_label_names_the_file_and_its_errors_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "w.json", document())
    labelled = make(f"orm-lite@weights={path}")
    assert labelled.settings["weights_sha256"] == read_weights(path).answers_sha256
    assert labelled.judge.supports("E1-final")
    assert not labelled.judge.supports("E3-full")
    with pytest.raises(UsageError, match="no such file"):
        make("orm-lite@weights=none.json")
    for wrong in ("seen=yes", "cut=high", "cut=nan", "cut=2", "cut=Prior", "ocr=eyes"):
        with pytest.raises(UsageError):
            make(f"orm-lite@weights={path},{wrong}")
    monkeypatch.setattr("pyrite.judges.orm.SHIPPED_WEIGHTS", tmp_path / "not-there.json")
    with pytest.raises(UsageError, match="no weights ship") as caught:
        OrmLite()
    assert "train-orm" in caught.value.next
    older = write(tmp_path / "old.json", {**document(), "features_version": FEATURES_VERSION - 1})
    with pytest.raises(InputError, match="other features"):
        OrmLite(str(older))


def test_judging_imports_no_scikit_learn(tmp_path: Path) -> None:
    path = write(tmp_path / "w.json", document())
    script = (
        "import sys\nfrom pyrite.judges.orm import OrmLite\n"
        f"m = OrmLite({str(path)!r})._weights.conditions['E1-final']\nm.score({{'screen.words': 1.0}})\n"
        "print([n for n in ('sklearn', 'joblib') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_can_change_an_answer_has_its_digest_whenever_it_was_made(tmp_path: Path) -> None:
    one, other = document(), document()
    other["card"] = {"name": "orm-lite", "made_at": "2031-01-01T00:00:00Z"}
    first, second = (read_weights(write(tmp_path / f"{n}.json", d)) for n, d in enumerate((one, other)))
    assert first.sha256 != second.sha256
    assert first.answers_sha256 == second.answers_sha256
    model(other)["offset"] = 0.5
    assert read_weights(write(tmp_path / "c.json", other)).answers_sha256 != first.answers_sha256
