"""Records are for the user alone, whatever the umask: another user of the machine reads neither prompts nor logs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Project
from tests.faults.loops import HONEST, LOOPS

OTHERS = 0o077
OPEN = {".gitignore", "settings.json", "DONE"}
"""Shared with the team through git, or the agent's own: what lies in a closed folder need not be closed itself."""
NOBODY = 65534


@pytest.fixture(params=["022", "000"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(int(request.param, 8))
    yield
    os.umask(before)


def open_to_others(state: Path) -> list[str]:
    """All but worktrees, which are the project's own code: only the folder that they lie in is closed."""
    found = []
    for folder, folders, files in os.walk(state):
        if Path(folder) == state / "worktrees":
            folders.clear()
        for name in (*folders, *files, "."):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if name not in OPEN and not stat.S_ISLNK(mode) and mode & OTHERS:
                found.append(f"{stat.S_IMODE(mode):o} {path.relative_to(state)}")
    return found


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("kind", LOOPS)
def test_a_record_is_closed_to_others_in_every_kind_of_loop(kind: str, project: Project) -> None:
    loop = LOOPS[kind](project)
    loop.agent(HONEST)
    ran = loop.run(times=2)
    state = loop.root / ".ralph"
    assert (state / "ralph.db").is_file(), ran.stderr
    assert list(state.glob("runs/*/prompt_*.txt"))
    assert open_to_others(state) == []


@pytest.mark.usefixtures("umask")
def test_what_the_user_owns_keeps_its_permissions(project: Project) -> None:
    loop = LOOPS["plan"](project)
    loop.agent(HONEST)
    loop.prepare(times=2)
    tasks, prompt = loop.root / "ralph" / "tasks.json", loop.root / "PROMPT.md"
    tasks.chmod(0o640)
    before = prompt.stat().st_mode
    loop.ralph(*loop.command())
    assert loop.believed()
    assert stat.S_IMODE(tasks.stat().st_mode) == 0o640
    assert prompt.stat().st_mode == before
    report = loop.root / "report.md"
    loop.ralph("report", "-o", str(report))
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(report.stat().st_mode) == 0o666 & ~umask


@pytest.mark.usefixtures("umask")
def test_an_open_record_of_an_earlier_version_is_closed_by_the_next_run(project: Project) -> None:
    loop = LOOPS["run"](project)
    loop.agent(HONEST)
    loop.run()
    state = loop.root / ".ralph"
    for path in (state, state / "ralph.db"):
        path.chmod(0o777)
    loop.ralph("run", "-p", "again", "-m", "1")
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "ralph.db").stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_reads_nothing(project: Project) -> None:
    before = os.umask(0)
    try:
        loop = LOOPS["run"](project)
        loop.agent(HONEST)
        loop.run()
    finally:
        os.umask(before)
    state = loop.root / ".ralph"
    for folder in (state.parent, *state.parent.parents):
        if folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o555)
    files = [str(path) for path in state.rglob("*") if path.is_file()]
    read = "import os, sys\nfor name in sys.argv[1:]:\n try: open(name); print(name)\n except OSError: pass"
    read = f"import os; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n{read}"
    ran = subprocess.run([sys.executable, "-c", read, *files], check=True, capture_output=True, text=True)
    assert files
    assert ran.stdout == ""
