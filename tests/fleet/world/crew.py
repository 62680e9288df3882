"""Workers without git or agents: the server, the workflows and the worker are real, a shift is a line of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDReusePolicy

from ralph.adapters.temporal import names
from ralph.adapters.temporal.client import TemporalFleet
from ralph.adapters.temporal.connection import connect
from ralph.adapters.temporal.worker import run_worker
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import JobProgress, Phase
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.fleet.views import JobView
from ralph.engine.fleet.ports import RunShift, Stopping
from tests.fleet.world.server import Server

PATIENCE = 60.0

T = TypeVar("T")


def end_of(order: ShiftOrder, *, of: int, worker: str = "", **more: object) -> ShiftEnd:
    """The end of a shift of a job with so many iterations."""
    turn = order.turn + 1
    outcome = "completed" if turn >= of else ""
    end = ShiftEnd(
        turn=turn,
        worker=worker,
        outcome=outcome,
        want="" if outcome else "session",
        iteration=turn,
        decision="accept" if outcome else "continue",
        exit_code=0 if outcome else None,
    )
    return replace(end, **more)  # type: ignore[arg-type]


def instantly(of: int, worker: str = "") -> RunShift:
    async def run(order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping) -> ShiftEnd:
        return end_of(order, of=of, worker=worker)

    return run


@asynccontextmanager
async def working(
    client: Client, run_shift: RunShift, *, name: str = "w1", slots: int = 2, labels: Sequence[str] = ()
) -> AsyncIterator[None]:
    draining, leaving = asyncio.Event(), asyncio.Event()
    # Of its own: two workers may not take from one queue over the same connection.
    config = client.service_client.config
    own = await Client.connect(config.target_host, namespace=client.namespace, runtime=config.runtime)
    worker = asyncio.create_task(
        run_worker(
            own,
            name=name,
            slots=slots,
            labels=labels,
            run_shift=run_shift,
            draining=draining,
            leaving=leaving,
        )
    )
    try:
        yield
    finally:
        draining.set()
        leaving.set()
        await asyncio.wait_for(worker, PATIENCE)


@asynccontextmanager
async def at_work(
    server: Server,
    run_shift: RunShift,
    *,
    name: str = "w1",
    labels: Sequence[str] = (),
    **environment: str,
) -> AsyncIterator[None]:
    draining, leaving = asyncio.Event(), asyncio.Event()
    client = await connect({**server.environment, **environment})
    worker = asyncio.create_task(
        run_worker(
            client,
            name=name,
            slots=2,
            labels=labels,
            run_shift=run_shift,
            draining=draining,
            leaving=leaving,
        )
    )
    try:
        yield
    finally:
        draining.set()
        leaving.set()
        await asyncio.wait_for(worker, PATIENCE)


async def ended(fleet: TemporalFleet, name: str) -> JobView:
    async def look() -> JobView | None:
        view = await fleet.job(name)
        return None if view.is_open else view

    return await until(look)


def spec_of(job: str, **more: object) -> JobSpec:
    spec = JobSpec(
        id=job, repository="https://example.com/r.git", base="main", command=("run",), heartbeat=3.0
    )
    return replace(spec, **more)  # type: ignore[arg-type]


async def start(
    client: Client, spec: JobSpec, progress: JobProgress | None = None
) -> WorkflowHandle[object, JobProgress]:
    progress = progress or JobProgress()
    handle: WorkflowHandle[object, JobProgress] = await client.start_workflow(
        names.JOB,
        args=[spec, progress],
        id=names.workflow_id(spec.id),
        task_queue=names.WORKFLOW_QUEUE,
        memo={names.SPEC: spec, names.PROGRESS: progress},
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        result_type=JobProgress,
    )
    return handle


async def result(handle: WorkflowHandle[object, JobProgress]) -> JobProgress:
    return await asyncio.wait_for(handle.result(), PATIENCE)


async def progress_of(client: Client, job: str) -> JobProgress:
    found = await client.get_workflow_handle(names.workflow_id(job)).describe()
    progress: JobProgress = await found.memo_value(names.PROGRESS, type_hint=JobProgress)
    return progress


async def reach(client: Client, job: str, phase: Phase) -> JobProgress:
    async def look() -> JobProgress | None:
        progress = await progress_of(client, job)
        return progress if progress.phase is phase else None

    return await until(look)


async def until(look: Callable[[], Awaitable[T | None]]) -> T:
    async with asyncio.timeout(PATIENCE):
        while (found := await look()) is None:  # noqa: ASYNC110  -- the server says nothing by itself
            await asyncio.sleep(0.05)
        return found
