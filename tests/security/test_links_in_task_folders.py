"""The task folder of a supervised agent, and the state that a loop shows: links there are no claims and lead nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, Project

SECRET = "s3cret-of-the-user"
PROMPT = "Work, then write $TASK_FOLDER/DONE."


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "state").mkdir(parents=True)
    for name in ("file", "DONE", "TASK-MESSAGE-BUS.md", "state/ralph-loop.json"):
        (folder / name).write_text(SECRET)
    return folder


@pytest.fixture
def project(project: Project) -> Project:
    project.settings(agent={"command": "claude"}, sandbox={"writable": [str(project.programs)]})
    return project


def contents(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in folder.rglob("*") if path.is_file()}


def record_of(project: Project) -> str:
    plain = (
        path for path in (project.root / ".ralph").rglob("*") if path.is_file() and not path.is_symlink()
    )
    return "".join(path.read_text(errors="replace") for path in plain)


ATTACKS = {
    "DONE": "ln -s {outside}/file $TASK_FOLDER/DONE",
    "the bus": "rm -f $TASK_FOLDER/TASK-MESSAGE-BUS.md; ln -s {outside}/file $TASK_FOLDER/TASK-MESSAGE-BUS.md",
    "the outbox": "rm -rf $TASK_FOLDER/outbox; ln -s {outside} $TASK_FOLDER/outbox",
    "children": "rm -rf $TASK_FOLDER/children; ln -s {outside} $TASK_FOLDER/children",
    "the marker to wait": "ln -s {outside}/file $TASK_FOLDER/WAIT_WITHOUT_RESTART",
}


@pytest.mark.parametrize("sandbox", [(), ("--sandbox",)], ids=["free", "sandboxed"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_links_in_a_task_folder_claim_nothing(
    project: Project, outside: Path, attack: str, sandbox: tuple[str, ...], bwrap_trouble: str
) -> None:
    if sandbox and bwrap_trouble:
        pytest.skip(bwrap_trouble)
    before = contents(outside)
    project.agent([{"run": ATTACKS[attack].format(outside=outside)}], [{"say": "still here"}])
    ran = project.ralph("supervise", "-p", PROMPT, "--max-restarts", "2", "--restart-delay", "0", *sandbox)
    assert ran.returncode != 0
    assert "internal error" not in ran.stderr
    assert contents(outside) == before
    assert SECRET not in record_of(project) + ran.stderr


def test_a_task_folder_that_becomes_a_link_ends_the_run(project: Project, outside: Path) -> None:
    before = contents(outside)
    project.agent([{"run": f"mv box b; ln -s {outside} box"}], [{"say": "still here"}])
    ran = project.ralph(
        "supervise", "-p", PROMPT, "--task-dir", "box", "--max-restarts", "2", "--restart-delay", "0", check=4
    )
    assert "is a link, and ralph does not follow it" in ran.stderr
    assert contents(outside) == before


@pytest.mark.parametrize(
    "attack",
    [
        "rm -r .ralph/state; ln -s {outside}/state .ralph/state",
        "rm .ralph/state/ralph-loop.json; ln -s {outside}/state/ralph-loop.json .ralph/state/ralph-loop.json",
    ],
)
def test_the_state_of_a_loop_is_not_written_through_links(
    project: Project, outside: Path, attack: str
) -> None:
    before = contents(outside)
    project.agent(
        [{"run": attack.format(outside=outside)}], [{"say": "<promise>COMPLETE</promise>"}], [{"say": DONE}]
    )
    ran = project.ralph("run", "-p", "Say <promise>COMPLETE</promise>", "--profile", "promise", "-m", "3")
    assert "internal error" not in ran.stderr
    assert contents(outside) == before


def add_task(project: Project) -> None:
    """Without one, work ends before it reads a role."""
    done = {"outcome": "o", "acceptance_criteria": ["c"]}
    (project.root / "tasks.json").write_text(json.dumps([{"id": "T-1", "title": "t", "completion": done}]))
    added = project.ralph("task", "add", "-f", "tasks.json")
    assert added.returncode == 0, added.stderr


@pytest.mark.parametrize("target", ["{outside}/file", "../outside/file", "elsewhere/file"])
def test_the_prompt_of_a_role_does_not_lead_out_of_the_project(
    project: Project, outside: Path, target: str
) -> None:
    (project.root / "elsewhere").symlink_to(outside)
    (project.root / "role.md").symlink_to(target.format(outside=outside))
    roles = {"coder": {"prompt": "role.md"}}
    project.settings(agent={"command": "claude"}, profiles={"verified": {"roles": roles}})
    project.git("init", "-q")
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    project.agent([{"say": "ok"}])
    add_task(project)
    ran = project.ralph("work", "--no-sandbox")
    assert ran.returncode == 2, ran.stderr
    assert "leads out of the project" in ran.stderr
    assert SECRET not in record_of(project) + ran.stderr + ran.stdout


def test_the_prompt_of_a_role_may_be_a_link_inside_the_project(project: Project) -> None:
    (project.root / "roles").mkdir()
    (project.root / "roles" / "own.md").write_text("Be careful.")
    (project.root / "role.md").symlink_to("roles/own.md")
    roles = {"coder": {"prompt": "role.md"}}
    project.settings(agent={"command": "claude"}, profiles={"verified": {"roles": roles}})
    project.git("init", "-q")
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    project.agent([{"say": "ok"}])
    add_task(project)
    ran = project.ralph("work", "--no-sandbox", "--dry-run")
    assert ran.returncode == 0, ran.stderr
