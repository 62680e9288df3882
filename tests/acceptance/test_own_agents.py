"""Agents that only the settings know, and session options, through ``ralph run`` itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import DONE, PROMPT, Project

SPEAKS_CLAUDE = """
cat > asked
printf '%s\\n' "$@" >> arguments
echo '{"type":"system","subtype":"init","session_id":"s-1","model":"m"}'
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s <response>DONE</response>"}]}}\\n' "$LEVEL"
echo '{"type":"result","subtype":"success","result":""}'
"""


def test_an_agent_that_only_the_settings_know_does_the_work(project: Project) -> None:
    project.program("helper", SPEAKS_CLAUDE)
    own = {"command": "helper", "flags": ["--size {model}"], "model": "big", "output": "claude-stream"}
    project.settings(agent={"command": "mine"}, agents={"mine": {**own, "environment": {"LEVEL": "high"}}})

    ran = project.ralph("run", "-p", PROMPT, check=0)

    assert "agent mine" in ran.stdout + ran.stderr
    assert "high" in ran.stdout + ran.stderr
    assert (project.root / "arguments").read_text().splitlines() == ["--size", "big"]
    assert PROMPT in (project.root / "asked").read_text()


def test_it_can_be_chosen_on_the_command_line_with_its_prompt_as_an_argument(project: Project) -> None:
    project.program("echoes", f"echo \"$2\" > asked; echo '{DONE}'\n")
    project.settings(agents={"mine": {"command": "echoes", "flags": ["--ask"], "prompt": "argument"}})

    project.ralph("run", "-p", PROMPT, "--agent", "mine", check=0)

    assert (project.root / "asked").read_text().strip() == PROMPT


def test_a_stand_in_below_the_project_is_found_from_anywhere_in_it(project: Project) -> None:
    tool = project.root / "tools" / "mine"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho '{DONE}'\n")
    tool.chmod(0o755)
    project.settings(agent={"command": "not-there", "fallbacks": ["./tools/mine"]})

    ran = project.ralph("run", "-p", PROMPT, check=0, cwd=tool.parent)

    assert "going on with plain" in ran.stderr


def test_its_secrets_do_not_reach_the_record(project: Project) -> None:
    project.program("leaks", f'echo "my key is $MY_API_KEY"; echo "{DONE}"\n')
    own = {"command": "leaks", "environment": {"MY_API_KEY": "s3cret-value-123"}}
    project.settings(agent={"command": "mine"}, agents={"mine": own})

    ran = project.ralph("run", "-p", PROMPT, check=0)

    assert "s3cret-value-123" not in ran.stdout + ran.stderr
    for file in (project.root / ".ralph").rglob("agent_001*"):
        assert "s3cret-value-123" not in file.read_text()


def test_iterations_go_on_with_the_session_before_if_that_is_wanted(project: Project) -> None:
    project.program("claude", SPEAKS_CLAUDE.replace("<response>DONE</response>", "not yet"))
    project.settings(agent={"command": "claude"})

    project.ralph("run", "-p", PROMPT, "-m", "2", "--continue-session", check=1)

    arguments = (project.root / "arguments").read_text().splitlines()
    assert arguments.count("-p") == 2
    assert arguments.count("--resume=s-1") == 1


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ({"command": "codex", "maxTurns": 3}, "agent.maxTurns: codex does not support it"),
        ({"command": "amp", "continueSession": True}, "agent.continueSession: amp does not support it"),
        ({"command": "helper", "model": "big"}, "do not use it"),
    ],
)
def test_an_option_that_an_agent_does_not_support_is_refused_before_anything_is_started(
    project: Project, agent: dict[str, object], message: str
) -> None:
    for name in ("codex", "amp", "helper"):
        project.program(name, "touch started\n")
    project.settings(agent=agent)

    ran = project.ralph("run", "-p", PROMPT, check=2)

    assert message in ran.stderr
    assert not (project.root / "started").exists()


def test_an_unknown_agent_is_told_which_ones_there_are(project: Project) -> None:
    project.settings(agents={"mine": {"command": "x"}})

    ran = project.ralph("run", "-p", PROMPT, "--agent", "cloude", check=4)

    assert "agent not found: cloude" in ran.stderr
    assert "amp, claude, codex, copilot, gemini, opencode, qwen, mine" in ran.stderr


def test_a_dry_run_shows_the_command_line_of_ones_own_agent(project: Project, tmp_path: Path) -> None:
    project.program("helper", "exit 9\n")
    own = {"command": "helper", "flags": ["-f {prompt_file}"]}
    (project.root / ".ralph").mkdir()
    (project.root / ".ralph" / "settings.json").write_text(json.dumps({"agents": {"mine": own}}))

    ran = project.ralph("run", "-p", PROMPT, "--agent", "mine", "--dry-run", check=0)

    assert "helper -f" in ran.stdout + ran.stderr


def test_an_agent_may_start_clean_and_one_that_cannot_is_named(project: Project) -> None:
    quiet = {"command": "claude", "adapter": "claude", "isolation": "clean"}
    project.settings(agents={"quiet": quiet})
    project.agent([{"say": DONE}])
    shown = project.ralph("run", "-p", PROMPT, "--agent", "quiet", "--dry-run", check=0).stdout
    assert "--strict-mcp-config --setting-sources=project,local" in shown
    assert "starts clean, without your MCP servers" in shown
    project.agent([{"say": DONE}], name="codex")
    ran = project.ralph("run", "-p", PROMPT, "--agent", "codex,copilot", "--isolation", "clean", check=0)
    assert "codex starts clean" in ran.stderr
    assert "copilot cannot start clean" in ran.stderr
