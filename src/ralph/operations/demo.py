"""The demo: a small repository whose tests fail, and an agent that ships with ralph to work on it."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from ralph.adapters.files import make_state_folder
from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.config.loading import load
from ralph.config.root import STATE_FOLDER, Root
from ralph.errors import AgentUnavailable, StoreError, UsageError
from ralph.operations import demo_project
from ralph.wiring.launch import Launch
from ralph.wiring.runs.prompt_run import Prompt, prepare_run


def make_demo(directory: Path | None) -> Path:
    """The project, in an empty directory; None: a new temporary one."""
    if shutil.which("git") is None:
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
    """With the demo's own settings, whatever RALPH_… the user has."""
    return prepare_run(load(project, environ={}), Root(project, project), Prompt(file=project / "PROMPT.md"))


def last_commit(project: Path) -> str:
    return asyncio.run(_git(project, ("log", "--oneline", "--stat", "-n", "1")))


def _empty_directory(directory: Path | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="ralph-demo-")).resolve()
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        message = f"{directory} is not an empty directory"
        raise UsageError(message, hint="choose a new one; the demo does not write into existing work")
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve()


def _fill(project: Path) -> None:
    for name, content in demo_project.project_files().items():
        file = project / name
        file.write_text(content)
        file.chmod(0o755 if content.startswith("#!") else 0o644)
    state = project / STATE_FOLDER
    make_state_folder(state)
    script = state / "demo-script.json"
    script.write_text(demo_project.script())
    agent = state / "demo-agent"
    agent.write_text(demo_project.agent_program(script))
    agent.chmod(0o755)
    (state / "settings.json").write_text(demo_project.settings(agent))
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


async def _git(project: Path, *commands: tuple[str, ...]) -> str:
    git = Git(project, PosixProcessRunner(run_id="demo", base_environment=os.environ), is_top=True)
    ran = [await git.must(*arguments, hint="check your git installation") for arguments in commands]
    return "".join(each.out for each in ran)
