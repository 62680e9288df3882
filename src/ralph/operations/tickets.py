"""What a person can do with work that is kept elsewhere: look at it, take it in, see what is missing."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.config.root import STATE_FOLDER
from ralph.domain.tickets.intake import Intake
from ralph.errors import UsageError
from ralph.operations.tasks import has_tasks, open_record
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.config.root import Root
    from ralph.config.schema import Settings
    from ralph.domain.tickets.known import KnownTicket
    from ralph.domain.tickets.ticket import Ticket
    from ralph.engine.tickets.ports import Source, Standing, TicketLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """``limit`` None: all. ``batches``: tickets without a check of their own become one task for each heading."""

    source: str
    limit: int | None = None
    batches: bool = False


# Without a repr: asyncio asks for that of whatever a task returns, and of thousands of tickets it takes megabytes.
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Found:
    """What a source has, and what would come of it. ``label``: what its tickets must have; empty: none. ``small``: what to
    say of tickets that are hardly worth a session each; empty: nothing."""

    source: str
    label: str
    intake: Intake
    small: str = ""


def name_source(name: str, cwd: Path) -> str:
    """As the rest of ralph takes it: a path begins where the user is. Raises UsageError if there is no name at all."""
    from ralph.adapters.sources.choice import EXAMPLES, is_tracker

    if not name.strip():  # a variable that is not set, which must not mean this whole folder
        message = "the name of the source is empty"
        raise UsageError(message, hint=f"name {EXAMPLES}")
    return name if is_tracker(name) or ":" in name else str(cwd / name)


def look_at(root: Root, settings: Settings, asked: Asked) -> Found:
    """No task is made or changed. Raises UsageError, ServiceAway and ServiceRefused."""
    with _open_ledger(root) as (ledger, holder):
        return asyncio.run(_look(_open(asked.source, root), settings, asked, ledger, holder))


def look_afresh(root: Root, settings: Settings, asked: Asked) -> Found:
    """As if none had been taken in here: for work that is kept elsewhere then. Raises what ``look_at`` does."""
    return asyncio.run(_look(_open(asked.source, root), settings, asked, _Nothing(), ""))


def import_found(root: Root, found: Found) -> None:
    """Raises UsageError if tasks of the same names were added meanwhile; importing again takes what is left."""
    from ralph.engine.tickets.intake import take_in

    with open_record(root.state / STATE_FOLDER, create=True) as record:
        take_in(record.tickets, found.intake)


async def _look(source: Source, settings: Settings, asked: Asked, ledger: TicketLedger, holder: str) -> Found:
    from ralph.domain.tickets.batch import batch, smallness
    from ralph.engine.tickets.intake import TicketIntake

    label = settings.tickets.label
    seen: list[Ticket] = []

    def arrange(tickets: Sequence[Ticket]) -> Sequence[Ticket]:
        seen.extend(tickets)
        return batch(tickets) if asked.batches else tickets

    intake = TicketIntake(
        source=source, memory=ledger, labels=(label,), holder=holder, limit=asked.limit, arrange=arrange
    )
    planned = await intake.look()
    return Found(
        source=source.name,
        label=label if source.is_shared else "",
        intake=planned,
        small="" if asked.batches or len(batch(seen)) == len(seen) else smallness(seen),
    )


def _open(name: str, root: Root) -> Source:
    from ralph.adapters.own_programs import OwnPrograms
    from ralph.adapters.processes.runner import PosixProcessRunner
    from ralph.adapters.sources.choice import open_source
    from ralph.wiring.tickets import surroundings

    own = OwnPrograms(reach=(root.workspace, root.state))
    runner = PosixProcessRunner(run_id="", base_environment=own.environment, find=own.find)
    around = surroundings(os.environ, own, runner, root.workspace, time.time)
    return open_source(name, around, root.workspace, is_named=True)


class _Nothing:
    """There is no record yet, and looking makes none."""

    def of_source(self, source: str) -> Mapping[str, KnownTicket]:
        return {}

    def standings(self) -> Mapping[str, Standing]:
        return {}


@contextmanager
def _open_ledger(root: Root) -> Iterator[tuple[TicketLedger, str]]:
    """What is known of tickets, and what this machine is called."""
    folder = root.state / STATE_FOLDER
    if not has_tasks(folder):
        yield _Nothing(), ""
        return
    from ralph.wiring.tickets import holder_of

    with open_record(folder) as record:
        yield record.tickets, holder_of(record.tickets)


def check_tasks(root: Root) -> tuple[dict[str, str], str]:
    """What the tasks that are left lack, by id; and what to say of small ones. Asks nobody."""
    from ralph.domain.tasks.readiness import lack_of, smallness_of
    from ralph.domain.tasks.task import TaskStatus
    from ralph.domain.views.tasks import TaskFilter
    from ralph.operations.tasks import list_tasks

    views, _ = list_tasks(root.state / STATE_FOLDER, TaskFilter(statuses=(TaskStatus.OPEN,)))
    tasks = [view.task for view in views]
    return {task.id: lack for task in tasks if (lack := lack_of(task))}, smallness_of(tasks)
