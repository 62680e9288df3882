"""Tasks as people write them: every shape is read, and everything that is wrong is found at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.completion import VerificationMethod
from ralph.domain.tasks.entry import Known, read_entries
from ralph.domain.tasks.task import DEFAULT_PRIORITY, TaskBudget
from ralph.domain.text.reader import spell

DONE: Mapping[str, Any] = {"outcome": "works", "acceptance_criteria": ["fast"]}


def entry(**more: Any) -> dict[str, Any]:
    return {"id": "T-1", "title": "one", "completion": dict(DONE), **more}


def with_role(**criteria: Any) -> dict[str, Any]:
    return entry(completion={**DONE, "coder": criteria})


@pytest.mark.parametrize(
    "document",
    [
        entry(),
        [entry()],
        {"task": entry()},
        {"tasks": [entry()]},
        [{"task": entry()}],
        {"task": [entry()]},
        {"id": "T-1", "title": "one", "completion_spec": dict(DONE)},
    ],
)
def test_every_shape_of_a_document_is_read(document: object) -> None:
    entries = read_entries(document)
    assert entries.problems == []
    ((_, task),) = entries.tasks
    assert (task.id, task.title, task.outcome, task.acceptance_criteria) == ("T-1", "one", "works", ("fast",))
    assert task.priority == DEFAULT_PRIORITY


def test_the_spec_of_the_document_is_for_tasks_that_name_none() -> None:
    document = {"spec_id": "auth", "tasks": [entry(), entry(id="T-2", spec_id="other")]}
    tasks = [task for _, task in read_entries(document, spec_id="given").tasks]
    assert [task.spec_id for task in tasks] == ["auth", "other"]
    assert read_entries([entry()], spec_id="given").tasks[0][1].spec_id == "given"


def test_everything_a_task_can_say_is_taken_over() -> None:
    given = entry(
        description=" d \n",
        priority=-3,
        dependencies=["T-0", "T-9", "T-0"],
        assignee="me",
        metadata={"ticket": [1, 2]},
        budget={"cost_usd": 1.5, "tokens": 1000, "seconds": 60},
    )
    ((_, task),) = read_entries(given).tasks
    assert (task.description, task.priority, task.assignee) == ("d", -3, "me")
    assert task.dependencies == ("T-0", "T-9")
    assert task.metadata == {"ticket": [1, 2]}
    assert task.budget == TaskBudget(1.5, 1000, 60)


def test_a_role_may_say_as_little_as_it_likes() -> None:
    entries = read_entries(with_role(promise="OK"))
    assert entries.problems == []
    spec = entries.tasks[0][1].completion_spec
    assert spec is not None
    coder = spec.criteria["coder"]
    assert (coder.promise, coder.verification_method) == ("OK", "")


@pytest.mark.parametrize(
    ("document", "where", "said"),
    [
        (None, "", "expected tasks, found nothing"),
        ("text", "", "expected tasks, found 'text'"),
        ([], "", "there is no task in it"),
        ({}, "", "there is no task in it"),
        ({"tasks": None}, "tasks", "there is no task in it"),
        ({"tasks": "x"}, "tasks", "expected tasks"),
        ({"tasks": [entry()], "task": entry()}, "task", "cannot be used together"),
        ({"tasks": [entry()], "version": 1}, "version", "unknown key beside the tasks"),
        ([3], "[0]", "expected a task, found the number 3"),
        (entry(id=None), "id", "is missing"),
        (entry(id=7), "id", "expected text, found the number 7; put it in quotes"),
        (entry(id="a b"), "id", "may contain only letters"),
        (entry(title=" "), "title", "is missing"),
        (entry(title="a\nb"), "title", "expected one line"),
        (entry(title="half \ud800"), "title", "not text"),
        (entry(priority="high"), "priority", "expected a whole number, found 'high'"),
        (entry(priority=True), "priority", "expected a whole number, found true"),
        (entry(priority=10**12), "priority", "at most"),
        (entry(dependencies="T-0"), "dependencies", "expected a list"),
        (entry(dependencies=["T-1"]), "dependencies", "depends on itself"),
        (entry(dependencies=[None]), "dependencies[0]", "expected text, found nothing"),
        (entry(metadata=[]), "metadata", "expected a mapping, found a list"),
        (entry(budget={"cost_usd": 0}), "budget.cost_usd", "above 0"),
        (entry(budget={"euros": 1}), "budget.euros", "unknown limit"),
        (entry(prioritty=1), "prioritty", "unknown key of a task; did you mean priority?"),
        (entry(completion=None), "completion", "is missing"),
        (entry(completion="x"), "completion", "expected a mapping"),
        (entry(completion_spec=dict(DONE)), "completion", "mean the same"),
        (entry(completion={**DONE, "outcome": ""}), "completion.outcome", "is missing"),
        (entry(completion={**DONE, "outcome": False}), "completion.outcome", "found false"),
        (entry(completion={"outcome": "x"}), "completion.acceptance_criteria", "at least one"),
        (
            entry(completion={"outcome": "x", "acceptance_criteria": []}),
            "completion.acceptance_criteria",
            "at least one",
        ),
        (
            entry(completion={"outcome": "x", "acceptance_criteria": ["a", " "]}),
            "completion.acceptance_criteria[1]",
            "is empty",
        ),
        (
            entry(completion={"outcome": "x", "acceptance_criteria": [{"Login": "works"}]}),
            "completion.acceptance_criteria[0]",
            "put the line in quotes",
        ),
        (entry(completion={**DONE, "codr": {}}), "completion.codr", "unknown role 'codr'; did you mean coder?"),
        (entry(completion={**DONE, "boss": {}}), "completion.boss", "roles: coder, reviewer, tester, qa"),
        (with_role(promise="<promise>X</promise>"), "completion.coder.promise", "no < and >"),
        (with_role(promises="X"), "completion.coder.promises", "did you mean promise?"),
        (with_role(max_iterations=0), "completion.coder.max_iterations", "at least 1"),
        (
            with_role(verification_method="externall"),
            "completion.coder.verification_method",
            "unknown verification method 'externall'; did you mean external?",
        ),
        (
            with_role(verification_method="external", verification_config={"timeout": 0}),
            "completion.coder.verification_config.timeout",
            "above 0, found 0",
        ),
    ],
)  # fmt: skip
def test_a_problem_is_named_with_its_place(document: object, where: str, said: str) -> None:
    problems = read_entries(document).problems
    assert len(problems) == 1, [str(problem) for problem in problems]
    assert spell(problems[0].path) == where
    assert said in str(problems[0])


def test_all_problems_are_found_at_once() -> None:
    document = [entry(id="", title=""), entry(priority="x", completion={"outcome": ""}), 3]
    assert len(read_entries(document).problems) == 6


def test_roles_and_methods_of_the_project_are_known() -> None:
    known = Known(("coder", "security"), lambda name: name == "mutation")
    document = entry(completion={**DONE, "security": {"verification_method": "mutation"}})
    entries = read_entries(document, known)
    assert entries.problems == []
    assert read_entries(entry(completion={**DONE, "qa": {}}), known).problems


@pytest.mark.parametrize("name", ["mine.checks:Depth", "mine.Depth", *VerificationMethod])
def test_a_dotted_path_is_a_method_too(name: str) -> None:
    assert read_entries(with_role(verification_method=name)).problems == []


def test_how_far_a_task_was_is_not_taken_over_and_said() -> None:
    entries = read_entries(entry(status="done", iteration=3, created_at="2026-01-01", stage=""))
    assert entries.problems == []
    assert entries.tasks[0][1].status == "open"
    assert "not imported: status, iteration, created_at" in str(entries.notes[0])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["id", "title", "tasks", "completion", "coder", "stages", "verification_config"])
            | st.text(),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(JSON)
def test_whatever_stands_in_a_document_nothing_is_raised(document: object) -> None:
    entries = read_entries(document)
    assert entries.problems or entries.tasks


@given(JSON)
def test_whatever_a_role_says_nothing_is_raised(criteria: object) -> None:
    for method in (*VerificationMethod, "mine:Check", ""):
        read_entries(with_role(verification_method=method, verification_config=criteria))
    read_entries(entry(completion={**DONE, "qa": criteria}))
