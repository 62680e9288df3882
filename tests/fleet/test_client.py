"""What a submitter can do with the fleet, against the real server, with workers or without."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowHandle

from ralph.adapters.temporal import names
from ralph.adapters.temporal.client import TemporalFleet
from ralph.adapters.temporal.codec import make_key
from ralph.adapters.temporal.connection import connect
from ralph.adapters.temporal.ledger import TemporalLedger
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.job_size import LARGEST
from ralph.domain.fleet.progress import Phase
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.fleet.views import FleetLimits, JobView
from ralph.engine.fleet.ports import FleetSpent, Stopping
from ralph.errors import ServiceAway, UsageError
from tests.fleet.world.crew import at_work, end_of, ended, instantly, until
from tests.fleet.world.server import Server


def job(name: str, **more: object) -> JobSpec:
    given: dict[str, object] = {"repository": "https://example.com/r.git", "command": ("run",), **more}
    return JobSpec(id=name, heartbeat=3.0, **given)  # type: ignore[arg-type]


async def fleet_of(server: Server, **environment: str) -> TemporalFleet:
    return TemporalFleet(await connect({**server.environment, **environment}))


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120):
            await test()

    asyncio.run(bounded())


def refused(test: Awaitable[object]) -> Awaitable[UsageError]:
    async def ask() -> UsageError:
        with pytest.raises(UsageError) as raised:
            await test
        return raised.value

    return ask()


# --- jobs --------------------------------------------------------------------------------------------------


def test_a_job_is_seen_before_any_worker_is_there(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        spec = job("first", title="the first", labels=("gpu",), priority=1, submitted_at=1_000.0)
        assert await fleet.submit(spec)
        view = await fleet.job("first")
        assert view.spec == spec
        assert view.is_open
        assert view.started_at == 1_000.0
        assert view.progress.phase is Phase.QUEUED
        assert not view.problem
        assert await fleet.beat("first") is None

    run(test)


def test_a_job_submitted_before_there_was_a_worker_is_done_later(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        await fleet.submit(job("early"))
        async with at_work(server, instantly(3)):
            view = await ended(fleet, "early")
        assert view.progress.phase is Phase.ENDED
        assert view.progress.last.outcome == "completed"
        assert view.progress.last.iteration == 3
        assert view.ended_at is not None
        # The list needs no worker, either.
        assert await _names(fleet, 1) == ["early"]

    run(test)


def test_two_submitters_at_once_make_one_job(server: Server) -> None:
    async def test() -> None:
        fleets = [await fleet_of(server) for _ in range(2)]
        specs = [job(f"j{number}", title=who) for number in range(10) for who in ("one", "other")]
        told = await asyncio.gather(
            *(fleet.submit(spec) for spec, fleet in zip(specs, fleets * 10, strict=True))
        )
        assert sum(told) == 10
        for number in range(10):
            title = (await fleets[0].job(f"j{number}")).spec.title
            assert told[2 * number : 2 * number + 2] == [title == "one", title == "other"]

    run(test)


def test_a_job_that_ended_is_not_submitted_again(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        async with at_work(server, instantly(1)):
            await fleet.submit(job("done"))
            await ended(fleet, "done")
            assert not await fleet.submit(job("done"))
        assert not (await fleet.job("done")).is_open

    run(test)


def test_open_jobs_come_first_and_then_the_newest(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        async with at_work(server, instantly(1)):
            for name in ("a", "b"):
                await fleet.submit(job(name))
                await ended(fleet, name)
        for name in ("c", "d"):
            await fleet.submit(job(name))
        assert await _names(fleet, 4) == ["d", "c", "b", "a"]
        assert [view.spec.id for view in await fleet.jobs(only_open=True)] == ["d", "c"]
        assert [view.spec.id for view in await fleet.jobs(limit=3)] == ["d", "c", "b"]
        assert [view.spec.id for view in await fleet.jobs(limit=1)] == ["d"]

    run(test)


async def _names(fleet: TemporalFleet, count: int) -> list[str]:
    """As listed; the server's lists are a moment late."""

    async def look() -> list[str] | None:
        found = [view.spec.id for view in await fleet.jobs()]
        return found if len(found) == count else None

    return await until(look)


def test_an_unknown_job(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        await fleet.submit(job("fix-parser"))
        await _names(fleet, 1)
        for question in (
            fleet.job("fix-praser"),
            fleet.beat("fix-praser"),
            fleet.pause("fix-praser"),
            fleet.stop("fix-praser"),
            fleet.stop("fix-praser", now=True),
            fleet.retry("fix-praser"),
        ):
            problem = await refused(question)
            assert "no job 'fix-praser'" in problem.message
            assert problem.hint == "did you mean fix-parser?"
        assert "status" in (await refused(fleet.job("zzz"))).hint

    run(test)


def test_a_job_that_is_too_large(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        problem = await refused(fleet.submit(job("big", command=("run", "x" * LARGEST))))
        assert "too large" in problem.message
        assert await fleet.submit(job("long", command=("run", "x" * (LARGEST - 2_000))))
        assert len((await fleet.job("long")).spec.command[1]) < 5_000
        assert len((await fleet.spec("long")).command[1]) == LARGEST - 2_000
        await refused(fleet.steer("long", "x" * 20_000))

    run(test)


def test_a_job_that_was_terminated_with_temporals_own_tools(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        await fleet.submit(job("gone"))
        await (await _handle(server, "gone")).terminate(reason="not this one")
        view = await fleet.job("gone")
        assert not view.is_open
        assert view.progress.phase is Phase.ENDED
        assert "terminated" in view.problem
        assert "not this one" in view.problem
        assert "has ended" in (await refused(fleet.steer("gone", "hello"))).message
        assert "has ended" in (await refused(fleet.stop("gone"))).message

    run(test)


def test_a_job_that_was_deleted_with_temporals_own_tools(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        await fleet.submit(job("gone"))
        client = await connect(server.environment)
        request = DeleteWorkflowExecutionRequest(namespace=client.namespace)
        request.workflow_execution.workflow_id = names.workflow_id("gone")
        await client.workflow_service.delete_workflow_execution(request)

        async def deleted() -> UsageError | None:
            try:
                await fleet.job("gone")
            except UsageError as problem:
                return problem
            return None

        assert "there is no job" in (await until(deleted)).message

    run(test)


async def _handle(server: Server, name: str) -> WorkflowHandle[Any, Any]:
    client = await Client.connect(server.address, namespace=server.namespace)
    return client.get_workflow_handle(names.workflow_id(name))


# --- words to a job ----------------------------------------------------------------------------------------


def test_what_a_session_says_while_it_runs(server: Server) -> None:
    """Encrypted, as everything is."""

    async def test() -> None:
        finish = asyncio.Event()

        async def talk(order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping) -> ShiftEnd:
            beat(Beat(worker="w1", turn=order.turn, cost=0.5, lines=("one", "two")))
            await finish.wait()
            return end_of(order, of=1)

        key = make_key()
        fleet = await fleet_of(server, RALPH_FLEET_KEY=key)
        await fleet.submit(job("talks"))
        async with at_work(server, talk, RALPH_FLEET_KEY=key):

            async def spoken() -> Beat | None:
                beat = await fleet.beat("talks")
                return beat if beat and beat.lines else None

            beat = await until(spoken)
            assert beat.lines == ("one", "two")
            assert beat.cost == 0.5
            finish.set()
            await ended(fleet, "talks")

    run(test)


def test_steer_pause_unpause_and_stop(server: Server) -> None:
    async def test() -> None:
        heard: list[str] = []

        async def hear(order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping) -> ShiftEnd:
            heard.extend(note.text for note in order.notes)
            numbers = [note.number for note in order.notes]
            return end_of(order, of=10_000, heard=max(numbers, default=0))

        fleet = await fleet_of(server)
        await fleet.submit(job("led"))
        await fleet.pause("led")
        await fleet.steer("led", "mind the gap")
        async with at_work(server, hear):

            async def paused() -> JobView | None:
                view = await fleet.job("led")
                return view if view.progress.phase is Phase.PAUSED else None

            await until(paused)
            assert not heard
            await fleet.unpause("led")

            async def told() -> bool | None:
                return bool(heard) or None

            await until(told)
            await fleet.stop("led")
            view = await ended(fleet, "led")
        assert heard == ["mind the gap"]
        assert view.progress.last.outcome == "cancelled"

    run(test)


def test_stop_twice_and_at_once(server: Server) -> None:
    async def test() -> None:
        asked: list[bool] = []

        async def go_on(order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping) -> ShiftEnd:
            beat(Beat(worker="w1"))
            await stopping.requested()
            asked.append(stopping.is_now)
            await stopping.requested_now()
            return end_of(order, of=10, outcome="cancelled", want="")

        fleet = await fleet_of(server)
        await fleet.submit(job("busy"))
        async with at_work(server, go_on):
            await until(lambda: fleet.beat("busy"))
            await fleet.stop("busy")

            async def asked_once() -> bool | None:
                return bool(asked) or None

            await until(asked_once)
            await fleet.stop("busy")
            await fleet.stop("busy", now=True)
            view = await ended(fleet, "busy")
        assert asked == [False]
        assert view.progress.last.outcome == "cancelled"

    run(test)


def test_retry_continues_what_ended(server: Server) -> None:
    async def test() -> None:
        turns: list[int] = []

        async def fail_once(order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping) -> ShiftEnd:
            turns.append(order.turn)
            assert order.job.command[1] == "x" * 10_000
            if order.turn == 1 and not order.resumes:
                return end_of(order, of=9, outcome="exhausted", want="", exit_code=1)
            return end_of(order, of=3)

        fleet = await fleet_of(server)
        async with at_work(server, fail_once):
            await fleet.submit(job("again", command=("run", "x" * 10_000)))
            view = await ended(fleet, "again")
            assert view.progress.last.outcome == "exhausted"
            await fleet.retry("again")
            view = await ended(fleet, "again")
        assert view.progress.last.outcome == "completed"
        assert turns == [0, 1, 2]
        assert await _names(fleet, 1) == ["again"]
        assert "completed" in (await refused(fleet.retry("again"))).message
        await fleet.submit(job("open"))
        assert "has not ended" in (await refused(fleet.retry("open"))).message

    run(test)


def test_a_task_that_was_completed_without_a_merge_can_be_retried(server: Server) -> None:
    async def test() -> None:
        async def merge_later(
            order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping
        ) -> ShiftEnd:
            return end_of(order, of=1, merged="c0ffee" if order.retry else "")

        fleet = await fleet_of(server)
        async with at_work(server, merge_later):
            await fleet.submit(job("odd", command=(), task="{}"))
            assert (await ended(fleet, "odd")).progress.last.outcome == "completed"
            await fleet.retry("odd")
            assert (await ended(fleet, "odd")).progress.last.merged == "c0ffee"
        assert "completed" in (await refused(fleet.retry("odd"))).message

    run(test)


def test_a_note_that_does_not_fit_is_refused_and_those_before_it_stay(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        async with at_work(server, instantly(1)):
            await fleet.submit(job("told", labels=("nobody",)))
            for number in range(2):
                await fleet.steer("told", str(number) * 16_000)

            async def taken() -> bool | None:
                return len((await fleet.job("told")).progress.notes) == 2 or None

            await until(taken)
            assert "32,000 bytes already" in (await refused(fleet.steer("told", "2"))).message
            # Somebody who did not look first.
            await (await _handle(server, "told")).signal(names.STEER, "2")

            async def said() -> bool | None:
                return "a note was refused" in (await fleet.job("told")).progress.reason or None

            await until(said)
            notes = (await fleet.job("told")).progress.notes
            assert [note.text[0] for note in notes] == ["0", "1"]
            await fleet.stop("told")

    run(test)


# --- schedules ---------------------------------------------------------------------------------------------


def test_schedules(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        assert await fleet.schedules() == []
        await fleet.schedule("nightly", job("", title="clean up"), cron="0 3 * * 1-5")

        async def listed() -> Sequence[object] | None:
            return await fleet.schedules() or None

        await until(listed)
        (found,) = await fleet.schedules()
        assert (found.id, found.cron, found.spec.title) == ("nightly", "0 3 * * 1-5", "clean up")
        assert found.next_at is not None
        assert found.next_at > time.time()
        assert "already" in (await refused(fleet.schedule("nightly", job(""), cron="@daily"))).message
        assert "refused" in (await refused(fleet.schedule("odd", job(""), cron="soon"))).message
        assert "at most 103" in (await refused(fleet.schedule("n" * 104, job(""), cron="@daily"))).message
        await fleet.unschedule("nightly")
        assert "no schedule" in (await refused(fleet.unschedule("nightly"))).message

        async def gone() -> bool | None:
            return not await fleet.schedules() or None

        await until(gone)

    run(test)


def test_each_firing_is_a_job_of_its_own(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        client = await connect(server.environment)
        async with at_work(server, instantly(1)):
            await fleet.schedule("nightly", job("", title="clean up"), cron="0 3 1 1 *")
            await client.get_schedule_handle("ralph1-schedule-nightly").trigger()

            async def fired() -> JobView | None:
                found = await fleet.jobs()
                return found[0] if found else None

            name = (await until(fired)).spec.id
            assert name.startswith("nightly-")
            view = await ended(fleet, name)
        assert view.spec.title == "clean up"
        assert ":" not in view.spec.branch
        assert view.progress.last.outcome == "completed"
        await fleet.unschedule("nightly")

    run(test)


# --- machines, limits --------------------------------------------------------------------------------------


def test_workers_are_seen_by_their_labels(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        assert await fleet.workers() == []
        async with (
            at_work(server, instantly(1), name="plain"),
            at_work(server, instantly(1), name="strong", labels=("gpu", "linux")),
        ):

            async def both() -> list[str] | None:
                found = [view.name for view in await fleet.workers()]
                return found if len(found) == 2 else None

            assert await until(both) == ["plain", "strong"]

            async def one() -> list[str] | None:
                return [view.name for view in await fleet.workers(["gpu"])] or None

            assert await until(one) == ["strong"]
            assert await fleet.workers(["windows"]) == []

    run(test)


def test_limits_over_all_machines(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        now = [0.0]
        ledger = TemporalLedger(await connect(server.environment), worker="w1", clock=lambda: now[0])
        first, second = job("first", agent="claude"), job("second", agent="claude")
        assert await fleet.limits() == FleetLimits()
        assert await ledger.enter(first, turn=1, cost=0.0) == ""  # nobody has set a limit
        async with at_work(server, instantly(1)):
            await fleet.set_limits(FleetLimits(sessions=(("claude", 1),), max_cost=5.0))
            assert await ledger.enter(second, turn=1, cost=0.0) == ""  # it was asked a moment ago
            now[0] = 31.0
            assert await ledger.enter(first, turn=1, cost=0.0) == ""
            assert "taken" in await ledger.enter(second, turn=1, cost=0.0)
            assert await ledger.enter(first, turn=1, cost=1.0) == ""  # it is still there
            await ledger.leave(first, turn=1, cost=6.0)
            await ledger.leave(first, turn=1, cost=6.0)
            with pytest.raises(FleetSpent, match=r"\$6\.00 of \$5\.00"):
                await ledger.enter(second, turn=1, cost=0.0)
            found = await fleet.limits()
            assert (found.sessions, found.max_cost, found.spent) == ((("claude", 1),), 5.0, 6.0)
            assert found.in_use == ()
            await fleet.set_limits(FleetLimits(max_cost=10.0))
            assert await ledger.enter(second, turn=1, cost=0.0) == ""
        assert (await fleet.limits()).in_use == (("claude", 1),)  # without a worker, too

    run(test)


def test_limits_cannot_be_set_without_a_worker(server: Server) -> None:
    async def test() -> None:
        fleet = await fleet_of(server)
        with pytest.raises(ServiceAway, match="not set"):
            await fleet.set_limits(FleetLimits(max_cost=1.0))

    run(test)


def test_a_ledger_that_cannot_be_asked_lets_no_session_begin(own_server: Server) -> None:
    async def test() -> None:
        ledger = TemporalLedger(await connect(own_server.environment), worker="w1")
        await asyncio.to_thread(own_server.kill)
        assert "cannot be asked" in await ledger.enter(job("one", agent="claude"), turn=1, cost=0.0)
        await ledger.leave(job("one", agent="claude"), turn=1, cost=1.0)
        await asyncio.to_thread(own_server.start)

        async def may() -> bool | None:
            return await ledger.enter(job("one", agent="claude"), turn=1, cost=0.0) == "" or None

        assert await until(may)

    run(test)
