"""``ralph report`` on a real run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .conftest import DONE, PROMPT, Project


@pytest.fixture
def ran(project: Project) -> Project:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "test -e done.txt"}])
    project.agent([{"say": DONE}], [{"write": {"path": "done.txt", "content": "x\n"}}, {"say": DONE}])
    project.ralph("run", "-p", PROMPT, check=0)
    return project


def test_a_report_tells_of_the_claim_that_was_denied_and_the_proof(ran: Project) -> None:
    said = ran.ralph("report", "-o", "report.html", check=0)
    assert "wrote report.html" in said.stderr
    page = (ran.root / "report.html").read_text()
    assert "Completed" in page
    assert "though it claimed to be done" in page
    assert "test -e done.txt" in page
    assert "Do the work, then output" in page


def test_formats_go_to_a_pipe_or_by_the_files_name(ran: Project) -> None:
    assert ran.ralph("report", check=0).stdout.startswith("<!doctype html>")
    assert ran.ralph("report", "last", "--format", "md", check=0).stdout.startswith("## ralph: Completed")
    data = json.loads(ran.ralph("report", "--format", "json", check=0).stdout)
    assert [each["decision"] for each in data["iterations"]] == ["continue", "accept"]
    ran.ralph("report", "-o", "r.md", check=0)
    assert (ran.root / "r.md").read_text().startswith("## ralph")
    assert (
        "wrote r.txt (html; --format chooses another)" in ran.ralph("report", "-o", "r.txt", check=0).stderr
    )
    assert (ran.root / "r.txt").read_text().startswith("<!doctype html>")
    said = ran.ralph("report", "-o", "r.txt", "--format", "md", check=0).stderr
    assert said.endswith("wrote r.txt\n")
    assert ran.ralph("report", "--format", "markdown", check=0).stdout.startswith("## ralph")
    ran.ralph("report", "-o", "/dev/null", check=0)
    assert not Path("/dev/null").is_file()


def test_open_shows_it_in_the_browser_or_says_why_not(ran: Project) -> None:
    shown = ran.programs / "shown"
    os.mkfifo(shown)
    ran.program("xdg-open", f'echo "$1" > "{shown}"\n')
    ran.environment.update(DISPLAY=":9", SSH_CONNECTION="", SSH_TTY="")
    said = ran.ralph("report", "--open", check=0)
    opened = shown.read_text().strip()  # first of all: the one who shows it waits for a reader
    (page,) = ran.root.glob(".ralph/runs/*/report.html")
    assert opened == str(page)
    assert said.stderr == f"wrote {page.relative_to(ran.root)}\n"

    said = ran.ralph("report", "--open", "-o", "r.html", check=0, SSH_TTY="there")
    assert f"over ssh there is no browser of yours. Open {ran.root / 'r.html'} yourself." in said.stderr
    assert "leave out one" in ran.ralph("report", "--open", "-o", "-", check=2).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nobody"], 2, "there is no run 'nobody' here"),
        (["-o", "."], 2, "is a directory"),
        (["-o", "missing/report.html"], 4, "cannot write"),
        (["--format", "pdf"], 2, "pdf"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_words(
    ran: Project, arguments: list[str], code: int, words: str
) -> None:
    said = ran.ralph("report", *arguments, check=code)
    assert words in said.stderr
    assert "Traceback" not in said.stderr


def test_without_any_run_there_is_nothing_to_report(project: Project) -> None:
    assert "no runs here yet" in project.ralph("report", check=2).stderr


def test_the_work_on_tasks_is_reported_with_its_parts_after_their_worktrees_are_gone(
    project: Project,
) -> None:
    promises = ("IMPLEMENTATION_COMPLETE", "REVIEW_PASSED", "TESTS_PASSED", "QA_PASSED")
    sessions = [[{"say": f"<promise>{promise}</promise>"}] for promise in promises]
    project.agent([{"write": {"path": "totals.py", "content": "x = 1\n"}}, *sessions[0]], *sessions[1:])
    project.settings(agent={"command": "claude"})
    (project.root / "README.md").write_text("a shop\n")
    for arguments in (["init", "-q", "-b", "main"], ["add", "README.md"], ["commit", "-qm", "begin"]):
        project.git(*arguments)
    spec = {role: {"verification_method": "string_match"} for role in ("coder", "reviewer", "tester", "qa")}
    tasks = [
        {"id": "T-2", "title": "Totals", "completion": {"outcome": "o", "acceptance_criteria": ["c"], **spec}}
    ]
    (project.root / "tasks.json").write_text(json.dumps(tasks))
    project.ralph("task", "add", "-f", "tasks.json", check=0)
    project.ralph("work", "T-2", check=0)

    work, part = (row[0] for row in project.rows("SELECT id FROM runs ORDER BY parent_id, id"))
    data = json.loads(project.ralph("report", work, "--format", "json", check=0).stdout)
    assert [(each["run"]["id"], each["task"]) for each in data["parts"]] == [(part, "T-2")]
    assert [file["path"] for file in data["changes"]["files"]] == ["totals.py"]
    assert data["figures"]["judged"] == 4
    text = project.ralph("report", part, "--format", "md", check=0).stdout
    assert "| `totals.py` | 1 | 0 |" in text
    assert "| 2 | T\\-2/reviewer | accepted |" in text
