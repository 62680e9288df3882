"""Tells tickets what became of their tasks. What could not be told stays on record, and is told later, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ralph.domain.delivery.receipt import Receipt
from ralph.domain.tasks.task import Task
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.ticket import Move
from ralph.domain.tickets.told import Landing, Told, told_about
from ralph.engine.tickets.ports import Source, TicketMemory
from ralph.errors import RalphError, ServiceAway

MOST_REFUSED = 20
"""Tickets of a source that may refuse in a row of deeds: then it would refuse the rest, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBack:
    """``open_source``: by name. ``receipt``, ``landing``: what proved the work of a task, and where it went. ``close``: as
    the settings say."""

    memory: TicketMemory
    open_source: Callable[[str], Source]
    receipt: Callable[[Task, KnownTicket], Receipt]
    landing: Callable[[Task, KnownTicket], Landing]
    holder: str
    close: str

    async def run(self) -> list[RalphError]:
        """Everything that can be told now; gives what was in the way, each once.

        A source that is away is not asked for its other tickets, too; one that refuses a ticket may take the next. Whoever is
        killed between a deed and its record does it again, and so each can be done twice without harm.
        """
        problems: dict[tuple[str, str], RalphError] = {}
        patience: dict[str, int] = {}
        for known, task in self.memory.untold():
            if not patience.setdefault(known.source, MOST_REFUSED):
                continue
            told = told_about(task, self.receipt(task, known), self.landing(task, known), close=self.close)
            try:
                await self._tell(known, told)
            except RalphError as problem:
                is_away = isinstance(problem, ServiceAway)
                if is_away or not await self._is_gone(known):
                    problems.setdefault((known.source, problem.message), problem)
                    patience[known.source] = 0 if is_away else patience[known.source] - 1
                    continue
            if told != Told():
                self._settle(known, task, told)
        return list(problems.values())

    async def _is_gone(self, known: KnownTicket) -> bool:
        """There is no ticket that could be told anything, now or later."""
        try:
            return await self.open_source(known.source).read(known.key) is None
        except RalphError:
            return False

    async def _tell(self, known: KnownTicket, told: Told) -> None:
        if told.digest == known.told or (told.move is Move.FREE and not known.is_taken):
            return
        source = self.open_source(known.source)
        if told.text:
            await source.say(known.key, told.text)
        if told.move is not None:
            await source.move(known.key, told.move, holder=self.holder)

    def _settle(self, known: KnownTicket, task: Task, told: Told) -> None:
        now = self.memory.of_task(known.task_id) or known  # others may have noted something meanwhile
        is_taken = now.is_taken and told.move is None
        self.memory.save(replace(now, settled=task.status.value, told=told.digest, is_taken=is_taken))
