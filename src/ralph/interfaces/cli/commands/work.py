"""``ralph work``: work on the tasks of the project until they are done (seed 002)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ralph.interfaces.cli.run_options import agent_flags_of, sandbox_flags, sandbox_options
from ralph.interfaces.cli.under_ui import run_under_ui, ui_option

HELP = """Work on tasks until they are done: those named, or whatever is ready.

Each task gets a git worktree and a branch of its own. It goes through its roles (coder, reviewer, tester, qa); what a role
says is believed only when its verification passes. Finished work is merged into the branch that is checked out here:
beside your working tree, verified once more, then by a fast-forward. `ralph work` again goes on with what was left.

\b
Exit codes: 0 all done · 1 a task failed, or a limit was reached · 2 usage or settings · 4 cannot run
            5 something waits (a dependency, your own changes) · 130 interrupted

\b
Examples:
  ralph task add -f tasks.yaml && ralph work --max-parallel 3
  ralph work TASK-001
"""


@click.command(
    "work", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.argument("tasks", nargs=-1, metavar="[TASK]...")
@click.option("--max-parallel", type=click.IntRange(min=1), metavar="N", help="Tasks at the same time.")
@click.option("--agent", metavar="NAME", help="Agent to run; after commas, those that stand in for it.")
@click.option("--max-cost", type=float, metavar="USD", help="End the work when it has cost so much in all.")
@click.option("--max-tokens", type=int, metavar="N", help="End the work when it has used so many tokens.")
@click.option("--max-time", type=float, metavar="SECONDS", help="End the work after so much time.")
@click.option("--notify", "notify", metavar="HOW", multiple=True, help="Tell when it ends or waits long.")
@click.option("--no-wait", is_flag=True, help="Do not wait for a usage limit to reset: exit with 5.")
@sandbox_options
@click.option("-V", "--verbose", is_flag=True, help="Print what ralph does and how long it takes.")
@click.option(
    "--project-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Project to work in.  [default: where .ralph or .git is]",
)
@ui_option
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout.")
def command(
    tasks: tuple[str, ...],
    max_parallel: int | None,
    agent: str | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_time: float | None,
    notify: tuple[str, ...],
    no_wait: bool,
    sandbox: str | None,
    no_sandbox: bool,
    verbose: bool,
    project_dir: Path | None,
    ui: bool,
    as_json: bool,
) -> int:
    from ralph.config.loading import load
    from ralph.config.root import STATE_FOLDER, find_root
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.interfaces.cli.running import run_on_console
    from ralph.interfaces.cli.work_table import print_results
    from ralph.wiring.runs.work_run import prepare_work

    root = find_root(Path.cwd(), project_dir)
    if ui:
        return run_under_ui(root.state / STATE_FOLDER, has_parts=True)
    values: list[tuple[str, object, str]] = [
        ("limits.maxCost", max_cost, "--max-cost"),
        ("limits.maxTokens", max_tokens, "--max-tokens"),
        ("limits.maxTime", max_time, "--max-time"),
        ("notify", list(notify) or None, "--notify"),
        ("limits.waitForLimits", False if no_wait else None, "--no-wait"),
        ("profiles.verified.maxParallel", max_parallel, "--max-parallel"),
    ]
    flags = [(tuple(key.split(".")), value, origin) for key, value, origin in values if value is not None]
    flags += sandbox_flags(sandbox, no_sandbox)
    flags += agent_flags_of(root.state, agent)
    loaded = load(root.state, environ=os.environ, flags=flags)
    for warning in loaded.warnings:
        print(f"ralph: warning: {warning}", file=sys.stderr)
    launch = prepare_work(loaded.settings, root, tasks, flags=flags)
    result = run_on_console(launch, verbose=verbose, json_lines=as_json)
    if not as_json:
        print_results(launch)
    return exit_code_of(result.outcome)
