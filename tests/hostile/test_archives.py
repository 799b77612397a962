"""Hostile end states, each the final state of an episode, through `pyrite verify` as it is run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyrite.errors import RunError
from pyrite.tasks import archive
from pyrite.tasks.archive import Limits, StateUnreadable, extract

from . import archives

if TYPE_CHECKING:
    from .conftest import Ground
