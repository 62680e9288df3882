"""What the loop itself says on the buses: start, restarts, stop, errors, and that a task is complete."""

from __future__ import annotations

from collections.abc import Callable

from ralph.adapters.bus.message_bus import MessageBus
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import IterationStarted, LoopEvent, RunEnded, RunStarted
from ralph.domain.supervision.message import ERROR, FACT, RESTART, RUN_START, RUN_STOP
from ralph.errors import RalphError


class LoopPosts:
    """A listener. Posting is best effort: a bus that cannot be written to is complained of once each and ends no run."""

    def __init__(
        self,
        task_bus: MessageBus,
        project_bus: MessageBus,
        *,
        project: str,
        task: str,
        run: str,
        complain: Callable[[str], None],
    ) -> None:
        self._task_bus = task_bus
        self._project_bus = project_bus
        self._project = project
        self._task = task
        self._run = run
        self._complain = complain
        self._broken: set[MessageBus] = set()

    def __call__(self, event: LoopEvent, at: float) -> None:
        match event:
            case RunStarted():
                limit = f", at most {event.maximum} launches" if event.maximum is not None else ""
                self._post(self._task_bus, RUN_START, f"run started: agent {event.agent}{limit}")
            case IterationStarted() if event.iteration > 1:
                of = f" of {event.maximum}" if event.maximum is not None else ""
                self._post(self._task_bus, RESTART, f"agent restarted: launch {event.iteration}{of}")
            case RunEnded():
                self._ended(event)
            case _:
                pass

    def _ended(self, event: RunEnded) -> None:
        if event.outcome in (Outcome.EXHAUSTED, Outcome.FAILED):
            self._post(self._task_bus, ERROR, event.reason)
        # Seed 003 calls a run that waits "stopped": it did not fail.
        how = "stopped" if event.outcome is Outcome.WAITING else event.outcome.value
        launches = f"{event.iterations} launch{'' if event.iterations == 1 else 'es'}"
        self._post(self._task_bus, RUN_STOP, f"run {how} after {launches}: {event.reason}")
        if event.outcome is Outcome.COMPLETED:
            self._post(self._project_bus, FACT, f"task {self._task}: {event.reason}")

    def _post(self, bus: MessageBus, kind: str, body: str) -> None:
        try:
            bus.post(kind, body, project=self._project, task=self._task, run=self._run)
        except RalphError as error:
            if bus not in self._broken:
                self._broken.add(bus)
                self._complain(f"{error.message}; the run goes on without that bus")
