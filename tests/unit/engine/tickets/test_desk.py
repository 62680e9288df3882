"""The desk between a tracker and the work: hours without the tracker, what is said to whom and how often, and its end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.delivery.memory_source import MemorySource

from ralph.domain.tasks.refusal import NotOurs
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.coverage import TOO_LATE, Imports
from ralph.domain.tickets.hold import DONE
from ralph.domain.tickets.pace import until_next_try
from ralph.engine.tickets import desk as desk_module
from ralph.engine.tickets.desk import LONGEST_WAIT, REFUSED_AGAIN
from ralph.engine.tickets.no_desk import NoDesk
from ralph.errors import ServiceAway, ServiceRefused, StoreError

from .ticket_world import HOLDER, OWN, POLL, READY, Machine, Process, wait_until

HOUR = 3600.0


@pytest.fixture
def source() -> MemorySource:
    made = MemorySource()
    made.add("First", READY)
    return made


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
            assert process.warnings == ["memory-1: #1 takes no comment: #1 is locked"]
            assert source.labels("1") == {"ralph", DONE}, "what can be moved is moved"
            process.put("2", TaskStatus.DONE)
            assert await process.desk.close() == ()
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
            assert process.asked() == [], "the next prompt says it: no run is asked for anything"
            assert "> - [ ] it is green" in process.known("1").note

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


# --- taking ---


def test_a_task_without_a_ticket_is_nobody_else_s(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            process.database.execute("DELETE FROM tickets")
            source.asked.clear()
            assert await process.desk.take(process.task("1")) is None
            assert source.asked == []

    asyncio.run(scenario())


def test_tickets_of_one_s_own_are_read_but_get_no_name(tmp_path: Path) -> None:
    source = MemorySource(name="TODO.md", is_shared=False)
    source.add("First", READY)

    async def scenario() -> None:
        with Machine(tmp_path, source).start() as process:
            await process.desk.begin()
            source.asked.clear()
            assert await process.desk.take(process.task("1")) is None
            assert source.asked == [("read", "1")]

    asyncio.run(scenario())


def test_what_was_accepted_is_ours_without_a_question(machine: Machine, source: MemorySource) -> None:
    """Whoever merged its pull request may have closed the ticket, and the tracker may be away."""

    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            process.put("1", TaskStatus.ACCEPTED)
            source.close("1")
            source.asked.clear()
            source.is_down = True
            assert await process.desk.take(process.task("1")) is None
            assert source.asked == []

    asyncio.run(scenario())


@pytest.mark.parametrize("stays", [True, False])
def test_a_tracker_that_is_away_keeps_nobody_waiting(
    machine: Machine, source: MemorySource, stays: bool
) -> None:
    """Others may be worked on meanwhile: the answer says when to ask again."""

    async def scenario() -> None:
        with machine.start(stays=stays) as process:
            await process.desk.begin()
            source.is_down = True
            waits: list[float] = []
            for _ in range(4):
                refused = await process.desk.take(process.task("1"))
                assert refused is not None
                assert refused.reason == "#1 waits to be taken: the tracker cannot be reached"
                assert refused.again is not None
                waits.append(refused.again)
                machine.clock.time += refused.again
            assert waits == sorted(set(waits)), "ever more rarely"
            assert machine.clock.slept == []
            assert process.warnings == ["#1 waits to be taken: the tracker cannot be reached"]
            source.is_down = False
            assert await process.desk.take(process.task("1")) is None
            assert source.labels("1") == {"ralph", OWN}
            source.is_down = True
            refused = await process.desk.take(process.task("1"))
            assert refused is not None
            assert refused.again == waits[0], "another outage is another wait"

    asyncio.run(scenario())


def test_a_tracker_that_asks_for_patience_is_not_asked_for_a_ticket_before(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.fail("read", ServiceAway("it limits requests", after=1000.0))
            assert await process.desk.take(process.task("1")) == NotOurs(
                "#1 waits to be taken: it limits requests", 1000.0
            )

    asyncio.run(scenario())


@pytest.mark.parametrize("stays", [True, False])
def test_a_ticket_is_given_up_after_an_hour_unless_ralph_stays(
    machine: Machine, source: MemorySource, stays: bool
) -> None:
    async def scenario() -> None:
        with machine.start(stays=stays) as process:
            await process.desk.begin()
            source.is_down = True
            assert await process.desk.take(process.task("1")) is not None
            machine.clock.time += LONGEST_WAIT + 1
            refused = await process.desk.take(process.task("1"))
            assert refused is not None
            assert (refused.again is not None) == stays
            assert ("could not be taken" in refused.reason) != stays
            assert process.task("1").status is TaskStatus.OPEN

    asyncio.run(scenario())


def test_no_name_is_put_up_after_a_stop(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start(stays=True) as process:
            await process.desk.begin()
            source.asked.clear()
            process.control.request()
            assert await process.desk.take(process.task("1")) == NotOurs(
                "stopped before its ticket #1 was taken"
            )
            assert source.asked == []

    asyncio.run(scenario())


def test_one_that_the_tracker_refuses_is_no_error(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.is_forbidden = True
            assert await process.desk.take(process.task("1")) == NotOurs(
                "#1 could not be taken: the tracker does not permit it"
            )

    asyncio.run(scenario())


@pytest.mark.parametrize("stays", [True, False])
def test_a_source_that_refused_one_ticket_is_not_asked_for_the_next_at_once(
    machine: Machine, source: MemorySource, stays: bool
) -> None:
    source.add("Second", READY)

    async def scenario() -> None:
        with machine.start(stays=stays) as process:
            await process.desk.begin()
            source.is_forbidden = True
            first = await process.desk.take(process.task("1"))
            assert first is not None
            assert first.again == (REFUSED_AGAIN if stays else None)
            assert process.warnings == ["#1 could not be taken: the tracker does not permit it"]
            source.asked.clear()
            assert await process.desk.take(process.task("2")) == NotOurs(
                "#2 waits for memory:tickets", REFUSED_AGAIN
            )
            assert source.asked == []
            source.is_forbidden = False
            machine.clock.time += REFUSED_AGAIN
            assert await process.desk.take(process.task("2")) is None

    asyncio.run(scenario())


def test_a_tracker_that_is_away_is_asked_for_one_ticket_and_not_for_each(
    machine: Machine, source: MemorySource
) -> None:
    for number in range(20):
        source.add(f"Ticket {number}", READY)

    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.is_down = True
            source.asked.clear()
            refused = [await process.desk.take(task) for task in process.tasks.in_status(TaskStatus.OPEN)]
            assert all(one is not None and one.again for one in refused)
            assert len(source.asked) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("takes_in", [True, False])
def test_one_that_is_not_ready_any_more_is_not_begun_until_it_is(
    machine: Machine, source: MemorySource, takes_in: bool
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.edit("owner1", "1", "no box")
            await process.pass_time()
            (warning,) = process.warnings
            assert warning.startswith("memory:tickets: #1 is not begun: nothing in it can be checked")
            assert len(process.notes_of("1")) == 1
        with machine.start(takes_in=takes_in) as process:
            source.asked.clear()
            refused = await process.desk.take(process.task("1"))
            assert refused is not None
            assert refused.reason.startswith("its ticket #1 is not ready: nothing in it can be checked")
            assert refused.again == (POLL if takes_in else None), "a look may find it ready"
            assert source.asked == []
        source.edit("owner1", "1", READY)
        with machine.start() as process:
            await process.desk.begin()
            assert await process.desk.take(process.task("1")) is None

    asyncio.run(scenario())


@pytest.mark.parametrize("stays", [True, False])
def test_one_that_another_machine_has_is_asked_for_again_only_by_whoever_stays(
    machine: Machine, source: MemorySource, stays: bool
) -> None:
    async def scenario() -> None:
        with machine.start(stays=stays) as process:
            await process.desk.begin()
            source.label("1", "ralph:other")
            refused = await process.desk.take(process.task("1"))
            assert refused is not None
            assert refused.reason.startswith("#1 is not ours now: other works on it")
            assert refused.again == (until_next_try(POLL, HOLDER) if stays else None)

    asyncio.run(scenario())


def test_two_machines_that_stood_back_for_each_other_come_back_at_different_times(
    tmp_path: Path, source: MemorySource
) -> None:
    async def scenario() -> None:
        one, other = (Machine(tmp_path / name, source, holder=name) for name in ("box-a1", "box-b2"))
        with one.start(stays=True) as here, other.start(stays=True) as there:
            await here.desk.begin()
            await there.desk.begin()
            source.label("1", "ralph:third")
            refused = [await process.desk.take(process.task("1")) for process in (here, there)]
            waits = {one.again for one in refused if one is not None and one.again is not None}
            assert len(waits) == 2
            assert all(POLL <= wait <= 2 * POLL for wait in waits)

    asyncio.run(scenario())


# --- with the words that it has now ---


def test_a_task_is_begun_with_the_words_that_its_ticket_has_now(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.edit("owner1", "1", "- [ ] it is blue")
            assert await process.desk.take(process.task("1")) is None
            assert process.task("1").acceptance_criteria == ("it is blue",)
            assert process.known("1").is_taken
            await process.desk.begin()
            assert process.known("1").note == "", "nobody need be told of it"

    asyncio.run(scenario())


def test_one_that_was_begun_before_is_told_of_an_edit_between_two_runs(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            assert await process.desk.take(process.task("1")) is None
            process.begin("1")
        source.edit("owner1", "1", "- [ ] it is blue")
        with machine.start(takes_in=False) as process:
            assert await process.desk.take(process.task("1")) is None
            assert process.task("1").acceptance_criteria == ("it is there",)
            assert "> - [ ] it is blue" in process.known("1").note
            assert await process.desk.take(process.task("1")) is None
            assert process.notes_of("1") == ["#1 was edited after the work had begun"], "once"

    asyncio.run(scenario())


def test_one_that_says_nothing_any_more_to_judge_by_is_not_begun_and_is_left_to_others(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            source.edit("owner1", "1", "Do what you think is best.")
            refused = await process.desk.take(process.task("1"))
            assert refused is not None
            assert refused.reason.startswith("its ticket #1 was edited, and nothing in it can be checked")
            assert process.task("1").status is TaskStatus.OPEN
            assert source.labels("1") == {"ralph"}, "no name is left there"
            assert not process.known("1").is_taken
            source.edit("owner1", "1", READY)
            assert await process.desk.take(process.task("1")) is None

    asyncio.run(scenario())


@pytest.mark.parametrize("is_shared", [True, False])
@pytest.mark.parametrize(("how", "status"), [("close", TaskStatus.CANCELLED), ("delete", TaskStatus.OPEN)])
def test_one_that_went_before_it_was_begun_is_not_begun(
    tmp_path: Path, is_shared: bool, how: str, status: TaskStatus
) -> None:
    """One that is not there now may be there in a moment: only a look that finds it gone twice cancels its task."""
    source = MemorySource(is_shared=is_shared)
    source.add("First", READY)

    async def scenario() -> None:
        with Machine(tmp_path, source).start() as process:
            await process.desk.begin()
            getattr(source, how)("1")
            refused = await process.desk.take(process.task("1"))
            assert refused is not None
            assert refused.again is None
            assert process.task("1").status is status
            assert process.task("1").reason == (refused.reason if status is TaskStatus.CANCELLED else "")

    asyncio.run(scenario())


# --- what the run is prepared for ---


@pytest.mark.parametrize(
    ("imports", "is_shared", "is_ours"),
    [
        (Imports.NONE, True, False),
        (Imports.FILES, True, False),
        (Imports.TRACKERS, True, True),
        (Imports.NONE, False, False),
        (Imports.FILES, False, True),
        (Imports.TRACKERS, False, True),
    ],
)
@pytest.mark.parametrize("status", [TaskStatus.OPEN, TaskStatus.ACCEPTED])
def test_a_ticket_that_the_run_is_not_prepared_for_is_not_begun(
    tmp_path: Path, imports: Imports, is_shared: bool, is_ours: bool, status: TaskStatus
) -> None:
    """Its sandbox and its tokens were decided before: roles of accepted work may have to work on it again."""
    source = MemorySource(is_shared=is_shared)
    source.add("First", READY)
    machine = Machine(tmp_path, source)
    machine.imports = imports

    async def scenario() -> None:
        with machine.start(stays=True) as process:
            await process.desk.begin()
            process.put("1", status)
            source.asked.clear()
            refused = await process.desk.take(process.task("1"))
            if is_ours:
                assert refused is None
                return
            assert refused == NotOurs(f"its ticket #1 {TOO_LATE}")
            assert source.asked == [], "no name is put up"
            assert process.task("1").status is status

    asyncio.run(scenario())


def test_a_run_without_tickets_begins_none_that_comes(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            none = NoDesk(process.tickets)
            await none.look_after()
            await process.desk.begin()
            process.tasks.add([Task(id="plain", title="Plain")], at=1.0)
            source.asked.clear()
            assert await none.take(process.tasks.get("plain")) is None
            assert await none.take(process.task("1")) == NotOurs(f"its ticket #1 {TOO_LATE}")
            assert (await none.close(), none.stays, source.asked) == ((), False, [])

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


def test_a_look_under_way_at_a_stop_takes_nothing_more_in(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start(stays=True) as process:
            await process.desk.begin()
            source.add("Second", READY)

            def stop(method: str, key: str) -> None:
                if method == "tickets":
                    process.control.request()

            source.before = stop
            await process.pass_time()
            assert process.tasks.ids() == ["memory-1"]
            assert process.control.stopping

    asyncio.run(scenario())


def test_whoever_must_stop_at_once_does_not_wait_for_a_look(machine: Machine) -> None:
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
            process.control.request(now=True)
            async with asyncio.timeout(10):
                assert await process.desk.close() == ()
            assert len(asyncio.all_tasks()) == 1, "nothing is left that could write to the record"
            assert process.tickets.untold(), "and the next process tells it"

    asyncio.run(scenario())


@pytest.mark.parametrize("is_under_way", [True, False])
def test_last_words_have_their_time(
    machine: Machine, is_under_way: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tracker that never answers holds up the end no longer than that, and is told by the next process."""
    monkeypatch.setattr(desk_module, "LAST_WORDS", 0.05)

    async def scenario() -> None:
        slow = SlowSource()
        slow.add("First", READY)
        machine.source = slow
        with machine.start() as process:
            await have_done(process)
            if is_under_way:
                looking = asyncio.create_task(process.desk.look_after())
                await slow.is_saying.wait()
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)
            async with asyncio.timeout(10):
                (concern,) = await process.desk.close()
            assert concern == (
                "1 ticket could not be told what became of the work: the tracker is too slow;"
                " the next `ralph work` tells them"
            )
            assert len(asyncio.all_tasks()) == 1
        slow.may_go_on.set()
        with machine.start() as process:
            assert await process.desk.close() == ()
            assert len(slow.comments("1")) == 1

    asyncio.run(scenario())
