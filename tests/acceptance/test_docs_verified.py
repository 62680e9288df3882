"""The pages on tasks and their verification are executed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ralph.domain.tasks.completion import VerificationMethod

from .conftest import Project
from .task_project import TaskProject

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def test_the_how_to_works_as_written(project: Project) -> None:
    tasks = TaskProject(project)
    tasks.role("coder", "echo 3 > sum.txt")
    create = blocks("howto-verified.md", "sh")[0].replace("\\\n", " ")
    project.ralph(*shlex.split(create)[1:], check=0)
    commands = [
        shlex.split(line, comments=True) for line in blocks("howto-verified.md", "sh")[1].splitlines()
    ]
    assert [command[:2] for command in commands] == [["ralph", "work"]] * 3

    said = project.ralph(*commands[1][1:], check=0).stderr

    assert tasks.git("show", "main:sum.txt") == "3"
    (row,) = [line for line in said.splitlines() if line.startswith("SUM-1 ")]
    assert re.fullmatch(r"SUM-1 +done +Add a sum +1 +0 +\S+ +merged as [0-9a-f]{12}", row)


def test_your_own_method_works_as_written(project: Project) -> None:
    tasks = TaskProject(project)
    (code,) = blocks("writing-a-check.md", "python")
    (tasks.programs / "my_methods.py").write_text(code)
    project.environment["PYTHONPATH"] = str(tasks.programs)
    (entry,) = blocks("writing-a-check.md", "yaml")
    inside = "".join(f"    {line}\n" for line in entry.splitlines())
    text = f"task:\n  id: T-1\n  title: Sum\n  completion:\n    outcome: x\n    acceptance_criteria: [x]\n{inside}"
    project.ralph("task", "add", "-f", "-", stdin=text, check=0)
    tasks.role(
        "coder",
        'if [ "$number" = 1 ]; then echo x > a; else echo y > NEWS.md; fi',
        says="<promise>WRITTEN</promise>",
    )

    tasks.work(check=0)

    assert "NEWS.md says nothing about 'Sum'" in tasks.prompt("coder", 2)


def test_every_option_of_a_verification_is_one_that_tasks_accept(project: Project) -> None:
    tasks = TaskProject(project)
    methods, _ = (DOCS / "verification.md").read_text().split("## Layers of proof")
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", methods, re.MULTILINE))
    assert set(rows) == set(VerificationMethod)
    known: dict[str, object] = {
        "command": "true",
        "success_exit_code": 0,
        "output_contains": "x",
        "output_not_contains": "x",
        "timeout": 3,
        "working_dir": "a",
        "rerun": True,
        "check_for": ["x"],
        "negative_patterns": ["x"],
        "model": "m",
        "require_all": True,
        "parallel": True,
        "stages": [{"name": "a", "method": "string_match", "config": {}, "required": True}],
    }
    for number, (method, options) in enumerate(rows.items()):
        named = {name: known[name] for name in re.findall(r"`(\w+)`", options) if name in known}
        assert named or method == "string_match"
        tasks.task(f"T-{number}", coder={"verification_method": method, "verification_config": named})
