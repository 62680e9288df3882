"""Which criteria hold: the task's, else the role's, else the global ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.completion import VerificationMethod as Method
from ralph.domain.tasks.criteria import concerns_about, criteria_for
from ralph.domain.tasks.roles import CompletionDefaults, Role
from ralph.domain.tasks.task import Task

JUDGED = {"check_for": ["fast", "small"]}


def task(**criteria: CompletionCriteria) -> Task:
    spec = TaskCompletionSpec("it works", ["fast", "small"], criteria)
    return Task(id="T-1", title="Do it", completion_spec=spec)


def external(command: str) -> CompletionCriteria:
    return CompletionCriteria(verification_method=Method.EXTERNAL, verification_config={"command": command})


@pytest.mark.parametrize(
    ("role", "promise", "limit", "method"),
    [
        ("coder", "IMPLEMENTATION_COMPLETE", 15, Method.SEMANTIC),  # external, but no command
        ("reviewer", "REVIEW_PASSED", 5, Method.SEMANTIC),
        ("tester", "TESTS_PASSED", 10, Method.SEMANTIC),
        ("qa", "QA_PASSED", 5, Method.MULTI_STAGE),
        ("security", "STAGE_COMPLETE", 10, Method.STRING_MATCH),
    ],
)
def test_a_role_without_criteria_has_its_defaults(role: str, promise: str, limit: int, method: str) -> None:
    criteria = criteria_for(task(), role)
    assert criteria.promise == promise
    assert criteria.max_iterations == limit
    assert criteria.verification_method == method
    assert criteria.description == f"Complete {role} stage for: Do it"


def test_what_the_task_says_wins_and_the_rest_is_the_roles() -> None:
    own = CompletionCriteria("MINE", max_iterations=3)
    criteria = criteria_for(task(reviewer=own), "reviewer")
    assert (criteria.promise, criteria.max_iterations) == ("MINE", 3)
    assert criteria.verification_method == Method.SEMANTIC
    assert criteria.verification_config == JUDGED


@pytest.mark.parametrize(
    ("config", "method"),
    [
        ({"command": "make"}, Method.EXTERNAL),
        ({"template": "pytest"}, Method.EXTERNAL),
        ({"check_for": ["a"]}, Method.SEMANTIC),
        ({"negative_patterns": ["TODO"]}, Method.SEMANTIC),
        ({"stages": []}, Method.MULTI_STAGE),
    ],
)
def test_a_config_without_a_method_says_which_it_is_for(config: Mapping[str, Any], method: str) -> None:
    criteria = criteria_for(task(qa=CompletionCriteria(verification_config=config)), "qa")
    assert criteria.verification_method == method


def test_an_external_verification_without_a_command_judges_the_criteria() -> None:
    own = CompletionCriteria(verification_method=Method.EXTERNAL, verification_config={"timeout": 5})
    criteria = criteria_for(task(coder=own), "coder")
    assert (criteria.verification_method, criteria.verification_config) == (Method.SEMANTIC, JUDGED)


def test_a_roles_command_from_the_settings_is_used() -> None:
    row = Role("OK", Method.EXTERNAL, 4, {"command": "make test"})
    criteria = criteria_for(task(), "coder", CompletionDefaults(roles={"coder": row}))
    assert (criteria.verification_method, criteria.verification_config) == (
        Method.EXTERNAL,
        {"command": "make test"},
    )


def test_a_command_of_a_role_without_a_method_is_run() -> None:
    defaults = CompletionDefaults(roles={"security": Role(config={"command": "bandit -r src"})})
    criteria = criteria_for(task(), "security", defaults)
    assert (criteria.verification_method, criteria.verification_config) == (
        Method.EXTERNAL,
        {"command": "bandit -r src"},
    )


def test_a_roles_command_says_nothing_about_another_method_of_the_task() -> None:
    row = Role("OK", Method.EXTERNAL, 4, {"command": "make test"})
    own = CompletionCriteria(verification_method=Method.SEMANTIC)
    criteria = criteria_for(task(coder=own), "coder", CompletionDefaults(roles={"coder": row}))
    assert criteria.verification_config == JUDGED


def test_a_template_is_filled_in_and_what_stands_beside_it_wins() -> None:
    own = CompletionCriteria(verification_config={"template": "pytest", "timeout": 5})
    config = criteria_for(task(tester=own), "tester").verification_config
    assert config == {"command": "python -m pytest -q", "timeout": 5}


def test_stages_that_nobody_wrote_are_the_testers_command_and_the_criteria() -> None:
    criteria = criteria_for(task(tester=external("make test"), coder=external("true")), "qa")
    assert criteria.verification_config["stages"] == [
        {"name": "command", "method": "external", "config": {"command": "make test"}},
        {"name": "acceptance_criteria", "method": "semantic", "config": JUDGED},
    ]


def test_stages_that_nobody_wrote_are_the_criteria_alone_where_there_is_no_command() -> None:
    stages = criteria_for(task(), "qa").verification_config["stages"]
    assert [stage["method"] for stage in stages] == ["semantic"]


def test_no_stages_at_all_stay_none_so_that_they_can_never_pass() -> None:
    own = CompletionCriteria(verification_method=Method.MULTI_STAGE, verification_config={"stages": []})
    assert criteria_for(task(qa=own), "qa").verification_config == {"stages": []}


def test_the_acceptance_criteria_are_put_in_where_they_are_asked_for() -> None:
    stages = [
        {"name": "all", "method": "semantic", "config": {"check_for": "{{acceptance_criteria}}"}},
        {"name": "some", "method": "semantic", "config": {"check_for": ["safe", "{{acceptance_criteria}}"]}},
        {"name": "plain", "config": {"command": "make"}},
        {"name": "bare"},
    ]
    own = CompletionCriteria(verification_method=Method.MULTI_STAGE, verification_config={"stages": stages})
    found = criteria_for(task(qa=own), "qa").verification_config["stages"]
    assert found[0]["config"]["check_for"] == ["fast", "small"]
    assert found[1]["config"]["check_for"] == ["safe", "fast", "small"]
    assert [stage["method"] for stage in found] == ["semantic", "semantic", "external", "string_match"]
    assert stages[2] == {"name": "plain", "config": {"command": "make"}}  # the task itself is untouched


def test_a_custom_method_gets_its_config_as_it_was_written() -> None:
    own = CompletionCriteria(verification_method="mine:Check", verification_config={"depth": 3})
    criteria = criteria_for(task(coder=own), "coder")
    assert (criteria.verification_method, criteria.verification_config) == ("mine:Check", {"depth": 3})


def test_a_task_without_a_spec_is_believed_and_named_as_a_concern() -> None:
    bare = Task(id="OLD-1", title="from before")
    criteria = criteria_for(bare, "coder")
    assert criteria.verification_method == Method.STRING_MATCH
    assert (criteria.promise, criteria.max_iterations) == ("IMPLEMENTATION_COMPLETE", 15)
    assert "OLD-1 has no completion spec" in concerns_about(bare)[0]
    assert concerns_about(task()) == ()


def test_a_role_whose_loop_is_off_has_a_single_pass() -> None:
    off = CompletionDefaults(enabled=False)
    one_off = CompletionDefaults(roles={"coder": Role(enabled=False)})
    assert criteria_for(task(), "coder", off).max_iterations == 1
    assert criteria_for(task(), "coder", one_off).max_iterations == 1
    assert criteria_for(task(), "qa", one_off).max_iterations == 10
