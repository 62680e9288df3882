"""The exit codes, in one place. They are part of the interface: scripts and cron jobs depend on them."""

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False  # importing `typing` would cost `ralph --help` more than its work does

if TYPE_CHECKING:
    from ralph.domain.loop.decision import Outcome


class ExitCode(IntEnum):
    COMPLETED = 0
    """The work is done and proven."""
    EXHAUSTED = 1
    """A limit was reached: iterations, budget, restarts, stuck."""
    FINDINGS = 1
    """Only of `ralph review`: it found something."""
    USAGE = 2
    """Flags, settings or arguments are wrong, or the workspace is busy."""
    BUG = 3
    """Something in ralph itself is wrong."""
    CANNOT_RUN = 4
    """The agent is missing or not logged in, the record cannot be written, a fatal fault."""
    WAITING = 5
    """Something outside must happen first."""
    INTERRUPTED = 130
    """A signal, or `ralph stop`."""


def exit_code_of(outcome: Outcome) -> ExitCode:
    """By the outcome's stored name: `ralph --help` need not load the domain."""
    return {
        "completed": ExitCode.COMPLETED,
        "exhausted": ExitCode.EXHAUSTED,
        "waiting": ExitCode.WAITING,
        "cancelled": ExitCode.INTERRUPTED,
        "failed": ExitCode.CANNOT_RUN,
    }[outcome]
