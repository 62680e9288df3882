"""Roles as the settings have them: their order, what differs in each, and roles of the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.config.loading import inspect, load
from ralph.config.schema import Settings
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.errors import ConfigError
from ralph.wiring.pipelines import completion_defaults, pipeline_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".ralph").mkdir()
    return tmp_path


def read(folder: Path, **verified: Any) -> Settings:
    (folder / ".ralph" / "settings.json").write_text(json.dumps({"profiles": {"verified": verified}}))
    return load(folder, environ={}).settings


def test_no_settings_are_the_roles_that_ship_with_ralph(folder: Path) -> None:
    assert completion_defaults(read(folder)) == CompletionDefaults()


def test_settings_change_single_values_of_a_role(folder: Path) -> None:
    defaults = completion_defaults(
        read(
            folder,
            enabled=True,
            defaultMaxIterations=7,
            defaultVerification="semantic",
            roles={"coder": {"maxIterations": 3, "command": "make test", "enabled": False}},
        )
    )
    assert (defaults.max_iterations, defaults.method) == (7, "semantic")
    coder = defaults.of("coder")
    assert (coder.promise, coder.max_iterations, coder.config) == (
        "IMPLEMENTATION_COMPLETE",
        3,
        {"command": "make test"},
    )
    assert not defaults.loops("coder")
    assert defaults.loops("qa")
    assert not completion_defaults(read(folder, enabled=False)).loops("qa")


def test_stages_can_be_left_out_and_added_under_any_readable_name(folder: Path) -> None:
    defaults = completion_defaults(
        read(
            folder,
            stages=["coder", "security-reviewer", "qa"],
            roles={"security-reviewer": {"promise": "SAFE", "description": "No hole is left."}},
        )
    )
    assert list(defaults.roles) == ["coder", "security-reviewer", "qa"]
    role = defaults.of("security-reviewer")
    assert (role.promise, role.description) == ("SAFE", "No hole is left.")
    assert [defaults.title(name) for name in defaults.roles] == ["Coder", "Security reviewer", "QA"]


def test_a_title_of_ones_own_wins(folder: Path) -> None:
    assert completion_defaults(read(folder, roles={"qa": {"title": "Last look"}})).title("qa") == "Last look"


def test_a_role_that_no_stage_names_comes_last(folder: Path) -> None:
    defaults = completion_defaults(read(folder, roles={"security": {}}))
    assert list(defaults.roles) == ["coder", "reviewer", "tester", "qa", "security"]


@pytest.mark.parametrize(
    ("verified", "said"),
    [
        ({"stages": ["coder"], "roles": {"qa": {}}}, "profiles.verified.roles.qa: is not among the stages"),
        ({"stages": ["coder", "coder"]}, "profiles.verified.stages: coder appears twice"),
        ({"defaultVerification": "magic"}, "profiles.verified.defaultVerification: unknown verification method"),
        ({"roles": {"qa": {"verification": "magic"}}}, "profiles.verified.roles.qa.verification: unknown"),
        (
            {"roles": {"coder": {"verificationConfig": {"timeout": 0}}}},
            "profiles.verified.roles.coder.verificationConfig.timeout: expected a number above 0",
        ),
    ],
)  # fmt: skip
def test_roles_that_cannot_work_are_named(folder: Path, verified: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        completion_defaults(read(folder, **verified))
    assert caught.value.message.startswith(said)


@pytest.mark.parametrize("name", ["a b", "-x", "a/b", "../x", "ü!", "outcome", "acceptance_criteria"])
@pytest.mark.parametrize("place", ["stages", "roles"])
def test_a_name_that_no_role_can_have_is_a_problem_of_the_settings(
    folder: Path, name: str, place: str
) -> None:
    value: dict[str, Any] = {"stages": ["coder", name]} if place == "stages" else {"roles": {name: {}}}
    (folder / ".ralph" / "settings.json").write_text(json.dumps({"profiles": {"verified": value}}))
    (problem,) = inspect(folder, environ={}).problems
    assert f"{name!r} cannot be the name of a role: " in problem.message
    assert problem.key.startswith(f"profiles.verified.{place}")


def test_instructions_of_ones_own_are_put_where_the_task_is_told(folder: Path) -> None:
    (folder / "security.md").write_text("Look for injection in {{TASK_ID}}.\n")
    (folder / "whole.md").write_text("All of it: {{DESCRIPTION}}\n")
    settings = read(
        folder,
        stages=["coder", "security-reviewer", "guest", "qa"],
        roles={"security-reviewer": {"prompt": "security.md"}, "qa": {"prompt": str(folder / "whole.md")}},
    )
    templates = pipeline_of(settings, folder).templates
    assert "Look for injection in {{TASK_ID}}." in templates["security-reviewer"]
    assert "{{DESCRIPTION}}" in templates["security-reviewer"]
    assert templates["qa"] == "All of it: {{DESCRIPTION}}\n"
    assert "Do what your role is there for" in templates["guest"]
    assert "{{INSTRUCTIONS}}" not in "".join(templates.values())
    assert "You are the **coder**" in templates["coder"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no file"),
        (b"", "is empty"),
        (b"\xff", "is not UTF-8 text"),
        ("ü".encode() * 100_001, "is larger than 200 kB"),
    ],
    ids=["missing", "empty", "binary", "large"],
)
def test_a_prompt_file_that_cannot_be_used_is_named_with_its_setting(
    folder: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        (folder / "own.md").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        pipeline_of(read(folder, roles={"qa": {"prompt": "own.md"}}), folder)
    assert caught.value.message.startswith(f"profiles.verified.roles.qa.prompt: {folder / 'own.md'}") or (
        caught.value.message == f"profiles.verified.roles.qa.prompt: there is no file {folder / 'own.md'}"
    )
    assert said in caught.value.message
    assert caught.value.hint
