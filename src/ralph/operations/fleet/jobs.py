"""What a person can see of jobs, and ask of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ralph.domain.fleet.board import JobAsk, describe_job, iterations_of, reason_of
from ralph.domain.text.safe_text import clean_line, is_text
from ralph.errors import ServiceAway, UsageError

if TYPE_CHECKING:
    from ralph.domain.fleet.shift import Beat
    from ralph.domain.fleet.views import JobView
    from ralph.engine.fleet.ports import Fleet
    from ralph.operations.fleet.desk import FleetDesk

EVERY = 1.0


def find_job(desk: FleetDesk, name: str) -> JobView:
    """Raises UsageError if there is none."""
    return desk.ask(lambda fleet: fleet.job(name))


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
    if job.is_open and job.progress.worker:
        facts.append(f"on {job.progress.worker}")
    if reason := reason_of(job):
        facts.append(reason)
    return clean_line(f"{job.spec.id}: {', '.join(facts)}")
