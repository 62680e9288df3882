"""Tickets in a source in memory, tasks in a real record, and machines that can be killed between any two deeds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.task_history import TaskHistory
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.storage.tickets import TicketStore
from ralph.domain.delivery.receipt import Proof, Receipt
from ralph.domain.loop.events import LoopEvent, Warned
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.told import Landing
from ralph.engine.ports import Clock
from ralph.engine.stop_token import StopToken
from ralph.engine.tickets.claims import TicketClaims
from ralph.engine.tickets.desk import TicketDesk
from ralph.engine.tickets.intake import TicketIntake
from ralph.engine.tickets.ports import Source
from ralph.engine.tickets.write_back import WriteBack
from ralph.testing.fake_clock import FakeClock
from tests.delivery.memory_source import MemorySource

READY = "Please.\n\n- [ ] it is there"
LABELS = ("ralph",)
HOLDER = "box-a1"
OWN = "ralph:box-a1"


class Killed(BaseException):
    """The process is gone: nothing after it happens, and nobody is told."""


class Machine:
    """One machine with its record. ``start`` is a new process there: it knows only what is on record."""

    def __init__(self, folder: Path, source: Source, *, holder: str = HOLDER) -> None:
        self.folder = folder
        self.source = source
        self.holder = holder
        self.clock: Clock = FakeClock()
        self.landing: Callable[[Task, KnownTicket], Landing] = land_here
        self.close = "delivered"

    @contextmanager
    def start(self, *, stays: bool = False, asks: bool = False, takes_in: bool = True) -> Iterator[Process]:
        with closing(open_state_database(self.folder)) as database:
            yield Process(self, database, stays=stays, asks=asks, takes_in=takes_in)


def land_here(task: Task, known: KnownTicket) -> Landing:
    return Landing(target="main", is_merged=task.status is TaskStatus.DONE)


def receipt(task: Task, known: KnownTicket) -> Receipt:
    return Receipt(commit="c" * 40, claim=f"every role has accepted {task.id}", proofs=(Proof("make test"),))


class Process:
    """A desk, the record it works with, and what it told the user."""

    def __init__(self, machine: Machine, database, *, stays: bool, asks: bool, takes_in: bool) -> None:  # type: ignore[no-untyped-def]
        self.database = database
        self.tasks = TaskStore(database, me=this_process(), started_of=started_of)
        self.tickets = TicketStore(database, self.tasks, now=machine.clock.now)
        self.history = TaskHistory(database, machine.folder / "ralph.db")
        self.control = StopToken()
        self.events: list[LoopEvent] = []
        source = machine.source
        self.intake = TicketIntake(
            source=source, memory=self.tickets, labels=LABELS, holder=machine.holder
        )
        self.claims = TicketClaims(self.tickets, LABELS, machine.holder)
        self.write_back = WriteBack(
            memory=self.tickets,
            open_source=lambda name: source,
            receipt=receipt,
            landing=machine.landing,
            holder=machine.holder,
            close=machine.close,
        )
        self.desk = TicketDesk(
            memory=self.tickets,
            open_source=lambda name: source,
            intake=self.intake if takes_in else None,
            claims=self.claims,
            write_back=self.write_back,
            clock=machine.clock,
            control=self.control,
            publish=self.events.append,
            poll=60.0,
            stays=stays,
            asks=asks,
        )

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Warned) and not event.mild]

    def task(self, key: str) -> Task:
        return self.tasks.get(f"memory-{key}")

    def known(self, key: str) -> KnownTicket:
        found = self.tickets.of_task(f"memory-{key}")
        assert found is not None
        return found

    def put(self, key: str, status: TaskStatus) -> None:
        self.tasks.change(f"memory-{key}", lambda now: replace(now, status=status), at=1.0)

    def begin(self, key: str, run_id: str = "") -> None:
        """As the worker does: the task has a branch, and a run of its own."""
        self.tasks.change(f"memory-{key}", lambda now: replace(now, branch=f"ralph/{key}"), at=1.0)
        if run_id:
            assert self.tasks.claim(f"memory-{key}", run_id=run_id, at=1.0)

    def asks(self) -> list[tuple[str, str, str]]:
        """What runs were asked by others."""
        rows = self.database.execute("SELECT run_id, request, text FROM controls ORDER BY seq")
        return [(str(run), str(request), str(text)) for run, request, text in rows]

    def events_of(self, key: str) -> list[str]:
        return [event.text for event in self.history.events(f"memory-{key}") if event.kind == "ticket"]

    async def look(self, times: int = 1) -> None:
        """So many looks, as they come while nobody waits for anything else."""
        looking = asyncio.create_task(self.desk.look_after())
        before = self.looks
        while self.looks < before + times and not looking.done():
            await asyncio.sleep(0)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        if self.desk._looking is not None:
            await self.desk._looking
