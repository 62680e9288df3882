"""Delivery against a real forge. Only ``RALPH_FORGE=1`` collects these: they need what ``world.install`` installs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.install import cache_folder

from .world.forge import Forge, open_forge
from .world.install import is_installed

# Read now: the home of a test is not that of who runs it.
CACHE = cache_folder(os.environ)

collect_ignore_glob = [] if os.environ.get("RALPH_FORGE") else ["test_*.py"]


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    """A forge of the test's own, with one commit on main; it starts in a third of a second."""
    assert is_installed(CACHE), "emulate is not installed: run `python -m tests.delivery.world.install`"
    with open_forge(CACHE, tmp_path) as forge:
        yield forge


@pytest.fixture
def remote(forge: Forge) -> str:
    """What git pushes to and clones from."""
    return forge.remote
