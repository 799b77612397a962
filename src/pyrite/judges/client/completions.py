"""Chat completions on the wire: the body of a request joined from bytes, the answer out of a response."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from typing import Any, NoReturn

from pydantic import ValidationError

from pyrite.judges.client.base import Alternative, Answer, CallError, Request, Text, Token, Usage
from pyrite.judges.client.http import error_of, kind_of

OPTIONAL = ("schema", "temperature", "seed", "logprobs", "max_tokens")
"""What a request can do without where an endpoint refuses it (max_tokens: under its newer name)."""
_NAMES = {
    "schema": ("response_format", "json_schema", "structured output", "guided", "grammar"),
    "temperature": ("temperature",),
    "seed": ("seed",),
    "logprobs": ("logprobs", "log_probs"),
    "max_tokens": ("max_completion_tokens",),
}
_UNSUPPORTED = re.compile(
    r"unsupported|not (?:be )?support|unknown|unrecogni[sz]ed|not (?:permitted|allowed|available|implemented)"
    r"|unavailable|unexpected|only the default",
    re.IGNORECASE,
)
FLOOR = -9999.0
"""Log-probability that stands for zero probability."""
_IMAGE = b'{"type":"image_url","image_url":{"url":"data:%s;base64,'

MAX_MODEL = 200
"""Characters of a model's name, as its endpoint states it, that are kept."""


def body(request: Request, without: Collection[str] = ()) -> bytes:
    """The JSON of a request. Images are in base64 already and need no escaping: they are only joined in."""
    params = request.params
    head: dict[str, Any] = {"model": request.model, "stream": False, **dict(params.extra)}
    if params.temperature is not None and "temperature" not in without:
        head["temperature"] = params.temperature
    if params.max_tokens is not None:
        newer = "max_tokens" in without
        head["max_completion_tokens" if newer else "max_tokens"] = params.max_tokens
    if params.seed is not None and "seed" not in without:
        head["seed"] = params.seed
    if params.top_logprobs and "logprobs" not in without:
        head |= {"logprobs": True, "top_logprobs": params.top_logprobs}
    if request.schema is not None and "schema" not in without:
        form = {"name": "answer", "strict": True, "schema": request.schema}
        head["response_format"] = {"type": "json_schema", "json_schema": form}
    pieces = [_json(head)[:-1], b',"messages":[']
    if request.system:
        pieces += [_json({"role": "system", "content": request.system}), b","]
    pieces += [b'{"role":"user","content":', *_content(request), b"}]}"]
    return b"".join(pieces)


def _content(request: Request) -> list[bytes]:
    """A plain string where there is no image: not every server takes a list of texts."""
    if all(isinstance(part, Text) for part in request.parts):
        return [_json("\n".join(part.text for part in request.parts if isinstance(part, Text)))]
    pieces: list[bytes] = []
    for part in request.parts:
        pieces.append(b"," if pieces else b"[")
        if isinstance(part, Text):
            pieces.append(_json({"type": "text", "text": part.text}))
        else:
            pieces += [_IMAGE % part.media_type.encode("ascii"), part.base64, b'"}}']
    return [*pieces, b"]"]


def _json(value: Any) -> bytes:
    """Compact JSON in UTF-8; half a surrogate pair, which no server would take, becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def estimate(request: Request, tokens_an_image: int = 1000) -> tuple[int, int]:
    """About how many tokens go in and at most come out: four characters a token, so many an image."""
    characters = len(request.system)
    images = 0
    for part in request.parts:
        if isinstance(part, Text):
            characters += len(part.text)
        else:
            images += 1
    return characters // 4 + images * tokens_an_image, request.params.max_tokens or 1024


def refused_parameter(error: CallError, without: Collection[str], request: Request) -> str | None:
    """The parameter that a 4xx says is not supported, if it is one that the request can do without."""
    if error.status not in {400, 404, 422, 501}:
        return None
    found = error_of(error.body)
    named, text = found.get("param"), str(found.get("message", ""))[:2000]
    if not text:
        text = error.body[:2000].decode("utf-8", "replace")
    if not _UNSUPPORTED.search(text) and found.get("code") != "unsupported_parameter":
        return None
    where = f"{named} {text}".lower()
    for name in OPTIONAL:
        if name not in without and _sent(request, name) and any(word in where for word in _NAMES[name]):
            return name
    return None


def _sent(request: Request, name: str) -> bool:
    params = request.params
    return {
        "schema": request.schema is not None,
        "temperature": params.temperature is not None,
        "seed": params.seed is not None,
        "logprobs": params.top_logprobs > 0,
        "max_tokens": params.max_tokens is not None,
    }[name]


_TOO_LONG = re.compile(
    r"context[ _-]*(?:length|size|window)|\btoo (?:long|many (?:input )?tokens)\b|maximum number of tokens"
    r"|(?:prompt|input|messages?|request)\b[^.]{0,40}\btoo large\b"
    r"|reduce (?:the|your) (?:length|prompt|input)|(?:tokens?|length)\b[^.]{0,40}\bexceeds?\b",
    re.IGNORECASE,
)
_LONG_CODES = {"context_length_exceeded", "string_above_max_length", "exceed_context_size_error"}


def too_long(error: CallError) -> bool:
    """Whether an endpoint refuses a request because it is too long: a 413, or a 4xx that says so.

    >>> too_long(CallError("rejected", "400: model x does not exist", status=400))
    False
    >>> too_long(CallError("rejected", "400: This model's maximum context length is 8192", status=400))
    True
    """
    if error.kind != "rejected" or error.status not in {400, 413, 422}:
        return False
    found = error_of(error.body)
    codes = {str(found.get(key)) for key in ("code", "type")}
    return error.status == 413 or bool(codes & _LONG_CODES) or _TOO_LONG.search(error.what) is not None


def filtered(error: CallError) -> Answer | None:
    """The refusal that a content filter makes of a 400 (Azure); None for any other error."""
    found = error_of(error.body) if error.status == 400 else {}
    if found.get("code") != "content_filter":
        return None
    return Answer(text=None, finish="content_filter", refusal=error.what, requests=error.requests)


# --- the answer


def check(data: bytes) -> None:
    """Raise `CallError` for a 200 that holds no chat completion."""
    _choice(_document(data)[0])


def answer(data: bytes, *, requests: int = 1, seconds: float = 0.0, without: tuple[str, ...] = ()) -> Answer:
    """The answer in a response body. Raises `CallError` for what is no chat completion."""
    document, defect = _document(data)
    choice = _choice(document)
    said = choice["message"]
    finish = choice.get("finish_reason")
    refusal = said.get("refusal")
    if not isinstance(refusal, str) or not refusal:
        refusal = "" if finish == "content_filter" else None
    strings = _Strings()
    found = Answer(
        text=strings(_text(said.get("content"))),
        finish=strings(finish) if isinstance(finish, str) else None,
        refusal=strings(refusal),
        model=stated_model(document.get("model")),
        usage=_usage(document.get("usage")),
        logprobs=_logprobs(choice.get("logprobs"), strings),
        cost=_cost(document.get("usage")),
        defect=defect or _other_choices(document),
        requests=requests,
        seconds=seconds,
        without=without,
    )
    if strings.torn and defect is None:
        found = found.model_copy(update={"defect": "half of a surrogate pair"})
    return found


def stated_model(name: Any) -> str | None:
    """The model's name as an endpoint states it: 200 printable characters at most, for it is in every line.

    >>> stated_model("m\\n\\x1b[31m" + "x" * 999)[:7], stated_model("\\n"), stated_model(3)
    ('m [31mx', None, None)
    """
    if not isinstance(name, str):
        return None
    shown = "".join(c if c.isprintable() else " " for c in name[: 4 * MAX_MODEL])
    return " ".join(shown.split())[:MAX_MODEL] or None


class _Strings:
    """Strings as UTF-8 can hold them; notes where one could not be."""

    def __init__(self) -> None:
        self.torn = False

    def __call__(self, text: str | None) -> str | None:
        if text is None:
            return None
        try:
            text.encode()
        except UnicodeEncodeError:
            self.torn = True
            return text.encode("utf-8", "replace").decode()
        return text


def _document(data: bytes) -> tuple[dict[str, Any], str | None]:
    """The JSON object of a response, and what is wrong with its bytes."""
    try:
        text, defect = data.decode().removeprefix("\ufeff"), None
    except UnicodeDecodeError:
        text, defect = data.decode("utf-8", "replace"), "invalid UTF-8"
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        _no_completion(f"not JSON: {text[:80]!r}")
    if not isinstance(document, dict):
        _no_completion(f"JSON, but {type(document).__name__}")
    return document, defect


def _choice(document: dict[str, Any]) -> dict[str, Any]:
    error = document.get("error")
    if error:  # some gateways answer 200 and say inside that it is none
        code = error.get("code") if isinstance(error, dict) else None
        said = error.get("message") if isinstance(error, dict) else error
        status = code if isinstance(code, int) and 400 <= code < 600 else None
        kind = kind_of(status) if status else "protocol"
        raise CallError(kind, f"an error in a 200: {str(said)[:200]}", status=status)
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        _no_completion(f"keys {', '.join(sorted(map(str, document)))[:120]}")
    return first


def _other_choices(document: dict[str, Any]) -> str | None:
    """What is wrong where one answer was asked for and several came that differ."""
    said = []
    for choice in document["choices"]:
        message = choice.get("message") if isinstance(choice, dict) else None
        said.append(message.get("content") if isinstance(message, dict) else None)
    return "there are several answers, and they differ" if any(one != said[0] for one in said) else None


def _no_completion(found: str) -> NoReturn:
    raise CallError("protocol", f"200, but no chat completion: {found}", status=200)


_TEXTS = ("text", "output_text")
"""What a part of a content is called that is text."""


def _text(content: Any) -> str | None:
    """A string, or the texts of a list of parts; None for anything else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") in _TEXTS]
    return "".join(text for text in texts if isinstance(text, str)) if texts else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None


def _usage(found: Any) -> Usage:
    if not isinstance(found, dict):
        return Usage()
    prompt, completion = found.get("prompt_tokens_details"), found.get("completion_tokens_details")
    return Usage(
        input_tokens=_count(found.get("prompt_tokens")),
        output_tokens=_count(found.get("completion_tokens")),
        cached_tokens=_count(prompt.get("cached_tokens")) if isinstance(prompt, dict) else None,
        reasoning_tokens=_count(completion.get("reasoning_tokens")) if isinstance(completion, dict) else None,
    )


def _cost(usage: Any) -> float | None:
    """US dollars, where the endpoint states them (OpenRouter)."""
    found = usage.get("cost") if isinstance(usage, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < 1e6:
        return None
    return float(found)


def _logprobs(found: Any, strings: _Strings) -> tuple[Token, ...] | None:
    """The tokens with their alternatives; None where there are none or they are not of this form."""
    content = found.get("content") if isinstance(found, dict) else None
    if not isinstance(content, list):
        return None
    try:
        return tuple(
            Token(
                token=strings(one["token"]) or "",
                logprob=_finite(one["logprob"]),
                top=tuple(
                    Alternative(token=strings(other["token"]) or "", logprob=_finite(other["logprob"]))
                    for other in one.get("top_logprobs") or ()
                ),
            )
            for one in content
        )
    except (KeyError, TypeError, ValueError, AttributeError, ValidationError):
        return None


def _finite(value: Any) -> float:
    """A log-probability; what is minus infinity is a floor. Raises `ValueError` for what is none."""
    if value is None or value == -math.inf:
        return FLOOR
    number = float(value)
    if math.isnan(number) or number > 1e-6:
        raise ValueError(f"log-probability {value!r}")
    return max(FLOOR, min(number, 0.0))
