"""A worker as a process of its own, which a test may kill: `lone_worker ADDRESS NAMESPACE NAME SHIFTS SECONDS LOG`.

Its shifts take so many seconds; each writes a line into the log when it begins and when it ends.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from temporalio.client import Client

from ralph.adapters.temporal.worker import run_worker
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.engine.fleet.ports import Stopping
from tests.fleet.world.crew import end_of


async def main(address: str, namespace: str, name: str, shifts: int, seconds: float, log: Path) -> None:
    client = await Client.connect(address, namespace=namespace)

    def write(words: str) -> None:
        with log.open("a") as lines:
            lines.write(f"{name} {words}\n")

    async def run_shift(order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping) -> ShiftEnd:
        write(f"begins {order.job.id} {order.turn} {order.lost_cost}")
        beat(Beat(iteration=order.turn + 1, cost=0.25, tokens=10))
        await asyncio.sleep(seconds)
        write(f"ends {order.job.id} {order.turn}")
        return end_of(order, of=shifts, worker=name)

    await run_worker(
        client,
        name=name,
        slots=4,
        labels=(),
        run_shift=run_shift,
        draining=asyncio.Event(),
        leaving=asyncio.Event(),
    )


if __name__ == "__main__":
    address, namespace, name, shifts, seconds, log = sys.argv[1:]
    asyncio.run(main(address, namespace, name, int(shifts), float(seconds), Path(log)))
