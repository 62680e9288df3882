"""What `ralph --help` prints: most people read it first, so it comes without loading what reads command lines.

A test compares it with what click would print.
"""

from __future__ import annotations

import os
import sys

COMMANDS = {
    "run": "Run the agent loop (the default command).",
    "supervise": "Restart a root agent until its DONE file exists.",
    "work": "Work on tasks until they are verifiably done.",
    "cancel": "Cancel tasks, even while they are being worked on.",
    "stats": "Show how past work on tasks went, and what limits it suggests.",
    "ship": "Open a pull request for a branch, and follow it until it is green.",
    "review": "Review a branch or a pull request, without changing it.",
    "resume": "Resume an interrupted run.",
    "task": "Add, list, change and export tasks that say what done means.",
    "plan": "Work through a PRD's stories; only a fresh review passes one.",
    "fleet": "Run jobs on several machines; they outlive each of them.",
    "status": "Show the runs of this project, live ones first.",
    "logs": "Show what happened in a run, or follow it live.",
    "attach": "Show the console of a run that is under way.",
    "show": "Show each iteration of a run: prompt, checks, decision.",
    "report": "Write a run's report: one HTML page, Markdown or JSON.",
    "lessons": "Propose what AGENTS.md could say about repeated failures.",
    "ui": "Watch and steer runs in the terminal.",
    "web": "Watch and steer runs in the browser, even from a phone.",
    "mcp": "Let an agent or an editor start, follow and steer runs.",
    "runs": "List runs, and remove the files and records of old ones.",
    "export": "Write a run into one file, to continue it elsewhere.",
    "import": "Put a run on record that was exported elsewhere.",
    "stop": "Stop a run from another terminal.",
    "pause": "Pause a run after its current session.",
    "unpause": "Continue a paused run.",
    "steer": "Add a note to the next prompt of a run.",
    "bus": "Post to and read the message bus of a task or project.",
    "init": "Write the first settings; proposes what fits the project.",
    "trust": "Agree, once, to what this repository would run.",
    "config": "Show, check and explain the settings.",
    "doctor": "Check agents, sandboxes, git, disk and settings, with advice.",
    "guard": "Say whether a shell command is dangerous.",
    "plugin": "Install and check the plugin for Claude Code.",
    "demo": "Watch a real loop on a small repository; no account needed.",
    "completion": "Print the shell completion script.",
}

HELP = """Run a coding agent again and again, each time with a fresh context, until the work is verifiably done.

\b
Start here:
  ralph demo                         see it work, without an account
  ralph init                         choose the agent and the checks
  ralph run "Fix the failing tests"  until that is done and proven
"""

OPTIONS = {"-v, --version": "Print the version and exit.", "-h, --help": "Show this message and exit."}
MOST_COLUMNS = 110
_LEAST, _USUAL = 50, 80
_INDENT = "  "


def front_page(columns: int) -> str:
    """For a terminal of so many columns."""
    width = max(min(columns, MOST_COLUMNS) - len(_INDENT), _LEAST)
    first, _, verbatim = HELP.partition("\n\n\b\n")
    paragraphs = [_wrap(first, width - len(_INDENT)), verbatim.rstrip("\n").split("\n")]
    about = "\n\n".join("\n".join(_INDENT + line for line in lines) for lines in paragraphs)
    tables = (
        f"{title}:\n{_table(rows, width)}" for title, rows in (("Options", OPTIONS), ("Commands", COMMANDS))
    )
    return "\n\n".join(("Usage: ralph [OPTIONS] COMMAND [ARGS]...", about, *tables)) + "\n"


def _table(rows: dict[str, str], width: int) -> str:
    first = max(map(len, rows)) + len(_INDENT)
    below = "\n" + " " * (first + len(_INDENT))
    room = width - first - len(_INDENT)
    return "\n".join(f"{_INDENT}{name:{first}}{below.join(_wrap(text, room))}" for name, text in rows.items())


def _wrap(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def columns_of_terminal() -> int:
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns > 0:
        return columns
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _USUAL  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return _USUAL
