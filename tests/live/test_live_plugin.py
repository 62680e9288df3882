"""The plugin in the real Claude Code: its manifest, its hooks, its commands, and installing it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralph.testing.model import ScriptedModel, Step

from .conftest import CHOSEN
from .harness import LONG, LiveProject
from .plans import PLUGIN

# The plugin is Claude Code's: no other agent has anything to do with it.
pytestmark = pytest.mark.parametrize("project", sorted({"claude"} & set(CHOSEN)), indirect=True)


@pytest.fixture
def session(project: LiveProject) -> Session:
    return Session(project)


class Session:
    """``claude -p`` as a user starts it, with the plugin."""

    def __init__(self, project: LiveProject) -> None:
        self.project = project

    def run(self, *argv: str, prompt: str = "", **environment: str) -> str:
        ran = subprocess.run(
            argv,
            cwd=self.project.root,
            env={
                **self.project.env(),
                "IS_SANDBOX": "1",
                "CLAUDE_HOOKS_PYTHON": sys.executable,
                **environment,
            },
            input=prompt,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        assert ran.returncode == 0, f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def says(
        self,
        prompt: str,
        model: ScriptedModel,
        *,
        flags: tuple[str, ...] = (f"--plugin-dir={PLUGIN}",),
        **more: str,
    ) -> list[dict[str, Any]]:
        """The events of one session."""
        stream = ("--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
        environment = {**self.project.agent.loopback.prepare(self.project.home, model.url), **more}
        out = self.run("claude", "-p", *flags, *stream, prompt=prompt, **environment)
        return [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    @property
    def loop_state(self) -> Path:
        return self.project.root / ".ralph" / "state" / "ralph-loop.json"


def texts(model: ScriptedModel) -> list[str]:
    return [request.text for request in model.main_requests]


@pytest.mark.parametrize("folder", [PLUGIN, PLUGIN.parent], ids=["plugin", "marketplace"])
def test_the_manifests_are_valid_to_the_letter(session: Session, folder: Path) -> None:
    assert "Validation passed" in session.run("claude", "plugin", "validate", "--strict", str(folder))


def test_commands_and_skills_are_offered(session: Session) -> None:
    with session.project.model(Step(text="hello")) as model:
        events = session.says("hi", model)
    offered = next(event for event in events if event.get("subtype") == "init")["slash_commands"]
    assert {"ralph:loop", "ralph:cancel", "ralph:ralph-plan", "ralph:ralph-tasks"} <= set(offered)


def test_the_guard_refuses_a_dangerous_command_although_permissions_are_skipped(session: Session) -> None:
    with session.project.model(
        Step(shell="touch before; git push --force"), Step(shell="touch harmless"), Step(text="done")
    ) as model:
        session.says("push", model)
        asked = texts(model)
    assert "ralph's guard refuses this command" in asked[1]
    assert not (session.project.root / "before").exists()
    assert (session.project.root / "harmless").exists()


def test_the_guard_fails_closed_and_the_others_open(session: Session) -> None:
    """A Python that cannot start at all."""
    with session.project.model(Step(shell="touch file"), Step(text="done")) as model:
        session.says("work", model, CLAUDE_HOOKS_PYTHON="false")
        asked = texts(model)
    assert len(asked) == 2
    assert not (session.project.root / "file").exists()


def test_the_context_monitor_tells_the_model_how_full_it_is(session: Session) -> None:
    with session.project.model(Step(shell="true"), Step(shell="true"), Step(text="done")) as model:
        session.says("work", model, CLAUDE_CONTEXT_WINDOW="2000")
        asked = texts(model)
    assert "[CRITICAL] Context usage: 92% (1,850 of 2,000 tokens). Wrap up immediately." in asked[1]
    assert asked[2].count("[CRITICAL] Context usage") == 1


def test_a_loop_in_a_session_goes_on_until_its_promise(session: Session) -> None:
    with session.project.model(
        Step(text="That is enough."),
        Step(shell="cp .ralph/state/ralph-loop.json seen.json"),
        Step(text="Still not."),
        Step(text="Now it is. <promise>DONE</promise>"),
    ) as model:
        events = session.says("/ralph:loop --max-iterations 7 Build the thing", model)
        asked = texts(model)
    assert len(asked) == 4
    assert "Ralph loop, iteration 1/7." in asked[0]
    assert "Ralph loop, iteration 2/7." in asked[1]
    assert "Ralph loop, iteration 3/7." in asked[3]
    result = next(event for event in events if event["type"] == "result")
    assert "<promise>DONE</promise>" in result["result"]
    seen = json.loads((session.project.root / "seen.json").read_text())
    assert (seen["iteration"], seen["prompt"], seen["sessionId"]) == (
        2,
        "Build the thing",
        result["session_id"],
    )
    assert not session.loop_state.exists()


def test_a_loop_that_only_talks_rests_with_its_answer_kept(session: Session) -> None:
    with session.project.model(Step(text="I am thinking.")) as model:
        events = session.says("/ralph:loop Build it", model, CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="3")
        assert len(model.main_requests) == 4
    result = next(event for event in events if event["type"] == "result")
    assert result["result"] == "I am thinking."
    assert json.loads(session.loop_state.read_text())["iteration"] == 4


def test_cancel_costs_no_request(session: Session) -> None:
    with session.project.model(Step(text="hello")) as model:
        session.says("/ralph:loop Build it", model, CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="1")
        before = len(model.main_requests)
        events = session.says("/ralph:cancel", model)
        assert len(model.main_requests) == before
    assert "cancelled at iteration 2 of 100" in json.dumps(events)
    assert not session.loop_state.exists()


def test_once_installed_every_session_has_it(session: Session) -> None:
    ralph = (sys.executable, "-m", "ralph", "plugin")
    assert "new sessions have it" in session.run(*ralph, "install")
    assert "Claude Code accepts it" in session.run(*ralph, "check")
    with session.project.model(Step(shell="git push --force"), Step(text="done")) as model:
        session.says("push", model, flags=())
        assert "ralph's guard refuses this command" in texts(model)[1]
