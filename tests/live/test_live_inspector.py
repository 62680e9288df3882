"""``ralph mcp`` and the reference client: the command line of MCP's own inspector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralph.interfaces.mcp.tools import TOOLS

from .conftest import CACHE
from .harness import LONG
from .install import INSPECTOR, NODE, programs

OK, IS_ERROR = 0, 5


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Trusted, with an agent that is done at once."""
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\ncat > /dev/null\necho '<response>DONE</response>'\n")
    agent.chmod(0o755)
    root = tmp_path / "project"
    (root / ".ralph").mkdir(parents=True)
    (root / ".ralph" / "settings.json").write_text(json.dumps({"agent": {"command": str(agent)}}))
    trust = [sys.executable, "-m", "ralph", "trust", "--yes"]
    environment = {name: value for name, value in os.environ.items() if name != "RALPH_TRUST"}
    subprocess.run(trust, cwd=root, env=environment, check=True, timeout=LONG)
    return root


def inspect(root: Path, *arguments: str, exit_code: int = OK) -> dict[str, Any]:
    found = [programs(CACHE, NODE), programs(CACHE, INSPECTOR)]
    ran = subprocess.run(
        ["mcp-inspector", "--cli", sys.executable, "-m", "ralph", "mcp", "--method", *arguments],
        cwd=root,
        env={**os.environ, "PATH": os.pathsep.join([*map(str, found), os.environ["PATH"]])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert ran.returncode == exit_code, f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
    return dict(json.loads(ran.stdout))


def call(root: Path, tool: str, *given: str, exit_code: int = OK) -> dict[str, Any]:
    pairs = [word for pair in given for word in ("--tool-arg", pair)]
    return inspect(root, "tools/call", "--tool-name", tool, *pairs, exit_code=exit_code)


def test_it_finds_no_fault_with_the_schemas(root: Path) -> None:
    listed = inspect(root, "tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in TOOLS]


def test_a_run_is_started_by_one_process_and_shown_by_the_next(root: Path) -> None:
    refused = call(root, "start", "kind=run", exit_code=IS_ERROR)
    assert refused["content"][0]["text"].startswith("the prompt is empty")
    run = call(root, "start", "kind=run", "prompt=Do it.", "maxIterations=1")["structuredContent"]["run"]
    ended = call(root, "logs", f"run={run}", "wait=50", "until=end")["structuredContent"]
    assert ended["state"] == "completed"
    assert call(root, "show")["structuredContent"]["id"] == run
