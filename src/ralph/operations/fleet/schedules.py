"""Jobs at fixed times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.domain.fleet.cron import refusal_of_cron
from ralph.errors import UsageError

if TYPE_CHECKING:
    from ralph.domain.fleet.job import JobSpec
    from ralph.operations.fleet.desk import FleetDesk


def require_cron(cron: str) -> None:
    """Raises UsageError."""
    if refusal := refusal_of_cron(cron):
        raise UsageError(refusal.message, hint=refusal.hint)


def add_schedule(desk: FleetDesk, name: str, job: JobSpec, *, cron: str) -> None:
    """Raises UsageError if there is one of this name."""
    if any(one.id == name for one in desk.ask(lambda fleet: fleet.schedules())):
        message = f"there is a schedule {name} already"
        raise UsageError(message, hint=f"`ralph fleet schedule rm {name}` removes it; or choose another name")
    desk.ask(lambda fleet: fleet.schedule(name, job, cron=cron))


def remove_schedule(desk: FleetDesk, name: str) -> None:
    """Raises UsageError if there is none."""
    desk.ask(lambda fleet: fleet.unschedule(name))
