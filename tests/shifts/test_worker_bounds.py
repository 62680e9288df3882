"""What a job may do on a worker: neither its repository nor its flags widen what the machine's owner allows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import DONE, PROMPT, Project
from tests.acceptance.conftest import project as project

from .shifting import Worker, checks, warnings


def agent(project: Project, body: str) -> str:
    """A program on PATH, which a sandbox shows: its script would be hidden there."""
    project.program("worker", f"cat > /dev/null\n{body}\necho '{DONE}'\n")
    return "worker"


needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")


@needs_bwrap
def test_a_repository_and_flags_that_want_out_stay_in(project: Project, own_home: Path) -> None:
    outside = project.programs / "outside"
    outside.mkdir()
    (own_home / "secret.txt").write_text("mine")
    look = f"touch {outside}/by-agent; cat ~/secret.txt > seen; env >> seen; true"
    project.settings(
        agent={"command": agent(project, look)},
        guardrails=[f"touch {outside}/by-check || true"],
        notify=[f"touch {outside}/by-notify"],
        scm={"command": "sh", "tasks": [f"-c 'touch {outside}/by-scm'"]},
        sandbox={
            "kind": "none",
            "writable": [str(outside)],
            "readonly": ["~/secret.txt"],
            "env": ["SECRET*"],
        },
        sandboxChecks=False,
    )
    project.environment["SECRET_OF_MINE"] = "variable"
    words = ("run", "-p", PROMPT, "--no-sandbox", "--notify", f"touch {outside}/by-flag")

    worker = Worker(project, sandbox="strongest")
    end = worker.shift(*words)

    assert end.outcome == "completed", worker.said
    assert not any(outside.iterdir())
    seen = (project.root / "seen").read_text()
    assert "mine" not in seen
    assert "variable" not in seen
    told = "\n".join(warnings(project))
    for key in (
        "sandbox.writable",
        "sandbox.readonly",
        "sandbox.env",
        "sandbox.kind",
        "sandboxChecks",
        "notify",
        "scm",
    ):
        assert f"{key}: this worker does not allow" in told


@needs_bwrap
def test_what_the_owner_allows_is_allowed_and_tighter_wishes_count(project: Project, own_home: Path) -> None:
    allowed, more = project.programs / "allowed", project.programs / "more"
    allowed.mkdir()
    more.mkdir()
    own = own_home / ".config" / "ralph"
    own.mkdir(parents=True)
    (own / "settings.json").write_text(json.dumps({"sandbox": {"writable": [str(allowed)]}}))
    command = agent(project, f"touch {allowed}/yes; touch {more}/no; true")
    project.settings(agent={"command": command}, sandbox={"network": "off"})

    worker = Worker(project, sandbox="bwrap")
    assert worker.shift("run", "-p", PROMPT).outcome == "completed", worker.said
    assert [file.name for file in allowed.iterdir()] == ["yes"]
    assert not any(more.iterdir())
    assert "network" in worker.said[0]
    assert not warnings(project) or "not as the job has it" not in warnings(project)[0]


def test_without_the_sandbox_that_is_demanded_nothing_runs(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"run": "touch ran"}, {"say": DONE}])

    end = Worker(project, sandbox="sbx").shift("run", "-p", PROMPT, "--no-sandbox")

    assert end.exit_code == 4
    assert "sbx" in end.reason
    assert not (project.root / "ran").exists()


@pytest.mark.parametrize("path", ["~/secret.txt", "../programs/secret.txt", "link"])
def test_a_prompt_is_not_read_from_beyond_the_clone(project: Project, own_home: Path, path: str) -> None:
    for file in (own_home / "secret.txt", project.programs / "secret.txt"):
        file.write_text("mine")
    (project.root / "link").symlink_to(own_home / "secret.txt")
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])

    end = Worker(project, sandbox="strongest").shift("run", "-f", path.replace("~", str(own_home)))

    assert (end.outcome, end.want, end.exit_code) == ("", "", 2)
    assert "secret.txt" in end.reason
    assert not (project.root / ".ralph" / "ralph.db").exists()


def test_a_task_folder_beyond_the_clone_is_refused(project: Project, own_home: Path) -> None:
    project.program("agent.sh", "touch ran\n")
    words = (
        "supervise",
        "--task",
        "t",
        "--task-folder",
        str(own_home),
        "--",
        str(project.programs / "agent.sh"),
    )
    end = Worker(project, sandbox="strongest").shift(*words)
    assert end.exit_code == 2, end
    assert not (project.root / "ran").exists()


# --- what is delivered with the owner's login ---


FOREIGN = {"repository": "forge.example/evil/sink", "merge": "squash", "reviewers": ["somebody"]}


@needs_bwrap
def test_a_repository_does_not_have_its_work_delivered(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    command = agent(project, "echo x > work.txt")
    project.settings(agent={"command": command}, delivery="pr", pullRequest=FOREIGN)
    worker = Worker(project, sandbox="strongest")

    end = worker.shift("run", "-p", PROMPT, repository="https://host/octo/shop.git")

    assert end.outcome == "completed", worker.said
    assert "delivery: this worker does not allow" in "\n".join(warnings(project))


@needs_bwrap
def test_who_submits_may_have_it_delivered_but_not_elsewhere(project: Project, own_home: Path) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    project.settings(agent={"command": agent(project, "true")}, pullRequest=FOREIGN)
    words = ("run", "-p", PROMPT, "--deliver", "pr")

    end = Worker(project, sandbox="strongest").shift(*words, repository="https://forge.example/octo/shop.git")
    assert end.exit_code == 2
    # So it was begun, and nobody looked at what the repository wishes.
    assert "no git remote origin" in end.reason

    own = own_home / ".config" / "ralph"
    own.mkdir(parents=True)
    (own / "settings.json").write_text(json.dumps({"pullRequest": {"repository": FOREIGN["repository"]}}))
    end = Worker(project, sandbox="strongest").shift(*words, repository="https://forge.example/octo/shop.git")
    assert (
        "pullRequest.repository is forge.example/evil/sink, which is not the job's repository" in end.reason
    )


# --- settings that a session changes ---


SOFT: dict[str, Any] = {
    "guardrails": ["true"],
    "proof": "trusting",
    "tests": "free",
    "maximumIterations": 900,
}


def test_a_run_keeps_the_settings_that_it_began_with(project: Project) -> None:
    """As in one process. They are in the clone as a session has committed them, once another worker has made it again."""
    project.program("worker", f"cat > /dev/null; echo x >> work.txt; test -e claim && echo '{DONE}'; true\n")
    project.settings(agent={"command": "worker"}, guardrails=["false"], maximumIterations=3)
    worker = Worker(project)
    assert worker.shift("run", "-p", PROMPT).want == "session"
    project.settings(agent={"command": "worker"}, **SOFT)
    (project.root / "claim").touch()

    end = worker.run("run", "-p", PROMPT)

    assert (end.outcome, end.iteration, end.maximum) == ("exhausted", 3, 3)
    failed = [name for _, name, verdict in checks(project) if verdict == "failed"]
    assert "false" in " ".join(failed)


def test_they_are_kept_when_a_person_wants_it_to_continue(project: Project) -> None:
    project.program("worker", f"cat > /dev/null; echo x >> work.txt; echo '{DONE}'\n")
    project.settings(agent={"command": "worker"}, guardrails=["false"], limits={"maxAttempts": 1})
    worker = Worker(project)
    worker.shift("run", "-p", PROMPT, "-m", "2")
    project.settings(agent={"command": "worker"}, **SOFT)

    end = worker.shift(continues=False)

    assert end.outcome != "completed"
    assert all(verdict != "passed" for _, name, verdict in checks(project) if name == "true")


def test_a_file_that_was_not_there_does_not_count_later(project: Project) -> None:
    project.program("worker", f"cat > /dev/null; echo x >> work.txt; test -e claim && echo '{DONE}'; true\n")
    project.settings(agent={"command": "worker"}, guardrails=["false"], maximumIterations=2)
    worker = Worker(project)
    worker.shift("run", "-p", PROMPT)
    (project.root / ".ralph" / "settings.local.json").write_text(json.dumps(SOFT))
    (project.root / "claim").touch()

    assert worker.run("run", "-p", PROMPT).outcome == "exhausted"
