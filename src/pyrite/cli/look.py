"""Look and start: list, show, init."""

from __future__ import annotations

from pathlib import Path

import click

from pyrite.cli import common, examples

_KINDS = "suites, tasks, judges, agents, episodes"


@click.command(
    "list",
    epilog=examples(
        "pyrite list tasks",
        "pyrite list episodes pyrite-demo",
        "pyrite list episodes runs/first --needs category   # for pyrite label",
    ),
)
@click.argument("kind")
@click.argument("where", required=False)
@click.option("--needs", help="For episodes: `category` lists the failures that nobody has classified.")
@common
def listing(
    kind: str,
    where: str | None,
    needs: str | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
    no_color: bool,
) -> int:
    """List what there is of KIND: suites, tasks, judges, agents, or the episodes of a bench.

    WHERE is a bench for episodes; for tasks a suite, a folder of tasks or a bench (default: every
    suite). An empty --needs queue is an answer, exit 0.
    """
    from pyrite import catalog
    from pyrite.cli import screen, shown

    found = catalog.listing(kind, where, needs=needs)
    if as_json:
        screen.result_json(found)
    elif kind == "judges":
        screen.result(shown.judges_text(found, screen.terminal_width()))
    else:
        screen.result(shown.listing_text(found))
    return 0


@click.command(
    epilog=examples(
        "pyrite show pyrite-demo/episodes/ep_026f7f94cf46",
        "pyrite show ep_026f7f94cf46 pyrite-demo",
        "pyrite show screen-rules --json",
    )
)
@click.argument("name", metavar="ID")
@click.argument("where", required=False, metavar="[BENCH]")
@common
def show(name: str, where: str | None, as_json: bool, quiet: bool, debug: bool, no_color: bool) -> int:
    """Show one episode, task or judge, all that is known of it.

    ID is the path of an episode or task folder, a task of a suite, or a judge's label; with BENCH (or
    a suite, or a folder of tasks) it is an episode or task there. What an agent, a file or a judge
    wrote is shown with its control characters escaped; --json has all of it.
    """
    from pyrite import catalog
    from pyrite.cli import screen, shown

    found = catalog.show(name, where)
    if as_json:
        screen.result_json(found)
    else:
        screen.result(shown.text(found))
    return 0


@click.command(
    epilog=examples(
        "pyrite init task my-first-task",
        "pyrite init task set-price -o my-tasks",
        "pyrite init task set-price --json",
    )
)
@click.argument("kind", type=click.Choice(["task"]))
@click.argument("name")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("tasks"),
    show_default=True,
    help="The folder of tasks to put it in.",
)
@common
def init(kind: str, name: str, out: Path, as_json: bool, quiet: bool, debug: bool, no_color: bool) -> int:
    """Write a task that works, to be changed into yours: OUT/NAME with task.json, setup, verifier, states.

    Its comments say what belongs where. It needs the standard library of Python and nothing else, and
    its known states pass as they are. Nothing is overwritten.
    """
    from pyrite.cli import screen
    from pyrite.tasks import starter

    made = starter.start(name, out)
    files = sorted(str(path.relative_to(made.folder)) for path in made.folder.rglob("*") if path.is_file())
    after = [
        f"pyrite show {out / name}",
        f"pyrite record {out} --only {name} --agent idle,quitter -o runs/{name}",
        f"pyrite verify runs/{name} --tasks {out}",
    ]
    if as_json:
        screen.result_json(
            {"schema_version": "1", "task_id": name, "path": str(out / name), "files": files, "next": after}
        )
    else:
        lines = "\n".join(f"  {one}" for one in files)
        screen.result(f"task     {out / name}\n{lines}\nnext     " + "\n         ".join(after))
    return 0
