"""Jobs as workflows on a real server, with real workers whose shifts are the test's own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from ralph.adapters.temporal import job_workflow, names
from ralph.adapters.temporal.errands import Errands
from ralph.adapters.temporal.shifts import Shifts
from ralph.domain.fleet import steps
from ralph.domain.fleet.ledger_rules import EnterReply, EnterRequest, LeaveRequest, LedgerState
from ralph.domain.fleet.progress import JobProgress, MergeTurn, Phase
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.fleet.views import FleetLimits
from ralph.engine.fleet.ports import Stopping
from ralph.errors import ServiceAway, UsageError
from tests.fleet.world.crew import (
    end_of,
    instantly,
    progress_of,
    reach,
    result,
    spec_of,
    start,
    until,
    working,
)
from tests.fleet.world.server import Server

pytestmark = pytest.mark.timeout(180)
ROOT = Path(__file__).parents[2]
Say = Callable[[Beat], None]


def play(server: Server, scene: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        await scene(await Client.connect(server.address, namespace=server.namespace))

    asyncio.run(main())


async def kinds(handle: WorkflowHandle[object, JobProgress]) -> list[str]:
    history = await handle.fetch_history()
    return [EventType.Name(event.event_type).removeprefix("EVENT_TYPE_") for event in history.events]


def test_a_plain_iteration_costs_seven_events(server: Server) -> None:
    async def scene(client: Client) -> None:
        async with working(client, instantly(12, "w1")):
            few = await start(client, spec_of("few"), JobProgress(turn=7, since=1.0, worker="w1"))
            await result(few)
            many = await start(client, spec_of("many"), JobProgress(turn=2, since=1.0, worker="w1"))
            await result(many)
        assert (len(await kinds(many)) - len(await kinds(few))) / 5 == 7

    play(server, scene)


def test_the_worker_that_had_a_job_gets_it_again(server: Server) -> None:
    seen: list[str] = []

    def by(name: str) -> Callable[[ShiftOrder, Say, Stopping], Awaitable[ShiftEnd]]:
        async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            seen.append(name)
            return end_of(order, of=10, worker=name)

        return run

    async def scene(client: Client) -> None:
        async with working(client, by("a"), name="a"), working(client, by("b"), name="b"):
            await result(await start(client, spec_of("sticky")))

    play(server, scene)
    assert len(seen) == 10
    assert len(set(seen)) == 1


def test_another_worker_takes_over_when_the_first_has_left(server: Server) -> None:
    async def scene(client: Client) -> None:
        ended = asyncio.Event()

        async def first(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            beat(Beat(iteration=2, cost=0.5, tokens=7))
            if order.turn:
                ended.set()
                await asyncio.Event().wait()
            return end_of(order, of=3, worker="a")

        async def second(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            assert (order.turn, order.lost_cost, order.lost_tokens) == (1, 0.5, 7) or order.turn == 2
            return end_of(order, of=3, worker="b")

        async with working(client, first, name="a"):
            job = await start(client, spec_of("left"))
            await asyncio.wait_for(ended.wait(), 30)
        async with working(client, second, name="b"):
            end = await result(job)
        assert (end.turn, end.worker, end.lost_shifts) == (3, "b", 1)

    play(server, scene)


def test_a_killed_worker_is_replaced_and_what_its_session_spent_is_told(
    server: Server, tmp_path: Path
) -> None:
    log = tmp_path / "log"

    def worker(name: str, seconds: float) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.fleet.world.lone_worker", server.address]
        return subprocess.Popen(
            [*command, server.namespace, name, "2", str(seconds), str(log)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
        )

    async def scene(client: Client) -> None:
        job = await start(client, spec_of("killed"))

        async def has_beaten() -> bool | None:
            found = await job.describe()
            beats = found.raw_description.pending_activities
            told = beats[0].heartbeat_details.payloads if beats else []
            return True if told and b'"cost":0.25' in told[0].data else None

        await until(has_beaten)
        one.kill()
        two = worker("two", 0.1)
        try:
            end = await result(job)
        finally:
            two.kill()
            two.wait(30)
        assert (end.turn, end.lost_shifts) == (2, 1)

    one = worker("one", 600)
    try:
        play(server, scene)
    finally:
        one.kill()
        one.wait(30)
    assert log.read_text().splitlines() == [
        "one begins killed 0 0.0",
        "two begins killed 0 0.25",
        "two ends killed 0",
        "two begins killed 1 0.0",
        "two ends killed 1",
    ]


def test_a_worker_has_no_more_sessions_than_slots_and_all_jobs_get_their_turn(server: Server) -> None:
    running: Counter[str] = Counter()
    most = 0

    async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
        nonlocal most
        running["now"] += 1
        most = max(most, running["now"])
        await asyncio.sleep(0.2)
        running["now"] -= 1
        return end_of(order, of=3, worker="w1")

    async def scene(client: Client) -> None:
        async with working(client, run, slots=2, labels=("linux", "gpu")):
            labels: list[tuple[str, ...]] = [(), ("linux",), ("gpu", "linux")]
            jobs = [await start(client, spec_of(f"j{n}", labels=labels[n % 3])) for n in range(9)]
            for job in jobs:
                assert (await result(job)).turn == 3

    play(server, scene)
    assert most == 2


def test_a_busy_worker_is_left_for_another(server: Server) -> None:
    async def scene(client: Client) -> None:
        release = asyncio.Event()

        async def slow(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            await release.wait()
            return end_of(order, of=1, worker="a")

        async with working(client, slow, name="a", slots=1):
            first = await start(client, spec_of("first"))
            await reach(client, "first", Phase.RUNNING)
            async with working(client, instantly(2, "b"), name="b"):
                second = await start(client, spec_of("second"), JobProgress(turn=1, since=1.0, worker="a"))
                assert (await result(second)).worker == "b"
            release.set()
            await result(first)

    play(server, scene)


def test_pause_holds_a_job_between_shifts_and_notes_go_into_the_next_order(server: Server) -> None:
    async def scene(client: Client) -> None:
        begun, go = asyncio.Event(), asyncio.Event()
        orders: list[ShiftOrder] = []

        async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            orders.append(order)
            begun.set()
            await go.wait()
            return end_of(order, of=3, worker="w1", heard=len(order.notes))

        async with working(client, run):
            job = await start(client, spec_of("paused"))
            await asyncio.wait_for(begun.wait(), 30)
            await job.signal(names.PAUSE)
            await job.signal(names.STEER, "look at the tests")
            go.set()
            paused = await reach(client, "paused", Phase.PAUSED)
            assert (paused.turn, len(orders)) == (1, 1)
            await job.signal(names.UNPAUSE)
            end = await result(job)
        assert [[note.text for note in order.notes] for order in orders] == [[], ["look at the tests"], []]
        assert orders[1].waited > 0
        assert not end.is_paused

    play(server, scene)


def test_stop_in_two_steps(server: Server) -> None:
    async def scene(client: Client) -> None:
        steps_seen: list[str] = []
        begun = asyncio.Event()

        async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            begun.set()
            await stopping.requested()
            steps_seen.append("stop")
            if order.job.id == "now":
                await stopping.requested_now()
                steps_seen.append("now")
            return end_of(order, of=9, worker="w1", outcome="cancelled", exit_code=130)

        async with working(client, run):
            for name in ("later", "now"):
                begun.clear()
                job = await start(client, spec_of(name))
                await asyncio.wait_for(begun.wait(), 30)
                await job.cancel()
                if name == "now":
                    await job.signal(names.STOP_NOW)
                end = await result(job)
                assert (end.turn, end.last.outcome, end.last.exit_code) == (1, "cancelled", 130)
        assert steps_seen == ["stop", "stop", "now"]

    play(server, scene)


def test_stop_while_nothing_runs_ends_the_job_at_once(server: Server) -> None:
    async def waiting(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
        return end_of(order, of=9, worker="w1", want="wait", seconds=3600.0, reason="limit")

    async def scene(client: Client) -> None:
        async with working(client, waiting):
            job = await start(client, spec_of("waits"))
            queued = await start(client, spec_of("queued", labels=("nobody",)))
            waits = await reach(client, "waits", Phase.WAITING)
            assert waits.reason == "limit"
            assert waits.until > waits.since + 3000
            for each in (job, queued):
                await each.cancel()
                end = await result(each)
                assert (end.phase, end.last.outcome) == (Phase.ENDED, "cancelled")
            assert "TIMER_STARTED" in await kinds(job)

    play(server, scene)


def test_stop_while_it_asks_the_server_ends_it_as_any_stop(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: Errands, job: str) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Errands, "_look_at", never)

    async def scene(client: Client) -> None:
        async with working(client, instantly(1)):
            job = await start(client, spec_of("asks", needs=("other",)))

            async def is_asking() -> bool | None:
                found = await job.describe()
                return True if found.raw_description.pending_activities else None

            await until(is_asking)
            await job.cancel()
            end = await result(job)
            assert (end.phase, end.last.outcome, end.last.exit_code) == (Phase.ENDED, "cancelled", 130)

    play(server, scene)


def test_what_a_session_spent_that_was_lost_while_it_was_stopped_is_not_forgotten(
    server: Server, tmp_path: Path
) -> None:
    async def scene(client: Client) -> None:
        job = await start(client, spec_of("stopping"))

        async def has_beaten() -> bool | None:
            found = await job.describe()
            beats = found.raw_description.pending_activities
            told = beats[0].heartbeat_details.payloads if beats else []
            return True if told and b'"cost":0.25' in told[0].data else None

        await until(has_beaten)
        await job.cancel()

        async def is_stopping() -> bool | None:
            return True if (await progress_of(client, "stopping")).is_stopping else None

        await until(is_stopping)
        one.kill()
        async with working(client, instantly(1)):
            end = await result(job)
        assert (end.last.outcome, end.lost_cost, end.lost_shifts) == ("cancelled", 0.25, 1)

    command = [sys.executable, "-m", "tests.fleet.world.lone_worker", server.address, server.namespace]
    one = subprocess.Popen(
        [*command, "one", "2", "600", str(tmp_path / "log")], cwd=ROOT, stdin=subprocess.DEVNULL
    )
    try:
        play(server, scene)
    finally:
        one.kill()
        one.wait(30)


def test_a_pause_withdraws_an_order_that_nobody_has_begun(server: Server) -> None:
    async def scene(client: Client) -> None:
        async with working(client, instantly(2, "w1")):
            job = await start(client, spec_of("queued", labels=("gpu",)))
            await reach(client, "queued", Phase.QUEUED)
            await job.signal(names.PAUSE)
            await reach(client, "queued", Phase.PAUSED)
            async with working(client, instantly(2, "w2"), name="w2", labels=("gpu",)):
                await job.signal(names.UNPAUSE)
                assert (await result(job)).turn == 2
        assert (await kinds(job)).count("ACTIVITY_TASK_STARTED") == 2

    play(server, scene)


def test_a_session_whose_order_is_withdrawn_too_late_runs_to_its_end(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the word that it has begun were still on its way."""

    async def silent(self: Shifts) -> None: ...

    monkeypatch.setattr(Shifts, "_say_begun", silent)

    async def scene(client: Client) -> None:
        begun = asyncio.Event()
        heard: list[str] = []

        async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            begun.set()
            try:
                await asyncio.wait_for(stopping.requested(), 5 if order.turn == 0 else 60)
            except TimeoutError:
                return end_of(order, of=9, worker="w1")
            heard.append(f"stop in turn {order.turn}")
            return end_of(order, of=9, worker="w1", outcome="cancelled", exit_code=130)

        async with working(client, run):
            job = await start(client, spec_of("late"))
            await asyncio.wait_for(begun.wait(), 30)
            await job.signal(names.PAUSE)
            paused = await reach(client, "late", Phase.PAUSED)
            assert (paused.turn, heard) == (1, [])
            begun.clear()
            await job.signal(names.UNPAUSE)
            await asyncio.wait_for(begun.wait(), 30)
            await job.cancel()
            assert (await result(job)).last.outcome == "cancelled"
        assert heard == ["stop in turn 1"]

    play(server, scene)


def test_an_end_that_nobody_can_mean_does_not_stick(server: Server) -> None:
    async def wild(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
        return end_of(order, of=9, worker="w1", want="wait", seconds=1e300, reason="r" * 3_000_000)

    async def scene(client: Client) -> None:
        async with working(client, wild):
            job = await start(client, spec_of("wild", heartbeat=0.0))
            waits = await reach(client, "wild", Phase.WAITING)
            assert waits.until < waits.since + 400 * 86_400
            await job.cancel()
            assert (await result(job)).last.outcome == "cancelled"

    play(server, scene)


def test_a_wait_is_a_timer_and_counts_as_the_runs_time(server: Server) -> None:
    orders: list[ShiftOrder] = []

    async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
        orders.append(order)
        return end_of(order, of=2, worker="w1", **({} if order.turn else {"want": "wait", "seconds": 1.0}))

    async def scene(client: Client) -> None:
        async with working(client, run):
            job = await start(client, spec_of("timer"))
            await result(job)
        assert (await kinds(job)).count("TIMER_FIRED") == 1

    play(server, scene)
    assert 1.0 <= orders[1].waited < 10


def test_machine_faults_wait_for_another_try_and_mistakes_end_the_job(server: Server) -> None:
    async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
        if order.job.id == "mistake":
            raise UsageError("there is no such repository", hint="look at --repo")
        raise ServiceAway("the remote cannot be reached", hint="later")

    async def scene(client: Client) -> None:
        async with working(client, run):
            away = await start(client, spec_of("away"))
            mistake = await start(client, spec_of("mistake"))
            end = await result(mistake)
            assert (end.last.outcome, end.last.exit_code) == ("failed", 2)
            assert (end.last.reason, end.last.hint) == ("there is no such repository", "look at --repo")
            waiting = await reach(client, "away", Phase.WAITING)
            assert (waiting.reason, waiting.faults, waiting.worker) == ("the remote cannot be reached", 1, "")
            await away.cancel()
            await result(away)

    play(server, scene)


def test_a_job_waits_for_those_it_needs(server: Server) -> None:
    order_of_ends: list[str] = []

    async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
        order_of_ends.append(order.job.id)
        outcome = "failed" if order.job.id == "bad" and not order.resumes else "completed"
        return end_of(order, of=1, worker="w1", outcome=outcome, merged="c0ffee")

    async def scene(client: Client) -> None:
        async with working(client, run):
            last = await start(client, spec_of("last", task="{}", needs=("good", "bad")))
            await reach(client, "last", Phase.NEEDS)
            good = await start(client, spec_of("good", task="{}", feeds=("last",)))
            await result(good)
            bad = await start(client, spec_of("bad", task="{}", feeds=("last",)))
            failed = await result(bad)

            async def knows() -> bool | None:
                waiting = await progress_of(client, "last")
                return True if waiting.stuck == waiting.unmet == ("bad",) else None

            await until(knows)
            retried = await start(client, spec_of("bad", task="{}", feeds=("last",)), steps.again(failed))
            assert (await result(retried)).turn == 2
            assert (await result(last)).last.outcome == "completed"
            late = await start(client, spec_of("late", task="{}", needs=("good",)))
            assert (await result(late)).last.outcome == "completed"

    play(server, scene)
    assert order_of_ends == ["good", "bad", "bad", "last", "late"]


def test_one_job_at_a_time_merges(server: Server) -> None:
    merging: list[str] = []
    most = 0

    async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
        nonlocal most
        if not order.may_merge:
            return end_of(order, of=9, worker="w1", want="merge")
        merging.append(order.job.id)
        most = max(most, len(merging))
        await asyncio.sleep(0.02)
        merging.remove(order.job.id)
        return end_of(order, of=2, worker="w1", merged="c0ffee")

    async def scene(client: Client) -> None:
        async with working(client, run, slots=10):
            jobs = [await start(client, spec_of(f"m{n}", task="{}")) for n in range(10)]
            for job in jobs:
                assert (await result(job)).last.merged == "c0ffee"
            queue = client.get_workflow_handle(names.merge_queue_id(spec_of("m0")))
            await asyncio.wait_for(queue.result(), 30)

    play(server, scene)
    assert most == 1


def test_whoever_is_gone_does_not_hold_up_the_line(server: Server) -> None:
    async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
        if not order.may_merge:
            return end_of(order, of=9, worker="w1", want="merge")
        if order.job.id == "stuck":
            await stopping.requested()
            return end_of(order, of=9, worker="w1", outcome="cancelled")
        return end_of(order, of=2, worker="w1", merged="c0ffee")

    async def scene(client: Client) -> None:
        async with working(client, run, slots=4):
            stuck = await start(client, spec_of("stuck", task="{}"))
            await until(lambda: _may_merge(client, "stuck"))
            queued = await start(client, spec_of("queued", task="{}"))
            leaver = await start(client, spec_of("leaver", task="{}"))
            for name in ("queued", "leaver"):
                await reach(client, name, Phase.MERGING)
            await leaver.cancel()
            assert (await result(leaver)).last.outcome == "cancelled"
            await stuck.cancel()
            await result(stuck)
            assert (await result(queued)).last.merged == "c0ffee"

    play(server, scene)


def test_a_job_that_is_paused_or_that_no_worker_takes_does_not_hold_the_turn(server: Server) -> None:
    merging = JobProgress(turn=1, since=1.0, worker="w1", last=ShiftEnd(turn=1, want="merge"))

    async def scene(client: Client) -> None:
        begun = asyncio.Event()

        async def leaves(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            begun.set()
            await asyncio.Event().wait()  # until its worker leaves
            raise AssertionError

        async def merges(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            if not order.may_merge:
                return end_of(order, of=9, worker="w2", want="merge")
            return end_of(order, of=1, worker="w2", merged="c0ffee")

        async with working(client, leaves):
            # As it is after its history became too long while it was in the line.
            asked = replace(merging, merge_turn=MergeTurn.ASKED)
            paused = await start(client, spec_of("paused", task="{}"), asked)
            await asyncio.wait_for(begun.wait(), 30)
            await paused.signal(names.PAUSE)
        async with working(client, merges, name="w2"):
            await reach(client, "paused", Phase.PAUSED)
            queued = await start(client, spec_of("nobody", task="{}", labels=("gpu",)), merging)
            looking = await reach(client, "nobody", Phase.QUEUED)
            assert not looking.may_merge
            other = await start(client, spec_of("other", task="{}"), merging)
            assert (await asyncio.wait_for(result(other), 30)).last.merged == "c0ffee"
            await paused.signal(names.UNPAUSE)
            assert (await result(paused)).last.merged == "c0ffee"
            await queued.cancel()
            await result(queued)

    play(server, scene)


def test_a_merge_finds_its_worker_busy_and_is_done_all_the_same(server: Server) -> None:
    merging = JobProgress(turn=1, since=1.0, worker="w1", last=ShiftEnd(turn=1, want="merge"))

    async def scene(client: Client) -> None:
        release = asyncio.Event()

        async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            if order.job.id == "session":
                await release.wait()
                return end_of(order, of=1, worker="w1")
            assert order.may_merge
            return end_of(order, of=1, worker="w1", merged="c0ffee")

        async with working(client, run, slots=1):
            session = await start(client, spec_of("session"))
            await reach(client, "session", Phase.RUNNING)
            merge = await start(client, spec_of("merge", task="{}"), merging)
            assert (await result(merge)).last.merged == "c0ffee"
            release.set()
            await result(session)

    play(server, scene)


def test_a_retry_does_not_join_the_session_that_was_stopped(server: Server) -> None:
    async def scene(client: Client) -> None:
        begun = asyncio.Event()
        ended: list[str] = []

        async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            if order.retry:
                return end_of(order, of=2, worker="w1", retry=order.retry)
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("first")
            raise AssertionError

        async with working(client, run):
            first = await start(client, spec_of("again"), JobProgress(turn=1, since=1.0))
            await asyncio.wait_for(begun.wait(), 30)
            stopped = steps.after_stop(await progress_of(client, "again"), 5.0)
            await first.terminate()
            retried = await start(client, spec_of("again"), steps.again(stopped))
            end = await result(retried)
        assert (end.last.outcome, end.retries, ended) == ("completed", 1, ["first"])

    play(server, scene)


async def _may_merge(client: Client, job: str) -> bool | None:
    return True if (await progress_of(client, job)).may_merge else None


def test_the_ledger_gives_so_many_places_and_no_more_money(server: Server) -> None:
    async def scene(client: Client) -> None:
        async with working(client, instantly(1)):
            ledger = await client.start_workflow(
                names.LEDGER, LedgerState(), id=names.LEDGER_ID, task_queue=names.WORKFLOW_QUEUE
            )
            limits = FleetLimits(sessions=(("claude", 2),), max_cost=1.0)
            await ledger.execute_update(names.SET_LIMITS, limits)

            async def enter(job: str, cost: float = 0.0) -> EnterReply:
                request = EnterRequest(job=job, account="claude", cost=cost)
                reply: EnterReply = await ledger.execute_update(names.ENTER, request, result_type=EnterReply)
                return reply

            replies = await asyncio.gather(*(enter(f"j{n}") for n in range(6)))
            assert sum(not reply.refusal for reply in replies) == 2
            inside = [f"j{n}" for n, reply in enumerate(replies) if not reply.refusal]
            await ledger.execute_update(names.LEAVE, LeaveRequest(job=inside[0], cost=1.5))
            refused = await enter("next")
            assert refused.is_spent
            found = await ledger.query(names.SHOW_LIMITS, result_type=FleetLimits)
            assert found == replace(limits, spent=1.5, in_use=(("claude", 1),))
            shown = await (await ledger.describe()).memo_value(names.LIMITS, type_hint=FleetLimits)
            assert shown == found
            await ledger.terminate()

    play(server, scene)


def test_a_long_job_continues_in_a_new_history(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here every 200 events: 2,000 take a minute."""
    monkeypatch.setattr(job_workflow, "MANY_EVENTS", 200)

    async def scene(client: Client) -> None:
        async with working(client, instantly(100, "w1")):
            job = await start(client, spec_of("long"))
            await job.signal(names.STEER, "a note that is never heard")
            end = await result(job)
            assert (end.turn, end.last.iteration) == (100, 100)
            assert [note.text for note in end.notes] == ["a note that is never heard"]
            runs = [each async for each in client.list_workflows(f"WorkflowId = '{job.id}'")]
            assert len(runs) == 4
            newest = client.get_workflow_handle(job.id, result_type=JobProgress)
            assert len(await kinds(newest)) < 220

    play(server, scene)


def test_limits_are_shown_by_a_ledger_with_a_new_history(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_workflow, "MANY_EVENTS", 20)

    async def scene(client: Client) -> None:
        async with working(client, instantly(1)):
            ledger = await client.start_workflow(
                names.LEDGER, LedgerState(), id=names.LEDGER_ID, task_queue=names.WORKFLOW_QUEUE
            )
            limits = FleetLimits(sessions=(("claude", 2),), max_cost=1.0)
            newest = client.get_workflow_handle(ledger.id)
            for _ in range(30):
                await newest.execute_update(names.SET_LIMITS, limits)
                if (await newest.describe()).run_id != ledger.first_execution_run_id:
                    break
            found = await newest.describe()
            assert found.run_id != ledger.first_execution_run_id
            assert await found.memo_value(names.LIMITS, type_hint=FleetLimits) == limits
            await newest.terminate()

    play(server, scene)


def test_a_session_outlives_the_server_and_is_joined_not_begun_again(own_server: Server) -> None:
    async def scene(client: Client) -> None:
        begun, finish = asyncio.Event(), asyncio.Event()
        turns: list[int] = []

        async def run(order: ShiftOrder, beat: Say, stopping: Stopping) -> ShiftEnd:
            turns.append(order.turn)
            begun.set()
            await finish.wait()
            return end_of(order, of=2, worker="w1")

        async with working(client, run):
            job = await start(client, spec_of("outlives"))
            await asyncio.wait_for(begun.wait(), 30)
            await asyncio.to_thread(own_server.kill)
            await asyncio.sleep(5)  # longer than the heartbeat timeout: this is what the test is about
            own_server.launch()

            async def progress() -> JobProgress | None:
                try:
                    return await progress_of(client, "outlives")
                except Exception:
                    return None

            async def is_lost() -> bool | None:
                now = await progress()
                return True if now is not None and now.lost_shifts else None

            await until(progress)
            # A sign of life may reach the server before it notices that it has missed some; then nothing was lost.
            with suppress(TimeoutError):
                async with asyncio.timeout(15):
                    await until(is_lost)
            finish.set()
            end = await result(job)
        assert end.turn == 2
        assert turns == [0, 1]

    play(own_server, scene)
