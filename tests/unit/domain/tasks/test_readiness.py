"""Tasks by which no work could be judged, and those that are too small for a session each."""

from __future__ import annotations

import pytest

from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.readiness import FEW, NOTHING_TO_CHECK, has_own_check, lack_of, smallness_of
from ralph.domain.tasks.task import Task


def task(name: str, *criteria: str, **roles: CompletionCriteria) -> Task:
    return Task(
        id=name, title="Say  hello", completion_spec=TaskCompletionSpec("It is said", criteria, roles)
    )


def test_only_one_without_a_spec_lacks_something() -> None:
    assert lack_of(Task(id="OLD", title="From before")) == NOTHING_TO_CHECK
    assert lack_of(task("T-1", "say hello")) == ""


@pytest.mark.parametrize(
    ("one", "has"),
    [
        (Task(id="OLD", title="From before"), False),
        (task("T-1", "say hello"), False),
        (task("T-1", " Say\thello "), False),
        (task("T-1", "say hello", "in green"), True),
        (task("T-1", "say hello", coder=CompletionCriteria("OK")), False),
        (
            task("T-1", "say hello", tester=CompletionCriteria(verification_config={"command": "make test"})),
            True,
        ),
    ],
)
def test_a_criterion_that_repeats_the_title_checks_nothing(one: Task, has: bool) -> None:
    assert has_own_check(one) is has


def test_a_few_small_ones_are_not_worth_a_word() -> None:
    small = [task(f"T-{number}", "say hello") for number in range(FEW + 1)]
    assert smallness_of(small[:FEW]) == ""
    own = task("OWN", "in green")
    assert smallness_of([*small, own]).startswith("3 of 4 tasks have no check of their own")
    assert smallness_of([]) == ""
