"""A job as a workflow: it does what ``domain/fleet/steps`` says, and decides nothing.

It is replayed on whichever worker continues it: no clock but the workflow's own, no chance, no file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    FailureError,
    TimeoutType,
    is_cancelled_exception,
)
from temporalio.exceptions import TimeoutError as ServerTimeout

from ralph.values import replace

with workflow.unsafe.imports_passed_through():
    from ralph.adapters.temporal import names
    from ralph.adapters.temporal.details import read_beat, read_fault
    from ralph.domain.fleet import steps
    from ralph.domain.fleet.job import JobSpec
    from ralph.domain.fleet.progress import JobProgress, MergeTurn, Phase
    from ralph.domain.fleet.shift import Beat, ShiftEnd, sane

LONG = timedelta(days=365)
"""A session may take as long as it likes; whether it is alive is what heartbeats say."""
MANY_EVENTS = 2_000
LOOK_EVERY = 600.0
"""Seconds: so often a job makes sure that what it waits for can still come."""
_ASK = timedelta(seconds=30)


@workflow.defn(name=names.JOB)
class RalphJob:
    @workflow.init
    def __init__(self, spec: JobSpec, progress: JobProgress) -> None:
        if not spec.id:
            spec = replace(spec, id=names.job_of(workflow.info().workflow_id), submitted_at=workflow.time())
            workflow.upsert_memo({names.SPEC: spec})
        self._spec = spec
        self._progress = steps.begin(spec, progress, workflow.time())
        self._shown: JobProgress | None = None

    @workflow.run
    async def run(self, spec: JobSpec, progress: JobProgress) -> JobProgress:
        while not isinstance(step := self._next_step(), steps.Finish):
            if steps.leaves_line(self._progress, step):
                await self._leave_line()
                continue  # something may have happened meanwhile
            if is_history_long() and not self._progress.is_stopping:
                # What was shown is shown meanwhile.
                workflow.continue_as_new(args=[self._spec, self._progress], memo=workflow.memo())
            self._progress = steps.entered(self._progress, step, workflow.time())
            self._show()
            try:
                await self._do(step)
            except (asyncio.CancelledError, ActivityError) as error:
                if not is_cancelled_exception(error):
                    raise
                self._begin_stop()
        if steps.leaves_line(self._progress, step):
            await self._leave_line()
        self._show()
        await self._tell_others()
        return self._progress

    # --- people and other jobs -----------------------------------------------------------------------------

    @workflow.signal(name=names.STEER)
    def steer(self, text: str) -> None:
        self._progress = steps.steered(self._progress, text)
        self._show()

    @workflow.signal(name=names.PAUSE)
    def pause(self) -> None:
        self._progress = replace(self._progress, is_paused=True)
        self._show()

    @workflow.signal(name=names.UNPAUSE)
    def unpause(self) -> None:
        self._progress = replace(self._progress, is_paused=False)
        self._show()

    @workflow.signal(name=names.STOP_NOW)
    def stop_now(self) -> None:
        self._progress = replace(self._progress, stop_now=True)
        self._show()

    @workflow.signal(name=names.NEEDED_ENDED)
    def needed_ended(self, job: str, is_merged: bool) -> None:
        self._progress = steps.after_needed(self._progress, job, is_merged=is_merged)
        self._show()

    @workflow.signal(name=names.MERGE_TURN)
    def merge_turn(self) -> None:
        # A turn that comes after the job has left the line is given back by what was sent when it left.
        if self._progress.merge_turn is MergeTurn.ASKED:
            self._progress = replace(self._progress, merge_turn=MergeTurn.HERE)

    @workflow.signal(name=names.BEGUN)
    def begun(self, worker: str) -> None:
        phase = Phase.RUNNING if self._progress.phase is Phase.QUEUED else self._progress.phase
        self._progress = replace(self._progress, worker=worker, phase=phase, since=workflow.time())
        self._show()

    # --- steps ---------------------------------------------------------------------------------------------

    def _next_step(self) -> steps.Step:
        now = workflow.time()
        if self._progress.is_stopping and self._progress.phase is not Phase.ENDED:
            self._progress = steps.after_stop(self._progress, now)
        return steps.next_step(self._spec, self._progress, now)

    async def _do(self, step: steps.Step) -> None:
        match step:
            case steps.DoShift():
                await self._do_shift(step)
            case steps.AwaitNeeds():
                await self._await_needs()
            case steps.AwaitTurn():
                await self._await_turn()
            case steps.AwaitUnpause():
                await workflow.wait_condition(lambda: not self._progress.is_paused)
            case steps.Sleep(seconds):
                await _wait(lambda: self._progress.is_paused, seconds)
            case steps.Finish():
                pass

    async def _do_shift(self, step: steps.DoShift) -> None:
        patience = None if step.patience is None else timedelta(seconds=step.patience)
        shift = workflow.start_activity(
            names.SHIFT,
            steps.order_of(self._spec, self._progress),
            result_type=ShiftEnd,
            task_queue=step.queue,
            schedule_to_start_timeout=patience,
            start_to_close_timeout=LONG,
            heartbeat_timeout=timedelta(seconds=steps.heartbeat_of(self._spec)),
            # What a lost one means is for the rules to say.
            retry_policy=RetryPolicy(maximum_attempts=1),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            priority=Priority(priority_key=self._spec.priority),
        )
        try:
            await workflow.wait_condition(lambda: shift.done() or steps.withdraws_order(self._progress))
            if not shift.done():
                # One that has begun meanwhile goes on: its worker sees that nobody said stop.
                shift.cancel()
                await workflow.wait_condition(shift.done)
        except asyncio.CancelledError:
            self._begin_stop()
            self._show()
            shift.cancel()
            await workflow.wait_condition(shift.done)
        now = workflow.time()
        try:
            self._progress = steps.after_shift(self._progress, sane(shift.result()), now)
        except asyncio.CancelledError:
            pass  # no worker had begun it
        except ActivityError as error:
            if not is_cancelled_exception(error):
                self._progress = self._after_error(error.cause, now)

    def _after_error(self, cause: BaseException | None, now: float) -> JobProgress:
        if isinstance(cause, ServerTimeout) and cause.type is TimeoutType.SCHEDULE_TO_START:
            return steps.after_nobody(self._progress)
        if isinstance(cause, ApplicationError):
            kind, message = cause.type or "error", cause.message
            return steps.after_fault(
                self._progress, read_fault(cause.details, kind=kind, message=message), now
            )
        beat = read_beat(cause.last_heartbeat_details) if isinstance(cause, ServerTimeout) else Beat()
        workflow.metric_meter().create_counter("ralph_lost_shifts").add(1)
        return steps.after_loss(self._progress, beat, now)

    async def _await_needs(self) -> None:
        unmet = self._progress.unmet
        found = await workflow.execute_activity(
            names.LOOK_AT_JOBS,
            list(unmet),
            result_type=list[str],
            task_queue=names.WORKFLOW_QUEUE,
            start_to_close_timeout=_ASK,
        )
        self._progress = steps.after_look(self._progress, dict(zip(unmet, found, strict=True)))
        self._show()
        unmet = self._progress.unmet
        if unmet:
            await _wait(lambda: self._progress.unmet != unmet, LOOK_EVERY)

    async def _await_turn(self) -> None:
        await workflow.execute_activity(
            names.ASK_FOR_TURN,
            args=[names.merge_queue_id(self._spec), self._spec.id],
            task_queue=names.WORKFLOW_QUEUE,
            start_to_close_timeout=_ASK,
        )
        # A job that is paused leaves the line.
        await _wait(lambda: self._progress.may_merge or self._progress.is_paused, LOOK_EVERY)

    async def _leave_line(self) -> None:
        self._progress = replace(self._progress, merge_turn=MergeTurn.NONE)
        await self._signal(names.merge_queue_id(self._spec), names.LEFT, self._spec.id)

    async def _tell_others(self) -> None:
        is_merged = steps.is_merged(self._spec, self._progress)
        for job in self._spec.feeds:
            await self._signal(names.workflow_id(job), names.NEEDED_ENDED, self._spec.id, is_merged)

    async def _signal(self, workflow_id: str, signal: str, *args: object) -> None:
        """One that is not there needs no word."""
        other = workflow.get_external_workflow_handle(workflow_id)
        for _ in range(2):  # again, if a stop came in between
            try:
                await other.signal(signal, args=args)
            except asyncio.CancelledError:
                self._begin_stop()
                continue
            except FailureError:
                pass
            return

    def _begin_stop(self) -> None:
        """There is one stop; whatever else cancels is this process, which lets go of the workflow."""
        if self._progress.is_stopping or workflow.cancellation_reason() is None:
            raise asyncio.CancelledError
        self._progress = replace(self._progress, is_stopping=True)

    def _show(self) -> None:
        """Where it stands, for everyone who lists jobs."""
        if self._progress != self._shown:
            self._shown = self._progress
            workflow.upsert_memo({names.PROGRESS: self._progress})


def is_history_long() -> bool:
    info = workflow.info()
    return info.is_continue_as_new_suggested() or info.get_current_history_length() > MANY_EVENTS


async def _wait(condition: Callable[[], bool], seconds: float) -> None:
    with suppress(TimeoutError):
        await workflow.wait_condition(condition, timeout=seconds)
