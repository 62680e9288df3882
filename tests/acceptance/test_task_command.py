"""``ralph task``: tasks in and out, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pexpect
import pytest

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.tasks import TaskStore
from ralph.domain.tasks.task import TaskStatus

from .conftest import Project

DATA = Path(__file__).parents[1] / "data" / "documents"
DONE = ("--outcome", "It works", "--acceptance", "It is fast")
EVIL = "\x1b]0;title\x07\x1b[2Jwiped \u202e"


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have chosen colours, a locale or an editor."""
    for name in (
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "EDITOR",
        "VISUAL",
        "LC_CTYPE",
        "LANG",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def create(project: Project, name: str, *flags: str, title: str = "Do it") -> None:
    project.ralph("task", "create", name, "shop", title, *DONE, *flags, check=0)


def shown(project: Project, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project.ralph("task", "show", name, "--json", check=0).stdout)
    return found


def listed(project: Project, *flags: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(project.ralph("task", "list", "--json", *flags, check=0).stdout)[
        "tasks"
    ]
    return found


def set_status(project: Project, name: str, status: TaskStatus) -> None:
    """As a run would leave it."""
    with closing(open_state_database(project.root / ".ralph")) as database:
        store = TaskStore(database, me=this_process(), started_of=started_of)
        store.change(name, lambda task: replace(task, status=status, stage="tester"), at=1.0)


# --- in ---


def test_a_task_is_created_with_flags_for_each_role(project: Project) -> None:
    ran = project.ralph(
        "task", "create", "TASK-001", "my-spec", "Implement JWT auth",
        "--outcome", "All API endpoints require valid JWT tokens",
        "--acceptance", "JWT middleware validates tokens",
        "--acceptance", "Invalid tokens return 401",
        "--coder-promise", "AUTH_IMPLEMENTED", "--coder-verify", "external",
        "--coder-verify-cmd", "grep -r 'jwt.verify' src/",
        "--tester-promise", "AUTH_TESTS_PASS", "--tester-verify-cmd", "pytest tests/test_auth.py",
        "--reviewer-max-iterations", "2", "--qa-verify-template", "make", "--max-cost", "2.5",
        check=0,
    )  # fmt: skip
    assert ran.stdout == "added TASK-001: Implement JWT auth\n"
    found = shown(project, "TASK-001")
    task = found["task"]
    assert (task["spec_id"], task["state"], task["budget"]["cost_usd"]) == ("my-spec", "ready", 2.5)
    spec = task["completion_spec"]
    assert spec["acceptance_criteria"] == ["JWT middleware validates tokens", "Invalid tokens return 401"]
    assert spec["coder"]["verification_config"] == {"command": "grep -r 'jwt.verify' src/"}
    criteria = found["criteria"]
    assert criteria["tester"]["verification_method"] == "external"
    assert criteria["reviewer"]["max_iterations"] == 2
    assert criteria["qa"]["verification_config"]["command"] == "make test"
    assert criteria["coder"]["max_iterations"] == 15


def test_a_task_that_does_not_say_what_done_means_is_refused(project: Project) -> None:
    ran = project.ralph("task", "create", "T-1", "shop", "Do it", check=2)
    assert "--outcome: is missing" in ran.stderr
    assert "--acceptance: at least one is needed" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert project.ralph("task", "list", check=0).stdout == "no tasks here yet\n"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--coder-verify", "magic"), "--coder-verify: unknown verification method 'magic'"),
        (("--qa-max-iterations", "0"), "--qa-max-iterations: expected a whole number of at least 1"),
        (("--tester-verify-config", '{"timeout": 0}'), "--tester-verify-config: expected a number above 0"),
        (("--tester-verify-config", "{"), "--tester-verify-config: line 1, column 2: expected a name"),
        (("--tester-verify-template", "pytst"), "did you mean pytest?"),
        (("--coder-verify-config", '{"working_dir": "../x"}'), "is outside the workspace"),
        (("--depends-on", "NOPE"), "there is no task NOPE"),
        (("--depends-on", "T-1"), "--depends-on: T-1 depends on itself"),
        (("--max-time", "0"), "--max-time: expected a number above 0"),
    ],
)
def test_bad_flags_are_named_and_nothing_is_added(
    project: Project, flags: tuple[str, ...], said: str
) -> None:
    ran = project.ralph("task", "create", "T-1", "shop", "Do it", *DONE, *flags, check=2)
    assert said in ran.stderr
    assert listed(project) == []


def test_an_id_that_is_taken_or_no_name_is_refused(project: Project) -> None:
    create(project, "T-1")
    assert (
        "there is a task t-1 already"
        in project.ralph("task", "create", "t-1", "shop", "x", *DONE, check=2).stderr
    )
    assert (
        "ID: may contain only letters"
        in project.ralph("task", "create", "../x", "shop", "x", *DONE, check=2).stderr
    )


@pytest.mark.parametrize(("name", "ids"), [("task_list", ["SHOP-1", "SHOP-2"]), ("single_task", ["SHOP-9"])])
def test_a_file_of_either_shape_is_added_as_yaml_and_as_json(
    project: Project, name: str, ids: list[str]
) -> None:
    assert json.loads(
        project.ralph("task", "add", "-f", str(DATA / f"{name}.yaml"), "--json", check=0).stdout
    ) == {"added": ids, "valid": len(ids)}
    exported = project.ralph("task", "export", "--json", check=0).stdout
    project.ralph("task", "rm", "--yes", *ids, check=0)
    assert project.ralph("task", "add", "-f", "-", stdin=exported, check=0).stdout.startswith("added ")
    assert project.ralph("task", "export", "--json", check=0).stdout == exported


def test_all_problems_of_a_file_are_listed_with_their_lines_and_nothing_is_added(project: Project) -> None:
    create(project, "T-9")
    (project.root / "tasks.yaml").write_text(
        "- id: A\n"
        "  title: one\n"
        "  dependencies: [B, NOPE]\n"
        "  completion:\n"
        "    outcome: fine\n"
        "    acceptance_criteria:\n"
        "      - Login: works\n"
        "- id: B\n"
        "  title: two\n"
        "  dependencies: [A]\n"
        "  completion:\n"
        "    acceptance_criteria: []\n"
        "    codr: {}\n"
        "    qa: {verification_method: magic}\n"
        "- id: OK\n"
        "  title: three\n"
        "- {id: T-9, title: four, completion: {outcome: o, acceptance_criteria: [a]}}\n"
        "- {id: OK, title: five, completion: {outcome: o, acceptance_criteria: [a]}}\n"
    )
    ran = project.ralph("task", "add", "-f", "tasks.yaml", check=2)
    for line, said in (
        (3, "there is no task NOPE"),
        (3, "these tasks wait for each other: A → B → A"),
        (7, "put the line in quotes"),
        (11, "outcome: is missing"),
        (12, "acceptance_criteria: at least one is needed"),
        (13, "unknown role 'codr'"),
        (14, "unknown verification method 'magic'"),
        (15, "completion: is missing"),
        (17, "there is a task T-9 already"),
        (18, "OK appears twice"),
    ):
        assert any(
            text.startswith(f"  line {line}: ") and said in text for text in ran.stderr.splitlines()
        ), said
    assert "10 problems in tasks.yaml" in ran.stderr
    assert [task["id"] for task in listed(project)] == ["T-9"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bad.yaml", "- id: A\n\t- b", "bad.yaml, line 2: column 1"),
        ("bad.json", '[{"id": "A",}]', "bad.json, line 1: column 12: remove this comma"),
        ("bad.yaml", "just words", "expected tasks, found 'just words'"),
        ("bad.yaml", "", "bad.yaml: the file is empty"),
        ("bad.yaml", "a: &a [*a]", "no complete &a comes before it"),
        ("none.yaml", None, "there is no file none.yaml"),
    ],
)
def test_a_file_that_cannot_be_read_is_said(project: Project, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (project.root / name).write_text(text)
    ran = project.ralph("task", "add", "-f", name, check=2)
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_dry_run_makes_nothing(project: Project) -> None:
    ran = project.ralph("task", "add", "-f", str(DATA / "task_list.yaml"), "--dry-run", check=0)
    assert ran.stdout == "2 tasks could be added\n"
    assert list(project.root.iterdir()) == []


# --- looking ---


def test_a_list_says_why_each_task_is_not_done(project: Project) -> None:
    create(project, "A")
    create(project, "B", "--depends-on", "A", "--priority", "1")
    create(project, "C")
    create(project, "D", "--depends-on", "C")
    set_status(project, "C", TaskStatus.FAILED)
    lines = project.ralph("task", "list", check=0).stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["task", "state"], ["B", "waiting"], ["A", "ready"], ["C", "failed"], ["D", "blocked"],
    ]  # fmt: skip
    assert [task["id"] for task in listed(project, "--status", "failed")] == ["C"]
    assert [task["id"] for task in listed(project, "--ready")] == ["A"]
    assert "and 3 more; --all shows them" in project.ralph("task", "list", "--limit", "1", check=0).stdout


def test_a_task_is_shown_with_all_that_holds_for_it(project: Project) -> None:
    project.ralph("task", "add", "-f", str(DATA / "task_list.yaml"), check=0)
    text = project.ralph("task", "show", "SHOP-1", check=0).stdout
    for said in (
        "SHOP-1  Add a cart",
        "needed by   SHOP-2",
        "outcome  A visitor can collect products and see the sum",
        "- Products can be added and removed",
        "<promise>CART_BUILT</promise>, at most 15 iterations",
        "external: test -f shop/cart.py",
        "multi_stage: all_tests (pytest tests/), criteria_check",
        "created",
    ):
        assert said in text


def test_foreign_text_cannot_reach_the_terminal(project: Project) -> None:
    create(project, "T-1", "--description", EVIL, "--coder-promise", EVIL.replace("<", ""), title=f"a {EVIL}")
    for arguments in (("list",), ("show", "T-1")):
        text = project.ralph("task", *arguments, check=0).stdout
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "wiped" in text


def test_a_list_fits_the_terminal_and_is_coloured_there_only(project: Project) -> None:
    create(project, "T-1", title="A title that is far too long for any terminal " * 5)
    create(project, "T-2", "--depends-on", "T-1")

    def on_terminal(**environment: str) -> str:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "ralph", "task", "list"],
            cwd=str(project.root),
            env=project.env(TERM="xterm", **environment),
            dimensions=(24, 80),
            encoding="utf-8",
            timeout=90,
        )
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
        return str(child.before)

    plain = on_terminal(NO_COLOR="1")
    assert "\x1b[" not in plain
    lines = plain.splitlines()
    assert len(lines) == 3
    assert all(len(line) < 80 for line in lines)
    assert lines[1].endswith("…")
    assert "\x1b[1mready" in on_terminal()
    piped = project.ralph("task", "list", check=0).stdout
    assert "\x1b" not in piped
    assert "far too long for any terminal A title" in piped


def test_a_task_that_is_unknown_finds_its_like(project: Project) -> None:
    create(project, "TASK-001")
    for arguments in (("show", "TASK-01"), ("edit", "TASK-01", "--priority", "1"), ("rm", "-y", "TASK-01")):
        ran = project.ralph("task", *arguments, check=2)
        assert "there is no task TASK-01" in ran.stderr
        assert "did you mean TASK-001?" in ran.stderr


def test_where_there_are_no_tasks_that_is_said(project: Project) -> None:
    assert json.loads(project.ralph("task", "list", "--json", check=0).stdout) == {"tasks": [], "count": 0}
    assert "there are no tasks here yet" in project.ralph("task", "show", "T-1", check=2).stderr
    assert list(project.root.iterdir()) == []


# --- changing ---


def test_flags_change_single_things(project: Project) -> None:
    create(project, "T-1", "--coder-verify-cmd", "make", "--assignee", "me")
    project.ralph(
        "task", "edit", "T-1", "--priority", "1", "--coder-max-iterations", "3", "--assignee", "", "--title", "New",
        check=0,
    )  # fmt: skip
    task = shown(project, "T-1")["task"]
    assert (task["priority"], task["assignee"], task["title"]) == (1, "", "New")
    coder = task["completion_spec"]["coder"]
    assert (coder["max_iterations"], coder["verification_config"]) == (3, {"command": "make"})
    assert task["completion_spec"]["outcome"] == "It works"
    ran = project.ralph("task", "edit", "T-1", "--priority", "1", check=0)
    assert ran.stdout == "nothing changed in T-1: New\n"
    events = shown(project, "T-1")["events"]
    assert [event["kind"] for event in events] == ["created", "edited"]


def test_a_task_can_be_edited_in_an_editor(project: Project) -> None:
    create(project, "T-1")
    editor = project.program("my-editor", 'sed -i "s/Do it/Do it well/" "$1"\n')
    assert (
        project.ralph("task", "edit", "T-1", check=0, EDITOR=str(editor)).stdout
        == "changed T-1: Do it well\n"
    )
    broken = project.program("my-editor", 'echo "  priority: high" >> "$1"\n')
    ran = project.ralph("task", "edit", "T-1", check=2, EDITOR=str(broken))
    assert "expected a whole number, found 'high'" in ran.stderr
    assert "nothing was changed" in ran.stderr


def test_without_flags_file_or_editor_there_is_nothing_to_edit(project: Project) -> None:
    create(project, "T-1")
    ran = project.ralph("task", "edit", "T-1", check=2, stdin="", EDITOR="", VISUAL="")
    assert "no terminal to edit on" in ran.stderr


def test_a_file_replaces_what_a_task_asks_for_but_not_another_task(project: Project) -> None:
    create(project, "T-1")
    entry = {"id": "T-1", "title": "Other", "completion": {"outcome": "o", "acceptance_criteria": ["b"]}}
    project.ralph("task", "edit", "T-1", "-f", "-", stdin=json.dumps(entry), check=0)
    assert shown(project, "T-1")["task"]["title"] == "Other"
    ran = project.ralph("task", "edit", "T-1", "-f", "-", stdin=json.dumps({**entry, "id": "T-2"}), check=2)
    assert "must hold task T-1 alone" in ran.stderr


def test_a_circle_made_by_editing_is_refused(project: Project) -> None:
    create(project, "A")
    create(project, "B", "--depends-on", "A")
    ran = project.ralph("task", "edit", "A", "--depends-on", "B", check=2)
    assert "these tasks wait for each other: " in ran.stderr
    project.ralph("task", "edit", "B", "--no-dependencies", check=0)
    project.ralph("task", "edit", "A", "--depends-on", "B", check=0)


def test_removing_names_who_needs_it_and_asks(project: Project) -> None:
    create(project, "A")
    create(project, "B", "--depends-on", "A")
    ran = project.ralph("task", "rm", "A", check=2)
    assert "A is needed by B" in ran.stderr
    assert "there is no terminal to ask on" in ran.stderr
    ran = project.ralph("task", "rm", "A", "--yes", "--json", check=0)
    assert json.loads(ran.stdout) == {"removed": ["A"], "dependents": ["B"]}
    assert [task["state"] for task in listed(project)] == ["ready"]


def test_what_failed_can_be_retried_and_what_is_open_cannot(project: Project) -> None:
    create(project, "T-1")
    assert "task T-1 is open" in project.ralph("task", "retry", "T-1", check=2).stderr
    set_status(project, "T-1", TaskStatus.FAILED)
    assert (
        "there is no role 'boss'" in project.ralph("task", "retry", "T-1", "--from", "boss", check=2).stderr
    )
    assert project.ralph("task", "retry", "T-1", check=0).stdout == "open again: T-1, from tester\n"
    set_status(project, "T-1", TaskStatus.DONE)
    ran = project.ralph("task", "retry", "T-1", check=2)
    assert "ralph task followup" in ran.stderr


def test_a_follow_up_waits_for_the_task_it_follows(project: Project) -> None:
    create(project, "T-1", "--priority", "2")
    assert "--outcome: is missing" in project.ralph("task", "followup", "T-1", "More", check=2).stderr
    ran = project.ralph("task", "followup", "T-1", "More", *DONE, "--json", check=0)
    task = json.loads(ran.stdout)["task"]
    assert (task["id"], task["spec_id"], task["priority"]) == ("T-1-F1", "shop", 2)
    assert (task["dependencies"], task["metadata"]) == (["T-1"], {"follows": "T-1"})
    assert (
        "added T-1-F2: Even more"
        in project.ralph("task", "followup", "T-1", "Even more", *DONE, check=0).stdout
    )


def test_an_export_is_never_written_over_a_file(project: Project) -> None:
    create(project, "T-1")
    create(project, "T-2")
    project.ralph("task", "export", "T-2", "-o", "out.yaml", check=0)
    text = (project.root / "out.yaml").read_text()
    assert "id: T-2" in text
    assert "T-1" not in text
    ran = project.ralph("task", "export", "-o", "out.yaml", check=2)
    assert "out.yaml already exists" in ran.stderr
    assert (project.root / "out.yaml").read_text() == text


def test_arguments_that_are_not_text_are_refused(project: Project) -> None:
    ran = project.ralph("task", "create", "T-1", "shop", "x\udcff", *DONE, check=2)
    assert "TITLE: contains characters that are not text" in ran.stderr


def test_the_prompt_for_agents_shows_tasks_that_can_be_added(project: Project) -> None:
    project.settings(profiles={"verified": {"stages": ["coder", "security"]}})
    text = project.ralph("task", "prompt", check=0).stdout
    assert "coder, security" in text
    assert "reviewer" not in text
    (example,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert project.ralph("task", "add", "-f", "-", stdin=example, check=0).stdout == "added 2 tasks\n"


def test_the_options_of_roles_follow_the_settings(project: Project) -> None:
    project.settings(
        agent={"command": "claude"}, profiles={"verified": {"stages": ["coder", "Security-reviewer"]}}
    )

    proof = ("--Security-reviewer-verify-cmd", "bandit -q", "--Security-reviewer-max-iterations", "3")
    made = project.ralph("task", "create", "T-1", "spec", "Sum", *DONE, *proof, "--json", check=0).stdout
    project.ralph("task", "edit", "T-1", "--Security-reviewer-promise", "NO_HOLE", check=0)
    shown = project.ralph("task", "show", "T-1", check=0).stdout
    listed = project.ralph("task", "create", "--help", check=0).stdout
    refused = project.ralph("task", "create", "T-2", "spec", "Sum", *DONE, "--qa-verify-cmd", "true", check=2)

    criteria = json.loads(made)["task"]["completion_spec"]["Security-reviewer"]
    assert (criteria["verification_config"], criteria["max_iterations"]) == ({"command": "bandit -q"}, 3)
    assert "<promise>NO_HOLE</promise>, at most 3 iterations" in shown
    assert "--Security-reviewer-verify-config" in listed
    assert "--qa-" not in listed
    assert "unknown role 'qa'" in refused.stderr
