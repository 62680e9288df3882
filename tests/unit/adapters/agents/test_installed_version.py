"""What the files around a program say of its version, and when they say nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralph.adapters.agents.installed_version import installed_version
from ralph.adapters.agents.registry import facts_of

CODEX = facts_of("codex")


def package(folder: Path, name: str = "@openai/codex", version: object = "0.166.0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps({"name": name, "version": version}))
    return folder


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    return path


def test_npm_installs_a_link_to_a_program_in_its_package(tmp_path: Path) -> None:
    modules = tmp_path / "lib" / "node_modules"
    real = program(package(modules / "@openai" / "codex") / "bin" / "codex.js")
    link = tmp_path / "bin" / "codex"
    link.parent.mkdir()
    link.symlink_to(real)

    assert installed_version(link, CODEX) == "0.166.0"


def test_the_nearest_package_counts_alone(tmp_path: Path) -> None:
    inner = package(package(tmp_path / "codex") / "wrapper", "my-wrapper", "1.0.0")

    assert installed_version(program(inner / "codex"), CODEX) == ""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("share/codex/versions/2.1.325", "2.1.325"),
        ("Cellar/codex/0.166.0/bin/codex", "0.166.0"),
        ("node/versions/v22.1.0/bin/codex", ""),
        ("versions/3.1/codex", ""),
        ("bin/codex", ""),
    ],
)
def test_folders_that_installers_make(tmp_path: Path, path: str, expected: str) -> None:
    assert installed_version(program(tmp_path / path), CODEX) == expected


@pytest.mark.parametrize("version", ["", "latest", "about 1.2.3", "1.2.3\x1b[31m", 3, None, ["1.2"]])
def test_a_version_is_nothing_but_a_version(tmp_path: Path, version: object) -> None:
    assert installed_version(program(package(tmp_path / "p", version=version) / "codex"), CODEX) == ""


@pytest.mark.parametrize("content", ["", "[]", "{", "null", "[" * 100_000])
def test_a_file_that_is_no_description_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "package.json").write_text(content)

    assert installed_version(program(tmp_path / "codex"), CODEX) == ""


def test_an_agent_without_a_package_has_no_version_here(tmp_path: Path) -> None:
    assert installed_version(program(package(tmp_path / "p", "", "1.0") / "x"), facts_of("plain")) == ""
