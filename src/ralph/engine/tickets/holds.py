"""Taking a ticket before work on it begins, so that no two machines do the same work."""

from __future__ import annotations

from ralph.domain.tickets.gate import why_held, why_unsure, why_unwanted
from ralph.domain.tickets.hold import is_held_by
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.ticket import Move
from ralph.engine.tickets.ports import Source, TicketMemory
from ralph.values import dataclass, replace

NOT_SHOWN = "the tracker does not show the label that was just put there"


@dataclass(frozen=True, slots=True)
class TicketHolds:
    """``labels``: what a ticket must have, unless others made it ours. ``holder``: what this machine is called there."""

    memory: TicketMemory
    labels: tuple[str, ...]
    holder: str

    async def take(self, source: Source, known: KnownTicket) -> str:
        """Empty: it is ours; else why not. The name is put up first and looked for afterwards: see ``domain/tickets/hold``."""
        if why := await self._look(source, known):
            return why
        # On record first: whoever is killed in between knows that their name may be there.
        self._save(known, is_taken=True)
        await source.move(known.key, Move.TAKE, holder=self.holder)
        return await self._look(source, known, is_up=True)

    async def free(self, source: Source, known: KnownTicket) -> None:
        """It is not begun after all: others may, when it is ready."""
        if await source.read(known.key) is not None:
            await source.move(known.key, Move.FREE, holder=self.holder)
        self._save(known, is_taken=False)

    async def _look(self, source: Source, known: KnownTicket, *, is_up: bool = False) -> str:
        """Why it cannot be ours, now that its ticket reads like this. ``is_up``: our name must be there; a tracker that does
        not show what was just written may not show who else did."""
        ticket = await source.read(known.key)
        labels = known.labels or self.labels
        if ticket is None:
            return f"its ticket {known.shown} is not there now"
        if unwanted := why_unwanted(ticket, labels=labels):
            reason = f"its ticket {known.shown} is not wanted any more: {unwanted}"
            self.memory.withdraw(known, reason, is_settled=not ticket.is_open)
            return reason
        held = why_held(ticket, holder=self.holder, labels=labels)
        is_missing = is_up and not is_held_by(self.holder, ticket.labels)
        if not (why := held or why_unsure(ticket) or (NOT_SHOWN if is_missing else "")):
            return ""
        # Two who leave their names there would wait for each other for ever.
        if is_up or known.is_taken or is_held_by(self.holder, ticket.labels):
            await source.move(known.key, Move.FREE, holder=self.holder)
        self._save(known, is_taken=False)
        return f"{known.shown} is not ours now: {why}"

    def _save(self, known: KnownTicket, *, is_taken: bool) -> None:
        now = self.memory.of_task(known.task_id) or known
        self.memory.save(replace(now, is_taken=is_taken, settled="", told="", is_withdrawn=False))
