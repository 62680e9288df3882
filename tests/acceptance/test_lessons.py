"""``ralph lessons``: proposes, and leaves the deed to a person."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from ralph.domain.loop.ledger import HEADING

from .conftest import Project, copy_of, make_once

LINT = "printf 'src/a.py:3:80: E501 line too long\\nFound 1 error.\\n'; false"
PITFALL = '- `make lint` failed 3 times in 2 runs: "E501 line too long"'


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(project: Project) -> None:
        project.git("init", "-q", "-b", "main")
        project.settings(agent={"command": "claude"}, guardrails=[{"command": LINT, "name": "make lint"}])
        project.agent(*([{"say": "no"}],) * 3)
        project.ralph("run", "-p", "work", "-m", "2", check=1)
        project.ralph("run", "-p", "work", "-m", "1", check=1)

    return make_once(tmp_path_factory.mktemp("failed"), make)


@pytest.fixture
def history(failed: Path, tmp_path: Path) -> Project:
    return copy_of(failed, tmp_path)


def apply(project: Project, patch: str, *, cwd: Path | None = None) -> None:
    ran = subprocess.run(
        ["git", "apply"],
        cwd=cwd or project.root,
        input=patch.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md"])
@pytest.mark.parametrize(
    "content", [None, b"# Project\n", b"# no end", b"# Windows\r\n\r\nx\r\n", b"\xff not UTF-8\n"]
)
def test_the_patch_applies_and_is_not_proposed_again(
    history: Project, name: str, content: bytes | None
) -> None:
    file = history.root / name
    options = () if name == "AGENTS.md" else ("--file", name)
    if content is not None:
        file.write_bytes(content)
    ran = subprocess.run(
        ["sh", "-c", f"{ralph(history)} lessons {' '.join(options)} | git apply"],
        cwd=history.root, env=history.env(), capture_output=True, text=True, timeout=110, check=True,
    )  # fmt: skip
    assert "Nothing was changed" in ran.stderr
    assert "(1, 2), " in ran.stderr
    end = b"\r\n" if b"\r\n" in (content or b"") else b"\n"
    assert PITFALL.encode() + end in file.read_bytes()
    assert file.read_bytes().startswith(content or b"")
    again = history.ralph("lessons", *options, check=0)
    assert again.stdout == ""
    assert f"{name} has 1 lesson already" in again.stderr


def ralph(project: Project) -> str:
    import shlex
    import sys

    return f"{shlex.quote(sys.executable)} -m ralph"


def test_it_writes_nothing_by_itself(history: Project) -> None:
    before = sorted(path.name for path in history.root.iterdir())
    ran = history.ralph("lessons", check=0)
    assert ran.stdout.startswith("--- /dev/null\n+++ b/AGENTS.md\n")
    assert sorted(path.name for path in history.root.iterdir()) == before


def test_claude_md_is_chosen_if_it_is_the_only_one_and_a_link_is_followed(history: Project) -> None:
    (history.root / "CLAUDE.md").write_text("# Project\n")
    assert "+++ b/CLAUDE.md" in history.ralph("lessons", check=0).stdout
    (history.root / "AGENTS.md").symlink_to("CLAUDE.md")
    patch = history.ralph("lessons", check=0).stdout
    assert "+++ b/CLAUDE.md" in patch
    apply(history, patch)


def test_a_project_below_the_top_of_its_repository(history: Project) -> None:
    outer = history.root.parent / "outer"
    outer.mkdir()
    inner = history.root.rename(outer / "in ner")
    subprocess.run(["rm", "-rf", str(inner / ".git")], check=True, timeout=60)
    subprocess.run(["git", "init", "-q"], cwd=outer, check=True, timeout=60)
    (inner / "AGENTS.md").write_text("# Inner\n")
    patch = history.ralph("lessons", cwd=inner, check=0).stdout
    for place in (inner, outer):
        (inner / "AGENTS.md").write_text("# Inner\n")
        apply(history, patch, cwd=place)
        assert PITFALL in (inner / "AGENTS.md").read_text()


def test_the_command_that_it_names_works_below_the_top_too(history: Project) -> None:
    below = history.root / "src"
    below.mkdir()
    ran = history.ralph("lessons", cwd=below, check=0)
    (command,) = re.findall(r"pipe it to `(git .*)`", ran.stderr)
    subprocess.run(command, shell=True, cwd=below, input=ran.stdout.encode(), timeout=60, check=True)
    assert PITFALL in (history.root / "AGENTS.md").read_text()
    assert list(below.iterdir()) == []


def test_the_page_shows_what_it_prints(history: Project) -> None:
    page = (Path(__file__).parents[2] / "docs" / "lessons.md").read_text()
    shown = page.split("$ ralph lessons\n")[1].split("```")[0].splitlines()
    (history.root / "AGENTS.md").write_text("# Project\n")
    printed = history.ralph("lessons", check=0).stdout.splitlines()
    assert shown[:-1] == printed[:-1], "all but the lesson itself"
    assert HEADING in page


def test_json_says_where(history: Project) -> None:
    found = json.loads(history.ralph("lessons", "--json", check=0).stdout)
    (first,), (second,) = history.rows("SELECT id FROM runs ORDER BY started_at")
    assert found["file"] == "AGENTS.md"
    assert found["lessons"] == [
        {
            "check": "make lint",
            "line": "E501 line too long",
            "times": 3,
            "runs": [first, second],
            "iterations": [
                {"run": first, "iteration": 1},
                {"run": first, "iteration": 2},
                {"run": second, "iteration": 1},
            ],
        }
    ]
    assert PITFALL in found["patch"]


def test_nothing_to_say_is_no_failure(project: Project) -> None:
    ran = project.ralph("lessons", check=0)
    assert (ran.stdout, ran.stderr) == ("", "There are no runs here yet.\n")


def test_one_run_teaches_nothing(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": LINT, "name": "make lint"}])
    project.agent(*([{"say": "no"}],) * 3)
    project.ralph("run", "-p", "work", "-m", "3", check=1)
    ran = project.ralph("lessons", check=0)
    assert (ran.stdout, ran.stderr) == ("", "No recurring failures found.\n")


@pytest.mark.parametrize("profile", ["review", "draft"])
def test_checks_of_what_is_not_work_on_the_project_teach_nothing(history: Project, profile: str) -> None:
    with closing(sqlite3.connect(history.root / ".ralph" / "ralph.db")) as database, database:
        database.execute("UPDATE runs SET profile = ?", (profile,))
    assert history.ralph("lessons", check=0).stderr == "No recurring failures found.\n"


@pytest.mark.parametrize(
    ("file", "code", "said"),
    [("../elsewhere.md", 2, "is not in"), (".", 4, "cannot read"), ('a"b.md', 2, "a patch cannot name")],
)
def test_a_file_that_cannot_be_patched_is_refused(history: Project, file: str, code: int, said: str) -> None:
    assert said in history.ralph("lessons", "--file", file, check=code).stderr


def test_a_record_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    import shutil

    old = tmp_path / "project"
    shutil.copytree(Path(__file__).parent.parent / "data" / "record_0_1", old)
    (tmp_path / "programs").mkdir()
    Project(old, tmp_path / "programs").ralph("lessons", check=0)
