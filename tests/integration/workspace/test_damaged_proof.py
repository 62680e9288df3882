"""Whatever becomes of a run's proof folder, a resumed run compares with what it began with, or says why it cannot."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.committed_work import CONVERTED, CommittedWork
from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.config.root import git_top
from ralph.errors import GitFailed

NOTE = "note"
OBJECT = "an object of a file that has not changed since"
FILES = {
    ".gitignore": "*.local\n",
    "tests/test_a.py": "committed\n",
    "tests/test_b.py": "only in the working folder\n",
    "private.local": "ignored\n",
}
NEEDED = {
    NOTE: ("missing", "empty", "truncated", "garbage", "a flipped bit", "a folder", "a link"),
    "base.index": ("missing", "empty", "truncated", "garbage", "a flipped bit", "a folder"),
    "ignored": ("missing", "truncated"),
    "git/objects": ("missing", "garbage"),
    "git": ("missing", "a link"),
    ".": ("missing", "garbage"),
}
MADE_AGAIN = {
    "index": ("missing", "truncated", "a flipped bit", "a folder"),
    "git/HEAD": ("missing", "garbage"),
    "git/config": ("missing", "garbage", "a folder"),
    "git/refs": ("missing", "garbage"),
    "git/info/exclude": ("missing", "a folder"),
    "git/info/attributes": ("garbage", "a folder"),
    "git/objects/info/alternates": ("empty", "a folder"),
    OBJECT: ("missing", "empty", "a flipped bit"),
}
"""Without these everything is still known."""


def store_of(project: Path, *, is_begun: bool) -> GitProofStore:
    runner = PosixProcessRunner(run_id="r1", base_environment=os.environ)
    folder = project / ".ralph" / "runs" / "r1" / "proof"
    return GitProofStore(folder, project, runner, top=git_top(project), is_begun=is_begun)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed, after it had changed a test of each kind."""
    project = tmp_path_factory.mktemp("begun")
    for arguments in (("init", "-q"), ("add", ".gitignore", "tests/test_a.py"), ("commit", "-qm", "start")):
        if arguments[0] == "add":
            for name, text in FILES.items():
                (project / name).parent.mkdir(exist_ok=True)
                (project / name).write_text(text)
        # The environment that gives every test an author comes after this fixture.
        author = ("-c", "user.name=tester", "-c", "user.email=tester@localhost")
        subprocess.run(["git", *author, *arguments], cwd=project, check=True, timeout=60)

    async def begin() -> None:
        store = store_of(project, is_begun=False)
        await store.open()
        store.remember(NOTE, '{"a": 1}')
        (project / "tests" / "test_a.py").write_text("weakened\n")
        (project / "new.py").write_text("new\n")
        await store.snapshot()

    asyncio.run(begin())
    return project


@pytest.fixture
def project(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "project", symlinks=True))


def damage(file: Path, how: str) -> None:
    content = file.read_bytes() if file.is_file() else b""
    shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
    match how:
        case "empty":
            file.write_bytes(b"")
        case "truncated":
            file.write_bytes(content[: len(content) // 2])
        case "garbage":
            file.write_bytes(b"\0garbage" * 100)
        case "a flipped bit":
            middle = len(content) // 2
            file.write_bytes(
                content[:middle] + bytes(byte ^ 1 for byte in content[middle:][:1]) + content[middle + 1 :]
            )
        case "a folder":
            (file / "inside").mkdir(parents=True)
        case "a link":
            file.symlink_to("/nowhere")
        case _:
            assert how == "missing"


async def seen_by(store: GitProofStore) -> tuple[dict[str, bytes], str | None, set[str]]:
    """What a resumed run compares with, what it remembers, and what has changed."""
    await store.open()
    base = {path: await store.content(entry) for path, entry in store.base.files.items()}
    changed = set((await store.snapshot()).differing(store.base))
    async with store.checkout(store.base) as checkout:
        assert (checkout.top / "private.local").read_text() == "ignored\n"
    return base, store.recall(NOTE, must=True), changed


TRUTH = (
    {name: text.encode() for name, text in FILES.items() if name != "private.local"},
    '{"a": 1}',
    {"tests/test_a.py", "new.py"},
)


def test_an_undamaged_folder_is_taken_up(project: Path) -> None:
    assert asyncio.run(seen_by(store_of(project, is_begun=True))) == TRUTH


def test_a_folder_of_an_earlier_version_is_taken_up(project: Path) -> None:
    """It did not seal its notes, gave some other names, and its record does not say that it kept a base."""
    folder = project / ".ralph" / "runs" / "r1" / "proof"
    store = store_of(project, is_begun=False)
    for name, old in (("canary", "canary.json"), ("converted", "converted"), ("ignored", "base.json")):
        known = store.recall(name) or "yes"
        (folder / name).unlink(missing_ok=True)
        (folder / old).write_text(known)
    for _ in range(2):  # it may be killed, and resumed again, before it says so itself
        asyncio.run(store.open())
    resumed = store_of(project, is_begun=True)
    assert asyncio.run(seen_by(resumed)) == TRUTH
    assert [resumed.recall(name, must=True) for name in ("canary", "converted")] == ["yes", "yes"]


@pytest.mark.parametrize(("name", "how"), [(name, how) for name, ways in NEEDED.items() for how in ways])
def test_what_cannot_be_made_again_is_an_error_in_words(project: Path, name: str, how: str) -> None:
    (project / "tests" / "test_b.py").write_text("weakened too: what it was is only in the proof folder\n")
    folder = project / ".ralph" / "runs" / "r1" / "proof"
    damage(folder / name, how)
    with pytest.raises(GitFailed) as raised:
        asyncio.run(seen_by(store_of(project, is_begun=True)))
    assert str(folder) in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(("name", "how"), [(name, how) for name, ways in MADE_AGAIN.items() for how in ways])
def test_what_can_be_made_again_is_made_again(project: Path, name: str, how: str) -> None:
    folder = project / ".ralph" / "runs" / "r1" / "proof"
    if name == OBJECT:
        found = subprocess.run(
            ["git", "hash-object", "tests/test_b.py"],
            cwd=project,
            check=True,
            timeout=60,
            capture_output=True,
            text=True,
        ).stdout.strip()
        name = f"git/objects/{found[:2]}/{found[2:]}"
        assert (folder / name).exists()
    damage(folder / name, how)
    assert asyncio.run(seen_by(store_of(project, is_begun=True))) == TRUTH


def test_a_change_to_the_index_between_two_snapshots_hides_nothing(project: Path) -> None:
    index = project / ".ralph" / "runs" / "r1" / "proof" / "index"
    store = store_of(project, is_begun=True)
    asyncio.run(store.open())
    honest = asyncio.run(store.snapshot())
    forge = ["git", f"--git-dir={index.parent / 'git'}", "update-index", "--assume-unchanged", "new.py"]
    environment = {**os.environ, "GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(project)}
    subprocess.run(forge, cwd=project, check=True, timeout=60, env=environment)
    (project / "new.py").write_text("other\n")
    assert asyncio.run(store.snapshot()).differing(honest) == {"new.py"}


def test_a_plan_that_has_lost_how_it_judges_is_not_given_another_base(project: Path) -> None:
    def work(run: str, *, is_begun: bool) -> CommittedWork:
        runner = PosixProcessRunner(run_id=run, base_environment=os.environ)
        folder = project / ".ralph" / "runs" / run / "proof"
        return CommittedWork(folder, project, runner, top=project, is_begun=is_begun, theirs=tuple)

    asyncio.run(work("r2", is_begun=False).begin(uncommitted=()))
    asyncio.run(work("r2", is_begun=True).begin(uncommitted=()))
    (project / ".ralph" / "runs" / "r2" / "proof" / CONVERTED).unlink()
    with pytest.raises(GitFailed, match=f"{CONVERTED} is missing"):
        asyncio.run(work("r2", is_begun=True).begin(uncommitted=(), since="HEAD"))
