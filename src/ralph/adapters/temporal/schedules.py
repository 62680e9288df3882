"""Jobs that the server submits by itself, at the times of cron."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleListDescription,
    SchedulePolicy,
    ScheduleSpec,
)
from temporalio.common import Priority
from temporalio.service import RPCError

from ralph.adapters.temporal.codec import Sealed
from ralph.adapters.temporal.executions import decode_field, memo_of
from ralph.adapters.temporal.names import JOB, SPEC, WORKFLOW_QUEUE, fired_name, workflow_id
from ralph.adapters.temporal.problems import asked, is_missing
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.job_names import LONGEST, refusal_of_name
from ralph.domain.fleet.progress import JobProgress
from ralph.domain.fleet.queues import FLEET
from ralph.domain.fleet.views import ScheduleView
from ralph.errors import UsageError
from ralph.values import replace

_PREFIX = f"{FLEET}-schedule-"
_CRON = "cron"  # in the memo: the server keeps the times, not the words
_CATCH_UP = timedelta(days=1)
"""A server that was away longer does not make up for it."""


async def add_schedule(client: Client, schedule_id: str, job: JobSpec, cron: str) -> None:
    """Each firing is a job of its own, called after the time. If the one before has not ended, it is skipped."""
    refusal = refusal_of_name(fired_name(schedule_id))
    if refusal is not None:
        longest = len(schedule_id) - len(fired_name(schedule_id)) + LONGEST
        msg = f"the name of a schedule is at most {longest} characters long: its jobs are called after the time, too"
        raise UsageError(msg if len(schedule_id) > longest else refusal.message, hint=refusal.hint)
    fired = replace(job, id="")
    memo = memo_of(fired, JobProgress())
    action = ScheduleActionStartWorkflow(
        JOB,
        args=[fired, JobProgress()],
        id=workflow_id(schedule_id),
        task_queue=WORKFLOW_QUEUE,
        memo=memo,
        priority=Priority(priority_key=job.priority),
    )
    schedule = Schedule(
        action=action,
        spec=ScheduleSpec(cron_expressions=[cron]),
        policy=SchedulePolicy(catchup_window=_CATCH_UP),
    )
    async with asked(client):
        try:
            await client.create_schedule(
                _PREFIX + schedule_id, schedule, memo={SPEC: memo[SPEC], _CRON: cron}
            )
        except ScheduleAlreadyRunningError:
            msg = f"there is a schedule {schedule_id!r} already"
            raise UsageError(msg, hint=f"remove it first: `ralph fleet schedule rm {schedule_id}`") from None


async def list_schedules(client: Client) -> Sequence[ScheduleView]:
    async with asked(client):
        found = [each async for each in await client.list_schedules() if each.id.startswith(_PREFIX)]
    return sorted([await _view_of(each) for each in found], key=lambda view: view.id)


async def remove_schedule(client: Client, schedule_id: str) -> None:
    """The jobs that it has started go on."""
    async with asked(client):
        try:
            await client.get_schedule_handle(_PREFIX + schedule_id).delete()
        except RPCError as problem:
            if not is_missing(problem):
                raise
            msg = f"there is no schedule {schedule_id!r}"
            raise UsageError(msg, hint="`ralph fleet schedule list` shows what is there") from None


async def _view_of(found: ScheduleListDescription) -> ScheduleView:
    fields, converter = found.raw_entry.memo.fields, found.data_converter
    note = (found.schedule.state.note if found.schedule else None) or ""
    spec, cron = JobSpec(id="", repository=""), ""
    try:
        spec = await decode_field(converter, fields, SPEC, JobSpec) or spec
        cron = await decode_field(converter, fields, _CRON, str) or ""
    except Sealed as sealed:
        note = sealed.message
    times = found.info.next_action_times if found.info else []
    return ScheduleView(
        id=found.id.removeprefix(_PREFIX),
        spec=spec,
        cron=cron,
        is_paused=bool(found.schedule and found.schedule.state.paused),
        next_at=times[0].timestamp() if times else None,
        note=note,
    )
