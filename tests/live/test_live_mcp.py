"""``ralph mcp`` in real agents: they find its tools, start a loop by them, wait for it, and read how it ended."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ralph.testing.model import Step, ToolCall

from .conftest import CHOSEN
from .harness import LONG, LiveProject

# Those whose configuration of MCP servers can be given with a command.
pytestmark = pytest.mark.parametrize("project", sorted({"claude", "codex"} & set(CHOSEN)), indirect=True)

DONE = "<response>DONE</response>"
SERVER = {"command": sys.executable, "args": ["-m", "ralph", "mcp"]}


def command_of(agent: str) -> list[str]:
    if agent == "claude":
        config = json.dumps({"mcpServers": {"ralph": SERVER}})
        return ["claude", "-p", f"--mcp-config={config}", "--strict-mcp-config", "--allowedTools=mcp__ralph"]
    server = [f"-c=mcp_servers.ralph.{key}={json.dumps(value)}" for key, value in SERVER.items()]
    # Without the first, it asks the model before the server has started.
    more = [
        "-c=mcp_servers.ralph.required=true",
        '-c=mcp_servers.ralph.default_tools_approval_mode="approve"',
    ]
    return ["codex", "exec", *server, *more, "--skip-git-repo-check", "-"]


def call(agent: str, tool: str, **given: object) -> Step:
    return Step(tool=ToolCall(f"mcp__ralph__{tool}" if agent == "claude" else tool, given))


def test_an_agent_starts_a_loop_waits_for_it_and_reads_how_it_ended(project: LiveProject) -> None:
    name = project.agent.name
    worker = project.home / "worker"
    worker.write_text(f"#!/bin/sh\ncat > /dev/null\ntouch made\necho '{DONE}'\n")
    worker.chmod(0o755)
    with project.model(
        call(name, "start", kind="run", prompt=f"Make it, then say {DONE}.", maxIterations=2),
        call(name, "logs", wait=50, until="end"),
        call(name, "show"),
        Step(text="It is proven."),
    ) as model:
        environment = project.agent.loopback.prepare(project.home, model.url)
        settings = {"agent": {"command": str(worker)}, "guardrails": [{"command": "test -e made"}]}
        (project.root / ".ralph").mkdir()
        (project.root / ".ralph" / "settings.json").write_text(json.dumps(settings))
        own = {key: value for key, value in project.env().items() if key != "RALPH_TRUST"}
        subprocess.run(
            [sys.executable, "-m", "ralph", "trust", "--yes"],
            cwd=project.root,
            env=own,
            check=True,
            timeout=LONG,
        )
        ran = subprocess.run(
            command_of(name),
            cwd=project.root,
            env={**own, **environment},
            input="Use ralph to make it.",
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        asked = [request.text for request in model.main_requests]
    assert ran.returncode == 0, f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
    assert "It is proven." in ran.stdout
    ((run, outcome),) = project.rows("SELECT id, outcome FROM runs")
    assert outcome == "completed"
    assert run in asked[1]
    assert "completed" in asked[3]
    assert "accepted" in asked[3]
    assert (project.root / "made").exists()
    project.assert_nothing_left()
