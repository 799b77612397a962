"""`reward-hf`: a reward model in a local folder, run with transformers. Nothing is fetched or executed.

    pyrite judge BENCH --judge 'reward-hf@path=./my-reward-model'
    pyrite judge BENCH --judge 'reward-hf@path=./my-text-rm,eyes=ocr,device=cuda'

What it is follows from its config.json:

    …ForSequenceClassification    reads text: task, actions, text of the screens (eyes=ocr), claim
    …ForImageClassification       sees the last screen; E1-final
    CLIP, SigLIP                  sees the last screen beside the task's text; E1-final

The score is raw: the one logit, the logit of `positive` less the log-sum of the others, or the similarity.
Weights are safetensors: pickles are refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pyrite.errors import InputError, UsageError
from pyrite.judges import eyes as reading
from pyrite.judges import showing
from pyrite.judges.base import Package, Reply, Unavailable
from pyrite.judges.client.base import Text
from pyrite.judges.wire import unreadable
from pyrite.store.jsonl import read_json

NEXT = "pip install 'pyrite[hf]'"
POSITIVE = ("success", "successful", "pass", "passed", "yes", "positive", "true", "correct", "good")
"""Names of the label that is taken for success, in this order, where none is given."""
LONGEST = 32_768
"""Tokens of text at most, whatever the model takes; what is more is cut off at the front."""
Kind = Literal["text", "image", "similarity"]


@dataclass(frozen=True)
class Described:
    """What a model folder says of itself."""

    kind: Kind
    architecture: str
    labels: tuple[str, ...]
    files: dict[str, str]
    """Name -> sha256 of everything that can change its scores."""


class RewardHf:
    """A reward model of the user's own."""

    name = "reward-hf"
    inputs = "task, actions, screens as it takes them"
    calls_per_episode = "0"
    source = "your own model"
    deterministic = True

    def __init__(
        self,
        path: str = "",
        eyes: str = "pixels",
        positive: str = "",
        device: str = "cpu",
        cache: bool = True,
    ) -> None:
        """`positive` names the label that means success; `device` is as torch names it."""
        if not path:
            raise UsageError("reward-hf has no path", expected="reward-hf@path=FOLDER of a model")
        self._path = Path(path)
        self._seen = describe(self._path)
        if eyes not in {"pixels", "ocr"}:
            raise UsageError(f"reward-hf: eyes is {eyes[:40]!r}", expected="one of pixels, ocr")
        if (self._seen.kind == "text") != (eyes == "ocr"):
            what = "reads text and cannot see" if self._seen.kind == "text" else "sees pixels"
            raise UsageError(
                f"{self._seen.architecture} {what}",
                where=path,
                expected="eyes=ocr" if self._seen.kind == "text" else "no eyes=ocr",
            )
        self._positive = _positive(self._seen, positive)
        self._model = f"{self._path.resolve().name}-{weights_sha256(self._seen)[:8]}"
        self._device, self._cache = device, cache
        self._engine: Engine | None = None
        self._guard = threading.Lock()

    def supports(self, condition: str) -> bool:
        return self._seen.kind == "text" or condition == "E1-final"

    def config(self) -> dict[str, Any]:
        return {
            "model": self._model,
            "file_sha256": weights_sha256(self._seen),
            "licence": "UNKNOWN",
            "architecture": self._seen.architecture,
            "files_sha256": self._seen.files,
            "positive": None if self._positive is None else self._seen.labels[self._positive],
            "device": self._device,
            **(reading.reader() if self._seen.kind == "text" else {}),
        }

    async def judge(self, package: Package, run: int) -> Reply:
        text = package.evidence.instruction
        if self._seen.kind == "text":
            text = shown(package, await reading.texts(package, cache=self._cache))
        score, usage = await asyncio.to_thread(self._score, package, text)
        if not math.isfinite(score):
            bad = unreadable("off_schema", f"its score is {score}")
            return Reply(bad.verdict, bad.reason, status=bad.status, usage=usage, model=self._model)
        return Reply(None, score=score, usage=usage, model=self._model)

    def _score(self, package: Package, text: str) -> tuple[float, dict[str, Any]]:
        with self._guard:  # one forward pass at a time, on all cores
            if self._engine is None:
                self._engine = Engine(self._path, self._seen, self._device)
            if self._seen.kind == "text":
                return self._engine.of_text(text, self._positive)
            if self._seen.kind == "image":
                return self._engine.of_image(package.image(-1), self._positive)
            return self._engine.similarity(package.image(-1), text)


class Engine:
    """The loaded model.

    Raises `Unavailable` without transformers and torch, `InputError` for a folder that does not load.
    """

    def __init__(self, path: Path, seen: Described, device: str) -> None:
        try:
            import torch
            import transformers
        except ImportError as exc:
            raise Unavailable(f"missing: {exc.name} is not installed", where=str(path), next=NEXT) from None
        self._torch = torch
        transformers.utils.logging.disable_progress_bar()
        local = {"local_files_only": True, "trust_remote_code": False}
        loaders = {
            "text": (transformers.AutoModelForSequenceClassification, transformers.AutoTokenizer),
            "image": (transformers.AutoModelForImageClassification, transformers.AutoImageProcessor),
            "similarity": (transformers.AutoModel, transformers.AutoProcessor),
        }
        model, prepare = loaders[seen.kind]
        try:
            self._prepare: Any = prepare.from_pretrained(path, **local)
            self._model: Any = model.from_pretrained(path, use_safetensors=True, dtype=torch.float32, **local)
            self._model.to(device).eval()
        except Exception as exc:  # whatever a folder makes a library raise
            raise InputError(
                f"the model cannot be loaded: {type(exc).__name__}: {' '.join(str(exc).split())[:300]}",
                where=str(path),
                expected="a folder as save_pretrained() writes it, with its tokenizer or image processor",
            ) from None
        self._device = device

    def of_text(self, text: str, positive: int | None) -> tuple[float, dict[str, Any]]:
        """The score of a text; its beginning is cut off where it is too long, and how much is told."""
        whole = len(self._prepare(text, verbose=False)["input_ids"])
        self._prepare.truncation_side = "left"
        inputs = self._prepare(text, truncation=True, max_length=self._most_tokens(), return_tensors="pt")
        logits = self._forward(**inputs.to(self._device)).logits[0]
        kept = inputs["input_ids"].shape[1]
        usage = {"input_tokens": kept} | ({"tokens_cut_off": whole - kept} if kept < whole else {})
        return margin(logits.float().tolist(), positive), usage

    def of_image(self, image: Any, positive: int | None) -> tuple[float, dict[str, Any]]:
        """The score of one screen."""
        inputs = self._prepare(images=image, return_tensors="pt").to(self._device)
        return margin(self._forward(**inputs).logits[0].float().tolist(), positive), {}

    def similarity(self, image: Any, text: str) -> tuple[float, dict[str, Any]]:
        """How well a text goes with a screen, in the model's own scale."""
        inputs = self._prepare(
            text=[text], images=image, return_tensors="pt", padding="max_length", truncation=True
        ).to(self._device)
        return float(self._forward(**inputs).logits_per_image[0, 0]), {}

    def _forward(self, **inputs: Any) -> Any:
        with self._torch.no_grad():
            return self._model(**inputs)

    def _most_tokens(self) -> int:
        said = getattr(self._model.config, "max_position_embeddings", None)
        given = [
            value for value in (said, self._prepare.model_max_length) if isinstance(value, int) and value > 8
        ]
        return min([LONGEST, *given])


def shown(package: Package, texts: list[str]) -> str:
    """The same text that a prompted judge with eyes=ocr is sent, without a rubric."""
    parts = showing.parts(package.evidence, (), texts=texts)
    return "\n\n".join(part.text for part in parts if isinstance(part, Text))


def margin(logits: list[float], positive: int | None) -> float:
    """The one logit, or the log-odds of the positive label.

    >>> margin([0.5], None), round(margin([1.0, 3.0], 1), 6)
    (0.5, 2.0)
    """
    if positive is None:
        return logits[0]
    others = [logit for index, logit in enumerate(logits) if index != positive]
    top = max(others)
    if not math.isfinite(top):
        return math.nan
    return logits[positive] - top - math.log(sum(math.exp(logit - top) for logit in others))


def describe(path: Path) -> Described:
    """Read what a model folder is, without running anything of it. Raises `InputError`."""
    expected = "a folder with config.json and *.safetensors, as save_pretrained() writes it"
    if not path.is_dir():
        raise InputError("no such folder", where=str(path), expected=expected)
    config = read_json(path / "config.json")
    names = config.get("architectures") if isinstance(config, dict) else None
    architecture = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    if not list(path.glob("*.safetensors")):
        raise InputError("there are no weights in safetensors", where=str(path), expected=expected)
    return Described(_kind(architecture, path), architecture, _labels(config), _digests(path))


def _kind(architecture: str, path: Path) -> Kind:
    if architecture.endswith("ForSequenceClassification"):
        return "text"
    if architecture.endswith("ForImageClassification"):
        return "image"
    if architecture in {"CLIPModel", "ChineseCLIPModel", "SiglipModel", "Siglip2Model", "AltCLIPModel"}:
        return "similarity"
    raise InputError(
        f"its architecture is {architecture[:80] or 'not stated'}",
        where=str(path / "config.json"),
        expected="…ForSequenceClassification, …ForImageClassification, CLIPModel or SiglipModel",
        next="serve other models and use vlm or reward-http",
    )


def _labels(config: dict[str, Any]) -> tuple[str, ...]:
    """The names of its outputs, in order; one for a regression head."""
    named = config.get("id2label")
    if isinstance(named, dict) and named and all(str(i) in named for i in range(len(named))):
        return tuple(str(named[str(i)]) for i in range(len(named)))
    count = config.get("num_labels")
    return tuple(f"LABEL_{i}" for i in range(count if isinstance(count, int) and 0 < count < 1000 else 2))


def _positive(seen: Described, asked: str) -> int | None:
    """Which output means success; None where there is one output only, or none at all."""
    if seen.kind == "similarity" or len(seen.labels) == 1:
        if asked:
            raise UsageError(
                f"reward-hf: positive is {asked[:40]!r}", expected="no such option: the model has one output"
            )
        return None
    low = [label.casefold() for label in seen.labels]
    for name in [asked.casefold()] if asked else POSITIVE:
        if low.count(name) == 1:
            return low.index(name)
    raise UsageError(
        f"no label is {asked[:40]!r}" if asked else "which label means success is not known",
        expected=f"positive= one of {', '.join(seen.labels)[:300]}",
    )


def weights_sha256(seen: Described) -> str:
    """One digest over all files."""
    return hashlib.sha256(json.dumps(seen.files, sort_keys=True).encode()).hexdigest()


def _digests(path: Path) -> dict[str, str]:
    found = {}
    for one in sorted(path.iterdir()):
        if one.is_file() and one.suffix in {".json", ".safetensors", ".txt", ".model", ".jinja"}:
            with one.open("rb") as handle:
                found[one.name] = hashlib.file_digest(handle, "sha256").hexdigest()
    return found
