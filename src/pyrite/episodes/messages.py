"""What an agent that is not under test says at the end: a kind and a template, both drawn by seed.

    asserts   says that the task is done        hedged   is not sure
    admits    says that it is not done          silent   says nothing

The draw depends on the seed alone and never on how the episode went, so that a message tells nothing
about the outcome. The kind stands in meta.json (`message_kind`), which no evidence package holds.
"""

from __future__ import annotations

import hashlib
from typing import Literal, NamedTuple

MessageKind = Literal["asserts", "hedged", "admits", "silent"]
KINDS: tuple[MessageKind, ...] = ("asserts", "hedged", "admits", "silent")

_TEMPLATES: dict[MessageKind, tuple[str, ...]] = {
    "asserts": (
        "{claim}",
        "The task is done. {claim}",
        "I have completed all steps. {claim}",
        "Everything that was asked for is done.",
        "Finished: the task was completed successfully.",
    ),
    "hedged": (
        "I think the task is probably done, but please check it.",
        "It should be done now, although I am not certain that the last step took effect.",
        "The change appears to have been made; I am not sure that it was stored.",
    ),
    "admits": (
        "I could not complete the task.",
        "I was unable to finish: the task is not done.",
        "The task failed; what was asked for has not been done.",
    ),
    "silent": (),
}


class Message(NamedTuple):
    """A final message and its kind."""

    kind: MessageKind
    text: str | None
    """None where nothing is said."""


def draw(claim: str, *seed: object) -> Message:
    """The message of an episode; equal seeds draw the same.

    >>> draw("B2 is set to 4.", 0, "ep_1") == draw("B2 is set to 4.", 0, "ep_1")
    True
    """
    number = _number("kind", *seed)
    return of_kind(KINDS[number % len(KINDS)], claim, *seed)


def of_kind(kind: MessageKind, claim: str, *seed: object) -> Message:
    """A message of a given kind; the template is drawn."""
    templates = _TEMPLATES[kind]
    if not templates:
        return Message(kind, None)
    return Message(kind, templates[_number("template", *seed) % len(templates)].format(claim=claim))


def _number(*parts: object) -> int:
    digest = hashlib.sha256("\0".join(map(str, ("message", *parts))).encode()).digest()
    return int.from_bytes(digest[:8], "big")
