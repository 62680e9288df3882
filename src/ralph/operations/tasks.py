"""What a person can do with the tasks of a project."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from ralph.adapters.processes.process_table import is_ancestor, started_of, this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.task_history import TaskHistory
from ralph.adapters.storage.tasks import TaskStore
from ralph.domain.loop.asks import Ask
from ralph.domain.tasks.history import StageRecord, TaskEvent, VerificationRecord
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.domain.tasks.task import (
    Task,
    TaskAsk,
    TaskStatus,
    can_be_cancelled,
    can_be_reopened,
    cancel,
    redefine,
    reopen,
)
from ralph.domain.text.masking import mask_all, mask_text
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.tasks import TaskFilter, TaskView, view_of
from ralph.errors import UsageError
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.adapters.storage.tickets import TicketStore
    from ralph.domain.tasks.entry import Known
    from ralph.domain.tasks.estimate import WorkEstimate
    from ralph.wiring.launch import Launch


def known_names(folder: Path) -> tuple[Known, CompletionDefaults]:
    """The roles in the settings and the methods installed. Raises ConfigError if the settings are wrong."""
    from ralph.adapters.checks.custom_method import is_custom_method
    from ralph.config.loading import load
    from ralph.domain.tasks.entry import Known
    from ralph.wiring.pipelines import completion_defaults

    defaults = completion_defaults(load(folder.parent, environ=os.environ).settings)
    return Known(tuple(defaults.roles), is_custom_method), defaults


# --- read ---


def has_tasks(folder: Path) -> bool:
    """Whether there is a record that may hold tasks."""
    return (folder / "ralph.db").exists()


def task_ids(folder: Path) -> Sequence[str]:
    """All ids; none, and nothing is created, if there is no record yet."""
    if not has_tasks(folder):
        return ()
    with _open(folder) as record:
        return record.store.ids()


def list_tasks(
    folder: Path, wanted: TaskFilter, *, limit: int | None = None
) -> tuple[Sequence[TaskView], int]:
    """The most urgent first, and how many there are regardless of the limit."""
    if not has_tasks(folder):
        return (), 0
    with _open(folder) as record:
        store = record.store
        unfinished, claims = store.unfinished(), store.claims()
        views = [
            view_of(task, unfinished, claims[task.id].run_id if task.id in claims else None)
            for task in store.list(wanted, limit=limit)
        ]
        return mask_all(views, mask_text), store.count(wanted)


@dataclass(frozen=True, slots=True)
class TaskDetail:
    """One task and its history. ``verifications``: the newest first; the rest in order."""

    view: TaskView
    dependents: Sequence[str]
    verifications: Sequence[VerificationRecord]
    stages: Sequence[StageRecord]
    events: Sequence[TaskEvent]


def show_task(folder: Path, task_id: str) -> TaskDetail:
    with _open(folder) as record:
        store, history = record.store, record.history
        task = store.get(task_id)
        unfinished = {other.id: other.status for other in store.waiting_for(task.id)}
        claim = store.claim_of(task.id)
        detail = TaskDetail(
            view_of(task, unfinished, None if claim is None else claim.run_id),
            store.dependents(task.id),
            history.verifications(task.id),
            history.stages(task_id=task.id),
            history.events(task.id),
        )
        return mask_all(detail, mask_text)


def find_tasks(folder: Path, task_ids: Sequence[str] = (), *, spec_id: str = "") -> Sequence[Task]:
    """The tasks named, or all; with ``spec_id``, only those of that spec."""
    with _open(folder) as record:
        store = record.store
        chosen = [store.get(name) for name in dict.fromkeys(task_ids)]
        found = chosen or store.list(TaskFilter(spec_id=spec_id))
        return [task for task in found if spec_id in ("", task.spec_id)]


def stage_records(folder: Path, *, role: str | None = None) -> Sequence[StageRecord]:
    """Every finished stage of every task, for statistics."""
    with _open(folder) as record:
        return record.history.stages(role=role)


def estimate_of(launch: Launch) -> WorkEstimate:
    """What the tasks of a prepared `ralph work` will probably cost. Starts and writes nothing."""
    from ralph.domain.tasks.estimate import estimate_work
    from ralph.wiring.runs.work_run import WorkComposition

    composition = launch.composition
    assert isinstance(composition, WorkComposition)
    with _open(launch.state_folder) as record:
        every = {task.id: task for task in record.store.list()}
        names = [record.store.exact_id(name) for name in composition.tasks] or list(every)
        estimate = estimate_work(
            [every[name] for name in dict.fromkeys(names)],
            record.history.stages(),
            composition.pipeline,
            launch.budget(),
            every=every,
        )
    return mask_all(estimate, mask_text)


# --- change ---


def add_tasks(folder: Path, tasks: Sequence[Task]) -> None:
    """All or none; creates the record if there is none. Raises UsageError."""
    with _open_for_change(folder, create=True) as record:
        record.store.add(tasks, at=time.time())


def add_task(folder: Path, task: Task) -> Task:
    """Gives the task as it was recorded. Raises UsageError."""
    with _open_for_change(folder, create=True) as record:
        record.store.add([task], at=time.time())
        added = record.store.get(task.id)
    _agree(folder, added)
    return added


def _agree(folder: Path, task: Task) -> None:
    """Whoever types or edits a task has seen the commands that verify it; a file of many tasks is asked about."""
    from ralph.domain.tasks.demands import task_demands
    from ralph.operations.trust import agree

    if demands := task_demands([task]):
        agree(folder.parent, demands)


def followup_entry(folder: Path, parent_id: str, own_id: str | None = None) -> dict[str, Any]:
    """What a follow-up task takes over from its parent."""
    from ralph.domain.tasks.entry import followup_id

    with _open_for_change(folder) as record:
        parent = record.store.get(parent_id)
        return {
            "id": followup_id(parent.id, record.store.ids()) if own_id is None else own_id,
            "spec_id": parent.spec_id,
            "priority": parent.priority,
            "metadata": {"follows": parent.id},
            "dependencies": [parent.id],
        }


def editable_task(folder: Path, task_id: str) -> Task:
    """Raises UsageError if there is no such task, or a run is working on it."""
    with _open_for_change(folder) as record:
        task = record.store.get(task_id)
        record.refuse_if_busy(task.id)
        return task


def redefine_task(folder: Path, task_id: str, wanted: Task, *, is_typed: bool) -> Task:
    """Give the task the definition of ``wanted``; its progress stays. Raises UsageError.

    ``is_typed``: by the user, who has seen all of it.
    """
    with _open_for_change(folder) as record:
        record.refuse_if_busy(task_id)
        changed = record.store.change(task_id, lambda task: redefine(task, wanted), at=time.time())
    if is_typed:
        _agree(folder, changed)
    return changed


def cancel_tasks(folder: Path, task_ids: Sequence[str]) -> Sequence[Task]:
    """All or none. A run working on one is told to stop now; its work so far stays in the task's branch."""
    with _open_for_change(folder) as record:
        found = record.require(task_ids, can_be_cancelled, "there is nothing to cancel")
        return [record.cancel(task) for task in found]


def retry_tasks(folder: Path, task_ids: Sequence[str], *, role: str | None = None) -> Sequence[Task]:
    """Reopen failed or cancelled tasks, where they stopped or at ``role``. All or none."""
    with _open_for_change(folder) as record:
        found = record.require(task_ids, can_be_reopened, "only failed or cancelled tasks can be tried again")
        now = time.time()
        return [record.store.change(task.id, lambda one: reopen(one, role), at=now) for task in found]


def ask_of_task(folder: Path, task_id: str, request: TaskAsk) -> Task:
    """Cancel or retry one task. Raises UsageError if there is no such task, or its state does not allow it."""
    change = cancel_tasks if request is TaskAsk.CANCEL else retry_tasks
    (after,) = change(folder, [task_id])
    return after


def tasks_to_remove(folder: Path, task_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """The exact ids, each with the other tasks that depend on it."""
    with _open_for_change(folder) as record:
        names = dict.fromkeys(record.store.exact_id(name) for name in task_ids)
        return {name: [one for one in record.store.dependents(name) if one not in names] for name in names}


def remove_tasks(folder: Path, task_ids: Sequence[str]) -> None:
    """With their history. Other tasks no longer wait for them. Raises UsageError if a run is working on one."""
    with _open_for_change(folder) as record:
        record.store.remove(task_ids, at=time.time())


# --- the record ---


@dataclass(frozen=True, slots=True)
class _Record:
    database: Connection
    path: Path
    store: TaskStore
    history: TaskHistory

    @property
    def tickets(self) -> TicketStore:
        from ralph.adapters.storage.tickets import TicketStore

        return TicketStore(self.database, self.store, now=time.time)

    def require(
        self, task_ids: Sequence[str], allowed: Callable[[Task], bool], why_not: str
    ) -> Sequence[Task]:
        found = [self.store.get(name) for name in dict.fromkeys(task_ids)]
        for task in found:
            if not allowed(task):
                message = f"task {clean_line(task.id)} is {task.status}: {why_not}"
                instead = {
                    TaskStatus.DONE: "`ralph task followup` adds what is missing",
                    TaskStatus.OPEN: f"`ralph work {clean_line(task.id)}` works on it",
                    TaskStatus.ACCEPTED: f"`ralph work {clean_line(task.id)}` merges it",
                }
                raise UsageError(message, hint=instead.get(task.status, "`ralph task list` shows the tasks"))
        return found

    def cancel(self, task: Task) -> Task:
        claim, now = self.store.claim_of(task.id), time.time()
        after = self.store.change(task.id, cancel, at=now)
        if claim is not None and claim.run_id:
            from ralph.adapters.storage.controls import Controls

            Controls(self.database, self.path, claim.run_id).ask(Ask.STOP_NOW, at=now)
        return after

    def refuse_if_busy(self, task_id: str) -> None:
        if (claim := self.store.claim_of(task_id)) is not None:
            message = f"task {task_id} is being worked on by run {claim.run_id or claim.owner.pid}"
            raise UsageError(message, hint=f"stop it first with `ralph cancel {task_id}`")


@contextmanager
def _open(folder: Path, *, create: bool = False) -> Iterator[_Record]:
    path = folder / "ralph.db"
    if not create and not path.exists():
        message = "there are no tasks here yet"
        raise UsageError(message, hint="add some with `ralph task create` or `ralph task add`")
    with closing(open_state_database(folder)) as database:
        store = TaskStore(database, me=this_process(), started_of=started_of)
        yield _Record(database, path, store, TaskHistory(database, path))


@contextmanager
def open_record(folder: Path, *, create: bool = False) -> Iterator[_Record]:
    """For what else changes tasks. Raises UsageError inside an agent that works on one."""
    with _open_for_change(folder, create=create) as record:
        yield record


@contextmanager
def _open_for_change(folder: Path, *, create: bool = False) -> Iterator[_Record]:
    """Raises UsageError inside an agent that works on a task: it must not redefine the work."""
    if task := os.environ.get("RALPH_TASK_ID"):
        raise _inside(task)
    with _open(folder, create=create) as record:
        if inside := next(
            (claim for claim in record.store.claims().values() if is_ancestor(claim.owner)), None
        ):
            raise _inside(inside.task_id)
        yield record


def _inside(task: str) -> UsageError:
    message = f"this is inside the work on task {clean_line(task)}, which may not change tasks"
    return UsageError(message, hint="say in your final message what should change; a person decides")
