"""Real agents in bubblewrap: they work as outside, and leave nothing that the user's own sessions would run."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.adapters.agents.registry import facts_of
from ralph.testing.model import ScriptedModel, Step

from .harness import DONE, PROMPT, LiveProject

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

SECRET = "the heron stands in the reeds"
PLANT = """
for folder in .claude/shell-snapshots .claude/hooks .codex/skills/evil .codex/shell_snapshots .gemini/policies .gemini/tmp/bin \
    .qwen/commands .copilot/pkg/evil .cache/opencode/node_modules/evil .local/share/opencode/bin; do
    mkdir -p ~/$folder; echo evil > ~/$folder/planted.sh
done
for name in .claude/settings.json .claude/CLAUDE.md .codex/AGENTS.override.md .codex/config.toml .gemini/.env .qwen/.env \
    .copilot/mcp-config.json .config/opencode/AGENTS.md; do
    echo evil > ~/$name
done
echo one > a.txt
"""


def settings(project: LiveProject, model: ScriptedModel) -> None:
    allow = [model.url.removeprefix("http://")]
    project.settings(model.url)
    own = [str(file) for file in project.home.glob("*.json") if not file.name.startswith(".")]
    project.settings(model.url, sandbox={"allow": allow, "readonly": own})


def state_of(project: LiveProject) -> dict[str, bytes]:
    needs = facts_of(project.agent.name).needs
    found: dict[str, bytes] = {}
    for name in (*needs.state, *needs.readonly):
        for top, _, files in os.walk(project.home / name):
            found |= {str(Path(top, file)): Path(top, file).read_bytes() for file in files}
    return found


def test_a_sandboxed_session_is_resumed_and_leaves_the_users_state_alone(project: LiveProject) -> None:
    with project.model(Step(text=f"Hello. {DONE}")) as model:
        settings(project, model)
        project.ralph("-p", PROMPT, "-m", "1", check=0)  # the user's own session: its state is there now
    before = state_of(project)
    with project.model(
        Step(shell=PLANT, text="I begin."),
        Step(text=f"I noticed that {SECRET}."),
        Step(shell="cat a.txt"),
        Step(text=DONE),
    ) as model:
        settings(project, model)
        before |= {
            path: data for path, data in state_of(project).items() if "config" in path or "settings" in path
        }
        err = project.ralph("-p", PROMPT, "-m", "2", "--continue-session", "--sandbox=bwrap", check=0)
        asked = [request.text for request in model.main_requests]

    assert (project.root / "a.txt").read_text() == "one\n", err
    assert SECRET in asked[2]
    assert [session["fault"] for session in project.events("agent_ended")] == [None] * 3
    assert state_of(project) == before
    project.assert_nothing_left()


def test_opencode_works_with_a_configuration_in_its_usual_place_and_nothing_else(
    project: LiveProject,
) -> None:
    """It writes beside that file."""
    if project.agent.name != "opencode":
        pytest.skip("the others do not write beside their configuration")
    with project.model(Step(shell="echo one > a.txt"), Step(text=DONE)) as model:
        file = Path(project.agent.loopback.prepare(project.home, model.url)["OPENCODE_CONFIG"])
        usual = project.home / ".config" / "opencode"
        usual.mkdir(parents=True)
        configuration = file.read_text()
        allow = [model.url.removeprefix("http://")]
        project.settings(model.url, sandbox={"allow": allow})
        settings_without(project, "OPENCODE_CONFIG")
        file.unlink()
        (usual / "opencode.json").write_text(configuration)
        project.ralph("-p", PROMPT, "-m", "1", "--sandbox=bwrap", check=0)

    assert (project.root / "a.txt").exists()
    assert [path.name for path in usual.iterdir()] == ["opencode.json"]


MOVED = {"claude": ("CLAUDE_CONFIG_DIR", ".claude"), "codex": ("CODEX_HOME", ".codex")}


def test_a_state_that_the_users_own_variable_moves_is_seen_and_left_alone(project: LiveProject) -> None:
    if project.agent.name not in MOVED:
        pytest.skip("no variable moves its state")
    variable, _ = MOVED[project.agent.name]
    moved = project.home / "elsewhere"
    with project.model(Step(shell=f"ls ${variable} > seen.txt"), Step(text=DONE)) as model:
        settings(project, model)
        settings_without(project, variable)
        usual = project.home / MOVED[project.agent.name][1]
        usual.mkdir(exist_ok=True)
        usual.rename(moved)
        (moved / "mark.md").write_text("mine")
        before = sorted(path.name for path in moved.iterdir())
        own = replace(project, environment={variable: str(moved)})
        err = own.ralph("-p", PROMPT, "-m", "1", "--sandbox=bwrap", check=0)

    assert "mark.md" in (project.root / "seen.txt").read_text().split(), err
    assert sorted(path.name for path in moved.iterdir()) == before
    assert "which the sandbox hides" not in err


def settings_without(project: LiveProject, variable: str) -> None:
    """What the user's environment says is not for the settings to say."""
    file = project.root / ".ralph" / "settings.json"
    values = json.loads(file.read_text())
    values["agent"]["environment"].pop(variable, None)
    file.write_text(json.dumps(values))
