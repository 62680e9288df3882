"""What one iteration costs beyond the same agent and guardrail in a bare shell loop."""

from __future__ import annotations

import itertools
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

from bench.child import LONGEST, CannotMeasure, interleaved
from bench.project import PROMPT, Project, new_project
from bench.row import Bar, Row, as_difference

MANY = 200
ROUNDS = 5
AGENT = ("/bin/echo", "working")
CHANGING = ("/bin/sh", "-c", "echo more >> work.txt")
"""An agent that changes a file which git tracks."""
SHELL_LOOP = """i=0
while [ $i -lt {number} ]; do
    {agent} < prompt.txt
    {guardrail}
    i=$((i + 1))
done"""


def measure(folder: Path) -> list[Row]:
    measures: dict[str, Callable[[], float]] = {}
    with ExitStack() as cleaning:
        # Each run gets a new folder, and all are deleted at the end: just after many files were deleted, ext4
        # takes ten times as long to make one, and we would measure our own clean-up.
        projects = (
            cleaning.enter_context(new_project(folder, f"iterations-{number}"))
            for number in itertools.count()
        )
        for name, guardrails in (("guarded", ["true"]), ("unguarded", [])):
            for number in (1, MANY):
                measures[f"{name} shell {number}"] = partial(_shell_loop, projects, guardrails, number)
                measures[f"{name} ralph {number}"] = partial(_ralph_loop, projects, guardrails, number)
        repositories = map(_make_repository, projects)
        for name, agent in (("in git", AGENT), ("changing", CHANGING)):
            for number in (1, MANY):
                measures[f"{name} shell {number}"] = partial(_shell_loop, repositories, [], number, agent)
                measures[f"{name} ralph {number}"] = partial(_ralph_loop, repositories, [], number, agent)
        walls = interleaved(measures, rounds=ROUNDS)
        parts = _parts(next(repositories))

    def row(title: str, name: str, bar: Bar | None = None) -> Row:
        ralph = _each(walls[f"{name} ralph 1"], walls[f"{name} ralph {MANY}"])
        shell = _each(walls[f"{name} shell 1"], walls[f"{name} shell {MANY}"])
        return as_difference(title, ralph, "ms", shell, bar)

    bare = parts["bare spawns"]
    return [
        row("one iteration, one guardrail", "guarded", Bar(5)),
        row("one iteration, no guardrail", "unguarded", Bar(2)),
        row("one iteration, no guardrail, in a git repository", "in git", Bar(2)),
        row("the same, where a session changes a file that git tracks", "changing"),
        as_difference("of that: git status, which says what a session changed", parts["git"], "ms", 0.0),
        as_difference("of that: starting and watching two processes", parts["runner"], "ms", bare),
        as_difference(
            "of that: two keepers, which adopt what is left behind",
            parts["runner"],
            "ms",
            parts["runner without keepers"],
        ),
        as_difference("of that: the durable record", parts["journal"], "ms", 0.0),
    ]


def _shell_loop(
    projects: Iterator[Project], guardrails: Sequence[str], number: int, agent: Sequence[str] = AGENT
) -> float:
    project = next(projects)
    (project.root / "prompt.txt").write_text(PROMPT)
    checks = [f"sh -c {shlex.quote(command)}" for command in guardrails] or [":"]
    script = SHELL_LOOP.format(number=number, agent=shlex.join(agent), guardrail="\n".join(checks))
    return project.run(["/bin/sh", "-c", script]).wall


def _ralph_loop(
    projects: Iterator[Project], guardrails: Sequence[str], number: int, agent: Sequence[str] = AGENT
) -> float:
    project = next(projects)
    program, *flags = agent
    project.settings(
        agent={"command": program, "flags": flags},
        limits={"stuckAfter": 0},  # in a repository it is seen that nothing changes
        guardrails=[{"command": command} for command in guardrails],
    )
    return project.ralph_run(number).wall


def _make_repository(project: Project) -> Project:
    (project.root / "work.txt").write_text("nothing yet\n")
    for arguments in (
        ("init", "--quiet"),
        ("add", "--all"),
        ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "-m", "begin"),
    ):
        project.run(["git", *arguments])
    return project


def _each(ones: Sequence[float], manies: Sequence[float]) -> float:
    """Milliseconds for one more iteration: the start-up is in both and cancels out."""
    each = [(many - one) / (MANY - 1) for one, many in zip(ones, manies, strict=True)]
    return 1000 * median(each)


def _parts(project: Project) -> dict[str, float]:
    """In a separate process: ralph's modules would make ours too big for the memory measurements."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.iteration_parts", str(project.root)],
        cwd=Path(__file__).parent.parent,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if ran.returncode:
        message = f"the parts of an iteration: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)
    parts: dict[str, float] = json.loads(ran.stdout)
    return parts
