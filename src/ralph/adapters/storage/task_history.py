"""What became of tasks: their events, each verification, each settled stage."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.storage.database import store_errors
from ralph.domain.tasks.history import StageRecord, TaskEvent, VerificationRecord

VERIFICATION = "task_id, at, role, iteration, method, promise_found, verified, reason, seconds, run_id"
STAGE = "task_id, at, role, method, accepted, iterations, seconds, cost_usd, tokens, reason, run_id"
ADD_VERIFICATION = f"INSERT INTO verifications ({VERIFICATION}) VALUES ({', '.join('?' * 10)})"  # noqa: S608
ADD_STAGE = f"INSERT INTO task_stages ({STAGE}) VALUES ({', '.join('?' * 11)})"  # noqa: S608


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Over the same database as the tasks."""

    database: sqlite3.Connection
    path: Path

    def add_verification(self, record: VerificationRecord) -> None:
        values = (
            record.task_id,
            record.at,
            record.role,
            record.iteration,
            record.method,
            int(record.promise_found),
            int(record.verified),
            record.reason,
            record.seconds,
            record.run_id,
        )
        with store_errors(self.path):
            self.database.execute(ADD_VERIFICATION, values)

    def verifications(self, task_id: str, *, limit: int | None = None) -> Sequence[VerificationRecord]:
        """The newest first."""
        query = f"SELECT {VERIFICATION} FROM verifications WHERE task_id = ? ORDER BY seq DESC LIMIT ?"  # noqa: S608
        with store_errors(self.path):
            rows = self.database.execute(query, (task_id, -1 if limit is None else limit)).fetchall()
        return [
            VerificationRecord(
                task_id=row[0],
                at=row[1],
                role=row[2],
                iteration=row[3],
                method=row[4],
                promise_found=bool(row[5]),
                verified=bool(row[6]),
                reason=row[7],
                seconds=row[8],
                run_id=row[9],
            )
            for row in rows
        ]

    def add_stage(self, record: StageRecord) -> None:
        values = (
            record.task_id,
            record.at,
            record.role,
            record.method,
            int(record.accepted),
            record.iterations,
            record.seconds,
            record.cost_usd,
            record.tokens,
            record.reason,
            record.run_id,
        )
        with store_errors(self.path):
            self.database.execute(ADD_STAGE, values)

    def stages(self, *, task_id: str | None = None, role: str | None = None) -> Sequence[StageRecord]:
        """In the order in which they were settled."""
        given = [("task_id", task_id), ("role", role)]
        terms = [f"{column} = ?" for column, value in given if value is not None]
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        query = f"SELECT {STAGE} FROM task_stages{where} ORDER BY seq"  # noqa: S608 - constant terms
        with store_errors(self.path):
            rows = self.database.execute(query, [value for _, value in given if value is not None]).fetchall()
        return [
            StageRecord(
                task_id=row[0],
                at=row[1],
                role=row[2],
                method=row[3],
                accepted=bool(row[4]),
                iterations=row[5],
                seconds=row[6],
                cost_usd=row[7],
                tokens=row[8],
                reason=row[9],
                run_id=row[10],
            )
            for row in rows
        ]

    def events(self, task_id: str) -> Sequence[TaskEvent]:
        """In the order in which they happened."""
        query = "SELECT kind, text, at FROM task_events WHERE task_id = ? ORDER BY seq"
        with store_errors(self.path):
            return [TaskEvent(*row) for row in self.database.execute(query, (task_id,))]
