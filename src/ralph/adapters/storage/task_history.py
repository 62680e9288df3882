"""What became of tasks: their events, verifications and finished stages, and how an iteration adds to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from ralph.adapters.storage.database import Statement, store_errors
from ralph.adapters.storage.task_rows import COLUMNS, PLACES, row_of
from ralph.adapters.storage.tasks import EVENT, TaskStore
from ralph.domain.loop.decision import Accept, Continue, Decision, GiveUp
from ralph.domain.loop.evidence import Evidence
from ralph.domain.tasks.history import StageRecord, TaskEvent, VerificationRecord, changes, why_not
from ralph.domain.tasks.task import Task, keep_progress
from ralph.values import dataclass, replace

VERIFICATION = "task_id, at, role, iteration, method, promise_found, verified, reason, seconds, run_id"
STAGE = "task_id, at, role, method, accepted, iterations, seconds, cost_usd, tokens, reason, run_id"
_FLAGS = frozenset({"promise_found", "verified", "accepted"})

ADD_VERIFICATION = f"INSERT INTO verifications ({VERIFICATION}) VALUES ({', '.join('?' * 10)})"  # noqa: S608
# The figures come from the iterations of this visit: they survive a restart, and a counter of ours would not.
ADD_STAGE = f"""INSERT INTO task_stages ({STAGE})
    SELECT ?, ?, ?, ?, ?, ?, coalesce(sum(ended_at - started_at), 0), sum(cost_usd), coalesce(sum(tokens), 0), ?, ?
    FROM iterations WHERE run_id = ? AND assignment = ? AND ended_at IS NOT NULL
    AND started_at > coalesce((SELECT max(at) FROM task_stages WHERE task_id = ?), 0)"""  # noqa: S608
# A task that was cancelled meanwhile stays cancelled.
UPDATE = f"UPDATE tasks SET ({COLUMNS}) = ({PLACES}) WHERE id = ? AND status <> 'cancelled'"  # noqa: S608


def verification_statement(record: VerificationRecord) -> Statement:
    return ADD_VERIFICATION, attrgetter(*VERIFICATION.split(", "))(record)


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Reads from the database of the tasks."""

    database: sqlite3.Connection
    path: Path

    def verifications(self, task_id: str, *, limit: int | None = None) -> Sequence[VerificationRecord]:
        """Newest first."""
        query = f"SELECT {VERIFICATION} FROM verifications WHERE task_id = ? ORDER BY seq DESC LIMIT ?"  # noqa: S608
        rows = self._rows(query, task_id, -1 if limit is None else limit)
        return [VerificationRecord(**_named(VERIFICATION, row)) for row in rows]

    def stages(self, *, task_id: str | None = None, role: str | None = None) -> Sequence[StageRecord]:
        """In the order in which they were settled."""
        given = {
            column: value for column, value in (("task_id", task_id), ("role", role)) if value is not None
        }
        where = f" WHERE {' AND '.join(f'{column} = ?' for column in given)}" if given else ""
        rows = self._rows(f"SELECT {STAGE} FROM task_stages{where} ORDER BY seq", *given.values())  # noqa: S608
        return [StageRecord(**_named(STAGE, row)) for row in rows]

    def events(self, task_id: str) -> Sequence[TaskEvent]:
        """In the order in which they happened."""
        query = "SELECT kind, text, at FROM task_events WHERE task_id = ? ORDER BY seq"
        return [TaskEvent(*row) for row in self._rows(query, task_id)]

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with store_errors(self.path):
            return self.database.execute(query, values).fetchall()


def _named(columns: str, row: tuple[Any, ...]) -> dict[str, Any]:
    values = zip(columns.split(", "), row, strict=True)
    return {name: bool(value) if name in _FLAGS else value for name, value in values}


@dataclass(frozen=True, slots=True)
class TaskSettling:
    """Records what an iteration made of a task.

    ``enlist`` adds statements to the transaction that saves the run's state next: task and run change together.
    """

    store: TaskStore
    task_id: str
    run_id: str
    methods: Mapping[str, str]
    enlist: Callable[[Iterable[Statement]], None]
    now: Callable[[], float]
    warn: Callable[[str], None]

    def task(self) -> Task:
        return self.store.get(self.task_id)

    def put_back(self, task: Task) -> None:
        self.warn(f"{task.id} was changed in the record during the work on it; that was undone")
        self.store.change(self.task_id, lambda now: keep_progress(task, now), at=self.now())

    def settle(
        self, before: Task, after: Task, *, evidence: Evidence | None, decision: Decision, role: str
    ) -> None:
        at, run_id = self.now(), self.run_id
        method = self.methods.get(role, "")
        accepted = isinstance(decision, Accept)
        changed = replace(after, updated_at=datetime.fromtimestamp(at, UTC))
        statements: list[Statement] = [(UPDATE, (*row_of(changed), before.id))]
        statements += [(EVENT, (before.id, at, event.kind, event.text)) for event in changes(before, after)]
        if evidence is not None:
            record = VerificationRecord(
                task_id=before.id,
                at=at,
                role=role,
                iteration=before.used + 1,
                method=method,
                promise_found=evidence.claimed,
                verified=accepted,
                reason=(why_not(evidence) if isinstance(decision, Continue) else "") or decision.reason,
                seconds=sum(result.seconds for result in evidence.results),
                run_id=run_id,
            )
            statements.append(verification_statement(record))
        if isinstance(decision, Accept | GiveUp):
            used = before.used + (evidence is not None)
            settled = (before.id, at, role, method, accepted, used, decision.reason, run_id)
            statements.append((ADD_STAGE, (*settled, run_id, f"{before.id}/{role}", before.id)))
        self.enlist(statements)
