from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.episodes import neighbours
from pyrite.episodes.perturb import OPERATORS, Subject, _letters, _number
from pyrite.records import Action

TASK = "In Documents/sales.xlsx, sheet April, set cell F12 to 1299.5 and save the file."
SCRIPT = [
    Action(action="key", keys="ctrl+shift+t"),
    Action(action="type", text="April.F12"),
    Action(action="key", keys="Return"),
    Action(action="type", text="1299.5"),
    Action(action="key", keys="Return"),
    Action(action="key", keys="ctrl+s"),
    Action(action="key", keys="Return"),
]
FILES = (
    ".bashrc",
    "Documents/q2.ods",
    "Documents/q3.ods",
    "Old/.git/config",
    "Old/a",
    "Old one/a",
    "Reports/2023/a.txt",
    "Reports/2024/a.txt",
    "Reports/2024/only.txt",
    "notes.txt",
)


def act(*words: str) -> list[Action]:
    """`<Return>` is a key, `(3,4)` a click, anything else is typed."""
    made = []
    for word in words:
        if word.startswith("<"):
            made.append(Action(action="key", keys=word.strip("<>")))
        elif word.startswith("("):
            x, y = word.strip("()").split(",")
            made.append(Action(action="click", x=float(x), y=float(y)))
        else:
            made.append(Action(action="type", text=word))
    return made


def after(kind: str, actions: list[Action], app: str = "", task: str = TASK) -> list[str] | None:
    changed = OPERATORS[kind](Subject(actions, task, FILES, app))
    return None if changed is None else [a.keys or a.text or f"({a.x:g},{a.y:g})" for a in changed]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("drop-save", ["ctrl+shift+t", "April.F12", "Return", "1299.5", "Return"]),
        ("shift-row", ["ctrl+shift+t", "April.F13", "Return", "1299.5", "Return", "ctrl+s", "Return"]),
        ("shift-column", ["ctrl+shift+t", "April.G12", "Return", "1299.5", "Return", "ctrl+s", "Return"]),
        (
            "cancel-dialog",
            ["ctrl+shift+t", "April.F12", "Return", "1299.5", "Return", "ctrl+s", *["Escape"] * 2],
        ),
        (
            "side-effect",
            ["ctrl+shift+t", "April.F12", "Return", "1299.5", "Return", "0", "Return", "ctrl+s", "Return"],
        ),
        ("claim-only", []),
    ],
)
def test_one_defect_and_nothing_else(kind: str, expected: list[str]) -> None:
    assert after(kind, SCRIPT, "calc") == expected


def test_a_copy_is_saved_under_another_name_and_its_dialog_is_still_answered() -> None:
    found = after("save-copy", SCRIPT)
    assert found is not None
    assert found[5:] == ["ctrl+shift+s", "ctrl+a", "sales-copy.xlsx", "Return", "Return"]


@pytest.mark.parametrize(
    ("kind", "app", "words", "expected"),
    [
        ("cancel-ok", "pcmanfm", ["<F2>", "new.txt", "<Return>"], ["F2", "new.txt", "Escape"]),
        ("cancel-ok", "pcmanfm", ["new.txt", "<Return>"], None),
        ("cancel-ok", "xterm", ["<ctrl+r>", "ls", "<Return>"], None),
        ("not-submitted", "kontor", ["(5,6)", "Ada", "(50,60)"], ["(5,6)", "Ada"]),
        ("not-submitted", "chromium", ["Ada", "<Return>"], ["Ada"]),
        ("not-submitted", "chromium", ["(5,6)"], None),
        ("not-submitted", "calc", ["Ada", "<Return>"], None),
        ("not-submitted", "xterm", ["git commit -m x", "<Return>"], ["git commit -m x"]),
        (
            "not-submitted",
            "xterm",
            ["sqlite3 a.db", "<Return>", "BEGIN; UPDATE t SET a=1; COMMIT;", "<Return>", ".quit", "<Return>"],
            ["sqlite3 a.db", "Return", "BEGIN; UPDATE t SET a=1;", "Return", "Return"],
        ),
        ("not-submitted", "xterm", ["ls\n", "git tag v1\n"], ["ls\n", "git tag v1"]),
        ("not-submitted", "xterm", ["DELETE FROM t;", "<Return>", ".quit", "<Return>"], ["DELETE FROM t;"]),
        ("not-submitted", "xterm", ["BEGIN;\n", "x; COMMIT;\n", ".quit\n"], ["BEGIN;\n", "x;\n"]),
        ("not-submitted", "xterm", ["BEGIN;\n", "COMMIT;\n", ".quit\n"], ["BEGIN;\n"]),
        ("sibling-file", "xterm", ["cp Documents/q3.ods /tmp"], ["cp Documents/q2.ods /tmp"]),
        ("sibling-file", "xterm", ["diff Documents/q3.ods Documents/q2.ods"], None),
        ("sibling-file", "xterm", ["cat notes.txt"], None),
        ("sibling-file", "xterm", ["cat my-q3.ods"], None),
        ("sibling-folder", "xterm", ["mv x Reports/2024/"], ["mv x Reports/2023/"]),
        ("sibling-folder", "xterm", ["echo 20245"], None),
        ("sibling-folder", "xterm", ["cat Reports/2024/only.txt"], None),
        ("sibling-folder", "xterm", ["mv x Old/"], None),
        ("sibling-folder", "pcmanfm", ["Old"], ["Old one"]),
        ("sibling-record", "kontor", ["Order #1042"], ["Order #1041"]),
        ("sibling-record", "kontor", ["ticket 1"], ["ticket 2"]),
        ("sibling-record", "xterm", ["where id=0100;"], ["where id=0099;"]),
        ("sibling-record", "kontor", ["127.0.0.1:8000/orders/7/cancel"], ["127.0.0.1:8000/orders/6/cancel"]),
        ("sibling-record", "kontor", ["127.0.0.1:8000/tickets?topic=7"], None),
        ("sibling-record", "kontor", ["idle 3"], None),
        ("sibling-record", "calc", ["#,##0.00"], None),
        ("wrong-profile", "xterm", ["git config --global a.b c\n"], ["git -C ~/Old config --local a.b c\n"]),
        ("wrong-profile", "xterm", ["git -C Old config a.b c"], ["git config --global a.b c"]),
        ("wrong-profile", "xterm", ["git config --local a.b c"], ["git config --global a.b c"]),
        ("wrong-profile", "xterm", ["echo x >> ~/.bashrc"], ["echo x >> ~/.profile"]),
        ("wrong-profile", "xterm", ["git commit --global"], None),
        (
            "partial",
            "xterm",
            ["a", "<Return>", "b", "<Return>", "c", "<Return>"],
            ["a", "Return", "b", "Return"],
        ),
        ("partial", "xterm", ["chmod 600 a && chmod 600 b", "<Return>"], ["chmod 600 a", "Return"]),
        ("partial", "xterm", ["echo 'a; b'", "<Return>"], None),
        ("partial", "xterm", ["chmod 600 a && chmod 600 b\n"], ["chmod 600 a\n"]),
        ("partial", "xterm", ["UPDATE a; UPDATE b;\n"], ["UPDATE a;\n"]),
        ("partial", "xterm", ["UPDATE a;\n"], None),
        ("partial", "xterm", ["git add a && git add b && git status\n"], ["git add a && git status\n"]),
        ("partial", "xterm", ["git stash push && git stash list\n"], None),
        ("partial", "xterm", ["cd site && git commit -m x\n"], None),
        ("partial", "xterm", ["cat a > b && cat c > d && ls\n"], ["cat a > b && ls\n"]),
        ("not-submitted", "xterm", ["git tag v1\n", "git status\n"], ["git tag v1"]),
        ("not-submitted", "xterm", ["git tag v1", "<Return>", "git tag", "<Return>"], ["git tag v1"]),
        ("not-submitted", "xterm", ["ls\n", "cat a\n"], None),
        ("partial", "xterm", ["cd x && ls; cd\n"], None),
        ("partial", "calc", ["a", "<Return>"], None),
        ("partial", "calc", ["Q3.D14", "<Return>", "4500", "<Return>"], None),
        (
            "partial",
            "calc",
            ["B1", "<Return>", "4", "<Return>", "B2", "<Return>", "5", "<Return>"],
            ["B1", "Return", "4", "Return"],
        ),
        ("partial", "calc", ["a", "<Tab>", "a", "<Tab>"], None),
        (
            "side-effect",
            "xterm",
            ["ls", "<Return>"],
            ["rm -f -- ~/'Documents/q2.ods'; clear\n", "ls", "Return"],
        ),
        ("cancel-ok", "chromium", ["<ctrl+l>", "a page", "<Return>"], None),
        ("side-effect", "xterm", ["ls\n"], ["rm -f -- ~/'Documents/q2.ods'; clear\n", "ls\n"]),
        ("side-effect", "mousepad", ["word", "<ctrl+s>"], ["word", "ctrl+End", ".", "ctrl+s"]),
        ("side-effect", "mousepad", ["<ctrl+s>"], None),
        (
            "side-effect",
            "kontor",
            ["<ctrl+l>", ":8000/orders/7/cancel", "<Return>"],
            ["ctrl+l", ":8000/orders/6/cancel", "Return", "ctrl+l", ":8000/orders/7/cancel", "Return"],
        ),
        (
            "side-effect",
            "kontor",
            ["Ada", "<Return>"],
            [
                *("ctrl+l", "127.0.0.1:8000/customers/1", "Return", "End", " jr.", *["Tab"] * 4, "Return"),
                *("ctrl+l", "127.0.0.1:8000", "Return", "Ada", "Return"),
            ],
        ),
        ("side-effect", "kontor", ["<ctrl+l>", ":8000/orders.csv", "<Return>"], None),
        ("not-submitted", "chromium", ["<ctrl+l>", "chrome://settings", "<Return>", "x", "<Return>"], None),
        (
            "side-effect",
            "kontor",
            ["<ctrl+l>", ":8000/tickets?topic=billing", "<Return>", "<space>"],
            [
                *(
                    "ctrl+l",
                    "127.0.0.1:8000/customers/1",
                    "Return",
                    "End",
                    " jr.",
                    "Tab",
                    "Tab",
                    "Tab",
                    "Tab",
                ),
                *("Return", "ctrl+l", ":8000/tickets?topic=billing", "Return", "space"),
            ],
        ),
        (
            "side-effect",
            "chromium",
            ["<ctrl+l>", "chrome://settings", "<Return>"],
            ["ctrl+d", "Return", "ctrl+l", "chrome://settings", "Return"],
        ),
        ("side-effect", "chromium", ["<ctrl+d>", "Soup", "<Return>"], None),
    ],
)
def test_where_an_operator_applies_and_what_it_does(
    kind: str, app: str, words: list[str], expected: list[str] | None
) -> None:
    assert after(kind, act(*words), app, "Do it.") == expected


def test_what_the_task_names_is_no_bystander() -> None:
    said = ["In q2.ods, q3.ods, a and a.txt, only.txt, and in notes.txt"]
    assert neighbours.bystander(FILES, said) is None
    assert neighbours.bystander(("it's.txt", "b.txt"), [""]) == "b.txt"


@pytest.mark.parametrize("kind", sorted(set(OPERATORS) - {"claim-only"}))
def test_a_defect_that_does_not_apply_is_none(kind: str) -> None:
    assert OPERATORS[kind](Subject([Action(action="wait", seconds=1)], "Do nothing.")) is None


@pytest.mark.parametrize("kind", sorted(OPERATORS))
def test_every_operator_says_where_it_applies_and_takes_an_empty_list(kind: str) -> None:
    assert OPERATORS[kind].what
    assert OPERATORS[kind].applies
    assert OPERATORS[kind](Subject([], "")) is None


WORDS = st.sampled_from(
    [
        "<Return>",
        "<ctrl+s>",
        "<F2>",
        "<ctrl+d>",
        "(3,4)",
        "COMMIT;",
        "a && b",
        "git config --global x y",
        "Documents/q3.ods",
        "Sheet1.B7",
        "order 12",
        "mv Reports/2024/a.txt .",
        "x",
        "'",
        ";",
        "&&",
    ]
)


@given(st.lists(WORDS, max_size=12), st.sampled_from(["calc", "xterm", "kontor", ""]))
def test_an_operator_changes_something_keeps_its_input_and_repeats(words: list[str], app: str) -> None:
    actions = act(*words)
    for operator in OPERATORS.values():
        before = list(actions)
        changed = operator(Subject(actions, TASK, FILES, app))
        assert actions == before
        assert changed is None or changed != actions
        assert changed == operator(Subject(actions, TASK, FILES, app))


@given(st.lists(WORDS, max_size=14))
def test_rounds_are_equal_in_kind_and_lie_in_the_list(words: list[str]) -> None:
    found = neighbours.rounds(act(*words))
    if found is not None:
        actions, size = act(*words), len(found)
        last, before = actions[found.start : found.stop], actions[found.start - size : found.start]
        assert [a.keys for a in last] == [a.keys for a in before]
        assert last != before


def test_every_defect_says_which_failure_it_means() -> None:
    assert all(operator.meant for operator in OPERATORS.values())


def test_without_a_dialog_there_is_nothing_to_cancel() -> None:
    assert after("cancel-dialog", SCRIPT[:-1]) is None


@given(st.integers(1, 16384))
def test_column_letters_round_trip(number: int) -> None:
    assert _number(_letters(number)) == number


def test_the_last_column_of_a_letter_carries() -> None:
    assert after("shift-column", [Action(action="type", text="Z9")]) == ["AA9"]
