"""What a run does on the buses: it posts its milestones, and forwards what a sandboxed agent left in its outbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ralph.adapters.bus.message_bus import MessageBus
from ralph.adapters.bus.outbox import Outbox
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import AgentEnded, IterationStarted, LoopEvent, RunEnded, RunStarted
from ralph.domain.supervision.message import ERROR, FACT, RESTART, RUN_START, RUN_STOP, BusMessage
from ralph.engine.ports import Running
from ralph.errors import RalphError
from ralph.values import dataclass, field, replace


@dataclass(eq=False, slots=True)
class LoopPosts:
    """A listener. A bus that cannot be written to is reported once and ends no run."""

    task_bus: MessageBus
    project_bus: MessageBus
    project: str
    task: str
    run: str
    complain: Callable[[str], None]
    _broken: set[MessageBus] = field(init=False, default_factory=set)

    def __call__(self, event: LoopEvent, at: float) -> None:
        match event:
            case RunStarted():
                limit = f", at most {event.maximum} launches" if event.maximum is not None else ""
                self._post(self.task_bus, RUN_START, f"run started: agent {event.agent}{limit}")
            case IterationStarted() if event.iteration > 1:
                of = f" of {event.maximum}" if event.maximum is not None else ""
                self._post(self.task_bus, RESTART, f"agent restarted: launch {event.iteration}{of}")
            case RunEnded():
                self._post_end(event)
            case _:
                pass

    def _post_end(self, event: RunEnded) -> None:
        if event.outcome in (Outcome.EXHAUSTED, Outcome.FAILED):
            self._post(self.task_bus, ERROR, event.reason)
        # A run that waits has not failed: on the bus it is "stopped".
        how = "stopped" if event.outcome is Outcome.WAITING else event.outcome.value
        launches = f"{event.iterations} launch{'' if event.iterations == 1 else 'es'}"
        self._post(self.task_bus, RUN_STOP, f"run {how} after {launches}: {event.reason}")
        if event.outcome is Outcome.COMPLETED:
            self._post(self.project_bus, FACT, f"task {self.task}: {event.reason}")

    def _post(self, bus: MessageBus, kind: str, body: str) -> None:
        try:
            bus.post(kind, body, project=self.project, task=self.task, run=self.run)
        except RalphError as error:
            if bus not in self._broken:
                self._broken.add(bus)
                self.complain(f"{error.message}; the run continues without that bus")


@dataclass(eq=False, slots=True)
class Postman:
    """A listener and an attendant. It posts every message in the name of this run: its writer is not known better."""

    outbox: Outbox
    bus: MessageBus
    project: str
    task: str
    run: str
    every: float
    complain: Callable[[str], None]
    _complaints: set[str] = field(init=False, default_factory=set)

    def __call__(self, event: LoopEvent, at: float) -> None:
        if isinstance(event, AgentEnded | RunEnded):
            self._carry()

    async def attend(self, running: Running) -> None:
        while self._carry():  # noqa: ASYNC110 - a bus that fails is tried again when the agent has ended
            await asyncio.sleep(self.every)

    def _carry(self) -> bool:
        try:
            emptied = self.outbox.empty(self._forward)
        except (RalphError, OSError) as error:
            self._complain_once(f"messages stay in the task's outbox: {error}")
            return False
        if emptied.refused:  # the agent chose the file names, so they are not repeated
            self._complain_once("files that are not messages were removed from the task's outbox")
        return True

    def _forward(self, message: BusMessage) -> None:
        self.bus.forward(replace(message, project=self.project, task=self.task, run=self.run))

    def _complain_once(self, message: str) -> None:
        if message not in self._complaints:
            self._complaints.add(message)
            self.complain(message)
