"""What is submitted: jobs that follow from what was asked for, and hold nothing that must not leave this machine."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fleet.world.memory_fleet import MemoryFleet, job

from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.job_size import LARGEST
from ralph.domain.fleet.views import JobView
from ralph.domain.tasks.entry import Known
from ralph.domain.tasks.task import Task
from ralph.errors import UsageError
from ralph.operations.fleet.desk import FleetDesk
from ralph.operations.fleet.jobs import follow_until_ended
from ralph.operations.fleet.logs import JobLog
from ralph.operations.fleet.submission import (
    Submitted,
    Terms,
    command_job,
    missing_workers,
    submit,
    task_jobs,
)
from ralph.operations.task_files import read_tasks

TERMS = Terms(
    repository="https://host/octo/Shop.git", base="main", labels=("linux", "gpu", "gpu"), agent="claude"
)
TASKS = """
- {id: C, title: Third, dependencies: [A, B], completion: {outcome: c, acceptance_criteria: [x]}}
- {id: A, title: First, completion: {outcome: a, acceptance_criteria: [x]}}
- {id: B, title: Second, dependencies: [A], completion: {outcome: b, acceptance_criteria: [x]}}
"""


def tasks(text: str = TASKS) -> list[Task]:
    return read_tasks("tasks.yaml", Known(("coder",), lambda _: False), text=text).tasks


def test_a_command_becomes_a_job() -> None:
    made = command_job(TERMS, ("run", "Fix it"), title="Fix it")

    assert made.id.startswith("shop-")
    assert (made.command, made.labels, made.agent) == (("run", "Fix it"), ("gpu", "linux"), "claude")
    assert command_job(replace(TERMS, name="mine"), ("run", "x")).id == "mine"


def test_tasks_become_jobs_that_wait_for_each_other() -> None:
    made = {each.id: each for each in task_jobs(TERMS, tasks(), ("--max-cost", "5"))}

    assert list(made) == ["shop-A", "shop-B", "shop-C"], "whoever needs another comes after it"
    assert made["shop-C"].needs == ("shop-A", "shop-B")
    assert made["shop-A"].feeds == ("shop-C", "shop-B")
    assert made["shop-B"].command == ("--max-cost", "5")
    entry = json.loads(made["shop-C"].task)
    assert entry["id"] == "C"
    assert "dependencies" not in entry, "the fleet keeps them"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "use sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCD"),
        ("run", "x", "--agent-flag", "--api-key=hunter2hunter2"),
        ("run", "-p", "push to https://me:hunter2hunter2@host/x.git"),
    ],
)
def test_a_secret_does_not_leave_this_machine(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="there is a secret in the command") as raised:
        command_job(TERMS, words)
    assert "hunter2" not in str(raised.value)


def test_nor_does_one_in_a_task() -> None:
    text = TASKS.replace("First", "use ghp_abcdefghijklmnopqrstuvwxyz0123456789")

    with pytest.raises(UsageError, match="there is a secret in task A"):
        task_jobs(TERMS, tasks(text))


def test_what_is_too_large_for_the_server_is_told_here() -> None:
    with pytest.raises(UsageError, match="too large") as raised:
        command_job(TERMS, ("run", "word " * (LARGEST // 4)))
    assert "a file of the repository" in raised.value.hint


@pytest.mark.parametrize("terms", [replace(TERMS, name="a/b"), replace(TERMS, labels=("a+b",))])
def test_names_that_nobody_can_use(terms: Terms) -> None:
    with pytest.raises(UsageError):
        command_job(terms, ("run", "x"))


def test_the_same_file_twice_is_one_set_of_jobs() -> None:
    fleet = MemoryFleet()
    first, *rest = task_jobs(TERMS, tasks())

    assert asyncio.run(submit(fleet, [first])) == Submitted(new=("shop-A",))
    again = task_jobs(TERMS, tasks())
    assert asyncio.run(submit(fleet, again)) == Submitted(new=("shop-B", "shop-C"), known=("shop-A",))
    assert len(rest) == 2


def test_another_job_of_the_same_name_is_not_taken_for_this_one() -> None:
    fleet = MemoryFleet()
    asyncio.run(submit(fleet, [JobSpec(id="shop-A", repository="https://other/shop.git", command=("run",))]))

    with pytest.raises(UsageError, match="another job shop-A already"):
        asyncio.run(submit(fleet, task_jobs(TERMS, tasks())))


def test_it_is_told_that_nobody_is_there_to_do_it() -> None:
    assert "no worker with the label gpu and linux" in asyncio.run(
        missing_workers(MemoryFleet(), ("gpu", "linux"))
    )


def test_a_server_that_is_away_for_a_while_does_not_end_waiting() -> None:
    fleet = MemoryFleet(job("a"))
    said: list[str] = []

    async def connect() -> MemoryFleet:
        return fleet

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 1:
            fleet.away = "no server there"
        elif fleet.away:
            fleet.away = ""
            fleet.put(job("a", outcome="exhausted", reason="maximum iterations reached"))

    with FleetDesk(connect) as desk:
        (ended,) = follow_until_ended(desk, ["a"], say=say)

    assert not ended.is_open
    assert said[1] == "no server there; still waiting"
    assert said[2].startswith("a: limit reached")


def test_a_log_whose_record_cannot_be_read_here_shows_what_is_said(tmp_path: Path) -> None:
    from ralph.domain.fleet.shift import Beat

    view = job("a")
    fleet = MemoryFleet(replace(view, spec=replace(view.spec, repository=str(tmp_path / "none.git"))))
    fleet.beats["a"] = Beat(worker="w1", turn=0, first_line=3, lines=("four", "five"))
    complaints: list[str] = []

    async def connect() -> MemoryFleet:
        return fleet

    with FleetDesk(connect) as desk:
        lines = [line for some in JobLog(desk, "a", complain=complaints.append).read() for line in some]

    assert lines == ["four", "five"]
    assert "cannot be read from here" in complaints[0]
    assert complaints[1] == "3 lines missed; the job's record will have them"


def test_the_same_job_with_a_long_text_is_the_same() -> None:
    class Shortening(MemoryFleet):
        """Views of a real server have only the beginning of what is long."""

        async def job(self, job_id: str) -> JobView:
            found = await super().job(job_id)
            return replace(found, spec=replace(found.spec, command=("run", "…")))

        async def spec(self, job_id: str) -> JobSpec:
            return self.views[job_id].spec

    fleet, terms = Shortening(), replace(TERMS, name="mine")
    asyncio.run(submit(fleet, [command_job(terms, ("run", "word " * 9_000))]))

    again = [command_job(terms, ("run", "word " * 9_000))]
    assert asyncio.run(submit(fleet, again)) == Submitted(known=("mine",))
    with pytest.raises(UsageError, match="another job mine already"):
        asyncio.run(submit(fleet, [command_job(terms, ("run", "word " * 9_000 + "!"))]))
