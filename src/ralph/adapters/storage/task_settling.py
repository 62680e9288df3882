"""What an iteration made of a task, on record in the same transaction as the state of its run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from ralph.adapters.storage.task_rows import COLUMNS, PLACES, row_of
from ralph.adapters.storage.tasks import EVENT, TaskStore
from ralph.domain.loop.decision import Accept, Decision, GiveUp
from ralph.domain.loop.evidence import Evidence
from ralph.domain.tasks.history import changes, why_not
from ralph.domain.tasks.task import Task, keep_progress

Statement = tuple[str, tuple[object, ...]]

# A task that was cancelled meanwhile stays cancelled.
UPDATE = f"UPDATE tasks SET ({COLUMNS}) = ({PLACES}) WHERE id = ? AND status <> 'cancelled'"  # noqa: S608
ADD_VERIFICATION = """INSERT INTO verifications
    (task_id, at, role, iteration, method, promise_found, verified, reason, seconds, run_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
# Figures come from the iterations of this visit: they survive a restart, and a counter of ours would not.
ADD_STAGE = """INSERT INTO task_stages
    (task_id, at, role, method, accepted, iterations, seconds, cost_usd, tokens, reason, run_id)
    SELECT ?, ?, ?, ?, ?, ?, coalesce(sum(ended_at - started_at), 0), sum(cost_usd), coalesce(sum(tokens), 0), ?, ?
    FROM iterations WHERE run_id = ? AND assignment = ? AND ended_at IS NOT NULL
    AND started_at > coalesce((SELECT max(at) FROM task_stages WHERE task_id = ?), 0)"""


class TaskSettling:
    """``enlist`` puts statements into the transaction that saves the run's state next."""

    def __init__(
        self,
        store: TaskStore,
        task_id: str,
        *,
        run_id: str,
        methods: Mapping[str, str],
        enlist: Callable[[Iterable[Statement]], None],
        now: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        self._store = store
        self._task_id = task_id
        self._run_id = run_id
        self._methods = methods
        self._enlist = enlist
        self._now = now
        self._warn = warn

    def task(self) -> Task:
        return self._store.get(self._task_id)

    def put_back(self, task: Task) -> None:
        self._warn(f"{task.id} was changed on record while it was worked on; that was undone")
        self._store.change(self._task_id, lambda now: keep_progress(task, now), at=self._now())

    def settle(
        self, before: Task, after: Task, *, evidence: Evidence | None, decision: Decision, role: str
    ) -> None:
        at = self._now()
        changed = replace(after, updated_at=datetime.fromtimestamp(at, UTC))
        statements: list[Statement] = [(UPDATE, (*row_of(changed), before.id))]
        statements += [(EVENT, (before.id, at, event.kind, event.text)) for event in changes(before, after)]
        method = self._methods.get(role, "")
        if evidence is not None:
            seconds = sum(result.seconds for result in evidence.results)
            accepted = isinstance(decision, Accept)
            reason = decision.reason if accepted else why_not(evidence) or decision.reason
            statements.append(
                (
                    ADD_VERIFICATION,
                    (
                        before.id,
                        at,
                        role,
                        before.used + 1,
                        method,
                        int(evidence.claimed),
                        int(accepted),
                        reason,
                        seconds,
                        self._run_id,
                    ),
                )
            )
        if isinstance(decision, Accept | GiveUp):
            used = before.used + (evidence is not None)
            statements.append(
                (
                    ADD_STAGE,
                    (
                        *(before.id, at, role, method, int(isinstance(decision, Accept)), used),
                        *(decision.reason, self._run_id),
                        *(self._run_id, f"{before.id}/{role}", before.id),
                    ),
                )
            )
        self._enlist(statements)
