"""What may happen to a task, and a task's way through JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.task import (
    EARLIER,
    Task,
    TaskAsk,
    TaskBudget,
    TaskStatus,
    can_be_reopened,
    cancel,
    count_iteration,
    mark_merged,
    possible_asks,
    reopen,
)

MOMENTS = st.datetimes(timezones=st.just(UTC), min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1))  # noqa: DTZ001
NAMES = st.text("abcXYZ019-_", min_size=1, max_size=9)
TASKS = st.builds(
    Task,
    id=NAMES,
    title=st.text(),
    spec_id=st.text(),
    description=st.text(),
    priority=st.integers(-1000, 1000),
    dependencies=st.lists(NAMES, unique=True).map(tuple),
    assignee=st.text(),
    metadata=st.dictionaries(st.text(), st.text() | st.integers()),
    completion_spec=st.none()
    | st.builds(
        TaskCompletionSpec,
        st.text(),
        st.lists(st.text()),
        st.fixed_dictionaries({"coder": st.builds(CompletionCriteria, st.text())}),
    ),
    budget=st.builds(TaskBudget, st.none() | st.floats(0.1, 99), st.none() | st.integers(1, 99)),
    status=st.sampled_from(TaskStatus),
    stage=st.sampled_from(["", "coder", "qa"]),
    used=st.integers(0, 20),
    iterations=st.dictionaries(st.sampled_from(["coder", "qa"]), st.integers(1, 20)),
    rejections=st.integers(0, 5),
    remarks=st.lists(st.text()).map(tuple),
    reason=st.text(),
    branch=st.text(),
    base_commit=st.text(),
    created_at=MOMENTS,
    updated_at=MOMENTS,
)


@given(TASKS)
def test_a_task_can_be_written_as_json_with_its_definition_and_its_state(task: Task) -> None:
    written = json.loads(json.dumps(task.to_dict()))
    assert written["id"] == task.id
    assert written["remarks"] == list(task.remarks)
    assert datetime.fromisoformat(written["created_at"]) == task.created_at
    spec = written["completion_spec"]
    assert (TaskCompletionSpec.from_dict(spec) if spec else None) == task.completion_spec


def test_a_task_has_the_documented_fields() -> None:
    fields = {
        "id", "spec_id", "title", "description", "status", "priority", "dependencies", "assignee", "created_at",
        "updated_at", "metadata", "iteration", "completion_spec",
    }  # fmt: skip
    assert fields <= Task(id="T-1", title="t").to_dict().keys()


@given(TASKS)
def test_what_is_over_cannot_be_cancelled(task: Task) -> None:
    after = cancel(task)
    if task.status in (TaskStatus.OPEN, TaskStatus.ACCEPTED):
        assert (after.status, after.reason) == (TaskStatus.CANCELLED, "cancelled by the user")
    else:
        assert after == task


@given(TASKS)
def test_what_was_not_finished_is_tried_anew_where_it_stood(task: Task) -> None:
    after = reopen(task)
    if not can_be_reopened(task):
        assert after == task
        return
    assert (after.status, after.used, after.rejections, after.reason) == (TaskStatus.OPEN, 0, 0, "")
    assert (after.stage, after.iterations) == (task.stage, task.iterations)
    assert {one.removeprefix(EARLIER) for one in after.remarks} >= set(task.remarks)
    assert reopen(task, "coder").stage == "coder"


@pytest.mark.parametrize("status", [TaskStatus.OPEN, TaskStatus.ACCEPTED, TaskStatus.DONE])
def test_only_failed_and_cancelled_tasks_are_reopened(status: TaskStatus) -> None:
    assert not can_be_reopened(Task(id="T", title="t", status=status))


def test_iterations_are_counted_by_role_and_by_visit() -> None:
    task = Task(id="T", title="t")
    for role in ("coder", "coder", "reviewer", "coder"):
        task = count_iteration(task, role)
    assert (task.iterations, task.iteration) == ({"coder": 3, "reviewer": 1}, 4)
    assert (task.stage, task.used) == ("coder", 1)


def test_only_an_accepted_task_is_done_by_a_merge() -> None:
    assert mark_merged(Task(id="T", title="t", status=TaskStatus.ACCEPTED)).status is TaskStatus.DONE
    failed = Task(id="T", title="t", status=TaskStatus.FAILED)
    assert mark_merged(failed) is failed


@pytest.mark.parametrize(
    ("status", "asks"),
    [
        (TaskStatus.OPEN, (TaskAsk.CANCEL,)),
        (TaskStatus.ACCEPTED, (TaskAsk.CANCEL,)),
        (TaskStatus.DONE, ()),
        (TaskStatus.FAILED, (TaskAsk.RETRY,)),
        (TaskStatus.CANCELLED, (TaskAsk.RETRY,)),
    ],
)
def test_only_what_makes_sense_may_be_asked_of_a_task(status: TaskStatus, asks: tuple[TaskAsk, ...]) -> None:
    assert possible_asks(Task(id="T-1", title="one", status=status)) == asks
