"""A clone of the forge's repository in which ralph works on tickets, with an agent that does what each ticket asks for."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from .shipping import ShipProject, over_https, ship_project
from .world.forge import Forge

WORKER = """
prompt=$(cat)
number=$(ls "{here}" | grep -c "^prompt-$RALPH_TASK_ID-")
printf '%s' "$prompt" > "{here}/prompt-$RALPH_TASK_ID-$number"
env > "{here}/environment-$RALPH_TASK_ID"
{before}
echo "$RALPH_TASK_ID" > "$RALPH_TASK_ID.txt"
echo '<promise>IMPLEMENTATION_COMPLETE</promise>'
"""
BODY = "Write a file.\n\n## Acceptance criteria\n\n- the file exists\n- it has one line\n"


def ticket_project(
    forge: Forge,
    folder: Path,
    *,
    before: str = "",
    is_confined: bool = False,
    by_gh: bool = False,
    **settings: Any,
) -> ShipProject:
    """``before``: a shell script that each session runs first. ``by_gh``: with the user's gh instead of a token. The one role is judged by a command alone."""
    project = ship_project(forge, folder) if by_gh else over_https(ship_project(forge, folder))
    project.git("checkout", "-q", "main")
    worker = WORKER.replace("{here}", shlex.quote(str(project.programs))).replace("{before}", before)
    project.program("worker", worker)
    if not is_confined:  # by the user's own word: a repository's settings cannot say that
        project.environment["RALPH_SANDBOX__KIND"] = "none"
    project.setting(
        guardrails=['test -n "$(ls *.txt)"'],
        profiles={
            "verified": {"stages": ["coder"], "roles": {"coder": {"command": 'test -n "$(ls *.txt)"'}}}
        },
        **settings,
    )
    values = json.loads((project.root / ".ralph" / "settings.json").read_text())
    values["agent"] = {"command": str(project.programs / "worker")}
    project.settings(**values)
    return project


def prompt_of(project: ShipProject, task: str, number: int = 0) -> str:
    return (project.programs / f"prompt-{task}-{number}").read_text()


def statuses(project: ShipProject) -> dict[str, str]:
    return dict(project.rows("SELECT id, status FROM tasks"))


def change_settings(project: ShipProject, **values: Any) -> None:
    """More of them, beside those that the project has."""
    path = project.root / ".ralph" / "settings.json"
    known = json.loads(path.read_text())
    pull_request = {**known.get("pullRequest", {}), **values.pop("pullRequest", {})}
    project.settings(**{**known, **values, "pullRequest": pull_request})
