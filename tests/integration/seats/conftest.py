"""A remote, and two machines that use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .machines import Machine, make_remote


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return make_remote(tmp_path)


@pytest.fixture
def machines(tmp_path: Path, remote: Path) -> tuple[Machine, Machine]:
    return Machine(tmp_path, remote, "one"), Machine(tmp_path, remote, "two")
