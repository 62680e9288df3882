"""What a person can see of jobs, and ask of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ralph.domain.fleet.board import (
    JobAsk,
    JobState,
    describe_job,
    iterations_of,
    no_worker,
    reason_of,
    state_of,
    worker_of,
)
from ralph.domain.fleet.job_names import jobs_meant
from ralph.domain.text.safe_text import clean_line, is_text
from ralph.errors import ServiceAway, UsageError

if TYPE_CHECKING:
    from ralph.domain.fleet.shift import Beat
    from ralph.domain.fleet.views import JobView
    from ralph.engine.fleet.ports import Fleet
    from ralph.operations.fleet.desk import FleetDesk

EVERY = 1.0
KNOWN = 1_000
"""Jobs among which a part of a name is looked for."""
MANY = 5


def find_job(desk: FleetDesk, name: str) -> JobView:
    """By its name, the beginning or end of it, or `last`. Raises UsageError if there is none, or more than one."""
    return desk.ask(lambda fleet: _find(fleet, name))


async def _find(fleet: Fleet, given: str) -> JobView:
    try:
        return await fleet.job(given)
    except UsageError:
        jobs = sorted(await fleet.jobs(limit=KNOWN), key=lambda job: -job.started_at)
        meant = jobs_meant(given, [job.spec.id for job in jobs])
        if not meant:
            raise
    if len(meant) > 1:
        some = ", ".join(meant[:MANY]) + (", …" if len(meant) > MANY else "")
        message = f"{given!r} could be any of {some}"
        raise UsageError(message, hint="give more of the name")
    return await fleet.job(meant[0])


def missing_workers(desk: FleetDesk, jobs: Sequence[JobView]) -> list[str]:
    """What queued jobs wait for in vain, in words."""
    wanted = sorted({job.spec.labels for job in jobs if state_of(job) is JobState.QUEUED})

    async def look(fleet: Fleet) -> list[str]:
        return [no_worker(labels) for labels in wanted if not await fleet.workers(labels)]

    return desk.ask(look)


def newest_beat(desk: FleetDesk, name: str) -> Beat | None:
    """The newest sign of life of a session under way."""
    return desk.ask(lambda fleet: fleet.beat(name))


def ask_of_job(desk: FleetDesk, name: str, asked: JobAsk, text: str = "") -> None:
    """Raises UsageError if it makes no sense."""
    desk.ask(lambda fleet: send_request(fleet, name, asked, text))


async def send_request(fleet: Fleet, name: str, asked: JobAsk, text: str = "") -> None:
    """Raises UsageError if it makes no sense."""
    match asked:
        case JobAsk.STEER if not (text.strip() and is_text(text)):
            message = f"the note is {'not UTF-8 text' if text.strip() else 'empty'}"
            raise UsageError(message, hint="say what the agent should know")
        case JobAsk.STEER:
            await fleet.steer(name, text)
        case JobAsk.PAUSE:
            await fleet.pause(name)
        case JobAsk.UNPAUSE:
            await fleet.unpause(name)
        case JobAsk.STOP | JobAsk.STOP_NOW:
            await fleet.stop(name, now=asked is JobAsk.STOP_NOW)
        case JobAsk.RETRY:
            await fleet.retry(name)


def follow_until_ended(desk: FleetDesk, names: Sequence[str], *, say: Callable[[str], None]) -> list[JobView]:
    """Says in a line whatever changes. A server that is away for a while is told once, and waited for."""
    shown: dict[str, str] = {}
    ended: dict[str, JobView] = {}
    is_away = False
    while True:
        try:
            for name in names:
                if name not in ended:
                    job = find_job(desk, name)
                    if shown.get(name) != (line := line_of(job)):
                        shown[name] = line
                        say(line)
                    if not job.is_open:
                        ended[name] = job
            is_away = False
        except ServiceAway as error:
            if not is_away:
                say(f"{error.message}; still waiting")
            is_away = True
        if len(ended) == len(names):
            return [ended[name] for name in names]
        time.sleep(EVERY)


def line_of(job: JobView) -> str:
    """``shop-1: running, iteration 2/10, on mill``."""
    facts = [describe_job(job).words]
    if job.progress.last.iteration:
        facts.append(f"iteration {iterations_of(job)}")
    if job.is_open and worker_of(job):
        facts.append(f"on {worker_of(job)}")
    if reason := reason_of(job):
        facts.append(reason)
    return clean_line(f"{job.spec.id}: {', '.join(facts)}")
