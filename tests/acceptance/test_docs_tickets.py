"""The page on tickets is executed: its list of boxes, its commands, its settings and limits."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from ralph.adapters.sources.choice import is_tracker
from ralph.adapters.sources.remarks import LONGEST_REMARK, MOST_REMARKS
from ralph.config.loading import load
from ralph.config.ticket_settings import TicketSettings
from ralph.domain.tickets import batch, checklist, ticket_text
from ralph.domain.tickets.priority import priority_of
from ralph.domain.tickets.ticket_text import read_text

from .conftest import Project
from .task_project import TaskProject

PAGE = (Path(__file__).parents[2] / "docs" / "tickets.md").read_text()
CODER = """
case "$RALPH_TASK_ID" in
TODO-SUM-1) echo 3 > sum.txt ;;
TODO-TAX-1) cat sum.txt && echo 19 > tax.txt ;;
esac
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def rows(heading: str) -> list[list[str]]:
    """Of the first table below a heading, without its head."""
    section = PAGE.split(f"## {heading}\n", 1)[1]
    table = re.search(r"^\|.*?(?:\n(?!\|)|\Z)", section, re.MULTILINE | re.DOTALL)
    assert table is not None
    lines = [line for line in table[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


@pytest.fixture
def todo(project: Project) -> TaskProject:
    """With the page's list, and an agent that does what it asks for. The sandbox has tests of its own."""
    tasks = TaskProject(project)
    project.environment["RALPH_SANDBOX__KIND"] = "none"
    tasks.role("coder", CODER)
    tasks.write("TODO.md", blocks("markdown")[0])
    tasks.commit("What is to be done")
    return tasks


def test_a_list_of_boxes_is_worked_on_as_written(todo: TaskProject) -> None:
    first, then = [shlex.split(line, comments=True)[1:] for line in blocks("sh")[0].splitlines()]
    assert (first, then) == (["task", "import", "TODO.md"], ["work"])

    shown = todo.project.ralph(*first, "--yes", check=0).stdout
    todo.project.ralph(*then, check=0)

    assert re.search(r"^new +SUM-1 +TODO-SUM-1 +1 +- +Add a sum$", shown, re.MULTILINE)
    assert re.search(r"^new +TAX-1 +TODO-TAX-1 +1 +TODO-SUM-1 +Add the tax", shown, re.MULTILINE)
    assert (todo.git("show", "main:sum.txt"), todo.git("show", "main:tax.txt")) == ("3", "19")
    assert (todo.root / "TODO.md").read_text() == blocks("markdown")[0].replace("[ ]", "[x]")
    assert todo.git("status", "--porcelain", "--", "TODO.md") == "M TODO.md"  # without its first blank
    assert "nothing new" in todo.project.ralph(*first, "--yes", check=0).stdout


def test_an_agent_that_ticks_its_own_box_is_denied(todo: TaskProject) -> None:
    todo.role("coder", f"{CODER}\nsed -i 's/\\[ \\] SUM/[x] SUM/' TODO.md")

    todo.work("--from", "TODO.md", "--max-iterations", "1", check=1)

    assert todo.shown("TODO-SUM-1")["status"] == "open"
    assert "[ ] SUM-1" in (todo.root / "TODO.md").read_text()


def test_a_box_that_the_user_ticks_ends_its_task(todo: TaskProject) -> None:
    todo.project.ralph("task", "import", "TODO.md", "--yes", check=0)
    todo.write("TODO.md", (todo.root / "TODO.md").read_text().replace("[ ] TAX", "[x] TAX"))

    todo.work("--from", "TODO.md", check=0)

    assert todo.shown("TODO-TAX-1")["status"] == "cancelled"
    assert todo.shown("TODO-SUM-1")["status"] == "done"


def test_what_is_edited_before_anybody_begins_is_what_the_task_asks_for(todo: TaskProject) -> None:
    todo.project.ralph("task", "import", "TODO.md", "--yes", check=0)
    todo.write("TODO.md", (todo.root / "TODO.md").read_text().replace("holds 19", "holds 20"))

    todo.project.ralph("task", "import", "TODO.md", "--yes", check=0)

    (criterion,) = todo.shown("TODO-TAX-1")["completion_spec"]["acceptance_criteria"]
    assert criterion == "tax.txt holds 20"


@pytest.mark.parametrize("line", ["-[ ] no blank", "- [] nothing inside", "- [ ] SUM-1: again"])
def test_a_mistake_is_named_with_its_line_and_nothing_is_imported(todo: TaskProject, line: str) -> None:
    text = blocks("markdown")[0] + line + "\n"
    todo.write("TODO.md", text)

    said = todo.project.ralph("task", "import", "TODO.md", "--yes", check=2).stderr

    assert f"line {len(text.splitlines())}" in said
    assert not (todo.root / ".ralph" / "ralph.db").exists()


def test_small_ones_are_put_together_by_heading(todo: TaskProject) -> None:
    plan = (
        "# Tasks\n\n## Setup\n\n- [ ] T001 Create a\n- [ ] T002 Create b\n\n## Rest\n\n- [ ] T003 Create c\n"
    )
    todo.write("specs/001-photos/tasks.md", plan)
    todo.write("specs/001-photos/spec.md", "Photos.\n")
    (command,) = [line for block in blocks("sh") for line in block.splitlines() if "--batch" in line]

    todo.project.ralph(*shlex.split(command)[1:], "--yes", check=0)

    found = json.loads(todo.project.ralph("task", "list", "--json", check=0).stdout)["tasks"]
    assert sorted(task["title"] for task in found) == ["Create c", "Setup"]
    assert all("specs/001-photos/spec.md" in task["description"] for task in found)


def test_without_a_terminal_nothing_is_imported(todo: TaskProject) -> None:
    assert "--yes" in todo.project.ralph("task", "import", "TODO.md", check=2).stderr


def test_every_setting_is_listed_with_its_default() -> None:
    listed = {name.strip("`"): default.strip("`") for name, default, _ in rows("Settings")}
    defaults = {one.name: getattr(TicketSettings(), one.name) for one in fields(TicketSettings)}
    said = {"none": "", "false": False, "60": 60.0}
    assert {name: said.get(default, default) for name, default in listed.items()} == defaults


def test_the_limits_are_those_of_the_code() -> None:
    listed = {
        what: [int(one.replace(",", "")) for one in re.findall(r"[\d,]*\d", most)]
        for what, most in rows("Limits")
    }
    assert listed["a ticket's text"] == [ticket_text.LONGEST_TEXT]
    assert listed["criteria"] == [ticket_text.MOST_CRITERIA, ticket_text.LONGEST_CRITERION]
    assert listed["blockers named in a text"] == [ticket_text.MOST_BLOCKERS]
    assert listed["comments that count"] == [MOST_REMARKS, LONGEST_REMARK]
    assert listed["a Markdown file"] == [checklist.LARGEST_BYTES // 1_000_000, checklist.MOST_ITEMS]
    assert f"at most {batch.MOST_TOGETHER} items" in PAGE


def test_trackers_are_named_as_ralph_knows_them() -> None:
    named = [one for row in rows("In a minute") for one in re.findall(r"`((?:github|linear):[^`]+)`", row[1])]
    assert len(named) == 4
    assert all(map(is_tracker, named))


def test_what_a_text_states_is_read_as_the_page_says() -> None:
    what = {row[0]: row[1] for row in rows("What becomes of a ticket")}
    criteria, blockers = what["acceptance criteria"], what["what it waits for"]
    headings = re.findall(r"`([A-Z][^`]+)`", criteria)
    assert len(headings) == 3
    for heading in headings:
        for written in (f"## {heading}", f"**{heading}**", f"{heading}:"):
            assert read_text(f"Hello.\n\n{written}\n\n- a\n- b\n").criteria == ("a", "b")
    for one in re.findall(r"`((?:Blocked|Depends) [^`]+)`", blockers):
        assert read_text(f"Hello.\n\n{one}\n").blockers == (one.split()[-1],)
    assert read_text("Estimate: 3h").estimate == 3
    assert read_text("Estimate: 2d").estimate == 16
    assert read_text("Estimate: 1w").estimate == 40
    said = what["priority (smaller is first)"].split(", also as")[0]
    ranks = re.findall(r"((?:`\w+`(?:, | or )?)+) (\d)", said)
    assert len(ranks) == 4
    for names, rank in ranks:
        assert {priority_of([name]) for name in re.findall(r"`(\w+)`", names)} == {int(rank)}
    assert priority_of(["priority: high"]) == 3


def test_a_workflow_of_symphonys_says_what_the_table_says(tmp_path: Path) -> None:
    front = """---
tracker:
  kind: linear
  project_slug: shop-0123abcd
  api_key: $LINEAR_API_KEY
  required_labels: [agent]
polling:
  interval_ms: 1000
agent:
  max_concurrent_agents: 3
hooks:
  after_create: |
    git clone --depth 1 https://github.example/octo/hello .
    npm ci
  before_remove: rm -rf cache
  timeout_ms: 90000
---
Do {{ issue.identifier }}: {{ issue.title }}

{{ issue.description }}
"""
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "settings.json").write_text(json.dumps({"agent": {"command": "claude"}}))
    (tmp_path / "WORKFLOW.md").write_text(front)

    loaded = load(tmp_path, environ={})

    settings = loaded.settings
    assert settings.tickets.source == "linear:project/shop-0123abcd"
    assert settings.tickets.label == "agent"
    assert settings.tickets.poll == 5
    assert settings.profiles.verified.max_parallel == 3
    assert [str(one) for one in settings.workspace.setup] == ["npm ci"]
    assert [str(one) for one in settings.workspace.teardown] == ["rm -rf cache"]
    assert settings.workspace.timeout == 90
    assert settings.profiles.verified.roles["coder"].prompt == "WORKFLOW.md"
    assert any("tracker.api_key" in str(warning) for warning in loaded.warnings)
