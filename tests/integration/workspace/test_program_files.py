"""Whoever judges is the program that it was when the run began, wherever it lies and however it is named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.workspace.program_files import ProgramFiles
from ralph.errors import GitFailed

LIE = "#!/bin/sh\necho yes\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    top = tmp_path / "project"
    (top / "bin").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for file in ("project/agent.sh", "project/bin/helper", "elsewhere/agent", "elsewhere/other"):
        (tmp_path / file).write_text("#!/bin/sh\n")
        (tmp_path / file).chmod(0o755)
    (top / "linked").symlink_to(tmp_path / "elsewhere" / "agent")
    (tmp_path / "elsewhere" / "into").symlink_to(top / "agent.sh")
    return top


def files_of(project: Path, *line: str) -> ProgramFiles:
    search = f"{project / 'bin'}:{project.parent / 'elsewhere'}:{os.defpath}"
    return ProgramFiles(lines=(line,), workspace=project, places=(project,), search=search).as_they_are()


def replace_link(project: Path) -> None:
    (project / "linked").unlink()
    (project / "linked").symlink_to(project.parent / "elsewhere" / "lie")
    (project.parent / "elsewhere" / "lie").write_text(LIE)


def write(name: str) -> Callable[[Path], None]:
    def change(project: Path) -> None:
        file = project / name
        file.write_text(LIE)
        file.chmod(0o755)

    return change


def keep_size_and_time(project: Path) -> None:
    file = project / "agent.sh"
    before = file.stat()
    file.write_text("#!/bin/xh\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (("./agent.sh",), write("agent.sh")),
        (("./agent.sh",), keep_size_and_time),
        (("./agent.sh",), lambda project: (project / "agent.sh").unlink()),
        (("sh", "agent.sh"), write("agent.sh")),
        (("sh", "-x", "./agent.sh", "--fast"), write("agent.sh")),
        (("timeout", "600", "bin/helper"), write("bin/helper")),
        (("helper",), write("bin/helper")),
        (("other",), write("bin/other")),
        (("./linked",), replace_link),
        (("./linked",), write("../elsewhere/agent")),
        (("../elsewhere/into",), write("agent.sh")),
    ],
)
def test_a_changed_program_is_noticed(
    project: Path, line: tuple[str, ...], change: Callable[[Path], object]
) -> None:
    files = files_of(project, *line)
    assert files.changed() == ()

    change(project)

    assert files.changed() == files.changed([line])
    assert len(files.changed()) == 1


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (("other",), "../elsewhere/other"),  # not of the project
        (("./agent.sh", "--log", "agent.log"), "agent.log"),  # written by every session
        (("other", "-o", "out/last.txt"), "agent.sh"),
    ],
)
def test_what_is_no_program_of_the_project_may_change(
    project: Path, line: tuple[str, ...], name: str
) -> None:
    files = files_of(project, *line)

    write(name)(project)

    assert files.changed() == ()


def test_only_the_program_of_a_judge_matters_to_it(project: Path) -> None:
    files = files_of(project, "./agent.sh")
    write("agent.sh")(project)

    assert files.changed([("other",)]) == ()


def test_a_moved_project_knows_what_its_run_began_with(project: Path, tmp_path: Path) -> None:
    note = tmp_path / "note"
    files_of(project, "./agent.sh").keep(note)
    moved = tmp_path / "moved"
    shutil.move(project, moved)

    assert files_of(moved, "./agent.sh").recalled(note).changed() == ()
    write("agent.sh")(moved)
    assert files_of(moved, "./agent.sh").recalled(note).changed() == (str(moved / "agent.sh"),)

    note.write_text(note.read_text().replace("agent", "other"))
    with pytest.raises(GitFailed, match="damaged"):
        files_of(moved, "./agent.sh").recalled(note)
