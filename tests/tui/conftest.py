"""A project with a run under way, tasks and a plan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.sample import Record, add_tasks, earlier_run, work_on, write_plan


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def record(root: Path) -> Iterator[Record]:
    """A run that has just begun."""
    with Record(root) as begun:
        yield begun


@pytest.fixture
def shop(root: Path) -> Iterator[Record]:
    """Everything there is."""
    earlier_run(root)
    write_plan(root)
    with Record(root) as begun:
        add_tasks(begun.database)
        work_on(begun)
        yield begun
