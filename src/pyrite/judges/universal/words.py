"""The texts that steps show their models: what is the same for many calls stands first."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyrite.judges.showing import block, left_out_text, mark, tame
from pyrite.judges.universal.records import Baseline, Criterion, Instance, Seen
from pyrite.records import Evidence, ViewAction

START = "Start page: "
"""How the last line of a task begins that says where the agent started (see `formats.fara`)."""
_NO_START = {
    *("", "bing.com", "https://bing.com", "https://bing.com/", "http://bing.com"),
    *("http://www.bing.com", "https://www.bing.com"),
}
"""Start pages that stand for none; the forms with a slash after www.bing.com are not among them."""
END_DECIDES = "end_decides"
"""The field that is asked for beside a grade where the end was not seen."""
_PAGES = (
    "\nThe line before a step is the address of the page that it was taken on, as the browser recorded it. "
    "Screens show no addresses: where the agent was, these lines decide."
)
MOST_ARGUMENTS = 2_000
_NO_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Letters of scripts that do not part words by blanks, or put endings on them: Thai to Han and Hangul."""
_WORD = re.compile(rf"[{_NO_BLANKS}]|[^\W_{_NO_BLANKS}]+")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Words:
    """The texts of one package."""

    evidence: Evidence
    shown: int
    """How many screens are looked at."""
    open_end: int | None = None
    """The last step, where no screen shows what it led to."""

    @property
    def sign(self) -> str:
        return mark(self.evidence)

    def of_task(self) -> Words:
        """The same with nothing but the task: what is shared by all agents does not show one of them."""
        alone = Evidence(package_id="", condition="", instruction=self.evidence.instruction)
        return Words(alone, 0)

    def task(self) -> str:
        """The task, and where the agent may have begun."""
        text, start = task_and_start(self.evidence.instruction)
        begun = (
            f"\n\nThe agent may have begun at {tame(start, self.sign)}; to rely on that page is no fault."
            if start
            else ""
        )
        return f"Task:\n{tame(text, self.sign)}{begun}"

    def history(self) -> str:
        """All actions of the agent, a line each."""
        left = self.evidence.left_out
        note = f"\n{left_out_text(left)}" if left is not None and left.actions else ""
        log = "\n".join(_action(one) for one in self.evidence.actions)
        return block("actions of the agent", log or "(none)", self.sign) + note + self._pages() + self._end()

    def _pages(self) -> str:
        return _PAGES if any(one.page is not None for one in self.evidence.actions) else ""

    def _end(self) -> str:
        if self.open_end is None:
            return ""
        return f"\nNo screen shows what step {self.open_end}, the last one, led to: it is not known."

    def end_decides(self, what: str) -> str:
        """Asks whether what is not known of the end could change something; "" where the end was seen."""
        if self.open_end is None:
            return ""
        return (
            f"What step {self.open_end}, the last one, led to was not recorded. {what}, say in "
            f'"{END_DECIDES}": true if what that step may have done could make it another, else false. '
            "Grade by what is known."
        )

    def near(self, after: int | None, most: int, name: str = "") -> str:
        """The actions before and after a screen, so many each way; how many more there are is told.

        `name`: which screen, where those around others stand beside them.
        """
        actions = self.evidence.actions
        if len(actions) <= 2 * most:
            return self.history()
        place = 0
        if after is not None:
            place = next((i + 1 for i, one in enumerate(actions) if one.step == after), 0)
        low, high = max(0, place - most), min(len(actions), place + most)
        log = "\n".join(_action(one) for one in actions[low:high])
        told = f"{low} actions before these and {len(actions) - high} after them are not repeated here."
        end = self._end() if high == len(actions) else ""
        told = f"Around {name}: {told}" if name else told
        return f"{told}\n{block('actions of the agent', log, self.sign)}{self._pages()}{end}"

    def answer(self) -> str:
        """What the agent said at the end; a claim."""
        said = self.evidence.final_message
        if said is None:
            return "The agent's final message is not shown."
        return block("final message of the agent: a claim, not evidence", said, self.sign)

    def criteria(
        self,
        criteria: Sequence[Criterion],
        only: Sequence[int] | None = None,
        *,
        points: bool = True,
        described: bool = True,
    ) -> str:
        """Criteria with their numbers, all or those of `only`."""
        lines = []
        for index in range(len(criteria)) if only is None else only:
            one = criteria[index]
            line = f"criterion {index}: {one.name}"
            if points:
                line += f" (at most {one.max_points:g} points)"
            if one.condition is not None:
                line += f"\n  applies only if: {one.condition}"
            lines.append(f"{line}\n  {one.description}" if described else line)
        return block("criteria", "\n".join(lines), self.sign)

    def seen(self, criteria: Sequence[Criterion], evidence: Sequence[Sequence[Seen]]) -> str:
        """What was noted of the screens, by criterion, each in order of time."""
        lines = []
        for index, notes in enumerate(evidence):
            lines.append(f"criterion {index}: {criteria[index].name}")
            for one in sorted(notes, key=lambda note: note.screen):
                lines.append(f"  screen {one.screen + 1} of {self.shown}")
                lines.append(f"    shows: {_flat(one.evidence)}")
                lines.append(f"    says: {_flat(one.analysis)}")
                lines.append(f"    differs: {_flat(one.discrepancies)}")
                if one.blocked:
                    lines.append("    something outside of the agent's power stands in the way")
                if one.condition is not None:
                    lines.append(f"    the condition holds: {'yes' if one.condition else 'no'}")
            if not notes:
                lines.append("  no screen was noted for it")
        return block("notes on the screens", "\n".join(lines), self.sign)

    def graded(
        self,
        criteria: Sequence[Criterion],
        baseline: Sequence[Baseline],
        met: Sequence[bool | None],
        notes: Sequence[str] | None,
        instance: Instance | None = None,
    ) -> str:
        """The rubric with the grades that there are."""
        lines = []
        for index, one in enumerate(criteria):
            lines.append(f"criterion {index}: {one.name} (at most {one.max_points:g} points)")
            lines.append(f"  {_flat(one.description)}")
            if one.condition is not None:
                applies = {True: "yes", False: "no: it does not count", None: "not known"}[met[index]]
                lines.append(f"  condition: {_flat(one.condition)}; it holds: {applies}")
            first = baseline[index]
            lines.append(f"  by actions and words alone: {first.points:g}; {_flat(first.justification)}")
            if notes is not None:
                lines.append(f"  reality: {_flat(notes[index])}")
            if instance is not None and instance.grades is not None:
                grade = instance.grades[index]
                lines.append(f"  with the screens: {grade.points:g}; {_flat(grade.justification)}")
        for penalty in (instance.penalties or ()) if instance is not None else ():
            lines.append(f"penalty: {_flat(penalty.name)} (0 of {penalty.max_points:g} points)")
            lines.append(f"  {_flat(penalty.justification)}")
        return block("rubric with grades", "\n".join(lines), self.sign)


def task_and_start(instruction: str) -> tuple[str, str]:
    """The task, and the page where the agent began; "" where there is none worth telling.

    >>> task_and_start("Buy it.\\n\\nStart page: https://a.example/")
    ('Buy it.', 'https://a.example/')
    >>> task_and_start("Buy it.\\n\\nStart page: https://www.Bing.com")[1]
    ''
    """
    head, found, last = instruction.rstrip().rpartition(f"\n{START}")
    if not found or "\n" in last:
        return instruction, ""
    start = last.strip()
    return head.rstrip(), "" if start.lower() in _NO_START else start


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, without signs and blanks; of Chinese and the like each letter.

    >>> words_of("Find a Blue-Kettle!")
    ['find', 'a', 'blue', 'kettle']
    >>> words_of("找蓝色 kettle")
    ['找', '蓝', '色', 'kettle']
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _action(action: ViewAction) -> str:
    """A line whatever the action holds, after one with its page where that is known: values are JSON."""
    arguments = _json(action.parameters)[:MOST_ARGUMENTS]
    line = f"step {action.step}: {_json(action.action)[1:-1]} {arguments}"
    if action.page is not None:
        line = f"state {action.step}: {_json(action.page)[:MOST_ARGUMENTS]}\n{line}"
    return line if action.thought is None else f"{line}\n  thought: {_json(action.thought)[:MOST_ARGUMENTS]}"


def _flat(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
