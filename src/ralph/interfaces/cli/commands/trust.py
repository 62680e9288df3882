"""``ralph trust``: agree, once, to what a repository runs and opens."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.errors import UntrustedProject, UsageError
from ralph.interfaces.cli.options import sources_of
from ralph.interfaces.cli.plans.options import plan_options

HELP = """Agree to what this project asks for: the commands that its settings, plan, tasks and git configuration name, and the
limits that they loosen.

Nothing of a repository runs before that, and ralph asks again when something changes. Your own flags, RALPH_* variables
and ~/.config/ralph/settings.json need no trust.

Exit codes: 0 trusted · 2 not trusted

\b
Examples:
  ralph trust
  ralph trust --show
  ralph trust --yes
  ralph trust --deliver pr
"""


@click.command("trust", help=HELP)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--show", "only_show", is_flag=True, help="Only print what the project asks for.")
@click.option("--revoke", is_flag=True, help="Forget what was agreed to, so that ralph asks again.")
@click.option(
    "--deliver",
    type=click.Choice(("local", "pr")),
    default="local",
    help="pr: also what `ralph ship` and --deliver pr ask for: where they push, and what that runs.",
)
@plan_options
def command(
    yes: bool, only_show: bool, revoke: bool, deliver: str, project_dir: Path | None, ralph_dir: Path | None
) -> int:
    from ralph.config.root import find_root
    from ralph.interfaces.cli.trust_question import ask, can_ask, show
    from ralph.operations import trust

    if yes + only_show + revoke > 1:
        message = "--yes, --show and --revoke exclude each other"
        raise UsageError(message, hint="give one of them")
    root = find_root(Path.cwd(), project_dir)
    if revoke:
        trust.revoke(root.state)
        click.echo(f"{root.state} is no longer trusted")
        return 0
    settings = sources_of(root.state).load()  # half of what cannot be read would be no answer
    besides = (
        *trust.plan_asks(root, ralph_dir),
        *trust.tasks_ask(root),
        *trust.scm_asks(root, settings),
        *trust.delivery_asks(root, settings, delivers=deliver == "pr"),
    )
    standing = trust.standing_of(settings, root.workspace, besides)
    if standing.is_trusted:
        if only_show and standing.asked:
            show(standing, err=False)
        else:
            click.echo(f"{root.state} " + ("is trusted" if standing.asked else "asks for nothing"))
        return 0
    if only_show:
        show(standing, err=False)
        return 2
    if not yes:
        if not can_ask():
            message = "there is no terminal to ask on"
            raise UntrustedProject(message, hint="`ralph trust --show` lists what it asks for, --yes agrees")
        ask(standing)
    trust.trust(standing)
    click.echo(f"{root.state} is trusted")
    return 0
