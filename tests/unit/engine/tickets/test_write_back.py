"""What became of the work goes back to its ticket: once, in one comment, whatever goes wrong in between."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.delivery.memory_source import MemorySource

from ralph.domain.delivery.receipt import Proof
from ralph.domain.tasks.task import TaskStatus
from ralph.domain.tickets.hold import DONE
from ralph.domain.tickets.ticket import Ticket
from ralph.domain.tickets.told import Landing
from ralph.engine.tickets.write_back import MOST_REFUSED
from ralph.errors import ServiceAway, ServiceRefused

from .ticket_world import OWN, READY, Fuse, Killed, Machine, Process, make_receipt

PULL = "https://forge.test/pull/7"


@pytest.fixture
def source() -> MemorySource:
    made = MemorySource()
    for title in ("First", "Second", "Third"):
        made.add(title, READY)
    return made


async def take_all(process: Process) -> None:
    await process.desk.begin()
    for task in process.tasks.in_status(TaskStatus.OPEN):
        assert await process.desk.take(task) is None


def writes(source: MemorySource) -> list[tuple[str, str]]:
    return [one for one in source.asked if one[0] in ("say", "move")]


def test_nothing_is_said_before_work_is_accepted(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            source.asked.clear()
            process.put("1", TaskStatus.FAILED)
            process.put("2", TaskStatus.ACCEPTED)  # to be merged here: it is not there yet
            assert await process.write_back.run() == []
            assert writes(source) == []
            assert source.labels("1") == source.labels("2") == source.labels("3") == {"ralph", OWN}

    asyncio.run(scenario())


def test_done_work_is_told_with_its_proof_and_only_once(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            process.put("1", TaskStatus.DONE)
            source.asked.clear()
            for _ in range(3):
                assert await process.write_back.run() == []
            assert writes(source) == [("say", "1"), ("move", "1")]
            (comment,) = source.comments("1")
            assert comment.startswith("ralph: done. The work is merged into `main`")
            assert "make test  →  exit code 0" in comment
            assert source.labels("1") == {"ralph", DONE}
            assert source.is_open("1"), "it was not pushed"
            known = process.known("1")
            assert (known.settled, known.is_taken) == ("done", False)

    asyncio.run(scenario())


def test_a_pull_request_is_told_when_it_is_ready_and_again_when_it_is_merged(
    machine: Machine, source: MemorySource
) -> None:
    machine.landing = lambda task, known: Landing("main", PULL, is_merged=task.status is TaskStatus.DONE)

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            process.put("1", TaskStatus.ACCEPTED)
            await process.write_back.run()
            assert source.comments("1")[0].startswith("ralph: the work is accepted and proven.")
            assert PULL in source.comments("1")[0]
            assert source.labels("1") == {"ralph", OWN}, "it is still ours"
            assert process.known("1").is_taken
            process.put("1", TaskStatus.DONE)
            await process.write_back.run()
            assert [text.partition("\n")[0] for text in source.comments("1")] == [
                f"ralph: done. {PULL} is merged into `main`."
            ], "one comment, edited"
            assert (source.labels("1"), source.is_open("1")) == ({"ralph", DONE}, False)

    asyncio.run(scenario())


def deliver(machine: Machine) -> None:
    machine.landing = lambda task, known: Landing("main", PULL, is_merged=task.status is TaskStatus.DONE)
    machine.receipt = lambda task, known: replace(make_receipt(task, known), commit=task.accepted_commit)


def accept(process: Process, key: str, commit: str) -> None:
    process.tasks.change(
        f"memory-{key}",
        lambda now: replace(now, status=TaskStatus.ACCEPTED, accepted_commit=commit),
        at=1.0,
    )


@pytest.mark.parametrize(
    ("status", "words", "is_held"),
    [
        (TaskStatus.OPEN, "ralph: the work was ready, but is worked on again.", True),
        (TaskStatus.FAILED, "ralph: the work was ready, but its task has failed since.", True),
        (TaskStatus.CANCELLED, "ralph: the work was ready, but its task was cancelled since.", False),
    ],
)
@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_said_and_is_not_true_any_more_is_taken_back(
    machine: Machine, source: MemorySource, status: TaskStatus, words: str, is_held: bool, restarts: bool
) -> None:
    """``restarts``: whoever sent it back was killed, and the next process takes the ticket before it tells anything."""
    deliver(machine)

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            accept(process, "1", "c" * 40)
            assert await process.write_back.run() == []
            process.put("1", TaskStatus.OPEN)
        with machine.start(takes_in=False) as process:
            if restarts:
                assert await process.desk.take(process.task("1")) is None
            process.put("1", status)
            assert await process.write_back.run() == []
            assert source.comments("1") == [words]
            assert (OWN in source.labels("1")) == is_held
            source.asked.clear()
            before = process.database.total_changes
            assert await process.write_back.run() == []
            assert (source.asked, process.database.total_changes) == ([], before), "once"
            accept(process, "1", "d" * 40)
            assert await process.write_back.run() == []
            (comment,) = source.comments("1")
            assert "d" * 12 in comment

    asyncio.run(scenario())


def test_work_that_was_accepted_again_with_another_commit_is_told_again(
    machine: Machine, source: MemorySource
) -> None:
    """Nobody looked while it was open in between."""
    deliver(machine)

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            accept(process, "1", "c" * 40)
            await process.write_back.run()
            source.asked.clear()
            accept(process, "1", "c" * 40)
            await process.write_back.run()
            assert writes(source) == [], "the comment says it already"
            accept(process, "1", "d" * 40)
            await process.write_back.run()
            assert writes(source) == [("say", "1")]
            (comment,) = source.comments("1")
            assert "d" * 12 in comment
            assert "c" * 12 not in comment

    asyncio.run(scenario())


@pytest.mark.parametrize("edit", ["", "before it is told", "before, and taken back"])
def test_nothing_is_written_while_nothing_changes(machine: Machine, source: MemorySource, edit: str) -> None:
    """Accepted work may wait for days, and is looked at every minute."""
    deliver(machine)

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            if edit == "before, and taken back":
                process.tickets.tell(replace(process.known("1"), noted="another", note="It was edited."))
            accept(process, "1", "c" * 40)
            process.put("2", TaskStatus.ACCEPTED)
            if edit == "before it is told":
                source.edit("owner1", "1", "- [ ] it is blue")
            assert await process.write_back.run() == []
            assert ("was edited after the work had begun" in source.comments("1")[0]) == (
                edit == "before it is told"
            )
            source.asked.clear()
            before, events = process.database.total_changes, list(process.events)
            for _ in range(3):
                assert await process.write_back.run() == []
            assert writes(source) == []
            assert process.database.total_changes == before
            assert process.events == events

    asyncio.run(scenario())


def test_a_ticket_that_went_while_its_pull_request_waits_is_said_once(
    machine: Machine, source: MemorySource
) -> None:
    deliver(machine)

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            source.delete("1")
            accept(process, "1", "c" * 40)
            for _ in range(3):
                assert await process.write_back.run() == []
            said = [event for event in process.events if "is not there any more" in repr(event)]
            assert len(said) == 1
            assert len(process.notes_of("1")) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("is_shared", [True, False])
def test_done_work_whose_ticket_was_edited_meanwhile_is_left_to_a_person(
    tmp_path: Path, is_shared: bool
) -> None:
    source = MemorySource(is_shared=is_shared)
    source.add("First", READY)
    machine = Machine(tmp_path, source)
    machine.close = "always"

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            process.put("1", TaskStatus.DONE)
            source.edit("owner1", "1", "- [ ] it is blue")
            assert await process.write_back.run() == []
            assert source.is_open("1")
            assert source.labels("1") == ({"ralph", DONE} if is_shared else {"ralph"})
            (warning,) = process.warnings
            assert warning.startswith("memory-1: ")
            assert "look at it" in warning
            assert process.notes_of("1") == [warning.removeprefix("memory-1: ")]
            assert process.tickets.untold() == []

    asyncio.run(scenario())


class UnsureSource(MemorySource):
    """Cannot say who may write there, and so has no words of theirs."""

    async def read(self, key: str) -> Ticket | None:
        found = await super().read(key)
        return None if found is None else replace(found, is_trusted=None, text="", criteria=())


def test_a_tracker_that_cannot_say_whose_words_count_does_not_say_that_they_were_edited(
    tmp_path: Path,
) -> None:
    known = MemorySource()
    known.add("First", READY)
    machine = Machine(tmp_path, known)
    machine.close = "always"

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            process.put("1", TaskStatus.DONE)
        unsure = UnsureSource()
        unsure.issues = known.issues
        machine.source = unsure
        with machine.start(takes_in=False) as process:
            assert await process.write_back.run() == []
            assert not known.is_open("1")
            assert "edited" not in known.comments("1")[0]

    asyncio.run(scenario())


def test_a_cancelled_task_frees_its_ticket_without_a_word(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await process.desk.begin()
            assert await process.desk.take(process.task("1")) is None
            process.put("1", TaskStatus.CANCELLED)
            process.put("2", TaskStatus.CANCELLED)
            source.asked.clear()
            await process.write_back.run()
            await process.write_back.run()
            assert writes(source) == [("move", "1")], "of the second it never was"
            assert source.labels("1") == {"ralph"}
            assert source.comments("1") == []

    asyncio.run(scenario())


def test_a_task_that_was_cancelled_and_tried_again_is_told_all_over(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            for status in (TaskStatus.CANCELLED, TaskStatus.CANCELLED, TaskStatus.DONE):
                assert await process.desk.take(process.task("1")) is None
                assert source.labels("1") == {"ralph", OWN}
                process.put("1", status)
                await process.write_back.run()
                assert OWN not in source.labels("1")
                process.put("1", TaskStatus.OPEN)
            assert len(source.comments("1")) == 1

    asyncio.run(scenario())


# --- away, or refused ---


def test_a_source_that_is_away_is_asked_once_and_told_everything_later(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            for key in "123":
                process.put(key, TaskStatus.DONE)
            source.is_down = True
            source.asked.clear()
            (problem,) = await process.write_back.run()
            assert isinstance(problem, ServiceAway)
            assert len(source.asked) == 1, "the others would get the same answer"
            source.is_down = False
        with machine.start() as process:
            assert await process.write_back.run() == []
            for key in "123":
                assert (len(source.comments(key)), source.labels(key)) == (1, {"ralph", DONE})

    asyncio.run(scenario())


def test_a_ticket_that_refuses_does_not_keep_the_others_from_being_told(
    machine: Machine, source: MemorySource
) -> None:
    """Its conversation is locked, say."""

    def refuse(method: str, key: str) -> None:
        if method == "say" and key == "1":
            raise ServiceRefused("#1 is locked")

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            source.before = refuse
            for key in "123":
                process.put(key, TaskStatus.DONE)
            assert await process.write_back.run() == []
            assert await process.write_back.run() == []
            assert [len(source.comments(key)) for key in "123"] == [0, 1, 1]
            assert all(source.labels(key) == {"ralph", DONE} for key in "123"), "what can be moved is moved"
            assert process.warnings == ["memory-1: #1 takes no comment: #1 is locked"]
            assert process.tickets.untold() == []

    asyncio.run(scenario())


def test_a_word_that_is_refused_without_anything_else_to_do_is_said_later(
    machine: Machine, source: MemorySource
) -> None:
    """Somebody's login is over, say: that must not pass for a word that was heard."""
    deliver(machine)

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            accept(process, "1", "c" * 40)
            source.fail("say", ServiceRefused("log in again"))
            assert [problem.message for problem in await process.write_back.run()] == ["log in again"]
            assert source.comments("1") == []
            assert await process.write_back.run() == []
            assert len(source.comments("1")) == 1

    asyncio.run(scenario())


def test_a_source_that_refuses_word_and_label_is_told_everything_later(
    machine: Machine, source: MemorySource
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            process.put("1", TaskStatus.DONE)
            source.fail("say", *[ServiceRefused("log in again")] * 2)
            source.fail("move", *[ServiceRefused("log in again")] * 2)
            for _ in range(2):
                assert [problem.message for problem in await process.write_back.run()] == ["log in again"]
            assert process.warnings == [], "it is no conversation that is locked"
            assert await process.write_back.run() == []
            assert (len(source.comments("1")), source.labels("1")) == (1, {"ralph", DONE})

    asyncio.run(scenario())


def test_a_source_that_refuses_everything_is_not_asked_for_ever(tmp_path: Path) -> None:
    source = MemorySource()
    keys = [source.add(f"Ticket {number}", READY) for number in range(MOST_REFUSED + 10)]

    async def scenario() -> None:
        with Machine(tmp_path, source).start() as process:
            await take_all(process)
            for key in keys:
                process.put(key, TaskStatus.DONE)
            source.is_forbidden = True
            source.asked.clear()
            (problem,) = await process.write_back.run()
            assert problem.hint
            assert len({key for _, key in source.asked}) == MOST_REFUSED

    asyncio.run(scenario())


@pytest.mark.parametrize("status", [TaskStatus.DONE, TaskStatus.CANCELLED])
def test_a_ticket_that_is_not_there_any_more_is_not_told_for_ever(
    machine: Machine, source: MemorySource, status: TaskStatus
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            process.put("1", status)
            source.delete("1")
            assert await process.write_back.run() == []
            assert process.tickets.untold() == []

    asyncio.run(scenario())


def test_what_is_noted_while_a_ticket_is_told_is_kept(machine: Machine, source: MemorySource) -> None:
    """The proof of a merge is written by another part of this process."""
    proofs = (Proof("make test"),)
    machine.landing = lambda task, known: Landing("main", PULL, is_merged=False)

    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            process.put("1", TaskStatus.ACCEPTED)

            def note(method: str, key: str) -> None:
                process.tickets.save(
                    replace(process.known("1"), proven="d" * 40, proofs=proofs, target="main")
                )

            source.before = note
            await process.write_back.run()
            known = process.known("1")
            assert (known.proven, known.proofs, known.settled) == ("d" * 40, proofs, "accepted")

    asyncio.run(scenario())


# --- killed ---


async def live(process: Process) -> None:
    """A whole life: two tickets are done, one is cancelled after it was taken. A later process does what is left."""
    await process.desk.begin()
    for task in process.tasks.in_status(TaskStatus.OPEN):
        assert await process.desk.take(task) is None
        key = task.id.removeprefix("memory-")
        process.put(key, TaskStatus.CANCELLED if key == "2" else TaskStatus.DONE)
        await process.write_back.run()
    assert await process.desk.close() == ()


def test_whoever_is_killed_at_any_moment_tells_everything_once(tmp_path: Path) -> None:
    kills = 0
    while True:
        kills += 1
        source = MemorySource()
        for title in ("First", "Second", "Third"):
            source.add(title, READY)
        machine = Machine(tmp_path / str(kills), source)
        machine.fuse = Fuse(kills)
        source.before = source.after = lambda method, key, machine=machine: machine.fuse.burn()  # type: ignore[misc]

        async def go(machine: Machine = machine) -> None:
            with machine.start() as process:
                await live(process)

        try:
            asyncio.run(go())
            is_killed = False
        except Killed:
            is_killed = True
            machine.fuse.length = 0
            asyncio.run(go())
        for key, labels in (("1", {"ralph", DONE}), ("2", {"ralph"}), ("3", {"ralph", DONE})):
            assert source.labels(key) == labels, (kills, key)
            assert len(source.comments(key)) == (key != "2"), (kills, key)
        _check_record(machine)
        if not is_killed:
            break
    assert kills > 40, "each call and each write was tried"


def _check_record(machine: Machine) -> None:
    async def check() -> None:
        with machine.start() as process:
            assert process.tickets.untold() == []
            known = [process.known(key) for key in "123"]
            assert [one.settled for one in known] == ["done", "cancelled", "done"]
            assert not any(one.is_taken for one in known)

    asyncio.run(check())


@pytest.mark.parametrize("method", ["after say", "after move"])
def test_an_answer_that_was_lost_makes_no_second_comment(
    machine: Machine, source: MemorySource, method: str
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await take_all(process)
            process.put("1", TaskStatus.DONE)
            source.fail(method, ServiceAway("the answer was lost"))
            assert len(await process.write_back.run()) == 1
            assert await process.write_back.run() == []
            assert (len(source.comments("1")), source.labels("1")) == (1, {"ralph", DONE})

    asyncio.run(scenario())
