"""Guessing guardrails from a project's files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralph.config.guardrail_candidates import candidates, project_reader


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, (), id="an empty project"),
        pytest.param(
            {"Makefile": ".PHONY: check\nlint: deps\n\truff .\ntest:\n\tpytest\n"},
            ("make test", "make lint"),
            id="targets of a Makefile",
        ),
        pytest.param(
            {"Makefile": "a test : b\nbuild::\n"}, ("make test", "make build"), id="rules of all kinds"
        ),
        pytest.param(
            {"Makefile": "test := 1\nlint ::= 2\nbuild = a:b\n\tcheck: x\n#test:\nretest: x\n"},
            (),
            id="assignments, recipes and comments are no targets",
        ),
        pytest.param(
            {"GNUmakefile": "lint:\n", "Makefile": "test:\n"}, ("make lint",), id="make reads only one file"
        ),
        pytest.param(
            {"package.json": json.dumps({"scripts": {"lint": "x", "test": "y", "start": "z", "build": "b"}})},
            ("npm test", "npm run lint", "npm run build"),
            id="scripts of a package.json",
        ),
        pytest.param(
            {"package.json": '{"scripts": {"typecheck": "tsc", "test": "x"}}', "pnpm-lock.yaml": ""},
            ("pnpm run test", "pnpm run typecheck"),
            id="run by the manager that locked it",
        ),
        pytest.param(
            {"package.json": json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})},
            (),
            id="npm's own placeholder is no test",
        ),
        pytest.param({"package.json": "{"}, (), id="a broken package.json"),
        pytest.param({"package.json": '["x"]'}, (), id="a package.json of another kind"),
        pytest.param({"package.json": '{"scripts": {"test": 1}}'}, (), id="scripts of another kind"),
        pytest.param(
            {"pyproject.toml": "[tool.ruff]\n[tool.pytest.ini_options]\n[tool.mypy]\n"},
            ("pytest", "ruff check .", "mypy ."),
            id="tools of a pyproject.toml",
        ),
        pytest.param(
            {
                "pyproject.toml": '[project.optional-dependencies]\ndev = ["PyTest>=8"]\n'
                '[dependency-groups]\nlint = ["ruff", {include-group = "x"}]\n'
            },
            ("pytest", "ruff check ."),
            id="packages that are asked for",
        ),
        pytest.param({"pyproject.toml": "[tool"}, (), id="a broken pyproject.toml"),
        pytest.param({"pyproject.toml": "tool = 1\nproject = 2"}, (), id="a pyproject.toml of another kind"),
        pytest.param({"Cargo.toml": ""}, ("cargo test", "cargo clippy", "cargo build"), id="Rust"),
        pytest.param({"go.mod": ""}, ("go test ./...", "go vet ./...", "go build ./..."), id="Go"),
        pytest.param(
            {"Makefile": "test:\n", "pyproject.toml": "[tool.pytest]\n"},
            ("make test", "pytest"),
            id="the project's own runner comes first",
        ),
    ],
)
def test_candidates(files: dict[str, str], expected: tuple[str, ...]) -> None:
    assert candidates(files.get) == expected


def test_files_are_read_from_the_project(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_bytes(b"# \xff\ntest:\n")
    (tmp_path / "package.json").mkdir()
    assert candidates(project_reader(tmp_path)) == ("make test",)
