"""The list of projects: for its owner alone, whole or not at all, and nobody is lost when two begin together."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ralph.adapters.project_list import MOST, add_project, read_projects


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def file_of(environ: dict[str, str]) -> Path:
    return Path(environ["HOME"], ".local", "state", "ralph", "projects.json")


def test_it_is_empty_until_something_is_added_once(environ: dict[str, str]) -> None:
    assert read_projects(environ) == []
    for path in ("/a", "/b", "/a"):
        add_project(path, environ)
    assert read_projects(environ) == ["/a", "/b"]
    assert file_of(environ).stat().st_mode & 0o077 == 0
    assert file_of(environ).parent.stat().st_mode & 0o077 == 0


def test_threads_and_processes_that_begin_together_are_all_remembered(environ: dict[str, str]) -> None:
    program = "import os, sys; from ralph.adapters.project_list import add_project; add_project(sys.argv[1], os.environ)"
    names = [f"/process-{number}" for number in range(4)]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, name], env={**os.environ, **environ, "XDG_STATE_HOME": ""}
        )
        for name in names
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: add_project(f"/thread-{number}", environ), range(20)))
    assert [process.wait(timeout=60) for process in started] == [0, 0, 0, 0]
    assert set(read_projects(environ)) == {*names, *(f"/thread-{number}" for number in range(20))}


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"projects": 3}', '{"projects": [1, null, "relative", "/a\\u0000b"]}']
)
def test_a_damaged_list_is_empty_and_is_written_again(environ: dict[str, str], content: str) -> None:
    file = file_of(environ)
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert read_projects(environ) == []
    add_project("/a", environ)
    assert read_projects(environ) == ["/a"]


def test_a_list_that_others_may_write_is_not_believed(environ: dict[str, str]) -> None:
    add_project("/a", environ)
    file_of(environ).chmod(0o666)
    assert read_projects(environ) == []
    add_project("/b", environ)
    assert read_projects(environ) == ["/b"]
    assert file_of(environ).stat().st_mode & 0o077 == 0


def test_a_link_in_its_place_is_neither_read_nor_followed(environ: dict[str, str], tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.json"
    theirs.write_text('{"projects": ["/planted"]}')
    file_of(environ).parent.mkdir(parents=True)
    file_of(environ).symlink_to(theirs)
    assert read_projects(environ) == []
    add_project("/a", environ)
    assert read_projects(environ) == ["/a"]
    assert theirs.read_text() == '{"projects": ["/planted"]}'


def test_the_oldest_goes_when_there_are_too_many(environ: dict[str, str]) -> None:
    file = file_of(environ)
    file.parent.mkdir(parents=True)
    listed = ", ".join(f'"/{number}"' for number in range(MOST))
    file.write_text(f'{{"projects": [{listed}]}}')
    add_project("/new", environ)
    found = read_projects(environ)
    assert (len(found), found[0], found[-1]) == (MOST, "/1", "/new")


def test_without_a_home_nothing_is_remembered_and_that_is_an_error() -> None:
    assert read_projects({}) == []
    with pytest.raises(OSError, match="no home"):
        add_project("/a", {})
