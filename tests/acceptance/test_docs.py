"""Documentation that can be executed is executed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ralph.config.loading import load
from ralph.domain.loop.decision import Outcome
from ralph.interfaces.cli.exit_codes import ExitCode, exit_code_of
from ralph.interfaces.cli.front_page import COMMANDS

from .conftest import DONE, Project

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_the_library_example_runs(project: Project) -> None:
    (example,) = blocks(ROOT / "docs" / "library.md", "python")
    (project.root / "example.txt").write_text(example)
    (project.root / "work.py").write_text("# TODO: remove me\n")
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}], [{"write": {"path": "work.py", "content": "x = 1\n"}}, {"say": DONE}])

    ran = subprocess.run(
        [sys.executable, "-W", "error", "example.txt"],
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("done after 2 iterations\n")
    assert "TODOs are left in ['work.py']." in project.prompt(2)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_in_the_docs_are_valid(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "json"):
        values = json.loads(block)
        if isinstance(values, dict) and values.keys() & {"agent", "scm", "guardrails"}:
            (tmp_path / ".ralph").mkdir(exist_ok=True)
            (tmp_path / ".ralph" / "settings.json").write_text(block)
            loaded = load(tmp_path, environ={})
            assert not loaded.warnings


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def anchors(page: Path) -> set[str]:
    """As GitHub names the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        assert anchor in anchors(page.parent / target if target else page), f"{target}#{anchor}"


def test_the_page_of_commands_lists_every_exit_code() -> None:
    listed = {
        int(code)
        for code in re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "commands.md").read_text(), re.MULTILINE)
    }
    assert listed == set(ExitCode)
    assert {exit_code_of(outcome) for outcome in Outcome} <= listed


def test_every_command_teaches_in_its_help(project: Project) -> None:
    top = project.ralph("--help", check=0).stdout
    for name in COMMANDS:
        assert name in top
        assert "Usage:" in project.ralph(name, "--help", check=0).stdout


def test_the_version_is_printed_either_way(project: Project) -> None:
    assert project.ralph("--version", check=0).stdout == project.ralph("-v", check=0).stdout


PLACES = re.compile(
    r"`((?:domain|guard|engine|adapters|config|operations|wiring|interfaces|testing|profiles|docs|tests)/[^` ]*)`"
)


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_every_place_that_a_page_names_is_there(page: Path) -> None:
    for place in PLACES.findall(page.read_text()):
        fixed = re.split(r"[<*]|NNN", place)[0]
        assert (ROOT / fixed).exists() or (ROOT / "src" / "ralph" / fixed).exists(), place
