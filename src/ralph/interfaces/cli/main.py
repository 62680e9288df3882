"""The command line: a table of commands, each loaded when it is needed, and the one place where errors end."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ralph import __version__
from ralph.errors import RalphError, StoreError, TooManyFiles, UsageError
from ralph.interfaces.cli.exit_codes import ExitCode
from ralph.interfaces.cli.safe_stream import make_safe

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


class CommandTable(click.Group):
    """Commands by name, each with its short help: listing them imports none.

    The module is ``<package>/<name>.py`` and has a ``command``, unless ``homes`` says which module has it by name, or as
    ``module:attribute``.
    """

    def __init__(
        self,
        name: str,
        table: Mapping[str, str],
        *,
        package: str,
        homes: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self._table, self._package, self._homes = table, package, homes or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._table:
            return None
        home, _, attribute = self._homes.get(cmd_name, f"{cmd_name}:command").partition(":")
        module = importlib.import_module(f"ralph.interfaces.cli.{self._package}.{home}")
        command = getattr(module, attribute or cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._table and not ctx.resilient_parsing:
            ctx.fail(_no_such_command(args[0], self._table))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._table.items()))


class _Ralph(CommandTable):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # `ralph -p …` means `ralph run -p …`.
        if args and args[0].startswith("-"):
            args = ["run", *args]
        if args and " " in args[0] and not ctx.resilient_parsing:
            import shlex

            ctx.fail(f"No such command. To give it as a prompt: ralph run {shlex.quote(args[0])}")
        return super().resolve_command(ctx, args)


def _no_such_command(name: str, known: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name.lower(), known, n=1)
    suggestion = f" Did you mean `{close[0]}`?" if close else ""
    return f"No such command {name!r}.{suggestion}"


def _command_line() -> click.Group:
    version = click.Option(
        ["-v", "--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version and exit.",
    )
    return _Ralph(
        "ralph",
        COMMANDS,
        package="commands",
        homes={
            **dict.fromkeys(("stop", "pause", "unpause", "steer"), "run_requests"),
            "import": "import_:command",
        },
        help=HELP,
        # Every command inherits the first two. What the group does not know is for the default command.
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": 110,
            "ignore_unknown_options": True,
        },
        params=[version],
    )


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"ralph {__version__}")
        ctx.exit()


def main(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code. No traceback reaches a user."""
    _open_closed_streams()
    sys.stdout, sys.stderr = make_safe(sys.stdout), make_safe(sys.stderr, folds=True)
    try:
        Path.cwd()
    except FileNotFoundError:
        say_error(UsageError("the current directory no longer exists", hint="cd to another one"))
        return ExitCode.USAGE
    try:
        result = _run(list(arguments) or ["--help"])
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
        # The reader is gone (`ralph … | head`): there is nobody to tell.
        _discard_output()
        return ExitCode.EXHAUSTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _discard_output()
            say_error(StoreError("cannot write the output: no space is left there"))
            return ExitCode.CANNOT_RUN
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            say_error(TooManyFiles())
            return ExitCode.CANNOT_RUN
        _report_crash(error)
        return ExitCode.BUG
    return int(result) if isinstance(result, int) else ExitCode.COMPLETED


def _run(arguments: list[str]) -> object:
    def run(shift: object = None) -> object:
        return _command_line().main(arguments, prog_name="ralph", standalone_mode=False, obj=shift)

    from ralph.domain.fleet.shift_variable import SHIFT

    if SHIFT not in os.environ:
        return run()
    from ralph.interfaces.cli.shift import do_shift

    return do_shift(run)


def _open_closed_streams() -> None:
    """Started with `>&-`: what is written there goes nowhere instead of failing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (for good)


def _discard_output() -> None:
    """Otherwise the interpreter tries to write it once more as it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_crash(error: Exception) -> None:
    """One line for the user, the rest in a file to attach to an issue."""
    import platform
    import shlex
    import tempfile
    import traceback

    from ralph.domain.text.masking import mask_text

    print(mask_text(f"ralph: internal error: {type(error).__name__}: {error}"), file=sys.stderr)
    system = f"ralph {__version__}, Python {platform.python_version()}, {platform.platform()}"
    trace = "".join(traceback.format_exception(error))
    report = mask_text(f"{system}\narguments: {shlex.join(sys.argv[1:])}\n\n{trace}")
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="ralph-crash-", suffix=".log", delete=False, encoding="utf-8"
        ) as file:
            file.write(report)
    except OSError:
        print(report, file=sys.stderr)
    else:
        print(f"  This is a bug in ralph. Please report it with {file.name}", file=sys.stderr)


def say_error(error: RalphError) -> None:
    if error.is_told:
        return
    from ralph.domain.text.masking import mask_text

    print(mask_text(f"ralph: {error.message}"), file=sys.stderr)
    if error.hint:
        print(mask_text(f"  {error.hint}"), file=sys.stderr)
