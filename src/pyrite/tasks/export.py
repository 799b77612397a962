"""Write a task as a plain folder that needs nothing of pyrite to be read, changed and verified.

    <task_id>/
      task.json                  instruction, recipe, states, what the verifier reads
      verify.py  verifier/       the verifier, with the modules and files that it uses
      setup.py  home.tar         the initial home, only where the recipe's files are not all of it
      states/<name>.tar.zst      every declared end state, as a whole home

The modules of a suite's verifier are copied as they are, save for their imports: `pyrite.` becomes
`verifier.`. What only builds states is left out, and so are the files of other tasks.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import stat
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pyrite
from pyrite.checks.homes import digest_file
from pyrite.errors import UsageError
from pyrite.records import StateSpec, TaskSpec
from pyrite.tasks.archive import write
from pyrite.tasks.task import INITIAL

PACKAGE = "verifier"
_OURS = "pyrite"
ROOT = Path(pyrite.__file__).resolve().parent

_SETUP = '''"""Lays out the initial home: links, empty folders and modes too."""

import os
import tarfile

with tarfile.open(os.path.join(os.environ["TASK"], "home.tar")) as archive:
    archive.extractall(os.environ["HOME"], filter="fully_trusted")
'''
_VERIFY = '''"""The verifier of {task_id}: python verify.py ROOT prints one JSON object.

Exported from pyrite {version}; needs Python 3.11 and defusedxml, nothing of pyrite. What it decides stands in
{module}.
"""

import sys

sys.dont_write_bytecode = True  # the folder is not ours to write to

from {package}.checks.verdict import main  # noqa: E402
from {dotted} import FAMILY  # noqa: E402

TASK = {task_id!r}

if __name__ == "__main__":
    main(lambda home: FAMILY.verify(FAMILY.params[TASK], home), sys.argv[1:])
'''
_INIT = '"""Copied from pyrite for a verifier; Apache-2.0."""\n'


@dataclass(frozen=True)
class Verifier:
    """What decides, as files of a folder."""

    files: Mapping[str, bytes]
    """Path -> content; `verify.py` among them."""
    recipe: Mapping[str, str]
    """Path in the home -> which of `files`, for what the recipe lays in."""


def verifier_of_family(
    module: str, task_id: str, folder: Path, initial: Mapping[str, str], compared: Sequence[str] = ()
) -> Verifier:
    """The verifier of a family task: its module with all that it imports, and the files that it reads.

    `folder` holds the files that `initial` (path in the home -> name) speaks of, and those it compares with.
    Raises `UsageError` where a module imports pyrite in a way that cannot be carried over.
    """
    files = {name: source for one in sorted(closure(module)) for name, source in _module(one)}
    for name in list(files):
        for parent in Path(name).parents:
            if parent.name:
                files.setdefault(f"{parent}/__init__.py", _INIT.encode())
    place = f"{PACKAGE}/{folder.resolve().relative_to(ROOT)}"
    recipe = {path: f"{place}/{name}" for path, name in initial.items()}
    files |= {f"{place}/{name}": (folder / name).read_bytes() for name in {*initial.values(), *compared}}
    text = _VERIFY.format(
        task_id=task_id,
        version=pyrite.__version__,
        module=f"{_renamed(module).replace('.', '/')}.py",
        package=PACKAGE,
        dotted=_renamed(module),
    )
    return Verifier({**files, "verify.py": text.encode()}, recipe)


def closure(module: str) -> set[str]:
    """The modules of pyrite that a verifier's process imports: at the top, or of `checks` anywhere."""
    found: set[str] = set()
    waiting = [module, f"{_OURS}.checks.verdict"]
    while waiting:
        name = waiting.pop()
        if name in found or _is_package(name):
            continue
        found.add(name)
        tree = ast.parse(_source(name))
        waiting += _named(tree.body)
        waiting += [one for one in _named(ast.walk(tree)) if one.startswith(f"{_OURS}.checks.")]
    return found


def _named(nodes: Iterable[ast.AST]) -> list[str]:
    """Modules of ours that import statements name."""
    found: list[str] = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_ours(node.module or ""):
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [part for part in parts if _is_module(part)]
            if _is_package(node.module or "") and len(modules) < len(parts):
                raise UsageError(
                    f"{node.module} is a package; the verifier imports names of it",
                    expected="from pyrite.package.module import name",
                )
            found += [node.module or "", *modules]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if _is_ours(alias.name)]
    return found


def _is_ours(name: str) -> bool:
    return name == _OURS or name.startswith(f"{_OURS}.")


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _is_package(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and spec.submodule_search_locations is not None


def _source(name: str) -> str:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise UsageError(f"module {name!r} of a suite cannot be found")
    return Path(spec.origin).read_text(encoding="utf-8")


def _module(name: str) -> list[tuple[str, bytes]]:
    return [(f"{_renamed(name).replace('.', '/')}.py", carried(_source(name), name).encode())]


def _renamed(name: str) -> str:
    return PACKAGE + name.removeprefix(_OURS)


def carried(source: str, name: str) -> str:
    """A module's text with its imports of pyrite turned into imports of the copy."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias for alias in node.names if _is_ours(alias.name)]
            if any(alias.asname is None for alias in names):
                raise UsageError(
                    "an import of pyrite by its dotted name cannot be carried over",
                    where=f"{name}, line {node.lineno}",
                    expected="from pyrite.package import module",
                )
            count = len(names)
        elif isinstance(node, ast.ImportFrom):
            count = 1 if node.level == 0 and _is_ours(node.module or "") else 0
        else:
            continue
        if count:
            line, begin = lines[node.lineno - 1], node.col_offset
            renamed = re.sub(rf"\b{_OURS}\b(?=[.\s])", PACKAGE, line[begin:], count=count)
            lines[node.lineno - 1] = line[:begin] + renamed
    return "\n".join(lines)


# --- the folder


def write_folder(
    folder: Path, spec: TaskSpec, verifier: Verifier, homes: Path, claim: str | None = None
) -> None:
    """Write one task; `homes` holds a home a state, `initial` among them. The folder must not exist."""
    folder.mkdir(parents=True)
    for name, content in verifier.files.items():
        put(folder / name, content)
    whole = is_recipe(homes / INITIAL, folder, verifier.recipe)
    if not whole:
        put(folder / "setup.py", _SETUP.encode())
        put(folder / "home.tar", tarred(homes / INITIAL))
    put(folder / "task.json", _described(spec, verifier.recipe if whole else {}, claim))
    for state in spec.states:
        write(homes / state.name, folder / "states" / f"{state.name}.tar.zst")


def put(path: Path, content: bytes) -> None:
    """Write one file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def is_recipe(home: Path, folder: Path, recipe: Mapping[str, str]) -> bool:
    """Whether a home is what the recipe's files alone make of an empty one."""
    found = {}
    for root, folders, files in os.walk(home):
        names = [*files, *(name for name in folders if (Path(root) / name).is_symlink())]
        if not files and not folders and Path(root) != home:
            return False
        for name in names:
            path = Path(root) / name
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o111:
                return False
            found[str(path.relative_to(home))] = digest_file(path)
    return found == {path: digest_file(folder / source) for path, source in recipe.items()}


def tarred(home: Path) -> bytes:
    """A home as a plain tar: sorted, owners and times 0, modes and links kept."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(home.iterdir()):
            archive.add(path, path.name, filter=plain)
    return out.getvalue()


def _described(spec: TaskSpec, recipe: Mapping[str, str], claim: str | None) -> bytes:
    body = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"task_id", "initial"})
    initial: dict[str, object] = {
        "files": [{"path": path, "from": source} for path, source in recipe.items()]
    }
    if spec.initial.open is not None:
        initial["open"] = spec.initial.open.model_dump(mode="json", exclude_defaults=True)
    body = {"instruction": body.pop("instruction"), "initial": initial, **body}
    body["states"] = [_state(state) for state in spec.states]
    if spec.act:
        body["truth_from"] = spec.truth_from
    if claim is not None:
        body["claim"] = claim
    return (json.dumps(body, indent=2, ensure_ascii=False) + "\n").encode()


def _state(state: StateSpec) -> dict[str, object]:
    """A declared state; that no category fits is said too, where it was declared."""
    told = {"name": state.name, "kind": state.kind, "outcome": str(state.outcome.value)}
    declared = state.kind == "bad" and "category" in state.model_fields_set
    return {**told, "category": list(state.category)} if declared else dict(told)


def copied(folder: Path, out: Path, leave: Sequence[str] = ()) -> None:
    """Copy a task folder that is one already, without what Python caches."""
    shutil.copytree(folder, out, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", *leave))
