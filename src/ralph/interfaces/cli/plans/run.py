"""``ralph plan run``: work through the plan until every story is approved."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.interfaces.cli.limit_options import Amount, iteration_option, limit_options
from ralph.interfaces.cli.plans.place import HELP_NAMES, plan_options
from ralph.interfaces.cli.run_options import (
    agent_flags_of,
    load_with,
    sandbox_flags,
    sandbox_options,
    sources_of,
)
from ralph.interfaces.cli.under_ui import run_under_ui, ui_option

if TYPE_CHECKING:
    from ralph.config.sources import Flag

HELP = """Work through the plan: one story and one mode per iteration, each with a fresh context.

A story is implemented, then reviewed by a session that did not write it, then fixed if the review asks for it. Only a
review can pass a story, and only if the plan's verifyCommands, run by ralph itself, pass too. If a session
changes what it may not (the PRD, criteria, another story's state), that is undone and the next session is told.

\b
Exit codes: 0 every story is approved · 1 limit reached · 2 usage or settings · 4 the agent cannot run
            5 waiting for you (a story is stuck at the cap, dependencies in a circle) · 130 interrupted

\b
Examples:
  ralph plan run
  ralph plan run -n 30 -m opus --review-cap 3
  ralph plan run --guardrail "make test" --guardrail "make lint"
  ralph plan run --skip-review --no-sandbox
"""


@click.command("run", help=HELP, context_settings=HELP_NAMES)
@iteration_option("Stop after N iterations.  [default: 15]", short="-n")
@click.option("-m", "--model", metavar="MODEL", help="Model for the agent to use (e.g., opus, sonnet).")
@click.option("--skip-review", is_flag=True, help="Skip reviews: a story passes when its verifyCommands do.")
@click.option(
    "--review-cap",
    metavar="N",
    type=click.IntRange(min=1),
    help="Max fresh-context reviews per story; then it is approved with a note.  [default: 5]",
)
@click.option("--stay", is_flag=True, help="Stay on the current branch, whatever branchName says.")
@click.option(
    "--as-found",
    is_flag=True,
    help="Trust tasks.json as it is, even if a run was killed while a session was writing it.",
)
@click.option("--agent", metavar="NAME", help="Agent to run; after a comma, its fallbacks.")
@click.option(
    "--agent-flag",
    "agent_flags",
    metavar="FLAG",
    multiple=True,
    help="A further argument for the agent; may be repeated.",
)
@click.option("--agent-timeout", type=Amount(), metavar="SECONDS", help="End a session that takes longer.")
@click.option(
    "--guardrail",
    "guardrails",
    metavar="COMMAND",
    multiple=True,
    help="A further command that must pass before a story is approved; may be repeated.",
)
@limit_options()
@click.option("--notify", metavar="HOW", multiple=True, help="Notify when the run ends or waits for long.")
@sandbox_options
@click.option("-V", "--verbose", is_flag=True, help="Print what ralph does and how long it takes.")
@ui_option
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout.")
@plan_options
def command(
    max_iterations: int | None,
    model: str | None,
    skip_review: bool,
    review_cap: int | None,
    stay: bool,
    as_found: bool,
    agent: str | None,
    agent_flags: tuple[str, ...],
    agent_timeout: float | None,
    guardrails: tuple[str, ...],
    notify: tuple[str, ...],
    sandbox: str | None,
    no_sandbox: bool,
    verbose: bool,
    ui: bool,
    as_json: bool,
    project_dir: Path | None,
    ralph_dir: Path | None,
    limits: list[Flag],
) -> int:
    from ralph.config.root import STATE_FOLDER, find_root
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.operations.runs.prepare import prepare_plan_run

    root = find_root(Path.cwd(), project_dir)
    if ui:
        return run_under_ui(root.state / STATE_FOLDER)
    values: list[tuple[str, object, str]] = [
        ("profiles.reviewed.maximumIterations", max_iterations, "--max-iterations"),
        ("agent.timeout", agent_timeout, "--agent-timeout"),
        ("notify", list(notify) or None, "--notify"),
    ]
    flags = [(tuple(key.split(".")), value, origin) for key, value, origin in values if value is not None]
    flags += limits
    flags += sandbox_flags(sandbox, no_sandbox)
    sources = sources_of(root.state)
    flags += agent_flags_of(sources, agent, agent_flags, guardrails)
    if model is not None:
        flags.append((("agent", "model"), model, "--model"))
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
