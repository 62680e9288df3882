"""Taking a ticket: one machine at most, whatever the order and whoever is killed; and no name is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.delivery.memory_source import MemorySource

from ralph.domain.tasks.task import TaskStatus
from ralph.domain.tickets.hold import DONE
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.engine.tickets.holds import NOT_SHOWN, TicketHolds
from ralph.engine.tickets.intake import take_in
from ralph.errors import ServiceAway

from .ticket_world import HOLDER, OWN, READY, Fuse, Killed, Machine, Process

STEPS = 4
"""A machine reads, puts up its name, reads again, and stands back."""


@pytest.fixture
def source() -> MemorySource:
    made = MemorySource()
    made.add("First", READY)
    return made


async def know(process: Process) -> None:
    take_in(process.tickets, await process.intake.look())


async def take(process: Process) -> str:
    return await process.holds.take(process.machine.source, process.known("1"))


def test_a_ticket_that_nobody_has_is_ours(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await know(process)
            assert await take(process) == ""
            assert source.labels("1") == {"ralph", OWN}
            assert process.known("1").is_taken
            assert await take(process) == "", "and stays ours"
            assert source.labels("1") == {"ralph", OWN}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("change", "why", "status"),
    [
        (
            lambda source: source.label("1", "ralph:other"),
            "#1 is not ours now: other works on it",
            TaskStatus.OPEN,
        ),
        (lambda source: source.close("1"), "not wanted any more: it is closed", TaskStatus.CANCELLED),
        (lambda source: source.delete("1"), "its ticket #1 is not there now", TaskStatus.OPEN),
        (lambda source: source.unlabel("1", "ralph"), "it has no label ralph", TaskStatus.CANCELLED),
        (lambda source: source.label("1", DONE), "it is done", TaskStatus.CANCELLED),
    ],
)
def test_one_that_is_not_ours_any_more_is_not_begun(
    machine: Machine, source: MemorySource, change: object, why: str, status: TaskStatus
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await know(process)
            assert callable(change)
            change(source)
            before = source.labels("1") if "1" in source.issues else set()
            assert why in await take(process)
            assert process.task("1").status is status
            assert (source.labels("1") if "1" in source.issues else set()) == before, "nothing was put up"

    asyncio.run(scenario())


def test_whoever_sees_another_name_beside_its_own_stands_back(machine: Machine, source: MemorySource) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await know(process)
            source.before = lambda method, key: source.label("1", "ralph:other") if method == "move" else None
            assert "#1 is not ours now: other works on it" in await take(process)
            assert source.labels("1") == {"ralph", "ralph:other"}
            assert not process.known("1").is_taken

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("change", "why", "status"),
    [
        (lambda source: source.close("1"), "it is closed", TaskStatus.CANCELLED),
        (lambda source: source.delete("1"), "its ticket #1 is not there now", TaskStatus.OPEN),
        (lambda source: source.unlabel("1", "ralph"), "it has no label ralph", TaskStatus.CANCELLED),
        (lambda source: source.label("1", DONE), "it is done", TaskStatus.CANCELLED),
        (lambda source: source.unlabel("1", OWN), NOT_SHOWN, TaskStatus.OPEN),
    ],
)
def test_one_that_changed_right_after_the_name_was_put_up_is_not_begun(
    machine: Machine, source: MemorySource, change: object, why: str, status: TaskStatus
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await know(process)
            assert callable(change)
            has_moved = False

            def interfere(method: str, key: str) -> None:
                nonlocal has_moved
                if method == "move" and not has_moved:
                    has_moved = True
                    change(source)

            source.after = interfere
            assert why in await take(process)
            assert process.task("1").status is status
            source.after = lambda method, key: None
            assert await process.write_back.run() == []
            assert "1" not in source.issues or OWN not in source.labels("1"), "no name is left there"
            assert process.tickets.untold() == []

    asyncio.run(scenario())


def test_a_name_that_may_be_there_is_taken_down_although_the_tracker_does_not_show_it_yet(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        source = LaggingSource(lag=1)
        source.add("First", READY)
        with Machine(tmp_path, source).start() as process:
            await know(process)
            process.tickets.save(replace(process.known("1"), is_taken=True))
            source.begin("ralph", "ralph:other")
            await source.move("1", Move.TAKE, holder=HOLDER)
            assert "other works on it" in await take(process)
            assert source.labels("1") == {"ralph", "ralph:other"}
            assert not process.known("1").is_taken

    asyncio.run(scenario())


class UnsureSource(MemorySource):
    """Cannot say now who may write there."""

    is_unsure = True

    async def read(self, key: str) -> Ticket | None:
        found = await super().read(key)
        return replace(found, is_trusted=None) if found is not None and self.is_unsure else found


@pytest.mark.parametrize("is_late", [False, True])
def test_one_whose_author_is_not_known_now_is_not_begun_and_not_cancelled(
    tmp_path: Path, is_late: bool
) -> None:
    """``is_late``: it is not known any more when the name is there."""

    async def scenario() -> None:
        source = UnsureSource()
        source.add("First", READY)
        with Machine(tmp_path, source).start() as process:
            await know(process)
            if is_late:
                source.is_unsure = False

                def lose_sight(method: str, key: str) -> None:
                    source.is_unsure = source.is_unsure or method == "move"

                source.after = lose_sight
            assert "#1 is not ours now: it is not known whether owner1 may write there" in await take(process)
            assert process.task("1").status is TaskStatus.OPEN
            assert source.labels("1") == {"ralph"}
            assert not process.known("1").is_taken
            source.after, source.is_unsure = lambda method, key: None, False
            assert await take(process) == ""

    asyncio.run(scenario())


# --- two machines, in every order ---


def orders(left: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not any(left):
        yield ()
        return
    for machine, steps in enumerate(left):
        if steps:
            rest = [count - (other == machine) for other, count in enumerate(left)]
            yield from ((machine, *more) for more in orders(rest))


class LaggingSource(MemorySource):
    """What is read is so many writes behind."""

    def __init__(self, lag: int = 0) -> None:
        super().__init__()
        self.lag = lag
        self.past: list[list[str]] = []

    def begin(self, *labels: str) -> None:
        self.issues["1"].labels = list(labels)
        self.past = [list(labels)]

    async def read(self, key: str) -> Ticket | None:
        found = await super().read(key)
        seen = self.past[max(0, len(self.past) - 1 - self.lag)] if self.past else None
        return found if found is None or seen is None else replace(found, labels=tuple(seen))

    async def move(self, key: str, to: Move, *, holder: str) -> None:
        await super().move(key, to, holder=holder)
        self.past.append(list(self.issues[key].labels))


class TurnSource(MemorySource):
    """One machine's way to a source that others use, too: each request waits for its turn."""

    def __init__(self, shared: LaggingSource) -> None:
        super().__init__()
        self.issues = shared.issues
        self.shared = shared
        self.turns = asyncio.Semaphore(0)
        self.has_moved = asyncio.Event()

    async def read(self, key: str) -> Ticket | None:
        await self._turn()
        return await self.shared.read(key)

    async def move(self, key: str, to: Move, *, holder: str) -> None:
        await self._turn()
        await self.shared.move(key, to, holder=holder)

    async def _turn(self) -> None:
        await self.turns.acquire()
        self.has_moved.set()


async def race(
    order: Sequence[int], source: LaggingSource, takers: Sequence[tuple[TicketHolds, Process]]
) -> list[str]:
    """What each machine was told."""
    ways = [TurnSource(source) for _ in takers]
    tasks = [
        asyncio.create_task(holds.take(way, process.known("1")))
        for (holds, process), way in zip(takers, ways, strict=True)
    ]
    for turn in order:
        ways[turn].has_moved.clear()
        ways[turn].turns.release()
        moved = asyncio.ensure_future(ways[turn].has_moved.wait())
        await asyncio.wait({moved, tasks[turn]}, return_when=asyncio.FIRST_COMPLETED)
        moved.cancel()
        await asyncio.sleep(0)
    return list(await asyncio.gather(*tasks))


@pytest.mark.parametrize("lag", [0, 1, 2])
@pytest.mark.parametrize("resumed", ["", "box-a"])
def test_of_two_machines_at_most_one_begins_in_any_order(tmp_path: Path, resumed: str, lag: int) -> None:
    """``resumed``: one of them had the ticket before, and was killed. ``lag``: how far behind the tracker's answers are."""

    async def scenario() -> None:
        source = LaggingSource(lag)
        source.add("First", READY)
        one, other = (Machine(tmp_path / name, source, holder=name) for name in ("box-a", "box-b"))
        with one.start() as here, other.start() as there:
            await know(here)
            await know(there)
            fresh = [process.known("1") for process in (here, there)]
            outcomes = set()
            for order in orders([STEPS, STEPS]):
                source.begin("ralph", *([f"ralph:{resumed}"] if resumed else []))
                for process, known in zip((here, there), fresh, strict=True):
                    process.tickets.save(replace(known, is_taken=process.machine.holder == resumed))
                told = await race(order, source, [(here.holds, here), (there.holds, there)])
                winners = [name for name, why in zip(("box-a", "box-b"), told, strict=True) if not why]
                assert len(winners) <= 1, order
                assert source.labels("1") - {"ralph"} == {f"ralph:{name}" for name in winners}, order
                assert [process.known("1").is_taken for process in (here, there)] == [not why for why in told]
                outcomes.add(tuple(winners))
            if resumed:
                assert outcomes == {("box-a",)}
            elif not lag:
                assert outcomes == {("box-a",), ("box-b",), ()}
            else:
                assert () in outcomes, "whoever cannot see its own name stands back"

    asyncio.run(scenario())


# --- killed, or cut off ---


def test_whoever_is_killed_at_any_moment_has_it_afterwards_or_can_give_it_back(tmp_path: Path) -> None:
    kills = 0
    while True:
        kills += 1
        source = MemorySource()
        source.add("First", READY)
        machine = Machine(tmp_path / str(kills), source)

        async def first(machine: Machine = machine, source: MemorySource = source, at: int = kills) -> bool:
            with machine.start() as process:
                await know(process)
                machine.fuse = process.tickets.fuse = Fuse(at)
                source.before = source.after = lambda method, key: machine.fuse.burn()
                try:
                    await take(process)
                except Killed:
                    return True
            return False

        async def cancel(machine: Machine = machine, source: MemorySource = source) -> None:
            machine.fuse, source.before = Fuse(), lambda method, key: None
            source.after = source.before
            with machine.start() as process:
                assert await take(process) == ""
                process.put("1", TaskStatus.CANCELLED)
                assert await process.write_back.run() == []
                assert source.labels("1") == {"ralph"}

        async def cancel_at_once(machine: Machine = machine, source: MemorySource = source) -> None:
            machine.fuse, source.before = Fuse(), lambda method, key: None
            source.after = source.before
            with machine.start() as process:
                process.put("1", TaskStatus.CANCELLED)
                assert await process.write_back.run() == []
                assert source.labels("1") == {"ralph"}, "its name is not left there"

        is_killed = asyncio.run(first())
        asyncio.run(cancel_at_once() if kills % 2 else cancel())
        if not is_killed:
            break
    assert kills > 8, "each read, move and save was tried"


@pytest.mark.parametrize("call", range(1, 4))
@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_whoever_is_cut_off_while_taking_it_takes_it_again(
    machine: Machine, source: MemorySource, call: int, is_done: bool
) -> None:
    async def scenario() -> None:
        with machine.start() as process:
            await know(process)
            count = 0

            def cut(method: str, key: str) -> None:
                nonlocal count
                count += 1
                if count == call:
                    raise ServiceAway("cut off")

            if is_done:
                source.after = cut
            else:
                source.before = cut
            with pytest.raises(ServiceAway):
                await take(process)
            assert await take(process) == ""
            assert source.labels("1") == {"ralph", OWN}

    asyncio.run(scenario())


def test_two_that_could_not_stand_back_do_not_wait_for_each_other_for_ever(
    tmp_path: Path, source: MemorySource
) -> None:
    async def scenario() -> None:
        one, other = (Machine(tmp_path / name, source, holder=name) for name in ("box-a", "box-b"))
        with one.start() as here, other.start() as there:
            await know(here)
            await know(there)
            source.issues["1"].labels = ["ralph", "ralph:box-a", "ralph:box-b"]
            assert "box-b works on it" in await take(here)
            assert source.labels("1") == {"ralph", "ralph:box-b"}
            assert await take(there) == ""

    asyncio.run(scenario())
