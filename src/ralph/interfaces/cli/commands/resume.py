"""``ralph resume``: continue an interrupted run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.errors import UsageError
from ralph.interfaces.cli.options import (
    detach_option,
    events_option,
    given_settings,
    iteration_option,
    limit_options,
    project_dir_option,
    proof_option,
    trust_option,
    verbose_option,
)

if TYPE_CHECKING:
    from ralph.operations.runs.shift import OpenShift

HELP = """Resume an interrupted run, by default the newest one here.

It continues where it was: iterations, spend, limits and pending feedback are kept, and the agent is told that its last
session was cut off. The run keeps its flags and its prompt; settings are read again, and what has changed is printed.
A run that reached a limit can be resumed with a new one, which counts from the run's beginning. What --allow-test-changes
allows is added to what the run was given before.

What you changed of the tests and checks since the run stopped is yours, and is what the work is compared with from then on.
If the run was killed, or another one that was not accepted has worked here since, ralph cannot tell your changes from those
of a session: --as-found says that all of it is yours.

\b
Examples:
  ralph resume
  ralph resume -m 20
  ralph resume ab12 --max-cost 5
  ralph resume -m 20 --allow-test-changes Makefile
"""


def _refuse_agent(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """A natural thing to try when the limit of one agent stops a run."""
    if value is not None:
        message = "`ralph resume` cannot change the agent"
        hint = (
            "change agent.command or agent.fallbacks in the settings, which are read again; "
            "if the run was started with --agent, start a new one, which finds the work as it is"
        )
        raise UsageError(message, hint=hint)


@click.command("resume", help=HELP)
@click.argument("run", required=False)
@iteration_option()
@limit_options
@proof_option
@click.option(
    "--as-found",
    is_flag=True,
    help="Take tests, scripts and plan as they are now: compare the work with them, not with what the run began with.",
)
@click.option("--agent", hidden=True, expose_value=False, callback=_refuse_agent)
@trust_option
@verbose_option
@project_dir_option
@detach_option
@events_option
def command(
    run: str | None,
    max_iterations: int | None,
    as_found: bool,
    verbose: bool,
    project_dir: Path | None,
    as_json: bool,
) -> int:
    from ralph.config.root import find_root
    from ralph.domain.views.runs import RunState
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.operations.runs.resume import prepare_resume

    root = find_root(Path.cwd(), project_dir)
    shift: OpenShift | None = click.get_current_context().obj
    resumed = prepare_resume(
        root,
        run,
        iterations=max_iterations,
        flags=given_settings(),
        as_found=as_found,
        keeps_settings=shift is not None,
    )
    if run is None and resumed.run.state is not RunState.INTERRUPTED:
        found = resumed.run
        state = ": ".join(filter(None, (found.state.words, found.reason)))
        print(f"ralph: resuming run {found.id} ({state})", file=sys.stderr)
    for difference in resumed.changed if shift is None or not shift.continues else ():
        print(f"ralph: since the run began: {difference}", file=sys.stderr)
    result = run_on_console(resumed.launch, verbose=verbose, json_lines=as_json)
    if resumed.launch.profile.answers:
        from ralph.interfaces.cli.commands.review import conclude

        return conclude(resumed.launch, resumed.run.id, result.outcome, form=None if as_json else "text")
    return exit_code_of(result.outcome)
