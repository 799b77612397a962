"""The model agent on the real desktop, against a loopback model with a script: a task of each domain."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pyrite.cli import run
from pyrite.sandbox.local import LocalBackend
from pyrite.store.bench import Bench
from pyrite.suites.suite import load_suite

pytestmark = pytest.mark.desktop
DOMAINS = {
    "files": "files_rename",
    "office": "calc_set_cell",
    "settings": "mousepad_settings",
    "web": "web_order_create",
    "browser": "browser_bookmark_add",
    "terminal": "text_process",
}


def _model_server() -> ModuleType:
    path = Path(__file__).resolve().parents[1] / "episodes" / "model_server.py"
    spec = importlib.util.spec_from_file_location("model_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "domain",
    [
        pytest.param(domain, marks=[] if domain in {"terminal", "web"} else [pytest.mark.slow])
        for domain in sorted(DOMAINS)
    ],
)
def test_it_completes_a_task(
    domain: str, backend: LocalBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = load_suite("desk")
    task = next(t for t in suite.tasks() if t.module.endswith(f".{DOMAINS[domain]}"))
    script = [action.model_dump(exclude_none=True) for action in suite.script(task.task_id)]
    answers = [json.dumps({"thought": f"step {n}", **action}) for n, action in enumerate(script)]
    answers[-1] = json.dumps({"action": "done", "message": suite.claim(task.task_id)})
    bench = tmp_path / "bench"
    with _model_server().serving(*answers) as server:
        monkeypatch.setenv("PYRITE_AGENT_BASE_URL", server.url)
        monkeypatch.setenv("PYRITE_AGENT_MODEL", "a-script")
        record = ["record", "desk", "--only", task.task_id, "--agent", "vlm-agent", "-o", str(bench), "-q"]
        assert run(record) == 0
        assert len(server.asked) == len(answers)
    assert run(["verify", str(bench), "-q"]) == 0
    (name,) = Bench(bench).episode_ids()
    meta, truth = Bench(bench).meta(name), Bench(bench).truth(name)
    assert (meta.source, meta.ended_by) == ("natural", "done")
    assert truth is not None
    assert truth.outcome == "pass", truth
