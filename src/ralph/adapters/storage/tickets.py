"""The tickets that tasks came from. Implements the ``TicketMemory`` port."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.database import path_of, store_errors, transaction
from ralph.adapters.storage.task_rows import COLUMNS, status_of, task_of
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.storage.ticket_sources import SOURCES
from ralph.domain.loop.asks import Ask
from ralph.domain.tasks.history import TaskEvent
from ralph.domain.tasks.task import Task, TaskStatus, cancel, redefine, reopen
from ralph.domain.tickets.known import KnownTicket
from ralph.engine.tickets.ports import Standing
from ralph.errors import StoreError
from ralph.values import replace

SAVE = """INSERT INTO tickets (source, key, task_id, settled, known) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (source, key) DO UPDATE SET task_id = excluded.task_id, settled = excluded.settled, known = excluded.known"""
OF_SOURCE = "SELECT known FROM tickets WHERE source = ?"
OF_TASK = "SELECT known FROM tickets WHERE task_id = ?"
UNTOLD = f"""SELECT tickets.known, {", ".join(f"tasks.{name.strip()}" for name in COLUMNS.split(","))}
    FROM tasks JOIN tickets ON tickets.task_id = tasks.id
    WHERE tasks.status <> tickets.settled
            AND (tasks.status IN ('done', 'cancelled') OR coalesce(json_extract(tickets.known, '$.is_said'), 0))
        OR tasks.status = 'accepted'
    ORDER BY tasks.number"""  # noqa: S608 - a constant
STANDINGS = "SELECT id, status, coalesce(json_extract(progress, '$.branch'), '') <> '' FROM tasks"
TICKET = "ticket"
"""The kind of what a task's history says about its ticket."""


class TicketStore:
    """``now``: seconds since the epoch."""

    def __init__(self, database: sqlite3.Connection, tasks: TaskStore, *, now: Callable[[], float]) -> None:
        self._database = database
        self._path = path_of(database)
        self._tasks = tasks
        self._now = now

    # --- reading ---

    def sources(self) -> Sequence[str]:
        """Those with tickets about which something is left to do, or to tell."""
        with store_errors(self._path):
            return [name for (name,) in self._database.execute(SOURCES)]

    def of_source(self, source: str) -> Mapping[str, KnownTicket]:
        with store_errors(self._path):
            found = [_read(data, self._path) for (data,) in self._database.execute(OF_SOURCE, (source,))]
        return {known.key: known for known in found}

    def of_task(self, task_id: str) -> KnownTicket | None:
        with store_errors(self._path):
            row = self._database.execute(OF_TASK, (task_id,)).fetchone()
        return None if row is None else _read(row[0], self._path)

    def standings(self) -> Mapping[str, Standing]:
        with store_errors(self._path):
            rows = self._database.execute(STANDINGS).fetchall()
        return {name.lower(): Standing(status_of(name, status), bool(begun)) for name, status, begun in rows}

    def untold(self) -> Sequence[tuple[KnownTicket, Task]]:
        with store_errors(self._path):
            rows = self._database.execute(UNTOLD).fetchall()
        return [(_read(data, self._path), task_of(tuple(row))) for data, *row in rows]

    # --- writing ---

    def add(self, tasks: Sequence[Task], tickets: Sequence[KnownTicket]) -> None:
        self._tasks.add(tasks, at=self._now(), along=lambda: self._save(tickets))

    def redefine(self, task: Task, ticket: KnownTicket) -> bool:
        claim = self._tasks.claim_of(ticket.task_id)
        if claim is not None and claim.run_id:
            return False
        is_begun = False

        def rule(now: Task) -> Task:
            nonlocal is_begun
            is_begun = bool(now.branch) or now.status is not TaskStatus.OPEN
            return now if is_begun else redefine(now, replace(task, budget=now.budget, base=now.base))

        self._tasks.change(ticket.task_id, rule, at=self._now())
        if not is_begun:
            self._note(ticket, f"{ticket.shown} was edited: the task has its new words")
            self.save(ticket)
        return not is_begun

    def withdraw(self, ticket: KnownTicket, reason: str, *, is_settled: bool = False) -> None:
        at, name = self._now(), ticket.task_id
        if self._tasks.get(name).status is not TaskStatus.OPEN:
            return  # what was accepted meanwhile was wanted: whoever merged it may have closed the ticket
        claim = self._tasks.claim_of(name)
        if is_settled:  # first: whoever is killed in between finds the ticket gone, and does the rest
            for dependent in self._tasks.dependents(name):
                self._tasks.change(dependent, lambda now: _without(now, name), at=at)
                told = f"waits no longer for {name}: nobody will do {ticket.shown} any more"
                self._tasks.note(dependent, TaskEvent(TICKET, told, at))
        self.save(replace(self.of_task(name) or ticket, is_withdrawn=True))
        # Asked again in the same transaction: it may have been accepted just now.
        is_open = TaskStatus.OPEN
        self._tasks.change(name, lambda now: cancel(now, reason) if now.status is is_open else now, at=at)
        if claim is not None and claim.run_id:
            Controls(self._database, self._path, claim.run_id).ask(Ask.STOP_NOW, at=at)

    def restore(self, ticket: KnownTicket) -> None:
        self._tasks.change(ticket.task_id, lambda now: reopen(now, now.stage), at=self._now())
        now = self.of_task(ticket.task_id) or ticket
        self.save(
            replace(now, is_withdrawn=False, settled="", told=""), note=f"{ticket.shown} is wanted again"
        )

    def tell(self, ticket: KnownTicket) -> None:
        self._note(ticket, f"{ticket.shown} was edited after the work had begun")
        self.save(ticket)

    def save(self, ticket: KnownTicket, *, note: str = "") -> None:
        with store_errors(self._path), transaction(self._database):
            self._save([ticket])
        if note:
            self._note(ticket, note)

    def holder(self, make: Callable[[], str]) -> str:
        with store_errors(self._path), transaction(self._database):
            row = self._database.execute("SELECT holder FROM ticket_holder").fetchone()
            if row is None:
                row = (make(),)
                self._database.execute("INSERT INTO ticket_holder (holder) VALUES (?)", row)
        return str(row[0])

    def _save(self, tickets: Sequence[KnownTicket]) -> None:
        rows = (
            (one.source, one.key, one.task_id, one.settled, msgspec.json.encode(one).decode())
            for one in tickets
        )
        self._database.executemany(SAVE, rows)

    def _note(self, ticket: KnownTicket, text: str) -> None:
        self._tasks.note(ticket.task_id, TaskEvent(TICKET, text, self._now()))


def _without(task: Task, need: str) -> Task:
    """A task that waits for one thing less, if it waits at all."""
    left = tuple(one for one in task.dependencies if one.lower() != need.lower())
    return replace(task, dependencies=left) if task.status is TaskStatus.OPEN else task


def _read(data: str, path: Path) -> KnownTicket:
    try:
        return msgspec.json.decode(data, type=KnownTicket)
    except msgspec.MsgspecError as error:
        message = f"{path} is damaged: what is on record about a ticket cannot be read: {error}"
        raise StoreError(message, hint="remove the task with `ralph task rm`, and import it again") from error
