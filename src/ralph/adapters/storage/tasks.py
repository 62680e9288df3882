"""The tasks of a project, in its database. Any process may use them; each change is one short transaction."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

from ralph.adapters.storage.database import store_errors
from ralph.adapters.storage.task_rows import CHANGEABLE, CHANGEABLE_PLACES, COLUMNS, PLACES, row_of, task_of
from ralph.domain.holder import Owner, is_stale
from ralph.domain.tasks.dependencies import addition_problems, circular_dependencies, unknown_dependencies
from ralph.domain.tasks.history import TaskEvent, changes
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.views.tasks import TaskFilter
from ralph.errors import UsageError

SELECT = f"SELECT {COLUMNS} FROM tasks"  # noqa: S608 - a constant
INSERT = f"INSERT INTO tasks ({COLUMNS}) VALUES ({PLACES})"  # noqa: S608
UPDATE = f"UPDATE tasks SET ({CHANGEABLE}) = ({CHANGEABLE_PLACES}) WHERE id = ?"  # noqa: S608
# Left to itself SQLite takes another index and sorts everything that is open.
READY = f"{SELECT} INDEXED BY tasks_ready WHERE status = 'open' AND waits_for = 0 ORDER BY priority, number"
CLAIMS = "SELECT task_id, run_id, pid, process_started, boot_id, host, since FROM task_claims"
TAKE = "INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?, ?, ?, ?)"
RELEASE = """DELETE FROM task_claims
    WHERE task_id = ? AND pid = ? AND process_started = ? AND boot_id = ? AND host = ?"""
EVENT = "INSERT INTO task_events (task_id, at, kind, text) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """Who works on a task."""

    task_id: str
    run_id: str
    owner: Owner
    since: float


class TaskStore:
    """``me`` is this process, ``started_of`` tells a live worker from one that is gone."""

    def __init__(
        self, database: sqlite3.Connection, *, me: Owner, started_of: Callable[[int], str | None]
    ) -> None:
        self._database = database
        self._path = Path(database.execute("PRAGMA database_list").fetchone()[2])
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
            raise self._unknown(task_id)
        return task

    def exact_id(self, task_id: str) -> str:
        """As it was added, without reading the task itself: a damaged one can still be removed."""
        with store_errors(self._path):
            row = self._database.execute("SELECT id FROM tasks WHERE id = ?", (task_id,)).fetchone()
        if row is None:
            raise self._unknown(task_id)
        return str(row[0])

    def list(self, wanted: TaskFilter | None = None, *, limit: int | None = None) -> Sequence[Task]:
        """By priority, then as they were added."""
        wanted = wanted or TaskFilter()
        terms, values = _terms(wanted)
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        query = f"{SELECT}{where} ORDER BY priority, number LIMIT ?"
        with store_errors(self._path):
            rows = self._database.execute(query, (*values, -1 if limit is None else limit))
            return [task_of(row) for row in rows]

    def in_status(self, status: TaskStatus) -> Sequence[Task]:
        return self.list(TaskFilter(statuses=(status,)))

    def count(self, wanted: TaskFilter | None = None) -> int:
        terms, values = _terms(wanted or TaskFilter())
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        with store_errors(self._path):
            query = f"SELECT count(*) FROM tasks{where}"  # noqa: S608 - constant terms
            return int(self._database.execute(query, values).fetchone()[0])

    def counts(self) -> Mapping[TaskStatus, int]:
        with store_errors(self._path):
            rows = self._database.execute("SELECT status, count(*) FROM tasks GROUP BY status").fetchall()
        return {TaskStatus(status): number for status, number in rows}

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
        query = f"{SELECT} WHERE status <> 'done' AND {needed} ORDER BY priority, number"
        with store_errors(self._path):
            return [task_of(row) for row in self._database.execute(query, (task_id,))]

    def unfinished(self) -> Mapping[str, TaskStatus]:
        """Everything that is not done and that others wait for."""
        query = """SELECT id, status FROM tasks
            WHERE status <> 'done' AND id IN (SELECT needs_id FROM task_dependencies)"""
        with store_errors(self._path):
            return {name: TaskStatus(status) for name, status in self._database.execute(query)}

    def ready(self, *, limit: int | None = None) -> Sequence[Task]:
        """What could be begun now and nobody works on, the most urgent first; by index, however many there are."""
        with store_errors(self._path):
            return list(self._ready(limit))

    # --- writing ---

    def add(self, tasks: Sequence[Task], *, at: float) -> None:
        """All of them or none. Raises UsageError if an id is taken, a dependency unknown, or there is a circle."""
        now = datetime.fromtimestamp(at, UTC)
        placed = [((index,), task) for index, task in enumerate(tasks)]
        with self._writing():
            known = self.ids()
            # Tasks that exist cannot depend on new ones, so a circle is among these alone.
            if problems := addition_problems(placed, known):
                raise UsageError("\n".join(problem.message for problem in problems), hint="nothing was added")
            rows = (row_of(replace(task, created_at=now, updated_at=now)) for task in tasks)
            self._database.executemany(INSERT, rows)
            self._database.executemany(EVENT, ((task.id, at, "created", "") for task in tasks))

    def change(self, task_id: str, rule: Callable[[Task], Task], *, at: float) -> Task:
        """Let ``rule`` make something else of the task as it is now; what happened is noted.

        Its dependencies are checked again if they change. Raises UsageError.
        """
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
        """Something worth telling that no change of the task says by itself: a merge, a conflict."""
        with store_errors(self._path):
            self._note(task_id, [event], event.at)

    def remove(self, task_ids: Sequence[str], *, at: float) -> None:
        """With their history. Tasks that waited for them wait no longer. Raises UsageError if one is worked on."""
        with self._writing():
            names = [self.exact_id(name) for name in task_ids]
            for name in names:
                if (claim := self.claim_of(name)) is not None:
                    raise _busy(claim)
            for name in names:
                for dependent in self.dependents(name):
                    self._forget_dependency(dependent, name, at)
                self._database.execute("DELETE FROM tasks WHERE id = ?", (name,))

    # --- who works on what ---

    def claim(self, task_id: str, *, run_id: str, at: float) -> bool:
        """This process works on it from now on. False: another live one does, or it cannot be begun."""
        with self._writing():
            task = self.get(task_id)
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
            task = next(self._ready(1), None)
            if task is not None:
                self._take(task.id, run_id, at)
        return task

    def release(self, task_id: str) -> None:
        """This process's own claim."""
        owner = self._me
        with store_errors(self._path):
            self._database.execute(
                RELEASE, (task_id, owner.pid, owner.process_started, owner.boot_id, owner.host)
            )

    def claim_of(self, task_id: str) -> TaskClaim | None:
        """None: nobody, or one whose process is gone."""
        with store_errors(self._path):
            row = self._database.execute(f"{CLAIMS} WHERE task_id = ?", (task_id,)).fetchone()
        claim = None if row is None else _claim(row)
        return claim if claim is not None and self._is_live(claim) else None

    def claims(self) -> Mapping[str, TaskClaim]:
        """All that are worked on now, by task."""
        with store_errors(self._path):
            found = [_claim(row) for row in self._database.execute(CLAIMS)]
        return {claim.task_id: claim for claim in found if self._is_live(claim)}

    # --- inside ---

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
        owner = self._me
        values = (task_id, run_id, owner.pid, owner.process_started, owner.boot_id, owner.host, at)
        self._database.execute(TAKE, values)

    def _is_live(self, claim: TaskClaim) -> bool:
        return not is_stale(claim.owner, here=self._me, started_of=self._started_of(claim.owner.pid))

    def _unknown(self, task_id: str) -> UsageError:
        near = get_close_matches(task_id, self.ids(), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`ralph task list` shows those there are"
        message = f"there is no task {task_id}"
        return UsageError(message, hint=hint)

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
        with store_errors(self._path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise


def _terms(wanted: TaskFilter) -> tuple[list[str], list[str]]:
    terms: list[str] = []
    values: list[str] = []
    if wanted.statuses:
        terms.append(f"status IN ({', '.join('?' * len(wanted.statuses))})")
        values += [status.value for status in wanted.statuses]
    for column, value in (
        ("spec_id", wanted.spec_id),
        ("stage", wanted.stage),
        ("assignee", wanted.assignee),
    ):
        if value:
            terms.append(f"{column} = ?")
            values.append(value)
    if wanted.ready:
        terms.append("status = 'open' AND waits_for = 0")
    return terms, values


def _claim(row: tuple[str, str, int, str, str, str, float]) -> TaskClaim:
    return TaskClaim(row[0], row[1], Owner(row[2], row[3], row[4], row[5]), row[6])


def _busy(claim: TaskClaim) -> UsageError:
    what = f"run {claim.run_id}" if claim.run_id else f"process {claim.owner.pid}"
    message = f"task {claim.task_id} is being worked on by {what}"
    return UsageError(message, hint=f"end it first, with `ralph cancel {claim.task_id}`")
