"""The tasks of a project, in its database. Any process may change them; each change is one short transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from datetime import UTC, datetime

from ralph.adapters.storage.database import StartedOf, path_of, store_errors, transaction
from ralph.adapters.storage.liveness import is_gone
from ralph.adapters.storage.task_names import unknown_task
from ralph.adapters.storage.task_rows import (
    CHANGEABLE,
    CHANGEABLE_PLACES,
    COLUMNS,
    PLACES,
    row_of,
    status_of,
    task_of,
)
from ralph.domain.holder import Owner
from ralph.domain.tasks.dependencies import addition_problems, circular_dependencies, unknown_dependencies
from ralph.domain.tasks.history import TaskEvent, changes
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.views.tasks import TaskFilter
from ralph.errors import UsageError
from ralph.values import dataclass, replace

SELECT = f"SELECT {COLUMNS} FROM tasks"  # noqa: S608 - a constant
INSERT = f"INSERT INTO tasks ({COLUMNS}) VALUES ({PLACES})"  # noqa: S608
UPDATE = f"UPDATE tasks SET ({CHANGEABLE}) = ({CHANGEABLE_PLACES}) WHERE id = ?"  # noqa: S608
# Left to itself, SQLite takes another index and sorts all open tasks.
READY = f"{SELECT} INDEXED BY tasks_ready WHERE status = 'open' AND waits_for = 0 ORDER BY priority, number"
CLAIMS = "SELECT task_id, run_id, pid, process_started, boot_id, host, since FROM task_claims"
TAKE = "INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?, ?, ?, ?)"
RELEASE = """DELETE FROM task_claims
    WHERE task_id = ? AND pid = ? AND process_started = ? AND boot_id = ? AND host = ?"""
REMOVED = "INSERT INTO task_removals (task_id, at) VALUES (?, ?)"
EVENT = "INSERT INTO task_events (task_id, at, kind, text) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """Who works on a task."""

    task_id: str
    run_id: str
    owner: Owner
    since: float


class TaskStore:
    """``me`` is this process; ``started_of`` tells a live worker from a dead one."""

    def __init__(self, database: sqlite3.Connection, *, me: Owner, started_of: StartedOf) -> None:
        self._database = database
        self._path = path_of(database)
        self._me = me
        self._started_of = started_of

    # --- reading ---

    def find(self, task_id: str) -> Task | None:
        with store_errors(self._path):
            row = self._database.execute(f"{SELECT} WHERE id = ?", (task_id,)).fetchone()
        return None if row is None else task_of(row)

    def get(self, task_id: str) -> Task:
        """Raises UsageError, with the name that was probably meant."""
        task = self.find(task_id)
        if task is None:
            raise unknown_task(task_id, self.ids())
        return task

    def exact_id(self, task_id: str) -> str:
        """The id as it was added, without reading the task: a damaged one can still be removed."""
        with store_errors(self._path):
            row = self._database.execute("SELECT id FROM tasks WHERE id = ?", (task_id,)).fetchone()
        if row is None:
            raise unknown_task(task_id, self.ids())
        return str(row[0])

    def list(self, wanted: TaskFilter | None = None, *, limit: int | None = None) -> Sequence[Task]:
        """By priority, then in the order in which they were added."""
        where, values = _where(wanted or TaskFilter())
        query = f"{SELECT}{where} ORDER BY priority, number LIMIT ?"
        return self._tasks(query, *values, -1 if limit is None else limit)

    def in_status(self, status: TaskStatus) -> Sequence[Task]:
        return self.list(TaskFilter(statuses=(status,)))

    def count(self, wanted: TaskFilter | None = None) -> int:
        where, values = _where(wanted or TaskFilter())
        with store_errors(self._path):
            query = f"SELECT count(*) FROM tasks{where}"  # noqa: S608 - constant terms
            return int(self._database.execute(query, values).fetchone()[0])

    def ids(self) -> Sequence[str]:
        with store_errors(self._path):
            return [name for (name,) in self._database.execute("SELECT id FROM tasks ORDER BY number")]

    def dependents(self, task_id: str) -> Sequence[str]:
        """The tasks that wait for this one."""
        query = """SELECT d.task_id FROM task_dependencies AS d JOIN tasks ON tasks.id = d.task_id
            WHERE d.needs_id = ? ORDER BY tasks.number"""
        with store_errors(self._path):
            return [name for (name,) in self._database.execute(query, (task_id,))]

    def waiting_for(self, task_id: str) -> Sequence[Task]:
        """The dependencies that are not done yet."""
        needed = "id IN (SELECT needs_id FROM task_dependencies WHERE task_id = ?)"
        return self._tasks(f"{SELECT} WHERE status <> 'done' AND {needed} ORDER BY priority, number", task_id)

    def unfinished(self) -> Mapping[str, TaskStatus]:
        """The tasks that are not done and that others wait for."""
        query = """SELECT id, status FROM tasks
            WHERE status <> 'done' AND id IN (SELECT needs_id FROM task_dependencies)"""
        with store_errors(self._path):
            return {name: status_of(name, status) for name, status in self._database.execute(query)}

    def ready(self, *, limit: int | None = None) -> Sequence[Task]:
        """The tasks that can begin now and that nobody works on, the most urgent first. Uses an index."""
        with store_errors(self._path):
            return list(self._ready(limit))

    # --- writing ---

    def add(self, tasks: Sequence[Task], *, at: float, along: Callable[[], None] | None = None) -> None:
        """All of them or none. Raises UsageError if an id is taken, a dependency unknown, or there is a circle.

        ``along``: written with them, or not at all.
        """
        now = datetime.fromtimestamp(at, UTC)
        placed = [((index,), task) for index, task in enumerate(tasks)]
        with self._writing():
            known = self.ids()
            # Existing tasks cannot depend on new ones, so a circle can only be among these.
            if problems := addition_problems(placed, known):
                raise UsageError("\n".join(problem.message for problem in problems), hint="nothing was added")
            rows = (row_of(replace(task, created_at=now, updated_at=now)) for task in tasks)
            self._database.executemany(INSERT, rows)
            self._database.executemany(EVENT, ((task.id, at, "created", "") for task in tasks))
            if along is not None:
                along()

    def change(self, task_id: str, rule: Callable[[Task], Task], *, at: float) -> Task:
        """Apply ``rule`` to the task and record what changed. Changed dependencies are checked. Raises UsageError."""
        with self._writing():
            before = self.get(task_id)
            after = rule(before)
            if after == before:
                return before
            if after.dependencies != before.dependencies:
                self._check_dependencies(after)
            after = replace(after, updated_at=datetime.fromtimestamp(at, UTC))
            self._database.execute(UPDATE, (*row_of(after)[1:], before.id))
            self._note(before.id, changes(before, after), at)
        return after

    def note(self, task_id: str, event: TaskEvent) -> None:
        """Record something that no change of the task shows by itself: a merge, a conflict."""
        with store_errors(self._path):
            self._note(task_id, [event], event.at)

    def remove(self, task_ids: Sequence[str], *, at: float) -> None:
        """Tasks and their history. Others no longer wait for them. Raises UsageError if one is being worked on."""
        with self._writing():
            names = [self.exact_id(name) for name in task_ids]
            for name in names:
                if (claim := self.claim_of(name)) is not None:
                    raise _busy(claim)
            for name in names:
                for dependent in self.dependents(name):
                    self._forget_dependency(dependent, name, at)
                self._database.execute("DELETE FROM tasks WHERE id = ?", (name,))
                self._database.execute(REMOVED, (name, at))

    # --- who works on what ---

    def claim(self, task_id: str, *, run_id: str, at: float) -> bool:
        """This process works on it from now on. False: another one does, or the task cannot begin."""
        with self._writing():
            task = self.find(task_id)
            if task is None:  # removed meanwhile
                return False
            holder = self.claim_of(task.id)
            if holder is not None and holder.owner != self._me:
                return False
            if task.status not in (TaskStatus.OPEN, TaskStatus.ACCEPTED) or self.waiting_for(task.id):
                return False
            self._take(task.id, run_id, at)
        return True

    def claim_next(self, *, run_id: str, at: float) -> Task | None:
        """The most urgent ready task, claimed; None if there is none now."""
        with self._writing():
            # Asked twice: how many it waits for is a count that whoever writes to the record can change.
            task = next((one for one in self._ready(None) if not self.waiting_for(one.id)), None)
            if task is not None:
                self._take(task.id, run_id, at)
        return task

    def release(self, task_id: str) -> None:
        """Remove this process's own claim."""
        with store_errors(self._path):
            self._database.execute(RELEASE, (task_id, *astuple(self._me)))

    def claim_of(self, task_id: str) -> TaskClaim | None:
        """The claim on the task, if there is one and its process is alive."""
        return next(iter(self._live_claims(f"{CLAIMS} WHERE task_id = ?", task_id).values()), None)

    def claims(self) -> Mapping[str, TaskClaim]:
        """All tasks that are being worked on now."""
        return self._live_claims(CLAIMS)

    # --- inside ---

    def _tasks(self, query: str, *values: object) -> Sequence[Task]:
        with store_errors(self._path):
            return [task_of(row) for row in self._database.execute(query, values)]

    def _live_claims(self, query: str, *values: str) -> dict[str, TaskClaim]:
        with store_errors(self._path):
            found = [_claim(row) for row in self._database.execute(query, values)]
        return {
            claim.task_id: claim
            for claim in found
            if not is_gone(
                claim.owner,
                claim.run_id,
                here=self._me,
                started_of=self._started_of,
                state_folder=self._path.parent,
            )
        }

    def _ready(self, limit: int | None) -> Iterator[Task]:
        taken = self.claims()
        left = -1 if limit is None else limit
        if left == 0:
            return
        for row in self._database.execute(READY):
            if row[0] not in taken:
                yield task_of(row)
                left -= 1
                if left == 0:
                    return

    def _take(self, task_id: str, run_id: str, at: float) -> None:
        self._database.execute(TAKE, (task_id, run_id, *astuple(self._me), at))

    def _check_dependencies(self, task: Task) -> None:
        placed = [((), task)]
        problems = unknown_dependencies(placed, self.ids())
        if not problems:
            needs: dict[str, list[str]] = {}
            for one, other in self._database.execute("SELECT task_id, needs_id FROM task_dependencies"):
                needs.setdefault(one, []).append(other)
            problems = circular_dependencies(placed, needs)
        if problems:
            raise UsageError("\n".join(problem.message for problem in problems), hint="nothing was changed")

    def _forget_dependency(self, task_id: str, name: str, at: float) -> None:
        before = self.get(task_id)
        after = replace(before, dependencies=tuple(one for one in before.dependencies if one != name))
        self._database.execute(UPDATE, (*row_of(after)[1:], before.id))
        self._note(before.id, [TaskEvent("edited", f"waits no longer for {name}, which was removed")], at)

    def _note(self, task_id: str, events: Iterable[TaskEvent], at: float) -> None:
        self._database.executemany(EVENT, ((task_id, at, event.kind, event.text) for event in events))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with store_errors(self._path), transaction(self._database):
            yield


def _where(wanted: TaskFilter) -> tuple[str, list[str]]:
    """The condition as SQL, empty if there is none, and its values."""
    values = [status.value for status in wanted.statuses]
    terms = [f"status IN ({', '.join('?' * len(values))})"] if values else []
    for column in ("spec_id", "stage", "assignee"):
        if value := getattr(wanted, column):
            terms.append(f"{column} = ?")
            values.append(value)
    if wanted.ready:
        terms.append("status = 'open' AND waits_for = 0")
    return f" WHERE {' AND '.join(terms)}" if terms else "", values


def _claim(row: tuple[str, str, int, str, str, str, float]) -> TaskClaim:
    return TaskClaim(row[0], row[1], Owner(row[2], row[3], row[4], row[5]), row[6])


def _busy(claim: TaskClaim) -> UsageError:
    what = f"run {claim.run_id}" if claim.run_id else f"process {claim.owner.pid}"
    message = f"task {claim.task_id} is being worked on by {what}"
    return UsageError(message, hint=f"end it first, with `ralph cancel {claim.task_id}`")
