"""Which commands a project's files suggest as guardrails."""

from __future__ import annotations

import json

import pytest

from ralph.domain.proposals.proposal import Files
from ralph.domain.proposals.registry import guardrails, setup


def of(files: dict[str, str]) -> Files:
    def names(folder: str) -> list[str]:
        prefix = "" if folder == "." else f"{folder}/"
        return [name.removeprefix(prefix) for name in files if name.startswith(prefix)]

    return Files(lambda name: files.get(name.removeprefix("./")), names)


def package(**scripts: object) -> str:
    return json.dumps({"scripts": scripts})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, [], id="an empty project"),
        # --- make ---
        pytest.param(
            {"Makefile": ".PHONY: check\nlint: deps\n\truff .\ntest:\n\tpytest\n"},
            ["make test", "make lint"],
            id="targets of a Makefile",
        ),
        pytest.param({"Makefile": "a test : b\nlint::\n"}, ["make test", "make lint"], id="rules of all kinds"),
        pytest.param(
            {"Makefile": "test := 1\nlint ::= 2\nbuild = a:b\n\tcheck: x\n#test:\nretest: x\n"},
            [],
            id="assignments, recipes and comments are no targets",
        ),
        pytest.param(
            {"GNUmakefile": "lint:\n", "Makefile": "test:\n"}, ["make lint"], id="make reads only one file"
        ),
        pytest.param({"Makefile": "check:\n\t./all\n"}, ["make check"], id="check alone"),
        pytest.param(
            {"Makefile": "check: lint test\nlint:\ntest:\ntypecheck:\n"},
            ["make typecheck", "make check"],
            id="what check makes anyway is not run twice",
        ),
        pytest.param(
            {"Makefile": "check:\ntest:\n", "pyproject.toml": "[tool.ruff]"},
            ["make test", "make check"],
            id="check beside test is taken for the rest",
        ),
        # --- package.json ---
        pytest.param(
            {"package.json": package(lint="x", test="y", start="z", build="b", typecheck="tsc")},
            ["npm test", "npm run lint", "npm run typecheck"],
            id="scripts of a package.json",
        ),
        pytest.param(
            {"package.json": package(test="x", lint="y"), "pnpm-lock.yaml": ""},
            ["pnpm test", "pnpm run lint"],
            id="pnpm locked it",
        ),
        pytest.param({"package.json": package(test="x"), "yarn.lock": ""}, ["yarn test"], id="yarn locked it"),
        pytest.param({"package.json": package(test="x"), "bun.lockb": ""}, ["bun run test"], id="bun locked it"),
        pytest.param(
            {"package.json": '{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}'},
            ["pnpm test"],
            id="a package manager that is named",
        ),
        pytest.param(
            {"package.json": '{"packageManager": "rm -rf@1", "scripts": {"test": "x"}}'},
            ["npm test"],
            id="a package manager that nobody knows",
        ),
        pytest.param(
            {"package.json": package(test='echo "Error: no test specified" && exit 1')},
            [],
            id="npm's own placeholder is no test",
        ),
        pytest.param({"package.json": package(test="jest --watch")}, [], id="a script that never ends"),
        pytest.param({"package.json": "{"}, [], id="a broken package.json"),
        pytest.param({"package.json": '["x"]'}, [], id="a package.json of another kind"),
        pytest.param({"package.json": '{"scripts": {"test": 1}}'}, [], id="scripts of another kind"),
        # --- Python ---
        pytest.param(
            {"pyproject.toml": "[tool.ruff]\n[tool.pytest.ini_options]\n[tool.mypy]\n"},
            ["pytest -q", "ruff check .", "mypy ."],
            id="tools of a pyproject.toml",
        ),
        pytest.param({"pyproject.toml": '[tool.mypy]\nfiles = ["src"]\n'}, ["mypy"], id="mypy knows its files"),
        pytest.param(
            {
                "pyproject.toml": '[project.optional-dependencies]\ndev = ["PyTest>=8"]\n'
                '[dependency-groups]\nlint = ["ruff", {include-group = "x"}]\n'
            },
            ["pytest -q", "ruff check ."],
            id="packages that are asked for",
        ),
        pytest.param(
            {
                "pyproject.toml": '[tool.poetry.group.dev.dependencies]\npytest = "^8"\n[tool.poetry.dependencies]\nruff = "*"\n',
                "poetry.lock": "",
            },
            ["poetry run pytest -q", "poetry run ruff check ."],
            id="poetry",
        ),
        pytest.param(
            {"pyproject.toml": '[tool.uv]\ndev-dependencies = ["pytest"]\n', "uv.lock": ""},
            ["uv run pytest -q"],
            id="uv",
        ),
        pytest.param(
            {"requirements-dev.txt": "# tools\npytest==8.1\npytest-cov\n", "setup.cfg": "[flake8]\n[mypy]\n"},
            ["pytest -q", "flake8", "mypy ."],
            id="without a pyproject.toml",
        ),
        pytest.param({"requirements.txt": "pytest-cov\n"}, [], id="a package with a longer name"),
        pytest.param({"pyproject.toml": "[tool"}, [], id="a broken pyproject.toml"),
        pytest.param({"pyproject.toml": "tool = 1\nproject = 2"}, [], id="a pyproject.toml of another kind"),
        pytest.param(
            {"tests/test_a.py": "from unittest import TestCase\n", "setup.py": ""},
            ["python3 -m unittest discover -s tests"],
            id="tests for unittest",
        ),
        pytest.param(
            {"tests/test_a.py": "import unittest\n", "tests/__init__.py": ""},
            ["python3 -m unittest discover -s tests -t ."],
            id="tests for unittest that are a package",
        ),
        pytest.param({"test_shop.py": "import unittest\n"}, ["python3 -m unittest"], id="tests beside the code"),
        pytest.param(
            {"tests/test_a.py": "def test_a():\n    assert 1\n", "uv.lock": ""},
            ["uv run pytest -q"],
            id="tests for pytest, which nothing names",
        ),
        pytest.param({"tests/data.txt": "unittest", "tests/test_a.js": "unittest"}, [], id="no tests in Python"),
        # --- others ---
        pytest.param({"Cargo.toml": ""}, ["cargo test", "cargo clippy"], id="Rust"),
        pytest.param({"go.mod": ""}, ["go test ./...", "go vet ./..."], id="Go"),
        pytest.param({"tox.ini": "[tox]\n"}, ["tox"], id="tox"),
        pytest.param({"tox.ini": "[flake8]\n"}, [], id="a tox.ini that is used for something else"),
        pytest.param({"noxfile.py": "import nox\n"}, ["nox"], id="nox"),
        pytest.param(
            {".pre-commit-config.yaml": "repos: []\n"}, ["pre-commit run --all-files"], id="pre-commit"
        ),
        # --- several ---
        pytest.param(
            {"Makefile": "test:\n", "pyproject.toml": "[tool.pytest]\n[tool.ruff]\n", "tox.ini": "[tox]"},
            ["make test", "ruff check ."],
            id="what the project's own runner does is not done again",
        ),
        pytest.param(
            {"package.json": package(test="x"), "go.mod": "", ".pre-commit-config.yaml": ""},
            ["npm test", "go test ./...", "go vet ./..."],
            id="two languages have two test suites",
        ),
    ],
)  # fmt: skip
def test_guardrails(files: dict[str, str], expected: list[str]) -> None:
    assert [each.command for each in guardrails(of(files))] == expected


def test_a_proposal_names_its_file_and_its_program() -> None:
    files = {"Cargo.toml": "", "setup.cfg": "[flake8]", "uv.lock": "", "pytest.ini": ""}
    assert [(each.command, each.source, each.program) for each in guardrails(of(files))] == [
        ("uv run pytest -q", "pytest.ini", "uv"),
        ("uv run flake8", "setup.cfg", "uv"),
        ("cargo test", "Cargo.toml", "cargo"),
        ("cargo clippy", "Cargo.toml", "cargo-clippy"),
    ]


def test_a_runner_that_is_not_here_does_nobodys_work() -> None:
    files = {"Makefile": "test:\n", "go.mod": ""}
    found = guardrails(of(files), lambda program: program != "make")
    assert [each.command for each in found] == ["make test", "go test ./...", "go vet ./..."]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        ({"package.json": "{}"}, []),
        ({"package.json": "{}", "package-lock.json": ""}, ["npm ci --no-audit --no-fund"]),
        ({"package.json": "{}", "pnpm-lock.yaml": ""}, ["pnpm install --frozen-lockfile"]),
        ({"package.json": "{}", "yarn.lock": "# yarn lockfile v1\n"}, ["yarn install --frozen-lockfile"]),
        ({"package.json": "{}", "yarn.lock": "__metadata:\n"}, ["yarn install --immutable"]),
        (
            {"package.json": "{}", "bun.lock": "", "uv.lock": ""},
            ["bun install --frozen-lockfile", "uv sync --frozen"],
        ),
        ({"requirements.txt": "click\n"}, []),
        (
            {"requirements.txt": "click\n", ".venv/bin": ""},
            ["python3 -m venv .venv", ".venv/bin/pip install -q -r requirements.txt"],
        ),
    ],
)
def test_setup_of_worktrees(files: dict[str, str], expected: list[str]) -> None:
    assert [each.command for each in setup(of(files))] == expected
