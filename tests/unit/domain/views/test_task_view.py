"""A task on a screen, and what is told of its changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.tasks.history import changes
from ralph.domain.tasks.task import Task, TaskStatus, cancel, count_iteration, reopen
from ralph.domain.views.tasks import TaskState, view_of

TASK = Task(id="T", title="t", dependencies=("A", "B"))


@pytest.mark.parametrize(
    ("unfinished", "run_id", "state"),
    [
        ({}, None, TaskState.READY),
        ({"A": TaskStatus.OPEN}, None, TaskState.WAITING),
        ({"A": TaskStatus.OPEN, "B": TaskStatus.FAILED}, None, TaskState.BLOCKED),
        ({"B": TaskStatus.CANCELLED}, None, TaskState.BLOCKED),
        ({"X": TaskStatus.FAILED}, None, TaskState.READY),
        ({}, "run-1", TaskState.WORKING),
    ],
)
def test_an_open_task_says_why_it_is_not_done(
    unfinished: dict[str, TaskStatus], run_id: str | None, state: TaskState
) -> None:
    view = view_of(TASK, unfinished, run_id)
    assert view.state is state
    assert view.waits_for == tuple(name for name in ("A", "B") if name in unfinished)


@pytest.mark.parametrize("status", [status for status in TaskStatus if status is not TaskStatus.OPEN])
def test_a_task_that_is_over_shows_how_it_ended(status: TaskStatus) -> None:
    assert view_of(replace(TASK, status=status), {}).state == status.value


def told(before: Task, after: Task) -> list[tuple[str, str]]:
    return [(event.kind, event.text) for event in changes(before, after)]


def test_counting_an_iteration_is_not_worth_a_word() -> None:
    begun = count_iteration(TASK, "coder")
    assert told(TASK, begun) == [("stage", "coder")]
    assert told(begun, count_iteration(begun, "coder")) == []


def test_changes_are_told_in_order() -> None:
    back = replace(TASK, stage="coder", rejections=1, remarks=("qa: no",))
    assert told(TASK, back) == [("rejected", "qa: no"), ("stage", "coder")]
    assert told(TASK, replace(TASK, title="u", priority=1)) == [("edited", "title, priority")]
    gone = cancel(TASK, "by hand")
    assert told(TASK, gone) == [("cancelled", "by hand")]
    assert told(gone, reopen(gone)) == [("reopened", "was cancelled")]
