"""What every test of tickets begins with; each file has a ``source`` of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.delivery.memory_source import MemorySource

from .ticket_world import Machine


@pytest.fixture
def machine(tmp_path: Path, source: MemorySource) -> Machine:
    return Machine(tmp_path, source)
