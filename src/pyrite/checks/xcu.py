"""Read LibreOffice's settings of a user (`registrymodifications.xcu`) as keys and values.

    read_registry(path)["/org.openoffice.UserProfile/Data/o"]     # 'Mill Street Storage'

Only what is written there is known: what a user never changed has no entry.
Source: the component schema of OpenOffice.org (oor:items, oor:item, prop, value).
"""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from pyrite.checks.package import Unreadable, local_name, read_file

_ROOT = "{http://openoffice.org/2001/registry}items"
MAX_BYTES = 4 << 20
MAX_ELEMENTS = 100_000
MAX_DEPTH = 50
MAX_VALUE = 10_000
MAX_NAME = 2000


def read_registry(path: Path) -> dict[str, str]:
    """Path of the item, "/" and property -> text; raises `Unreadable`."""
    data = read_file(path, MAX_BYTES)
    found: dict[str, str] = {}
    depth = count = 0
    root = ""
    try:
        for event, element in iterparse(io.BytesIO(data), events=("start", "end"), forbid_dtd=True):
            root = root or str(element.tag)
            depth += 1 if event == "start" else -1
            count += event == "start"
            if depth > MAX_DEPTH or count > MAX_ELEMENTS:
                raise Unreadable("too_large", "it has too many or too deep elements")
            if event == "end" and local_name(element) == "item":
                _note(element, found)
                element.clear()
    except DefusedXmlException:
        raise Unreadable("forbidden_xml", "it declares a document type or entities") from None
    except (ParseError, ValueError, LookupError) as exc:
        raise Unreadable("damaged", f"it is not XML: {exc}") from None
    if root != _ROOT:
        raise Unreadable("wrong_format", "it is no list of settings")
    return found


def _note(item: Element, found: dict[str, str]) -> None:
    waiting = [(_attribute(item, "path")[:MAX_NAME], item)]
    while waiting:
        path, holder = waiting.pop()
        for child in holder:
            name = f"{path}/{_attribute(child, 'name')}"[:MAX_NAME]
            if _attribute(child, "op") == "remove":
                continue
            if local_name(child) == "node":
                waiting.append((name, child))
            elif local_name(child) == "prop":
                values = [_text(value) for value in child if local_name(value) == "value"]
                if values:
                    found[name] = values[-1][:MAX_VALUE]


def _text(value: Element) -> str:
    """A value; the items of a list stand one a line."""
    items = [item.text or "" for item in value if local_name(item) == "it"]
    return "\n".join(items) if items else value.text or ""


def _attribute(element: Element, name: str) -> str:
    return next((v for k, v in element.attrib.items() if k.rpartition("}")[2] == name), "")
