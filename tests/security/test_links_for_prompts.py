"""A prompt file is read again for every iteration, outside: a link that the agent puts there leads to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, PROMPT, Project

SECRET = "s3cret-key-of-the-user"


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A folder outside, with files of the names that an agent might want to read."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("id_ed25519", "PROMPT.md"):
        (folder / name).write_text(f"{SECRET} {PROMPT}")
    return folder


@pytest.fixture
def project(project: Project) -> Project:
    # The fake agent counts its sessions beside its script; a real one keeps its state in its own folder.
    project.settings(agent={"command": "claude"}, sandbox={"writable": [str(project.programs)]})
    return project


def run_of(project: Project) -> str:
    [(run,)] = project.rows("SELECT id FROM runs")
    return str(run)


def seen_by_the_agent(project: Project) -> str:
    prompts = project.root.glob(".ralph/runs/*/prompt_*.txt")
    return "".join(prompt.read_text() for prompt in prompts)


SWAPS = {
    "the file": "rm tasks/PROMPT.md; ln -s {outside}/id_ed25519 tasks/PROMPT.md",
    "the file, by a relative link": "rm tasks/PROMPT.md; ln -s ../../outside/id_ed25519 tasks/PROMPT.md",
    "a chain of links": "ln -s {outside} a; ln -s a/id_ed25519 b; rm tasks/PROMPT.md; ln -s ../b tasks/PROMPT.md",
    "its folder": "rm -r tasks; ln -s {outside} tasks",
    "its folder, by a relative link": "mv tasks t; ln -s ../outside tasks",
    "the file, by renaming": "ln -s {outside}/id_ed25519 x; mv -T x tasks/PROMPT.md",
}


@pytest.mark.parametrize("sandbox", [(), ("--sandbox",)], ids=["free", "sandboxed"])
@pytest.mark.parametrize("swap", SWAPS)
def test_a_prompt_file_that_becomes_a_link_ends_the_run(
    project: Project, secrets: Path, swap: str, sandbox: tuple[str, ...], bwrap_trouble: str
) -> None:
    if sandbox and bwrap_trouble:
        pytest.skip(bwrap_trouble)
    (project.root / "tasks").mkdir()
    (project.root / "tasks" / "PROMPT.md").write_text(PROMPT)
    project.agent([{"run": SWAPS[swap].format(outside=secrets)}], [{"say": DONE}])
    ran = project.ralph("run", "-f", "tasks/PROMPT.md", "-m", "3", *sandbox, check=2)
    assert "is a link, and ralph does not follow it" in ran.stderr
    assert "put the file back" in ran.stderr
    assert SECRET not in seen_by_the_agent(project)
    # A link of the agent's is no choice of the user's when the run is resumed, either.
    again = project.ralph("resume", run_of(project), check=2)
    assert "is a link, and ralph does not follow it" in again.stderr
    assert SECRET not in seen_by_the_agent(project)


def test_a_supervised_prompt_that_becomes_a_link_ends_the_run(project: Project, secrets: Path) -> None:
    (project.root / "PROMPT.md").write_text(f"{PROMPT} $TASK_FOLDER/DONE")
    project.agent([{"run": f"ln -sf {secrets}/id_ed25519 PROMPT.md"}], [{"run": "touch $TASK_FOLDER/DONE"}])
    ran = project.ralph("supervise", "-f", "PROMPT.md", "--max-restarts", "3", check=2)
    assert "is a link, and ralph does not follow it" in ran.stderr
    assert SECRET not in seen_by_the_agent(project)


def test_a_pipe_in_place_of_the_prompt_ends_the_run(project: Project) -> None:
    (project.root / "PROMPT.md").write_text(PROMPT)
    project.agent([{"run": "rm PROMPT.md; mkfifo PROMPT.md"}], [{"say": DONE}])
    ran = project.ralph("run", "-f", "PROMPT.md", "-m", "3", check=2)
    assert "not a regular file" in ran.stderr


def test_a_link_of_the_user_is_followed_to_where_it_led_at_the_start(
    project: Project, tmp_path: Path
) -> None:
    """Prompts may be kept elsewhere; what the agent does to the link changes nothing."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "mine.md").write_text(f"the user's own. {PROMPT}")
    (tmp_path / "other.md").write_text(f"{SECRET} {PROMPT}")
    (tmp_path / "by-link").symlink_to(kept)
    (project.root / "PROMPT.md").symlink_to(tmp_path / "by-link" / "mine.md")
    project.agent([{"run": f"ln -sf {tmp_path}/other.md PROMPT.md"}], [{"say": DONE}])
    project.ralph("run", "-f", "PROMPT.md", "-m", "3", check=0)
    assert seen_by_the_agent(project).count("the user's own") == 2
    assert SECRET not in seen_by_the_agent(project)


def test_a_project_and_a_record_behind_links_of_the_user_work(project: Project, tmp_path: Path) -> None:
    record, link = tmp_path / "record", tmp_path / "by-link"
    (project.root / ".ralph").rename(record)
    (project.root / ".ralph").symlink_to(record)
    link.symlink_to(project.root)
    (project.root / "PROMPT.md").write_text(PROMPT)
    project.agent([{"say": "not yet"}], [{"say": DONE}])
    project.ralph("run", "-f", str(link / "PROMPT.md"), "-m", "1", cwd=link, check=1)
    project.ralph("resume", "-m", "2", cwd=link, check=0)
    assert len(list(record.glob("runs/*/prompt_*.txt"))) == 2
    project.ralph("runs", "prune", "--keep", "0", "--yes", cwd=link, check=0)
    assert list(record.glob("runs/*")) == []


@pytest.mark.parametrize("swap", sorted(SWAPS))
def test_a_link_that_an_agent_left_is_not_followed_by_the_next_run_in_a_sandbox(
    project: Project, secrets: Path, swap: str, bwrap_trouble: str
) -> None:
    if bwrap_trouble:
        pytest.skip(bwrap_trouble)
    (project.root / "tasks").mkdir()
    (project.root / "tasks" / "PROMPT.md").write_text(PROMPT)
    project.agent([{"run": SWAPS[swap].format(outside=secrets)}])
    project.ralph("run", "-p", PROMPT, "-m", "1", "--sandbox=bwrap", check=1)
    project.agent([{"say": DONE}])
    for command in (["run", "-m", "1"], ["supervise", "--max-restarts", "1"]):
        ran = project.ralph(*command, "-f", "tasks/PROMPT.md", "--sandbox=bwrap", check=2)
        assert "through a link where the agent may write" in ran.stderr
    assert SECRET not in seen_by_the_agent(project)


def test_nor_by_way_of_a_link_of_the_users_or_as_a_task_folder(project: Project, secrets: Path) -> None:
    (project.root / "PROMPT.md").symlink_to(secrets / "id_ed25519")
    outer = project.root.parent / "mine.md"
    outer.symlink_to(project.root / "PROMPT.md")
    (project.root / "one").symlink_to(secrets)
    project.agent([{"say": DONE}])
    for flags in (["run", "-f", str(outer)], ["supervise", "-p", PROMPT, "--task-dir", "one"]):
        ran = project.ralph(*flags, "--sandbox=bwrap", check=2)
        assert "through a link where the agent may write" in ran.stderr
    assert SECRET not in seen_by_the_agent(project)
