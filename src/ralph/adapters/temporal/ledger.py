"""What all jobs share, as a shift asks for it: a place at an agent's account, and money."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError

from ralph.adapters.temporal.names import ENTER, LEAVE, LEDGER_ID
from ralph.adapters.temporal.problems import asked, is_missing
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.ledger_rules import EnterReply, EnterRequest, LeaveRequest
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

    def __init__(self, client: Client, *, worker: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._worker = worker
        self._clock = clock
        self._free_until = float("-inf")
        self._held: set[tuple[str, int]] = set()
        self._owed: dict[tuple[str, int], LeaveRequest] = {}
        self._paying = asyncio.Lock()
        self._asking = asyncio.Lock()

    async def enter(self, job: JobSpec, *, turn: int, cost: float) -> str:
        shift = _name(job), turn
        if self._clock() < self._free_until:
            return ""
        try:
            await self._pay()
            request = EnterRequest(
                job=_name(job),
                worker=self._worker,
                turn=turn,
                account=job.agent,
                cost=cost,
                renews=shift in self._held,
            )
            reply: EnterReply | None = await self._ask(ENTER, request, EnterReply)
        except ServiceAway as away:
            return f"the fleet's limits cannot be asked: {away.message}"
        if reply is None:
            self._free_until = self._clock() + NOT_THERE
            return ""
        if reply.is_spent:
            raise FleetSpent(reply.refusal)
        if not reply.refusal:
            self._held.add(shift)
        return reply.refusal

    async def leave(self, job: JobSpec, *, turn: int, cost: float) -> None:
        """If the server is away it is said later; the place is free again after a while in any case."""
        shift = _name(job), turn
        self._held.discard(shift)
        if self._clock() < self._free_until:
            return
        self._owed[shift] = LeaveRequest(job=_name(job), worker=self._worker, turn=turn, cost=cost)
        if self._paying.locked():
            return  # whoever pays now pays this too
        try:
            await self._pay()
        except ServiceAway:
            return

    async def _pay(self) -> None:
        """One at a time: whoever enters again has left before."""
        async with self._paying:
            while self._owed:
                shift, request = next(iter(self._owed.items()))
                await self._ask(LEAVE, request, None)
                if self._owed.get(shift) is request:
                    del self._owed[shift]

    async def _ask(self, update: str, request: object, kind: type | None) -> Any:
        """None: there is no ledger, because nobody has ever set a limit. One question at a time: the server takes ten for one
        workflow, of all workers together."""
        handle = self._client.get_workflow_handle(LEDGER_ID)
        async with self._asking, asked(self._client, longest=LONGEST_ASK):
            try:
                return await handle.execute_update(update, request, result_type=kind)
            except RPCError as problem:
                if not is_missing(problem):
                    raise
                return None


def _name(job: JobSpec) -> str:
    """Another job that had the same name once has its own sums."""
    return f"{job.id} {job.submission}".rstrip()
