"""Family files_archive: pack named files into an archive, or take some out of one.

An archive counts by the paths and contents that it holds, whatever its order, times and strength of packing;
its form must be the one that its name says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pyrite.checks.archives import read_archive
from pyrite.checks.package import Unreadable
from pyrite.checks.verdict import Result
from pyrite.suites.desk.goals import FILES, READS, Goal, Status, content, judge, sha256, shell
from pyrite.suites.desk.layouts import INVOICES, PROJECTS, REPORTS
from pyrite.suites.family import Family, KnownState

LETTERS, PHOTOS = "Backup/letters.tar.gz", "Backup/photos.zip"
BACKUP = {
    LETTERS: "texts/letters.tar.gz",
    "Backup/letters_2023.tar.gz": "texts/letters_2023.tar.gz",
    PHOTOS: "texts/photos.zip",
    "Letters/june.txt": "texts/garden_notes.md",
    "Letters/list.txt": "texts/words_new.txt",
}


class Params(NamedTuple):
    """One task."""

    initial: Mapping[str, str]
    words: str
    command: str
    bystander: str
    sibling: str
    """For packing: a file that may be mistaken for one of `members`; else an archive."""
    archive: str = ""
    """The archive to make or to add to."""
    members: tuple[tuple[str, str], ...] = ()
    """(path in the archive, file of the home); beside what is in it already."""
    taken: tuple[tuple[str, str], ...] = ()
    """(member of `source`, file of the home that it becomes)."""
    source: str = ""


def _packing(
    initial: Mapping[str, str], folder: str, names: tuple[str, ...], to: str, sibling: str
) -> Params:
    listed, last = ", ".join(names), PurePosixPath(folder).name
    zipped = to.endswith(".zip")
    held = ", ".join(f"{last}/{name}" for name in names)
    words = (
        f"Pack the files {listed} of the folder {folder} into the new "
        f"{'zip' if zipped else 'gzipped tar'} archive "
        f"{to}, in which they are {held}. Leave the files themselves where they are."
    )
    depth = "/".join([".."] * folder.count("/")) if "/" in folder else "."
    inside = " ".join(f"{last}/{name}" for name in names)
    place = str(PurePosixPath(folder).parent)
    tool = "zip -q" if zipped else "tar czf"
    command = f"cd {place} && {tool} {depth}/{to} {inside}; cd"
    members = tuple((f"{last}/{name}", f"{folder}/{name}") for name in names)
    return Params(initial, words, command, members[0][1], f"{folder}/{sibling}", to, members)


PARAMS = {
    "files-archive-reports-tar": _packing(
        REPORTS, "Documents/Reports", ("report_2023.txt", "report_2024.txt"), "Documents/reports.tar.gz",
        "report_2024_draft.txt",
    ),
    "files-archive-invoices-zip": _packing(
        INVOICES, "Documents/Invoices", ("invoice_1041.csv", "invoice_1402.csv"), "Documents/invoices.zip",
        "invoice_1042.csv",
    ),
    "files-archive-garden-tar": _packing(
        PROJECTS, "Projects/garden", ("plan.md", "notes.md", "plants.txt"), "Projects/garden.tar.gz",
        "../garden-old/plan.md",
    ),
    "files-archive-take-letters": Params(
        BACKUP,
        f"Unpack the file letters/march.txt, and no other, from {LETTERS} into the folder Letters, "
        f"so that it is "
        "Letters/march.txt.",
        f"tar xzf {LETTERS} -C Letters --strip-components=1 letters/march.txt", "Letters/june.txt",
        "Backup/letters_2023.tar.gz", taken=(("letters/march.txt", "Letters/march.txt"),), source=LETTERS,
    ),
    "files-archive-take-captions": Params(
        BACKUP,
        f"Unpack the two files of the folder captions in {PHOTOS} into the home folder, so that they are "
        "captions/harbour.txt and captions/market.txt. Do not unpack index.txt.",
        f"unzip -q {PHOTOS} 'captions/*'", "Letters/june.txt", LETTERS,
        taken=(("captions/harbour.txt", "captions/harbour.txt"),
               ("captions/market.txt", "captions/market.txt")),
        source=PHOTOS,
    ),
    "files-archive-add-june": Params(
        BACKUP,
        f"Add the file Letters/june.txt to the existing archive {PHOTOS}, as Letters/june.txt. "
        "What it holds stays.",
        f"zip -q {PHOTOS} Letters/june.txt", "Backup/letters_2023.tar.gz", "Letters/list.txt", PHOTOS,
        (("Letters/june.txt", "Letters/june.txt"),),
    ),
}  # fmt: skip


def instruction(params: Params) -> str:
    return f"{params.words} Leave everything else as it is."


def claim(params: Params) -> str:
    return f"{params.archive or params.source} is dealt with as asked."


def initial(params: Params) -> Mapping[str, str]:
    return params.initial


def opened(params: Params) -> tuple[str, tuple[str, ...]]:
    return "xterm", ()


def script(params: Params) -> list[dict[str, Any]]:
    return shell(params.command)


def _digests(params: Params) -> dict[str, str]:
    """Path -> digest of what the archive is to hold."""
    old = (
        read_archive(FILES / params.initial[params.archive]).files if params.archive in params.initial else {}
    )
    new = {path: sha256(content(params.initial, file)) for path, file in params.members}
    return {**old, **new}


def _look(params: Params, home: Path) -> Status:
    """What became of the archive."""
    was = FILES / params.initial[params.archive] if params.archive in params.initial else None
    try:
        found = read_archive(home / params.archive)
    except Unreadable as exc:
        if exc.reason != "missing":
            return "wrong"
        return "untouched" if was is None else "lost"
    if was is not None and found.files == read_archive(was).files:
        return "untouched"
    fits = params.archive.endswith(found.form)
    other = any(member.kind == "other" for member in found.members.values())
    return "right" if fits and not other and found.files == _digests(params) else "wrong"


def _goals(params: Params) -> list[Goal]:
    if params.archive:
        return [Goal(params.archive, look=lambda home: _look(params, home))]
    source = read_archive(FILES / params.initial[params.source]).files
    return [Goal(path, (source[member],)) for member, path in params.taken]


def verify(params: Params, home: Path) -> Result:
    """The archive, or what came out of it, is as asked, and every other file is as it was."""
    expected = [path for path, _ in params.members] or [member for member, _ in params.taken]
    return judge(home, params.initial, _goals(params), expected=expected, decoys=_decoys(params, home))


def _decoys(params: Params, home: Path) -> list[Goal]:
    """The right archive under another name, beside or in the home."""
    if not params.archive:
        return []
    place = PurePosixPath(params.archive)
    names = [str(place.with_stem(f"{place.name.partition('.')[0]}{end}")) for end in ("_new", " copy", "-1")]
    names += [place.name, f"Elsewhere/{place.name}"]
    others = [params._replace(archive=name) for name in names if name not in params.initial]
    return [Goal(one.archive, look=_reached(params, one), code="F-WRONGTARGET") for one in others]


def _reached(params: Params, other: Params) -> Callable[[Path], Status]:
    """Whether another archive holds what the archive of the task should."""

    def look(home: Path) -> Status:
        try:
            return "right" if read_archive(home / other.archive).files == _digests(params) else "wrong"
        except Unreadable:
            return "wrong"

    return look


def good(params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import files_archive_states as known

    return known.good(params)


def harmless(params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import files_archive_states as known

    return known.harmless(params)


def bad(params: Params) -> tuple[KnownState, ...]:
    from pyrite.suites.desk import files_archive_states as known

    return known.bad(params)


FAMILY = Family(
    name="files_archive",
    domain="files",
    files=FILES,
    params=PARAMS,
    instruction=instruction,
    initial=initial,
    opened=opened,
    reads=READS,
    good=good,
    harmless=harmless,
    bad=bad,
    verify=verify,
    script=script,
    claim=claim,
    tools=(
        "zip",
        "unzip",
    ),
)
