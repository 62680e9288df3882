"""Telling the journal and the listeners, in that order: what a screen shows is on record first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ralph.domain.agent.events import TurnEnded, Usage
from ralph.domain.loop.events import AgentActed, AgentEnded, LoopEvent
from ralph.domain.text.masking import mask_all
from ralph.engine.ports import Clock, Journal
from ralph.errors import RalphError

NOTHING = Usage()
Listener = Callable[[LoopEvent, float], None]

FLUSH_SECONDS = 0.25
"""Anyone who watches from another process sees what happened at most this much later, also while the agent is silent."""


class Recorder:
    """The ``publish`` of a run. What ``redact`` takes for a secret neither the record nor a screen gets. A broken listener is dropped with a word to ``complain``; it never ends a run."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        listeners: Sequence[Listener] = (),
        *,
        complain: Callable[[str], None] = lambda _: None,
        redact: Callable[[str], str] = str,
        flush_after: float = FLUSH_SECONDS,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._listeners = list(listeners)
        self._complain = complain
        self._redact = redact
        self._flush_after = flush_after
        self._flush_is_due = False
        self._failure: RalphError | None = None

    def listen(self, *listeners: Listener) -> None:
        """Tell these too, from now on."""
        self._listeners += listeners

    def __call__(self, event: LoopEvent) -> None:
        if self._failure is not None:
            raise self._failure
        if not isinstance(event, AgentActed):  # that was taken from output without secrets
            event = mask_all(event, self._redact)
        at = self._clock.now()
        self._journal.append(event, at=at)
        if isinstance(event, AgentEnded):
            self._flush_next()
        elif _says_what_was_spent(event):
            self._journal.flush()
        elif not self._flush_is_due:
            self._flush_is_due = True
            asyncio.get_running_loop().call_later(self._flush_after, self._flush_late)
        for listener in list(self._listeners):
            try:
                listener(event, at)
            except Exception as error:
                self._listeners.remove(listener)
                self._complain(f"a listener failed and was dropped: {error!r}")

    def _flush_next(self) -> None:
        """As soon as anything is waited for, and after what is saved then: usually there is nothing left to write."""
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._flush)

    def _flush_late(self) -> None:
        self._flush_is_due = False
        self._flush()

    def _flush(self) -> None:
        try:
            self._journal.flush()
        except RalphError as error:
            self._failure = error  # raised where the run can end by it: at the next event


def _says_what_was_spent(event: LoopEvent) -> bool:
    """Such an event is on record at once: money that was spent must be counted also if ralph is killed now."""
    return (
        isinstance(event, AgentActed)
        and TurnEnded
        in map(type, event.events)  # quick: a batch has thousands of events, and hardly ever one
        and any(
            isinstance(each, TurnEnded) and (each.cost_usd is not None or each.usage != NOTHING)
            for each in event.events
        )
    )
