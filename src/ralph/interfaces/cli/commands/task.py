"""``ralph task``: the tasks of a project, each with what "done" means for it."""

from __future__ import annotations

import importlib

import click

HELP = """Tasks that say what "done" means: an outcome, acceptance criteria, and how each role's work is verified.

\b
Examples:
  ralph task create TASK-001 auth "Implement JWT auth" --outcome "All endpoints require a valid token" \\
      --acceptance "Invalid tokens return 401" --tester-verify external --tester-verify-cmd "pytest tests/test_auth.py"
  ralph task add -f tasks.yaml
  ralph task list --status open
  ralph task show TASK-001
"""

COMMANDS = {
    "create": "Add one task.",
    "add": "Add the tasks of a YAML or JSON file.",
    "list": "List tasks, the most urgent first.",
    "show": "Show everything about a task: criteria, verifications, history.",
    "edit": "Change what a task asks for.",
    "rm": "Remove tasks.",
    "retry": "Try failed or cancelled tasks again.",
    "followup": "Add a task that continues another.",
    "prompt": "Print what an agent needs to know to write tasks.",
    "export": "Write tasks as YAML or JSON that `add` reads.",
}
"""Name → short help. The module is ``tasks/<name>.py``; listing them imports none."""


class TaskCommands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"ralph.interfaces.cli.tasks.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


command = TaskCommands(
    name="task", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
