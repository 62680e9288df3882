"""``ralph plan``: PRD and task list, worked through with a review of every story."""

from __future__ import annotations

import importlib

import click

SUBCOMMANDS = {
    "new": "Start a plan: prd.md, tasks.json, progress.txt, prompt.md.",
    "draft": "Let the agent draft prd.md and tasks.json, until they are valid.",
    "run": "Work through the plan until every story is approved.",
    "check": "List every problem in tasks.json.",
    "status": "Show the stories, their reviews, and what is left to do.",
    "archive": "Archive the plan with a summary, and start a new one.",
}
"""Name → short help. The module is ``plans/<name>.py`` and has a ``command``; listing them imports none."""

HELP = """Work through a plan: a PRD, and stories that only a review with fresh eyes can pass.

\b
Examples:
  ralph plan new --name search-filters
  ralph plan draft "Search results can be filtered by state and date"
  ralph plan check && ralph plan status
  ralph plan run
  ralph plan archive --label search-filters
"""


class PlanCommands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        command = importlib.import_module(f"ralph.interfaces.cli.plans.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


command = PlanCommands(
    name="plan", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
