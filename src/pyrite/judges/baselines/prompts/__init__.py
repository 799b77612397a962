"""Prompts of the baselines: a file a call, with its system text and the user turn around the evidence.

    …system text…
    === user
    Task: {task}

    {screens}

A paragraph whose value is not there is left out. Every fixed word of a request stands in these files, so
their digest is that of the prompt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from pyrite.judges.client.base import Part, Text

Value = str | Sequence[Part] | None
"""What takes a placeholder's place: text, pictures with their headings, or nothing."""

_USER = "\n=== user\n"
_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Prompt:
    """One call's fixed words."""

    name: str
    text: str

    @cached_property
    def system(self) -> str:
        return self.text.partition(_USER)[0].strip()

    @cached_property
    def user(self) -> str:
        return self.text.partition(_USER)[2].strip()

    def parts(self, values: Mapping[str, Value]) -> tuple[Part, ...]:
        """The user turn; a value is put in as it is, so nothing in it is read as a placeholder."""
        paragraphs = self.user.split("\n\n")
        kept = [one for one in paragraphs if all(values[name] is not None for name in _PLACE.findall(one))]
        text = "\n\n".join(kept)
        found: list[Part] = []
        said = ""
        at = 0
        for place in _PLACE.finditer(text):
            said += text[at : place.start()]
            at = place.end()
            value = values[place[1]]
            if isinstance(value, str):
                said += value
                continue
            if said.strip():
                found.append(Text(said.strip("\n")))
            said = ""
            found += value or ()
        said += text[at:]
        return (*found, Text(said.strip("\n"))) if said.strip() else tuple(found)


def load(name: str) -> Prompt:
    """A prompt that ships."""
    return Prompt(name, (files(__name__) / f"{name}.md").read_text(encoding="utf-8"))


def digest(prompts: Sequence[Prompt]) -> str:
    """sha256 over the prompts of a judge."""
    return hashlib.sha256("\0".join(f"{one.name}\0{one.text}" for one in prompts).encode()).hexdigest()
