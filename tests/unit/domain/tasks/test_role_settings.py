"""The verified profile's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ralph.domain.tasks.roles import CompletionDefaults, read_defaults


def test_no_settings_are_the_seeds_defaults() -> None:
    assert read_defaults({}) == (CompletionDefaults(), [])


def test_settings_change_single_values_of_a_role() -> None:
    defaults, problems = read_defaults(
        {
            "enabled": True,
            "defaultMaxIterations": 7,
            "defaultVerification": "semantic",
            "roles": {"coder": {"maxIterations": 3, "command": "make test", "enabled": False}},
        }
    )
    assert problems == []
    assert (defaults.max_iterations, defaults.method) == (7, "semantic")
    row = defaults.of("coder")
    assert (row.promise, row.max_iterations, row.config) == (
        "IMPLEMENTATION_COMPLETE",
        3,
        {"command": "make test"},
    )
    assert not defaults.loops("coder")
    assert defaults.loops("qa")


def test_stages_can_be_left_out_and_added() -> None:
    defaults, problems = read_defaults(
        {"stages": ["coder", "security", "qa"], "roles": {"security": {"promise": "SAFE"}}}
    )
    assert problems == []
    assert list(defaults.roles) == ["coder", "security", "qa"]
    assert defaults.of("security").promise == "SAFE"
    assert not read_defaults({"enabled": False})[0].loops("coder")


def test_a_role_of_its_own_comes_after_the_seeds() -> None:
    defaults, _ = read_defaults({"roles": {"security": {}}})
    assert list(defaults.roles) == ["coder", "reviewer", "tester", "qa", "security"]


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"roles": []}, "profiles.verified.roles: expected a mapping"),
        ({"stages": ["coder"], "roles": {"qa": {}}}, "profiles.verified.roles.qa: is not among the stages"),
        ({"stages": ["coder", "coder"]}, "profiles.verified.stages: coder stands twice"),
        ({"stages": ["a b"]}, "profiles.verified.stages: 'a b' cannot be a role's name"),
        ({"defaultMaxIterations": 0}, "profiles.verified.defaultMaxIterations: expected a whole number of at least 1"),
        ({"defaultVerification": "magic"}, "profiles.verified.defaultVerification: unknown verification method"),
        ({"roles": {"qa": {"verification": "magic"}}}, "profiles.verified.roles.qa.verification: unknown"),
        ({"roles": {"coder": {"verificationConfig": {"timeout": 0}}}}, "profiles.verified.roles.coder.timeout: "),
    ],
)  # fmt: skip
def test_bad_settings_are_named(section: Mapping[str, Any], said: str) -> None:
    _, problems = read_defaults(section)
    assert any(str(problem).startswith(said) for problem in problems), [str(problem) for problem in problems]
