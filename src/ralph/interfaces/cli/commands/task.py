"""``ralph task``: the tasks of a project, each of which says what "done" means."""

from __future__ import annotations

from ralph.interfaces.cli.command_table import CommandTable

HELP = """Tasks that say what "done" means: an outcome, acceptance criteria, and how each role's work is verified.

\b
Examples:
  ralph task create TASK-001 auth "Implement JWT auth" \\
      --outcome "All endpoints require a valid token" \\
      --acceptance "Invalid tokens return 401" \\
      --tester-verify external --tester-verify-cmd "pytest tests/test_auth.py"
  ralph task add -f tasks.yaml
  ralph task import github:octo/hello
  ralph task list --status open
  ralph task show TASK-001
"""

COMMANDS = {
    "create": "Add one task.",
    "add": "Add the tasks of a YAML or JSON file.",
    "import": "Make tasks of tickets or Markdown boxes.",
    "check": "Say what keeps tasks or tickets from being worked on.",
    "list": "List tasks, the most urgent first.",
    "show": "Show everything about a task: criteria, verifications, history.",
    "edit": "Change what a task asks for.",
    "rm": "Remove tasks.",
    "retry": "Try failed or cancelled tasks again.",
    "followup": "Add a task that continues another.",
    "prompt": "Print what an agent needs to know to write tasks.",
    "export": "Write tasks as YAML or JSON that `add` reads.",
}
command = CommandTable(
    "task",
    COMMANDS,
    package="tasks",
    homes={"followup": "create", "import": "intake:command", "check": "intake"},
    help=HELP,
)
