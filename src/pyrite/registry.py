"""Plug-ins by name, loaded lazily: a built-in name, an entry point, or any `module:attr`.

    judges = Registry("judge", {"accept-all": "pyrite.judges.shortcuts:AcceptAll"})
    judges.load("accept-all")             # imports the module now, not before
    judges.load("mypackage.judge:Mine")   # anybody's class, no registration needed

Installed packages add names through the entry-point group `pyrite.<kind>s`.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from pyrite.errors import UsageError


@dataclass(frozen=True)
class Registry:
    """A table of one kind of plug-in: name -> "module:attr"."""

    kind: str
    builtin: Mapping[str, str]

    def names(self) -> list[str]:
        """All known names: built-in ones first, then those of installed packages."""
        return [*self.builtin, *sorted(self._installed().keys() - self.builtin.keys())]

    def load(self, name: str) -> Any:
        """Import what `name` stands for.

        Raises `UsageError` for an unknown name (with the nearest known one) or a target that cannot
        be imported.
        """
        target = self.builtin.get(name) or self._installed().get(name) or (name if ":" in name else None)
        if target is None:
            near = difflib.get_close_matches(name, self.names(), n=1)
            hint = (
                f"did you mean {near[0]!r}?"
                if near
                else f"use one of these names, or module:attr for your own {self.kind}"
            )
            raise UsageError(f"unknown {self.kind} {name!r}", expected=", ".join(self.names()), next=hint)
        return self._resolve(name, target)

    def _installed(self) -> dict[str, str]:
        return {point.name: point.value for point in entry_points(group=f"pyrite.{self.kind}s")}

    def _resolve(self, name: str, target: str) -> Any:
        module_name, _, attribute = target.partition(":")
        if name not in self.builtin and os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        try:
            with redirect_stdout(sys.stderr):
                found: Any = import_module(module_name)
            for part in attribute.split("."):
                found = getattr(found, part)
        except (Exception, SystemExit) as exc:  # whatever somebody's module raises when it is imported
            raise UsageError(
                f"{self.kind} {name!r} cannot be loaded: {exc}",
                expected=f"an importable module:attr, found {target!r}",
                next=f"python -c 'import {module_name}'",
            ) from exc
        return found
