"""A run reads what it was configured with once: what is checked, shown and done cannot differ.

With each claim the settings are read again, only to see whether they are still the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import PurePath

import pytest

from tests.plan_documents import story_json, tasks_json

from .conftest import DONE, PROMPT, Project

DRIVER = """
import json, os, sys

opened = []

def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        opened.append(os.fsdecode(arguments[0]))

sys.addaudithook(note)
from ralph.interfaces.cli.main import main

try:
    code = main(sys.argv[2:])
finally:
    with open(sys.argv[1], "w") as file:
        json.dump(opened, file)
sys.exit(code)
"""


def opened_by(project: Project, *arguments: str) -> list[str]:
    """The names of all files that ``ralph`` opened, in order, but for the settings that are the user's own."""
    notes = project.programs / "opened.json"
    command = [sys.executable, "-c", DRIVER, str(notes), *arguments]
    ran = subprocess.run(
        command,
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    paths = map(PurePath, json.loads(notes.read_text()))
    return [path.name for path in paths if path.parts[-3:-1] != (".config", "ralph")]


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--guardrail", "true", "--agent", "claude", "--agent-flag=--verbose", "--notify", "true"),
        ("--profile", "promise", "--completion-promise", "DONE", "--guardrail", "true"),
    ],
)
def test_settings_are_read_once_whatever_flags_add_to_them(project: Project, more: tuple[str, ...]) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}], notify=["true"])
    project.settings("settings.local.json", maximumIterations=3)
    project.agent([{"say": f"{DONE} <promise>DONE</promise>"}])
    opened = opened_by(project, "run", "-p", f"{PROMPT} <promise>DONE</promise>", *more)
    before = Counter(opened[: opened.index("prompt_001.txt")])
    assert (before["settings.json"], before["settings.local.json"]) == (1, 1)
    compared = Counter(opened) - before
    assert (compared["settings.json"], compared["settings.local.json"]) == (1, 1)


def test_where_each_command_comes_from_is_told_from_that_one_reading(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
    project.agent([{"say": DONE}])
    shown = project.ralph("run", "-p", PROMPT, "--guardrail", "test 1", "--notify", "true", check=0).stderr
    assert "guardrail: true (.ralph/settings.json)" in shown
    assert "guardrail: test 1 (--guardrail)" in shown
    assert "notify: true (--notify)" in shown


def test_before_its_first_session_a_plan_is_read_three_times(project: Project) -> None:
    """When the run is prepared; when its branch is checked out, to be trusted; and when the session is offered."""
    project.settings(agent={"command": "claude"})
    project.git("init", "-q", "-b", "main")
    (project.root / ".gitignore").write_text(".ralph/\n")
    project.ralph("plan", "new", "--name", "search", check=0)
    document = tasks_json(story_json("A"), branchName="ralph/search", verifyCommands=["true"])
    (project.root / "ralph" / "tasks.json").write_text(json.dumps(document))
    project.git("add", "-A")
    project.git("commit", "-qm", "plan")
    done = {"passes": True, "notes": "built"}
    mark = f"""python3 - <<'EOF'
import json
path = "ralph/tasks.json"
document = json.load(open(path))
document["userStories"][0].update({done!r})
json.dump(document, open(path, "w"))
EOF
git add -A && git commit -qm session"""
    project.agent([{"run": mark}, {"say": "ok"}])
    opened = opened_by(project, "plan", "run", "--no-sandbox", "--skip-review")
    before = opened[: opened.index("prompt_001.txt")]
    assert before.count("tasks.json") == 3
    assert before.count("settings.json") == 1
    assert opened.count("settings.json") == 2
