"""Files: manifest, schema."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pyrite.cli import common, examples


@click.command(
    epilog=examples(
        "pyrite manifest pyrite-demo",
        "pyrite manifest pyrite-demo --check",
        "pyrite manifest runs/first --check --json",
    )
)
@click.argument("bench", type=click.Path(path_type=Path))
@click.option(
    "--check", is_flag=True, help="Compare with the manifest that is there; exit 1 where it differs."
)
@common
def manifest(bench: Path, check: bool, as_json: bool, quiet: bool, debug: bool, no_color: bool) -> int:
    """Write MANIFEST.sha256: every file of BENCH with its digest, as `sha256sum -c` reads it.

    --check names each file that has changed (by as little as a bit), is missing, or is new.
    """
    from pyrite.cli import screen, shown
    from pyrite.store import manifest as manifests

    progress = screen.Progress(quiet=quiet, no_color=no_color)
    with progress.stage("check" if check else "manifest") as stage:
        if not check:
            written = manifests.write(bench, watch=stage)
            stage.summary = shown.manifest_summary(written.files, written.bytes)
        else:
            compared = manifests.check(bench, watch=stage)
            stage.summary = shown.manifest_summary(compared.files, compared.bytes)
    if not check:
        if as_json:
            screen.result_json(written)
        else:
            screen.result(shown.manifest_text(written))
        return 0
    if as_json:
        screen.result_json(compared.as_json())
    else:
        screen.result(shown.checked_text(compared))
    return 0 if compared.ok else 1


@click.command(
    epilog=examples("pyrite schema", "pyrite schema meta > meta.schema.json", "pyrite schema task --json")
)
@click.argument("name", required=False)
@common
def schema(name: str | None, as_json: bool, quiet: bool, debug: bool, no_color: bool) -> int:
    """Print the JSON Schema of the record NAME, for whoever writes or reads a bench; without NAME, list them.

    A schema is printed bare, to be saved as it is; with --json it stands beside its name and file.
    """
    from pyrite.cli import screen, shown
    from pyrite.store import schemas

    if name is None:
        rows = [
            {"name": one.name, "file": one.file, "form": one.form, "text": one.text}
            for one in schemas.DESCRIBED
        ]
        if as_json:
            screen.result_json({"schema_version": "1", "schemas": rows})
        else:
            screen.result(
                shown.columns(
                    ("name", "file", "what it is"), [(r["name"], r["file"], r["text"]) for r in rows]
                )
            )
            screen.result("next     pyrite schema NAME")
        return 0
    one = schemas.described(name)
    if as_json:
        screen.result_json(
            {
                "schema_version": "1",
                "name": one.name,
                "file": one.file,
                "form": one.form,
                "schema": one.schema(),
            }
        )
    else:
        screen.result(json.dumps(one.schema(), indent=2, ensure_ascii=False))
    return 0
