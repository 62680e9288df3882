"""``ralph demo``: a real loop on a real repository, with an agent that ships with ralph."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.errors import AgentUnavailable, StoreError, UsageError

if TYPE_CHECKING:
    from ralph.engine.loop import RunResult

INTRODUCTION = """\
A small repository with failing tests, and an agent that first lies about being done.
The agent is a script that ships with ralph; the process, the tests, git and the journal are real.
It speaks claude's format, so the header says `agent claude`: claude itself is not started, and no account is used.
"""


@click.command("demo", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option("-V", "--verbose", is_flag=True, help="Print what ralph does and how long it takes.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout.")
def command(directory: Path | None, verbose: bool, as_json: bool) -> int:
    """Watch a real loop on a small repository; no account needed.

    Makes a git repository with a failing test suite in DIRECTORY (default: a new temporary one), then runs a loop on
    it: the agent first says "done" while tests fail, is caught by the guardrail, and fixes the code until they pass.
    """
    from ralph.config.loading import load
    from ralph.config.root import Root
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.interfaces.cli.running import run_on_console
    from ralph.wiring.runs.prompt_run import Prompt, prepare_run

    if shutil.which("git") is None:
        message = "the demo needs git"
        raise AgentUnavailable(message, hint="install git, then try again")
    try:
        project = _empty_directory(directory)
        _make_project(project)
    except OSError as error:
        message = f"cannot write the demo's project in {directory or tempfile.gettempdir()}: {error.strerror or error}"
        raise StoreError(message, hint="choose another place: ralph demo DIRECTORY") from error
    print(INTRODUCTION, file=sys.stderr)
    # The demo shows its own settings, whatever RALPH_… the user has.
    loaded = load(project, environ={})
    launch = prepare_run(loaded.settings, Root(project, project), Prompt(file=project / "PROMPT.md"))
    result = run_on_console(launch, verbose=verbose, json_lines=as_json)
    _say_what_is_left(project, result)
    return exit_code_of(result.outcome)


def _empty_directory(directory: Path | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="ralph-demo-")).resolve()
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        message = f"{directory} is not an empty directory"
        raise UsageError(message, hint="choose a new one; the demo does not write into existing work")
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve()


def _make_project(project: Path) -> None:
    import asyncio

    from ralph.adapters.files import make_state_folder
    from ralph.interfaces.cli import demo_project

    for name, content in demo_project.project_files().items():
        file = project / name
        file.write_text(content)
        file.chmod(0o755 if content.startswith("#!") else 0o644)
    state = project / ".ralph"
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
    from ralph.adapters.git import Git
    from ralph.adapters.processes.runner import PosixProcessRunner

    git = Git(project, PosixProcessRunner(run_id="demo", base_environment=os.environ), is_top=True)
    ran = [await git.must(*arguments, hint="check your git installation") for arguments in commands]
    return "".join(each.out for each in ran)


def _say_what_is_left(project: Path, result: RunResult) -> None:
    import asyncio

    log = asyncio.run(_git(project, ("log", "--oneline", "--stat", "-n", "1")))
    runs = project / ".ralph" / "runs"
    lines = [
        "",
        "The commit:",
        *(f"  {line}" for line in log.splitlines()),
        "",
        f"Repository:  {project}",
        f"Journal:     {project / '.ralph' / 'ralph.db'}",
        f"Run's files: {next(runs.iterdir(), runs)}",
        f"             ({result.iterations} iterations: prompts, the agent's raw stream, guardrail logs)",
        "",
        "Next: install ralph (in its checkout: `pip install '.[all]'`), go to a project of yours and run `ralph init`.",
    ]
    print("\n".join(lines), file=sys.stderr)
