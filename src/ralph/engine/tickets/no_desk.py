"""A run that asks no tracker, and so works on no ticket that comes while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.tasks.refusal import NotOurs
from ralph.domain.tasks.task import Task
from ralph.domain.tickets.coverage import TOO_LATE
from ralph.engine.tickets.ports import TicketMemory
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class NoDesk:
    memory: TicketMemory
    stays = False

    async def look_after(self) -> None: ...

    async def take(self, task: Task) -> NotOurs | None:
        known = self.memory.of_task(task.id)
        return None if known is None else NotOurs(f"its ticket {known.shown} {TOO_LATE}")

    async def close(self) -> Sequence[str]:
        return ()
