"""``ralph work``: work on the tasks of the project until they are done."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.errors import UsageError
from ralph.interfaces.cli.options import (
    agent_flags_of,
    agent_option,
    apart_options,
    deliver_option,
    events_option,
    given_settings,
    isolation_option,
    iteration_option,
    limit_options,
    load_with,
    model_option,
    notify_option,
    project_dir_option,
    proof_option,
    sandbox_options,
    setting_option,
    sources_of,
    trust_option,
    verbose_option,
)

HELP = """Work on tasks until they are done: those named, or whatever is ready.

Each task gets its own git worktree and branch, and passes through its roles (coder, reviewer, tester, qa); a role's claim
counts only when its verification passes. Finished work goes into the branch that is checked out here: ralph merges and
verifies it beside your working tree, then fast-forwards. Run `ralph work` again to continue with what is left.

With --from, tickets become tasks first (see `ralph task import`); each is held where it is kept, and told what became of
it: the commands that proved the work, the commit, the pull request, the cost.

Exit codes: 0 all done · 1 a task failed, or a limit was reached · 2 usage or settings · 4 cannot run · 5 waiting for
something (a dependency, your own changes) · 130 interrupted

\b
Examples:
  ralph task add -f tasks.yaml && ralph work -j 3
  ralph work TASK-001
  ralph work --dry-run --max-cost 20
  ralph work --watch --from github:octo/hello --deliver pr
"""


@click.command("work", help=HELP)
@click.argument("tasks", nargs=-1, metavar="[TASK]...")
@setting_option(
    "profiles.verified.maxParallel",
    "--max-parallel",
    "-j",
    type=click.IntRange(min=1),
    metavar="N",
    help="Tasks to work on at the same time.",
)
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="Take in tickets first: a path of Markdown, github:OWNER/REPO or linear:TEAM.",
)
@setting_option("tickets.label", "--label", metavar="LABEL", help="The label that tickets must have.")
@click.option(
    "--watch", is_flag=True, help="Stay, and work on whatever becomes ready there, until you stop it."
)
@agent_option()
@model_option()
@isolation_option
@iteration_option("Stop after N iterations of all tasks together.")
@limit_options
@proof_option
@deliver_option
@notify_option
@sandbox_options
@trust_option
@verbose_option
@project_dir_option
@click.option(
    "--dry-run", is_flag=True, help="Print what the tasks will probably cost, by past work, and run nothing."
)
@apart_options
@events_option
def command(
    tasks: tuple[str, ...],
    source: str | None,
    watch: bool,
    agent: str | None,
    verbose: bool,
    project_dir: Path | None,
    dry_run: bool,
    as_json: bool,
    max_iterations: int | None,
) -> int:
    from ralph.config.root import find_root
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.operations.runs.start import prepare_work_run

    root = find_root(Path.cwd(), project_dir)
    sources = sources_of(root.state)
    flags = [*agent_flags_of(sources, agent), *given_settings()]
    if max_iterations is not None:
        flags.append((("profiles", "verified", "maximumIterations"), max_iterations, "--max-iterations"))
    loaded = load_with(sources, flags)
    launch = prepare_work_run(loaded, root, tasks, source=_name(source), watch=watch)
    if dry_run and source:
        message = "--dry-run estimates tasks that are here, and looks at no source"
        raise UsageError(message, hint="`ralph task import SOURCE --dry-run` shows what would come")
    if dry_run:
        from ralph.interfaces.cli.tasks.estimate import print_estimate
        from ralph.operations.tasks import estimate_of

        print_estimate(estimate_of(launch), launch.settings.workspace.setup, as_json=as_json)
        return 0
    result = run_on_console(launch, verbose=verbose, json_lines=as_json)
    return exit_code_of(result.outcome)


def _name(source: str | None) -> str:
    if source is None:
        return ""
    from ralph.operations.tickets import name_source

    return name_source(source, Path.cwd())
