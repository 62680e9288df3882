"""What work on tickets asks of the world: the source that has them, and a memory that survives a kill."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which tickets to list. ``labels``: those that it must have, all of them. ``limit`` None: all."""

    labels: tuple[str, ...] = ()
    limit: int | None = None


class Source(Protocol):
    """A place with tickets. Every method may raise ServiceAway (try again later) and ServiceRefused (it never will); a
    source that cannot be read as it is raises UsageError. Nothing is decided here: see ``domain/tickets``.

    Only words of people who may write there are in a ticket, and nothing that a ticket links to is ever fetched.
    """

    @property
    def name(self) -> str:
        """As the user names it: ``github:octo/hello``, ``linear:ENG``, ``specs/001-photos/tasks.md``. The same tickets
        have the same name, however it was spelled."""
        ...

    @property
    def is_shared(self) -> bool:
        """Others put tickets there and take them: they need a label, are held by who works on them, and are worked on in a sandbox."""
        ...

    def tickets(self, wanted: Wanted) -> AsyncIterator[Ticket]:
        """Those that are open and have the labels, as they are read: thousands need not fit into memory at once."""
        ...

    async def read(self, key: str) -> Ticket | None:
        """As it is now, open or not; None: there is none."""
        ...

    async def say(self, key: str, text: str) -> None:
        """In ralph's one comment there, which is edited if it exists. Sources without comments ignore it."""
        ...

    async def move(self, key: str, to: Move, *, holder: str) -> None:
        """``holder``: this machine's name (``domain/tickets/hold.py``)."""
        ...


class Standing(NamedTuple):
    """How far a task is. ``is_begun``: it has a branch, with whatever was done so far."""

    status: TaskStatus
    is_begun: bool


class TicketLedger(Protocol):
    """What is known of tickets, and of the tasks here."""

    def of_source(self, source: str) -> Mapping[str, KnownTicket]:
        """By key."""
        ...

    def standings(self) -> Mapping[str, Standing]:
        """Of all tasks here, by id in lower case."""
        ...


class TicketMemory(TicketLedger, Protocol):
    """What is known of tickets, with the tasks that they became, and how that changes."""

    def of_task(self, task_id: str) -> KnownTicket | None: ...

    def untold(self) -> Sequence[tuple[KnownTicket, Task]]:
        """Those whose task has reached something that its ticket was not told yet."""
        ...

    def add(self, tasks: Sequence[Task], tickets: Sequence[KnownTicket]) -> None:
        """New tasks, and the tickets that they come from: all of them or none. Raises UsageError."""
        ...

    def redefine(self, task: Task, ticket: KnownTicket) -> bool:
        """Give a task that nobody has begun the words of its ticket. False: somebody has."""
        ...

    def withdraw(self, ticket: KnownTicket, reason: str, *, is_settled: bool = False) -> None:
        """Cancel the task of a ticket that nobody wants any more, and end the work on it. ``is_settled``: no other task waits
        for it any longer."""
        ...

    def restore(self, ticket: KnownTicket) -> None:
        """Open the task of a ticket again that was withdrawn, and is wanted after all."""
        ...

    def tell(self, ticket: KnownTicket) -> None:
        """Its ``note``, to whoever works on its task, in the next prompt; and the task's history says so."""
        ...

    def save(self, ticket: KnownTicket, *, note: str = "") -> None:
        """``note``: for the history of its task."""
        ...

    def holder(self, make: Callable[[], str]) -> str:
        """This project's name on trackers: made once, then always the same."""
        ...
