"""A run that a program started with parts of its own is resumed by that program only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from .conftest import DONE, PROMPT, Project
from .running import wait_for

PROGRAM = f"""
import asyncio, dataclasses, sys
from pathlib import Path
from ralph import CheckResult, Feedback, Prompt, StopToken, Verdict, When
from ralph import assemble, find_root, load_settings, prepare_run, run_loop

class Made:
    name, command, when = "made it", "", When.ALWAYS

    async def run(self, judging):
        if Path("made").exists():
            return CheckResult(self.name, Verdict.PASSED)
        return CheckResult(self.name, Verdict.FAILED, feedback=Feedback("It is not made."))

async def main():
    root = find_root(Path.cwd())
    settings = load_settings(root.state, environ={{}}).settings
    launch = prepare_run(settings, root, Prompt({PROMPT!r}), resumes="".join(sys.argv[1:]))
    async with assemble(launch, StopToken(), listeners=[], complain=print) as parts:
        result = await run_loop(dataclasses.replace(parts, checks=[*parts.checks, Made()]))
    print(result.outcome, result.iterations)

asyncio.run(main())
"""


def test_ralph_resume_does_not_leave_out_the_checks_of_a_program(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}], [{"say": DONE}], [{"touch": "made"}, {"say": DONE}])
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, cwd=project.root, env=project.env()) as process:
        try:
            wait_for((project.root / "started").exists, "the start")
        finally:
            os.kill(process.pid, signal.SIGKILL)
    ((run_id,),) = project.rows("SELECT id FROM runs")

    refused = project.ralph("resume", check=2)
    assert "started by a program" in refused.stderr
    assert f"resumes='{run_id}'" in refused.stderr

    ran = subprocess.run(
        [*command, run_id], cwd=project.root, env=project.env(), capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.splitlines()[-1] == "completed 2", ran.stderr
    assert "It is not made." in project.prompt(2)
