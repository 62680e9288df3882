"""``ralph supervise``: restart a root agent until its DONE file is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.text.safe_text import is_text
from ralph.errors import UsageError
from ralph.interfaces.cli.limit_options import Amount, iteration_option, limit_options
from ralph.interfaces.cli.project_option import project_dir_option
from ralph.interfaces.cli.run_options import load_with, sandbox_flags, sandbox_options, sources_of

if TYPE_CHECKING:
    from ralph.config.sources import Flag

HELP = """Restart a root agent until it has written the file $TASK_FOLDER/DONE, whatever its exit code.

It runs the configured agent with a prompt (-p or -f), or any command given after `--`. The environment of both has:
TASK_FOLDER, RUN_FOLDER, RALPH_PROJECT_ID, RALPH_TASK_ID, RALPH_RUN_ID, RALPH_PARENT_RUN_ID, RALPH_ATTEMPT (from 0),
TASK_MESSAGE_BUS and PROJECT_MESSAGE_BUS.

An agent that has to wait for something outside exits with 42, writes the file $TASK_FOLDER/WAIT_WITHOUT_RESTART, or posts
with `ralph bus post --type wait_without_restart`: the run ends with exit code 5, and `ralph resume` continues it. A ralph
that the agent starts is a child run; once DONE is there, ralph waits for the children that are still active.

\b
Exit codes: 0 DONE is there · 1 limit reached · 2 usage or settings · 3 internal error · 4 the agent cannot run
            5 the agent waits · 130 interrupted

\b
Examples:
  ralph supervise --task search -f PROMPT.md --max-restarts 20
  ralph supervise --task nightly --restart-delay 5 --agent-timeout 3600 -- ./agent.sh --fast
"""


@click.command(
    "supervise", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option(
    "--task", metavar="ID", help="The task's id; its folder is .ralph/tasks/ID.  [default: a new task]"
)
@click.option("--project", metavar="ID", help="The project's id.  [default: the folder's name]")
@click.option(
    "--task-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Use another directory as the task folder.",
)
@click.option("-p", "--prompt", metavar="TEXT", help="Prompt string to send to the agent.")
@click.option(
    "-f",
    "--prompt-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File with the prompt, read again for every launch; - for standard input.",
)
@click.option("--agent", metavar="NAME", help="Agent to run instead of the one in the settings.")
@iteration_option("Stop after N launches in all.  [default: 100]", "--max-restarts")
@limit_options(standstill=False)
@click.option(
    "--restart-delay", metavar="S", type=Amount(zero=True), help="Seconds between two launches.  [default: 1]"
)
@click.option(
    "--wait-timeout",
    metavar="S",
    type=Amount(zero=True),
    help="Seconds to wait for child runs once DONE is there.  [default: 300]",
)
@click.option(
    "--poll-interval",
    metavar="S",
    type=Amount(),
    help="Seconds between two looks at children and DONE.  [default: 1]",
)
@click.option(
    "--agent-timeout",
    metavar="S",
    type=Amount(),
    help="End a launch that takes longer; it counts as failed.  [default: none]",
)
@click.option(
    "--done-grace",
    metavar="S",
    type=Amount(zero=True),
    help="Seconds the agent may keep running after it wrote DONE.  [default: 30]",
)
@click.option(
    "--guardrail",
    "guardrails",
    metavar="COMMAND",
    multiple=True,
    help="A command that must pass before DONE is believed; may be repeated.",
)
@click.option(
    "--notify",
    metavar="HOW",
    multiple=True,
    help="Notify when the run ends or waits long: bell, desktop, an http(s) address, or a command; may be repeated.",
)
@sandbox_options
@click.option("-V", "--verbose", is_flag=True, help="Print what ralph does and how long it takes.")
@project_dir_option
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout.")
@click.argument("command_line", metavar="[-- CMD ARGS...]", nargs=-1, type=click.UNPROCESSED)
def command(
    task: str | None,
    project: str | None,
    task_dir: Path | None,
    prompt: str | None,
    prompt_file: Path | None,
    agent: str | None,
    max_iterations: int | None,
    restart_delay: float | None,
    wait_timeout: float | None,
    poll_interval: float | None,
    agent_timeout: float | None,
    done_grace: float | None,
    guardrails: tuple[str, ...],
    notify: tuple[str, ...],
    sandbox: str | None,
    no_sandbox: bool,
    verbose: bool,
    project_dir: Path | None,
    as_json: bool,
    command_line: tuple[str, ...],
    limits: list[Flag],
) -> int:
    from ralph.config.root import find_root
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.interfaces.cli.prompt_argument import prompt_argument
    from ralph.operations.runs.prepare import prepare_supervised_run

    if not all(map(is_text, command_line)):
        message = "the command after `--` is not UTF-8 text"
        raise UsageError(message, hint="put it in a script")
    for value, flag in ((task, "--task"), (project, "--project")):
        if value == "":
            message = f"{flag} is empty"
            raise UsageError(message, hint="name it, or leave the flag out")
    given = prompt_argument(prompt, prompt_file)
    root = find_root(Path.cwd(), project_dir)
    own = ("profiles", "supervised")
    values: list[tuple[tuple[str, ...], object, str]] = [
        ((*own, "maxRestarts"), max_iterations, "--max-restarts"),
        ((*own, "restartDelay"), restart_delay, "--restart-delay"),
        ((*own, "waitTimeout"), wait_timeout, "--wait-timeout"),
        ((*own, "pollInterval"), poll_interval, "--poll-interval"),
        ((*own, "agentTimeout"), agent_timeout, "--agent-timeout"),
        ((*own, "doneGrace"), done_grace, "--done-grace"),
        ((*own, "guardrails"), list(guardrails) or None, "--guardrail"),
        (("agent", "command"), agent, "--agent"),
        (("notify",), list(notify) or None, "--notify"),
    ]
    flags = [(path, value, origin) for path, value, origin in values if value is not None]
    flags += limits
    flags += sandbox_flags(sandbox, no_sandbox)
    if agent is not None:  # another program: what the settings say about theirs is not for it
        flags += [(("agent", key), empty, "--agent") for key, empty in (("adapter", None), ("flags", []))]
    loaded = load_with(sources_of(root.state), flags)
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
