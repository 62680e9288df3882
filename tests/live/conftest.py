"""Real agents on a scripted model. Only ``make test-agents`` runs these: they need what it installs.

``RALPH_AGENTS`` names the agents (``claude,codex``); without it nothing here is collected.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .agents import LIVE_AGENTS
from .harness import LiveProject
from .install import cache_folder, chosen, is_installed

# Read now: the home of a test is not that of who runs it.
CACHE = cache_folder(os.environ)
CHOSEN = chosen(os.environ["RALPH_AGENTS"]) if os.environ.get("RALPH_AGENTS") else []

collect_ignore_glob = [] if CHOSEN else ["test_*.py"]


@pytest.fixture(params=CHOSEN)
def project(request: pytest.FixtureRequest, tmp_path: Path, own_home: Path) -> LiveProject:
    """A repository for each of the chosen agents."""
    name = request.param
    assert is_installed(CACHE, name), f"{name} is not installed: run `make test-agents AGENTS={name}`"
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=root, check=True, timeout=60)
    project = LiveProject(LIVE_AGENTS[name], root, own_home, CACHE)
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    return project
