"""Runners around another runner, which still starts, times out and cleans up the processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Unpack

from ralph.adapters.isolation.probe import examine
from ralph.adapters.isolation.sandbox import Sandbox
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Command, Exit, ProcessRunner, RunOptions
from ralph.values import replace

_STDERR_KEPT = 2_000


@asynccontextmanager
async def keep_open(sandbox: Sandbox, runner: ProcessRunner) -> AsyncIterator[Sandbox]:
    """Opened and examined before the block, closed after it, also if opening fails half-way."""
    try:
        await sandbox.open(runner)
        await examine(sandbox, runner)
        yield sandbox
    finally:
        await sandbox.close(runner)


class IsolatedRunner:
    """Runs processes in a sandbox, which must be open; several runners may share it.

    ``inner`` starts the programs that set it up, with our own environment; ``environment`` is that of the processes inside,
    as far as the sandbox lets it in. ``tidy`` removes what a process left behind for programs outside.
    """

    def __init__(
        self,
        inner: ProcessRunner,
        sandbox: Sandbox,
        *,
        environment: Mapping[str, str] | None = None,
        tidy: Callable[[], None] = lambda: None,
    ) -> None:
        self._environment = environment
        self._inner = inner
        self._sandbox = sandbox
        self._tidy = tidy
        self._under_way = 0

    async def run(self, command: Command, **options: Unpack[RunOptions]) -> Exit:
        on_stderr = options.get("on_stderr")
        stderr = bytearray()

        def keep_stderr(chunk: bytes) -> None:
            if len(stderr) < _STDERR_KEPT:
                stderr.extend(chunk[:_STDERR_KEPT])
            if on_stderr is not None:
                on_stderr(chunk)

        self._under_way += 1
        exit_ = Exit(Ending.STOPPED, None, 0.0)
        try:
            options["on_stderr"] = keep_stderr
            exit_ = await self._inner.run(self._sandbox.wrap(command, self._environment), **options)
        finally:
            self._under_way -= 1
            if not self._under_way:
                await self._sandbox.settle(self._inner, exit_)
                self._tidy()
        failure = self._sandbox.failure(exit_, stderr.decode(errors="replace"))
        if failure:
            return replace(exit_, ending=Ending.NOT_STARTED, code=None, error=failure)
        return exit_


class WaryRunner:
    """Calls ``tidy`` before each process: for our own programs outside, which work on what an agent wrote."""

    def __init__(self, inner: ProcessRunner, tidy: Callable[[], None]) -> None:
        self._inner = inner
        self._tidy = tidy

    async def run(self, command: Command, **options: Unpack[RunOptions]) -> Exit:
        self._tidy()
        return await self._inner.run(command, **options)
