"""What a look remembers of the last one: how many are new, what was put together, which label made a ticket ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.delivery.memory_source import MemorySource

from ralph.adapters.sources.markdown import open_markdown
from ralph.domain.tasks.task import TaskStatus
from ralph.domain.tickets.batch import batch
from ralph.engine.tickets.intake import take_in

from .ticket_world import READY, Machine, Process, run

LIST = """# Photos

## Setup

- [ ] T001 Make the folder
- [ ] T002 Make the file

## Build

- [ ] T003 Build it
- [ ] T004 Show it
"""


@pytest.fixture
def source() -> MemorySource:
    return MemorySource()


def test_a_limit_gives_the_next_ones_each_time(machine: Machine, source: MemorySource) -> None:
    for number in range(5):
        source.add(f"Thing {number}", READY)

    async def scenario(process: Process) -> None:
        intake = replace(process.intake, limit=2)
        for expected in (2, 4, 5, 5):
            take_in(process.tickets, await intake.look())
            assert len(process.tasks.ids()) == expected

    run(machine, scenario)


def test_another_label_takes_away_nothing_that_came_with_the_first(
    machine: Machine, source: MemorySource
) -> None:
    source.add("First", READY, labels=("bug",))
    source.add("Second", READY, labels=("ralph",))

    async def scenario(process: Process) -> None:
        take_in(process.tickets, await replace(process.intake, labels=("bug",)).look())
        source.asked.clear()
        take_in(process.tickets, await replace(process.intake, labels=("ralph",)).look())
        assert ("read", "1") not in source.asked, "the list was not to have it"
        assert [task.status for task in process.tasks.list()] == [TaskStatus.OPEN, TaskStatus.OPEN]
        assert await process.desk.take(process.tasks.list()[0]) is None

    run(machine, scenario)


def test_what_was_put_together_stays_together(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    path = folder / "tasks.md"
    path.write_text(LIST)
    markdown = open_markdown(path, folder)

    async def scenario(process: Process) -> None:
        intake = replace(process.intake, source=markdown, labels=())
        take_in(process.tickets, await replace(intake, arrange=batch).look())
        assert len(process.tasks.ids()) == 2
        # Whether asked for batches or not, and although a box was ticked meanwhile, nothing comes twice.
        path.write_text(LIST.replace("- [ ] T001", "- [x] T001"))
        for again in (intake, replace(intake, arrange=batch)):
            found = await again.look()
            assert not found.new
            assert not found.gone
        path.write_text(LIST + "- [ ] T005 Sell it\n")
        found = await intake.look()
        assert [one.ticket.key for one in found.new] == ["T005"]
        assert found.new[0].dependencies == (process.tasks.ids()[1],)
        path.write_text(LIST.replace("Show it", "Show it to everyone"))
        assert [one.ticket.key for one in (await intake.look()).changed] == ["T003+T004"]

    run(machine, scenario)


def test_a_ticket_that_got_another_key_is_the_one_that_came(machine: Machine, source: MemorySource) -> None:
    first, second = source.add("First", READY), source.add("Second", READY)
    source.block(second, first)

    async def scenario(process: Process) -> None:
        take_in(process.tickets, await process.intake.look())
        assert process.task(second).dependencies == (process.task(first).id,)
        source.block(second, source.rename(first))

        found = await process.intake.look()

        assert (found.is_empty, found.unchanged, found.unready) == (True, 2, ())
        assert await process.desk.take(process.task(first)) is None
        assert "ralph:box-a1" in source.labels("3")
        process.put(first, TaskStatus.DONE)
        await process.write_back.run()
        assert len(source.comments("3")) == 1

    run(machine, scenario)


def test_one_that_is_listed_no_more_under_any_key_is_still_waited_for(
    machine: Machine, source: MemorySource
) -> None:
    first, second = source.add("First", READY), source.add("Second", READY)
    source.block(second, first)

    async def scenario(process: Process) -> None:
        take_in(process.tickets, await process.intake.look())
        source.block(second, source.rename(first))
        listed = source.issues.pop("3")  # as of another team
        source.after = lambda method, key: (
            source.issues.update({"3": listed}) if method == "tickets" else None
        )

        found = await process.intake.look()

        assert (found.is_empty, found.unchanged, found.unready) == (True, 1, ())

    run(machine, scenario)
