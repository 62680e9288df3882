"""The command line: a table of commands, loaded when they are asked for, and one place where errors end."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ralph import __version__
from ralph.errors import RalphError, StoreError, UsageError
from ralph.interfaces.cli.exit_codes import ExitCode

COMMANDS = {
    "run": "Run the agent loop (the default command).",
    "supervise": "Restart a root agent until its DONE file is there.",
    "work": "Work on tasks until they are verifiably done.",
    "cancel": "Cancel tasks, even while they are being worked on.",
    "stats": "Show what past work on tasks can teach.",
    "resume": "Resume an interrupted run.",
    "task": "Add, list, change and export tasks that say what done means.",
    "plan": "Work through a PRD's stories; only a fresh review passes one.",
    "status": "Show the runs of this project, live ones first.",
    "logs": "Show what happened in a run, or follow it live.",
    "show": "Show each iteration of a run: prompt, checks, decision.",
    "report": "Write a run's report: one HTML page, Markdown or JSON.",
    "ui": "Watch and steer runs in the terminal.",
    "web": "Watch and steer runs in the browser, even from a phone.",
    "runs": "Remove the files and records of old runs.",
    "stop": "Stop a run from another terminal.",
    "pause": "Pause a run after its current session.",
    "unpause": "Continue a paused run.",
    "steer": "Add a note to the next prompt of a run.",
    "bus": "Post to and read the message bus of a task or project.",
    "init": "Initialize the settings file interactively.",
    "config": "Show, check and explain the settings.",
    "doctor": "Check agents, sandboxes, git, disk and settings, with advice.",
    "guard": "Say whether a shell command is dangerous.",
    "plugin": "Install and check the plugin for Claude Code.",
    "demo": "Watch a real loop on a small repository; no account needed.",
    "completion": "Print the shell completion script.",
}
"""Name → short help. The module is ``commands/<name>.py`` and has a ``command``; listing them imports none."""

HELP = """Run a coding agent again and again, each time with a fresh context, until the work is verifiably done.

\b
Start here:
  ralph demo                        see it work, without an account
  ralph init                        write .ralph/settings.json
  ralph run -p "Fix the failing tests. When all pass, output <response>DONE</response>."
"""


class CommandTable(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"ralph.interfaces.cli.commands.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # `ralph -p …` means `ralph run -p …`.
        if args and args[0].startswith("-"):
            args = ["run", *args]
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            ctx.fail(_no_such_command(args[0]))
        return super().resolve_command(ctx, args)


def _no_such_command(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name.lower(), COMMANDS, n=1)
    suggestion = f" Did you mean `{close[0]}`?" if close else ""
    return f"No such command {name!r}.{suggestion}"


def _command_line() -> click.Group:
    return CommandTable(
        name="ralph",
        help=HELP,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": 110,
            # What the group does not know is for the default command.
            "ignore_unknown_options": True,
        },
        params=[
            click.Option(
                ["-v", "--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_print_version,
                help="Print the version and exit.",
            )
        ],
    )


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"ralph {__version__}")
        ctx.exit()


def main(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code. No traceback reaches a user."""
    _open_closed_streams()
    try:
        Path.cwd()
    except FileNotFoundError:
        say_error(UsageError("the current directory no longer exists", hint="cd to another one"))
        return ExitCode.USAGE
    try:
        result = _command_line().main(list(arguments) or ["run"], prog_name="ralph", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except RalphError as error:
        say_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`ralph … | head`): nothing more to say, and nothing to say it to.
        _discard_output()
        return ExitCode.EXHAUSTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _discard_output()
            say_error(StoreError("cannot write the output: no space is left there"))
            return ExitCode.CANNOT_RUN
        from ralph.interfaces.cli.crash import report_crash

        report_crash(error)
        return ExitCode.BUG
    return int(result) if isinstance(result, int) else ExitCode.COMPLETED


def _open_closed_streams() -> None:
    """Somebody started us with `>&-`: what is written there goes nowhere instead of failing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (for good)


def _discard_output() -> None:
    """Else the interpreter tries once more to write it, at the very end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_error(error: RalphError) -> None:
    print(f"ralph: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)
