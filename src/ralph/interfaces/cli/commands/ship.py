"""``ralph ship``: make a branch a pull request, and follow it until it is green or merged."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.interfaces.cli.options import (
    agent_flags_of,
    agent_option,
    apart_options,
    events_option,
    given_settings,
    guardrail_option,
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

HELP = """Open a pull request for a branch, by default the current one, and follow it until it is green.

ralph runs the guardrails, pushes the branch, opens the pull request with their results in its text, and waits for its checks.
If a check fails, the base conflicts or a reviewer asks for something, a session of the agent works on it; what it did is
judged as in `ralph run` before it is pushed. ralph gives the agent no token. It pushes only over its own commits, and merges
only if pullRequest.merge (or --merge) says so, by the forge's own rules.

Start it again, or `ralph resume`, whenever you like: it finds the pull request and continues.

Exit codes: 0 green, or merged · 1 limit reached · 2 usage or settings · 4 cannot run: no login, no permission · 5 waiting for
people or CI, or closed without being merged · 130 interrupted

\b
Examples:
  ralph ship
  ralph ship feature/login --base develop --draft
  ralph ship 12 --watch
  ralph ship --merge squash
"""


@click.command("ship", help=HELP)
@click.argument("target", metavar="[BRANCH|PR]", default="")
@click.option(
    "--base", metavar="BRANCH", default="", help="The branch to merge into.  [default: the repository's]"
)
@click.option(
    "--title",
    metavar="TEXT",
    default="",
    help="The title of a new pull request.  [default: from the commits]",
)
@setting_option("pullRequest.draft", "--draft", is_flag=True, help="Open it as a draft.")
@setting_option(
    "pullRequest.merge",
    "--merge",
    type=click.Choice(("off", "merge", "squash", "rebase")),
    help="Merge it when it is green, in this way.  [default: off]",
)
@click.option(
    "--watch", is_flag=True, help="Stay until it is merged or closed, also while only people can help."
)
@agent_option()
@model_option()
@guardrail_option("Command that must pass before anything is pushed")
@iteration_option("Stop after N sessions.")
@limit_options
@proof_option
@notify_option
@sandbox_options
@trust_option
@verbose_option
@project_dir_option
@apart_options
@events_option
def command(
    target: str,
    base: str,
    title: str,
    watch: bool,
    agent: str | None,
    guardrails: tuple[str, ...],
    max_iterations: int | None,
    verbose: bool,
    project_dir: Path | None,
    as_json: bool,
) -> int:
    from ralph.config.root import find_root
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.operations.runs.start import prepare_ship_run

    root = find_root(Path.cwd(), project_dir)
    sources = sources_of(root.state)
    flags = [*agent_flags_of(sources, agent, (), guardrails), *given_settings()]
    if max_iterations is not None:
        flags.append((("maximumIterations",), max_iterations, "--max-iterations"))
    launch = prepare_ship_run(load_with(sources, flags), root, target, base=base, title=title, watch=watch)
    return exit_code_of(run_on_console(launch, verbose=verbose, json_lines=as_json).outcome)
