"""Compare lists of values, with or without an order, and find the one case that an answer is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyrite.checks.compared import Compared, Kind, Why, compare, shown
from pyrite.checks.texts import Text

MAX_ITEMS = 200
"""Items of a list without an order: each is compared with each."""
MAX_ORDERED = 10_000


class Items(NamedTuple):
    """A list of values of one type: in any order, and each as often as it is expected.

    >>> from pyrite.checks.compare import compare
    >>> from pyrite.checks.compare import Number
    >>> compare("2, 1", [1, 2], Items(Number(), separator=",")).equal
    True
    >>> compare([2, 1], [1, 2], Items(Number(), ordered=True)).reason
    'the same items in another order'
    """

    of: Kind = Text()
    ordered: bool = False
    repeats: bool = True
    """Whether it counts how often an item is there; it always does where the order counts."""
    separator: str | None = None
    """Between the items of a list that is given as a text."""

    @property
    def rule(self) -> str:
        order = (
            "strict order" if self.ordered else "any order" + ("" if self.repeats else ", repeats ignored")
        )
        return f"list, {order}, each {self.of.rule}"

    def compared(self, got: object, expected: object) -> Compared:
        rule = self.rule
        wanted, found = self._items(expected), self._items(got)
        if isinstance(wanted, str):
            return Compared(None, rule, f"expected {shown(expected)}: {wanted}", "expected")
        most = MAX_ORDERED if self.ordered else MAX_ITEMS
        if len(wanted) > most:
            return Compared(None, rule, f"more than {most} items are expected", "expected")
        if isinstance(found, str):
            return Compared(False, rule, f"{shown(got)}: {found}")
        if len(found) != len(wanted) and (self.ordered or self.repeats):
            return Compared(False, rule, f"{len(found)} items, not {len(wanted)}")
        if len(found) > MAX_ORDERED:
            return Compared(False, rule, f"more than {MAX_ORDERED} items")
        if self.ordered:
            return self._in_order(found, wanted)
        return self._matched(found, wanted) if self.repeats else self._covered(found, wanted)

    def _items(self, value: object) -> Sequence[object] | str:
        """The items, or why there are none."""
        if isinstance(value, str):
            if not self.separator:
                return "it is no list"
            return [part.strip() for part in value.split(self.separator) if part.strip()]
        if isinstance(value, set | frozenset):
            return "a set has no order" if self.ordered else list(value)
        return value if isinstance(value, list | tuple) else "it is no list"

    def _in_order(self, found: Sequence[object], wanted: Sequence[object]) -> Compared:
        answers = [compare(one, other, self.of) for one, other in zip(found, wanted, strict=True)]
        off = next((n for n, one in enumerate(answers) if one.equal is False), None)
        if off is None:
            return _all(self.rule, answers)
        if len(found) <= MAX_ITEMS and self._matched(found, wanted).equal:
            return Compared(False, self.rule, "the same items in another order")
        return Compared(False, self.rule, f"item {off + 1}: {answers[off].reason}")

    def _matched(self, found: Sequence[object], wanted: Sequence[object]) -> Compared:
        """Equal where items can be paired off, each with an equal one."""
        answers = [[compare(one, other, self.of) for other in wanted] for one in found]
        if not _unpaired([[n for n, one in enumerate(row) if one.equal] for row in answers]):
            return Compared(True, self.rule)
        possible = [[n for n, one in enumerate(row) if one.equal is not False] for row in answers]
        alone = _unpaired(possible)
        if alone:
            return Compared(False, self.rule, f"{shown(found[alone[0]])} is not among what is expected")
        return _undecided(self.rule, [one for row in answers for one in row])

    def _covered(self, found: Sequence[object], wanted: Sequence[object]) -> Compared:
        """Equal where each item of either list has an equal one in the other."""
        rows = [[compare(one, other, self.of) for other in wanted] for one in found[: MAX_ITEMS * 5]]
        if len(found) > MAX_ITEMS * 5:
            return Compared(False, self.rule, f"more than {MAX_ITEMS * 5} items")
        columns = [[row[n] for row in rows] for n in range(len(wanted))]
        sides = ((rows, found, "is not among what is expected"), (columns, wanted, "is missing"))
        for lines, items, told in sides:
            for item, line in zip(items, lines, strict=True):
                if all(one.equal is False for one in line):
                    return Compared(False, self.rule, f"{shown(item)} {told}")
        if all(any(one.equal for one in line) for lines in (rows, columns) for line in lines):
            return Compared(True, self.rule)
        return _undecided(self.rule, [one for row in rows for one in row])


class Case(NamedTuple):
    """Which of several expected answers was given."""

    name: str | None
    """Exactly one is recorded, the first that is equal; None: none of them."""
    compared: Compared
    """How it compares with that one; else the comparison that came closest to saying something."""
    also: tuple[str, ...] = ()
    """Later cases that are equal too: they were meant to exclude each other, and do not."""


def one_of(got: object, cases: Mapping[str, object], kind: Kind) -> Case:
    """The first case that an answer equals, and the others that it equals as well.

    >>> from pyrite.checks.compare import Id
    >>> one_of("007", {"agent": "7", "number": "07", "film": "Goldfinger"}, Id())[::2]
    ('agent', ('number',))
    """
    answers = {name: compare(got, expected, kind) for name, expected in cases.items()}
    equal = [name for name, one in answers.items() if one.equal]
    if equal:
        first, *others = equal
        told = f"also equal: {', '.join(others)}" if others else ""
        return Case(first, answers[first]._replace(reason=told), tuple(others))
    if not answers:
        return Case(None, Compared(None, kind.rule, "nothing is expected", "expected"))
    undecided = [one for one in answers.values() if one.equal is None]
    if undecided:
        return Case(None, undecided[0])
    return Case(None, Compared(False, kind.rule, f"{shown(got)} is none of: {', '.join(cases)}"))


def _all(rule: str, answers: Sequence[Compared]) -> Compared:
    undecided = [one for one in answers if one.equal is None]
    return _undecided(rule, undecided) if undecided else Compared(True, rule)


def _undecided(rule: str, answers: Sequence[Compared]) -> Compared:
    undecided = [one for one in answers if one.equal is None]
    order: tuple[Why, ...] = ("expected", "nothing_read", "ambiguous")
    first = min(undecided, key=lambda one: order.index(one.why) if one.why in order else len(order))
    return first._replace(rule=rule)


def _unpaired(rows: Sequence[Sequence[int]]) -> list[int]:
    """Rows that stay alone when as many as possible get a column of their own (augmenting paths)."""
    taken: dict[int, int] = {}
    alone = []
    for start in range(len(rows)):
        came_from: dict[int, int] = {}
        waiting, end = [start], None
        while waiting and end is None:
            row = waiting.pop()
            for column in rows[row]:
                if column in came_from:
                    continue
                came_from[column] = row
                if column not in taken:
                    end = column
                    break
                waiting.append(taken[column])
        if end is None:
            alone.append(start)
            continue
        held: dict[int, int] = {row: column for column, row in taken.items()}
        while True:
            row = came_from[end]
            before = held.get(row)
            taken[end] = row
            if before is None:
                break
            end = before
    return alone
