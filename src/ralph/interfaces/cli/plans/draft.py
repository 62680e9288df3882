"""``ralph plan draft``: the agent writes prd.md and tasks.json, until they are valid and the user agrees."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.text.safe_text import is_text
from ralph.errors import UsageError
from ralph.interfaces.cli.options import (
    PATH,
    agent_flags_of,
    agent_option,
    given_settings,
    isolation_option,
    model_option,
    sources_of,
    trust_option,
    verbose_option,
)
from ralph.interfaces.cli.plans.options import plan_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.config.loading import Loaded
    from ralph.operations.plans import Plan
    from ralph.operations.trust import Demand

HELP = """Let the agent draft prd.md and tasks.json from a description, or tasks.json from an existing PRD.

The draft is checked and sent back until it is valid, then shown. Answer y to keep it, n to restore the old files, or
say what should change.

\b
Examples:
  ralph plan draft "Search results can be filtered by state and date"
  ralph plan draft --prd docs/search.md --yes
"""


@click.command("draft", help=HELP)
@click.argument("description", required=False, default="")
@click.option("--prd", metavar="FILE", type=PATH, help="A PRD to start from; it becomes the plan's prd.md.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask: keep the draft once it is valid.")
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of sessions after which it gives up.",
)
@agent_option()
@model_option("-m")
@isolation_option
@trust_option
@verbose_option
@plan_options
def command(
    description: str,
    prd: Path | None,
    yes: bool,
    rounds: int,
    agent: str | None,
    verbose: bool,
    project_dir: Path | None,
    ralph_dir: Path | None,
) -> int:
    from ralph.interfaces.cli.plans.options import the_plan
    from ralph.operations.plans import drafting

    if not is_text(description):
        message = "the description is not UTF-8 text"
        raise UsageError(message, hint="write it to a file and pass that with --prd")
    if not yes and not sys.stdin.isatty():
        message = "a draft is shown for approval, and there is no terminal to ask on"
        raise UsageError(message, hint="add --yes to keep the draft once it is valid")
    plan = the_plan(project_dir, ralph_dir)
    sources = sources_of(plan.root.state)
    loaded = sources.load([*agent_flags_of(sources, agent), *given_settings()])
    with drafting(plan, prd=prd) as draft:
        kept, code = _converse(loaded, plan, description, rounds=rounds, ask=not yes, verbose=verbose)
        if kept:
            draft.keep()
    if not kept:
        click.echo("the old files were put back", err=True)
    return code


def _converse(
    loaded: Loaded, plan: Plan, description: str, *, rounds: int, ask: bool, verbose: bool
) -> tuple[bool, int]:
    """Draft, show, ask, until there is an answer. Whether the draft stays, and the exit code."""
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.operations.runs.start import prepare_draft_run
    from ralph.operations.trust import agree, plan_asks

    remarks: list[str] = []
    has_prd: bool | None = None  # from the second round on: a PRD of our own drafting may be drafted again
    while True:
        launch, has_prd = prepare_draft_run(
            loaded,
            plan.root,
            ralph_dir=plan.path,
            description=description,
            remarks=remarks,
            has_prd=has_prd,
            rounds=rounds,
        )
        code = int(exit_code_of(run_on_console(launch, verbose=verbose).outcome))
        if code != 0:
            return False, code
        asks = plan_asks(plan.root, plan.path)
        _show(plan, asks)
        if not ask:
            return True, 0
        answer = click.prompt("Keep this plan? (y, n, or what should change)", type=str).strip()
        if answer.lower() in ("y", "yes"):
            agree(plan.root.state, asks)  # they were shown
            return True, 0
        if answer.lower() in ("n", "no"):
            return False, 1
        remarks.append(answer)


def _show(plan: Plan, asks: Sequence[Demand]) -> None:
    from ralph.domain.plan.story import DEFAULT_REVIEW_CAP, estimate_text
    from ralph.domain.text.safe_text import clean_line
    from ralph.domain.trust.shown import describe
    from ralph.interfaces.cli.plans.status import table

    document = plan.document()
    for line in table(document, cap=DEFAULT_REVIEW_CAP, skip_review=False):
        click.echo(line)
    for story in document.stories:
        click.echo(f"\n{clean_line(story.id)}: {clean_line(story.title)}")
        for criterion in story.acceptance_criteria:
            click.echo(f"  - {clean_line(criterion)}")
    click.echo("\nverifyCommands:" + ("" if asks else " none"))
    for demand in asks:  # whole, and one a line: a yes agrees to them
        click.echo(f"  {describe(demand)}")
    click.echo(estimate_text(document))
    click.echo(f"see {plan.name}/prd.md and {plan.name}/tasks.json")
