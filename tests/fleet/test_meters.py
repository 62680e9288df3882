"""Figures for Prometheus, asked for as Prometheus does."""

from __future__ import annotations

import asyncio
import urllib.request

import pytest
from temporalio.client import Client

from ralph.adapters.temporal.meters import make_runtime
from tests.fleet.world.crew import instantly, result, spec_of, start, working
from tests.fleet.world.server import Server, free_port

pytestmark = pytest.mark.timeout(120)


def test_a_worker_tells_its_figures(server: Server) -> None:
    port = free_port()

    async def main() -> str:
        runtime = make_runtime(f"127.0.0.1:{port}")
        client = await Client.connect(server.address, namespace=server.namespace, runtime=runtime)
        async with working(client, instantly(3, "w1")):
            await result(await start(client, spec_of("counted")))

            def read() -> str:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                    return str(answer.read().decode())

            return await asyncio.to_thread(read)

    lines = asyncio.run(main()).splitlines()
    figures = {line.split("{")[0].split(" ")[0]: line.rsplit(" ", 1)[1] for line in lines if line[:1] != "#"}
    assert figures["ralph_sessions_running"] == "0"
    shifts = [line for line in lines if line.startswith("ralph_shifts")]
    assert sorted(line.rsplit(" ", 1)[1] for line in shifts) == ["1", "2"]
    iterations = [line for line in lines if line.startswith("ralph_iterations")]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in iterations) == 3
