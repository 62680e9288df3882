"""Telling the journal and the listeners, in that order: what a screen shows is on record first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ralph.domain.loop_events import LoopEvent
from ralph.engine.ports import Clock, Journal

Listener = Callable[[LoopEvent, float], None]


class Recorder:
    """The ``publish`` of a run. A broken listener is dropped with a word to ``complain``; it never ends a run."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        listeners: Sequence[Listener] = (),
        *,
        complain: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._listeners = list(listeners)
        self._complain = complain

    def __call__(self, event: LoopEvent) -> None:
        at = self._clock.now()
        self._journal.append(event, at=at)
        for listener in list(self._listeners):
            try:
                listener(event, at)
            except Exception as error:
                self._listeners.remove(listener)
                self._complain(f"a listener failed and was dropped: {error!r}")
