"""A task's way from role to role."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task, TaskStatus, count_iteration

TASK = Task(
    id="T-1",
    title="t",
    completion_spec=TaskCompletionSpec(
        "o", ["a"], {"reviewer": CompletionCriteria("FINE", max_iterations=2)}
    ),
)


def accepted(pipeline: Pipeline, task: Task, times: int) -> Task:
    for _ in range(times):
        step = pipeline.next_step(task)
        assert step is not None
        task = pipeline.advance(task, step, accepted=True)
    return task


def test_a_task_is_done_when_every_role_accepted_it() -> None:
    pipeline = Pipeline()
    roles, task = [], TASK
    while (step := pipeline.next_step(task)) is not None:
        roles.append(step.role)
        task = pipeline.advance(task, step, accepted=True)
    assert roles == ["coder", "reviewer", "tester", "qa"]
    assert task.status is TaskStatus.DONE


def test_a_step_has_the_promise_and_the_limit_of_the_tasks_criteria() -> None:
    step = Pipeline().next_step(accepted(Pipeline(), TASK, 1))
    assert step is not None
    assert (step.role, step.promise, step.limit) == ("reviewer", "FINE", 2)


def test_a_task_with_a_branch_is_accepted_until_it_is_merged() -> None:
    pipeline = Pipeline(finished=TaskStatus.ACCEPTED)
    task = accepted(pipeline, TASK, 4)
    assert task.status is TaskStatus.ACCEPTED
    assert pipeline.next_step(task) is None


def test_a_rejection_sends_it_back_to_the_coder_with_the_reason() -> None:
    pipeline = Pipeline()
    task = count_iteration(accepted(pipeline, TASK, 2), "tester")
    step = pipeline.next_step(task)
    assert step is not None
    after = pipeline.advance(task, step, accepted=False, reason="flaky")
    assert (after.stage, after.used, after.rejections) == ("coder", 0, 1)
    assert after.remarks == ("tester: flaky",)


def test_rejections_are_bounded() -> None:
    pipeline = Pipeline(max_rejections=1)
    task = TASK
    for accept in (True, False, True, False):
        step = pipeline.next_step(task)
        assert step is not None
        task = pipeline.advance(task, step, accepted=accept, reason="no")
    assert (task.status, task.stage, task.reason) == (TaskStatus.FAILED, "reviewer", "reviewer: no")
    assert task.status is TaskStatus.FAILED


def test_a_coder_that_gives_up_fails_the_task() -> None:
    step = Pipeline().next_step(TASK)
    assert step is not None
    task = Pipeline().advance(TASK, step, accepted=False, reason="out of iterations")
    assert (task.status, task.reason) == (TaskStatus.FAILED, "coder: out of iterations")


def test_a_stage_that_the_settings_no_longer_have_begins_anew() -> None:
    task = accepted(Pipeline(), TASK, 2)
    step = Pipeline(("coder", "qa")).next_step(task)
    assert step is not None
    assert step.role == "coder"


@given(st.lists(st.booleans(), max_size=60), st.integers(0, 3))
def test_no_task_is_done_without_four_acceptances_in_a_row(answers: list[bool], most: int) -> None:
    pipeline = Pipeline(max_rejections=most)
    task, given = TASK, []
    for answer in answers:
        step = pipeline.next_step(task)
        if step is None:
            break
        given.append(answer)
        task = pipeline.advance(task, step, accepted=answer, reason="no")
    assert (task.status is TaskStatus.DONE) == (given[-4:] == [True] * 4)
    assert task.rejections <= most
