"""A worker: asks the server for shifts under its labels and its own name, and for steps of workflows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.runtime import Runtime
from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    PollerBehaviorSimpleMaximum,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkerTuner,
)

from ralph.adapters.temporal import names
from ralph.adapters.temporal.errands import Errands
from ralph.adapters.temporal.job_workflow import RalphJob
from ralph.adapters.temporal.ledger_workflow import RalphLedger
from ralph.adapters.temporal.merge_workflow import RalphMergeQueue
from ralph.adapters.temporal.meters import Meters
from ralph.adapters.temporal.places import Places
from ralph.adapters.temporal.shifts import BEAT_EVERY, Shifts
from ralph.domain.fleet.queues import FLEET, label_queues, worker_queue
from ralph.engine.fleet.ports import RunShift

WORKFLOWS = (RalphJob, RalphMergeQueue, RalphLedger)
STEPS_AT_ONCE = 8
"""Of workflows; each takes a millisecond."""
CACHED = 2_000
"""Workflows that are kept in memory; any other is replayed from its history when something happens to it."""
_SETTLE = 0.02
"""Seconds that a queue's next poll waits, so that the shift which the last one brought has taken its place."""
_LOOK_EVERY = 0.5
_FOREVER = timedelta(days=365)
"""How long shifts go on is for ``leaving`` to say, not for the library."""
_GOODBYE = 20.0
"""Seconds for the last words to a server that may be away."""


async def run_worker(
    client: Client,
    *,
    name: str,
    slots: int,
    labels: Sequence[str],
    run_shift: RunShift,
    draining: asyncio.Event,
    leaving: asyncio.Event,
    version: str = "",
) -> None:
    """Until ``draining``, and then until the shifts under way have ended; ``leaving`` ends them: others begin them again.

    A shift is ended by cancelling ``run_shift``: what it did then does not count.
    """
    places = Places(slots)
    openings = _Openings(places)
    runtime = client.service_client.config.runtime or Runtime.default()
    shifts = Shifts(
        client,
        worker=name,
        places=places,
        run_shift=run_shift,
        meters=Meters(runtime.metric_meter),
        on_change=openings.look,
    )
    version = version or FLEET

    def take_shifts(queue: str, slots: CustomSlotSupplier | FixedSizeSlotSupplier) -> Worker:
        unused = FixedSizeSlotSupplier(1)
        return Worker(
            client,
            task_queue=queue,
            activities=[shifts.shift],
            identity=name,
            build_id=version,
            tuner=WorkerTuner.create_composite(
                workflow_supplier=unused,
                activity_supplier=slots,
                local_activity_supplier=unused,
                nexus_supplier=unused,
            ),
            activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
            max_heartbeat_throttle_interval=timedelta(seconds=BEAT_EVERY),
            graceful_shutdown_timeout=_FOREVER,
        )

    with ThreadPoolExecutor(STEPS_AT_ONCE, thread_name_prefix="workflows") as threads:
        workers = [
            _take_workflows(client, name=name, version=version, threads=threads),
            # Its own queue: a shift that finds no place is told so at once, so that it can go elsewhere.
            take_shifts(worker_queue(name), FixedSizeSlotSupplier(2 * slots + 2)),
            *(take_shifts(queue, openings) for queue in label_queues(labels)),
        ]
        running = [asyncio.create_task(worker.run()) for worker in workers]
        try:
            await _first([*running, asyncio.create_task(draining.wait())])
            places.is_closed = True
            ends = [asyncio.create_task(worker.shutdown()) for worker in workers]
            left = asyncio.create_task(leaving.wait())
            await _first([asyncio.gather(*ends), left])
        finally:
            shifts.hand_over()
            await asyncio.wait(running, timeout=_GOODBYE)


def _take_workflows(client: Client, *, name: str, version: str, threads: ThreadPoolExecutor) -> Worker:
    errands = Errands(client)
    return Worker(
        client,
        task_queue=names.WORKFLOW_QUEUE,
        workflows=WORKFLOWS,
        activities=[errands.ask_for_turn, errands.look_at_jobs],
        identity=name,
        build_id=version,
        # A sandbox would import all that workflows import again for each of them. Recorded histories are replayed in
        # the tests instead.
        workflow_runner=UnsandboxedWorkflowRunner(),
        workflow_task_executor=threads,
        max_concurrent_workflow_tasks=STEPS_AT_ONCE,
        max_concurrent_activities=STEPS_AT_ONCE,
        max_cached_workflows=CACHED,
        # A worker that hangs, or is cut off, still gets what these ask for, and each such step takes 10 seconds to come back.
        workflow_task_poller_behavior=PollerBehaviorSimpleMaximum(2),
        activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
        # A worker that is gone still has the next steps of its workflows: so long they wait for it. The usual is 10.
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=3),
        disable_eager_activity_execution=True,
    )


async def _first(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Until one is done; what it raises is raised."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


class _Openings(CustomSlotSupplier):
    """The queues that all workers share are asked only while there is a place.

    The library reserves before it asks, so reserving takes no place: a queue where nothing waits would hold it.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._changed = asyncio.Event()

    def look(self) -> None:
        self._changed.set()

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        await asyncio.sleep(_SETTLE)
        while not self._places.has_free(time.monotonic()):
            self._changed.clear()
            with suppress(TimeoutError):  # places that were kept become free without a word
                await asyncio.wait_for(self._changed.wait(), _LOOK_EVERY)
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None: ...

    def release_slot(self, ctx: SlotReleaseContext) -> None: ...
