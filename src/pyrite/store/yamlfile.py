"""Read a YAML file within bounds, with the line of every key and `${VAR}` from the environment.

`${VAR}` and `${VAR:-default}` are filled in after the file is parsed, so a value can never add keys.
So are the keys of `judges`, which are labels. An unquoted value that holds a variable gets its type
afterwards: `runs: ${RUNS:-3}` is a number.
What was written stays beside what it became: only that may be stored or shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pyrite.errors import InputError

MAX_BYTES = 256 << 10
MAX_NODES = 20_000
MAX_DEPTH = 20

Key = tuple[str | int, ...]
"""Where a value stands: the keys and list positions that lead to it."""

LABELS: Key = ("judges",)
"""The mapping whose keys may hold variables."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
_PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null")}
_EXPECTED = f"YAML: keys with texts, numbers, lists; at most {MAX_BYTES >> 10} kB"


def dotted(key: Key) -> str:
    """A key as it is shown: of a label its name, since its options may hold what nobody is to see.

    >>> dotted(("judges", "vlm", "runs"))
    'judges.vlm.runs'
    """
    return ".".join(str(part).partition("@")[0] for part in key)


@dataclass
class YamlFile:
    """What a file says, as written and with variables filled in."""

    path: Path
    text: str
    written: Any = None
    """Plain data; variables as they stand in the file."""
    data: Any = None
    """The same with variables filled in; one that is not set stays as written."""
    lines: dict[Key, int] = field(default_factory=dict)
    """Line of each key and list item, from 1."""
    names: dict[str, str] = field(default_factory=dict)
    """What a label became -> how it stands in the file, for the labels below `judges`."""
    undefined: dict[Key, str] = field(default_factory=dict)
    """Where a variable stands that is not set and has no default, and its name."""

    def where(self, key: Key) -> str:
        """file:line of a key, or of the nearest one that leads to it."""
        while key and key not in self.lines:
            key = key[:-1]
        return f"{self.path}:{self.lines.get(key, 1)}"

    def as_written(self, key: Key) -> Any:
        """The value of a key as it stands in the file; None where there is none."""
        found = self.written
        for part in key:
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return None
        return found


def read_yaml(path: Path, environment: Mapping[str, str]) -> YamlFile:
    """Read one file; `InputError` with file:line for what is no YAML, too large, or says a key twice."""
    text = _read(path)
    found = YamlFile(path, text)
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is not None:
            found.written, found.data = _Reader(loader, environment, found).value(node, ())
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 1 if exc.problem_mark else 1
        hint = "; a ${VAR} between [ ] or { } in quotes" if "${" in text else ""
        raise InputError(
            f"not YAML: {exc.problem}", where=f"{path}:{line}", expected=_EXPECTED + hint
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError) as exc:
        first = (str(exc).splitlines() or ["?"])[0]
        raise InputError(f"not YAML: {first}", where=str(path), expected=_EXPECTED) from None
    except RecursionError:
        raise InputError("nested too deeply", where=str(path), expected=_EXPECTED) from None
    return found


def _read(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"more than {MAX_BYTES} bytes", where=str(path), expected=_EXPECTED)
        return data.decode("utf-8-sig")
    except OSError as exc:
        raise InputError(exc.strerror or str(exc), where=str(path), expected="a readable file") from exc
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise InputError("not UTF-8 text", where=f"{path}:{line}", expected=_EXPECTED) from None


class _Reader:
    """Nodes of one document to plain data."""

    def __init__(self, loader: yaml.SafeLoader, environment: Mapping[str, str], found: YamlFile) -> None:
        self._loader = loader
        self._environment = environment
        self._found = found
        self._nodes = 0

    def value(self, node: yaml.Node, key: Key) -> tuple[Any, Any]:
        """A node as written and with variables filled in."""
        self._nodes += 1
        if self._nodes > MAX_NODES or len(key) > MAX_DEPTH:
            raise self._bad(
                node, "too many values or too deep", f"{MAX_NODES} values, {MAX_DEPTH} levels at most"
            )
        self._found.lines.setdefault(key, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, key)
        if isinstance(node, yaml.SequenceNode):
            pairs = [self.value(item, (*key, at)) for at, item in enumerate(node.value)]
            if key == LABELS:
                self._found.names |= {str(filled): str(name) for name, filled in pairs}
            return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return self._scalar(node, key)

    def _mapping(self, node: yaml.MappingNode, key: Key) -> tuple[dict[str, Any], dict[str, Any]]:
        written: dict[str, Any] = {}
        data: dict[str, Any] = {}
        for name_node, value_node in node.value:
            name = name_node.value if isinstance(name_node, yaml.ScalarNode) else None
            if not isinstance(name, str):
                raise self._bad(name_node, "a key that is no text", "a name before the colon")
            if name in written:
                raise self._bad(
                    name_node, f"{dotted((*key, name))} is there twice", "each key once in its section"
                )
            self._found.lines[*key, name] = name_node.start_mark.line + 1
            filled = self._label(name_node, name) if key == LABELS else name
            if filled in data:
                raise self._bad(name_node, f"{dotted((*key, name))} is there twice", "each judge once")
            written[name], data[filled] = self.value(value_node, (*key, name))
        return written, data

    def _label(self, node: yaml.Node, name: str) -> str:
        """A label with its variables filled in."""
        key = (*LABELS, name)
        if "${" in _VARIABLE.sub("", name):
            raise self._bad(node, f"{dotted(key)}: that is no variable", "${NAME} or ${NAME:-default}")
        filled = _VARIABLE.sub(lambda match: self._fill(match, key), name)
        self._found.names[filled] = name
        return filled

    def _scalar(self, node: yaml.Node, key: Key) -> tuple[Any, Any]:
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _PLAIN_TAGS:
            # a date, a binary, an object of some language: none of them is a setting
            tag = node.tag.removeprefix("tag:yaml.org,2002:")
            raise self._bad(node, f"{dotted(key)}: a value of kind {tag!r}", "a text in quotes, or a number")
        if "${" not in node.value:
            plain = self._loader.construct_object(node)
            return plain, plain
        if "${" in _VARIABLE.sub("", node.value):
            raise self._bad(
                node, f"{dotted(key)}: {node.value!r} is no variable", "${NAME} or ${NAME:-default}"
            )
        filled = _VARIABLE.sub(lambda match: self._fill(match, key), node.value)
        if key in self._found.undefined or node.style is not None:
            return node.value, filled if key not in self._found.undefined else node.value
        tag = self._loader.resolve(yaml.ScalarNode, filled, (True, False))  # type: ignore[no-untyped-call]
        if tag not in _PLAIN_TAGS:
            return node.value, filled
        typed = yaml.ScalarNode(tag, filled, node.start_mark, node.end_mark)
        return node.value, self._loader.construct_object(typed)

    def _fill(self, match: re.Match[str], key: Key) -> str:
        name, default = match[1], match[2]
        value = self._environment.get(name)
        if default is not None:
            return value or default
        if value is None:
            self._found.undefined.setdefault(key, name)
            return match[0]
        return value

    def _bad(self, node: yaml.Node, what: str, expected: str) -> InputError:
        return InputError(what, where=f"{self._found.path}:{node.start_mark.line + 1}", expected=expected)
