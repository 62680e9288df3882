"""Carrying what a sandboxed agent has for the project's bus: while it runs, and when it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from ralph.adapters.bus.message_bus import MessageBus
from ralph.adapters.bus.outbox import Outbox
from ralph.domain.loop.events import AgentEnded, LoopEvent, RunEnded
from ralph.domain.supervision.message import BusMessage
from ralph.engine.ports import Running
from ralph.errors import RalphError


class Postman:
    """A listener and an attendant. Every message is in the name of this run: that is all that is known of its writer."""

    def __init__(
        self,
        outbox: Outbox,
        bus: MessageBus,
        *,
        project: str,
        task: str,
        run: str,
        every: float,
        complain: Callable[[str], None],
    ) -> None:
        self._outbox = outbox
        self._bus = bus
        self._project = project
        self._task = task
        self._run = run
        self._every = every
        self._complain = complain
        self._told: set[str] = set()

    def __call__(self, event: LoopEvent, at: float) -> None:
        if isinstance(event, AgentEnded | RunEnded):
            self._carry()

    async def attend(self, running: Running) -> None:
        while self._carry():  # noqa: ASYNC110 - a bus that fails is tried again when the agent has ended
            await asyncio.sleep(self._every)

    def _carry(self) -> bool:
        try:
            emptied = self._outbox.empty(self._hand_on)
        except (RalphError, OSError) as error:
            self._tell(f"messages stay in the task's outbox: {error}")
            return False
        if emptied.refused:  # their names are the agent's words, so they are not repeated
            self._tell("what is no message was removed from the task's outbox")
        return True

    def _hand_on(self, message: BusMessage) -> None:
        self._bus.forward(replace(message, project=self._project, task=self._task, run=self._run))

    def _tell(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self._complain(message)
