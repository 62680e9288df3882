"""The prompts of the roles say what done means."""

from __future__ import annotations

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.feedback import Feedback
from ralph.domain.tasks.completion import TaskCompletionSpec
from ralph.domain.tasks.criteria import criteria_for
from ralph.domain.tasks.prompts import RolePrompt, objective
from ralph.domain.tasks.task import Task

TASK = Task(
    id="T-1",
    title="Add a sum",
    description="Two numbers in, one out.",
    completion_spec=TaskCompletionSpec("sums are right", ["1 and 2 is 3", "text is refused"]),
    remarks=("reviewer: no tests",),
    base_commit="abc",
)


def prompt(role: str, task: Task = TASK, *, limit: int | None = 5) -> str:
    criteria = {name: criteria_for(task, name) for name in ("coder", "reviewer")}
    text = objective(
        "{{TITLE}} by {{ROLE}} on {{BRANCH}} from {{BASE}}{{REMARKS}}", task, role=role, branch="ralph/T-1"
    )
    assignment = Assignment(
        key=f"T-1/{role}", objective=text, role=role, limit=limit, used=1, promise="X", subject=task
    )
    return RolePrompt(criteria, "coder")(
        assignment, [Feedback("the command failed")], iteration=9, maximum=None
    )


def test_the_section_has_iteration_outcome_criteria_promise_and_method() -> None:
    text = prompt("coder")

    assert text.startswith("Add a sum by coder on ralph/T-1 from abc")
    for line in (
        "- **Iteration**: 2/5",
        "- **Agent**: coder",
        "sums are right",
        "- [ ] 1 and 2 is 3",
        "- [ ] text is refused",
        "<promise>IMPLEMENTATION_COMPLETE</promise>",
        "- Your completion will be verified using: semantic",
        "The loop will continue until genuine completion or iteration 5.",
        "- reviewer: no tests",
    ):
        assert line in text
    assert text.rstrip().endswith("the command failed")


def test_only_later_roles_can_send_it_back() -> None:
    assert "<reject>" not in prompt("coder")
    assert "<reject>" in prompt("reviewer")


def test_a_task_without_a_spec_still_has_an_outcome() -> None:
    text = prompt("coder", Task(id="T-1", title="Add a sum"), limit=None)
    assert "Complete the assigned task." in text
    assert "2/unlimited" in text
    assert "string_match" in text
