"""Family text_process: make a new file of what a log or list holds: sorted, filtered, counted, cut."""

from __future__ import annotations

from pyrite.suites.desk import written
from pyrite.suites.desk.goals import FILES, READS
from pyrite.suites.desk.written import Params, joined, lines_of
from pyrite.suites.family import Family

MARCH, APRIL = "Logs/access_march.log", "Logs/access_april.log"
NORTH, WORDS = "Lists/members_north.csv", "Lists/words_raw.txt"


def _sorted_words() -> Params:
    words = lines_of("logs", WORDS)
    path = "Lists/words_sorted.txt"
    return Params(
        "logs",
        f"Write the words of {WORDS}, sorted alphabetically and each only once, one a line, to the "
        f"new file {path}.",
        path,
        joined(sorted(set(words))),
        f"sort -u {WORDS} > {path}",
        ("words_sorted.txt",),
        "Lists/words_new.txt",
        (
            ("with_repeats", joined(sorted(words))),
            ("backwards", joined(sorted(set(words), reverse=True))),
            ("of_the_other_list", joined(sorted(set(lines_of("logs", "Lists/words_new.txt"))))),
        ),
        source=WORDS,
        crlf=True,
    )


def _not_found() -> Params:
    lines = lines_of("logs", MARCH)
    path = "Logs/not_found_march.log"
    return Params(
        "logs",
        f"Write the lines of {MARCH} that end in 404, as they are and in their order, to the new "
        f"file {path}.",
        path,
        joined([line for line in lines if line.endswith(" 404")]),
        f"grep ' 404$' {MARCH} > {path}",
        ("not_found_march.log",),
        APRIL,
        (
            ("of_april", joined([line for line in lines_of("logs", APRIL) if line.endswith(" 404")])),
            ("all_errors", joined([line for line in lines if not line.endswith(" 200")])),
            ("turned_round", joined([line for line in lines if line.endswith(" 404")][::-1])),
        ),
        source=MARCH,
    )


def _hits() -> Params:
    hits = [line for line in lines_of("logs", MARCH) if " 10.0.0.12 " in line]
    path = "Logs/hits_march.txt"
    return Params(
        "logs",
        f"Count the lines of {MARCH} that hold the address 10.0.0.12 and write the number alone to "
        f"the new file {path}.",
        path,
        f"{len(hits)}\n",
        f"grep -c -F ' 10.0.0.12 ' {MARCH} > {path}",
        ("hits_march.txt",),
        APRIL,
        (
            ("one_more", f"{len(hits) + 1}\n"),
            ("with_name", f"{MARCH}: {len(hits)}\n"),
            ("the_lines", joined(hits)),
        ),
        source=MARCH,
        crlf=True,
    )


def _towns() -> Params:
    rows = [line.split(",") for line in lines_of("logs", NORTH)]
    path = "Lists/towns_north.txt"
    return Params(
        "logs",
        f"Write the column town of {NORTH}, without its heading and in the order of the rows, to "
        f"the new file {path}.",
        path,
        joined([row[1] for row in rows[1:]]),
        f"tail -n +2 {NORTH} | cut -d, -f2 > {path}",
        ("towns_north.txt",),
        "Lists/members_south.csv",
        (
            ("with_heading", joined([row[1] for row in rows])),
            ("names", joined([row[0] for row in rows[1:]])),
            ("each_once", joined(sorted({row[1] for row in rows[1:]}))),
        ),
        source=NORTH,
        crlf=True,
    )


def _merged() -> Params:
    path = "Logs/access_spring.log"
    march, april = lines_of("logs", MARCH), lines_of("logs", APRIL)
    return Params(
        "logs",
        f"Write all lines of {MARCH}, followed by all lines of {APRIL}, to the new file {path}.",
        path,
        joined([*march, *april]),
        f"cat {MARCH} {APRIL} > {path}",
        ("access_spring.log",),
        "Lists/words_new.txt",
        (
            ("april_first", joined([*april, *march])),
            ("march_only", joined(march)),
            ("cut", joined([*march, *april[:-1]])),
        ),
        source=APRIL,
    )


PARAMS = {
    "text-process-words": _sorted_words(),
    "text-process-not-found": _not_found(),
    "text-process-hits": _hits(),
    "text-process-towns": _towns(),
    "text-process-spring": _merged(),
}


FAMILY = Family(
    name="text_process",
    domain="terminal",
    files=FILES,
    params=PARAMS,
    instruction=lambda one: f"{one.words} Make no other file and change nothing else.",
    initial=written.initial,
    opened=written.opened,
    reads=READS,
    good=written.good,
    harmless=written.harmless,
    bad=written.bad,
    verify=written.verify,
    script=written.script,
    claim=written.claim,
)
