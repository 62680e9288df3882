"""The command line: the one place where it begins, and where errors end."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from ralph import __version__
from ralph.errors import OutOfMemory, RalphError, StoreError, TooManyFiles, TooManyProcesses, UsageError
from ralph.interfaces.cli.exit_codes import ExitCode
from ralph.interfaces.cli.safe_stream import make_safe

COMPLETION = "_RALPH_COMPLETE"
"""Click's: the shell asks what could come next."""


def main(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code. No traceback reaches a user."""
    _open_closed_streams()
    sys.stdout, sys.stderr = make_safe(sys.stdout), make_safe(sys.stderr, folds=True)
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        say_error(UsageError("the current directory no longer exists", hint="cd to another one"))
        return ExitCode.USAGE
    try:
        result = _run(list(arguments))
        sys.stdout.flush()
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
        if (limit := _limit_behind(error)) is not None:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                _discard_output()
            say_error(limit)
            return limit.exit_code
        _report_crash(error)
        return ExitCode.BUG
    return int(result) if isinstance(result, int) else ExitCode.COMPLETED


def _limit_behind(error: Exception) -> RalphError | None:
    """What the system has no more of, or does not permit; None: it is a bug of ours."""
    match error:
        case OSError(errno=errno.ENOSPC):
            return StoreError("cannot write the output: no space is left there")
        case PermissionError(filename=str() as file):
            return StoreError(
                f"{file}: permission denied", hint="change who owns it or may use it, and try again"
            )
        case OSError(errno=errno.EMFILE | errno.ENFILE):
            return TooManyFiles()
        case MemoryError() | OSError(errno=errno.ENOMEM):
            return OutOfMemory()
        case RuntimeError(args=("can't start new thread",)):
            return TooManyProcesses()
        case _:
            return None


def _run(arguments: list[str]) -> object:
    if arguments in ([], ["--help"], ["-h"]) and COMPLETION not in os.environ:
        from ralph.interfaces.cli.front_page import columns_of_terminal, front_page

        sys.stdout.write(front_page(columns_of_terminal()))
        return ExitCode.COMPLETED
    import click

    try:
        return _run_command(arguments)
    except click.exceptions.Abort:
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE


def _run_command(arguments: list[str]) -> object:
    from ralph.domain.fleet.shift_variable import SHIFT
    from ralph.interfaces.cli.command_table import command_line

    def run(shift: object = None) -> object:
        return command_line().main(arguments, prog_name="ralph", standalone_mode=False, obj=shift)

    if SHIFT not in os.environ:
        return run()
    from ralph.interfaces.cli.shift import do_shift

    return do_shift(run)


def _open_closed_streams() -> None:
    """Started with `>&-`: what is written there goes nowhere instead of failing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 (for good)


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
