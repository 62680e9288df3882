"""Archives in which git finds other settings than a careless reader does: whatever git would run is asked about first."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import PROMPT, Project

from .test_sandboxed_run import needs_bwrap

FILTER = b'[filter "x"]\n\tclean = ./tool\n'


def include(root: Path, written: bytes, name: bytes = b"extra", twin: bytes = b"") -> None:
    """What git takes for the name is the evil file; the twin is what it looks like."""
    with (root / ".git" / "config").open("ab") as config:
        config.write(b"[include]\n\tpath = " + written + b"\n")
    folder = os.fsencode(root / ".git")
    for file, content in ((twin, b""), (name, FILTER)):
        if file:
            Path(os.fsdecode(folder + b"/" + file)).write_bytes(content)


def pointer(root: Path, written: bytes, name: bytes) -> None:
    """A ``.git`` file; beside the evil folder is a harmless one, with the name without spaces."""
    evil, twin = (
        Path(os.fsdecode(os.fsencode(root) + b"/" + each)) for each in (name, name.strip(b" \t\xff"))
    )
    if twin != evil:
        shutil.copytree(root / ".git", twin)
    (root / ".git").rename(evil)
    with (evil / "config").open("ab") as config:
        config.write(FILTER)
    (root / ".git").write_bytes(b"gitdir: " + written + b"\n")


def common(root: Path, written: bytes, name: str) -> None:
    own = root / "g" / "worktrees" / "w"
    for place in dict.fromkeys((root / "g", own / name.strip(), own / name)):
        shutil.copytree(root / ".git", place, dirs_exist_ok=True)
    shutil.copy(root / ".git" / "HEAD", own / "HEAD")
    with (own / name / "config").open("ab") as config:
        config.write(FILTER)
    shutil.rmtree(root / ".git")
    (own / "commondir").write_bytes(written)
    (root / ".git").write_bytes(b"gitdir: g/worktrees/w\n")


def passed_over(root: Path, break_it: Callable[[Path], object]) -> Path:
    """The folder with a repository that git does not take for one; the evil one is above."""
    with (root / ".git" / "config").open("ab") as config:
        config.write(FILTER)
    inner = root / "inner"
    subprocess.run(["git", "init", "-q", inner], check=True)
    break_it(inner / ".git")
    return inner


def link_head(git: Path) -> None:
    (git / "HEAD").unlink()
    os.symlink("./refs/heads/main", git / "HEAD")  # noqa: PTH211 - as it is written


ARCHIVES: dict[str, Callable[[Path], Path | None]] = {
    "form feed before": lambda root: include(root, b"\x0cextra", b"\x0cextra", b"extra"),
    "vertical tab after": lambda root: include(root, b"extra\x0b", b"extra\x0b", b"extra"),
    "nul": lambda root: include(root, b"extra\0x"),
    "invalid utf-8": lambda root: include(root, b"\xff", b"\xff", "\ufffd".encode()),
    "space in front of empty quotes": lambda root: include(root, b'extra ""', b"extra ", b"extra"),
    "space in front of a line's end": lambda root: include(root, b"extra \\\n", b"extra ", b"extra"),
    "carriage return inside": lambda root: include(root, b"ex\rtra", b"ex tra", b"ex\rtra"),
    "escaped line's end": lambda root: include(root, b"ex\\ntra", b"ex\ntra", b"extra"),
    "longer than our way": lambda root: include(root, b"info/../" * 507 + b"extra"),
    "pointer with a space": lambda root: pointer(root, b"repo ", b"repo "),
    "pointer with a tab": lambda root: pointer(root, b"repo\t", b"repo\t"),
    "pointer with two spaces": lambda root: pointer(root, b" repo", b" repo"),
    "pointer in other bytes": lambda root: pointer(root, b"re\xff", b"re\xff"),
    "common folder with a space": lambda root: common(root, b" evil\n", " evil"),
    "common folder after much nothing": lambda root: common(root, b"evil" + b"\n" * 1_100_000, "evil"),
    "head with a form feed": lambda root: passed_over(
        root, lambda git: (git / "HEAD").write_bytes(b"ref:\x0crefs/heads/main\n")
    ),
    "head too far behind": lambda root: passed_over(
        root, lambda git: (git / "HEAD").write_bytes(b"ref: " + b" " * 300 + b"refs/heads/main\n")
    ),
    "head as a longer link": lambda root: passed_over(root, link_head),
}
if os.geteuid():  # nothing is closed to root
    ARCHIVES["closed references"] = lambda root: passed_over(root, lambda git: (git / "refs").chmod(0))


def unpack(project: Project, archive: str) -> Path:
    for arguments in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=project.root, check=True)
    return ARCHIVES[archive](project.root) or project.root


@pytest.mark.parametrize("archive", ARCHIVES)
def test_git_finds_no_program_that_nobody_was_asked_about(project: Project, archive: str) -> None:
    place = unpack(project, archive)
    found = subprocess.run(["git", "config", "filter.x.clean"], cwd=place, capture_output=True, check=False)
    assert found.stdout == b"./tool\n"
    shown = project.ralph("trust", "--show", cwd=place, RALPH_TRUST="")
    assert shown.returncode == 2, shown.stdout
    assert "cannot be examined" in shown.stdout or "runs ./tool" in shown.stdout


@needs_bwrap
@pytest.mark.parametrize(
    "archive", ["form feed before", "pointer with a tab", "common folder after much nothing"]
)
def test_a_sandbox_refuses_what_cannot_be_examined(project: Project, archive: str) -> None:
    unpack(project, archive)
    project.agent([{"say": "hello"}])
    ran = project.ralph(
        "run", "-p", PROMPT, "--agent", "claude", "--sandbox=bwrap", "-m", "1", RALPH_TRUST="1"
    )
    assert ran.returncode == 2
    assert "cannot be examined" in ran.stderr
