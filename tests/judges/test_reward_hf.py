"""`reward-hf`: what a folder is, is read without running it; scores come from real, tiny models."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.judges.packages import package, typed

from pyrite.errors import InputError, UsageError
from pyrite.judges import eyes
from pyrite.judges.base import Package, Reply, Unavailable
from pyrite.judges.reward_hf import RewardHf, describe, margin

TEXT = "BertForSequenceClassification"


def folder(path: Path, architecture: str | None = TEXT, **config: Any) -> Path:
    """A folder that looks like a model; its weights are no weights."""
    path.mkdir(exist_ok=True)
    said = {"architectures": [architecture]} if architecture else {}
    (path / "config.json").write_text(json.dumps(said | config), encoding="utf-8")
    (path / "model.safetensors").write_bytes(b"no weights")
    return path


# --- without torch


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        (TEXT, "text"),
        ("Qwen2ForSequenceClassification", "text"),
        ("ViTForImageClassification", "image"),
        ("CLIPModel", "similarity"),
        ("SiglipModel", "similarity"),
    ],
)
def test_what_a_folder_is_follows_from_its_config(tmp_path: Path, architecture: str, kind: str) -> None:
    assert describe(folder(tmp_path / "m", architecture)).kind == kind


def test_a_folder_that_is_no_model_is_told_with_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        describe(tmp_path / "none")
    with pytest.raises(InputError, match="LlamaForCausalLM"):
        describe(folder(tmp_path / "m", "LlamaForCausalLM"))
    with pytest.raises(InputError, match="not stated"):
        describe(folder(tmp_path / "m", None))
    (tmp_path / "m" / "config.json").write_text("[" * 9999, encoding="utf-8")
    with pytest.raises(InputError):
        describe(tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").rename(tmp_path / "m" / "pytorch_model.bin")
    (tmp_path / "m" / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="safetensors"):
        describe(tmp_path / "m")


def test_which_label_means_success_is_known_or_asked_for(tmp_path: Path) -> None:
    two = folder(tmp_path / "m", id2label={"0": "Failure", "1": "Success"})
    assert RewardHf(str(two), eyes="ocr").config()["positive"] == "Success"
    unnamed = folder(tmp_path / "n", id2label={"0": "LABEL_0", "1": "LABEL_1"})
    with pytest.raises(UsageError, match="not known"):
        RewardHf(str(unnamed), eyes="ocr")
    assert RewardHf(str(unnamed), eyes="ocr", positive="label_0").config()["positive"] == "LABEL_0"
    one = folder(tmp_path / "o", id2label={"0": "LABEL_0"})
    assert RewardHf(str(one), eyes="ocr").config()["positive"] is None
    with pytest.raises(UsageError, match="one output"):
        RewardHf(str(one), eyes="ocr", positive="LABEL_0")


def test_a_text_model_needs_eyes_and_a_model_with_eyes_takes_only_the_last_screen(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot see"):
        RewardHf(str(folder(tmp_path / "t", id2label={"0": "x"})))
    image = folder(tmp_path / "i", "ViTForImageClassification", id2label={"0": "no", "1": "yes"})
    with pytest.raises(UsageError, match="sees pixels"):
        RewardHf(str(image), eyes="ocr")
    assert [RewardHf(str(image)).supports(name) for name in ("E1-final", "E2-last4")] == [True, False]


def test_other_weights_are_another_judge(tmp_path: Path) -> None:
    path = folder(tmp_path / "m", id2label={"0": "x"})
    before = RewardHf(str(path), eyes="ocr").config()
    (path / "model.safetensors").write_bytes(b"other weights")
    assert RewardHf(str(path), eyes="ocr").config() != before


def test_without_the_library_there_is_no_verdict_and_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    image = folder(tmp_path / "i", "ViTForImageClassification", id2label={"0": "no", "1": "yes"})
    with pytest.raises(Unavailable) as caught:
        asyncio.run(RewardHf(str(image)).judge(package(tmp_path), 1))
    assert "pip install" in caught.value.next


def test_a_margin_is_the_log_odds_of_the_positive_label() -> None:
    logits = [0.3, -1.2, 2.0]
    p = math.exp(2.0) / sum(math.exp(x) for x in logits)
    assert margin(logits, 2) == pytest.approx(math.log(p / (1 - p)))
    assert margin([-700.0, 700.0], 1) == 1400.0
    assert math.isnan(margin([math.nan, 1.0], 1))


def test_neither_torch_nor_transformers_is_imported_before_a_model_is_loaded() -> None:
    code = (
        "import sys, pyrite.judges.reward_hf\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- with real models


@pytest.fixture
def torch() -> Any:
    """torch, beside transformers, or a skip."""
    pytest.importorskip("transformers", reason="needs pip install 'pyrite[hf]'")
    found = pytest.importorskip("torch", reason="needs pip install 'pyrite[hf]'")
    found.manual_seed(4)
    return found


def ask(judge: RewardHf, seen: Package) -> Reply:
    return asyncio.run(judge.judge(seen, 1))


@pytest.fixture
def text_model(torch: Any, tmp_path: Path) -> Path:
    """A BERT of two layers with weights by chance, and a tokenizer of words, saved as a user would."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "Task", "set", "4500", "1015", "saved", "D14", "screen"]
    words = {word: number for number, word in enumerate(names)}
    inner = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    inner.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        num_labels=1,
        initializer_range=0.6,
    )
    path = tmp_path / "text-rm"
    BertForSequenceClassification(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def test_a_text_model_scores_what_was_read_off_the_screens(
    torch: Any, text_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = ["screen " * 60 + "D14 4500 saved"]

    async def texts(package: Package, *, cache: bool = True) -> list[str]:
        return read

    monkeypatch.setattr(eyes, "texts", texts)
    judge = RewardHf(str(text_model), eyes="ocr")
    seen = package(tmp_path)
    first = ask(judge, seen)
    assert (first.status, first.verdict) == ("ok", None)
    assert first.score is not None
    assert ask(judge, seen).score == first.score, "the same again"
    read[0] = "screen " * 60 + "D14 1015"
    assert ask(judge, seen).score != first.score
    assert set(first.usage) == {"input_tokens", "tokens_cut_off"}
    assert first.usage["input_tokens"] == 64
    read[0] = "screen " * 60 + "D14 4500 saved"

    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from pyrite.judges.reward_hf import shown

    tokenizer = AutoTokenizer.from_pretrained(text_model)
    ids = tokenizer(shown(seen, read), add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        model = AutoModelForSequenceClassification.from_pretrained(text_model)
        (logit,) = model(input_ids=torch.tensor([[2, *ids[-62:], 3]])).logits[0].tolist()
    assert first.score == pytest.approx(logit, abs=1e-5)


@pytest.fixture
def image_model(torch: Any, tmp_path: Path) -> Callable[..., Path]:
    """Makes a ViT of one layer that tells screens apart by chance."""
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    def make(**more: Any) -> Path:
        config = ViTConfig(
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            image_size=32,
            patch_size=16,
            id2label={0: "failure", 1: "success"},
            initializer_range=0.6,
            **more,
        )
        path = tmp_path / "image-rm"
        ViTForImageClassification(config).save_pretrained(path)
        ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(path)
        return path

    return make


def test_an_image_model_scores_the_last_screen(image_model: Callable[..., Path], tmp_path: Path) -> None:
    judge = RewardHf(str(image_model()))
    scores = [ask(judge, package(tmp_path, number)).score for number in (1, 200, 1)]
    assert scores[0] is not None
    assert scores[0] == scores[2] != scores[1]


def test_the_model_of_a_configuration_is_asked(image_model: Callable[..., Path]) -> None:
    from pyrite.stages.plan import _known, _reward, _unloadable
    from pyrite.store.config import Reward

    path = str(image_model())
    assert _unloadable(Reward(path=path)) is None
    assert _known(_reward(Reward(path=path))) == f"reward-hf@path={path}"
    assert "no such folder" in str(_unloadable(Reward(path=path + "x")))
    assert _unloadable(Reward()) == "no path is named"


def test_a_score_that_is_no_number_is_no_score(
    torch: Any, image_model: Callable[..., Path], tmp_path: Path
) -> None:
    from transformers import ViTForImageClassification

    path = image_model()
    model = ViTForImageClassification.from_pretrained(path)
    with torch.no_grad():
        model.classifier.bias.fill_(math.nan)
    model.save_pretrained(path)
    found = ask(RewardHf(str(path)), package(tmp_path))
    assert (found.status, found.score, found.verdict) == ("off_schema", None, "parse_error")


@pytest.mark.usefixtures("torch")
def test_weights_that_are_none_cost_a_verdict_and_no_crash(tmp_path: Path) -> None:
    path = folder(tmp_path / "m", "ViTForImageClassification", id2label={"0": "no", "1": "yes"})
    with pytest.raises(InputError, match="cannot be loaded"):
        ask(RewardHf(str(path)), package(tmp_path))


def test_a_folder_cannot_bring_code_to_run(image_model: Callable[..., Path], tmp_path: Path) -> None:
    path = image_model()
    config = json.loads((path / "config.json").read_text())
    config["auto_map"] = {"AutoModelForImageClassification": "evil.Evil", "AutoConfig": "evil.Config"}
    (path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert ask(RewardHf(str(path)), package(tmp_path)).status == "ok"
    assert not (tmp_path / "ran").exists()


def test_similarity_of_screen_and_task(torch: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import (
        CLIPConfig,
        CLIPImageProcessor,
        CLIPModel,
        CLIPProcessor,
        PreTrainedTokenizerFast,
    )

    inner = Tokenizer(WordLevel({"[PAD]": 0, "[UNK]": 1, "Task": 2, "set": 3, "[EOS]": 4}, unk_token="[UNK]"))
    inner.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token="[UNK]",
        pad_token="[PAD]",
        eos_token="[EOS]",
        model_max_length=16,
    )
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = CLIPConfig(
        text_config={**small, "vocab_size": 5, "max_position_embeddings": 16, "eos_token_id": 4},
        vision_config={**small, "image_size": 32, "patch_size": 16},
        projection_dim=8,
    )
    path = tmp_path / "clip"
    CLIPModel(config).save_pretrained(path)
    image = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    CLIPProcessor(image_processor=image, tokenizer=tokenizer).save_pretrained(path)
    judge = RewardHf(str(path))
    found = [ask(judge, package(tmp_path, number, actions=(typed(),))).score for number in (1, 200)]
    assert None not in found
    assert found[0] != found[1]
