"""What a command is given may lead in a circle, and so may the settings: the user is told, and nothing breaks."""

from __future__ import annotations

import pytest

from .conftest import Project


@pytest.mark.parametrize(
    "command",
    [
        ("status", "--project-dir", "circle"),
        ("supervise", "--agent", "true", "--task", "x", "--task-dir", "circle", "-p", "x"),
        ("init", "--yes", "--agent", "true", "--guardrail", "true"),
        ("config", "show"),
        ("run", "--agent", "true", "-f", "circle"),
    ],
    ids=lambda command: command[0],
)
def test_a_circle_of_links_is_reported(project: Project, command: tuple[str, ...]) -> None:
    (project.root / "circle").symlink_to("circle")
    if command[0] in ("init", "config"):
        project.settings()
        settings = project.root / ".ralph" / "settings.json"
        settings.unlink()
        settings.symlink_to("../circle")
    ran = project.ralph(*command)
    assert ran.returncode in (2, 4), ran.stderr
    assert "internal error" not in ran.stderr
    assert "was replaced" not in ran.stderr, "nobody did"
