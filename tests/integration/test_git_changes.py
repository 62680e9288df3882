"""What an iteration changed, asked of real repositories."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.changes import MOST_PATCH, GitChanges
from ralph.domain.loop.events import ActionEnded
from ralph.domain.views.changes import Changes
from ralph.domain.views.iterations import IterationView
from ralph.operations.watch import changes_in

COMMITTED = (ActionEnded("git commit", True, 'committed "x"'),)


class Repository:
    def __init__(self, root: Path) -> None:
        self.root = root
        if not (root / ".git").exists():
            self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, date: float | None = None) -> str:
        at = (
            {}
            if date is None
            else {name: f"@{int(date)} +0000" for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")}
        )
        return subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={**os.environ, **at},
            capture_output=True,
            text=True,
            check=True,
            timeout=90,
        ).stdout.strip()

    def commit(self, name: str, content: str, *, date: float | None = None) -> str:
        (self.root / name).write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"change {name}", date=date)
        return self.git("rev-parse", "HEAD")

    def changes(self, *iterations: IterationView, index: int = 0, newest: bool = False) -> Changes:
        return asyncio.run(self._reader().of_iteration(iterations, index, newest=newest))

    def of_run(self, *iterations: IterationView, newest: bool = False) -> Changes:
        return asyncio.run(self._reader().of_run(iterations, newest=newest))

    def _reader(self) -> GitChanges:
        return GitChanges(self.root, PosixProcessRunner(run_id="", base_environment=os.environ))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    root = tmp_path / "work"
    root.mkdir()
    return Repository(root)


def iteration(number: int, commit: str, *, started_at: float | None = None) -> IterationView:
    return IterationView(
        iteration=number,
        attempt=1,
        started_at=time.time() if started_at is None else started_at,
        first_seq=number,
        decision="continue",
        commit=commit,
    )


def paths(changes: Changes) -> list[str]:
    return [file.path for file in changes.files]


def test_what_the_agent_committed_itself_is_between_two_iterations(repository: Repository) -> None:
    repository.commit("base.txt", "base\n", date=1000)
    one = repository.commit("one.txt", "1\n2\n", date=3000)
    two = repository.commit("two.txt", "2\n", date=4000)
    first, second = iteration(1, one, started_at=2000.0), iteration(2, two, started_at=3500.0)

    found = repository.changes(first, second, index=0)
    assert paths(found) == ["one.txt"]
    assert (found.added, found.removed) == (2, 0)
    assert [commit.subject for commit in found.commits] == ["change one.txt"]
    assert "+2" in found.patch
    assert paths(repository.changes(first, second, index=1)) == ["two.txt"]
    assert paths(repository.of_run(first, second)) == ["one.txt", "two.txt"]


def test_what_ralph_committed_after_the_checks_belongs_to_that_iteration(repository: Repository) -> None:
    base = repository.commit("base.txt", "base\n", date=1000)
    one = repository.commit("one.txt", "1\n", date=3000)
    repository.commit("two.txt", "2\n", date=4000)
    first = replace(iteration(1, base, started_at=2000.0), actions=COMMITTED)
    second = replace(iteration(2, one, started_at=3500.0), actions=COMMITTED)

    assert paths(repository.changes(first, second, index=0)) == ["one.txt"]
    assert paths(repository.changes(first, second, index=1)) == ["two.txt"]
    assert paths(repository.of_run(first, second)) == ["one.txt", "two.txt"]


def test_an_iteration_that_committed_nothing_says_so(repository: Repository) -> None:
    base = repository.commit("base.txt", "base\n", date=1000)
    found = repository.changes(iteration(1, base, started_at=2000.0))
    assert found.note.startswith("nothing was committed in this iteration; what it changed without")


def test_what_is_not_committed_yet_is_shown_for_the_newest(repository: Repository) -> None:
    base = repository.commit("base.txt", "base\n", date=1000)
    (repository.root / "base.txt").write_text("changed\n")
    (repository.root / "new.txt").write_text("new\n")
    (repository.root / ".ralph").mkdir()
    (repository.root / ".ralph" / "own.txt").write_text("ours\n")
    found = repository.changes(iteration(1, base, started_at=2000.0), newest=True)
    assert found.uncommitted
    assert "this is everything since the last commit, also what earlier iterations changed" in found.note
    assert paths(found) == ["base.txt", "new.txt"]
    assert "+changed" in found.patch


def test_what_is_not_committed_yet_is_shown_beside_what_is(repository: Repository) -> None:
    base = repository.commit("base.txt", "base\n", date=1000)
    made = repository.commit("mine.txt", "mine\n", date=3000)
    (repository.root / "base.txt").write_text("fixed\n")
    found = repository.of_run(iteration(1, base, started_at=2000.0), iteration(2, made), newest=True)
    assert paths(found) == ["mine.txt", "base.txt"]
    assert [commit.subject for commit in found.commits] == ["change mine.txt"]
    assert "+fixed" in found.patch


def test_reports_are_no_changes_but_nothing_else_hides_behind_their_name(repository: Repository) -> None:
    base = repository.commit("base.txt", "base\n", date=1000)
    for name in ("ralph-report-1.html", "ralph-report-2.md", "ralph-report-3.sh"):
        (repository.root / name).write_text("x\n")
    first = iteration(1, base, started_at=2000.0)
    assert paths(repository.changes(first, newest=True)) == ["ralph-report-3.sh"]
    made = repository.commit("one.txt", "1\n", date=3000)
    found = repository.of_run(replace(first, commit=made, began_with=base))
    assert paths(found) == ["one.txt", "ralph-report-3.sh"]
    assert ".html" not in found.patch


def test_the_first_commit_of_all_is_compared_with_nothing(repository: Repository) -> None:
    one = repository.commit("one.txt", "1\n", date=3000)
    assert paths(repository.changes(iteration(1, one, started_at=2000.0))) == ["one.txt"]


@pytest.mark.parametrize("commit", ["", "deadbeef" * 5, "--output=/tmp/x", "HEAD; rm -rf /", "main"])
def test_a_commit_that_is_none_is_a_note_and_never_an_argument(repository: Repository, commit: str) -> None:
    repository.commit("base.txt", "base\n", date=1000)
    found = repository.changes(iteration(1, commit), iteration(2, ""), index=0)
    assert found.files == ()
    assert found.note


def test_outside_of_a_repository_nothing_is_shown(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "missing"):
        reader = GitChanges(root, PosixProcessRunner(run_id="", base_environment=os.environ))
        found = asyncio.run(reader.of_run([iteration(1, "")], newest=True))
        assert "no git repository" in found.note


def test_a_long_patch_is_cut_and_odd_names_are_kept(repository: Repository) -> None:
    repository.commit("base.txt", "base\n", date=1000)
    big = repository.commit("tab\there \u00e9.txt", "a line of text\n" * 60_000, date=3000)
    found = repository.changes(iteration(1, big, started_at=2000.0))
    assert found.is_cut
    assert len(found.patch) <= MOST_PATCH
    assert paths(found) == ["tab\there \u00e9.txt"]


def test_a_repositorys_own_settings_start_no_program(repository: Repository, tmp_path: Path) -> None:
    base = repository.commit("base.txt", "base\n", date=1000)
    touched = tmp_path / "touched"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {touched}\n")
    program.chmod(0o755)
    for key in ("diff.external", "core.fsmonitor", "diff.x.textconv", "core.pager"):
        repository.git("config", key, str(program))
    (repository.root / ".gitattributes").write_text("* diff=x\n")
    (repository.root / "base.txt").write_text("changed\n")
    touched.unlink(missing_ok=True)
    found = repository.changes(iteration(1, base, started_at=2000.0), newest=True)
    assert "base.txt" in paths(found)
    assert not touched.exists()


def test_a_commit_that_is_named_is_the_end_whatever_came_after(repository: Repository) -> None:
    base = repository.commit("base.txt", "base\n", date=1000)
    repository.git("switch", "-q", "-c", "task")
    one = repository.commit("one.txt", "1\n", date=3000)
    repository.git("switch", "-q", "main")
    repository.commit("other.txt", "of somebody else\n", date=3500)
    repository.git("merge", "-q", "--no-ff", "-m", "take it in", "task", date=4000)
    made = ActionEnded("commit", True, f"committed {one[:12]}")
    first = replace(iteration(1, base, started_at=2000.0), actions=(made,))
    assert paths(repository.changes(first)) == ["one.txt"]
    assert paths(repository.of_run(first)) == ["one.txt"]


def test_of_a_directory_that_is_gone_the_project_has_the_commits_but_not_the_files(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit("base.txt", "base\n", date=1000)
    worktree = repository.root / ".ralph" / "worktrees" / "T-1"
    repository.git("worktree", "add", "-q", "-b", "task", str(worktree))
    own = Repository(worktree)
    one = own.commit("one.txt", "1\n", date=3000)
    repository.git("worktree", "remove", "--force", str(worktree))
    (repository.root / "base.txt").write_text("the user's own change\n")

    reader = changes_in(str(worktree), repository.root / ".ralph")
    found = asyncio.run(reader.of_run([iteration(1, one, started_at=2000.0)], newest=True))
    assert paths(found) == ["one.txt"]
    found = asyncio.run(reader.of_iteration([iteration(1, "")], 0, newest=True))
    assert found.files == ()
