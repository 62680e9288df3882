"""Ids and dependencies: what is taken, what is unknown, and circles."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.circles import find_circles
from ralph.domain.tasks.dependencies import (
    circular_dependencies,
    repeated_ids,
    spell_circle,
    unknown_dependencies,
)
from ralph.domain.tasks.entry import LONGEST, followup_id, id_problem
from ralph.domain.tasks.task import Task
from ralph.domain.text.reader import KeyPath

NAMES = st.sampled_from("abcdefg")
GRAPHS = st.dictionaries(NAMES, st.lists(NAMES, max_size=3))


def placed(**needs: list[str]) -> list[tuple[KeyPath, Task]]:
    return [
        ((index,), Task(id=name, title="t", dependencies=tuple(others)))
        for index, (name, others) in enumerate(needs.items())
    ]


@given(GRAPHS)
def test_a_circle_that_is_found_is_one(graph: dict[str, list[str]]) -> None:
    found = list(find_circles(graph))
    for circle in found:
        assert all(after in graph[before] for before, after in itertools.pairwise((*circle, circle[0])))


@given(GRAPHS)
def test_without_a_circle_there_is_an_order(graph: dict[str, list[str]]) -> None:
    left = {name: {one for one in needs if one in graph} for name, needs in graph.items()}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    assert any(find_circles(graph)) == bool(left)


def test_a_very_long_chain_needs_no_recursion() -> None:
    chain = {str(number): [str(number + 1)] for number in range(20_000)}
    assert not any(find_circles(chain))
    (found,) = find_circles({**chain, "20000": ["0"]})
    assert len(found) == 20_001
    assert "more" in spell_circle(found)


def test_a_circle_is_shown_as_a_way() -> None:
    (problem,) = circular_dependencies(placed(A=["B"], B=["C"], C=["A"]), {})
    assert problem.message == "these tasks wait for each other: A → B → C → A"


def test_a_circle_may_lead_through_tasks_that_exist() -> None:
    assert circular_dependencies(placed(A=["B"]), {"B": ["C"], "C": ["A"]})
    assert circular_dependencies(placed(A=["B"]), {"B": ["C"], "C": []}) == []


def test_a_dependency_may_be_here_or_there_already() -> None:
    tasks = placed(A=["B", "OLD"], B=[])
    assert unknown_dependencies(tasks, ["OLD"]) == []
    (problem,) = unknown_dependencies(tasks, [])
    assert (problem.path, problem.message) == ((0, "dependencies", 1), "there is no task OLD")


def test_a_dependency_that_is_misspelled_finds_its_like() -> None:
    (problem,) = unknown_dependencies(placed(A=["TASK-01"]), ["TASK-001"])
    assert problem.hint == "did you mean TASK-001?"


def test_ids_that_differ_in_case_only_are_the_same() -> None:
    first, second = repeated_ids([*placed(A=[]), *placed(a=[]), *placed(B=[])], ["b"])
    assert "appears twice (as A)" in first.message
    assert "there is a task B already" in second.message


@pytest.mark.parametrize("name", ["TASK-001", "a", "1", "a.b_c-d", "x" * LONGEST])
def test_a_good_id_has_no_problem(name: str) -> None:
    assert id_problem(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "-a", ".a", "a b", "a/b", "a..b", "a.", "a.lock", "ä", "a\n", "x" * (LONGEST + 1), "a:b", "a~"],
)
def test_what_cannot_be_a_branch_cannot_be_an_id(name: str) -> None:
    assert id_problem(name)


def test_follow_ups_are_numbered() -> None:
    assert followup_id("T-1", ["T-1"]) == "T-1-F1"
    assert followup_id("T-1", ["T-1", "t-1-f1"]) == "T-1-F2"
    assert followup_id("T-1-F1", ["T-1", "T-1-F1"]) == "T-1-F2"
    assert id_problem(followup_id("x" * LONGEST, [])) is None
