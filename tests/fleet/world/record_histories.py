"""Writes tests/data/fleet/*.json: histories that later versions of the workflows must be able to continue.

`python -m tests.fleet.world.record_histories`, when a change of the workflows is meant to begin a new protocol; never to make
test_replay pass.
"""

from __future__ import annotations

import asyncio
import re
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from temporalio.client import Client

from ralph.adapters.temporal import names
from ralph.domain.fleet.ledger_rules import EnterReply, EnterRequest, LeaveRequest, LedgerState
from ralph.domain.fleet.progress import Phase
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.fleet.views import FleetLimits
from ralph.engine.fleet.ports import Stopping
from ralph.errors import ServiceAway
from tests.fleet.world.crew import end_of, reach, result, spec_of, start, working
from tests.fleet.world.server import open_server

FOLDER = Path(__file__).parents[2] / "data" / "fleet"


async def run_shift(order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping) -> ShiftEnd:
    """A wait, a fault, a pause, a note and a merge; another is stopped in a session."""
    beat(Beat(iteration=order.turn + 1, cost=0.1, tokens=3))
    if order.job.id == "stopped":
        await stopping.requested()
        return end_of(order, of=1, worker="w1", outcome="cancelled")
    if order.turn == 0:
        return end_of(order, of=9, worker="w1", want="wait", seconds=0.5, reason="limit")
    if order.turn == 1 and not order.lost_cost:
        raise ServiceAway("the remote cannot be reached", after=0.1)
    if order.turn == 2 and not order.may_merge:
        return end_of(order, of=9, worker="w1", want="merge", heard=len(order.notes))
    return end_of(order, of=4, worker="w1", merged="c0ffee" if order.may_merge else "")


async def record(client: Client) -> None:
    async with working(client, run_shift):
        spec = spec_of("busy", task="{}", needs=("first",), feeds=("nobody",))
        busy = await start(client, spec)
        await reach(client, "busy", Phase.NEEDS)
        first = await start(client, spec_of("first", task="{}", feeds=("busy",)))
        await first.signal(names.STEER, "a note")
        await reach(client, "first", Phase.WAITING)
        await first.signal(names.PAUSE)
        await reach(client, "first", Phase.PAUSED)
        await first.signal(names.UNPAUSE)
        await result(first)
        await result(busy)
        stopped = await start(client, spec_of("stopped"))
        await reach(client, "stopped", Phase.RUNNING)
        await stopped.cancel()
        await result(stopped)
        ledger = await client.start_workflow(
            names.LEDGER, LedgerState(), id=names.LEDGER_ID, task_queue=names.WORKFLOW_QUEUE
        )
        await ledger.execute_update(names.SET_LIMITS, FleetLimits(sessions=(("claude", 1),)))
        request = EnterRequest(job="first", account="claude")
        await ledger.execute_update(names.ENTER, request, result_type=EnterReply)
        await ledger.execute_update(names.LEAVE, LeaveRequest(job="first", cost=0.5))
        FOLDER.mkdir(parents=True, exist_ok=True)
        queue = client.get_workflow_handle(names.merge_queue_id(spec))
        await asyncio.wait_for(queue.result(), 30)
        recorded = {"first": first, "busy": busy, "stopped": stopped, "merge_queue": queue, "ledger": ledger}
        for name, handle in recorded.items():
            history = await handle.fetch_history()
            (FOLDER / f"{name}.json").write_text(_without_place(history.to_json()) + "\n")


def _without_place(text: str) -> str:
    """Nothing of the machine that recorded it."""
    text = re.sub(r'"stackTrace": "(?:[^"\\]|\\.)*"', '"stackTrace": ""', text)
    text = re.sub(r'"identity": "[^"]*"', '"identity": "recorder"', text)
    return text.replace(socket.gethostname(), "host")


async def main(address: str) -> None:
    await record(await Client.connect(address, identity="recorder"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, open_server(Path(folder)) as server:
        asyncio.run(main(server.address))
