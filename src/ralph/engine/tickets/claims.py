"""Taking a ticket before work on it begins, so that no two machines do the same work."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.domain.tickets.gate import why_held, why_unwanted
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.ticket import Move
from ralph.engine.tickets.ports import Source, TicketMemory


@dataclass(frozen=True, slots=True)
class TicketClaims:
    """``labels``: what a ticket must have. ``holder``: what this machine is called there."""

    memory: TicketMemory
    labels: tuple[str, ...]
    holder: str

    async def take(self, source: Source, known: KnownTicket) -> str:
        """Empty: it is ours; else why not. The name is put up first and looked for afterwards: see ``domain/tickets/claim``."""
        ticket = await source.read(known.key)
        unwanted = "it is not there any more" if ticket is None else why_unwanted(ticket, labels=self.labels)
        if unwanted:
            reason = f"its ticket {known.shown} is not wanted any more: {unwanted}"
            self.memory.withdraw(known, reason)
            return reason
        assert ticket is not None
        if held := why_held(ticket, holder=self.holder):
            return f"{known.shown} is taken: {held}"
        await source.move(known.key, Move.TAKE, holder=self.holder)
        ticket = await source.read(known.key)
        if ticket is not None and (held := why_held(ticket, holder=self.holder)):
            await source.move(known.key, Move.FREE, holder=self.holder)
            return f"{known.shown} was taken at the same moment: {held}"
        self.memory.save(
            replace(self.memory.of_task(known.task_id) or known, is_taken=True, settled="", told="")
        )
        return ""
