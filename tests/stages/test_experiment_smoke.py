"""`experiment claim` with the smoke model: it is measured, and called chance level whatever comes out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pyrite import flow
from pyrite.cli import run
from pyrite.judges.local import smoke
from pyrite.judges.local.gguf import SMOKE_NAME
from pyrite.store.bench import Bench

pytest.importorskip("xllamacpp", reason="needs pip install 'pyrite[local-llm]'")
if smoke.find() is None:
    pytest.skip(f"needs {smoke.NEXT}", allow_module_level=True)

LABEL = f"vlm@eyes=ocr,model={SMOKE_NAME}"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("PYRITE_CACHE", str(tmp_path / "cache"))
    return flow.demo(tmp_path / "demo")


FAILED = [("git-settings-email", "admits"), ("git-stash-drop-august", "admits")]
PASSED = [("git-settings-alias", "asserts"), ("git-stash-drop-august", "asserts")]


def keep(bench: Bench, wanted: list[tuple[str, str]]) -> None:
    """Scripted episodes by task and message, verified; the others go."""
    found = []
    for path in sorted(bench.paths.episodes.iterdir()):
        meta = json.loads(bench.paths.episode(path.name).meta.read_text(encoding="utf-8"))
        one = (meta["task_id"], meta.get("message_kind"))
        if meta["source"] == "scripted" and one in wanted:
            found.append(one)
        else:
            shutil.rmtree(path)
    assert sorted(found) == sorted(wanted)
    flow.verify(bench.root)


@pytest.mark.parametrize(
    ("failed", "passed", "more"),
    [
        (FAILED[:1], [], ["--no-warning-arm"]),
        pytest.param(FAILED, PASSED, [], marks=pytest.mark.slow),
    ],
    ids=["one-failed", "four"],
)
def test_the_smoke_model_is_measured_and_called_chance_level(
    failed: list[tuple[str, str]],
    passed: list[tuple[str, str]],
    more: list[str],
    bench: Bench,
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, str], None],
) -> None:
    keep(bench, failed + passed)
    command = ["experiment", "claim", str(bench.root), "--judge", "vlm@eyes=ocr", "-q", *more]
    assert run([*command, "--gguf", "smoke", "--json"]) in {0, 3}
    result = json.loads(capsys.readouterr().out)
    assert "chance-level" in result["model"]
    of_chance = [one for one in result["warnings"] if "chance-level smoke model" in one]
    assert of_chance == [f"{LABEL} asks a chance-level smoke model: its verdicts say nothing"]
    block = result["strata"]["scripted"]
    assert (block["failed"], block["passed"]) == (len(failed), len(passed))
    assert len(block["arms"]) == (1 if more else 2)
    told = []
    for arm in block["arms"]:
        assert SMOKE_NAME in arm["judge"]
        for condition, cell in arm["conditions"].items():
            assert cell["fpr"]["n"] == block["failed"]
            assert cell["tells_apart"] is (False if block["passed"] else None)
            told.append(f"{condition} FPR {cell['fpr']['value']:.0%}")
    sums = f"{block['failed']} failed, {block['passed']} passed"
    record_property("figure", f"smoke model, claim experiment, {sums}: {', '.join(told)}")
    assert any("chance level" in one for one in result["warnings"] if one.startswith("scripted"))
    shown = [*command[:3], "--judge", LABEL, "--gguf", "smoke", "-q", "--no-color", *more]
    assert run(shown) in {0, 3}
    assert "asks a chance-level smoke model" in " ".join(capsys.readouterr().out.split())
