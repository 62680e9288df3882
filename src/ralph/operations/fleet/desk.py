"""Where a command asks the fleet's server: one connection, one question after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from ralph.engine.fleet.ports import Fleet

T = TypeVar("T")


async def connect_fleet() -> Fleet:
    """By Temporal's own settings. Raises ServiceAway, ServiceRefused, ConfigError."""
    from ralph.adapters.temporal.client import TemporalFleet
    from ralph.adapters.temporal.connection import connect

    return TemporalFleet(await connect())


class FleetDesk:
    """Commands are not asynchronous, and most ask once; some ask every second until they are interrupted."""

    def __init__(self, connect: Callable[[], Awaitable[Fleet]] = connect_fleet) -> None:
        self._connect = connect
        self._runner = asyncio.Runner()
        self._fleet: Fleet | None = None

    def __enter__(self) -> Self:
        # What the library left unawaited, as a call that was given up, is nobody's to read.
        self._runner.get_loop().set_exception_handler(lambda *_: None)
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def ask(self, question: Callable[[Fleet], Coroutine[Any, Any, T]]) -> T:
        """Raises whatever the port says that it raises."""
        return self._runner.run(self._ask(question))

    async def _ask(self, question: Callable[[Fleet], Coroutine[Any, Any, T]]) -> T:
        if self._fleet is None:
            self._fleet = await self._connect()
        return await question(self._fleet)
