"""Training on a bench from end to end: what is learned, what is refused, and what the weights then do."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Episodes

from pyrite import flow
from pyrite.cli import run
from pyrite.errors import UsageError
from pyrite.evidence.conditions import parse_list
from pyrite.evidence.leaks import Secrets
from pyrite.evidence.packing import index, load, pack
from pyrite.judges import ocr
from pyrite.judges.labels import make
from pyrite.judges.ocr.readings import Box, Entry, keep
from pyrite.judges.orm import OrmLite, training
from pyrite.judges.orm.weights import read_weights, task_mark
from pyrite.judges.runner import ask
from pyrite.records import Category, Outcome, Truth, Verdict, VerdictLine
from pyrite.store.bench import Bench
from pyrite.store.jsonl import read_lines, write_record

FAMILIES, EACH = 10, 20
CONDITIONS = "E1-final,E3-full"
Train = Callable[..., flow.Trained]


def instruction(task_id: str) -> str:
    return f"In list-{task_id}.txt, set the amount to {int(task_id[1:]) * 7 + 1003}."


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Ten families of two tasks, half of the episodes failed: those show another amount, mostly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYRITE_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(ocr, "engine", lambda name="rapidocr": None)
        patch.setattr("os.fsync", lambda descriptor: None)
        patch.setattr(training, "STRENGTHS", (0.1,))
        patch.setattr(training, "TREES", (40,))
        yield _record(Episodes(Bench.create(tmp_path_factory.mktemp("made") / "bench")))


@pytest.fixture
def verified(recorded: Bench, tmp_path: Path) -> Bench:
    """A bench of this test's own."""
    return Bench(Path(shutil.copytree(recorded.root, tmp_path / "bench")))


def _record(episodes: Episodes) -> Bench:
    bench = episodes.bench
    for n in range(FAMILIES * EACH):
        family, passed, task_id = n % FAMILIES, n % 20 < 10, f"t{n % FAMILIES * 2 + n // 20 % 2:02d}"
        source = "perturbed" if n % 3 == 0 else "scripted"
        actions = [{"action": "type", "text": "x"}, {"action": "done"}]
        episodes.add(
            f"ep_{n}", actions, colours=[0, 1, n], task_id=task_id, family=f"f{family}", source=source
        )
        category = None if passed else Category.UNCOMMITTED if n % 40 < 20 else Category.ABORT
        outcome = Outcome.PASS if passed else Outcome.FAIL
        write_record(
            bench.paths.episode(f"ep_{n}").truth,
            Truth(episode_id=f"ep_{n}", outcome=outcome, passed=passed, category=category),
        )
    pack(bench, parse_list(CONDITIONS), instruction, lambda meta: Secrets())
    for (episode_id, condition), entry in index(bench).items():
        if condition == "E1-final":
            n = int(episode_id[3:])
            right = (n % 20 < 10) != (n % 17 == 0)
            evidence = load(bench, entry)
            amount = evidence.instruction.rstrip(".").rsplit(" ", 1)[1] if right else "77"
            boxes = (Box(0, 0, 30, 9, f"amount {amount}", 0.9), Box(0, 12, 30, 20, "total", 0.9))
            keep(
                Entry(
                    pixels=evidence.images[-1],
                    mode="screen",
                    engine="rapidocr 9.9",
                    models="0" * 64,
                    boxes=boxes,
                )
            )
    return bench


@pytest.fixture
def train(verified: Bench, tmp_path: Path) -> Train:
    def trained(name: str = "w.json", **options: Any) -> flow.Trained:
        asked: dict[str, Any] = {"workers": 1, "conditions": CONDITIONS, **options}
        return flow.train_orm([verified.root], tmp_path / name, **asked)

    return trained


def everything(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_the_whole_way(train: Train, verified: Bench, tmp_path: Path) -> None:
    before = everything(verified.root)
    made = train()
    assert everything(verified.root) == before, "benches are read only"
    card, weights = made.card, read_weights(made.out)
    assert weights.card == card
    held, trained = card["split"]["held_out"], card["split"]["train"]
    assert set(held["families"]) | set(trained["families"]) == {f"f{n}" for n in range(10)}
    assert (len(held["families"]), len(trained["families"])) == (4, 6)
    assert trained["passed"] + trained["failed"] + held["passed"] + held["failed"] == FAMILIES * EACH
    assert (card["data"]["passed"], card["data"]["failed"]) == (100, 100)
    assert card["ocr"] == "rapidocr 9.9"
    for block in card["conditions"].values():
        figures = block["held_out"]
        assert figures["auc"]["value"] > 0.8
        assert figures["fpr"]["value"] < 0.3 < 0.7 < figures["tpr"]["value"]
        assert figures["hard_fpr"]["value"] is not None
        assert set(figures["by_stratum"]) == {"perturbed", "scripted"}
        assert figures["certificate"]["threshold"] is None
        assert figures["certificate"]["needed"] == 59
        assert figures["calibration"]["ece"] is not None
    text = json.dumps([one.model_dump(mode="json") for one in weights.conditions.values()])
    assert "perturbed" not in text
    assert not any(
        word in " ".join(one.features) for one in weights.conditions.values() for word in ("claim",)
    )


def test_the_judge_says_nothing_of_tasks_it_was_trained_on(train: Train, verified: Bench) -> None:
    made = train()
    held = set(made.card["split"]["held_out"]["families"])
    entries = [entry for entry in index(verified).values() if entry.condition == "E1-final"]
    judging = asyncio.run(ask(verified, [make(f"orm-lite@weights={made.out}")], entries))
    answered = sum(meta.family in held for meta in verified.metas())
    assert (judging.obtained, judging.missing) == (answered, 0)
    declined = judging.asked[0].declined
    assert sum(declined.values()) == FAMILIES * EACH - answered
    assert all("trained on this task" in why for why in declined)
    orm = OrmLite(str(made.out))
    for entry in entries[:40]:
        evidence = load(verified, entry)
        answers = verified.meta(entry.episode_id).family in held
        assert tuple(orm.screens(evidence)) == (evidence.images[-1:] if answers else ())
    result = flow.measure(verified.root)
    block = next(iter(result["strata"]["perturbed"]["conditions"]["E1-final"]["judges"].values()))
    assert block["scores"]["n"] > 0
    assert block["counts"]["missing"] > 0
    label = f"orm-lite@weights={made.out},seen=answer,cut=prior"
    anew = asyncio.run(ask(verified, [make(label)], entries))
    assert (anew.obtained, anew.missing) == (FAMILIES * EACH, 0)
    path = verified.paths.verdict_file(make(label).label, "E1-final")
    lines = list(read_lines(path, VerdictLine))
    prior = read_weights(made.out).prior
    assert {(line.verdict, (line.score or 0) >= prior) for line in lines} == {
        (Verdict.SUCCESS, True),
        (Verdict.FAILURE, False),
    }
    assert all(line.reason for line in lines)
    assert len(read_weights(made.out).seen) == 12
    assert task_mark(instruction("t00")) in read_weights(made.out).seen or "f0" in held


def test_the_same_bench_and_seed_give_the_same_weights(train: Train) -> None:
    documents = []
    for name in ("a.json", "b.json"):
        found = json.loads(train(name, conditions="E1-final").out.read_text(encoding="utf-8"))
        del found["card"]["made_at"], found["sha256"]
        documents.append(found)
    assert documents[0] == documents[1]
    other = train("c.json", seed=5, conditions="E1-final").card["split"]["held_out"]["families"]
    assert other != documents[0]["card"]["split"]["held_out"]["families"]


def test_what_is_left_out_is_counted(train: Train, verified: Bench) -> None:
    unsure = Truth(episode_id="ep_3", outcome=Outcome.INDETERMINATE, passed=None, cause="gold_failed")
    write_record(verified.paths.episode("ep_3").truth, unsure)
    verified.paths.episode("ep_4").truth.unlink()
    package = index(verified)[("ep_5", "E1-final")]
    verified.paths.image(load(verified, package).images[-1]).write_bytes(b"no image")
    card = train(held_out=["f1", "f2"]).card
    left = card["data"]["left_out"]
    assert (left["indeterminate"], left["not verified"]) == (1, 1)
    assert sum(left.values()) == 3
    assert card["data"]["episodes"] == FAMILIES * EACH - 3
    assert card["split"]["rule"] == "families named"


def test_a_bench_without_truth_or_evidence_is_refused(train: Train, verified: Bench) -> None:
    with pytest.raises(UsageError, match="nothing is packed as E2-last4") as caught:
        train(conditions="E2-last4")
    assert caught.value.next == f"pyrite pack {verified.root} --condition E2-last4"
    for n in range(FAMILIES * EACH):
        path = verified.paths.episode(f"ep_{n}").truth
        if n > 40 and n % 20 >= 10:
            path.unlink()
    with pytest.raises(UsageError, match=r"\d+ failed episodes to train on") as caught:
        train()
    assert "at least 50" in caught.value.expected
    for meta in verified.metas():
        verified.paths.episode(meta.episode_id).truth.unlink(missing_ok=True)
    with pytest.raises(UsageError, match="none of 200 episodes is verified") as caught:
        train()
    assert caught.value.next.startswith("pyrite verify")


def test_the_command(verified: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "w.json"
    command = ["train-orm", str(verified.root), "-o", str(out), "--condition", "E1-final"]
    assert run(command) == 0
    text = capsys.readouterr().out
    assert "held out: FPR" in text
    assert "no threshold certifies" in text
    assert f"--judge orm-lite@weights={out}" in text
    assert run(command) == 2
    assert "a file is here already" in capsys.readouterr().err
    assert run([*command, "--force", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["card"]["split"]["held_out"]["families"]
    assert run([*command, "--force", "--held-out", "f1,fx"]) == 2
    assert "'fx'" in capsys.readouterr().err
    assert run([*command, "--force", "--ocr", "eyes"]) == 2
    assert run([*command, "--force", str(verified.root)]) == 2
    assert "given twice" in capsys.readouterr().err
    assert run([*command[:2], "-o", str(tmp_path), "--force"]) == 2
    assert "a folder" in capsys.readouterr().err
