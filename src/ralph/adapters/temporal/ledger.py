"""What all jobs share, as a shift asks for it: a place at an agent's account, and money."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError

from ralph.adapters.temporal.problems import asked, is_missing
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.ledger_rules import EnterReply, EnterRequest, LeaveRequest
from ralph.domain.fleet.names import ENTER, LEAVE, LEDGER_ID
from ralph.engine.fleet.ports import FleetSpent
from ralph.errors import ServiceAway

NOT_THERE = 30.0
"""Seconds for which a fleet without limits is not asked again."""
LONGEST_ASK = 15.0


class TemporalLedger:
    """Implements Ledger for all shifts of a worker.

    A ledger that cannot be reached lets no session begin: limits that hold only in good weather are none, and to wait costs
    nothing that is not waited for anyway. Whoever asks again for a session under way must not end it for that.
    """

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._free_until = float("-inf")
        self._owed: dict[str, LeaveRequest] = {}

    async def enter(self, job: JobSpec, *, cost: float) -> str:
        if self._clock() < self._free_until:
            return ""
        try:
            await self._pay()
            reply: EnterReply | None = await self._ask(
                ENTER, EnterRequest(job=job.id, account=job.agent, cost=cost), EnterReply
            )
        except ServiceAway as away:
            return f"the fleet's limits cannot be asked: {away.message}"
        if reply is None:
            self._free_until = self._clock() + NOT_THERE
            return ""
        if reply.is_spent:
            raise FleetSpent(reply.refusal)
        return reply.refusal

    async def leave(self, job: JobSpec, *, cost: float) -> None:
        """If the server is away it is said later; the place is free again after a while in any case."""
        if self._clock() < self._free_until:
            return
        self._owed[job.id] = LeaveRequest(job=job.id, cost=cost)
        try:
            await self._pay()
        except ServiceAway:
            return

    async def _pay(self) -> None:
        for job, request in list(self._owed.items()):
            await self._ask(LEAVE, request, None)
            self._owed.pop(job, None)

    async def _ask(self, update: str, request: object, kind: type | None) -> Any:
        """None: there is no ledger, because nobody has ever set a limit."""
        handle = self._client.get_workflow_handle(LEDGER_ID)
        async with asked(self._client, longest=LONGEST_ASK):
            try:
                return await handle.execute_update(update, request, result_type=kind)
            except RPCError as problem:
                if not is_missing(problem):
                    raise
                return None
