"""``ralph plan run``: work through the plan until every story is approved."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.options import (
    agent_flag_option,
    agent_flags_of,
    agent_option,
    agent_timeout_option,
    apart_options,
    deliver_option,
    events_option,
    given_settings,
    guardrail_option,
    isolation_option,
    iteration_option,
    limit_options,
    load_with,
    model_option,
    notify_option,
    proof_option,
    sandbox_options,
    sources_of,
    trust_option,
    verbose_option,
)
from ralph.interfaces.cli.plans.options import plan_options

HELP = """Work through the plan: one story and one mode per iteration, each with a fresh context.

A story is implemented, then reviewed by a session that did not write it, then fixed if the review asks for it. Only a
review can pass a story, and only if the plan's verifyCommands, run by ralph itself, pass too. If a session
changes what it may not (the PRD, criteria, another story's state), that is undone and the next session is told.

Exit codes: 0 every story is approved · 1 limit reached · 2 usage or settings, or the plan's branch cannot be taken ·
4 the agent cannot run · 5 waiting for you (a story is stuck at the cap, dependencies in a circle) · 130 interrupted

\b
Examples:
  ralph plan run
  ralph plan run -n 30 -m opus --review-cap 3
  ralph plan run --guardrail "make test" --guardrail "make lint"
  ralph plan run --skip-review --no-sandbox
"""


@click.command("run", help=HELP)
@iteration_option("Stop after N iterations.  [default: 15]", short="-n")
@model_option("-m")
@isolation_option
@click.option("--skip-review", is_flag=True, help="Skip reviews: a story passes when its verifyCommands do.")
@click.option(
    "--review-cap",
    metavar="N",
    type=click.IntRange(min=1),
    help="Max fresh-context reviews per story; then it is approved with a note.  [default: 5]",
)
@click.option("--stay", is_flag=True, help="Work on the current branch, whatever branchName says.")
@click.option(
    "--as-found",
    is_flag=True,
    help="Trust tasks.json as it is, even if a run was killed while a session was writing it.",
)
@agent_option()
@agent_flag_option
@agent_timeout_option("End a session that takes longer.")
@guardrail_option("Another command that must pass before a story is approved")
@limit_options
@proof_option
@deliver_option
@notify_option
@sandbox_options
@trust_option
@verbose_option
@apart_options
@events_option
@plan_options
@click.argument("names", nargs=-1, metavar="")
def command(
    names: tuple[str, ...],
    max_iterations: int | None,
    skip_review: bool,
    review_cap: int | None,
    stay: bool,
    as_found: bool,
    agent: str | None,
    agent_flags: tuple[str, ...],
    guardrails: tuple[str, ...],
    verbose: bool,
    as_json: bool,
    project_dir: Path | None,
    ralph_dir: Path | None,
) -> int:
    from ralph.config.root import find_root
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.operations.runs.start import prepare_plan_run

    if names:
        message = f"`ralph plan run` takes no name: {clean_line(names[0])}"
        raise UsageError(message, hint="the plan is the folder `ralph`; another one: --ralph-dir FOLDER")
    root = find_root(Path.cwd(), project_dir)
    sources = sources_of(root.state)
    flags = [*agent_flags_of(sources, agent, agent_flags, guardrails), *given_settings()]
    if max_iterations is not None:
        flags.append((("profiles", "reviewed", "maximumIterations"), max_iterations, "--max-iterations"))
    launch, estimate = prepare_plan_run(
        load_with(sources, flags),
        root,
        ralph_dir=ralph_dir,
        skip_review=skip_review,
        review_cap=review_cap,
        stay=stay,
        as_found=as_found,
    )
    if estimate:
        print(estimate, file=sys.stderr)
    return exit_code_of(run_on_console(launch, verbose=verbose, json_lines=as_json).outcome)
