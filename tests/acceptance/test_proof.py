"""Proof that cannot be bought: what turns a guardrail green without the work is not believed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.acceptance.conftest import Project

DONE = "<response>DONE</response>"
PROMPT = f"Make add() right, then output {DONE}."
PYTEST = f"{sys.executable} -m pytest -q"
WRONG = "def add(a, b):\n    return 0\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"


@pytest.fixture
def calc(project: Project) -> Project:
    """A small project whose test fails."""
    project.settings(agent={"command": "claude"}, guardrails=[{"command": PYTEST}])
    write(
        project, {"calc.py": WRONG, "tests/test_calc.py": TEST, "conftest.py": "", ".gitignore": "*.local\n"}
    )
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "start")):
        subprocess.run(["git", *arguments], cwd=project.root, check=True, timeout=60)
    return project


def write(project: Project, files: dict[str, str]) -> None:
    for name, text in files.items():
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / name).write_text(text)


def session(**files: str) -> list[dict[str, object]]:
    written: list[dict[str, object]] = [
        {"write": {"path": name, "content": text}} for name, text in files.items()
    ]
    return [*written, {"say": DONE}]


def test_honest_work_is_accepted_with_every_layer_on_record(calc: Project) -> None:
    calc.agent(session(**{"calc.py": RIGHT, "tests/test_more.py": TEST}))
    ran = calc.ralph("run", "-p", PROMPT, "-m", "1", check=0)
    assert "clean checkout" in ran.stdout + ran.stderr
    assert "old proof" in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    "lie",
    [
        {"tests/test_calc.py": "def test_add():\n    assert True\n"},
        {
            "conftest.py": "collect_ignore = ['tests']\n\n\ndef test_x():\n    pass\n",
            "test_y.py": "def test_y(): pass\n",
        },
        {"pytest.ini": "[pytest]\ntestpaths = other\n", "other/test_x.py": "def test_x(): pass\n"},
    ],
)
def test_a_check_that_was_weakened_proves_nothing(calc: Project, lie: dict[str, str]) -> None:
    calc.agent(session(**lie))
    calc.ralph("run", "-p", PROMPT, "-m", "1", check=1)


def test_what_is_only_in_the_working_folder_proves_nothing(calc: Project) -> None:
    calc.settings(agent={"command": "claude"}, guardrails=[{"command": "test -f answer.local"}])
    calc.agent(session(**{"answer.local": "42"}), session())
    calc.ralph("run", "-p", PROMPT, "-m", "2", check=1)
    told = calc.prompt(2)
    assert "not in a fresh checkout of the same files" in told
    assert "Not in the checkout: answer.local" in told


def test_trust_is_possible(calc: Project) -> None:
    calc.settings(agent={"command": "claude"}, guardrails=[{"command": "test -f answer.local"}])
    calc.agent(session(**{"answer.local": "42"}))
    calc.ralph("run", "-p", PROMPT, "-m", "1", "--proof", "trusting", check=0)
    assert not list((calc.root / ".ralph" / "runs").glob("*/proof"))


def test_uncommitted_and_new_files_of_the_user_are_part_of_the_work(calc: Project) -> None:
    write(
        calc,
        {
            "helper.py": "from calc import add\n",
            "tests/test_calc.py": TEST.replace("calc import", "helper import"),
        },
    )
    calc.agent(session(**{"calc.py": RIGHT}))
    calc.ralph("run", "-p", PROMPT, "-m", "1", check=0)
