"""What a repository, its remote or a kill could do to a run that pushes: it goes where the user agreed to, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE

from .killing import Gate, kill_at_gate
from .shipping import GREEN, RED, ShipProject, on_each_push, over_https, says, ship_project
from .world.forge import Forge

USAGE = 2
SHAPELESS = "0f3a9c5577d2e4b8a1c6" * 2
"""A token that only its variable gives away."""


@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    return over_https(ship_project(forge, tmp_path))


def refused(project: ShipProject, *, says: str, hint: str) -> None:
    ran = project.ship()
    assert ran.returncode == USAGE, ran.stderr
    assert says in ran.stderr
    assert hint in ran.stderr


# --- where it pushes ---


def test_a_remote_that_is_an_option_is_refused(project: ShipProject, forge: Forge, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    project.git("config", "remote.origin.url", f"--upload-pack=touch {ran};")

    refused(project, says="the address of the remote origin begins with -", hint="git remote set-url origin")

    assert not ran.exists()
    assert not forge.requests


def test_a_remote_inside_the_project_is_refused(project: ShipProject, forge: Forge, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    project.git("init", "-q", "--bare", ".git/inner")
    hook = project.root / ".git" / "inner" / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    project.git("config", "remote.origin.url", ".git/inner")

    refused(project, says="the remote origin is a folder of this project", hint="pullRequest.remote")

    assert not ran.exists()
    assert not forge.requests


def test_a_fork_is_not_where_the_repository_s_pull_requests_come_from(
    project: ShipProject, forge: Forge
) -> None:
    project.git("config", "remote.origin.url", "https://github.localhost/fork/demo.git")

    refused(
        project,
        says="the remote is github.localhost/fork/demo, but pullRequest.repository is github.localhost/owner1/demo",
        hint="pullRequest.remote",
    )

    assert not forge.requests


def test_a_run_that_delivers_asks_where_it_may_push_and_no_other_does(
    project: ShipProject, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RALPH_TRUST")
    on_each_push(forge, [("build", GREEN)])
    project.ralph("trust", "--yes", check=0)
    local = project.ralph("run", "-p", "Look", "-m", "1", "--guardrail", "true")
    assert "not trusted" not in local.stderr, "which was agreed to before"

    asked = project.ship(check=USAGE)

    assert f"pushes to {forge.remote}" in asked.stderr
    assert "ralph trust --deliver pr" in asked.stderr
    assert forge.tip("feature") is None
    shown = project.ralph("trust", "--deliver", "pr", "--show", check=USAGE)
    assert f"pushes to {forge.remote}  (remote.origin.url)" in shown.stdout
    project.ralph("trust", "--deliver", "pr", "--yes", check=0)
    project.ship(check=0)
    project.git("config", "remote.origin.pushurl", "/srv/elsewhere")
    assert "pushes to /srv/elsewhere" in project.ship(check=USAGE).stderr


# --- what it shows ---


def test_a_token_that_is_kept_from_the_agent_is_masked_everywhere(
    project: ShipProject, forge: Forge, tmp_path: Path
) -> None:
    leak = tmp_path / "leak"
    leak.write_text(f"the server says {SHAPELESS}\n")
    project.environment["GH_TOKEN"] = SHAPELESS
    project.setting(guardrails=[f"cat {leak}; test -f fixed.txt"])
    on_each_push(forge, [("build", {**RED, "log": f"job: {SHAPELESS}"})], [("build", GREEN)])
    project.agent(says(DONE, fixed__txt="1\n"), says(DONE, work__txt="2\n"))

    shipped = project.ship("--verbose", check=0)

    first, second = project.prompts()
    assert "the server says" in first
    assert "job: " in second
    assert SHAPELESS not in shipped.stdout + shipped.stderr
    for file in (project.root / ".ralph").rglob("*"):
        assert not file.is_file() or SHAPELESS.encode() not in file.read_bytes(), file
    assert SHAPELESS not in str(forge.pulls())


# --- what it resumes ---


def killed(project: ShipProject, tmp_path: Path) -> str:
    """In the first session of a run, long before anything is delivered. Gives its branch."""
    gate = Gate(tmp_path / "gate")
    project.git("checkout", "-q", "main")
    project.setting(guardrails=["test -f made.txt"])
    project.agent([{"run": gate.script}, {"say": "no"}], says(DONE, made__txt="1\n"))
    kill_at_gate(project, gate, "run", "Make made.txt", "--deliver", "pr")
    branch = project.git("branch", "--show-current").strip()
    assert branch.startswith("ralph/make-made-txt-")
    return branch


@pytest.mark.parametrize("meanwhile", ["main", "feature"])
def test_a_run_that_was_killed_before_it_delivered_resumes_on_its_branch(
    project: ShipProject, forge: Forge, tmp_path: Path, meanwhile: str
) -> None:
    branch = killed(project, tmp_path)
    on_each_push(forge, [("build", GREEN)], branch=branch)
    project.git("checkout", "-q", meanwhile)

    project.ralph("resume", check=0)

    assert [pull["head"]["ref"] for pull in forge.pulls()] == [branch]
    assert project.git("branch", "--show-current").strip() == branch


def test_a_run_that_was_killed_before_it_made_its_branch_makes_it(
    project: ShipProject, forge: Forge, tmp_path: Path
) -> None:
    branch = killed(project, tmp_path)
    on_each_push(forge, [("build", GREEN)], branch=branch)
    project.git("checkout", "-q", "main")
    project.git("branch", "-D", branch)

    project.ralph("resume", check=0)

    assert [pull["head"]["ref"] for pull in forge.pulls()] == [branch]
