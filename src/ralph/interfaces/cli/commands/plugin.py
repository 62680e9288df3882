"""``ralph plugin``: where the Claude Code plugin is, whether it works here, and putting it into Claude Code."""

from __future__ import annotations

import click

from ralph.interfaces.cli.exit_codes import ExitCode

HELP = """The plugin for Claude Code: hooks that give a session the same advice that ralph enforces, /ralph:loop,
/ralph:cancel, and skills that plan features and write tasks.

\b
Examples:
  ralph plugin install
  ralph plugin check
  claude --plugin-dir "$(ralph plugin path)"
"""


@click.group("plugin", help=HELP)
def command() -> None:
    pass


@command.command("path")
def path() -> None:
    """Print the plugin's directory, for `claude --plugin-dir`."""
    from ralph.operations.plugin import plugin_folder

    print(plugin_folder())


@command.command("install")
@click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default="user",
    show_default=True,
    help="For you everywhere, for everyone who works on this project, or for you in this project.",
)
def install(scope: str) -> int:
    """Add the plugin to Claude Code, with its own `claude plugin` commands."""
    from ralph.operations.plugin import install_plugin

    install_plugin(scope)
    print(f"installed for {scope} scope; new sessions have it")
    return ExitCode.COMPLETED


@command.command("check")
def check() -> int:
    """Check that the plugin is complete, its hooks answer, and Claude Code accepts it. Exits with 2 if not."""
    from ralph.operations.plugin import check_plugin

    findings = list(check_plugin())
    for finding in findings:
        print(f"{'ok ' if finding.good else 'BAD'}  {finding.text}")
    return ExitCode.COMPLETED if all(finding.good for finding in findings) else ExitCode.USAGE
