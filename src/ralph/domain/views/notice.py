"""When to notify a user who is not watching, and what to say."""

from __future__ import annotations

from ralph.domain.loop.events import LoopEvent, PauseBegan, RunEnded
from ralph.values import dataclass

WORTH_TELLING = 120.0
"""Seconds: a shorter wait is not news."""


@dataclass(frozen=True, slots=True)
class Notification:
    """``subject`` is the outcome, or "waiting"."""

    run_id: str
    subject: str
    text: str


def notification(event: LoopEvent, *, run_id: str, at: float) -> Notification | None:
    match event:
        case RunEnded():
            concerns = f" ({len(event.concerns)} concerns)" if event.concerns else ""
            return Notification(run_id, event.outcome, f"ralph: {event.outcome}{concerns}: {event.reason}")
        case PauseBegan() if event.until - at > WORTH_TELLING:
            minutes = round((event.until - at) / 60)
            return Notification(run_id, "waiting", f"ralph: waiting about {minutes} min: {event.reason}")
        case _:
            return None
