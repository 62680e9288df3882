"""``ralph plan``: a PRD and its stories, each of which a review must pass."""

from __future__ import annotations

from ralph.interfaces.cli.command_table import CommandTable

COMMANDS = {
    "new": "Start a plan: prd.md, tasks.json, progress.txt, prompt.md.",
    "draft": "Let the agent draft prd.md and tasks.json, until they are valid.",
    "run": "Work through the plan until every story is approved.",
    "check": "List every problem in tasks.json.",
    "status": "Show the stories, their reviews, and what is left to do.",
    "archive": "Archive the plan with a summary, and start a new one.",
}
HELP = """Work through a plan: a PRD, and stories that only a review with fresh eyes can pass.

\b
Examples:
  ralph plan new --name search-filters
  ralph plan draft "Search results can be filtered by state and date"
  ralph plan check && ralph plan status
  ralph plan run
  ralph plan archive --label search-filters
"""


command = CommandTable("plan", COMMANDS, package="plans", help=HELP)
