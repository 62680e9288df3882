"""The desk between a tracker and the work: hours without the tracker, what is said to whom and how often, and its end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.delivery.memory_source import MemorySource

from ralph.domain.tasks.task import TaskStatus
from ralph.domain.tickets.hold import DONE
from ralph.engine.tickets.desk import LONGEST_WAIT
from ralph.errors import ServiceAway, ServiceRefused, StoreError

from .ticket_world import OWN, POLL, READY, Machine, Process, wait_until

HOUR = 3600.0


@pytest.fixture
def source() -> MemorySource:
    made = MemorySource()
    made.add("First", READY)
    return made


@pytest.fixture
def machine(tmp_path: Path, source: MemorySource) -> Machine:
    return Machine(tmp_path, source)


async def have_done(process: Process, key: str = "1") -> None:
    await process.desk.begin()
    assert await process.desk.take(process.task(key)) is None
    process.put(key, TaskStatus.DONE)


# --- looking ---


def test_what_comes_later_is_taken_in(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start(stays=True) as process:
            await process.desk.begin()
            source.add("Second", READY)
            await process.pass_time()
            assert process.tasks.ids() == ["memory-1", "memory-2"]
            assert process.warnings == []

    asyncio.run(scenario())


def test_a_tracker_is_asked_as_often_as_the_settings_say(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.asked.clear()
            await process.pass_time(10 * POLL + 1)
            assert sum(method == "tickets" for method, _ in source.asked) == 10

    asyncio.run(scenario())


def test_without_a_source_to_take_from_known_tickets_are_told_all_the_same(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
        source.add("Second", READY)
        source.asked.clear()
        with machine.start(takes_in=False) as process:
            await have_done(process)
            await process.pass_time()
            assert len(source.comments("1")) == 1
            assert process.tasks.ids() == ["memory-1"]
            assert ("tickets", "") not in source.asked

    asyncio.run(scenario())


def test_a_tracker_that_is_down_for_an_hour_is_told_once_when_it_is_back(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start(stays=True) as process:
            await have_done(process)
            source.is_down = True
            source.asked.clear()
            await process.pass_time(HOUR)
            assert len(source.asked) < 60, "ever more rarely"
            assert process.warnings == [
                "the tracker cannot be reached; the work goes on, and this is tried again"
            ]
            source.is_down = False
            answered: list[tuple[str, str]] = []
            source.after = lambda method, key: answered.append((method, key))
            source.add("Second", READY)
            await process.pass_time(HOUR)
            assert (answered.count(("say", "1")), answered.count(("move", "1"))) == (1, 1)
            assert len(source.comments("1")) == 1
            assert source.labels("1") == {"ralph", DONE}
            assert process.tasks.ids() == ["memory-1", "memory-2"]
            source.is_down = True
            await process.pass_time(HOUR)
            assert len(process.warnings) == 2, "another outage is news"

    asyncio.run(scenario())


def test_a_tracker_that_asks_for_patience_gets_it(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.asked.clear()
            source.fail("tickets", ServiceAway("it limits requests", after=1000.0))
            await process.pass_time(POLL + 999)
            assert len(source.asked) == 1
            await process.pass_time(2 * POLL)
            assert len(source.asked) > 1

    asyncio.run(scenario())


def test_what_is_refused_for_ever_is_said_once_and_holds_nothing_up(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start(stays=True) as process:
            await have_done(process)

            def refuse(method: str, key: str) -> None:
                if (method, key) == ("say", "1"):
                    raise ServiceRefused("#1 is locked")

            source.before = refuse
            await process.pass_time(HOUR)
            source.add("Second", READY)
            await process.pass_time()
            assert "memory-2" in process.tasks.ids(), "looked at as often as ever"
            assert process.warnings == ["#1 is locked; the work goes on, and this is tried again"]
            process.put("2", TaskStatus.DONE)
            (concern,) = await process.desk.close()
            assert concern == (
                "1 ticket could not be told what became of the work (#1 is locked); the next `ralph work` tells them"
            )
            assert len(source.comments("2")) == 1

    asyncio.run(scenario())


def test_a_record_that_cannot_be_read_for_a_moment_ends_nothing(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start(stays=True) as process:
            await have_done(process)
            process.database.execute("ALTER TABLE tickets RENAME TO away")
            await process.pass_time(HOUR)
            assert len(process.warnings) == 1
            (concern,) = await process.desk.close()
            assert concern.startswith("tickets could not be told what became of the work: ")
            process.database.execute("ALTER TABLE away RENAME TO tickets")
            await process.pass_time()
            assert len(source.comments("1")) == 1

    asyncio.run(scenario())


def test_a_damaged_memory_is_an_error_that_says_so(machine: Machine) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            process.database.execute("UPDATE tickets SET known = '{\"source\": 7}'")
            with pytest.raises(StoreError, match="what is on record about a ticket cannot be read"):
                process.tickets.of_task("memory-1")

    asyncio.run(scenario())


# --- what the user is told ---


def test_what_is_not_begun_is_said_once(machine: Machine, source: MemorySource) -> None:
    source.add("Second", "no box")
    source.add("Third", READY, user="stranger")

    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            await process.pass_time(HOUR)
            second, third = process.warnings
            assert second.startswith("memory:tickets: #2 is not begun: nothing in it can be checked")
            assert third.startswith(
                "memory:tickets: #3 is not begun: it was written by stranger, who may not"
            )

    asyncio.run(scenario())


def test_many_that_are_not_begun_are_counted(machine: Machine, source: MemorySource) -> None:
    for number in range(20):
        source.add(f"Vague {number}", "no box")

    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            assert len(process.warnings) == 6
            told = (
                "memory:tickets: 15 more tickets not begun; `ralph task check memory:tickets` names them all"
            )
            assert process.warnings[-1] == told

    asyncio.run(scenario())


def test_every_edit_during_the_work_is_said(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            process.begin("1", "r1")
            for text in ("- [ ] it is blue", "- [ ] it is green"):
                source.edit("owner1", "1", text)
                await process.pass_time(5 * POLL)
            assert len(process.warnings) == 2
            assert "judged as before" in process.warnings[0]
            assert [request for _, request, _ in process.asked()] == ["steer", "steer"]

    asyncio.run(scenario())


def test_a_ticket_that_goes_is_said_and_its_label_is_freed(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            assert await process.desk.take(process.task("1")) is None
            process.begin("1", "r1")
            source.close("1")
            await process.pass_time(3 * POLL)
            (told,) = process.warnings
            assert told == "memory-1: cancelled: its ticket #1 is not wanted any more: it is closed"
            assert source.labels("1") == {"ralph"}
            assert [request for _, request, _ in process.asked()] == ["stop_now"]

    asyncio.run(scenario())


# --- what tickets are asked ---


@pytest.mark.parametrize("asks", [True, False])
def test_tickets_are_asked_only_if_that_is_wanted_and_once(
    machine: Machine, source: MemorySource, asks: bool
) -> None:
    source.add("Second", "no box")
    source.add("Third", "no box", user="stranger")
    source.add("Fourth", f"{READY}\n\nBlocked by #2")

    async def scenario() -> None:
        with machine.start(asks=asks) as process:
            await process.desk.begin()
            await process.pass_time(10 * POLL)
            assert source.asked.count(("say", "2")) == int(asks)
            assert len(source.comments("2")) == int(asks)
            assert source.comments("1") == source.comments("3") == source.comments("4") == []
        with machine.start(asks=asks) as process:
            await process.desk.begin()
            assert len(source.comments("2")) == int(asks), "a later process edits its own comment"
            source.edit("owner1", "2", READY)
            await process.pass_time()
            assert "memory-2" in process.tasks.ids()

    asyncio.run(scenario())


def test_a_question_that_nobody_may_ask_keeps_nothing_from_being_begun(
    machine: Machine, source: MemorySource
) -> None:
    for _ in range(2):
        source.add("Vague", "no box")
    source.fail("say", *[ServiceRefused("you may not comment there")] * 10)

    async def scenario() -> None:
        with machine.start(asks=True) as process:
            await process.desk.begin()
            await process.pass_time(HOUR)
            assert process.tasks.ids() == ["memory-1"]
            told = "you may not comment there; the work goes on, and this is tried again"
            assert process.warnings.count(told) == 1
            assert sum(method == "say" for method, _ in source.asked) == 2, "each ticket is tried once"

    asyncio.run(scenario())


def test_a_question_while_the_tracker_is_away_is_asked_later(machine: Machine, source: MemorySource) -> None:
    source.add("Vague", "no box")
    source.fail("say", ServiceAway("it is busy"))

    async def scenario() -> None:
        with machine.start(asks=True) as process:
            await process.desk.begin()
            assert source.comments("2") == []
            await process.pass_time()
            assert len(source.comments("2")) == 1

    asyncio.run(scenario())


# --- beginning ---


@pytest.mark.parametrize("stays", [True, False])
def test_a_tracker_that_is_away_when_the_work_begins_is_waited_for_by_whoever_stays(
    machine: Machine, source: MemorySource, stays: bool
) -> None:
    source.is_down = True

    async def scenario() -> None:
        with machine.start(stays=stays) as process:
            if not stays:
                with pytest.raises(ServiceAway):
                    await process.desk.begin()
                return
            await process.desk.begin()
            source.is_down = False
            await process.pass_time()
            assert process.tasks.ids() == ["memory-1"]

    asyncio.run(scenario())


def test_a_tracker_that_refuses_ends_it_before_anything_is_begun(
    machine: Machine, source: MemorySource
) -> None:
    source.is_forbidden = True

    async def scenario() -> None:
        with machine.start(stays=True) as process, pytest.raises(ServiceRefused):
            await process.desk.begin()

    asyncio.run(scenario())


# --- claiming ---


def test_a_task_without_a_ticket_is_nobody_else_s(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            process.database.execute("DELETE FROM tickets")
            source.asked.clear()
            assert await process.desk.take(process.task("1")) is None
            assert source.asked == []

    asyncio.run(scenario())


def test_tickets_of_one_s_own_are_not_claimed(tmp_path: Path) -> None:
    source = MemorySource(name="TODO.md", is_shared=False)
    source.add("First", READY)

    async def scenario() -> None:
        with Machine(tmp_path, source).start() as process:
            await process.desk.begin()
            source.asked.clear()
            assert await process.desk.take(process.task("1")) is None
            assert source.asked == []

    asyncio.run(scenario())


@pytest.mark.parametrize("stays", [True, False])
def test_a_claim_waits_for_a_tracker_that_is_away(
    machine: Machine, source: MemorySource, stays: bool
) -> None:
    async def scenario() -> None:
        with machine.start(stays=stays) as process:
            await process.desk.begin()
            began = machine.clock.time
            source.is_down = True

            def come_back(method: str, key: str) -> None:
                source.is_down = machine.clock.time < began + HOUR / 2

            source.before = come_back
            assert await process.desk.take(process.task("1")) is None
            assert source.labels("1") == {"ralph", OWN}
            assert process.warnings == ["#1 waits to be taken: the tracker cannot be reached"]

    asyncio.run(scenario())


def test_a_claim_is_given_up_after_an_hour_unless_ralph_stays(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.is_down = True
            told = await process.desk.take(process.task("1"))
            assert told == "#1 could not be taken: the tracker cannot be reached"
            assert LONGEST_WAIT <= sum(machine.clock.slept) < 2 * LONGEST_WAIT
            assert process.task("1").status is TaskStatus.OPEN

    asyncio.run(scenario())


def test_a_stop_ends_the_wait_for_a_claim(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start(stays=True) as process:
            await process.desk.begin()
            source.is_down = True
            taking = asyncio.create_task(process.desk.take(process.task("1")))
            await wait_until(lambda: machine.clock.slept)
            process.control.request()
            assert "could not be taken" in await taking

    asyncio.run(scenario())


def test_a_claim_that_is_refused_is_no_error(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.is_forbidden = True
            told = await process.desk.take(process.task("1"))
            assert told == "#1 could not be taken: the tracker does not permit it"

    asyncio.run(scenario())


# --- its end ---


def test_a_stop_ends_the_rest_and_nothing_more_is_taken_in(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start(stays=True) as process:
            await have_done(process)
            source.add("Second", READY)
            looking = asyncio.create_task(process.desk.look_after())
            await wait_until(lambda: machine.clock.slept)
            process.control.request()
            await looking
            assert sum(machine.clock.slept) < POLL
            assert process.tasks.ids() == ["memory-1"]
            assert await process.desk.close() == ()
            assert len(source.comments("1")) == 1, "what is done is told all the same"

    asyncio.run(scenario())


def test_whoever_must_stop_at_once_asks_nobody(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await have_done(process)
            source.asked.clear()
            process.control.request(now=True)
            assert await process.desk.close() == ()
            assert source.asked == []

    asyncio.run(scenario())


class SlowSource(MemorySource):
    """Says nothing before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.is_saying = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def say(self, key: str, text: str) -> None:
        self.is_saying.set()
        await self.may_go_on.wait()
        await super().say(key, text)


def test_a_look_that_is_under_way_at_the_end_is_finished(machine: Machine) -> None:
    """Cut in two, nobody would know whether the ticket was told."""

    async def scenario() -> None:
        slow = SlowSource()
        slow.add("First", READY)
        machine.source = slow
        with machine.start() as process:
            await have_done(process)
            looking = asyncio.create_task(process.desk.look_after())
            await slow.is_saying.wait()
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            closing = asyncio.create_task(process.desk.close())
            await asyncio.sleep(0)
            assert not closing.done()
            slow.may_go_on.set()
            assert await closing == ()
            assert slow.labels("1") == {"ralph", DONE}
            assert slow.asked.count(("say", "1")) == 1

    asyncio.run(scenario())


def test_two_machines_that_stood_back_for_each_other_come_back_at_different_times(
    tmp_path: Path, source: MemorySource
) -> None:
    async def scenario() -> None:
        one, other = (Machine(tmp_path / name, source, holder=name) for name in ("box-a1", "box-b2"))
        with one.start() as here, other.start() as there:
            waits = {process.desk.take_again for process in (here, there)}
            assert len(waits) == 2
            assert all(POLL <= wait <= 2 * POLL for wait in waits)

    asyncio.run(scenario())
