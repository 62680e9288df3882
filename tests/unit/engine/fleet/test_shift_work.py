"""One shift on a worker, with a seat, a process and a ledger in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ralph.domain.fleet.job import PROTOCOL, JobSpec
from ralph.domain.fleet.progress import JobProgress
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.fleet.steps import after_shift
from ralph.engine.fleet.ports import BaseMoved, Fenced, FleetSpent, Found, OtherVersion, Seat, Stopping
from ralph.engine.fleet.shift_work import ASK_AGAIN, RENEW_EVERY, SAVE_AGAIN, ShiftFailed, ShiftWork
from ralph.errors import RalphError, ServiceAway, ServiceRefused, UsageError

JOB = JobSpec(id="shop-1", repository="https://example.org/shop.git", command=("run", "-f", "PROMPT.md"))
DONE = ShiftEnd(want="session", run_id="r1", iteration=4, cost=5.0)
BEFORE = ShiftEnd(turn=3, want="session", run_id="r1", iteration=3, cost=4.0)


@dataclass
class World:
    """Everything that was asked, in order; what the remote has, and what the process and the pushes answer."""

    remote: ShiftEnd | None = BEFORE
    ends: ShiftEnd | BaseException = DONE
    pushes: list[Exception] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    taker: Exception | None = None
    log: list[str] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    beats: list[Beat] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    is_now: bool = False
    asked_now: asyncio.Event = field(default_factory=asyncio.Event)
    is_spent: bool = False
    is_renewing: bool = False

    # Seats, and the one seat
    def of(self, job: JobSpec) -> Seat:
        return self

    async def open(self) -> Found:
        self.log.append("open")
        return Found(project=Path("/project"), end=self.remote)

    async def take(self) -> None:
        self.log.append("take")
        if self.taker is not None:
            raise self.taker

    async def catch_up(self) -> None:
        self.log.append("catch up")

    async def save(self, end: ShiftEnd) -> ShiftEnd:
        self.log.append(f"save {end.turn}")
        if self.pushes:
            raise self.pushes.pop(0)
        self.remote = replace(end, commit="abc")
        return self.remote

    async def forget(self) -> None:
        self.log.append("forget")

    # Stopping
    async def requested(self) -> None:
        await asyncio.Event().wait()

    async def requested_now(self) -> None:
        await self.asked_now.wait()

    # ShiftProcess
    async def run(
        self,
        order: ShiftOrder,
        project: Path,
        *,
        run_id: str,
        beat: Callable[[Beat], None],
        stopping: Stopping,
    ) -> ShiftEnd:
        self.log.append("run")
        self.run_ids.append(run_id)
        beat(Beat(turn=order.turn, cost=0.5))
        if isinstance(self.ends, BaseException):
            raise self.ends
        return self.ends

    # Ledger
    async def enter(self, job: JobSpec, *, turn: int, cost: float) -> str:
        self.log.append(f"enter {cost:g}")
        if self.is_spent:
            raise FleetSpent("all of it")
        return self.refusals.pop(0) if self.refusals else ""

    async def leave(self, job: JobSpec, *, turn: int, cost: float) -> None:
        self.log.append(f"leave {cost:g}")

    async def sleep(self, seconds: float) -> None:
        if seconds == RENEW_EVERY and not self.is_renewing:
            self.is_renewing = True
            await asyncio.Event().wait()
        self.slept.append(seconds)

    def do(self, order: ShiftOrder | None = None) -> ShiftEnd:
        work = ShiftWork(worker="w1", version="1.0", seats=self, process=self, ledger=self, sleep=self.sleep)
        return asyncio.run(work.run(order or ShiftOrder(job=JOB, turn=3), self.beats.append, self))


def test_a_shift_is_fetched_done_and_pushed() -> None:
    world = World()

    end = world.do()

    assert end == replace(DONE, turn=4, worker="w1", commit="abc")
    assert world.log == ["open", "enter 4", "take", "run", "save 4", "leave 5"]
    assert world.run_ids == ["r1"]
    assert world.beats == [Beat(worker="w1", turn=3, cost=0.5)]


def test_the_first_shift_has_no_run_to_resume() -> None:
    world = World(remote=None)

    assert world.do(ShiftOrder(job=JOB, turn=0)).turn == 1
    assert world.run_ids == [""]


def test_a_shift_that_was_done_before_is_not_done_again() -> None:
    world = World(remote=replace(BEFORE, turn=4))

    assert world.do() == world.remote
    assert world.log == ["open"]


def test_how_it_ended_once_is_no_answer_to_a_retry() -> None:
    """Its job was stopped, and never heard that the session had ended well on the remote."""
    stopped = replace(BEFORE, turn=5, outcome="cancelled", want="")
    world = World(remote=stopped)
    end = world.do(ShiftOrder(job=JOB, turn=3, retry=1, resumes=True))
    assert (end.turn, end.retry) == (6, 1)
    assert "run" in world.log
    waiting = World(remote=stopped, refusals=["taken"] * 9).do(ShiftOrder(job=JOB, turn=3, retry=1))
    assert (waiting.turn, waiting.want) == (3, "wait")


def test_a_record_that_went_back_in_time_is_not_continued() -> None:
    with pytest.raises(ServiceRefused, match="2 of 3 steps") as error:
        World(remote=replace(BEFORE, turn=2)).do()
    assert "refs/ralph/records/shop-1" in error.value.hint


@pytest.mark.parametrize(("protocol", "who"), [(PROTOCOL + 1, "workers"), (PROTOCOL - 1, "submits")])
def test_another_protocol_is_refused_politely(protocol: int, who: str) -> None:
    world = World()
    job = replace(JOB, protocol=protocol, version="9.9")

    with pytest.raises(OtherVersion, match=r"9\.9.*1\.0") as error:
        world.do(ShiftOrder(job=job, turn=3))

    assert who in error.value.hint
    assert world.log == []


def test_without_a_place_nothing_is_done_and_no_turn_counts() -> None:
    why = "all 3 places at claude are taken"
    world = World(refusals=[why] * 10)

    end = world.do()

    assert (end.turn, end.want, end.reason, end.cost) == (3, "wait", why, 4.0)
    assert end.seconds > 0
    assert world.slept == list(ASK_AGAIN)
    assert "take" not in world.log
    assert not any(each.startswith("leave") for each in world.log)


def test_a_place_that_becomes_free_soon_is_taken() -> None:
    assert World(refusals=["the only place at claude is taken"]).do().turn == 4


def test_no_money_is_left() -> None:
    world = World(is_spent=True)
    with pytest.raises(FleetSpent):
        world.do()
    assert "take" not in world.log


def test_what_lost_sessions_cost_is_told_to_the_ledger() -> None:
    world = World()
    world.do(ShiftOrder(job=JOB, turn=3, lost_cost=1.5))
    assert world.log[1] == "enter 5.5"


def test_its_turn_to_merge() -> None:
    world = World()
    world.do(ShiftOrder(job=JOB, turn=3, may_merge=True))
    assert world.log[1:4] == ["take", "catch up", "run"]


def test_a_merge_has_no_session_and_needs_neither_a_place_nor_money() -> None:
    world = World(refusals=["all places are taken"] * 9, is_spent=True)
    world.do(ShiftOrder(job=JOB, turn=3, may_merge=True))
    assert not [each for each in world.log if each.startswith(("enter", "leave"))]


def test_a_base_that_moved_is_merged_again() -> None:
    world = World(pushes=[BaseMoved()])

    end = world.do(ShiftOrder(job=JOB, turn=3, may_merge=True))

    assert (end.turn, end.want, end.run_id) == (3, "merge", "r1")
    assert world.log[-1] == "forget"
    assert (end.cost, end.lost_cost) == (BEFORE.cost, 1.0), "nothing of it was saved, but it was paid for"
    assert after_shift(JobProgress(turn=3, lost_cost=0.5), end, 9.0).lost_cost == 1.5


@pytest.mark.parametrize("fenced_at", ["take", "save"])
def test_a_worker_that_was_replaced_leaves_its_place(fenced_at: str) -> None:
    world = World(taker=Fenced()) if fenced_at == "take" else World(pushes=[Fenced()])

    with pytest.raises(Fenced):
        world.do()

    assert world.log[-2].startswith("leave")
    assert world.log[-1] == "forget"


ENDS: Sequence[tuple[int | None, type[RalphError]]] = [
    (2, UsageError), (0, UsageError), (5, ServiceAway), (4, ShiftFailed), (3, ShiftFailed), (None, ShiftFailed)
]  # fmt: skip


@pytest.mark.parametrize(("code", "kind"), ENDS)
def test_a_process_without_an_end_did_not_happen(code: int | None, kind: type[RalphError]) -> None:
    world = World(ends=ShiftEnd(exit_code=code, reason="ralph was killed\n  last words", hint="memory"))

    with pytest.raises(kind, match="last words") as error:
        world.do()

    assert error.value.hint == "memory"
    assert world.log[-2:] == ["leave 4.5", "forget"]


def test_a_job_that_is_stopped_before_its_run_begins_is_cancelled() -> None:
    world = World(ends=ShiftEnd(exit_code=130))

    end = world.do()

    assert (end.turn, end.outcome, end.want, end.exit_code) == (3, "cancelled", "", 130)
    assert "save 4" not in world.log
    assert end.lost_cost == 0.5


def test_a_remote_that_is_away_is_pushed_to_again() -> None:
    world = World(pushes=[ServiceAway("away")] * 3)
    assert world.do().turn == 4
    assert world.slept == list(SAVE_AGAIN[:3])


def test_a_session_is_pushed_however_long_the_remote_is_away() -> None:
    world = World(pushes=[ServiceAway("no route to it")] * 150)

    assert world.do().turn == 4

    assert world.slept == [*SAVE_AGAIN, *[SAVE_AGAIN[-1]] * (150 - len(SAVE_AGAIN))]
    said = world.beats[-1]
    assert said.lines[-1] == "cannot push: no route to it; trying again in 5m0s"
    assert (said.cost, len(said.lines), said.first_line) == (0.5, 100, 50)


def test_a_stop_now_ends_the_wait_for_a_remote() -> None:
    """At once: this test would hang for the rest of those seconds."""

    class Waiting(World):
        async def sleep(self, seconds: float) -> None:
            self.is_now = True
            self.asked_now.set()
            await asyncio.Event().wait()

    world = Waiting(pushes=[ServiceAway("away")] * 2)
    with pytest.raises(ServiceAway):
        world.do()
    assert world.log.count("save 4") == 2


def test_nobody_waits_for_a_remote_who_wants_to_stop_now() -> None:
    with pytest.raises(ServiceAway):
        World(pushes=[ServiceAway("away")], is_now=True).do()


def test_a_cancelled_shift_leaves_its_place() -> None:
    world = World(ends=asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        world.do()
    assert world.log[-2:] == ["leave 4.5", "forget"]
    assert "save 4" not in world.log
