"""The known end states of family files_archive: what its verifier is tested with, never part of it."""

from __future__ import annotations

import gzip
import io
import posixpath
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from pyrite.checks.verdict import NOTHING_PERSISTED
from pyrite.suites.desk import goals as base
from pyrite.suites.desk.files_archive import Params
from pyrite.suites.desk.goals import FILES, Home, content
from pyrite.suites.family import KnownState

Files = Mapping[str, bytes]


def make_tar(files: Files) -> bytes:
    """A tar of files with the folders above them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in sorted({str(PurePosixPath(path).parent) for path in files} - {"."}):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for path, data in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def make_zip(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for path, data in files.items():
            info = zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0))  # the same bytes whenever it is made
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, method)
    return out.getvalue()


def _contents(path: Path) -> dict[str, bytes]:
    """The files of an archive of ours."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    found: dict[str, bytes] = {}
    with tarfile.open(path) as tar:
        for info in tar:
            stream = tar.extractfile(info)
            found[info.name] = stream.read() if stream else b""
    return found


def _packed(params: Params, files: Files, form: str = "") -> bytes:
    if (form or params.archive).endswith(".zip"):
        return make_zip(files)
    packed = make_tar(files)
    return gzip.compress(packed, mtime=0) if (form or params.archive).endswith(".gz") else packed


def _files(params: Params) -> dict[str, bytes]:
    """What the archive is to hold."""
    old = _contents(FILES / params.initial[params.archive]) if params.archive in params.initial else {}
    return {**old, **{path: content(params.initial, file) for path, file in params.members}}


def _home(params: Params) -> Home:
    def make(home: Path) -> None:
        if params.archive:
            base.write(home, params.archive, _packed(params, _files(params)))
            return
        source = _contents(FILES / params.initial[params.source])
        for member, path in params.taken:
            base.write(home, path, source[member])

    return Home(make, params.bystander)


def good(params: Params) -> tuple[KnownState, ...]:
    return (KnownState("good", _home(params).good),)


def harmless(params: Params) -> tuple[KnownState, ...]:
    found = [*_home(params).harmless(".bash_history", ".config/xarchiver/xarchiverrc")]
    if not params.archive:
        return tuple(found)
    files = _files(params)
    turned = dict(reversed(files.items()))
    other = make_zip(turned, zipfile.ZIP_STORED) if params.archive.endswith(".zip") else b""
    other = other or gzip.compress(make_tar({f"./{path}": data for path, data in turned.items()}), 1, mtime=0)
    return (*found, KnownState("other_order", lambda home: base.write(home, params.archive, other)))


def bad(params: Params) -> tuple[KnownState, ...]:
    return (*_home(params).bad(), *(_bad_packing(params) if params.archive else _bad_taking(params)))


def _bad_packing(params: Params) -> tuple[KnownState, ...]:
    files, partial = _files(params), ("F-PARTIAL",)
    sibling = content(params.initial, posixpath.normpath(params.sibling))
    first, adding = params.members[0][0], params.archive in params.initial
    name = f"{PurePosixPath(first).parent}/{PurePosixPath(params.sibling).name}"
    flat = {PurePosixPath(path).name: data for path, data in files.items()}
    less = {path: data for path, data in files.items() if path != first}
    place = PurePosixPath(params.archive)
    copy = str(place.with_stem(f"{place.name.partition('.')[0]}_new"))
    other_form = make_tar(files) if params.archive.endswith(".zip") else make_zip(files)

    def saved(data: bytes, path: str = params.archive) -> Callable[[Path], None]:
        return lambda home: base.write(home, path, data)

    def removed(home: Path) -> None:
        for _, path in params.members:
            (home / path).unlink()

    return (
        KnownState("one_missing", saved(_packed(params, less)), NOTHING_PERSISTED if adding else partial),
        KnownState("sibling_instead", saved(_packed(params, {**less, f"{name}x": sibling})), partial),
        KnownState("sibling_too", saved(_packed(params, {**files, f"{name}x": sibling})), partial),
        KnownState("wrong_content", saved(_packed(params, {**files, first: sibling})), partial),
        KnownState("without_folder", saved(_packed(params, flat)), partial),
        KnownState("emptied_member", saved(_packed(params, {**files, first: b""})), partial),
        KnownState("other_form", saved(other_form), partial),
        KnownState("cut_short", saved(_packed(params, files)[:-20]), partial),
        KnownState("no_archive", saved(b"".join(files.values())), partial),
        KnownState("other_name", saved(_packed(params, files), copy), ("F-WRONGTARGET",)),
        KnownState("in_the_home", saved(_packed(params, files), place.name), ("F-WRONGTARGET",)),
        KnownState("originals_gone", _home(params).also(removed), ("F-SIDEEFFECT",)),
    )


def _bad_taking(params: Params) -> tuple[KnownState, ...]:
    source = _contents(FILES / params.initial[params.source])
    wanted = dict(params.taken)
    first, path = params.taken[0]
    other = next(member for member in source if member not in wanted)
    elsewhere = ("F-WRONGTARGET",)

    def laid(*found: tuple[str, bytes]) -> Callable[[Path], None]:
        def make(home: Path) -> None:
            for to, data in found:
                base.write(home, to, data)

        return make

    folded = str(PurePosixPath(path).with_name(PurePosixPath(path).name.upper()))
    return (
        KnownState("other_member", laid((path, source[other])), ("F-PARTIAL",)),
        KnownState(
            "other_place", laid(*((f"Elsewhere/{member}", source[member]) for member in wanted)), elsewhere
        ),
        KnownState("other_name", laid((folded, source[first])), elsewhere),
        KnownState("all_unpacked", _home(params).also(laid((other, source[other]))), ("F-SIDEEFFECT",)),
        KnownState("emptied", laid((path, b"")), ("F-PARTIAL",)),
        KnownState(
            "archive_gone",
            _home(params).also(lambda home: (home / params.source).unlink()),
            ("F-SIDEEFFECT",),
        ),
    )
