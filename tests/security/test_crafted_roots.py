"""A record that a clone brings names folders with repositories of their own: nothing that they say is run by looking."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, Project, copy_of, make_once

from .conftest import git
from .ready_ralph import ReadyRalph

Look = Callable[[Project], None]
"""Reports and shows the newest run."""


def bare_style(folder: Path, trace: Path) -> None:
    """A folder that git takes for a repository although it has no ``.git``, with a filter on its files."""
    tree = folder / "wt"
    tree.mkdir(parents=True)
    for name in ("objects", "refs"):
        (folder / name).mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(
        f'[core]\n repositoryformatversion=0\n bare=false\n worktree={tree}\n[filter "x"]\n clean=touch {trace}; cat\n'
    )
    (tree / ".gitattributes").write_text("* filter=x\n")
    (tree / "a").write_text("a\n")
    explicit = {**os.environ, "GIT_DIR": str(folder), "GIT_WORK_TREE": str(tree)}
    for command in (["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(["git", *command], env=explicit, cwd=tree, check=True, capture_output=True)
    (tree / "a").write_text("changed\n")
    trace.unlink(missing_ok=True)


def own_repository(folder: Path, trace: Path) -> None:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    spoil(folder, trace)


def spoil(folder: Path, trace: Path) -> None:
    """Filters of every kind, on files that differ from what was committed."""
    (folder / "a").write_text("a\n")
    (folder / "b").write_text("b\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")
    (folder / ".gitattributes").write_text("a filter=x=y\nb filter=z\n* diff=d\n")
    with (folder / ".git" / "config").open("a") as config:
        config.write(f"""
[filter "x=y"]
    clean = "touch '{trace}'; cat"
    required = true
[filter "z"]
    process = "touch '{trace}'"
[diff "d"]
    textconv = "touch '{trace}'; cat"
    command = "touch '{trace}'"
[core]
    fsmonitor = "touch '{trace}'"
    pager = "touch '{trace}'"
    sshCommand = "touch '{trace}'"
[extensions]
    partialClone = origin
[remote "origin"]
    url = ssh://localhost/x
    promisor = true
""")
    assert git(folder, "config", "filter.x=y.clean") == f"touch '{trace}'; cat"
    (folder / "a").write_text("changed\n")
    (folder / "b").write_text("changed\n")


def run_once(project: Project) -> None:
    git(project.root, "init", "-q")
    git(project.root, "commit", "-q", "--allow-empty", "-m", "first")
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", f"say {DONE}", "--max-iterations", "1", check=0)


@pytest.fixture(scope="module")
def recorded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory.mktemp("recorded"), run_once)


@pytest.fixture
def recorded(recorded_once: Path, tmp_path: Path) -> Project:
    """A project with one run in its record."""
    return copy_of(recorded_once, tmp_path)


def name_root(project: Project, root: str) -> str:
    with sqlite3.connect(project.root / ".ralph" / "ralph.db") as database:
        database.execute("UPDATE runs SET root = ?, outcome = NULL, ended_at = NULL", (root,))
        database.execute("DELETE FROM claims")
        (run,) = database.execute("SELECT id FROM runs").fetchone()
    database.close()
    return str(run)


@pytest.fixture
def look(ready_ralph: ReadyRalph) -> Look:
    def look(project: Project) -> None:
        commands = (["report", "-o", "-"], ["show"])
        ended = ready_ralph.run(commands, cwd=project.root, environ=project.env())
        assert [answer.code for answer in ended] == [0, 0], ended

    return look


@pytest.mark.parametrize("make", [bare_style, own_repository])
@pytest.mark.parametrize(
    "named",
    ["evil", "./evil", "a/../evil", "{}/evil", "link", ".ralph/worktrees/evil", "evil/wt", "{}/../outside"],
)
def test_a_repository_that_the_record_names_runs_nothing(
    recorded: Project, look: Look, make: object, named: str
) -> None:
    trace = recorded.root.parent / "ran"
    places = {
        "evil/wt": "evil",
        "link": "evil",
        ".ralph/worktrees/evil": ".ralph/worktrees/evil",
        "{}/../outside": "../outside",
    }
    folder = recorded.root / places.get(named, "evil")
    make(folder, trace)  # type: ignore[operator]
    (recorded.root / "link").symlink_to("evil")
    (recorded.root / "a").mkdir()
    name_root(recorded, named.format(recorded.root))
    look(recorded)
    assert not trace.exists()


@pytest.mark.parametrize("named", ["", ".", "{}", "x/..", "../project"])
def test_nor_does_a_configuration_that_came_with_the_project(
    recorded: Project, look: Look, named: str
) -> None:
    trace = recorded.root.parent / "ran"
    spoil(recorded.root, trace)
    trace.unlink(missing_ok=True)
    name_root(recorded, named.format(recorded.root))
    ran = recorded.ralph("report", "--format", "json", "-o", "-", check=0)
    assert '"path": "a"' in ran.stdout  # it has been looked at
    look(recorded)
    assert not trace.exists()


def test_a_project_that_is_itself_such_a_folder_runs_nothing(recorded: Project, look: Look) -> None:
    trace = recorded.root.parent / "ran"
    shutil.rmtree(recorded.root / ".git")
    bare_style(recorded.root / "evil", trace)
    for entry in (recorded.root / "evil").iterdir():
        entry.rename(recorded.root / entry.name)
    name_root(recorded, ".")
    look(recorded)
    assert not trace.exists()


def test_missing_objects_are_not_fetched(recorded: Project, look: Look) -> None:
    trace = recorded.root.parent / "ran"
    spoil(recorded.root, trace)
    trace.unlink(missing_ok=True)
    for part in (recorded.root / ".git" / "objects").glob("??/*"):
        if git(recorded.root, "cat-file", "-t", part.parent.name + part.name) == "blob":
            part.unlink()
    trace.unlink(missing_ok=True)
    name_root(recorded, ".")
    look(recorded)
    assert not trace.exists()


def test_a_git_file_that_leads_to_an_evil_repository_is_not_followed(recorded: Project, look: Look) -> None:
    trace = recorded.root.parent / "ran"
    own_repository(recorded.root / "evil", trace)
    tree = recorded.root / "tree"
    tree.mkdir()
    entry = recorded.root / "evil" / ".git" / "worktrees" / "x"
    entry.mkdir(parents=True)
    for file, text in {
        "gitdir": f"{tree}/.git\n",
        "commondir": "../..\n",
        "HEAD": "ref: refs/heads/main\n",
    }.items():
        (entry / file).write_text(text)
    (tree / ".git").write_text(f"gitdir: {entry}\n")
    trace.unlink(missing_ok=True)
    name_root(recorded, "tree")
    look(recorded)
    assert not trace.exists()


def test_a_worktree_of_the_project_is_still_looked_into(recorded: Project) -> None:
    git(recorded.root, "worktree", "add", "-q", "../tree")
    (recorded.root.parent / "tree" / "new.txt").write_text("new\n")
    name_root(recorded, "../tree")
    assert "new.txt" in recorded.ralph("report", "--format", "json", "-o", "-", check=0).stdout


@pytest.mark.parametrize("named", ["{}/secret", "../../secret", "x/../secret", "{}/.ralph/../secret"])
def test_show_reads_no_prompt_from_outside_the_record(recorded: Project, named: str) -> None:
    (recorded.root / "secret").write_text("hidden words")
    (recorded.root / ".ralph" / "secret").write_text("hidden words")
    with sqlite3.connect(recorded.root / ".ralph" / "ralph.db") as database:
        database.execute(
            "UPDATE events SET data = CAST(json_set(CAST(data AS TEXT), '$.prompt_file', ?) AS BLOB) WHERE kind = 'iteration_started'",
            (named.format(recorded.root),),
        )
    database.close()
    assert "hidden words" not in recorded.ralph("show", check=0).stdout


def test_resume_works_in_no_folder_that_is_not_of_the_project(recorded: Project) -> None:
    trace = recorded.root.parent / "ran"
    own_repository(recorded.root / "evil", trace)
    run = name_root(recorded, "evil")
    request = recorded.root / ".ralph" / "runs" / run / "request.json"
    request.write_text(request.read_text().replace('"workspace": "."', '"workspace": "evil"'))
    trace.unlink(missing_ok=True)
    ran = recorded.ralph("resume", run, check=2)
    assert "neither the project nor a worktree of it" in ran.stderr
    assert not trace.exists()
