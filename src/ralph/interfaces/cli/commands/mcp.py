"""``ralph mcp``: tools for an agent or an editor that drives loops."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ralph.interfaces.cli.options import project_dir_option, requires_extra

HELP = """Speak MCP on standard input and output, for an agent or an editor that starts this command: tools to start loops,
list, show and follow them, steer, stop and resume them, and to list and add tasks.

The tools are about one project: the one where the command is started, or --project-dir. What they start outlives the
command, and runs nothing that you have not agreed to: see `ralph trust`. They can tighten limits, and widen nothing.

\b
Examples:
  claude mcp add ralph -- ralph mcp
  codex mcp add ralph -- ralph mcp
  ralph mcp --read-only      to watch, not to start or change anything
"""


@click.command("mcp", help=HELP)
@click.option("--read-only", is_flag=True, help="Offer only tools that read.")
@project_dir_option
def command(read_only: bool, project_dir: Path | None) -> None:
    with requires_extra("`ralph mcp`", "mcp"):
        from ralph.interfaces.mcp.server import serve
    import gc

    from ralph.operations.projects import open_project

    gc.enable()
    project = open_project(project_dir)
    if sys.stdin.isatty():
        print("ralph mcp is started by an agent or an editor: see `ralph mcp --help`.", file=sys.stderr)
        print("It waits for messages now; press Ctrl-C to stop.", file=sys.stderr)
    serve(project, read_only=read_only)
