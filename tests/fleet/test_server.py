"""The world of these tests itself: the server that all share has a room for each, and a killed one remembers."""

from __future__ import annotations

import asyncio

from temporalio.client import Client

from tests.fleet.world.crew import until
from tests.fleet.world.server import Server


async def start(server: Server, name: str) -> None:
    client = await Client.connect(server.address, namespace=server.namespace)
    await client.start_workflow("Nobody", id=name, task_queue="nobody")


async def names(server: Server) -> list[str]:
    """The server's list is a moment late."""
    client = await Client.connect(server.address, namespace=server.namespace)

    async def look() -> list[str] | None:
        return [found.id async for found in client.list_workflows()] or None

    return await until(look)


def test_a_test_sees_only_its_own(server: Server, shared_server: Server) -> None:
    other = shared_server.with_namespace()
    asyncio.run(start(server, "mine"))
    asyncio.run(start(other, "theirs"))
    assert asyncio.run(names(server)) == ["mine"]


def test_a_killed_server_remembers(own_server: Server) -> None:
    asyncio.run(start(own_server, "kept"))
    own_server.kill()
    own_server.start()
    assert asyncio.run(names(own_server)) == ["kept"]
