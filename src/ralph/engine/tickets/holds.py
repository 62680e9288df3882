"""Taking a ticket before work on it begins, so that no two machines do the same work."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.domain.tickets.gate import why_held, why_unwanted
from ralph.domain.tickets.hold import holders
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.engine.tickets.ports import Source, TicketMemory


@dataclass(frozen=True, slots=True)
class TicketHolds:
    """``labels``: what a ticket must have, unless others made it ours. ``holder``: what this machine is called there."""

    memory: TicketMemory
    labels: tuple[str, ...]
    holder: str

    async def take(self, source: Source, known: KnownTicket) -> str:
        """Empty: it is ours; else why not. The name is put up first and looked for afterwards: see ``domain/tickets/hold``."""
        ticket = await source.read(known.key)
        labels = known.labels or self.labels
        unwanted = "it is not there any more" if ticket is None else why_unwanted(ticket, labels=labels)
        if unwanted:
            reason = f"its ticket {known.shown} is not wanted any more: {unwanted}"
            self.memory.withdraw(known, reason, is_settled=ticket is None or not ticket.is_open)
            return reason
        assert ticket is not None
        if held := why_held(ticket, holder=self.holder, labels=labels):
            await self._stand_back(source, known, ticket)
            return f"{known.shown} is taken: {held}"
        # On record first: whoever is killed in between knows that their name may be there.
        self._save(known, is_taken=True)
        await source.move(known.key, Move.TAKE, holder=self.holder)
        ticket = await source.read(known.key)
        if ticket is not None and (held := why_held(ticket, holder=self.holder, labels=labels)):
            await self._stand_back(source, known, ticket)
            return f"{known.shown} was taken at the same moment: {held}"
        return ""

    async def _stand_back(self, source: Source, known: KnownTicket, ticket: Ticket) -> None:
        """Two who leave their names there would wait for each other for ever."""
        if self.holder in holders(ticket.labels):
            await source.move(known.key, Move.FREE, holder=self.holder)
        self._save(known, is_taken=False)

    def _save(self, known: KnownTicket, *, is_taken: bool) -> None:
        now = self.memory.of_task(known.task_id) or known
        self.memory.save(replace(now, is_taken=is_taken, settled="", told=""))
