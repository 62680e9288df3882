"""Tickets that come or change around a `ralph work`: what it was prepared for, and what its sessions are told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.storage.tickets import TicketStore
from ralph.domain.tasks.completion import TaskCompletionSpec
from ralph.domain.tasks.task import Task, TaskStatus, cancel
from ralph.domain.tickets.known import KnownTicket

from .conftest import Project
from .running import ended, running, wait_for
from .task_project import TaskProject

TRACKER = KnownTicket(source="github:octo/hello", key="7", task_id="hello-7", shown="#7", labels=("ralph",))
FILE = KnownTicket(source="TODO.md", key="hello", task_id="TODO-hello", shown="hello", is_shared=False)
TOO_LATE = "came after this run had begun, which is not prepared for it"
WAITING = 5


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    """T-1, whose session waits until the test lets it go on."""
    made = TaskProject(project)
    gate = made.programs / "gate"
    made.role(
        "coder",
        f'[ "$RALPH_TASK_ID" != T-1 ] || until [ -e "{gate}" ]; do sleep 0.05; done; echo made > "$RALPH_TASK_ID.txt"',
    )
    made.task("T-1")
    return made


@contextmanager
def tickets_of(tasks: TaskProject) -> Iterator[tuple[TaskStore, TicketStore]]:
    with closing(open_state_database(tasks.root / ".ralph")) as database:
        store = TaskStore(database, me=this_process(), started_of=started_of)
        yield store, TicketStore(database, store, now=time.time)


def add(tasks: TaskProject, known: KnownTicket) -> None:
    spec = TaskCompletionSpec("it says hello", ["it says hello"])
    with tickets_of(tasks) as (_, tickets):
        tickets.add([Task(id=known.task_id, title="Say hello", completion_spec=spec)], [known])


@pytest.fixture
def has_begun(tasks: TaskProject) -> Path:
    return tasks.programs / "launches"


def finish(tasks: TaskProject) -> None:
    (tasks.programs / "gate").touch()


@pytest.mark.parametrize("known", [TRACKER, FILE], ids=["tracker", "file"])
def test_a_ticket_that_comes_during_a_plain_run_is_not_begun(
    tasks: TaskProject, has_begun: Path, known: KnownTicket
) -> None:
    with running(tasks.project, command="work") as process:
        wait_for(has_begun.exists, "the first session")
        add(tasks, known)
        finish(tasks)
        code, err = ended(process)

    assert code == WAITING, err
    assert f"its ticket {known.shown} {TOO_LATE}" in err
    assert tasks.launches() == ["T-1 coder"]
    assert tasks.shown()["status"] == "done"
    assert tasks.shown(known.task_id)["status"] == "open"
    assert not tasks.worktree(known.task_id).exists()


@pytest.mark.parametrize("known", [TRACKER, FILE], ids=["tracker", "file"])
def test_a_ticket_that_is_tried_again_during_a_plain_run_is_not_begun(
    tasks: TaskProject, has_begun: Path, known: KnownTicket
) -> None:
    """It was cancelled when the run began, and its ticket knew: there was nothing to be prepared for."""
    add(tasks, known)
    with tickets_of(tasks) as (store, tickets):
        store.change(known.task_id, lambda now: cancel(now, "not wanted"), at=time.time())
        told = tickets.of_task(known.task_id)
        assert told is not None
        tickets.save(replace(told, settled=TaskStatus.CANCELLED.value))

    with running(tasks.project, command="work") as process:
        wait_for(has_begun.exists, "the first session")
        tasks.project.ralph("task", "retry", known.task_id, check=0)
        finish(tasks)
        code, err = ended(process)

    assert code == WAITING, err
    assert f"its ticket {known.shown} {TOO_LATE}" in err
    assert tasks.launches() == ["T-1 coder"]
    assert tasks.shown(known.task_id)["status"] == "open"


def test_one_from_a_tracker_is_not_begun_by_a_run_that_is_prepared_for_files(
    tasks: TaskProject, has_begun: Path
) -> None:
    tasks.project.environment["RALPH_SANDBOX__KIND"] = "none"
    tasks.write("TODO.md", "- [ ] Say hello\n  - [ ] it says hello\n")
    tasks.commit("list")

    with running(tasks.project, "--from", "TODO.md", command="work") as process:
        wait_for(has_begun.exists, "the first session")
        add(tasks, TRACKER)
        finish(tasks)
        code, err = ended(process)

    assert code == WAITING, err
    assert f"its ticket #7 {TOO_LATE}" in err
    assert "hello-7 coder" not in tasks.launches()
    assert tasks.shown("hello-7")["status"] == "open"
    assert tasks.shown("TODO-say-hello")["status"] == "done"


def test_the_next_run_is_prepared_for_it(tasks: TaskProject) -> None:
    """It asks the tracker first: without a login nothing is begun."""
    add(tasks, TRACKER)
    finish(tasks)
    tasks.project.environment["RALPH_SANDBOX__KIND"] = "none"

    err = tasks.work(check=WAITING)

    assert TOO_LATE not in err
    assert "#7 could not be taken: there is no login for github.com" in err
    assert tasks.launches() == ["T-1 coder"]


def test_an_edit_between_two_runs_reaches_every_role_and_its_box_is_left_to_a_person(
    project: Project,
) -> None:
    tasks = TaskProject(project)
    tasks.settings(stages=["coder", "reviewer"])
    tasks.project.environment["RALPH_SANDBOX__KIND"] = "none"
    tasks.write("TODO.md", "- [ ] Say hello\n  - [ ] it says hello\n")
    tasks.commit("list")
    tasks.role("coder", "echo half > half.txt", says="not yet")
    tasks.work("--from", "TODO.md", "-m", "1")
    assert tasks.launches() == ["TODO-say-hello coder"]

    tasks.write("TODO.md", "- [ ] Say hello\n  - [ ] it says hi\n")
    tasks.commit("edit")
    tasks.role("coder", "echo made > made.txt")
    err = tasks.work("--from", "TODO.md", check=0)

    for role, number in (("coder", 2), ("reviewer", 1)):
        prompt = tasks.prompt(role, number, "TODO-say-hello")
        assert "was edited while you work on it" in prompt
        assert "> - it says hi" in prompt
        assert "- [ ] it says hello" in prompt, "what it is judged by"
    assert "is not ticked, because its words were changed meanwhile" in err
    assert (tasks.root / "TODO.md").read_text().startswith("- [ ] Say hello")
