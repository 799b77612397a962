"""The options of verbs that ask models: which one, how fast, and what may be spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pyrite.errors import UsageError

if TYPE_CHECKING:
    from pyrite.judges.client.calls import Calls
    from pyrite.judges.local.client import LocalModel

Command = TypeVar("Command", bound=Callable[..., Any])

_PLACE = "pyrite.endpoint."


def _note(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    ctx.meta[f"{_PLACE}{param.name}"] = value


def _option(name: str, text: str, **more: Any) -> Callable[[Command], Command]:
    return click.option(name, expose_value=False, callback=_note, help=text, **more)


def endpoint(command: Command) -> Command:
    """Options of an endpoint; `calls()` gives what they say."""
    for option in reversed(
        (
            _option("--model", "Model, where a label names none; inspect:…, replay:FILE."),
            _option("--base-url", "OpenAI-compatible endpoint.", metavar="URL"),
            _option("--gguf", "Model file to serve here, or: smoke.", metavar="PATH"),
            _option("--mmproj", "The file that gives it eyes.", metavar="PATH"),
            _option("--sha256", "What the model file must have.", metavar="HEX"),
            _option("--api-key-env", "Variable that holds its key.", metavar="NAME"),
            _option(
                "--concurrency", "Calls at once.", type=click.IntRange(1, 1024), default=8, show_default=True
            ),
            _option("--rpm", "Requests a minute.", type=click.FloatRange(0, min_open=True)),
            _option("--tpm", "Tokens a minute.", type=click.FloatRange(0, min_open=True)),
            _option(
                "--timeout",
                "Seconds a request.",
                type=click.FloatRange(0, 3600, min_open=True),
                default=120,
                show_default=True,
            ),
            _option("--retries", "Repeats a call.", type=click.IntRange(0, 20), default=4, show_default=True),
            _option("--price", "Dollars a million tokens.", metavar="IN/OUT"),
            _option("--budget", "Stop there: dollars, or tokens: 200000t.", metavar="AMOUNT"),
        )
    ):
        command = option(command)
    return command


def calls(*, cache: bool, sends: bool = True) -> Calls:
    """The calls of this command; without `sends` it only says what it would do.

    Raises `UsageError` for a price or a budget that is none.
    """
    from pyrite.judges.client.budget import Cap, Price
    from pyrite.judges.client.calls import Calls, Options
    from pyrite.judges.client.limits import Limits

    meta = click.get_current_context().meta

    def said(name: str) -> Any:
        return meta.get(f"{_PLACE}{name}")

    local = _local(said("gguf"), said("mmproj"), said("sha256"))
    if local is not None and (said("model") or said("base_url")):
        raise UsageError("--gguf names the model and its place", expected="no --model and no --base-url")
    for name in ("rpm", "tpm", "timeout"):
        if said(name) is not None and not 0 < said(name) < float("inf"):  # NaN is in any range
            raise UsageError(f"--{name} {said(name)}", expected="a number above 0")
    limits = Limits(
        in_flight=said("concurrency") if local is None else 1,
        requests_per_minute=said("rpm"),
        tokens_per_minute=said("tpm"),
        attempt_s=said("timeout"),
        call_s=max(600.0, said("timeout") * (said("retries") + 1)),
        retries=said("retries"),
    )
    return Calls(
        Options(
            model=said("model") if local is None else local.name,
            base_url=said("base_url"),
            api_key_env=said("api_key_env"),
            limits=limits,
            cap=Cap.parse(said("budget")) if said("budget") else None,
            price=Price.parse(said("price")) if said("price") else None,
            cache=cache,
            sends=sends,
            local=local,
        )
    )


def _local(gguf: str | None, mmproj: str | None, sha256: str | None) -> LocalModel | None:
    if gguf is None:
        if mmproj or sha256:
            raise UsageError("--mmproj and --sha256 tell more of a model file", expected="--gguf PATH")
        return None
    from pyrite.judges.local.client import LocalModel

    return LocalModel.find(gguf, mmproj=mmproj, sha256=sha256)


def tell_unasked(asking: Calls) -> None:
    """Say on stderr which answers of a recording nobody asked for."""
    for told in asking.unasked():
        click.echo(f"note: {told}", err=True)
