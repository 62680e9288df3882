"""What a verification's config may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ralph.domain.proof.required_command import is_outside
from ralph.domain.proof.verification_config import TEMPLATES, expand, is_dotted, read_config
from ralph.domain.tasks.completion import VerificationMethod as Method
from ralph.domain.text.reader import Problem, Reader, spell


def problems(method: str, config: Mapping[str, Any]) -> list[str]:
    found: list[Problem] = []
    read_config(Reader(config, (), found), method, lambda name: False)
    return [f"{spell(problem.path)}: {problem.message}" for problem in found]


@pytest.mark.parametrize(
    ("method", "config"),
    [
        (Method.STRING_MATCH, {}),
        (Method.SEMANTIC, {}),
        (
            Method.SEMANTIC,
            {"check_for": "{{acceptance_criteria}}", "negative_patterns": ["TODO"], "model": "haiku"},
        ),
        (Method.EXTERNAL, {}),
        (
            Method.EXTERNAL,
            {
                "command": "pytest",
                "success_exit_code": 5,
                "output_contains": "passed",
                "output_not_contains": "FAILED",
                "timeout": 1.5,
                "working_dir": "sub/../other",
                "allowEmpty": True,
            },
        ),
        (Method.MULTI_STAGE, {"require_all": False, "parallel": True}),
        (
            Method.MULTI_STAGE,
            {
                "stages": [
                    {"name": "a", "method": "external", "config": {"template": "ruff"}, "required": False}
                ]
            },
        ),
        (Method.MULTI_STAGE, {"stages": [{"method": "string_match"}, {"config": {"check_for": ["x"]}}]}),
        ("mine:Check", {"anything": {"goes": 1}}),
        ("", {"command": "make"}),
    ],
)
def test_a_good_config_has_no_problems(method: str, config: Mapping[str, Any]) -> None:
    assert problems(method, config) == []


@pytest.mark.parametrize(
    ("method", "config", "said"),
    [
        (Method.STRING_MATCH, {"command": "x"}, "command: unknown option of this verification"),
        (Method.EXTERNAL, {"command": " "}, "command: is empty"),
        (Method.EXTERNAL, {"command": ["make"]}, "command: expected text, found a list"),
        (Method.EXTERNAL, {"comand": "x"}, "comand: unknown option of this verification"),
        (Method.EXTERNAL, {"template": "pytst"}, "template: unknown template 'pytst'"),
        (Method.EXTERNAL, {"timeout": 0}, "timeout: expected a number above 0, found 0"),
        (Method.EXTERNAL, {"timeout": -1}, "timeout: expected a number above 0, found -1"),
        (Method.EXTERNAL, {"timeout": True}, "timeout: expected a number, found true"),
        (Method.EXTERNAL, {"success_exit_code": 256}, "success_exit_code: expected a whole number of at most 255"),
        (Method.EXTERNAL, {"working_dir": "../x"}, "working_dir: is outside the workspace"),
        (Method.SEMANTIC, {"check_for": [1]}, "check_for[0]: expected text, found the number 1"),
        (Method.SEMANTIC, {"negative_patterns": "TODO"}, "negative_patterns: expected a list"),
        (Method.MULTI_STAGE, {"stages": []}, "stages: is empty"),
        (Method.MULTI_STAGE, {"stages": {}}, "stages: expected a list, found a mapping"),
        (Method.MULTI_STAGE, {"stages": ["x"]}, "stages: stage 1: expected a mapping, found 'x'"),
        (Method.MULTI_STAGE, {"stages": [{"method": "magic"}]}, "stages[0].method: unknown verification method"),
        (Method.MULTI_STAGE, {"stages": [{"method": "multi_stage"}]}, "stages[0].method: a stage cannot have"),
        (Method.MULTI_STAGE, {"stages": [{"method": "external"}]}, "stages[0]: this external stage has no command"),
        (Method.MULTI_STAGE, {"stages": [{"name": "a"}, {"name": "a"}]}, "stages[1].name: two stages are named 'a'"),
        (Method.MULTI_STAGE, {"stages": [{"name": "a", "requird": True}]}, "stages[0].requird: unknown key"),
        (Method.MULTI_STAGE, {"parallel": "yes"}, "parallel: expected true or false"),
    ],
)  # fmt: skip
def test_a_bad_config_is_named(method: str, config: Mapping[str, Any], said: str) -> None:
    found = problems(method, config)
    assert any(problem.startswith(said) for problem in found), found


@pytest.mark.parametrize(
    ("path", "outside"),
    [
        ("", False), (".", False), ("a", False), ("a/../b", False), ("./a//b", False), ("a/..", False),
        ("..", True), ("a/../..", True), ("/tmp", True), ("~/x", True), ("C:/x", True), ("..\\x", True),
        ("...", False),
    ],
)  # fmt: skip
def test_a_working_folder_stays_inside(path: str, outside: bool) -> None:
    assert is_outside(path) is outside


@pytest.mark.parametrize(
    ("name", "dotted"),
    [("a.b", True), ("a:b", True), ("a.b.c:D", True), ("magic", False), ("a..b", False), ("1.2", False), ("", False)],
)  # fmt: skip
def test_a_dotted_path_is_told_from_a_word(name: str, dotted: bool) -> None:
    assert is_dotted(name) is dotted


@pytest.mark.parametrize("name", ["pytest", "ruff", "npm-test", "cargo", "go-test", "make"])
def test_there_is_a_template_for_each_common_stack(name: str) -> None:
    assert problems(Method.EXTERNAL, expand({"template": name})) == []
    assert TEMPLATES[name]["command"]


def test_a_template_gives_way_to_what_stands_beside_it() -> None:
    assert expand({"template": "make", "command": "make check"})["command"] == "make check"
    assert expand({"template": "unknown"}) == {}
