"""Tickets in a source in memory, tasks in a real record, and processes that can be killed between any two deeds."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.delivery.memory_source import MemorySource

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.task_history import TaskHistory
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.storage.tickets import TicketStore
from ralph.domain.delivery.receipt import Proof, Receipt
from ralph.domain.loop.events import LoopEvent, Warned
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.coverage import Imports, covers
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.told import Landing
from ralph.engine.stop_token import StopToken
from ralph.engine.tickets.desk import TicketDesk
from ralph.engine.tickets.holds import TicketHolds
from ralph.engine.tickets.intake import TicketIntake
from ralph.engine.tickets.ports import Source
from ralph.engine.tickets.write_back import WriteBack
from ralph.testing.fake_clock import FakeClock

READY = "Please.\n\n- [ ] it is there"
LABELS = ("ralph",)
HOLDER = "box-a1"
OWN = f"ralph:{HOLDER}"
POLL = 60.0
RUN = """INSERT INTO runs (id, profile, agent, root, options, state, started_at, updated_at)
    VALUES (?, '', '', '', '{}', '{}', 1, 2)"""


TURNS = 1_000_000


async def wait_until(condition: Callable[[], object]) -> None:
    """Let others have their turn until it is so; the clock of the test moves only with them."""
    for _ in range(TURNS):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"not so after {TURNS} turns")


class Killed(BaseException):
    """The process is gone: nothing after it happens, and nobody is told."""


class Fuse:
    """Kills whoever burns it for the n-th time; 0: nobody."""

    def __init__(self, length: int = 0) -> None:
        self.length = length
        self.burnt = 0

    def burn(self) -> None:
        self.burnt += 1
        if self.burnt == self.length:
            raise Killed


class MortalStore(TicketStore):
    """The real memory of tickets, in a process that may be killed before and after anything is written to it."""

    fuse = Fuse()

    def add(self, tasks: Sequence[Task], tickets: Sequence[KnownTicket]) -> None:
        self.fuse.burn()
        super().add(tasks, tickets)
        self.fuse.burn()

    def redefine(self, task: Task, ticket: KnownTicket) -> bool:
        self.fuse.burn()
        is_done = super().redefine(task, ticket)
        self.fuse.burn()
        return is_done

    def withdraw(self, ticket: KnownTicket, reason: str, *, is_settled: bool = False) -> None:
        self.fuse.burn()
        super().withdraw(ticket, reason, is_settled=is_settled)
        self.fuse.burn()

    def tell(self, ticket: KnownTicket) -> None:
        self.fuse.burn()
        super().tell(ticket)
        self.fuse.burn()

    def save(self, ticket: KnownTicket, *, note: str = "") -> None:
        self.fuse.burn()
        super().save(ticket, note=note)
        self.fuse.burn()


def land_here(task: Task, known: KnownTicket) -> Landing:
    return Landing(target="main", is_merged=task.status is TaskStatus.DONE)


def make_receipt(task: Task, known: KnownTicket) -> Receipt:
    return Receipt(commit="c" * 40, claim=f"every role has accepted {task.id}", proofs=(Proof("make test"),))


class Machine:
    """One machine with its record. ``start`` is a new process there: it knows only what is on record."""

    def __init__(self, folder: Path, source: MemorySource, *, holder: str = HOLDER) -> None:
        self.folder = folder / ".ralph"
        self.source = source
        self.holder = holder
        self.clock = FakeClock()
        self.fuse = Fuse()
        self.landing: Callable[[Task, KnownTicket], Landing] = land_here
        self.receipt: Callable[[Task, KnownTicket], Receipt] = make_receipt
        self.imports = Imports.TRACKERS
        self.close = "delivered"

    @contextmanager
    def start(self, *, stays: bool = False, asks: bool = False, takes_in: bool = True) -> Iterator[Process]:
        with closing(open_state_database(self.folder)) as database:
            yield Process(self, database, stays=stays, asks=asks, takes_in=takes_in)


class Process:
    """A desk, the record that it works with, and what it told the user. Made inside a running event loop."""

    def __init__(
        self, machine: Machine, database: sqlite3.Connection, *, stays: bool, asks: bool, takes_in: bool
    ) -> None:
        self.machine = machine
        self.database = database
        self.tasks = TaskStore(database, me=this_process(), started_of=started_of)
        self.tickets = MortalStore(database, self.tasks, now=machine.clock.now)
        self.tickets.fuse = machine.fuse
        self.history = TaskHistory(database, machine.folder / "ralph.db")
        self.control = StopToken()
        self.events: list[LoopEvent] = []
        self.intake = TicketIntake(
            source=machine.source, memory=self.tickets, labels=LABELS, holder=machine.holder
        )
        self.holds = TicketHolds(self.tickets, LABELS, machine.holder)
        self.write_back = WriteBack(
            memory=self.tickets,
            open_source=self._open,
            receipt=machine.receipt,
            landing=machine.landing,
            holder=machine.holder,
            close=machine.close,
            publish=self.events.append,
        )
        self.desk = TicketDesk(
            memory=self.tickets,
            open_source=self._open,
            intake=self.intake if takes_in else None,
            holds=self.holds,
            write_back=self.write_back,
            clock=machine.clock,
            control=self.control,
            publish=self.events.append,
            poll=POLL,
            stays=stays,
            asks=asks,
            covers=partial(covers, machine.imports),
        )

    def _open(self, name: str) -> Source:
        assert name == self.machine.source.name
        return self.machine.source

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
        """As the roles and the merge leave it."""
        self.tasks.change(f"memory-{key}", lambda now: replace(now, status=status), at=1.0)

    def begin(self, key: str, run_id: str = "") -> None:
        """As the worker does: the task has a branch, and a run of its own."""
        self.tasks.change(f"memory-{key}", lambda now: replace(now, branch=f"ralph/{key}"), at=1.0)
        if run_id:
            self.database.execute(RUN, (run_id,))
            assert self.tasks.claim(f"memory-{key}", run_id=run_id, at=1.0)

    def asked(self) -> list[tuple[str, str, str]]:
        """What runs were asked by others: the run, what, and the words."""
        rows = self.database.execute("SELECT run_id, request, text FROM controls ORDER BY seq")
        return [(str(run), str(request), str(text)) for run, request, text in rows]

    def notes_of(self, key: str) -> list[str]:
        """What the history of a task says about its ticket."""
        return [event.text for event in self.history.events(f"memory-{key}") if event.kind == "ticket"]

    async def pass_time(self, seconds: float = POLL + 1) -> None:
        """Let the desk look after its tickets for so long."""
        until = self.machine.clock.time + seconds
        looking = asyncio.create_task(self.desk.look_after())
        await wait_until(lambda: self.machine.clock.time >= until or looking.done())
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        own = asyncio.current_task()
        left = [task for task in asyncio.all_tasks() if task is not own]
        for ended in await asyncio.gather(*left, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended


def run(machine: Machine, scenario: Callable[[Process], Awaitable[None]]) -> None:
    """In one process, to its end."""

    async def go() -> None:
        with machine.start() as process:
            await scenario(process)

    asyncio.run(go())
