"""The pipelines in docs/ci.md are executed, step by step, with a scripted agent and without the network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import DONE, Project
from .test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "ci.md"
TASK = 'Write "$(touch hacked)" into done.txt'
INSTALLS = ("pip install", "apt-get")


@pytest.fixture
def shop(project: Project, tmp_path: Path) -> Project:
    """A repository with a remote, whose `make test` fails until the agent has done its work."""
    (project.root / "Makefile").write_text("test:\n\t@test -f done.txt\n")
    (project.root / "task.md").write_text(f"{TASK}\n")
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True, timeout=20)
    for arguments in (
        ("init", "-q", "-b", "main"),
        ("remote", "add", "origin", str(tmp_path / "remote.git")),
        ("add", "Makefile", "task.md"),
        ("commit", "-qm", "begin"),
    ):
        project.git(*arguments)
    for agent in ("claude", "codex"):
        project.agent([{"write": {"path": "done.txt", "content": "x\n"}}, {"say": DONE}], name=agent)
    project.program("gh", 'printf "%s\\n" "$@" > ../gh; cat body.md >> ../gh')
    project.program("ralph", f'exec {sys.executable} -m ralph "$@"')
    return project


def run_step(project: Project, script: str, environment: dict[str, str]) -> None:
    variables = {name: TASK if name == "TASK" else "x" for name in environment}
    ran = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=project.root,
        env=project.env(GITHUB_RUN_ID="7", **variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, f"{script}\n{ran.stdout}{ran.stderr}"


def workflows() -> tuple[dict[str, Any], dict[str, Any]]:
    github, gitlab = (yaml.safe_load(block) for block in blocks(PAGE, "yaml"))
    return github, gitlab


def test_the_github_workflow_opens_a_pull_request(shop: Project) -> None:
    github, _ = workflows()
    steps = [step for step in github["jobs"]["ralph"]["steps"] if "run" in step]
    assert len(steps) == 4
    for step in steps:
        if not any(word in step["run"] for word in INSTALLS):
            run_step(shop, step["run"].replace(" --sandbox", ""), step.get("env", {}))

    asked = (shop.root.parent / "gh").read_text()
    assert asked.startswith(f"pr\ncreate\n--title\n{TASK}\n")
    assert "ompleted" in asked
    assert "report.html" in {path.name for path in shop.root.iterdir()}
    assert shop.git("ls-tree", "--name-only", "origin/ralph/7").splitlines() == [
        "Makefile",
        "done.txt",
        "task.md",
    ]
    assert not (shop.root / "hacked").exists()


def test_the_gitlab_job_and_any_other_run(shop: Project) -> None:
    _, gitlab = workflows()
    for line in (*gitlab["ralph"]["script"], *gitlab["ralph"]["after_script"]):
        run_step(shop, line, {"TASK": ""} | gitlab["ralph"]["variables"])
    shop.git("clean", "-qfd", "-e", ".ralph")
    shop.settings(agent={"command": "claude"})
    (plain,) = blocks(PAGE, "sh")
    run_step(shop, plain, {})

    assert (shop.root / "events.ndjson").read_text().startswith("{")
    assert (shop.root / "report.md").read_text()
