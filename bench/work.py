"""``ralph work``: tasks in parallel compared with one by one, and what git costs for each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.child import LONGEST, CannotMeasure
from bench.project import Project, new_project
from bench.row import Bar, Row, Sense, as_difference, as_speed

TASKS = 4
SECONDS = 5
"""How long each agent sleeps: long enough that its start hardly counts."""
CLOSE_TO_ALL = Bar(0.75 * TASKS, Sense.AT_LEAST)
WORKTREES = 8

AGENT = f"""cat > /dev/null
sleep {SECONDS}
echo "$RALPH_TASK_ID" > "$RALPH_TASK_ID.txt"
echo '<promise>IMPLEMENTATION_COMPLETE</promise>'"""


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "work-one") as project:
        one = _worked(project, 1)
    with new_project(folder, "work-all") as project:
        many = _worked(project, TASKS)
    with new_project(folder, "work-trees") as project:
        parts = _parts(project)
    what = f"{TASKS} tasks whose agents sleep {SECONDS} s"
    return [
        as_speed(f"{what}, all at once; baseline: one by one", 1000 * many, "ms", 1000 * one, CLOSE_TO_ALL),
        _git_row("worktree and branch of a task, 1,000 files; baseline `git worktree add`", parts, "open"),
        _git_row("merge, fast-forward and tidying up of a task; baseline bare git", parts, "merge"),
    ]


def _git_row(name: str, parts: dict[str, float], part: str) -> Row:
    return as_difference(name, 1000 * parts[part], "ms", 1000 * parts[f"bare_{part}"])


def _worked(project: Project, parallel: int) -> float:
    agent = project.program("worker", AGENT)
    project.settings(
        agent={"command": str(agent)},
        profiles={
            "verified": {
                "stages": ["coder"],
                "maxParallel": parallel,
                "roles": {"coder": {"verification": "string_match"}},
            }
        },
    )
    project.begin_repository()
    spec = {"outcome": "it is there", "acceptance_criteria": ["it is there"]}
    tasks = [{"id": f"T-{index}", "title": "Sleep", "completion": spec} for index in range(TASKS)]
    file = project.root.with_name(f"{project.root.name}.json")
    file.write_text(json.dumps(tasks))
    project.ralph("task", "add", "-f", str(file))
    return project.ralph("work").wall


def _parts(project: Project) -> dict[str, float]:
    """In a separate process: ralph's modules would make ours too big for the memory measurements."""
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "bench.work_parts", str(project.root), str(WORKTREES)],
            cwd=Path(__file__).parent.parent,
            env=project.environment(),
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        message = f"work: {WORKTREES} worktrees took longer than {LONGEST:g} s"
        raise CannotMeasure(message) from error
    if ran.returncode:
        message = f"work: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)
    found: dict[str, float] = json.loads(ran.stdout)
    return found
