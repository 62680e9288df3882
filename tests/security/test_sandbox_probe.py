"""A sandbox is examined from inside before a run begins: one that does not hold what it promises is refused."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from ralph.adapters.isolation.bwrap import BwrapSandbox
from ralph.adapters.isolation.runner import keep_open
from ralph.errors import AgentUnavailable
from tests.acceptance.conftest import Project

from .conftest import OFF, Sandboxed

OUTSIDE = """\
case " $* " in *" /run/ralph/inside.pyc "*) ;; *) exit 0 ;; esac  # the questions before: yes, all of that works here
while [ "$1" != -- ]; do shift; done; shift
while [ "$1" != -- ]; do shift; done; shift
export RALPH_SANDBOX=bwrap
exec "$@"
"""
SRT = """\
while [ $# -gt 0 ]; do [ "$1" = -c ] && exec sh -c "$2"; shift; done
"""
WEAKER = """\
import os, sys
arguments, dropped = sys.argv[1:], {dropped!r}
at = 0
while at < len(arguments) and arguments[at] != "--":
    if arguments[at : at + len(dropped)] == dropped:
        arguments[at : at + len(dropped)] = {instead!r}
        if arguments[at - 2] == "--size":
            del arguments[at - 2 : at]
    at += 1
os.execv({bwrap!r}, ["bwrap", *arguments])
"""


def install(folder: Path, body: str, *, interpreter: str = "/bin/sh") -> Path:
    program = folder / "bwrap"
    folder.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!{interpreter}\n{body}")
    program.chmod(0o755)
    return program


def refusal(sandboxed: Sandboxed, programs: Path) -> str:
    """Why a sandbox of these programs is refused; empty if it is not."""
    sandboxed.environ["PATH"] = f"{programs}:{sandboxed.environ['PATH']}"

    async def run() -> str:
        inner = sandboxed.runner()
        try:
            async with keep_open(BwrapSandbox(sandboxed.site(), OFF), inner):
                return ""
        except AgentUnavailable as error:
            return str(error)

    return asyncio.run(run())


def test_the_real_one_holds_and_leaves_nothing_behind(sandboxed: Sandboxed, tmp_path: Path) -> None:
    before = sorted(sandboxed.home.iterdir()), sorted(sandboxed.workspace.iterdir())
    (tmp_path / "none").mkdir()
    assert refusal(sandboxed, tmp_path / "none") == ""
    assert (sorted(sandboxed.home.iterdir()), sorted(sandboxed.workspace.iterdir())) == before


@pytest.mark.parametrize(
    "body", ["exit 0\n", 'echo "$@"\n', "cat\n", OUTSIDE], ids=["silent", "echo", "cat", "outside"]
)
def test_a_program_that_is_no_sandbox_is_refused(sandboxed: Sandboxed, tmp_path: Path, body: str) -> None:
    install(tmp_path / "programs", body)
    said = refusal(sandboxed, tmp_path / "programs")
    assert "does not hold what it promises" in said
    assert list(sandboxed.home.glob(".ralph-*")) == []


HOME = "the home"
WEAK = {
    "network": (["--unshare-net"], [], "no namespace of its own for net"),
    "processes": (["--unshare-pid"], [], "no namespace of its own for pid"),
    "capabilities": (["--cap-drop", "ALL"], [], "capabilities"),
    "filter": (["--seccomp", "9"], [], "system calls are not filtered"),
    "home": (["--tmpfs", HOME], ["--bind", HOME, HOME], "can be read"),
    "home that may be read": (["--tmpfs", HOME], ["--ro-bind", HOME, HOME], "can be read"),
    "tmp": (["--tmpfs", "/tmp"], ["--bind", "/tmp", "/tmp"], "/tmp can be"),
}


@pytest.mark.parametrize("what", WEAK)
def test_a_sandbox_that_is_weaker_than_it_was_told_is_refused(
    sandboxed: Sandboxed, tmp_path: Path, what: str
) -> None:
    dropped, instead, expected = WEAK[what]
    if what == "capabilities" and os.geteuid() != 0:
        pytest.skip("has none to drop")
    bwrap = shutil.which("bwrap")
    home = str(sandboxed.home.resolve())
    arguments = [[home if each == HOME else each for each in part] for part in (dropped, instead)]
    body = WEAKER.format(dropped=arguments[0], instead=arguments[1], bwrap=bwrap)
    install(tmp_path / "programs", body, interpreter=sys.executable)
    assert expected in refusal(sandboxed, tmp_path / "programs")


def test_what_the_project_puts_on_its_agents_path_does_not_speak_for_the_sandbox(
    project: Project, bwrap_trouble: str
) -> None:
    if bwrap_trouble:
        pytest.skip(bwrap_trouble)
    for name in ("env", "ls", "sh", "bwrap"):
        install(project.root / "bin", "exit 0\n").rename(project.root / "bin" / name)
    path = f"bin:{project.env()['PATH']}"
    project.program("agent", "echo done\n")
    project.settings(agent={"command": "agent", "adapter": "plain", "environment": {"PATH": path}})
    ran = project.ralph("run", "-p", "x", "--sandbox=bwrap", "--max-iterations", "1")
    assert "home hidden" in ran.stdout + ran.stderr


def test_variables_that_come_in_by_another_way_are_noticed(sandboxed: Sandboxed, tmp_path: Path) -> None:
    bwrap = shutil.which("bwrap")
    body = f'export RALPH_INSIDE_AWS_SECRET_ACCESS_KEY=s3cret\nexec {bwrap} "$@"\n'
    install(tmp_path / "programs", body)
    assert "AWS_SECRET_ACCESS_KEY" in refusal(sandboxed, tmp_path / "programs")


@pytest.mark.parametrize("asked", ["--sandbox", "--sandbox=bwrap", "--sandbox=auto"])
def test_a_run_does_not_begin_in_a_sandbox_that_is_none(
    project: Project, bwrap_trouble: str, tmp_path: Path, asked: str
) -> None:
    if bwrap_trouble:
        pytest.skip(bwrap_trouble)
    install(project.programs / "bin", OUTSIDE)
    started = tmp_path / "started"
    project.program("agent", f"touch {started}\n")
    project.settings(agent={"command": "agent", "adapter": "plain"})
    ran = project.ralph("run", "-p", "x", asked, "--max-iterations", "1", check=4)
    assert "does not hold what it promises" in ran.stderr
    assert "home hidden" not in ran.stdout + ran.stderr
    assert not started.exists()


@pytest.mark.parametrize("asked", ["--sandbox", "--sandbox=auto"])
def test_the_next_kind_is_taken_instead_of_a_sandbox_that_is_none(
    project: Project, bwrap_trouble: str, asked: str
) -> None:
    if bwrap_trouble:
        pytest.skip(bwrap_trouble)
    install(project.programs / "bin", SRT).rename(project.programs / "bin" / "srt")
    install(project.programs / "bin", OUTSIDE)
    project.program("agent", "echo inside $RALPH_SANDBOX\n")
    project.settings(agent={"command": "agent", "adapter": "plain"})
    ran = project.ralph("run", "-p", "x", asked, "--max-iterations", "1", check=None)
    assert "sandbox srt: the strongest that works here" in ran.stderr
    assert "bwrap: the sandbox bwrap was examined, and does not hold what it promises" in ran.stderr
    assert "inside srt" in ran.stdout + ran.stderr


def test_the_doctor_examines_it_too(project: Project, bwrap_trouble: str) -> None:
    if bwrap_trouble:
        pytest.skip(bwrap_trouble)
    before = sorted(project.root.rglob("*"))
    assert "works here" in bwrap_line(project.ralph("doctor").stdout)
    assert sorted(project.root.rglob("*")) == before
    install(project.programs / "bin", OUTSIDE)
    assert "does not hold what it promises" in bwrap_line(project.ralph("doctor").stdout)


def bwrap_line(text: str) -> str:
    return next(line for line in text.splitlines() if " bwrap" in line)
