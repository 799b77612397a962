"""Make the archives, databases and git repositories of the desk suite's files and terminal tasks.

    .venv/bin/python tools/make_terminal_files.py      # writes src/pyrite/suites/desk/files/texts/

Needs git for the repositories. Times, names and owners are fixed, so the same tools give the same bytes.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path

FILES = Path(__file__).resolve().parents[1] / "src/pyrite/suites/desk/files"
TEXTS = FILES / "texts"
THEN = 1_709_251_200
"""2024-03-01."""

LETTERS = {
    "letters/april.txt": "To the library\n\nThank you for the tables in April.\n",
    "letters/march.txt": "To the library\n\nThank you for the tables in March.\n",
    "letters/notes/phone.txt": "Library: 0123 456\n",
}
PHOTOS = {
    "index.txt": "1 harbour\n2 market\n3 bridge\n",
    "captions/harbour.txt": "The harbour at noon.\n",
    "captions/market.txt": "The market in the rain.\n",
}


def make_tar(name: str, files: dict[str, str]) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mtime = len(text), THEN
            tar.addfile(info, io.BytesIO(text.encode()))
    (TEXTS / name).write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def make_zip(name: str, files: dict[str, str]) -> None:
    with zipfile.ZipFile(TEXTS / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            info = zipfile.ZipInfo(path, (2024, 3, 1, 0, 0, 0))
            info.external_attr, info.create_system = 0o100644 << 16, 3
            archive.writestr(info, text, zipfile.ZIP_DEFLATED)


# --- databases ----------------------------------------------------------------------------------

STOCK = """
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL,
  quantity INTEGER NOT NULL, price REAL NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL,
  item INTEGER NOT NULL, state TEXT NOT NULL);
INSERT INTO items VALUES (1, 'lamp', 12, 22.0), (2, 'lamp small', 31, 14.5), (3, 'cable', 40, 1.35),
  (4, 'plug', 75, 2.1), (5, 'timer', 8, 17.9);
INSERT INTO orders VALUES (101, 'Weber', 1, 'open'), (102, 'Okafor', 3, 'open'), (103, 'Weber', 5, 'paid'),
  (104, 'Lindgren', 2, 'open'), (105, 'Okafor', 3, 'sent');
"""
CLUB = """
CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT NOT NULL, fee INTEGER NOT NULL);
CREATE TABLE events (id INTEGER PRIMARY KEY, title TEXT NOT NULL, day TEXT NOT NULL);
INSERT INTO members VALUES (1, 'Olga Berg', 'Bergen', 30), (2, 'Paul Moe', 'Tromso', 30),
  (3, 'Ida Berg', 'Bergen', 20), (4, 'Nils Aas', 'Alta', 30), (5, 'Kari Moe', 'Bergen', 20);
INSERT INTO events VALUES (1, 'Spring walk', '2024-04-20'), (2, 'Summer walk', '2024-06-15'),
  (3, 'Autumn walk', '2024-09-21');
"""


def make_database(name: str, statements: str) -> None:
    (TEXTS / name).unlink(missing_ok=True)
    with closing(sqlite3.connect(TEXTS / name)) as connection:
        connection.executescript(statements)


# --- repositories -------------------------------------------------------------------------------

SITE = {
    "README.md": "# Site\n\nPages of the club.\n",
    "index.html": "<h1>Walks</h1>\n<p>Next walk: 20 April</p>\n",
    "index_old.html": "<h1>Walks</h1>\n<p>Next walk: 16 March</p>\n",
    "styles/main.css": "h1 { color: navy }\np { margin: 1em }\n",
    "styles/print.css": "h1 { color: black }\n",
}
_SECOND = {"index.html": "<h1>Walks</h1>\n<p>Next walk: 20 April</p>\n<p>Meeting point: tap</p>\n"}
_THIRD = {"styles/main.css": "h1 { color: teal }\np { margin: 1em }\n"}


EDITED = {
    "index.html": "<h1>Walks</h1>\n<p>Next walk: 18 May</p>\n<p>Meeting point: tap</p>\n",
    "index_old.html": "<h1>Walks</h1>\n<p>Next walk: 16 March, over</p>\n",
    "styles/print.css": "h1 { color: grey }\n",
    "contact.html": "<h1>Contact</h1>\n<p>Olga Berg, Bergen</p>\n",
    "contact_old.html": "<h1>Contact</h1>\n<p>Paul Moe, Tromso</p>\n",
}
"""The working tree of who has something to commit."""
KEPT = ("HEAD", "config", "index", "objects/pack/", "packed-refs", "refs/", "logs/refs/stash")
"""What is kept of .git, by the beginning of its path."""


class Repository:
    """A repository under construction."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = THEN
        self.git("init", "-q", "-b", "main", "--template=")
        self.git("config", "user.name", "Agent")
        self.git("config", "user.email", "agent@example.org")

    def git(self, *words: str) -> str:
        """Run git with fixed times and nobody's settings."""
        self.clock += 3600
        when = f"{self.clock} +0000"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
        }
        command = ["git", "-C", str(self.folder), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    def write(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)

    def commit(self, files: dict[str, str], message: str) -> None:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)


def make_repository(name: str, *, stashes: bool = False) -> None:
    """`files/texts/<name>/`: what stands in .git, everything packed, one loose ref beside."""
    with tempfile.TemporaryDirectory() as place:
        repository = Repository(Path(place))
        repository.commit(SITE, "First pages")
        repository.git("tag", "v0.1")
        repository.commit(_SECOND, "Meeting point")
        repository.git("branch", "meeting")
        repository.git("branch", "meetings")
        repository.commit(_THIRD, "Teal headings")
        repository.git("tag", "-a", "v0.2", "-m", "Second release")
        if stashes:
            for text in ("17 August", "18 May"):
                repository.write({"index.html": SITE["index.html"].replace("20 April", text)})
                repository.git("stash", "push", "-q", "-m", f"Walk on {text}")
        repository.git("repack", "-a", "-d", "-q")
        repository.git("pack-refs", "--all")
        inside, kept = Path(place) / ".git", TEXTS / name
        shutil.rmtree(kept, ignore_errors=True)
        for source in sorted(inside.rglob("*")):
            path = source.relative_to(inside)
            if source.is_file() and str(path).startswith(KEPT):
                target = kept / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        main = repository.git("rev-parse", "main")
        (kept / "refs/heads").mkdir(parents=True, exist_ok=True)
        (kept / "refs/heads/main").write_text(main)


def make_trees() -> None:
    """`files/texts/site/`, the working tree as committed, and `site_edited/`, what differs from it."""
    for name, files in (("site", {**SITE, **_SECOND, **_THIRD}), ("site_edited", EDITED)):
        for path, text in files.items():
            (TEXTS / name / path).parent.mkdir(parents=True, exist_ok=True)
            (TEXTS / name / path).write_text(text)


def main() -> None:
    make_tar("letters.tar.gz", LETTERS)
    make_tar(
        "letters_2023.tar.gz", {path: text.replace("tables", "chairs") for path, text in LETTERS.items()}
    )
    make_zip("photos.zip", PHOTOS)
    for database, statements in (("stock.db", STOCK), ("club.db", CLUB)):
        make_database(database, statements)
    make_database("stock_2023.db", STOCK.replace("'open'", "'sent'").replace(", 40,", ", 44,"))
    make_trees()
    make_repository("site.git")
    make_repository("site_stashes.git", stashes=True)


if __name__ == "__main__":
    main()
