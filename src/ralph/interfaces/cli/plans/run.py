"""``ralph plan run``: work through the plan until every story is approved."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ralph.interfaces.cli.plans.place import HELP_NAMES, plan_options
from ralph.interfaces.cli.run_options import agent_flags_of, sandbox_flags, sandbox_options
from ralph.interfaces.cli.under_ui import run_under_ui, ui_option

HELP = """Work through the plan: one story and one mode per iteration, each with a fresh context.

A story is implemented, then reviewed by a session that did not write it, then fixed if the review asks for it. Only a
review can pass a story, and only if the plan's verifyCommands, run by ralph itself, pass too. What a session may not
change (the PRD, criteria, another story's state) is put back and told to the next one.

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
@click.option("-n", "--max-iterations", metavar="N", type=int, help="Max loop iterations.  [default: 15]")
@click.option("-m", "--model", metavar="MODEL", help="Model for the agent to use (e.g., opus, sonnet).")
@click.option(
    "--skip-review", is_flag=True, help="No reviews: who implements a story passes it, if the commands agree."
)
@click.option(
    "--review-cap",
    metavar="N",
    type=click.IntRange(min=1),
    help="Max fresh-context reviews per story; then it is approved with a note.  [default: 5]",
)
@click.option(
    "--stay", is_flag=True, help="Stay on the branch that is checked out, whatever branchName says."
)
@click.option(
    "--as-found",
    is_flag=True,
    help="Take tasks.json as it is, even if a run was killed while a session wrote it.",
)
@click.option("--agent", metavar="NAME", help="Agent to run; after commas, those that stand in for it.")
@click.option(
    "--agent-flag", "agent_flags", metavar="FLAG", multiple=True, help="One more argument for the agent."
)
@click.option("--agent-timeout", type=float, metavar="SECONDS", help="End a session that takes longer.")
@click.option(
    "--guardrail",
    "guardrails",
    metavar="COMMAND",
    multiple=True,
    help="One more command that must pass before a story is approved; may be repeated.",
)
@click.option("--max-cost", type=float, metavar="USD", help="End the run when it has cost so much.")
@click.option("--max-tokens", type=int, metavar="N", help="End the run when it has used so many tokens.")
@click.option("--max-time", type=float, metavar="SECONDS", help="End the run after so much time.")
@click.option("--notify", metavar="HOW", multiple=True, help="Tell when the run ends or waits long.")
@click.option("--no-wait", is_flag=True, help="Do not wait for a usage limit to reset: exit with 5.")
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
    max_cost: float | None,
    max_tokens: int | None,
    max_time: float | None,
    notify: tuple[str, ...],
    no_wait: bool,
    sandbox: str | None,
    no_sandbox: bool,
    verbose: bool,
    ui: bool,
    as_json: bool,
    project_dir: Path | None,
    ralph_dir: Path | None,
) -> int:
    from ralph.config.loading import load
    from ralph.config.root import STATE_FOLDER, find_root
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.interfaces.cli.running import run_on_console
    from ralph.wiring.runs.plan_run import estimate_of, prepare_reviewed

    root = find_root(Path.cwd(), project_dir)
    if ui:
        return run_under_ui(root.state / STATE_FOLDER)
    values: list[tuple[str, object, str]] = [
        ("profiles.reviewed.maximumIterations", max_iterations, "--max-iterations"),
        ("agent.timeout", agent_timeout, "--agent-timeout"),
        ("limits.maxCost", max_cost, "--max-cost"),
        ("limits.maxTokens", max_tokens, "--max-tokens"),
        ("limits.maxTime", max_time, "--max-time"),
        ("notify", list(notify) or None, "--notify"),
        ("limits.waitForLimits", False if no_wait else None, "--no-wait"),
    ]
    flags = [(tuple(key.split(".")), value, origin) for key, value, origin in values if value is not None]
    flags += sandbox_flags(sandbox, no_sandbox)
    flags += agent_flags_of(root.state, agent, agent_flags, guardrails)
    if model is not None:
        flags.append((("agent", "model"), model, "--model"))
    loaded = load(root.state, environ=os.environ, flags=flags)
    for warning in loaded.warnings:
        print(f"ralph: warning: {warning}", file=sys.stderr)
    launch = prepare_reviewed(
        loaded.settings,
        root,
        ralph_dir=ralph_dir,
        skip_review=skip_review,
        review_cap=review_cap,
        stay=stay,
        as_found=as_found,
        flags=flags,
    )
    if estimate := estimate_of(launch):
        print(estimate, file=sys.stderr)
    return exit_code_of(run_on_console(launch, verbose=verbose, json_lines=as_json).outcome)
