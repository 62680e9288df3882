"""A real agent, called because a check of its pull request failed, turns it green."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ralph.testing.model import Step
from tests.delivery.world.forge import Forge

from .conftest import CACHE
from .harness import DONE, LiveProject

LOG = "answer.txt says wrong, and must say right"


def test_a_session_turns_a_red_check_green(project: LiveProject, tmp_path: Path) -> None:
    with Forge(CACHE, tmp_path) as forge:
        project = replace(project, environment=forge.environment_https("owner"))
        project.git("remote", "add", "origin", forge.remote)
        project.git("fetch", "-q", "origin")
        project.git("checkout", "-q", "-b", "feature", "origin/main")
        (project.root / "answer.txt").write_text("wrong\n")
        project.git("add", "answer.txt")
        project.git("commit", "-qm", "Add the answer")

        def judge(branch: str, commit: str) -> None:
            if branch == "feature":
                is_right = forge.git("show", f"{commit}:answer.txt") == "right"
                forge.check(commit, "build", "success" if is_right else "failure", log=LOG, step="Test")

        forge.github.on_push = judge
        with project.model(
            Step(shell="echo right > answer.txt", text="I see."), Step(text=f"Fixed. {DONE}")
        ) as model:
            project.settings(
                model.url,
                guardrails=["test -f answer.txt"],
                pullRequest={"repository": forge.repository, "merge": "squash"},
            )
            (project.root / ".git" / "info" / "exclude").write_text(".ralph/\n")
            project.ralph(command="ship", check=0)
            asked = model.main_requests

        assert LOG in asked[0].text
        (pull,) = forge.pulls()
        assert pull["merged_at"]
        assert forge.git("show", "main:answer.txt") == "right"
        token = forge.token("owner")
        assert not any(token in request.text for request in asked)
    project.assert_nothing_left()
