"""The demo: a small repository whose tests fail, and the script of an agent that fixes it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path

from ralph.adapters.files import make_state_folder, real_path
from ralph.adapters.git import Git
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.config.loading import load
from ralph.config.root import STATE_FOLDER, Root
from ralph.errors import AgentUnavailable, StoreError, UsageError
from ralph.wiring.launch import Launch
from ralph.wiring.runs.prompt_run import Prompt, prepare_run

PROMPT = """\
The tests of this project fail. Make them pass without changing the tests.
When everything is done, output <response>DONE</response>.
"""

BROKEN_CODE = '''\
"""Prices in a shop. Some of this is wrong: the tests know."""


def total(prices):
    return sum(prices[1:])


def discounted(price, percent):
    return price - percent
'''

HALF_FIXED_CODE = BROKEN_CODE.replace("sum(prices[1:])", "sum(prices)")

FIXED_CODE = HALF_FIXED_CODE.replace("price - percent", "price * (100 - percent) / 100").replace(
    " Some of this is wrong: the tests know.", ""
)

TESTS = """\
import unittest

from shop import discounted, total


class ShopTest(unittest.TestCase):
    def test_total_adds_every_price(self):
        self.assertEqual(total([5, 10, 20]), 35)

    def test_total_of_nothing_is_zero(self):
        self.assertEqual(total([]), 0)

    def test_ten_percent_off(self):
        self.assertEqual(discounted(200, 10), 180)

    def test_no_discount(self):
        self.assertEqual(discounted(80, 0), 80)


if __name__ == "__main__":
    unittest.main()
"""

THINKING_SECONDS = 0.25


def make_demo(directory: Path | None) -> Path:
    """Make the project in an empty directory; None: in a new temporary one."""
    if _own_programs().find("git") is None:
        message = "the demo needs git"
        raise AgentUnavailable(message, hint="install git, then try again")
    try:
        project = _empty_directory(directory)
        _fill(project)
    except OSError as error:
        message = f"cannot write the demo's project in {directory or tempfile.gettempdir()}: {error.strerror or error}"
        raise StoreError(message, hint="choose another place: ralph demo DIRECTORY") from error
    return project


def prepare_demo(project: Path) -> Launch:
    """With the demo's own settings, whatever the environment says."""
    return prepare_run(load(project, environ={}), Root(project, project), Prompt(file=project / "PROMPT.md"))


def last_commit(project: Path) -> str:
    return asyncio.run(_git(project, ("log", "--oneline", "--stat", "-n", "1")))


def _empty_directory(directory: Path | None) -> Path:
    if directory is None:
        return real_path(Path(tempfile.mkdtemp(prefix="ralph-demo-")))
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        message = f"{directory} is not an empty directory"
        raise UsageError(message, hint="choose a new one; the demo does not write into existing work")
    directory.mkdir(parents=True, exist_ok=True)
    return real_path(directory)


def _fill(project: Path) -> None:
    for name, content in _project_files().items():
        file = project / name
        file.write_text(content)
        file.chmod(0o755 if content.startswith("#!") else 0o644)
    state = project / STATE_FOLDER
    make_state_folder(state)
    script = state / "demo-script.json"
    script.write_text(_agent_script())
    agent = state / "demo-agent"
    agent.write_text(_agent_program(script))
    agent.chmod(0o755)
    (state / "settings.json").write_text(_settings(agent))
    asyncio.run(
        _git(
            project,
            ("init", "-q"),
            ("config", "user.name", "ralph demo"),
            ("config", "user.email", "demo@localhost"),
            ("add", "."),
            ("commit", "-q", "-m", "A shop whose tests fail"),
        )
    )


def _own_programs() -> OwnPrograms:
    """Not those that the project we are in may have on PATH."""
    return OwnPrograms(os.environ, [Path.cwd()])


async def _git(project: Path, *commands: tuple[str, ...]) -> str:
    runner = PosixProcessRunner(run_id="demo", base_environment=os.environ, find=_own_programs().find)
    git = Git(project, runner, is_top=True)
    ran = [await git.must(*arguments, hint="check your git installation") for arguments in commands]
    return "".join(each.out for each in ran)


def _project_files() -> dict[str, str]:
    return {
        "shop.py": BROKEN_CODE,
        "test_shop.py": TESTS,
        "PROMPT.md": PROMPT,
        ".gitignore": "__pycache__/\n",
        "run-tests": f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -m unittest -q\n",
    }


def _agent_program(script: Path) -> str:
    """A real program, started as a child process, that speaks claude's stream format."""
    agent = [sys.executable, "-m", "ralph.testing.fake_agent_cli", "--as", "claude", "--script", str(script)]
    return f'#!/bin/sh\nexec {shlex.join(agent)} "$@"\n'


def _settings(agent: Path) -> str:
    return json.dumps(
        {
            "maximumIterations": 6,
            # With permissions chosen here, the header need not warn of an agent that may do anything.
            "agent": {"command": str(agent), "adapter": "claude", "flags": ["--permission-mode=acceptEdits"]},
            "guardrails": [{"command": "./run-tests", "hint": "Fix shop.py; do not touch the tests."}],
            "scm": {"command": "git", "tasks": ["commit"]},
        },
        indent=2,
    )


def _agent_script() -> str:
    """First a lie, then half of the work, then all of it."""
    pause = {"sleep": THINKING_SECONDS}
    plan = ("Read the failing tests", "Fix total()", "Fix discounted()")

    def todo(done: int) -> dict[str, object]:
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(plan)
        return {"todo": [list(pair) for pair in zip(plan, states, strict=False)]}

    lie = [
        {"say": "Let me look at the project."},
        {"run": "cat shop.py"},
        pause,
        {"say": "This looks fine to me. Everything is done! <response>DONE</response>"},
    ]
    half = [
        {"say": "The tests do fail. I will fix the code step by step."},
        {"run": "./run-tests 2>&1 | tail -n 20"},
        todo(1),
        pause,
        {"write": {"path": "shop.py", "content": HALF_FIXED_CODE}},
        {"say": "total() adds all prices now. The discount is next."},
    ]
    rest = [
        todo(2),
        pause,
        {"write": {"path": "shop.py", "content": FIXED_CODE}},
        {"run": "./run-tests 2>&1"},
        {"todo": [[text, "completed"] for text in plan]},
        {"say": "All tests pass. <response>DONE</response>"},
    ]
    commits = ["Compute totals and discounts correctly"]
    return json.dumps({"sessions": [lie, half, rest], "commits": commits}, indent=1)
