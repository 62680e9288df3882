"""Files that others may have written are read in one way: whatever is there, nothing waits and nothing fills the memory."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import ralph
from ralph.adapters.files import expand_home, open_folder, read_plain, read_whole
from ralph.adapters.git_folders import entries, included

SOURCES = Path(ralph.__file__).parent
OPENED = {
    "adapters/files.py": "the one place",
    "adapters/beneath.py": "walks to where they are",
    "adapters/git_pipes.py": "opens pipes, to wake those who wait there",
    "adapters/bus/message_bus.py": "locks and appends what it reads",
    "config/project_search.py": "looks at a marker before any adapter is loaded",
    "adapters/trust_store.py": "locks and replaces the file of the trusted projects",
    "adapters/signals/folder_watch.py": "watches folders, opens no file",
    "interfaces/hooks/session_files.py": "locks and writes what it reads",
}
"""Modules that open files by descriptor, and why."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


def test_a_plain_file_is_read_as_far_as_one_likes(file: Path) -> None:
    assert read_plain(file, 100) == b"content"
    assert read_plain(file, 3) == b"con"


@pytest.mark.parametrize(("most", "found"), [(7, b"content"), (6, None)])
def test_a_whole_file_is_whole_or_none(file: Path, most: int, found: bytes | None) -> None:
    assert read_whole(file, most) == found


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert read_whole(pipe, 10) is None
    with pytest.raises(OSError, match="not a plain file"):
        read_plain(pipe, 10)


@pytest.mark.parametrize("name", ["missing", ".", "no\0name"])
def test_what_is_no_file_has_no_content(tmp_path: Path, name: str) -> None:
    assert read_whole(tmp_path / name, 10) is None


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("~", "/home/me"),
        ("~/a", "/home/me/a"),
        ("~root/a", "/root/a"),
        ("~nobody-has-that-name/a", "~nobody-has-that-name/a"),
        ("~no\0name", "~no\0name"),
        ("a/~/b", "a/~/b"),
    ],
)
def test_a_tilde_is_a_home_folder(path: str, found: str) -> None:
    assert expand_home(path, {"HOME": "/home/me"}) == found
    assert expand_home("~/a", {}) == "/nonexistent/a"


def test_nothing_stays_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        assert read_whole(tmp_path, 10) is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_link_is_followed_only_if_that_is_asked_for(file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file)
    assert read_whole(link, 10) == b"content"
    assert read_whole(link, 10, follow=False) is None


def test_a_file_is_read_in_the_folder_that_was_opened(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "folder"
    link.symlink_to(file.parent)
    with pytest.raises(NotADirectoryError):
        open_folder(link)
    folder = open_folder(file.parent)
    try:
        assert read_whole(file.name, 10, follow=False, folder=folder) == b"content"
    finally:
        os.close(folder)


def test_a_git_configuration_that_includes_a_pipe_is_read_without_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    config = tmp_path / "config"
    config.write_text("[include]\n path = pipe\n[core]\n hooksPath = hooks\n")
    assert list(included(config)) == [tmp_path / "pipe"]
    assert ("core.hookspath", "hooks") in list(entries(config))


def opened(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in ("O_NOFOLLOW", "O_NONBLOCK")
            and isinstance(node.value, ast.Name)
            and node.value.id == "os"
        ):
            yield node.lineno


def test_nobody_else_opens_files_with_care_of_their_own() -> None:
    found = {
        f"{path}:{line}"
        for file in SOURCES.rglob("*.py")
        if (path := file.relative_to(SOURCES).as_posix()) not in OPENED
        for line in opened(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == set()


@pytest.mark.parametrize("name", sorted(OPENED))
def test_the_exceptions_are_needed(name: str) -> None:
    assert list(opened(ast.parse((SOURCES / name).read_text(encoding="utf-8"))))
