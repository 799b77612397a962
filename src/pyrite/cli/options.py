"""Options that several verbs share, each with one text: the bench, tasks, and the columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

BENCH = click.argument("bench", type=click.Path(path_type=Path))
TASKS = click.option(
    "--tasks",
    "tasks",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A folder of folder tasks; may be given more than once.",
)
_COLUMNS = "pyrite.columns"


class Listed(click.Option):
    """An option for several names: between commas, or given once more for each of them.

    A callback and the command get one text with commas either way; None without any.
    """

    def __init__(self, declarations: Sequence[str], **attributes: Any) -> None:
        if isinstance(default := attributes.get("default"), str):
            attributes["default"] = (default,)
        then = attributes.pop("callback", None)

        def read(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Any:
            text = self.text(value) if value else None
            return text if then is None else then(ctx, param, text)

        super().__init__(declarations, multiple=True, callback=read, **attributes)

    def text(self, given: tuple[str, ...]) -> str:
        """What was given, as one text."""
        if not all(one.strip() for one in given):
            raise click.BadParameter("an empty name; expected names, between commas or one by one")
        return ",".join(given)


class Once(Listed):
    """An option for one value that is refused where it is given twice: the first would get lost."""

    def text(self, given: tuple[str, ...]) -> str:
        if len(given) > 1:
            raise click.BadParameter(f"given {len(given)} times; expected one value")
        return given[0]


def column_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Names between commas. An empty one is an error: a column of verdicts must not get lost."""
    names = tuple(part.strip() for part in value.split(",")) if value is not None else ()
    if not all(names):
        raise click.BadParameter(f"{value!r} holds an empty name; expected column names between commas")
    return names


def base_rates(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...]:
    """Shares between commas, each above 0 and below 1."""
    found = []
    for part in (value or "").split(",") if value is not None else ():
        try:
            rate = float(part)
        except ValueError:
            rate = -1.0
        if not 0 < rate < 1:
            raise click.BadParameter(f"{part.strip()[:40]!r}; expected shares between 0 and 1: 0.03,0.1")
        found.append(rate)
    return tuple(found)


def bench_or_table(command: Command) -> Command:
    """[BENCH] or --table FILE with the columns that say what its rows mean; `columns()` has their values."""
    for option in reversed(
        (
            click.argument("bench", type=click.Path(path_type=Path), required=False),
            click.option("--table", type=click.Path(path_type=Path), help="CSV, JSONL, JSON array, Parquet."),
            _column("--truth", help="Truth column, or COL>=T to binarise a score."),
            _column("--verdicts", named=True, help="Verdict columns; COL>=T binarises."),
            _column("--cluster", help="Column of what episodes share: the task."),
            _column("--cluster-strip", help="Regular expression to cut from the cluster."),
            _column("--map", "mapping", multiple=True, metavar="VALUE=OUTCOME", help="What VALUE means."),
            _column("--where", help="Only rows where this column is filled."),
            _column("--key", named=True, help="Columns that name an episode: no repeats."),
        )
    ):
        command = option(command)
    return command


def columns() -> dict[str, Any]:
    """What the table options of the running verb say: truth, verdicts, cluster, ..., as flow names them."""
    found: dict[str, Any] = click.get_current_context().meta[_COLUMNS]
    return dict(found)


def one_source(
    bench: Path | None, table: Path | None, *, of_a_table: object, of_a_bench: object = None, names: str = ""
) -> None:
    """Refuse none or both of BENCH and --table, and options that go with the other one."""
    if (bench is None) == (table is None):
        raise click.UsageError("give either a BENCH or --table FILE")
    if bench is not None and of_a_table:
        raise click.UsageError("--truth, --verdicts, --cluster ... go with --table, not with a BENCH")
    if table is not None and of_a_bench:
        raise click.UsageError(f"{names} go with a BENCH, not with --table")


def _column(
    option: str,
    name: str | None = None,
    *,
    help: str,
    named: bool = False,
    multiple: bool = False,
    metavar: str | None = None,
) -> Callable[[Command], Command]:
    """An option that is kept for `columns()`; `named` holds names between commas."""
    key = name or option.removeprefix("--").replace("-", "_")

    def keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        ctx.meta.setdefault(_COLUMNS, {})[key] = column_names(ctx, param, value) if named else value

    given: dict[str, Any] = {"callback": keep, "expose_value": False, "metavar": metavar, "help": help}
    if named:
        return click.option(option, key, cls=Listed, **given)
    return click.option(option, key, multiple=multiple, **given)
