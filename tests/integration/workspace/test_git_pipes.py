"""Named pipes where git expects its files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ralph.adapters.git_pipes import release_pipes

SECONDS = 60
PLACES = {
    ".gitignore": "status",
    "folder/.gitignore": "status",
    ".gitattributes": "status",
    "nested/.git/HEAD": "status",
    ".git/info/exclude": "status",
    ".git/objects/info/alternates": "log",
    ".git/objects/info/commit-graph": "log",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)

    git("init", "-q")
    for name in ("file", "folder/file", "nested/file"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    os.utime(tmp_path / "file", (1, 1))  # git has to look at its content
    for name in ("objects", "refs"):
        (tmp_path / "nested" / ".git" / name).mkdir(parents=True)
    return tmp_path


def await_sleep(git: subprocess.Popen[bytes]) -> None:
    """Until it waits for something: there is nothing else here that git would wait for."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if Path(f"/proc/{git.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S":
            return
    pytest.fail("git did not wait")


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize(("place", "command"), PLACES.items())
def test_a_git_that_waits_at_a_pipe_goes_on(repository: Path, place: str, command: str) -> None:
    pipe = repository / place
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    with subprocess.Popen(["git", command], cwd=repository, stdout=subprocess.DEVNULL) as git:
        await_sleep(git)
        release_pipes(repository)
        assert git.wait(SECONDS) == 0
    assert not pipe.exists()


def test_other_pipes_are_left_alone(repository: Path) -> None:
    os.mkfifo(repository / "pipe")
    (repository / "folder" / ".gitignore").symlink_to("nowhere")
    release_pipes(repository)
    assert (repository / "pipe").is_fifo()
    assert (repository / "folder" / ".gitignore").is_symlink()
