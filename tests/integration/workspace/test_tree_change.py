"""What a run has made of a repository, and that the command to undo it does so and takes nothing of the user's along."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.snapshot import GitWorkspace
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import RunEnded, RunStarted
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.tree_change import TreeChange
from ralph.domain.views.closing import Closing


class Tree:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.sh(
            "git init -q -b main && mkdir sub && echo 1 | tee a.py b.py sub/c.py && git add -A && git commit -qm one"
        )

    def sh(self, script: str) -> str:
        return subprocess.run(
            ["sh", "-ec", script], cwd=self.root, capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()

    def workspace(self) -> GitWorkspace:
        runner = PosixProcessRunner(run_id="", base_environment=os.environ)
        beginning = self.root / ".git" / "beginning.json"
        return GitWorkspace(self.root, runner, top=self.root, beginning=beginning)

    def after(self, script: str) -> TreeChange:
        """The beginning is noted once: a later process finds it."""
        asyncio.run(self.workspace().snapshot())
        self.sh(script)
        asyncio.run(self.workspace().snapshot())
        found = asyncio.run(self.workspace().changes())
        assert found is not None
        return found

    @property
    def content(self) -> dict[str, str]:
        files = (path for path in self.root.rglob("*") if path.is_file() and ".git" not in path.parts)
        return {path.relative_to(self.root).as_posix(): path.read_text() for path in files}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def undo_of(change: TreeChange) -> str:
    ended = RunEnded(Outcome.COMPLETED, "", 1, Spend(), 1.0, tree=change)
    return Closing(started=RunStarted("r1", "basic", "claude", "/"), ended=ended).undo


@pytest.mark.parametrize(
    ("before", "script", "files", "commits", "uncommitted"),
    [
        pytest.param("true", "echo 2 > a.py; echo 2 > new.py; rm b.py", 3, 0, 3, id="uncommitted"),
        pytest.param("true", "for n in 1 2 3 4 5 6 7; do echo $n > n$n; done", 7, 0, 7, id="many"),
        pytest.param(
            "true", "git mv a.py z.py; echo 2 >> sub/c.py; git commit -qam two", 3, 1, 0, id="committed"
        ),
        pytest.param(
            "true", "echo 2 > a.py; git commit -qam two; echo 3 > a.py; echo 1 > d", 2, 1, 2, id="both"
        ),
        pytest.param("echo mine > b.py; echo mine > own", "echo 2 > a.py", 1, 0, 1, id="beside the user's"),
        pytest.param("echo mine > own", "echo 2 > a.py; git commit -qam two", 1, 1, 0, id="committed beside"),
        pytest.param(
            "echo mine > b.py; echo mine > own",
            "echo 2 > '*'; echo 2 > ':(top)'",
            2,
            0,
            2,
            id="named like patterns",
        ),
        pytest.param("echo mine > b.py", "git mv a.py z.py", 2, 0, 2, id="moved"),
        pytest.param("echo mine > own", "git rm -q a.py; echo 2 > d; git add d; rm d", 1, 0, 1, id="staged"),
        pytest.param("echo mine > own", "echo 2 > d; git add -N d; echo 2 > -f", 2, 0, 2, id="intended"),
        pytest.param(
            "true", "git mv sub more; for n in 1 2 3 4 5 6; do echo > n$n; done", 8, 0, 8, id="many staged"
        ),
    ],
)
def test_the_command_to_undo_it_works(
    tree: Tree, before: str, script: str, files: int, commits: int, uncommitted: int
) -> None:
    tree.sh(before)
    then, head = tree.content, tree.sh("git rev-parse HEAD")
    change = tree.after(script)
    assert (change.files, change.commits, change.uncommitted) == (files, commits, uncommitted)
    tree.sh(undo_of(change).split("`")[1])
    assert (tree.content, tree.sh("git rev-parse HEAD")) == (then, head)


@pytest.mark.parametrize("script", ["echo 2 >> b.py", "git checkout -q b.py", "rm own"])
def test_what_the_user_had_changed_too_is_undone_by_hand(tree: Tree, script: str) -> None:
    tree.sh("echo mine > b.py; echo mine > own")
    change = tree.after(script)
    assert (change.files, change.mixed) == (1, 1)
    assert "by hand" in undo_of(change)


def test_a_branch_without_what_was_there_is_not_reset(tree: Tree) -> None:
    change = tree.after("git checkout -q --orphan other; echo 2 > a.py; git commit -qam other")
    assert (change.commits, change.is_ahead) == (1, False)
    assert "by hand" in undo_of(change)


def test_a_branch_that_was_emptied_is_told(tree: Tree) -> None:
    change = tree.after("git checkout -q --orphan other; git rm -rfq .")
    assert (change.files, change.is_ahead) == (3, False)
    assert "by hand" in undo_of(change)


@pytest.mark.parametrize(
    "spoil",
    [
        "rm $BEGINNING; mkdir $BEGINNING",
        "mkdir ending.json",
        "python3 -c 'print(\"[\" * 200000)' > $BEGINNING",
        """echo '{"commit": "--output=written", "uncommitted": {}, "moved": false}' > $BEGINNING""",
    ],
)
def test_notes_that_an_agent_has_spoiled_are_worth_nothing_and_do_nothing(tree: Tree, spoil: str) -> None:
    asyncio.run(tree.workspace().snapshot())
    tree.sh(f"echo 2 > a.py; git commit -qam two; cd .git; BEGINNING=beginning.json; {spoil}")
    change = asyncio.run(tree.workspace().changes())
    assert change is None or change.files == 1
    assert not (tree.root / "written").exists()


def test_an_agent_does_not_make_its_own_work_the_beginning(tree: Tree) -> None:
    workspace = tree.workspace()
    asyncio.run(workspace.snapshot())
    tree.sh("echo 2 > a.py; rm .git/beginning.json")
    asyncio.run(workspace.snapshot())
    assert asyncio.run(workspace.changes()) is None


def test_what_the_user_changes_between_two_processes_is_not_the_runs(tree: Tree) -> None:
    tree.after("echo 2 > a.py; echo 2 > b.py")
    tree.sh("echo mine > own; echo mine >> b.py")
    asyncio.run(tree.workspace().take_up())
    change = tree.after("echo 3 > a.py")
    assert (change.files, change.named, change.mixed) == (2, ("a.py", "b.py"), 1)

    tree.sh("git commit -qam mine")
    asyncio.run(tree.workspace().take_up())
    assert "by hand" in undo_of(tree.after("echo 4 > a.py; git commit -qam four"))


def test_what_running_the_work_compiles_is_no_change(tree: Tree) -> None:
    assert tree.after("mkdir __pycache__; echo > __pycache__/a.cpython-311.pyc").files == 0


def test_nothing_is_known_without_a_beginning(tree: Tree) -> None:
    assert asyncio.run(tree.workspace().changes()) is None
