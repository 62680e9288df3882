"""A command that does one shift of a run for a fleet's worker (``RALPH_SHIFT``)."""

from __future__ import annotations

from collections.abc import Callable

import click

from ralph.errors import RalphError, UsageError
from ralph.interfaces.cli.exit_codes import ExitCode
from ralph.operations.runs.shift import OpenShift, ShiftOver, take_shift


def do_shift(command: Callable[[OpenShift], object]) -> int:
    """Its exit code. The worker hears how it ended, unless ralph is killed or has a bug."""
    shift = take_shift()
    try:
        result = command(shift)
    except ShiftOver as over:
        shift.hand_over(over.handover)
        return ExitCode.WAITING
    except click.ClickException as error:
        shift.fail(UsageError(error.format_message()))
        raise
    except RalphError as error:
        shift.fail(error)
        raise
    code = int(result) if isinstance(result, int) else ExitCode.COMPLETED
    shift.close(code)
    return code
