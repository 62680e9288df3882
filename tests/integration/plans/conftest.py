from __future__ import annotations

from pathlib import Path

import pytest

from .plan_project import PlanProject


@pytest.fixture
def planned(tmp_path: Path) -> PlanProject:
    root = tmp_path / "project"
    root.mkdir()
    made = PlanProject(root, tmp_path / "run")
    made.git("init", "-q", "-b", "main")
    return made
