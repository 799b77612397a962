"""Every example in the docstrings of the statistics runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import pyrite.metrics

MODULES = sorted(found.name for found in pkgutil.iter_modules(pyrite.metrics.__path__))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str) -> None:
    module = importlib.import_module(f"pyrite.metrics.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    "name",
    [
        "abstention",
        "agreement",
        "calibration",
        "claims",
        "clusters",
        "compare",
        "correction",
        "intervals",
        "means",
        "paired",
        "roc",
        "stability",
        "thresholds",
    ],
)
def test_there_are_examples(name: str) -> None:
    module = importlib.import_module(f"pyrite.metrics.{name}")
    found = doctest.DocTestFinder().find(module)
    assert any(one.examples for one in found)
