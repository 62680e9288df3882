"""The index as git writes it, in all its forms, read as git reads it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.git_index import tracked_below

LONG = "x" * 200
PATHS = (
    ".ralf", ".ralph/ralph.db", ".ralph/ralph.db-shm", ".ralph/ralph.db-wal", ".ralph/runs/1/request.json", ".ralph/é",
    "a/.ralph/ralph.db", "b.ralph/runs/1", f"{'/'.join([LONG] * 3)}/.ralph/state", "zz",
)  # fmt: skip
FORMS = {
    "plain": [],
    "compressed": ["index.version=4"],
    "split": ["core.splitIndex=true", "splitIndex.maxPercentChange=0"],
    "compressed and split": ["index.version=4", "core.splitIndex=true"],
}


def git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=60, capture_output=True)
    return ran.stdout.decode()


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
@pytest.mark.parametrize("form", FORMS)
def test_what_git_tracks_is_found(tmp_path: Path, form: str, hashes: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={hashes}")
    for setting in FORMS[form]:
        git(tmp_path, "config", *setting.split("="))
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    git(tmp_path, "add", "-A")
    git(tmp_path, "add", "-N", ".ralph/ralph.db")
    (tmp_path / ".ralph" / "new").write_text("new")
    git(tmp_path, "add", "-N", ".ralph/new")  # which needs longer flags
    for folder in (".ralph", "a/.ralph"):
        listed = git(tmp_path, "ls-files", "--stage", "-z", "--", folder).split("\0")
        expected = {
            (path.removeprefix(f"{folder}/"), about.split(" ")[1])
            for about, _, path in (line.partition("\t") for line in listed if line)
        }
        found = tracked_below(tmp_path / folder)
        assert {(one.path, one.content) for one in found} == expected
    written = {one.path: one.written for one in tracked_below(tmp_path / ".ralph")}
    status = (tmp_path / ".ralph" / "ralph.db-wal").stat()
    assert written["ralph.db-wal"] == divmod(status.st_mtime_ns, 1_000_000_000)


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
@pytest.mark.parametrize("form", FORMS)
def test_a_state_folder_with_a_repository_of_its_own_hides_nothing(
    tmp_path: Path, form: str, hashes: str
) -> None:
    """A submodule, a nested repository, a link to one, and files that the repository around it has there all the same."""
    outer, inner = tmp_path / "outer", tmp_path / "outer" / ".ralph"
    inner.mkdir(parents=True)
    names = ("ralph.db", "runs/1/request.json", "x" * 5000)
    (inner / "ralph.db").touch()
    for folder in (outer, inner):
        git(folder, "init", "-q", f"--object-format={hashes}")
        for setting in FORMS[form]:
            git(folder, "config", *setting.split("="))
    blob = git(outer, "hash-object", "-w", ".ralph/ralph.db").strip()
    for name in names:
        git(inner, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    (tmp_path / "linked").symlink_to(inner)
    for folder in (inner, tmp_path / "linked"):
        assert {one.path for one in tracked_below(folder)} == {*names}
    git(outer, "update-index", "--add", "--cacheinfo", f"160000,{blob},.ralph")
    assert {one.path for one in tracked_below(inner)} == {"", *names}
    git(outer, "update-index", "--replace", "--add", "--cacheinfo", f"100644,{blob},.ralph/state")
    # A shared index keeps what was replaced.
    assert {one.path for one in tracked_below(inner)} - {""} == {"state", *names}
    for broken in ("gitdir: gone", ""):  # git around it writes there as before
        shutil.rmtree(inner / ".git", ignore_errors=True)
        (inner / ".git").write_text(broken)
        assert {one.path for one in tracked_below(inner)} - {""} == {"state"}


def test_without_a_repository_nothing_is_tracked(tmp_path: Path) -> None:
    assert tracked_below(tmp_path / ".ralph") == []


@pytest.mark.parametrize(
    "content", [b"", b"DIRC", b"DIRC" + b"\0\0\0\4" + b"\xff" * 9, b"DIRC\0\0\0\2" + b".ralph/"]
)
def test_a_damaged_index_is_no_crash(tmp_path: Path, content: bytes) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".git" / "index").write_bytes(content)
    assert tracked_below(tmp_path / ".ralph") == []
