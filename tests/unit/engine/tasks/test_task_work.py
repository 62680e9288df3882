"""One task through its roles: only the harness moves it on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ralph.domain.loop.assignment import Assignment, Drained
from ralph.domain.loop.decision import Accept, Continue, Decision, GiveUp, Outcome, Retry, Stop
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.session_report import AgentReport, Ending
from ralph.domain.loop.state import LoopState
from ralph.domain.tasks.completion import TaskCompletionSpec
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task, TaskStatus, cancel
from ralph.engine.tasks.work import TaskWork

EVIDENCE = Evidence(AgentReport(Ending.EXITED, 0))


class Record:
    """In memory; ``back`` counts how often the task was put back."""

    def __init__(self, task: Task) -> None:
        self.now = task
        self.back = 0
        self.settled: list[str] = []

    def task(self) -> Task:
        return self.now

    def put_back(self, task: Task) -> None:
        self.now = task
        self.back += 1

    def settle(
        self, before: Task, after: Task, *, evidence: Evidence | None, decision: Decision, role: str
    ) -> None:
        self.now = after
        self.settled.append(role)


def made(roles: tuple[str, ...] = ("coder", "qa")) -> tuple[Record, TaskWork]:
    spec = TaskCompletionSpec("done", ["it works"])
    record = Record(Task(id="T", title="Do it", completion_spec=spec))
    pipeline = Pipeline(roles=roles, finished=TaskStatus.ACCEPTED)
    return record, TaskWork(record, pipeline, objective=lambda task, role: f"{role} of {task.id}")


def offered(work: TaskWork) -> Assignment:
    offer = asyncio.run(work.next(LoopState()))
    assert isinstance(offer, Assignment)
    return offer


def settle(work: TaskWork, assignment: Assignment, decision: Decision) -> None:
    asyncio.run(work.settle(assignment, EVIDENCE, decision))


def test_each_role_has_its_turn_and_then_it_is_drained() -> None:
    record, work = made()
    for role in ("coder", "qa"):
        assignment = offered(work)
        assert (assignment.role, assignment.used) == (role, 0)
        assert assignment.environment == {"RALPH_TASK_ID": "T", "RALPH_ROLE": role}
        settle(work, assignment, Accept("fine"))

    assert isinstance(asyncio.run(work.next(LoopState())), Drained)
    assert record.now.status is TaskStatus.ACCEPTED
    assert record.now.iterations == {"coder": 1, "qa": 1}
    assert record.back == 0


def test_iterations_are_counted_and_a_rejection_goes_back() -> None:
    _, work = made()
    settle(work, offered(work), Continue("not yet"))
    again = offered(work)
    assert (again.role, again.used) == ("coder", 1)
    settle(work, again, Accept("fine"))
    settle(work, offered(work), GiveUp("wrong"))
    back = offered(work)
    assert (back.role, back.used) == ("coder", 0)
    assert isinstance(back.subject, Task)
    assert back.subject.remarks == ("qa: wrong",)


def test_what_was_not_judged_counts_nothing() -> None:
    record, work = made()
    for decision in (Retry("busy"), Stop(Outcome.CANCELLED, "stopped")):
        settle(work, offered(work), decision)
    assert record.settled == []


def test_settling_twice_counts_once() -> None:
    record, work = made()
    assignment = offered(work)
    settle(work, assignment, Accept("fine"))
    settle(work, assignment, Accept("fine"))
    assert record.settled == ["coder"]


def test_a_task_that_somebody_moved_on_is_put_back() -> None:
    record, work = made()
    assignment = offered(work)
    record.now = replace(record.now, status=TaskStatus.ACCEPTED, completion_spec=None)
    settle(work, assignment, Continue("not yet"))

    assert record.back == 1
    assert record.now.status is TaskStatus.OPEN
    assert record.now.completion_spec is not None
    assert offered(work).used == 1


def test_a_cancelled_task_stays_cancelled() -> None:
    record, work = made()
    assignment = offered(work)
    record.now = cancel(record.now)
    settle(work, assignment, Accept("fine"))

    assert record.now.status is TaskStatus.CANCELLED
    drained = asyncio.run(work.next(LoopState()))
    assert isinstance(drained, Drained)
    assert drained.unfinished == ("T",)


def test_other_changes_of_the_user_are_kept() -> None:
    record, work = made()
    assignment = offered(work)
    record.now = replace(record.now, status=TaskStatus.DONE, priority=1)
    settle(work, assignment, Continue("not yet"))

    assert record.now.priority == 1
