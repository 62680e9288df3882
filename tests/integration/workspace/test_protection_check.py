"""What proves the work is compared file by file with where the task began, with real git."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import AgentReport, Ending
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.tests_policy import TestsPolicy
from ralph.engine.ports import Judging
from ralph.engine.proof.changed_tests import ChangedTests
from ralph.engine.proof.comparison import ComparisonCheck
from ralph.engine.stop_token import StopToken
from ralph.errors import GitFailed

TEST = "def test_a():\n    assert 1 == 1\n"


def judging() -> Judging:
    return Judging(
        iteration=1,
        attempt=1,
        assignment=Assignment(key="T", objective="x"),
        report=AgentReport(Ending.EXITED, 0),
        publish=lambda event: None,
        control=StopToken(),
    )


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


def repository(root: Path, *, object_format: str = "sha1") -> Path:
    root.mkdir()
    git(root, "init", "-q", "-b", "main", f"--object-format={object_format}")
    (root / "tests" / "deep").mkdir(parents=True)
    (root / "tests" / "test_a.py").write_text(TEST)
    (root / "tests" / "deep" / "test_ü b.py").write_text(TEST)
    (root / "tests" / "link.txt").symlink_to("test_a.py")
    (root / "work.py").write_text("x = 1\n")
    (root / ".gitignore").write_text("ignored/\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "a project")


def checked(
    root: Path, base: str = "", may_change: tuple[str, ...] = (), protect: tuple[str, ...] = ()
) -> CheckResult:
    async def run() -> CheckResult:
        runner = PosixProcessRunner(run_id="t", base_environment=os.environ)
        commit = base or git(root, "rev-list", "--max-parents=0", "HEAD")
        with tempfile.TemporaryDirectory() as folder:
            store = GitProofStore(Path(folder, "runs", "1", "proof"), root, runner, top=root)
            await store.open(base=commit)
            protection = Protection.of([("pytest", ".")], may_change=may_change, protect=protect)
            check = ComparisonCheck(store, protection, ChangedTests(), tests=TestsPolicy.LOCKED, base=commit)
            return await check.run(judging())

    return asyncio.run(run())


def test_what_did_not_change_passes(root: Path) -> None:
    (root / "work.py").write_text("x = 2\n")
    assert checked(root).verdict is Verdict.PASSED


def test_repositories_of_the_newer_kind_are_understood(tmp_path: Path) -> None:
    made = repository(tmp_path / "sha256", object_format="sha256")
    assert checked(made).verdict is Verdict.PASSED
    (made / "tests" / "test_a.py").write_text(TEST.replace("1 == 1", "True"))
    assert checked(made).verdict is Verdict.FAILED


def _replaced_folder(root: Path) -> None:
    (root / "other").mkdir()
    (root / "tests").rename(root / "other" / "tests")
    (root / "tests").symlink_to(root / "other" / "tests")


def _replaced_commit(root: Path) -> None:
    base = git(root, "rev-parse", "HEAD")
    (root / "tests" / "test_a.py").write_text("def test_a():\n    pass\n")
    git(root, "commit", "-qam", "weaker")
    git(root, "replace", base, "HEAD")


def _replaced_by_a_pipe(root: Path) -> None:
    (root / "tests" / "test_a.py").unlink()
    os.mkfifo(root / "tests" / "test_a.py")


def _replaced_by_a_link(root: Path) -> None:
    (root / "weak.py").write_text("def test_a():\n    pass\n")
    (root / "tests" / "test_a.py").unlink()
    (root / "tests" / "test_a.py").symlink_to("../weak.py")


def _folder_in_its_place(root: Path) -> None:
    (root / "tests" / "test_a.py").unlink()
    (root / "tests" / "test_a.py").mkdir()


def _hidden(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "tests/test_a.py")
    (root / "tests" / "test_a.py").write_text("def test_a():\n    pass\n")


@pytest.mark.parametrize(
    "lie",
    [
        _replaced_folder,
        _replaced_commit,
        _replaced_by_a_pipe,
        _replaced_by_a_link,
        _folder_in_its_place,
        _hidden,
        lambda root: (root / "tests" / "deep" / "test_ü b.py").unlink(),
    ],
)
def test_tricks_are_seen(root: Path, lie: Callable[[Path], None]) -> None:
    base = git(root, "rev-parse", "HEAD")
    lie(root)
    found = checked(root, base)
    assert found.verdict in (
        Verdict.FAILED,
        Verdict.ERRORED,
    )  # git may refuse to look behind a link, or into a pipe
    assert "tests" in found.reason


def test_installed_programs_are_not_looked_at(root: Path) -> None:
    for place in ("node_modules/x", ".venv/lib/site-packages/y"):
        (root / place).mkdir(parents=True)
        (root / place / "conftest.py").write_text("def pytest_configure():\n    pass\n")
    assert checked(root).verdict is Verdict.PASSED


def test_a_link_that_was_there_stays_what_it_was(root: Path) -> None:
    assert checked(root, protect=("tests/link.txt",)).verdict is Verdict.PASSED
    (root / "tests" / "link.txt").unlink()
    (root / "tests" / "link.txt").symlink_to("../work.py")
    assert checked(root, protect=("tests/link.txt",)).verdict is Verdict.FAILED


def test_other_line_ends_are_no_change(root: Path) -> None:
    (root / "tests" / "test_a.py").write_bytes(TEST.replace("\n", "\r\n").encode())
    assert checked(root).verdict is Verdict.PASSED


def test_without_the_commit_it_cannot_begin(root: Path) -> None:
    with pytest.raises(GitFailed):
        checked(root, "0" * 40)
