"""``/ralph:loop`` in a session of Claude Code and runs of ``ralph`` know of each other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from .conftest import DONE, PROMPT, Project
from .running import running, wait_for

HOOKS = Path(__file__).parents[2] / "plugin" / "hooks" / "hook.sh"
PROMISE = "<promise>DONE</promise>"
WAITS = [
    {"touch": "started"},
    {"run": "while [ ! -f go ]; do sleep 0.05; done"},
    {"say": f"{PROMISE} {DONE}"},
]


def state_file(project: Path) -> Path:
    return project / ".ralph" / "state" / "ralph-loop.json"


def hook(project: Project, name: str, **fields: Any) -> dict[str, Any]:
    """As a session whose program is this process starts it: by a shell."""
    event = {"session_id": "a-session", "cwd": str(project.root), **fields}
    ran = subprocess.run(
        ["sh", str(HOOKS), name],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=project.env(CLAUDE_PROJECT_DIR=str(project.root), CLAUDE_HOOKS_PYTHON=sys.executable),
    )
    answer: dict[str, Any] = json.loads(ran.stdout) if ran.stdout.strip() else {}
    return answer


def loop(project: Project) -> dict[str, Any]:
    return hook(project, "prompt", hook_event_name="UserPromptSubmit", prompt="/ralph:loop Build it")


def test_no_run_starts_beside_the_loop_of_a_session_and_its_state_stays(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": f"{PROMISE} {DONE}"}])
    assert "decision" not in loop(project)
    before = state_file(project.root).read_text()
    for profile in ("basic", "promise"):
        refused = project.ralph("run", "--profile", profile, "-p", PROMPT, check=2).stderr
        assert "/ralph:loop" in refused
        assert "/ralph:cancel" in refused
    assert state_file(project.root).read_text() == before
    again = hook(project, "stop", hook_event_name="Stop", last_assistant_message="Not yet.")
    assert again["decision"] == "block", "the loop goes on"
    hook(project, "prompt", hook_event_name="UserPromptSubmit", prompt="/ralph:cancel")
    project.ralph("run", "-p", PROMPT, check=0)


def test_the_state_of_a_session_that_has_ended_holds_nobody_and_is_kept(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": PROMISE}])
    loop(project)
    state = json.loads(state_file(project.root).read_text())
    state["process"]["processStarted"] = "1"  # another process has its pid now
    state_file(project.root).write_text(json.dumps(state))
    project.ralph("run", "--profile", "promise", "-p", "x", check=0)
    assert json.loads(state_file(project.root).read_text()) == state, "the session may be resumed"


def test_no_loop_starts_beside_a_run(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent(WAITS)
    with running(project, "-p", PROMPT) as process:
        wait_for((project.root / "started").exists, "the start")
        refused = loop(project)
        assert refused["decision"] == "block"
        assert "`ralph stop`" in refused["reason"]
        (project.root / "go").touch()
        process.communicate(timeout=90)
    assert process.returncode == 0
    assert "decision" not in loop(project)


def test_a_promise_run_that_the_agent_of_another_starts_leaves_its_state_alone(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    child = f"'{sys.executable}' -m ralph run --agent plainchild --profile promise -p child"
    project.program("plainchild", f"cp .ralph/state/ralph-loop.json seen; echo '{PROMISE}'\n")
    project.agent([{"run": f"{child}; cp .ralph/state/ralph-loop.json after"}, {"say": PROMISE}])
    project.ralph("run", "--profile", "promise", "-p", "parent", check=0)
    for moment in ("seen", "after"):
        assert json.loads((project.root / moment).read_text())["prompt"] == "parent"
    assert not state_file(project.root).exists()
