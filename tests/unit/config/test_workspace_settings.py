"""The settings of worktrees."""

from __future__ import annotations

import jsonschema
import pytest

from ralph.config.kinds import Reading
from ralph.config.schema import SETTINGS, Settings, json_schema
from ralph.domain.text.reader import Problem


def read(**workspace: object) -> tuple[Settings, list[str]]:
    problems: list[Problem] = []
    settings = SETTINGS.read({"workspace": workspace}, Reading(lambda _: "here", problems, problems))
    return settings, [f"{problem.key}: {problem.message}" for problem in problems]


@pytest.mark.parametrize(
    ("value", "commands"),
    [
        ("npm ci", ("npm ci",)),
        (["uv sync", "make build"], ("uv sync", "make build")),
        ("", ()),
        ([], ()),
    ],
)
def test_one_command_needs_no_list(value: object, commands: tuple[str, ...]) -> None:
    settings, problems = read(setup=value, teardown=value)
    assert (settings.workspace.setup, settings.workspace.teardown, problems) == (commands, commands, [])
    jsonschema.validate({"workspace": {"setup": value}}, json_schema())


@pytest.mark.parametrize("value", [3, {"command": "npm ci"}, [""], [["npm", "ci"]], None])
def test_what_is_no_command_is_refused(value: object) -> None:
    assert read(setup=value)[1]


@pytest.mark.parametrize(
    "path",
    ["/etc", "..", "../other", "a/../../b", "~/x", ".", "./", "c:/x", "a/..", "a/../..", ".git", ".ralph/x"],
)
def test_what_is_shared_is_in_the_project(path: str) -> None:
    (problem,) = read(share=[path])[1]
    assert problem == f"workspace.share[0]: {path!r} is not a folder inside the project that can be shared"


@pytest.mark.parametrize("path", ["node_modules", "packages/a/node_modules", ".cache/x", "./target"])
def test_folders_of_the_project_can_be_shared(path: str) -> None:
    assert read(share=[path])[1] == []
