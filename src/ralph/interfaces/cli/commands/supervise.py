"""``ralph supervise``: restart a root agent until it has written its DONE file."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.domain.text.safe_text import is_text
from ralph.errors import UsageError
from ralph.interfaces.cli.options import (
    PATH,
    Amount,
    agent_flags_of,
    agent_option,
    agent_timeout_option,
    detach_option,
    events_option,
    given_prompt,
    given_settings,
    isolation_option,
    iteration_option,
    limit_options_of_supervise,
    load_with,
    model_option,
    notify_option,
    project_dir_option,
    prompt_options,
    proof_option,
    sandbox_options,
    setting_option,
    sources_of,
    trust_option,
    verbose_option,
)

HELP = """Restart a root agent until it has written the file $TASK_FOLDER/DONE, whatever its exit code.

It runs the configured agent with a prompt (-p or -f), or any command given after `--`. Both get the variables
TASK_FOLDER, RUN_FOLDER, RALPH_PROJECT_ID, RALPH_TASK_ID, RALPH_RUN_ID, RALPH_PARENT_RUN_ID, RALPH_ATTEMPT (from 0),
TASK_MESSAGE_BUS and PROJECT_MESSAGE_BUS.

An agent that has to wait for something outside exits with 42, writes the file $TASK_FOLDER/WAIT_WITHOUT_RESTART, or posts
with `ralph bus post --type wait_without_restart`: the run ends with exit code 5, and `ralph resume` continues it. A ralph
that the agent starts is a child run; once DONE exists, ralph waits for children that are still active before DONE is judged.

Exit codes: 0 DONE exists · 1 limit reached · 2 usage or settings · 3 internal error · 4 the agent cannot run · 5 the
agent waits · 130 interrupted

\b
Examples:
  ralph supervise --task search -f PROMPT.md --max-restarts 20
  ralph supervise --task nightly --agent-timeout 3600 -- ./agent.sh --fast
"""


@click.command("supervise", help=HELP)
@click.option(
    "--task", metavar="ID", help="The task's id; its folder is .ralph/tasks/ID.  [default: a new task]"
)
@click.option("--project", metavar="ID", help="The project's id.  [default: the folder's name]")
@click.option("--task-dir", metavar="DIR", type=PATH, help="Use another directory as the task folder.")
@prompt_options("launch")
@agent_option("Agent to run instead of the one in the settings.")
@model_option()
@isolation_option
@iteration_option("Stop after N launches in all.  [default: 100]", "--max-restarts")
@limit_options_of_supervise
@setting_option(
    "profiles.supervised.restartDelay",
    "--restart-delay",
    metavar="S",
    type=Amount(zero=True),
    help="Seconds between two launches.  [default: 1]",
)
@setting_option(
    "profiles.supervised.waitTimeout",
    "--wait-timeout",
    metavar="S",
    type=Amount(zero=True),
    help="Seconds to wait for child runs once DONE exists.  [default: 300]",
)
@setting_option(
    "profiles.supervised.pollInterval",
    "--poll-interval",
    metavar="S",
    type=Amount(),
    help="Seconds between two checks of children and DONE.  [default: 1]",
)
@agent_timeout_option(
    "End a launch that takes longer; it counts as failed.  [default: none]",
    "profiles.supervised.agentTimeout",
)
@setting_option(
    "profiles.supervised.doneGrace",
    "--done-grace",
    metavar="S",
    type=Amount(zero=True),
    help="Seconds the agent may keep running after it wrote DONE.  [default: 30]",
)
@setting_option(
    "profiles.supervised.guardrails",
    "--guardrail",
    metavar="COMMAND",
    multiple=True,
    help="A command that must pass before DONE is believed; may be repeated.",
)
@proof_option
@notify_option
@sandbox_options
@trust_option
@verbose_option
@project_dir_option
@detach_option
@events_option
@click.argument("command_line", metavar="[-- CMD ARGS...]", nargs=-1, type=click.UNPROCESSED)
def command(
    task: str | None,
    project: str | None,
    task_dir: Path | None,
    prompt: str | None,
    prompt_file: Path | None,
    agent: str | None,
    max_iterations: int | None,
    verbose: bool,
    project_dir: Path | None,
    as_json: bool,
    command_line: tuple[str, ...],
) -> int:
    from ralph.config.root import find_root
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.operations.runs.start import prepare_supervised_run

    if not all(map(is_text, command_line)):
        message = "the command after `--` is not UTF-8 text"
        raise UsageError(message, hint="put it in a script")
    for value, flag in ((task, "--task"), (project, "--project")):
        if value == "":
            message = f"{flag} is empty"
            raise UsageError(message, hint="name it, or leave the flag out")
    given = given_prompt(prompt, prompt_file)
    root = find_root(Path.cwd(), project_dir)
    flags = given_settings()
    if max_iterations is not None:
        flags.append((("profiles", "supervised", "maxRestarts"), max_iterations, "--max-restarts"))
    sources = sources_of(root.state)
    loaded = load_with(sources, [*agent_flags_of(sources, agent), *flags])
    launch = prepare_supervised_run(
        loaded,
        root,
        prompt=given,
        command=command_line,
        task=task or "",
        project=project or "",
        task_folder=task_dir.absolute() if task_dir is not None else None,
    )
    return exit_code_of(run_on_console(launch, verbose=verbose, json_lines=as_json).outcome)
