"""Tells tickets what became of their tasks. What could not be told stays on record, and is told later, once."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.delivery.receipt import Receipt
from ralph.domain.loop.events import Warned
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.gate import why_unsure
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.task_text import asks_the_same, fingerprint
from ralph.domain.tickets.ticket import Move
from ralph.domain.tickets.told import Landing, Told, told_about
from ralph.engine.ports import Publish
from ralph.engine.tickets.ports import Source, TicketMemory
from ralph.errors import RalphError, ServiceAway, ServiceRefused
from ralph.values import dataclass, replace

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
    publish: Publish

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
            if self._is_told(known, task):
                continue
            try:
                told = self._told(known, task, is_edited=await self._is_edited(known, task))
                await self._tell(known, told)
            except RalphError as problem:
                is_away = isinstance(problem, ServiceAway)
                if is_away or not await self._is_gone(known):
                    problems.setdefault((known.source, problem.message), problem)
                    patience[known.source] = 0 if is_away else patience[known.source] - 1
                    continue
                told = Told(words=f"{known.shown} is not there any more, and was told nothing")
            # Accepted work is looked at again and again: what is on record already is neither written nor said once more.
            if told != Told() and (told.digest != known.told or task.status != known.settled):
                self._settle(known, task, told)
        return list(problems.values())

    def _is_told(self, known: KnownTicket, task: Task) -> bool:
        """As far as can be known without asking: of accepted work that is all, for it is looked at again and again."""
        told = self._told(known, task, is_edited=_was_edited(known))
        return told.digest == known.told and task.status == known.settled

    def _told(self, known: KnownTicket, task: Task, *, is_edited: bool) -> Told:
        receipt, landing = self.receipt(task, known), self.landing(task, known)
        return told_about(task, known, receipt, landing, close=self.close, is_edited=is_edited)

    async def _is_edited(self, known: KnownTicket, task: Task) -> bool:
        """Since its words were given to the task. What is not accepted is told nothing that depends on it."""
        if task.status not in (TaskStatus.DONE, TaskStatus.ACCEPTED):
            return False
        ticket = await self.open_source(known.source).read(known.key)
        is_unsure = ticket is None or bool(why_unsure(ticket))  # of such a one no words are to be had
        if ticket is None or is_unsure:
            return _was_edited(known)
        return not asks_the_same(fingerprint(ticket), known.seen)

    async def _is_gone(self, known: KnownTicket) -> bool:
        """There is no ticket that could be told anything, now or later."""
        try:
            return await self.open_source(known.source).read(known.key) is None
        except RalphError:
            return False

    async def _tell(self, known: KnownTicket, told: Told) -> None:
        if told.digest == known.told:
            return
        source = self.open_source(known.source)
        move = None if told.move is Move.FREE and not known.is_taken else told.move
        unsaid: ServiceRefused | None = None
        try:
            if told.text:
                await source.say(known.key, told.text)
        except ServiceRefused as refused:
            if move is None:  # whether it refuses this or everything cannot be known
                raise
            unsaid = refused
        if move is not None:
            await source.move(known.key, move, holder=self.holder)
        if unsaid is not None:  # a locked conversation, for it takes the label: told so once
            self.publish(Warned(f"{known.task_id}: {known.shown} takes no comment: {unsaid.message}"))

    def _settle(self, known: KnownTicket, task: Task, told: Told) -> None:
        now = self.memory.of_task(known.task_id) or known  # others may have noted something meanwhile
        is_taken = now.is_taken and told.move is None
        settled = task.status.value
        after = replace(now, settled=settled, told=told.digest, is_said=told.is_good, is_taken=is_taken)
        self.memory.save(after, note=told.words)
        if told.words:
            self.publish(Warned(f"{task.id}: {told.words}", mild=not told.is_concern))


def _was_edited(known: KnownTicket) -> bool:
    """As far as it was seen."""
    return bool(known.noted) and not asks_the_same(known.noted, known.seen)
